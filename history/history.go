// Package history chooses the finished Jobs to delete: the oldest above a number to keep, and
// those that finished too long ago.
//
//	policy := history.Policy{Succeeded: history.Keep(3), Failed: history.Keep(10), Age: history.After(time.Hour)}
//	decision := history.Decide(policy, history.Observation{Now: now, Jobs: jobs})
//	for _, d := range decision.Delete { // d.Index is the place in jobs, d.Reason says why
//
// [Decide] orders the Jobs of one outcome by the time they finished, ties by name, and keeps the
// newest, up to the limit of that outcome. Of these it then deletes those that have reached the
// age. Unfinished Jobs and Jobs that are being deleted are neither chosen nor counted as kept.
//
// A Job finished when it completed, else when its condition Failed became true, else
// when it was created. Only succeeded Jobs have a completion time,
// which alone would leave failed Jobs without an order. testdata/SPECIFICATION.md has the rules for any language.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Policy says which finished Jobs are kept. The zero value keeps all: each field that is nil
// sets no limit.
type Policy struct {
	Succeeded *int64         `json:"succeeded,omitempty"` // succeeded Jobs to keep; 0 keeps none, and so does a negative number
	Failed    *int64         `json:"failed,omitempty"`    // failed Jobs to keep, in the same way
	Age       *time.Duration `json:"age,omitempty"`       // time after its finish at which a Job is deleted; 0 or less deletes at once
}

// Keep returns a limit of n Jobs, for a field of a [Policy].
func Keep(n int64) *int64 { return &n }

// After returns an age, for the field of a [Policy].
func After(d time.Duration) *time.Duration { return &d }

// DefaultPolicy returns the policy of a manifest that sets no limit: 100 Jobs of each outcome.
func DefaultPolicy() Policy { return Policy{Succeeded: Keep(100), Failed: Keep(100)} }

// Validate returns every problem of the policy, joined. Each is a [*field.Error]. Decide also
// accepts an invalid policy.
func (p Policy) Validate() error {
	var problems field.Errors
	for _, limit := range []struct {
		name string
		keep *int64
	}{{"Succeeded", p.Succeeded}, {"Failed", p.Failed}} {
		if limit.keep != nil {
			problems.AtLeast(limit.name, *limit.keep, 0)
		}
	}
	if p.Age != nil {
		problems.Check(*p.Age >= 0, "Age", *p.Age, "0 or more")
	}
	return problems.Err()
}

// MarshalJSON returns the fields, with the age as a text such as "1h0m0s".
func (p Policy) MarshalJSON() ([]byte, error) { return jsonform.Marshal(p) }

// UnmarshalJSON reads the result of MarshalJSON.
func (p *Policy) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, p) }

// String returns the limits, as in "3 succeeded, all failed, for 1h0m0s".
func (p Policy) String() string {
	limits := number(p.Succeeded) + " succeeded, " + number(p.Failed) + " failed"
	if p.Age == nil {
		return limits
	}
	return fmt.Sprintf("%s, for %v", limits, max(0, *p.Age))
}

func number(keep *int64) string {
	if keep == nil {
		return "all"
	}
	return strconv.FormatInt(max(0, *keep), 10)
}

// An Outcome is the result of a Job. The zero value is an unfinished Job, which is never
// chosen.
type Outcome string

const (
	Succeeded Outcome = "succeeded" // the condition Complete is true
	Failed    Outcome = "failed"    // the condition Failed is true
)

// An Observation holds the Jobs of an owner. The zero value has none.
type Observation struct {
	Now  time.Time `json:"now"` // for the age; without one it is not read
	Jobs []Job     `json:"jobs"`
}

// A Job holds the facts that [Decide] reads. The zero value is unfinished. A Job
// with an unknown Outcome is never chosen.
type Job struct {
	Name     string    `json:"name"`
	Outcome  Outcome   `json:"outcome"`
	Deleting bool      `json:"deleting"` // has a deletion timestamp
	Finished time.Time `json:"finished"` // see the package comment; the zero time is the oldest
}

// A Decision lists the Jobs to delete. The zero value deletes none.
type Decision struct {
	// Delete has the succeeded Jobs above their limit, then the failed ones, each oldest first,
	// ties by name, then by index; then the Jobs that have reached the age, in the order of the
	// observation. It is nil if there are none.
	Delete []Deletion `json:"delete,omitempty"`
	// NextCheck is the next time at which a Job reaches the age. The zero time means none.
	NextCheck time.Time `json:"nextCheck,omitzero"`
}

// A Deletion is a Job to delete.
type Deletion struct {
	Index  int    `json:"index"` // in [Observation].Jobs
	Reason Reason `json:"reason"`
}

// A Reason says why a Job is deleted. The zero value is no reason.
type Reason string

const (
	ReasonSucceededLimit Reason = "SucceededLimit"
	ReasonFailedLimit    Reason = "FailedLimit"
	ReasonAge            Reason = "Age"
)

var texts = map[Reason]string{
	ReasonSucceededLimit: "more succeeded Jobs than the history keeps",
	ReasonFailedLimit:    "more failed Jobs than the history keeps",
	ReasonAge:            "finished longer ago than the history keeps Jobs",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String returns a line for each reason with the indexes of its Jobs, or "nothing to delete".
func (d Decision) String() string {
	var lines []string
	for _, reason := range []Reason{ReasonSucceededLimit, ReasonFailedLimit, ReasonAge} {
		var indexes []int
		for _, deletion := range d.Delete {
			if deletion.Reason == reason {
				indexes = append(indexes, deletion.Index)
			}
		}
		if indexes != nil {
			lines = append(lines, fmt.Sprintf("delete %v: %s", indexes, reason.Text()))
		}
	}
	if lines == nil {
		return "nothing to delete"
	}
	return strings.Join(lines, "\n")
}

// Decide returns the Jobs to delete. It changes none of its arguments.
func Decide(p Policy, o Observation) (d Decision) {
	excess := d.limit(p.Succeeded, Succeeded, ReasonSucceededLimit, o.Jobs)
	excess = append(excess, d.limit(p.Failed, Failed, ReasonFailedLimit, o.Jobs)...)
	if p.Age == nil {
		return d
	}
	slices.Sort(excess)
	for i := range o.Jobs {
		if _, found := slices.BinarySearch(excess, i); !found && o.Jobs[i].finished() {
			d.expire(i, o.Jobs[i].Finished.Add(max(0, *p.Age)), o.Now)
		}
	}
	return d
}

// limit deletes the oldest Jobs of an outcome above a limit, and returns their indexes.
func (d *Decision) limit(keep *int64, outcome Outcome, reason Reason, jobs []Job) []int {
	if keep == nil {
		return nil
	}
	indexes := oldest(max(0, *keep), outcome, jobs)
	for _, i := range indexes {
		d.Delete = append(d.Delete, Deletion{i, reason})
	}
	return indexes
}

// expire deletes a Job if its end has come, or else notes when it will.
func (d *Decision) expire(index int, end, now time.Time) {
	switch {
	case !now.Before(end):
		d.Delete = append(d.Delete, Deletion{index, ReasonAge})
	case d.NextCheck.IsZero() || end.Before(d.NextCheck):
		d.NextCheck = end
	}
}

// finished reports whether the Job has an outcome and is not being deleted.
func (j *Job) finished() bool {
	return !j.Deleting && (j.Outcome == Succeeded || j.Outcome == Failed)
}

// oldest returns the Jobs of an outcome except the newest, oldest first.
func oldest(newest int64, outcome Outcome, jobs []Job) []int {
	n := int64(0)
	for i := range jobs {
		if jobs[i].Outcome == outcome && !jobs[i].Deleting {
			n++
		}
	}
	if n <= newest { // the common case needs no memory
		return nil
	}
	indexes := make([]int, 0, n)
	for i := range jobs {
		if jobs[i].Outcome == outcome && !jobs[i].Deleting {
			indexes = append(indexes, i)
		}
	}
	slices.SortFunc(indexes, func(a, b int) int {
		if order := jobs[a].Finished.Compare(jobs[b].Finished); order != 0 {
			return order // names are compared for ties only
		}
		return cmp.Or(cmp.Compare(jobs[a].Name, jobs[b].Name), cmp.Compare(a, b))
	})
	return indexes[:n-newest]
}
