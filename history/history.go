// Package history chooses the finished Jobs to delete, so that the newest Jobs of each
// outcome are kept, up to a limit.
//
// [ToDelete] orders the Jobs of one outcome by the time they finished, ties by name.
// It chooses the oldest until the [Limit] of the outcome is met. Succeeded and failed
// Jobs have separate limits. Unfinished Jobs and Jobs that are being deleted are
// neither chosen nor counted as kept.
//
// [Expired] chooses the Jobs that finished a time ago, whatever their number.
//
// A Job finished when it completed, else when its condition Failed became true, else
// when it was created: [Times.Finished]. Only succeeded Jobs have a completion time,
// which alone would leave failed Jobs without an order.
//
// # Tests
//
//	the newest of each outcome are kept                       TestKeepsTheNewest
//	the order of the Jobs does not matter                     TestOrderOfJobs
//	nothing is chosen once the chosen Jobs are being deleted  TestIdempotent
//	the age of a Job, and the next time                       TestExpired
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// An Outcome is the result of a Job. The zero value is an unfinished Job, which is never
// chosen.
type Outcome string

const (
	Succeeded Outcome = "succeeded" // the condition Complete is true
	Failed    Outcome = "failed"    // the condition Failed is true
)

// A Job holds the facts that [ToDelete] reads. The zero value is unfinished. A Job
// with an unknown Outcome is never chosen.
type Job struct {
	Name     string
	Outcome  Outcome
	Deleting bool      // has a deletion timestamp
	Finished time.Time // see [Times.Finished]; the zero time is the oldest
}

// Times holds the times of a Job from which its finish is known. A zero time is not
// recorded.
type Times struct {
	Completion time.Time // status.completionTime; only succeeded Jobs have it
	Failure    time.Time // when the condition Failed became true
	Creation   time.Time // metadata.creationTimestamp
}

// Finished returns the time of completion, else of the failure, else of creation.
func (t Times) Finished() time.Time {
	switch {
	case !t.Completion.IsZero():
		return t.Completion
	case !t.Failure.IsZero():
		return t.Failure
	}
	return t.Creation
}

// A Limit is the number of Jobs to keep. The zero value keeps all; Keep(0) keeps none.
// Limits can be compared with ==.
type Limit struct {
	keep int
	set  bool
}

// Keep returns a limit of n Jobs. A negative n counts as 0.
func Keep(n int) Limit { return Limit{max(0, n), true} }

// Value returns the number of Jobs to keep and true, or 0 and false if all are kept.
func (l Limit) Value() (n int, ok bool) { return l.keep, l.set }

// String returns the number, or "all".
func (l Limit) String() string {
	if !l.set {
		return "all"
	}
	return strconv.Itoa(l.keep)
}

// excess returns the number of Jobs above the limit, of n.
func (l Limit) excess(n int) int {
	if !l.set {
		return 0
	}
	return max(0, n-l.keep)
}

// An Age is a time after which finished Jobs are deleted. The zero value keeps all; After(0)
// deletes each Job when it finishes. Ages can be compared with ==.
type Age struct {
	after time.Duration
	set   bool
}

// After returns the age d. A negative d counts as 0.
func After(d time.Duration) Age { return Age{max(0, d), true} }

// Value returns the age and true, or 0 and false if Jobs of any age are kept.
func (a Age) Value() (after time.Duration, ok bool) { return a.after, a.set }

// Limits holds the limits of finished Jobs to keep. The zero value keeps all.
type Limits struct {
	Succeeded Limit
	Failed    Limit
	Age       Age // of both; for [Expired]
}

// DefaultLimits returns the limits of a manifest that sets none: 100 of each outcome.
func DefaultLimits() Limits { return Limits{Succeeded: Keep(100), Failed: Keep(100)} }

// String returns both limits.
func (l Limits) String() string {
	if l.Age.set {
		return fmt.Sprintf("%v succeeded, %v failed, for %v", l.Succeeded, l.Failed, l.Age.after)
	}
	return fmt.Sprintf("%v succeeded, %v failed", l.Succeeded, l.Failed)
}

// Expired returns the indexes of the finished Jobs that have reached the age, in the order of
// the Jobs, and when the next one does; the zero time means none. Jobs that are being deleted
// are ignored.
func Expired(age Age, jobs []Job, now time.Time) (expired []int, next time.Time) {
	if !age.set {
		return nil, time.Time{}
	}
	for i := range jobs {
		if j := &jobs[i]; j.Deleting || j.Outcome != Succeeded && j.Outcome != Failed {
			continue
		}
		switch at := jobs[i].Finished.Add(age.after); {
		case !now.Before(at):
			expired = append(expired, i)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return expired, next
}

// ToDelete returns the indexes of the Jobs to delete: succeeded Jobs, then failed Jobs,
// each oldest first, ties by name, then by index. It returns nil if there are none.
func ToDelete(limits Limits, jobs []Job) []int {
	var succeeded, failed int
	for i := range jobs {
		switch {
		case jobs[i].Deleting:
		case jobs[i].Outcome == Succeeded:
			succeeded++
		case jobs[i].Outcome == Failed:
			failed++
		}
	}
	s := oldest(limits.Succeeded.excess(succeeded), succeeded, Succeeded, jobs)
	f := oldest(limits.Failed.excess(failed), failed, Failed, jobs)
	return append(s, f...)
}

// oldest returns the n oldest of all Jobs of an outcome, oldest first.
func oldest(n, all int, outcome Outcome, jobs []Job) []int {
	if n == 0 {
		return nil
	}
	indexes := make([]int, 0, all)
	for i := range jobs {
		if jobs[i].Outcome == outcome && !jobs[i].Deleting {
			indexes = append(indexes, i)
		}
	}
	slices.SortFunc(indexes, func(a, b int) int {
		if c := jobs[a].Finished.Compare(jobs[b].Finished); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(jobs[a].Name, jobs[b].Name), cmp.Compare(a, b))
	})
	return indexes[:n]
}
