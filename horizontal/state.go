package horizontal

import (
	"math"
	"slices"
	"time"
)

// A State is the memory of an autoscaler: its recommendations and its changes, as far as
// windows and periods need them. The zero value has seen nothing, as a controller of
// Kubernetes after a start. It is a plain JSON value of at most 16 KB, except with
// Policy.Exact. A copy shares memory with its original: keep one.
type State struct {
	Recommendations []Recommendation `json:"recommendations,omitempty"` // in the order of their times
	Ups             []Event          `json:"ups,omitempty"`             // replicas added, with a behavior only
	Downs           []Event          `json:"downs,omitempty"`           // replicas removed, with a behavior only
	// ScaledToZero reports whether the last change that this autoscaler wrote led from a
	// count above 0 to 0, with a Min of 0 and an External or Object metric.
	ScaledToZero bool `json:"scaledToZero,omitempty"`
}

// A Recommendation is the number of replicas that the metrics asked for.
type Recommendation struct {
	Replicas int32     `json:"replicas"`
	At       time.Time `json:"at"`
}

// An Event is a change of the replica count.
type Event struct {
	Change int32     `json:"change"` // replicas added or removed: more than 0
	At     time.Time `json:"at"`
	// Outdated reports, with Policy.Exact, that the next event replaces this event.
	Outdated bool `json:"outdated,omitempty"`
}

// mergedPer is how many recommendations or events of each direction a window keeps.
const mergedPer = 64

// Record remembers a decision that was made with this state. Call it once for each
// decision, whether or not the count changes.
func (s *State) Record(p Policy, d Decision) {
	if len(s.Recommendations) == 0 {
		s.Recommendations = append(s.Recommendations, Recommendation{d.Current, d.At})
	}
	switch {
	case !d.Recommended:
		return
	case p.Exact:
		s.replace(p, d)
	default:
		s.merge(Recommendation{d.Metrics, d.At}, p.longestWindow())
	}
}

// replace writes over the last recommendation that is older than every window.
func (s *State) replace(p Policy, d Decision) {
	newest, oldest := Recommendation{d.Metrics, d.At}, d.At.Add(-p.longestWindow())
	for i, r := range slices.Backward(s.Recommendations) {
		if r.At.Before(oldest) {
			s.Recommendations[i] = newest
			return
		}
	}
	s.Recommendations = append(s.Recommendations, newest)
}

func (p *Policy) longestWindow() time.Duration {
	if p.Behavior == nil {
		return max(0, p.DownWindow)
	}
	return max(0, p.Behavior.Up.Window, p.Behavior.Down.Window)
}

// merge adds the newest recommendation. It keeps an older one only if all later ones are
// smaller, or all are larger: no window can see the others. Of several in 1/64 of the
// window it keeps the most extreme, with the time of the last.
func (s *State) merge(newest Recommendation, window time.Duration) {
	recommendations, width := s.Recommendations, int64(window/mergedPer)
	oldest := newest.At.Add(-window)
	high, low := newest.Replicas, newest.Replicas
	highest, lowest := -1, -1     // indexes of the last kept entries
	first := len(recommendations) // all[at:] is kept
	for i := len(recommendations) - 1; i >= 0; i-- {
		r := recommendations[i]
		if r.At.Before(oldest) {
			continue
		}
		if r.At.After(newest.At) {
			r.At = newest.At // the clock went back
		}
		extreme := &highest
		switch {
		case r.Replicas > high:
			high = r.Replicas
		case r.Replicas < low:
			low, extreme = r.Replicas, &lowest
		default:
			continue
		}
		if j := *extreme; j >= 0 && sameSlot(recommendations[j].At, r.At, width) {
			recommendations[j].Replicas = r.Replicas
			continue
		}
		first--
		recommendations[first], *extreme = r, first
	}
	s.Recommendations = append(append(recommendations[:0], recommendations[first:]...), newest)
}

func sameSlot(a, b time.Time, width int64) bool {
	return width > 0 && a.UnixNano()/width == b.UnixNano()/width
}

// Wrote remembers that the decided count was written. Call it after Record, and only if
// the API server accepted a change, once for each. Without it the limits have no effect. The change
// counts from [Decision].At on.
func (s *State) Wrote(p Policy, d Decision) {
	s.ScaledToZero = d.Current > 0 && d.Replicas == 0 && p.Min <= 0 && d.LeavesZero
	change, events := int64(d.Replicas)-int64(d.Current), &s.Ups
	if change < 0 {
		change, events = -change, &s.Downs
	}
	if p.Behavior == nil || change == 0 {
		return
	}
	event := Event{Change: int32(min(change, math.MaxInt32)), At: d.At}
	if !p.Exact {
		period := max(p.Behavior.Up.longestPeriod(), p.Behavior.Down.longestPeriod())
		s.Ups, s.Downs = recent(s.Ups, d.At, period), recent(s.Downs, d.At, period)
		*events = append(*events, event)
		return
	}
	rules := p.Behavior.Up
	if events == &s.Downs {
		rules = p.Behavior.Down
	}
	*events = overwrite(*events, event, rules.longestPeriod())
}

func (r Rules) longestPeriod() (longest time.Duration) {
	for _, l := range r.Policies {
		longest = max(longest, l.Period)
	}
	return longest
}

// recent returns the events within the period. Several in 1/64 of it become one, with
// the time of the last.
func recent(events []Event, now time.Time, period time.Duration) []Event {
	kept, oldest := events[:0], now.Add(-period)
	for _, e := range events {
		if e.At.After(now) {
			e.At = now // the clock went back
		}
		switch last := len(kept) - 1; {
		case e.At.Before(oldest):
		case last >= 0 && sameSlot(kept[last].At, e.At, int64(period/mergedPer)):
			kept[last] = Event{Change: plus32(kept[last].Change, e.Change), At: e.At}
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

// overwrite replaces the last event that is, or once was, older than the period.
func overwrite(events []Event, event Event, period time.Duration) []Event {
	old := -1
	for i := range events {
		if events[i].At.Before(event.At.Add(-period)) {
			events[i].Outdated = true
		}
		if events[i].Outdated {
			old = i
		}
	}
	if old < 0 {
		return append(events, event)
	}
	events[old] = event
	return events
}

// change returns the sum of the changes within a period that ends now.
func change(events []Event, now time.Time, period time.Duration, exact bool) (sum int32) {
	oldest := now.Add(-period)
	for _, e := range events {
		switch {
		case !e.At.After(oldest):
		case exact:
			sum += e.Change
		default:
			sum = plus32(sum, e.Change)
		}
	}
	return sum
}

// plus32 adds up to the limits of an int32.
func plus32(a, b int32) int32 {
	return int32(min(max(int64(a)+int64(b), math.MinInt32), math.MaxInt32))
}
