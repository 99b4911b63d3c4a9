package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
)

// A Spec is the configuration of a job. The zero value has no schedule and lets no
// runs overlap. See [DefaultSpec].
type Spec struct {
	// UID identifies the job: no other job has ever had it. It is part of the tags.
	// Validate requires it.
	UID string
	// Created is the creation time of the job. The zero time means the time of the
	// first decision.
	Created time.Time

	// Schedule holds the times at which runs are due. nil means on demand only.
	Schedule Schedule

	// SkipOutdated keeps only the latest of the due scheduled runs that have not
	// started.
	SkipOutdated bool
	// BlockOnFailure starts no scheduled run while the last completed run, scheduled
	// or not, failed.
	BlockOnFailure bool
	// Suspended starts no scheduled run. Occurrences still become due, and wait or are
	// missed as usual. Requested runs start.
	Suspended bool
	// StartingDeadline is the longest time that a due scheduled run may wait. It
	// is missed afterwards. 0 means no deadline; Validate rejects less.
	StartingDeadline time.Duration
	// Concurrency decides on a run that may start while another run is active.
	Concurrency Concurrency

	// MaxWaiting is the number of scheduled runs that may wait without SkipOutdated. 0
	// means 1,000; Validate rejects less.
	MaxWaiting int
	// MaxCatchUp is the number of scheduled runs that may be unfinished at any time although
	// later runs were due when they started, as after an outage. 0 means 10;
	// Validate rejects less.
	MaxCatchUp int
	// History limits the completed runs that the state keeps. The zero value keeps as many as
	// the size of the state allows.
	History history.Limits
	// After names the jobs whose completed runs request a run of this job.
	After []Dependency
}

// A Concurrency decides on a run that may start while another run is active. Every
// value other than Allow lets at most one run be active. The zero value is Wait.
type Concurrency string

const (
	Allow Concurrency = "Allow" // the run starts; runs overlap
	Wait  Concurrency = "Wait"  // the run waits for the active run to complete
	// Forbid misses a scheduled run. A requested run waits.
	Forbid Concurrency = "Forbid"
	// Replace stops the active run if both runs are scheduled. The run starts when the
	// Job of the stopped run is gone. Requested runs are never replaced; a requested run
	// waits, and scheduled runs wait for requested runs.
	Replace Concurrency = "Replace"
)

// DefaultSpec returns a spec with the defaults of a ScheduledJob: no schedule, outdated
// runs are skipped, a failure does not block, runs may overlap, and history keeps 100
// succeeded and 100 failed runs.
func DefaultSpec() Spec {
	return Spec{SkipOutdated: true, Concurrency: Allow, History: history.DefaultLimits()}
}

// A Dependency requests a run each time a run of another job completes with the
// outcome.
type Dependency struct {
	Job     string  `json:"job"`     // the other job's name
	Outcome Outcome `json:"outcome"` // Succeeded, Failed or Any; others ask for nothing
}

// An Outcome is the result of a run. An unfinished run has the zero value.
type Outcome string

const (
	Unfinished Outcome = ""
	Succeeded  Outcome = "succeeded"
	Failed     Outcome = "failed" // a pod of the run failed for good
	Lost       Outcome = "lost"   // the Job was deleted before it had finished; not of a Dependency
	Any        Outcome = "any"    // succeeded, failed or lost, of a Dependency
)

// Validate returns every problem of a spec, joined, each a [*field.Error]. [Decide] is
// defined for a spec with problems, too.
func Validate(s Spec) error {
	var e field.Errors
	e.Check(s.UID != "", "UID", s.UID, "the UID of the job")
	e.Check(s.Schedule == nil || !s.Created.IsZero(), "Created", "", "the creation time of the job; without it, each new state starts anew")
	e.Check(slices.Contains([]Concurrency{"", Allow, Wait, Forbid, Replace}, s.Concurrency), "Concurrency", s.Concurrency, "Allow, Wait, Forbid or Replace")
	e.Check(s.StartingDeadline >= 0, "StartingDeadline", s.StartingDeadline, "a duration of 0 or more")
	e.AtLeast("MaxWaiting", int64(s.MaxWaiting), 0)
	e.AtLeast("MaxCatchUp", int64(s.MaxCatchUp), 0)
	for i, d := range s.After {
		path := fmt.Sprintf("After[%d]", i)
		e.Check(d.Job != "", path+".Job", d.Job, "the name of another job")
		e.Check(d.Outcome == Succeeded || d.Outcome == Failed || d.Outcome == Any, path+".Outcome",
			d.Outcome, "succeeded, failed or any")
		if slices.Contains(s.After[:i], d) {
			e.Add(field.Error{Path: path, Found: fmt.Sprintf("%q %s again", d.Job, d.Outcome), Fix: "each dependency once"})
		}
	}
	return e.Err()
}

// Cycle returns the jobs of a dependency cycle through a job, for which runs would cause runs forever:
// each job depends on the next, and the last on the first, which is the job. It returns nil if there is
// none. after returns the names of the jobs that a job depends on; it is called at most once for each job.
func Cycle(job string, after func(job string) []string) []string {
	visited := map[string]bool{}
	var find func([]string) []string
	find = func(path []string) []string {
		for _, other := range after(path[len(path)-1]) {
			if other == job {
				return path
			}
			if visited[other] {
				continue
			}
			visited[other] = true
			if cycle := find(append(path, other)); cycle != nil {
				return cycle
			}
		}
		return nil
	}
	return find([]string{job})
}
