package horizontal

import (
	"math"
	"slices"
	"time"
)

// A Checkpoint is what an autoscaler must remember: its recommendations and its changes, as far as
// windows and periods need them. The zero value remembers nothing, as a controller of
// Kubernetes after a start. It is a plain JSON value, with a record for each poll of the longest
// window and for each write of the longest period; with Policy.Bounded it has at most 16 KB.
type Checkpoint struct {
	Recommendations []Recommendation `json:"recommendations,omitempty"` // in the order of their times
	Ups             []Event          `json:"ups,omitempty"`             // replicas added, with a behavior only
	Downs           []Event          `json:"downs,omitempty"`           // replicas removed, with a behavior only
	// ScaledToZero is the condition of that name: whether the last change that this autoscaler wrote
	// led from a count above 0 to 0, with a Min of 0 and an External or Object metric.
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
	// Outdated reports that the next event replaces this event.
	Outdated bool `json:"outdated,omitempty"`
}

// mergedPer is how many recommendations or events of each direction a window keeps.
const mergedPer = 64

// record returns the checkpoint after a decision. It shares no memory with c.
func (c Checkpoint) record(p *Policy, d *Decision) Checkpoint {
	c.Recommendations = slices.Clone(c.Recommendations)
	c.Ups, c.Downs = slices.Clone(c.Ups), slices.Clone(c.Downs)
	if len(c.Recommendations) == 0 {
		c.Recommendations = append(c.Recommendations, Recommendation{d.Current, d.At})
	}
	switch {
	case !d.Recommended:
	case p.Bounded:
		c.merge(Recommendation{d.Metrics, d.At}, p.longestWindow())
	default:
		c.replace(p, d)
	}
	if period := p.longestPeriod(); p.Bounded && p.Behavior != nil {
		c.Ups, c.Downs = recent(c.Ups, d.At, period), recent(c.Downs, d.At, period)
	}
	return c
}

// replace writes over the last recommendation that is older than every window.
func (c *Checkpoint) replace(p *Policy, d *Decision) {
	newest, oldest := Recommendation{d.Metrics, d.At}, d.At.Add(-p.longestWindow())
	for i, r := range slices.Backward(c.Recommendations) {
		if r.At.Before(oldest) {
			c.Recommendations[i] = newest
			return
		}
	}
	c.Recommendations = append(c.Recommendations, newest)
}

func (p *Policy) longestWindow() time.Duration {
	if p.Behavior == nil {
		return max(0, p.DownWindow)
	}
	return max(0, *p.Behavior.Up.Window, *p.Behavior.Down.Window)
}

// merge adds the newest recommendation. It keeps an older one only if all later ones are
// smaller, or all are larger: no window can see the others. Of several in 1/64 of the
// window it keeps the most extreme, with the time of the last.
func (c *Checkpoint) merge(newest Recommendation, window time.Duration) {
	recommendations, width := c.Recommendations, int64(window/mergedPer)
	oldest := newest.At.Add(-window)
	high, low := newest.Replicas, newest.Replicas
	highest, lowest := -1, -1     // indexes of the last kept entries
	first := len(recommendations) // recommendations[first:] is kept
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
	c.Recommendations = append(append(recommendations[:0], recommendations[first:]...), newest)
}

func sameSlot(a, b time.Time, width int64) bool {
	return width > 0 && a.UnixNano()/width == b.UnixNano()/width
}

// Written returns the checkpoint after the decided count was written. Use it only if the API server
// accepted a change; without it the limits of the rate have no effect. The change counts from At on.
func (d Decision) Written() Checkpoint {
	c := d.Checkpoint
	c.ScaledToZero = d.Current > 0 && d.Replicas == 0 && d.LeavesZero
	change, events := int64(d.Replicas)-int64(d.Current), &c.Ups
	if change < 0 {
		change, events = -change, &c.Downs
	}
	if d.EventPeriod > 0 && change != 0 {
		*events = overwrite(slices.Clone(*events), Event{Change: int32(min(change, math.MaxInt32)), At: d.At}, d.EventPeriod)
	}
	return c
}

// longestPeriod is the longest of both directions, whose limits count the events of both.
func (p *Policy) longestPeriod() time.Duration {
	if p.Behavior == nil {
		return 0
	}
	return max(p.Behavior.Up.longestPeriod(), p.Behavior.Down.longestPeriod())
}

// eventPeriod is the age at which the event of a decision may be overwritten. Kubernetes asks only
// the limits of its own direction.
func (p *Policy) eventPeriod(d *Decision) time.Duration {
	switch {
	case p.Behavior == nil || p.Bounded:
		return p.longestPeriod()
	case d.Replicas < d.Current:
		return p.Behavior.Down.longestPeriod()
	}
	return p.Behavior.Up.longestPeriod()
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
