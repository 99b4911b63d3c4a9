package history

import (
	"fmt"
	"strconv"
)

// A Limit is how many Jobs to keep. The zero value keeps all, while Keep(0) keeps
// none. Limits can be compared with ==.
type Limit struct {
	keep int
	set  bool
}

// Keep is a limit of n Jobs. A negative n counts as 0.
func Keep(n int) Limit { return Limit{max(0, n), true} }

// Value returns the number of Jobs to keep and true, or 0 and false where all are
// kept.
func (l Limit) Value() (n int, ok bool) { return l.keep, l.set }

// String returns the number, or "all".
func (l Limit) String() string {
	if !l.set {
		return "all"
	}
	return strconv.Itoa(l.keep)
}

// excess is how many of n Jobs are over the limit.
func (l Limit) excess(n int) int {
	if !l.set {
		return 0
	}
	return max(0, n-l.keep)
}

// Limits are the numbers of finished Jobs to keep. The zero value keeps all.
type Limits struct {
	Succeeded Limit
	Failed    Limit
}

// DefaultLimits are those of a manifest that sets none: 100 of each outcome.
func DefaultLimits() Limits { return Limits{Keep(100), Keep(100)} }

// String returns both limits.
func (l Limits) String() string {
	return fmt.Sprintf("%v succeeded, %v failed", l.Succeeded, l.Failed)
}

// Exceeded reports whether so many finished Jobs that are not on their way out
// are more than the limits keep: whether [Choose] would choose any.
func (l Limits) Exceeded(succeeded, failed int) bool {
	return l.Succeeded.excess(succeeded)+l.Failed.excess(failed) > 0
}
