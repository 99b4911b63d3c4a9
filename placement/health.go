package placement

import "time"

// Health is whether a member of an object answers, and since when. It is a value
// to keep from one observation to the next, as JSON if need be. The zero value has
// not answered for ever.
type Health struct {
	Reachable bool      `json:"reachable"`
	Since     time.Time `json:"since"`
	// Excluded is that the member was excluded when that began: if it does not
	// answer it has no new grace period, and if it does it is recovering.
	Excluded bool `json:"excluded,omitempty"`
}

// NewHealth is the health of a member that has just been looked at for the first
// time.
func NewHealth(reachable bool, now time.Time) Health {
	return Health{Reachable: reachable, Since: now}
}

// Observe is the health after the member has been looked at once more. Since
// changes only when Reachable does.
func (h Health) Observe(reachable bool, r Rebalancing, now time.Time) Health {
	if h.Reachable == reachable {
		return h
	}
	excluded, _ := h.excluded(r, now)
	return Health{reachable, now, excluded}
}

// excluded is whether the member has no part at that time, and when that ends or
// begins by itself. An age below 0, of a clock that was set back, is 0.
func (h Health) excluded(r Rebalancing, now time.Time) (bool, time.Time) {
	switch {
	case h.Reachable && !h.Excluded:
		return false, time.Time{}
	case h.Reachable:
		back, until := elapsed(h.Since, r.RecoveryDelay, now)
		return !back, until
	case h.Excluded:
		return true, time.Time{}
	}
	return elapsed(h.Since, r.GracePeriod, now)
}

// elapsed reports whether a duration from start is over, and if not, when it will
// be.
func elapsed(start time.Time, d time.Duration, now time.Time) (bool, time.Time) {
	d = max(0, d)
	if max(0, now.Sub(start)) >= d {
		return true, time.Time{}
	}
	return false, start.Add(d)
}

// A horizon finds the next instant at which something changes.
type horizon struct {
	now, next time.Time
}

// add takes an instant into account, unless it is the zero time or past.
func (h *horizon) add(t time.Time) {
	if t.After(h.now) && (h.next.IsZero() || t.Before(h.next)) {
		h.next = t
	}
}
