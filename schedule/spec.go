package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/history"
)

// A Spec is what is configured of a job whose runs are decided. The zero value
// has no schedule, and lets no runs overlap; see [DefaultSpec].
type Spec struct {
	// UID is the job's: no other job has ever had it. It is part of the tags.
	UID string
	// Created is when the job was created. At the zero time, the first decision
	// stands for it.
	Created time.Time

	Interval Interval       // the time spec; the zero value is on demand only
	Zone     *time.Location // keeps the wall clock of calendar steps; nil is UTC

	// SkipOutdated keeps, of the scheduled runs that are due and not started, only
	// the latest.
	SkipOutdated bool
	// BlockOnFailure starts no scheduled run while the last completed run, scheduled
	// or not, failed.
	BlockOnFailure bool
	// AllowConcurrentRun lets runs overlap. Otherwise at most one is active.
	AllowConcurrentRun bool

	// MaxWaiting is how many scheduled runs may wait without SkipOutdated; 0 and
	// below are DefaultMaxWaiting.
	MaxWaiting int
	// History is how many completed runs to keep; the zero value keeps all.
	History history.Limits
	// After names the jobs whose completed runs ask for a run of this one.
	After []Dependency
}

// DefaultMaxWaiting is how many scheduled runs may wait where nobody says.
const DefaultMaxWaiting = 1000

// DefaultSpec is the spec of a job that says nothing: no schedule, outdated runs
// skipped, no block on failure, runs may overlap, 100 succeeded and 100 failed runs
// kept.
func DefaultSpec() Spec {
	return Spec{SkipOutdated: true, AllowConcurrentRun: true, MaxWaiting: DefaultMaxWaiting, History: history.DefaultLimits()}
}

// A Dependency asks for a run each time a run of another job completes so.
type Dependency struct {
	Job     string  `json:"job"`     // the other job's name
	Outcome Outcome `json:"outcome"` // Succeeded, Failed or Any; others ask for nothing
}

// An Outcome is how a run ended. The zero value is that of one that has not.
type Outcome string

const (
	Unfinished Outcome = ""
	Succeeded  Outcome = "succeeded"
	Failed     Outcome = "failed" // a pod of the run failed for good
	Any        Outcome = "any"    // succeeded or failed, of a Dependency
)

// Validate returns every problem of a spec, joined, each a [*FieldError]. Decide is
// defined for a spec with problems all the same.
func Validate(s Spec) error {
	var problems []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			problems = append(problems, &FieldError{field, value, want})
		}
	}
	check(s.UID != "", "UID", `""`, "the UID of the job")
	check(s.MaxWaiting >= 0, "MaxWaiting", s.MaxWaiting, "0 or more")
	seen := map[Dependency]bool{}
	for i, d := range s.After {
		path := fmt.Sprintf("After[%d]", i)
		check(d.Job != "", path+".Job", `""`, "the name of another job")
		check(d.Outcome == Succeeded || d.Outcome == Failed || d.Outcome == Any, path+".Outcome",
			fmt.Sprintf("%q", string(d.Outcome)), "succeeded, failed or any")
		check(!seen[d], path, d.Job+" "+string(d.Outcome), "each dependency once")
		seen[d] = true
	}
	return errors.Join(problems...)
}

// A FieldError is one problem of a Spec.
type FieldError struct {
	Field string // its path, such as "After[2].Job"
	Found any    // what stands there
	Want  string // what would be right
}

// Error names the field, what was found and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %v: want %s", e.Field, e.Found, e.Want)
}
