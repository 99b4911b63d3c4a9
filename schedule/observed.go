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
	// Requests are the runs asked for. One that has been taken up may go on being
	// listed, and need not; see [Decide].
	Requests []Request
	// Completions are the completed runs of the jobs in Spec.After; those of other
	// jobs, and those taken up before, do no harm.
	Completions []Completion
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
	ID    string    // unlike that of any other request for the job; a UID is
	Asked time.Time // at the zero time, it is the decision's
}

// A Completion is a completed run of another job.
type Completion struct {
	Job       string // its name
	Tag       string // of the run
	Outcome   Outcome
	Completed time.Time
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
