package schedule

import (
	"math"
	"strconv"
)

// An Interval is an ISO 8601 repeating interval, R[n]/[start]/duration: a time
// spec. [Parse] makes one. The zero value is no schedule: it has no instants, and
// prints as "". Intervals can be compared with ==; equal ones have the same
// instants, while two spellings of one start in different offsets are not equal.
type Interval struct {
	set       bool
	unbounded bool
	times     int64 // not negative; math.MaxInt64 where unbounded
	start     start
	step      step
}

// IsZero reports whether the interval is no schedule at all. R0/… is one, though
// it has no instants either.
func (i Interval) IsZero() bool { return !i.set }

// Times returns the n of R[n] and true, or 0 and false for an interval that goes
// on without end.
func (i Interval) Times() (n int64, ok bool) {
	if i.unbounded {
		return 0, false
	}
	return i.times, true
}

// String returns the interval in a canonical spelling, from which [Parse] makes an
// equal one (FuzzParse): units are carried (P12M is P1Y, P14D is P2W, PT90M is
// PT1H30M; days and hours never become one another), a fraction of a week or day
// is in hours, and UTC is Z.
func (i Interval) String() string {
	if !i.set {
		return ""
	}
	n := ""
	if !i.unbounded {
		n = strconv.FormatInt(i.times, 10)
	}
	return "R" + n + "/" + i.start.String() + "/" + i.step.String()
}

// Without end, an interval has more instants than anybody lives to see: 292 years
// of nanoseconds.
const endless = math.MaxInt64
