package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Observed is what is there at a decision. The zero value does not know the Jobs,
// so that nothing starts and nothing is deleted.
type Observed struct {
	// JobsKnown says that Jobs has all Jobs of the owner, those created since the
	// last decision included. Where they could not be listed, or the cache has not
	// synced, it is false.
	JobsKnown bool
	Jobs      []Job
	// Revision orders lists of Jobs: the resourceVersion of the list, or of the cache
	// that it comes from. An older list than the one that last changed the state counts
	// as not known. At 0, the list is taken for a current one.
	Revision int64
	// Rejected are the creates that failed for good: the API server rejected them, and a
	// read afterwards found no Job of the run. Report each in one decision or more, and
	// keep those out whose answer is not known. A lost report only costs time.
	Rejected []Rejection
	// Requests are the requested runs. A request that has been taken up may stay in the
	// list; see [Decide].
	Requests []Request
	// Cancelled are the tags of runs to cancel. A run that has not started completes
	// without a Job, and an active run is stopped. Other tags are ignored. A tag should
	// stay in the list until its run has completed.
	Cancelled []string
	// Upstreams are the known jobs of Spec.After. Other jobs are ignored.
	Upstreams []Upstream
}

// A Rejection is a create that failed for good.
type Rejection struct {
	Tag     string // of the run
	Attempt int64  // Attempts of the run, as Decision.Start had it
}

// An Upstream is a job that other jobs depend on; see [State.Upstream]. It counts
// completions instead of listing them, so that none is lost to a history limit.
type Upstream struct {
	Job       string // its name
	UID       string // a job of the same name and another UID is another job
	Succeeded int64  // runs that succeeded, ever
	Failed    int64  // runs that failed, ever
	Recent    []Run  // completed runs that its history still has
}

// A Job is what a decision needs to know of one.
type Job struct {
	Tag      string  // of the run
	Outcome  Outcome // Unfinished, Succeeded or Failed
	ExitCode int32   // of the first pod that failed for good; 0 where none did, or nobody knows
	Created  time.Time
	Finished time.Time // of a Job with an outcome; at the zero time, it is the decision's
	Deleting bool      // it has a deletion timestamp
}

// A Request asks for a run.
type Request struct {
	ID          string    // unlike that of any other request for the job, such as a UID; a request without an ID is ignored
	RequestedAt time.Time // the zero time means the time of the decision
	// Answered reports whether the request shows that its run has completed. Such a
	// request asks for no run. History keeps the completed run of a request until the
	// request is answered or no longer listed.
	Answered bool
}

// sorted returns the Jobs by tag. Of Jobs with one tag, of which there should be
// none, an unfinished one counts, else the oldest.
func sorted(jobs []Job) []Job {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b Job) int {
		if c := cmp.Compare(a.Tag, b.Tag); c != 0 {
			return c
		}
		return cmp.Or(finished(a)-finished(b), a.Created.Compare(b.Created), a.Finished.Compare(b.Finished),
			cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.ExitCode, b.ExitCode))
	})
	return slices.CompactFunc(jobs, func(a, b Job) bool { return a.Tag == b.Tag })
}

func finished(j Job) int {
	if j.Outcome == Succeeded || j.Outcome == Failed {
		return 1
	}
	return 0
}

// tagged returns the Job of that tag among sorted ones.
func tagged(jobs []Job, tag string) (Job, bool) {
	i, ok := slices.BinarySearchFunc(jobs, tag, func(j Job, tag string) int { return strings.Compare(j.Tag, tag) })
	if !ok {
		return Job{}, false
	}
	return jobs[i], true
}
