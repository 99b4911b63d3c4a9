package schedule

import (
	"cmp"
	"time"
)

// An Observation is what was read for one decision. The zero value does not know the Jobs, so that
// nothing starts and nothing is deleted.
type Observation struct {
	Now time.Time // the time of the decision
	// JobsKnown reports whether Jobs has all Jobs of the owner, including Jobs created
	// since the last decision. Set it to false if the list failed or the cache has not
	// synced.
	JobsKnown bool
	Jobs      []Job
	// Revision orders lists of Jobs. It is the resourceVersion of the list, or of the
	// cache. A list that is older than the last list to change the checkpoint counts as not
	// known. At 0, the list counts as current.
	Revision int64
	// Consistent reports that the API server read Jobs from its storage for this decision.
	// Such a list is current. If its Revision is lower than the checkpoint's, or the checkpoint has
	// another UID, the checkpoint was restored.
	Consistent bool
	// Settled reports that no create of this job may still have an effect, and that Jobs shows those that
	// had one. It is needed only while a run whose create was decided is due later than Now.
	Settled bool
	// Rejected are the creates that the API server answered with an error, and after which a read
	// found no Job of the run. Report each in at least one decision. Do not report a create without
	// an answer. A lost report only costs time.
	Rejected []Rejection
	// DeletedBy names the clients that deleted Jobs, by tag, as far as they are known.
	DeletedBy map[string]string
	// Requests are the requested runs. A request may stay in the list after its run was
	// decided: see Size of the checkpoint in the package comment.
	Requests []Request
	// Cancelled are the tags of runs to cancel. A run without a decided
	// create completes without a Job, and an active run is stopped. Other tags are ignored. A tag should
	// stay in the list until its run has completed.
	Cancelled []string
	// Upstreams are the known jobs of Policy.After. Other jobs are ignored.
	Upstreams []Upstream
}

// A Rejection is a create that the API server answered with an error.
type Rejection struct {
	Tag     string // of the run
	Attempt int64  // Attempts of the run, as Decision.Start had it
	Reason  string // the words of the API server
	// MayArrive must be set if this create may have had its effect, as after an internal error, or an
	// earlier create of the run was not answered and may still arrive. The run then stays active.
	MayArrive bool
}

// An Upstream is a job that other jobs depend on; see [Checkpoint.Upstream]. It counts
// completions instead of listing them, so that a history limit loses no completion.
type Upstream struct {
	Job    string // its name
	UID    string // distinguishes a recreated job from its predecessor
	Counts        // of all runs, ever
	Recent []Run  // completed runs that its history still has
	// Created is the creation time of the job. If the job is older than the dependency, or
	// if Created is zero, only Recent shows which completions before the first decision count.
	Created time.Time
}

// A Job holds the fields of a Job that a decision needs. Leave out Jobs that were not made for the run
// of their tag, such as a copy of one by hand. A Job exists as long as its pods:
// if only pods are left, report an unfinished Job that is Deleting in the Foreground.
type Job struct {
	Tag      string  // of the run
	Outcome  Outcome // Unfinished, Succeeded or Failed
	ExitCode int32   // of the first pod that failed for good; 0 if no pod did, or if unknown
	Created  time.Time
	Finished time.Time // of a Job with an outcome; zero means the time of the decision
	Deleting bool      // it has a deletion timestamp
	// Foreground reports whether a Job that is Deleting waits for the deletion of its pods.
	// Any other unfinished Job that is deleting is in Decision.Stop.
	Foreground bool
	Keeps      bool // its time to live has not begun; see Decision.Expire
	Pods       Pods
}

// Pods counts the pods of a run. The zero value means that none has been observed.
type Pods struct {
	Active    int32 `json:"active,omitempty"`    // not finished
	Succeeded int32 `json:"succeeded,omitempty"` // finished
	Failed    int32 `json:"failed,omitempty"`    // finished
	Restarts  int32 `json:"restarts,omitempty"`  // failed pods that were replaced
}

// A Request asks for a run.
type Request struct {
	ID          string    // unique among the requests for the job, such as a UID; a request without an ID is ignored
	RequestedAt time.Time // the zero time, and a time later than the decision, mean the time of the decision
	// Answered reports whether the request shows that its run has completed. Such a
	// request asks for no run. History keeps the completed run of a request until the
	// request is answered or no longer listed.
	Answered bool
	// Occurrence is the occurrence that the run stands for, such as one of a [Backfill]. The zero time
	// means none.
	Occurrence time.Time
}

// byTag returns the Jobs by tag. If several Jobs have the same tag, which no caller
// should cause, an unfinished Job counts, else the oldest Job.
func byTag(jobs []Job) map[string]Job {
	tagged := make(map[string]Job, len(jobs))
	for _, j := range jobs {
		if other, ok := tagged[j.Tag]; !ok || j.counts(other) {
			tagged[j.Tag] = j
		}
	}
	return tagged
}

// counts reports whether the Job counts instead of another with its tag.
func (j Job) counts(other Job) bool {
	if j.finished() != other.finished() {
		return other.finished()
	}
	return cmp.Or(j.Created.Compare(other.Created), j.Finished.Compare(other.Finished), cmp.Compare(j.Outcome, other.Outcome), cmp.Compare(j.ExitCode, other.ExitCode)) < 0
}

func (j Job) finished() bool { return j.Outcome == Succeeded || j.Outcome == Failed }
