package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A State must survive a restart. It is a plain value that a decision takes and returns.
// Its JSON has the names of a job's status, so that it can be the status. The zero value
// is the state of a job before its first decision.
//
// In a state from a decision, Due = Started + Missed + Dropped + the pending scheduled
// runs, and all times are in UTC.
type State struct {
	// Version is the version of this form: 1, or 0 in the zero State.
	Version int32 `json:"version,omitempty"`

	TimeSpec string    `json:"timeSpec,omitempty"` // the text of the schedule
	Since    time.Time `json:"since,omitzero"`     // when the schedule began to hold: the creation of the job, or the last change of the schedule
	Handled  time.Time `json:"handled,omitzero"`   // the last occurrence that became due; at first just before Since

	Due     int64 `json:"scheduleCount"` // occurrences that became due
	Started int64 `json:"startedCount"`  // scheduled runs with an observed Job
	Missed  int64 `json:"missedCount"`   // runs that never started: the sum of MissedBy
	Dropped int64 `json:"droppedCount"`  // runs above MaxWaiting

	MissedBy Missed `json:"missedBy,omitempty"` // Missed, by cause
	// Missing holds the causes of runs that were missed since a scheduled run last started.
	Missing []Cause `json:"missing,omitempty"`

	Pending   PendingRuns `json:"pendingExecutions,omitempty"`  // by due time, then tag
	Running   []Run       `json:"runningExecutions,omitempty"`  // by due time, then tag
	Completed []Run       `json:"completedExecution,omitempty"` // by completion, due time, then tag

	Succeeded int64 `json:"succeededCount,omitempty"` // all runs that ever succeeded, scheduled or not
	Failed    int64 `json:"failedCount,omitempty"`    // all runs that ever failed
	Lost      int64 `json:"lostCount,omitempty"`      // all runs whose Job was deleted before it had finished

	Last    Run  `json:"lastExecution,omitzero"` // the started run that completed last, also after history has dropped it
	Blocked bool `json:"blocked,omitempty"`      // the schedule starts nothing

	// Tries is the number of decisions with a create since a Job was last observed. A
	// rejected create raises it to the number at which runs start one at a time. No create
	// is repeated before RetryAt.
	Tries   int64     `json:"tries,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Rejected is the reason of the last rejection. It is empty once a Job
	// has been observed.
	Rejected string `json:"rejected,omitempty"`
	// UID is the job's: a state of another job was restored from elsewhere.
	UID string `json:"uid,omitempty"`
	// JobsRevision is the revision of the list of Jobs that last changed the state.
	JobsRevision int64 `json:"jobsRevision,omitempty"`

	Requested       []string     `json:"requested,omitempty"`       // tags of requested runs that history has dropped, oldest first
	PendingDeletion []string     `json:"pendingDeletion,omitempty"` // tags of runs that history has dropped and whose Jobs still exist
	After           []Connection `json:"after,omitempty"`           // the dependencies, with their counts
}

// PendingRuns are the runs that wait or whose Job is not observed yet. In JSON, scheduled runs without a create that wait behind
// 20 others have their due times only. A decision gives them the other fields again.
type PendingRuns []Run

const mostWhole = 20

// MarshalJSON returns the list.
func (p PendingRuns) MarshalJSON() ([]byte, error) {
	list, n := make([]any, len(p)), 0
	for i, r := range p {
		list[i] = r
		if !r.OnDemand && r.Attempts == 0 {
			if n++; n > mostWhole {
				list[i] = struct {
					Due time.Time `json:"dueAt"`
				}{r.Due}
			}
		}
	}
	return json.Marshal(list)
}

// A Run is an execution of a job. The zero value means no run.
type Run struct {
	Tag      string `json:"tag"`
	OnDemand bool   `json:"onDemand,omitempty"` // requested; else scheduled
	Request  string `json:"request,omitempty"`  // the id of the request, or the tag of the run of another job
	Status   Status `json:"status"`

	Due time.Time `json:"dueAt"` // the occurrence, or the time of the request
	// Occurrence is the occurrence that a requested run stands for, of a [Backfill]; else zero.
	Occurrence time.Time `json:"occurrence,omitzero"`

	Created   time.Time `json:"createdAt"`            // when it began to wait, or its Job's creation
	Tried     time.Time `json:"triedAt,omitzero"`     // when its first create was decided; zero if no create can have succeeded
	Attempts  int64     `json:"attempts,omitempty"`   // number of creates of its Job that were decided
	Started   time.Time `json:"startedAt,omitzero"`   // Tried of a run whose Job has been observed; else the Job's creation
	Completed time.Time `json:"completedAt,omitzero"` // not before Started, nor before any run that had completed

	Success bool `json:"success"`        // of a completed run
	Lost    bool `json:"lost,omitempty"` // the outcome is not known: the Job was deleted before it had finished
	// DeletedBy names the client that deleted the Job of a lost run, if that is known.
	DeletedBy string `json:"deletedBy,omitempty"`
	Pods      Pods   `json:"pods,omitzero"`     // of a started run, as last observed
	CatchUp   bool   `json:"catchUp,omitempty"` // a later run was due when the run started
	// Stopped is why the run is being stopped, or was: cancelled or replaced. A run that
	// was cancelled before it started is completed and has no start time.
	Stopped  string `json:"stopped,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"` // of the first pod that failed for good; 0 if no pod did, or if unknown
}

// Status names the list that holds a run.
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
	case r.Status != Completed || r.Stopped != "" && r.Started.IsZero():
		return Unfinished
	case r.Success:
		return Succeeded
	case r.Lost:
		return Lost
	}
	return Failed
}

// A Connection is a dependency, with the completions that have been answered.
type Connection struct {
	Dependency
	// Since is the time from which completions count. UID identifies the other job; it is
	// "" until the other job has been observed.
	Since time.Time `json:"since"`
	UID   string    `json:"uid,omitempty"`
	// Counts has the completions of the other job that have led to a run, or happened before Since.
	Counts
}

// Counts counts completed runs by outcome.
type Counts struct {
	Succeeded int64 `json:"succeeded,omitempty"`
	Failed    int64 `json:"failed,omitempty"`
	Lost      int64 `json:"lost,omitempty"`
}

// of returns the count of an outcome, and nil for other outcomes.
func (c *Counts) of(o Outcome) *int64 {
	return map[Outcome]*int64{Succeeded: &c.Succeeded, Failed: &c.Failed, Lost: &c.Lost}[o]
}

// PendingScheduled returns the number of scheduled runs that wait or whose Job is not observed yet.
func (s State) PendingScheduled() (n int64) {
	for i := range s.Pending {
		if !s.Pending[i].OnDemand {
			n++
		}
	}
	return n
}

// Upstream returns the input for jobs that depend on the job with this state, name and
// UID. The caller sets Created.
func (s State) Upstream(job, uid string) Upstream {
	return Upstream{Job: job, UID: uid, Counts: Counts{s.Succeeded, s.Failed, s.Lost}, Recent: slices.Clone(s.Completed)}
}

// Validate returns a [*field.Error] if the state has a version that this package does
// not know. [Decide] does nothing with such a state.
func (s State) Validate() error {
	if s.Version == stateVersion || s.Version == 0 && s.fresh() {
		return nil
	}
	return &field.Error{Path: "version", Found: fmt.Sprint(s.Version), Fix: fmt.Sprintf("a state of version %d, which this release reads and writes", stateVersion)}
}

const stateVersion = 1

// fresh reports whether nothing has been decided before, not even at the zero time.
func (s State) fresh() bool { return s.Since.IsZero() && s.Handled.IsZero() }

// Equal reports whether the states are the same. A state that equals its predecessor need
// not be stored.
func (s State) Equal(o State) bool { return reflect.DeepEqual(s.clone(), o.clone()) }

// clone copies the state, with its times in UTC, without empty lists, and with the fields that the JSON
// of a waiting run leaves out.
func (s State) clone() State {
	s.Since, s.Handled, s.RetryAt, s.Last = utc(s.Since), utc(s.Handled), utc(s.RetryAt), s.Last.utc()
	s.Pending, s.Running, s.Completed = copied(s.Pending), copied(s.Running), copied(s.Completed)
	for status, runs := range map[Status][]Run{Pending: s.Pending, Running: s.Running, Completed: s.Completed} {
		for i := range runs {
			runs[i] = runs[i].utc()
			runs[i].Status = status
		}
	}
	for i := range s.Pending {
		r := &s.Pending[i]
		r.Created = cmp.Or(r.Created, r.Due)
		switch {
		case r.Tag != "":
		case r.OnDemand:
			r.Tag = RequestTag(s.UID, r.Request)
		default:
			r.Tag = scheduledTag(s.UID, r.Due)
		}
	}
	s.Requested, s.PendingDeletion, s.After, s.Missing = copied(s.Requested), copied(s.PendingDeletion), copied(s.After), copied(s.Missing)
	if s.MissedBy = maps.Clone(s.MissedBy); len(s.MissedBy) == 0 {
		s.MissedBy = nil
	}
	for i := range s.After {
		s.After[i].Since = utc(s.After[i].Since)
	}
	return s
}

func copied[S ~[]T, T any](list S) S { return append(S(nil), list...) }

func (r Run) utc() Run {
	for _, t := range []*time.Time{&r.Due, &r.Occurrence, &r.Created, &r.Tried, &r.Started, &r.Completed} {
		*t = utc(*t)
	}
	return r
}

// utc returns t in UTC. The zero time stays zero: it means no time.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return interval.Clamp(t)
}

// byDue is the order of waiting runs.
func byDue(a, b Run) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Tag, b.Tag))
}

// byCompletion is the order of completion.
func byCompletion(a, b Run) int {
	return cmp.Or(a.Completed.Compare(b.Completed), byDue(a, b))
}
