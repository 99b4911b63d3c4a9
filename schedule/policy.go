package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
)

// A Policy is the configuration of a job. The zero value has no schedule and lets no runs overlap.
// See [DefaultPolicy].
type Policy struct {
	// UID identifies the job: no other job has ever had it. It is part of the tags.
	// Validate requires it.
	UID string
	// Created is the creation time of the job. The zero time means the time of the
	// first decision.
	Created time.Time

	// Schedule holds the occurrences. nil means on demand only.
	Schedule Schedule
	// End is the time after which the schedule has no occurrence. The zero time means none.
	End time.Time
	// Jitter delays each run by less than this time, so that jobs with one schedule do not start
	// together. The delay is whole seconds, ends before the next occurrence and not after End, and
	// depends only on the occurrence and UID. 0 means none; Validate rejects less.
	Jitter Duration

	// SkipOutdated keeps only the latest of the due scheduled runs that have not started. Forbid and
	// Replace do so in any case.
	SkipOutdated bool
	// BlockOnFailure starts no scheduled run after a completed run, scheduled or not, has failed,
	// until one succeeds.
	BlockOnFailure bool
	// Suspended starts no scheduled run. Occurrences still become due, and wait or are
	// missed as usual. Requested runs start.
	Suspended bool
	// StartingDeadline is the longest time that a due scheduled run may wait. It
	// is missed afterwards. 0 means no deadline; Validate rejects less.
	StartingDeadline Duration
	// Concurrency decides on a run that may start while another run is active.
	Concurrency Concurrency

	// MaxWaiting is the number of scheduled runs that may wait without SkipOutdated. 0
	// means 1,000; Validate rejects less.
	MaxWaiting int64
	// MaxCatchUp is the number of scheduled runs that may be unfinished at any time although
	// later runs were due when they started, as after an outage. 0 means 10;
	// Validate rejects less.
	MaxCatchUp int64
	// History limits the completed runs that the checkpoint keeps. The zero value keeps as many as
	// the size of the checkpoint allows.
	History history.Policy
	// After names the jobs whose completed runs request a run of this job.
	After []Dependency

	// Unblock ends a block, and Rewind lets a checkpoint that is ahead of the clock begin again at
	// Observation.Now. Each acts once for each value, such as a time. "" does nothing.
	Unblock, Rewind string
}

// A Concurrency decides on a run that may start while another run is active. Every
// value other than Allow lets at most one run be active. The zero value is Wait.
type Concurrency string

const (
	Allow Concurrency = "Allow" // the run starts; runs overlap
	Wait  Concurrency = "Wait"  // the run waits for the active run to complete
	// Forbid is a CronJob's: when the active run completes, the latest missed scheduled run starts.
	// A requested run waits.
	Forbid Concurrency = "Forbid"
	// Replace stops the active run if both runs are scheduled. The run starts when the
	// Job of the stopped run is gone. Requested runs are never replaced; a requested run
	// waits, and scheduled runs wait for requested runs.
	Replace Concurrency = "Replace"
)

// DefaultPolicy returns a policy with the defaults of a ScheduledJob: no schedule, outdated
// runs are skipped, a failure does not block, runs may overlap, and history keeps 100
// succeeded and 100 failed runs.
func DefaultPolicy() Policy {
	return Policy{SkipOutdated: true, Concurrency: Allow, History: history.DefaultPolicy()}
}

// keepsLatest reports whether only the latest scheduled run waits.
func (p Policy) keepsLatest() bool {
	return p.SkipOutdated || p.Concurrency == Forbid || p.Concurrency == Replace
}

// A Duration is a [time.Duration] that is "5m0s" in JSON. The zero value is "0s".
type Duration time.Duration

// String returns the duration in the form of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration such as "5m0s".
func (d *Duration) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	*d = Duration(value)
	return err
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
	Lost       Outcome = "lost"   // the Job was deleted before it had finished
	// Stopped is the outcome of a started run that was cancelled or replaced: neither success nor failure.
	Stopped Outcome = "stopped"
	Any     Outcome = "any" // each of these, of a Dependency
)

// Validate returns every problem of the policy, joined, each a [*field.Error]. [Decide] is
// defined for a policy with problems, too.
func (p Policy) Validate() error {
	var e field.Errors
	e.Check(p.UID != "", "UID", p.UID, "the UID of the job")
	e.Check(p.Schedule == nil || !p.Created.IsZero(), "Created", "", "the creation time of the job; without it, each new checkpoint starts anew")
	e.Check(slices.Contains([]Concurrency{"", Allow, Wait, Forbid, Replace}, p.Concurrency), "Concurrency", p.Concurrency, "Allow, Wait, Forbid or Replace")
	e.Check(p.StartingDeadline >= 0, "StartingDeadline", p.StartingDeadline, "a duration of 0 or more")
	e.Check(p.Jitter >= 0, "Jitter", p.Jitter, "a duration of 0 or more")
	e.AtLeast("MaxWaiting", p.MaxWaiting, 0)
	e.AtLeast("MaxCatchUp", p.MaxCatchUp, 0)
	for i, d := range p.After {
		path := fmt.Sprintf("After[%d]", i)
		e.Check(d.Job != "", path+".Job", d.Job, "the name of another job")
		e.Check(d.Outcome == Succeeded || d.Outcome == Failed || d.Outcome == Any, path+".Outcome",
			d.Outcome, "succeeded, failed or any")
		if slices.Contains(p.After[:i], d) {
			e.Add(field.Error{Path: path, Found: fmt.Sprintf("%q %s again", d.Job, d.Outcome), Fix: "each dependency once"})
		}
	}
	return e.Err()
}

// Warnings returns the settings that have no effect beside the others, each a [*field.Error], joined.
func (p Policy) Warnings() error {
	var e field.Errors
	unscheduled := func(set bool, path string, found any) {
		e.Check(p.Schedule != nil || !set, path, found, "a schedule; without one it has no effect")
	}
	unscheduled(!p.End.IsZero(), "End", p.End.Format(time.RFC3339))
	unscheduled(p.Jitter > 0, "Jitter", p.Jitter)
	unscheduled(!p.SkipOutdated, "SkipOutdated", false)
	unscheduled(p.BlockOnFailure, "BlockOnFailure", true)
	unscheduled(p.Suspended, "Suspended", true)
	unscheduled(p.StartingDeadline > 0, "StartingDeadline", p.StartingDeadline)
	unscheduled(p.MaxCatchUp > 0, "MaxCatchUp", p.MaxCatchUp)
	if p.Schedule == nil {
		return e.Err()
	}
	second := Duration(time.Second)
	e.Check(p.Jitter == 0 || p.Jitter > second, "Jitter", p.Jitter, "more than 1s: delays are whole seconds below it")
	keepsOne := p.Concurrency == Forbid || p.Concurrency == Replace
	e.Check(p.SkipOutdated || !keepsOne, "SkipOutdated", false, fmt.Sprintf("true, or Wait as Concurrency: with %s only the latest run waits", p.Concurrency))
	oneByOne := p.keepsLatest() || p.Concurrency != Allow
	e.Check(p.MaxCatchUp == 0 || !oneByOne, "MaxCatchUp", p.MaxCatchUp, "none: it has an effect only if runs overlap and outdated runs are not skipped")
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
