package schedule

import (
	"cmp"
	"slices"
	"time"
)

// A State is what must survive a restart: a plain value that a decision takes in
// and hands back. Its JSON has the names of a job's status, so that it can be one.
// The zero value is that of a job about which nothing has been decided.
//
// In a state that a decision has handed back, Due = Started + Missed + Dropped + the
// scheduled runs that are pending (FuzzConservation), and the times are in UTC.
type State struct {
	TimeSpec string    `json:"timeSpec,omitempty"` // that all this belongs to
	Zone     string    `json:"zone,omitempty"`     // the name of its zone
	Since    time.Time `json:"since,omitzero"`     // from when on it holds: the creation, or its last change
	Handled  time.Time `json:"handled,omitzero"`   // the last instant that became due; at first just before Since

	Due     int64 `json:"scheduleCount"` // instants that became due
	Started int64 `json:"startedCount"`  // of those, runs that started
	Missed  int64 `json:"missedCount"`   // outdated before they started
	Dropped int64 `json:"droppedCount"`  // more than may wait

	Pending   []Run `json:"pendingExecutions,omitempty"`  // by due time, then tag
	Running   []Run `json:"runningExecutions,omitempty"`  // by due time, then tag
	Completed []Run `json:"completedExecution,omitempty"` // by completion, due time, then tag

	Last    Run  `json:"lastExecution,omitzero"` // the last in the order of Completed, still there when history has dropped it
	Blocked bool `json:"blocked,omitempty"`      // the schedule starts nothing

	Asked     []string     `json:"asked,omitempty"`     // tags of runs on demand that have been taken up, oldest first
	Forgotten []string     `json:"forgotten,omitempty"` // tags of runs that history has dropped and whose Jobs are not gone
	After     []Connection `json:"after,omitempty"`     // the dependencies, and from when on they hold
}

// A Run is one execution of a job. The zero value is none.
type Run struct {
	Tag      string `json:"tag"`
	OnDemand bool   `json:"onDemand,omitempty"` // asked for; else scheduled
	Request  string `json:"request,omitempty"`  // the id of the request, or the tag of the run of another job
	Status   Status `json:"status"`

	Due       time.Time `json:"dueAt"`                // the scheduled instant, or when the run was asked for
	Created   time.Time `json:"createdAt"`            // when it began to wait
	Started   time.Time `json:"startedAt,omitzero"`   // when it was decided to create its Job
	Completed time.Time `json:"completedAt,omitzero"` // not before Started, nor before any run that had completed

	Success  bool  `json:"success"`            // of a completed run
	Lost     bool  `json:"lost,omitempty"`     // it failed as its Job was gone before it had finished
	ExitCode int32 `json:"exitCode,omitempty"` // of the first pod that failed for good; 0 where none did, or nobody knows
	Seen     bool  `json:"seen,omitempty"`     // its Job has been observed
}

// Status is which of the three lists a run is in.
type Status string

const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
)

// Outcome returns how the run ended.
func (r Run) Outcome() Outcome {
	switch {
	case r.Status != Completed:
		return Unfinished
	case r.Success:
		return Succeeded
	}
	return Failed
}

// A Connection is a dependency with the instant from which on completions count:
// those before it had been there when the dependency came.
type Connection struct {
	Dependency
	Since time.Time `json:"since"`
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

// Completions returns the completed runs of a job of that name and state, for the
// jobs that depend on it; the last one also where history has dropped it.
func (s State) Completions(job string) []Completion {
	var all []Completion
	add := func(r Run) {
		all = append(all, Completion{Job: job, Tag: r.Tag, Outcome: r.Outcome(), Completed: r.Completed})
	}
	for _, r := range s.Completed {
		add(r)
	}
	if s.Last.Status == Completed && !slices.ContainsFunc(s.Completed, func(r Run) bool { return r.Tag == s.Last.Tag }) {
		add(s.Last)
	}
	return all
}

// Equal reports whether the states are the same. A decision whose state equals the
// one before it need not be stored.
func (s State) Equal(o State) bool {
	s, o = s.clone(), o.clone()
	return s.TimeSpec == o.TimeSpec && s.Zone == o.Zone && s.Since == o.Since && s.Handled == o.Handled &&
		s.Due == o.Due && s.Started == o.Started && s.Missed == o.Missed && s.Dropped == o.Dropped &&
		slices.Equal(s.Pending, o.Pending) && slices.Equal(s.Running, o.Running) && slices.Equal(s.Completed, o.Completed) &&
		s.Last == o.Last && s.Blocked == o.Blocked &&
		slices.Equal(s.Asked, o.Asked) && slices.Equal(s.Forgotten, o.Forgotten) && slices.Equal(s.After, o.After)
}

// clone copies the state, with its times in UTC.
func (s State) clone() State {
	s.Since, s.Handled, s.Last = utc(s.Since), utc(s.Handled), s.Last.utc()
	for _, runs := range []*[]Run{&s.Pending, &s.Running, &s.Completed} {
		*runs = slices.Clone(*runs)
		for i := range *runs {
			(*runs)[i] = (*runs)[i].utc()
		}
	}
	s.Asked, s.Forgotten, s.After = slices.Clone(s.Asked), slices.Clone(s.Forgotten), slices.Clone(s.After)
	for i := range s.After {
		s.After[i].Since = utc(s.After[i].Since)
	}
	return s
}

func (r Run) utc() Run {
	r.Due, r.Created, r.Started, r.Completed = utc(r.Due), utc(r.Created), utc(r.Started), utc(r.Completed)
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
