package schedule

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// A State is what must survive a restart: a plain value that a decision takes in
// and hands back. Its JSON has the names of a job's status, so that it can be one.
// The zero value is that of a job about which nothing has been decided.
//
// In a state that a decision has handed back, Due = Started + Missed + Dropped + the
// scheduled runs that are pending (FuzzConservation), and the times are in UTC.
type State struct {
	// Version is the version of this form, 1. The zero State is a new job's.
	Version int32 `json:"version,omitempty"`

	TimeSpec string    `json:"timeSpec,omitempty"` // the text of the schedule that all this belongs to
	Since    time.Time `json:"since,omitzero"`     // from when on it holds: the creation, or its last change
	Handled  time.Time `json:"handled,omitzero"`   // the last instant that became due; at first just before Since

	Due     int64 `json:"scheduleCount"` // occurrences that became due
	Started int64 `json:"startedCount"`  // of those, runs whose Job has been observed
	Missed  int64 `json:"missedCount"`   // outdated, too late, forbidden or cancelled before they started
	Dropped int64 `json:"droppedCount"`  // more than may wait

	Pending   []Run `json:"pendingExecutions,omitempty"`  // by due time, then tag
	Running   []Run `json:"runningExecutions,omitempty"`  // by due time, then tag
	Completed []Run `json:"completedExecution,omitempty"` // by completion, due time, then tag

	Succeeded int64 `json:"succeededCount,omitempty"` // runs that succeeded, scheduled or not, ever
	Failed    int64 `json:"failedCount,omitempty"`    // likewise, that failed

	Last    Run  `json:"lastExecution,omitzero"` // the started run that completed last, also after history has dropped it
	Blocked bool `json:"blocked,omitempty"`      // the schedule starts nothing

	// Tries is the number of decisions that asked for a Job since one was last
	// observed. A rejected create raises it to the number at which runs start one at a
	// time. RetryAt is the time before which no create is tried again.
	Tries   int64     `json:"tries,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	// JobsRevision is the revision of the list of Jobs that last changed the state.
	JobsRevision int64 `json:"jobsRevision,omitempty"`

	Requested       []string     `json:"requested,omitempty"`       // tags of requested runs, oldest first
	PendingDeletion []string     `json:"pendingDeletion,omitempty"` // tags of runs that history has dropped and whose Jobs still exist
	After           []Connection `json:"after,omitempty"`           // the dependencies, and how far each is followed
}

// A Run is one execution of a job. The zero value is none.
type Run struct {
	Tag      string `json:"tag"`
	OnDemand bool   `json:"onDemand,omitempty"` // asked for; else scheduled
	Request  string `json:"request,omitempty"`  // the id of the request, or the tag of the run of another job
	Status   Status `json:"status"`

	Due       time.Time `json:"dueAt"`                // the scheduled instant, or when the run was asked for
	Created   time.Time `json:"createdAt"`            // when it began to wait
	Tried     time.Time `json:"triedAt,omitzero"`     // when its Job was first asked for, unless no such create can have succeeded
	Attempts  int64     `json:"attempts,omitempty"`   // number of creates of its Job that were decided
	Started   time.Time `json:"startedAt,omitzero"`   // Tried of a run whose Job has been observed; else the Job's creation
	Completed time.Time `json:"completedAt,omitzero"` // not before Started, nor before any run that had completed

	Success bool `json:"success"`        // of a completed run
	Lost    bool `json:"lost,omitempty"` // the run failed because its Job was deleted before it had finished
	// Stopped is why the run is being stopped, or was: cancelled or replaced. A run that
	// was cancelled before it started is completed and has no start time.
	Stopped  string `json:"stopped,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"` // of the first pod that failed for good; 0 if none did, or if unknown
}

// Status is which of the three lists a run is in.
type Status string

const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
)

// Values of Run.Stopped.
const (
	cancelled = "cancelled"
	replaced  = "replaced"
)

// Outcome returns the outcome of the run. It is Unfinished for a run that was cancelled
// before it started.
func (r Run) Outcome() Outcome {
	switch {
	case r.Status != Completed || r.neverStarted():
		return Unfinished
	case r.Success:
		return Succeeded
	}
	return Failed
}

// neverStarted reports whether the run was cancelled before it started.
func (r Run) neverStarted() bool { return r.Stopped != "" && r.Started.IsZero() }

// A Connection is a dependency, with the completions that have been answered.
type Connection struct {
	Dependency
	// Since is the time from which on completions count. UID is the other job's, "" as
	// long as it has not been observed.
	Since time.Time `json:"since"`
	UID   string    `json:"uid,omitempty"`
	// Succeeded and Failed are the numbers of the other job's completions that have
	// been answered by a run, or were earlier than Since.
	Succeeded int64 `json:"succeeded,omitempty"`
	Failed    int64 `json:"failed,omitempty"`
}

// Waiting returns how many scheduled runs are pending.
func (s State) Waiting() int64 {
	n := int64(0)
	for i := range s.Pending {
		if !s.Pending[i].OnDemand {
			n++
		}
	}
	return n
}

// Upstream returns what the jobs that depend on a job of this state, name and UID
// need to know.
func (s State) Upstream(job, uid string) Upstream {
	return Upstream{Job: job, UID: uid, Succeeded: s.Succeeded, Failed: s.Failed, Recent: slices.Clone(s.Completed)}
}

// Validate returns a [*field.Error] if the state has a version that this package does
// not know. [Decide] does nothing with such a state.
func (s State) Validate() error {
	var e field.Errors
	if s.Version != stateVersion && (s.Version != 0 || !s.fresh()) {
		e.Add(field.Error{Path: "version", Found: fmt.Sprint(s.Version), Fix: fmt.Sprintf("a state of version %d, which this release reads and writes", stateVersion)})
	}
	return e.Err()
}

const stateVersion = 1

// fresh reports whether nothing has been decided before, not even at the zero time.
func (s State) fresh() bool { return s.Since.IsZero() && s.Handled.IsZero() }

// Equal reports whether the states are the same. A decision whose state equals the
// one before it need not be stored.
func (s State) Equal(o State) bool {
	s, o = s.clone(), o.clone()
	same := slices.Equal(s.Pending, o.Pending) && slices.Equal(s.Running, o.Running) && slices.Equal(s.Completed, o.Completed) &&
		slices.Equal(s.Requested, o.Requested) && slices.Equal(s.PendingDeletion, o.PendingDeletion) && slices.Equal(s.After, o.After)
	for _, state := range []*State{&s, &o} {
		state.Pending, state.Running, state.Completed = nil, nil, nil
		state.Requested, state.PendingDeletion, state.After = nil, nil, nil
	}
	return same && reflect.DeepEqual(s, o)
}

// clone copies the state, with its times in UTC.
func (s State) clone() State {
	s.Since, s.Handled, s.RetryAt, s.Last = utc(s.Since), utc(s.Handled), utc(s.RetryAt), s.Last.utc()
	for _, runs := range []*[]Run{&s.Pending, &s.Running, &s.Completed} {
		*runs = slices.Clone(*runs)
		for i := range *runs {
			(*runs)[i] = (*runs)[i].utc()
		}
	}
	s.Requested, s.PendingDeletion, s.After = slices.Clone(s.Requested), slices.Clone(s.PendingDeletion), slices.Clone(s.After)
	for i := range s.After {
		s.After[i].Since = utc(s.After[i].Since)
	}
	return s
}

func (r Run) utc() Run {
	r.Due, r.Created, r.Tried, r.Started, r.Completed = utc(r.Due), utc(r.Created), utc(r.Tried), utc(r.Started), utc(r.Completed)
	return r
}

// utc leaves the zero time alone, which stands for none.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return moment(t)
}

// byDue is the order in which runs wait.
func byDue(a, b Run) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Tag, b.Tag))
}

// byCompletion is the order in which runs have completed.
func byCompletion(a, b Run) int {
	return cmp.Or(a.Completed.Compare(b.Completed), byDue(a, b))
}
