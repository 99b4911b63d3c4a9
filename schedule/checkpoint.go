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

// A Checkpoint is what must survive a restart. It is a plain value that a decision takes and returns.
// Its JSON has the names of a job's status, so that it can be the status. The zero value
// is the checkpoint of a job before its first decision.
//
// In a checkpoint from a decision, Due = Started + Missed + Dropped + the pending scheduled
// runs. Times are in UTC, except for those of occurrences.
type Checkpoint struct {
	// Version is the version of this form: 1, or 0 in the zero Checkpoint.
	Version int32 `json:"version,omitempty"`

	TimeSpec string    `json:"timeSpec,omitempty"` // the schedule, for people
	Identity string    `json:"identity,omitempty"` // of the schedule to which counts and times belong
	Begin    time.Time `json:"since,omitzero"`     // when that began to hold: the creation of the job, or the last change of the identity
	Handled  time.Time `json:"handled,omitzero"`   // the last occurrence that became due; at first just before Begin

	Due     int64 `json:"scheduleCount"` // occurrences that became due
	Started int64 `json:"startedCount"`  // scheduled runs with an observed Job
	Missed  int64 `json:"missedCount"`   // runs that never started: the sum of MissedBy
	Dropped int64 `json:"droppedCount"`  // runs above MaxWaiting

	MissedBy Missed `json:"missedBy,omitempty"` // Missed, by reason
	// Missing holds the reasons of runs that were missed since a scheduled run last started.
	Missing []Reason `json:"missing,omitempty"`
	// LastMissed is why the occurrence that became due last has no run. It is empty if it has one.
	LastMissed Reason `json:"lastMissed,omitempty"`

	Pending   PendingRuns `json:"pendingExecutions,omitempty"`  // by due time, then tag
	Running   []Run       `json:"runningExecutions,omitempty"`  // by due time, then tag
	Completed []Run       `json:"completedExecution,omitempty"` // by completion, due time, then tag

	Succeeded int64 `json:"succeededCount,omitempty"` // all runs that ever succeeded, scheduled or not
	Failed    int64 `json:"failedCount,omitempty"`    // all runs that ever failed
	Lost      int64 `json:"lostCount,omitempty"`      // all runs whose Job was deleted before it had finished
	Stopped   int64 `json:"stoppedCount,omitempty"`   // all runs that were cancelled or replaced after they had started

	Last        Run       `json:"lastExecution,omitzero"`   // the started run that completed last, also after history has dropped it
	LastSuccess time.Time `json:"lastSuccessTime,omitzero"` // when a run last succeeded
	// FailedRun is the tag of the last run that failed. It is empty if a run has succeeded since.
	FailedRun string `json:"failedRun,omitempty"`
	Blocked   bool   `json:"blocked,omitempty"` // the schedule starts nothing, because FailedRun failed

	// Tries is the number of decisions with a create since a Job was last observed. A
	// rejected create raises it to the number at which runs start one at a time. No create
	// is repeated before RetryAt.
	Tries   int64     `json:"tries,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Rejected is the text of the last rejection. It is empty once a Job
	// has been observed.
	Rejected string `json:"rejected,omitempty"`
	// UID is the job's: a checkpoint of another job was restored from elsewhere.
	UID string `json:"uid,omitempty"`
	// JobsRevision is the revision of the list of Jobs that last changed the checkpoint.
	JobsRevision int64 `json:"jobsRevision,omitempty"`

	Requested       []string     `json:"requested,omitempty"`       // tags of requested runs that history has dropped, oldest first
	PendingDeletion []string     `json:"pendingDeletion,omitempty"` // tags of runs that history has dropped and whose Jobs still exist
	Early           []time.Time  `json:"early,omitempty"`           // occurrences later than Handled whose runs have started: their times must start nothing
	Commands        []string     `json:"commands,omitempty"`        // digests of the values of Policy.Unblock and Policy.Rewind that have acted
	After           []Connection `json:"after,omitempty"`           // the dependencies, with their counts
}

// PendingRuns are the runs that wait or whose Job is not observed yet. In JSON, scheduled runs without a create that wait behind
// 20 others have their times only. A decision gives them the other fields again.
type PendingRuns []Run

const wholeRuns = 20

// MarshalJSON returns the list.
func (p PendingRuns) MarshalJSON() ([]byte, error) {
	list, n := make([]any, len(p)), 0
	for i, r := range p {
		list[i] = r
		if r.OnDemand || r.Attempts > 0 {
			continue
		}
		if n++; n > wholeRuns {
			list[i] = struct {
				Due   time.Time `json:"dueAt"`
				Delay Duration  `json:"delay,omitzero"`
			}{r.Due, r.Delay}
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

	Due   time.Time `json:"dueAt"`          // the occurrence, in the zone of the schedule, or the time of the request
	Delay Duration  `json:"delay,omitzero"` // of a scheduled run: the time after Due at which it is due, by Policy.Jitter
	// Occurrence is the occurrence that a requested run stands for, in the zone of the schedule; zero for none.
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
	case r.Status != Completed || (r.Stopped != "" && r.Started.IsZero()):
		return Unfinished
	case r.Success:
		return Succeeded
	case r.Lost:
		return Lost
	case r.Stopped != "":
		return Stopped
	}
	return Failed
}

// due returns the time at which the run is due.
func (r Run) due() time.Time { return r.Due.Add(time.Duration(r.Delay)) }

// A Connection is a dependency, with the completions that have been answered.
type Connection struct {
	Dependency
	// Begin is the time from which completions count. UID identifies the other job; it is
	// "" until the other job has been observed.
	Begin time.Time `json:"since"`
	UID   string    `json:"uid,omitempty"`
	// Counts has the completions of the other job that have led to a run, or happened before Begin.
	Counts
}

// Counts counts completed runs by outcome.
type Counts struct {
	Succeeded int64 `json:"succeeded,omitempty"`
	Failed    int64 `json:"failed,omitempty"`
	Lost      int64 `json:"lost,omitempty"`
	Stopped   int64 `json:"stopped,omitempty"`
}

// outcomes are those that a started run may have.
var outcomes = []Outcome{Succeeded, Failed, Lost, Stopped}

// count returns the count of an outcome, and nil for other outcomes.
func (c *Counts) count(o Outcome) *int64 {
	return map[Outcome]*int64{Succeeded: &c.Succeeded, Failed: &c.Failed, Lost: &c.Lost, Stopped: &c.Stopped}[o]
}

// PendingScheduled returns the number of scheduled runs that wait or whose Job is not observed yet.
func (c Checkpoint) PendingScheduled() (n int64) {
	for i := range c.Pending {
		if !c.Pending[i].OnDemand {
			n++
		}
	}
	return n
}

// Upstream returns the input for jobs that depend on the job with this checkpoint, name and
// UID. The caller sets Created.
func (c Checkpoint) Upstream(job, uid string) Upstream {
	return Upstream{Job: job, UID: uid, Counts: Counts{c.Succeeded, c.Failed, c.Lost, c.Stopped}, Recent: slices.Clone(c.Completed)}
}

// Validate returns a [*field.Error] if the checkpoint has a version that this package does
// not know. [Decide] does nothing with such a checkpoint.
func (c Checkpoint) Validate() error {
	isNew := c.Version == 0 && c.fresh()
	if c.Version == checkpointVersion || isNew {
		return nil
	}
	return &field.Error{Path: "version", Found: fmt.Sprint(c.Version), Fix: fmt.Sprintf("a checkpoint of version %d, which this release reads and writes", checkpointVersion)}
}

const checkpointVersion = 1

// fresh reports whether nothing has been decided before, not even at the zero time.
func (c Checkpoint) fresh() bool { return c.Begin.IsZero() && c.Handled.IsZero() }

// Equal reports whether the checkpoints are the same. A checkpoint that equals its predecessor need
// not be stored.
func (c Checkpoint) Equal(other Checkpoint) bool { return reflect.DeepEqual(c.clone(), other.clone()) }

// clone copies the checkpoint, with its times in one form, without empty lists, and with the fields that
// the JSON of a waiting run leaves out.
func (c Checkpoint) clone() Checkpoint {
	c.Begin, c.Handled, c.RetryAt, c.LastSuccess, c.Last = utc(c.Begin), utc(c.Handled), utc(c.RetryAt), utc(c.LastSuccess), c.Last.normal()
	c.Pending, c.Running, c.Completed = copied(c.Pending), copied(c.Running), copied(c.Completed)
	for status, runs := range map[Status][]Run{Pending: c.Pending, Running: c.Running, Completed: c.Completed} {
		for i := range runs {
			runs[i] = runs[i].normal()
			runs[i].Status = status
		}
	}
	for i := range c.Pending {
		c.Pending[i].complete(c.UID)
	}
	c.Requested, c.PendingDeletion, c.After = copied(c.Requested), copied(c.PendingDeletion), copied(c.After)
	c.Missing, c.Early, c.Commands = copied(c.Missing), copied(c.Early), copied(c.Commands)
	if c.MissedBy = maps.Clone(c.MissedBy); len(c.MissedBy) == 0 {
		c.MissedBy = nil
	}
	for i := range c.After {
		c.After[i].Begin = utc(c.After[i].Begin)
	}
	for i := range c.Early {
		c.Early[i] = utc(c.Early[i])
	}
	return c
}

// complete sets the fields of a pending run that its JSON leaves out.
func (r *Run) complete(uid string) {
	r.Created = cmp.Or(r.Created, r.due().UTC())
	switch {
	case r.Tag != "":
	case r.OnDemand:
		r.Tag = RequestTag(uid, r.Request)
	default:
		r.Tag = scheduledTag(uid, r.Due)
	}
}

func copied[S ~[]T, T any](list S) S { return append(S(nil), list...) }

// normal returns the run with its times in one form.
func (r Run) normal() Run {
	for _, t := range []*time.Time{&r.Created, &r.Tried, &r.Started, &r.Completed} {
		*t = utc(*t)
	}
	for _, t := range []*time.Time{&r.Due, &r.Occurrence} {
		if !t.IsZero() {
			*t = inZone(*t, t.Location())
		}
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
	return cmp.Or(a.due().Compare(b.due()), cmp.Compare(a.Tag, b.Tag))
}

// byCompletion is the order of completion.
func byCompletion(a, b Run) int {
	return cmp.Or(a.Completed.Compare(b.Completed), byDue(a, b))
}
