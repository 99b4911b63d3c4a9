package taint

import (
	"time"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Level is how tainted a cluster is. The zero value is not at all.
type Level string

const (
	None Level = ""
	Soft Level = "soft" // a failure: remembered, excludes nothing
	Hard Level = "hard" // another failure while soft: excludes
)

// A Taint is a cluster's taint. The zero value is none. States of equal times
// can be compared with ==, since Until is in UTC.
type Taint struct {
	Level Level     `json:"level,omitempty"`
	Until time.Time `json:"until,omitzero"` // when it ends; the zero time for None
}

// Durations are how long taints last. Below 0 they count as 0. At Soft 0 the first
// failure is hard; at Hard 0 no taint becomes hard,
// and a failure during a soft taint ends it.
type Durations struct {
	Soft, Hard time.Duration
}

// MarshalJSON returns the fields, with durations such as "5m0s".
func (d Durations) MarshalJSON() ([]byte, error) { return jsonform.Marshal(d) }

// UnmarshalJSON reads the result of MarshalJSON.
func (d *Durations) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, d) }

// DefaultDurations returns 3 and 5 minutes.
func DefaultDurations() Durations { return Durations{Soft: 3 * time.Minute, Hard: 5 * time.Minute} }

// At is the state at that time: none if it has ended.
func (s Taint) At(now time.Time) Taint {
	if (s.Level != Soft && s.Level != Hard) || !now.Before(s.Until) {
		return Taint{}
	}
	return s
}

// Fail returns the state after a failure. Failures that are observed together count once.
func (s Taint) Fail(d Durations, now time.Time) Taint {
	s = s.At(now)
	if s.Level == None && d.Soft > 0 {
		return Taint{Soft, end(now, d.Soft)}
	}
	hard := Taint{Hard, end(now, d.Hard)}
	if s.Level == Hard && s.Until.After(hard.Until) {
		return s
	}
	return hard.At(now)
}

// end is in UTC and without a monotonic clock, so that equal times are equal
// values, also when they come back from JSON.
func end(start time.Time, d time.Duration) time.Time {
	return start.Add(max(0, d)).UTC()
}
