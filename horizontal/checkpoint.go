package horizontal

import (
	"math"
	"slices"
	"time"
)

// A Checkpoint is what an autoscaler must remember: its recommendations and its changes, as far as
// windows and periods need them. The zero value remembers nothing, as a controller of
// Kubernetes after a start, except that there ScaledToZero is in the status of the object: without it a
// workload at 0 stays there. It is a plain JSON value, with a record for each poll of the longest
// window and for each write of the longest period.
type Checkpoint struct {
	Recommendations []Recommendation `json:"recommendations,omitempty"` // in the order of their times
	Ups             []ScaleEvent     `json:"ups,omitempty"`             // replicas added, with a behavior only
	Downs           []ScaleEvent     `json:"downs,omitempty"`           // replicas removed, with a behavior only
	// ScaledToZero is the condition of that name: whether the last change that this autoscaler wrote
	// led from a count above 0 to 0, with a Min of 0 and an External or Object metric.
	ScaledToZero bool `json:"scaledToZero,omitempty"`
}

// A Recommendation is the number of replicas that the metrics asked for.
type Recommendation struct {
	Replicas int32     `json:"replicas"`
	At       time.Time `json:"at"`
}

// A ScaleEvent is a change of the replica count.
type ScaleEvent struct {
	Change int32     `json:"change"` // replicas added or removed: more than 0
	At     time.Time `json:"at"`
	// Outdated reports that the next event replaces this event.
	Outdated bool `json:"outdated,omitempty"`
}

// record returns the checkpoint after a decision. It shares no memory with c.
func (c Checkpoint) record(p *Policy, d *Decision) Checkpoint {
	c.Recommendations = slices.Clone(c.Recommendations)
	c.Ups, c.Downs = slices.Clone(c.Ups), slices.Clone(c.Downs)
	if len(c.Recommendations) == 0 {
		c.Recommendations = append(c.Recommendations, Recommendation{d.Current, d.At})
	}
	if d.Recommended {
		c.replace(p, d)
	}
	return c
}

// replace writes over the last recommendation that is older than every window.
func (c *Checkpoint) replace(p *Policy, d *Decision) {
	newest, oldest := Recommendation{d.Proposed, d.At}, d.At.Add(-p.longestWindow())
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
		*events = overwrite(slices.Clone(*events), ScaleEvent{Change: int32(min(change, math.MaxInt32)), At: d.At}, d.EventPeriod)
	}
	return c
}

// eventPeriod is the age at which the event of a decision overwrites another of its direction.
func (p *Policy) eventPeriod(d *Decision) time.Duration {
	switch {
	case p.Behavior == nil:
		return 0
	case d.Replicas < d.Current:
		return p.Behavior.Down.longestPeriod()
	}
	return p.Behavior.Up.longestPeriod()
}

func (r ScalingRules) longestPeriod() (longest time.Duration) {
	for _, l := range r.Policies {
		longest = max(longest, l.Period)
	}
	return longest
}

// overwrite replaces the last event that is, or once was, older than the period.
func overwrite(events []ScaleEvent, event ScaleEvent, period time.Duration) []ScaleEvent {
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
func (p *Policy) change(events []ScaleEvent, now time.Time, period time.Duration) (sum int32) {
	oldest := now.Add(-period)
	for _, e := range events {
		if e.At.After(oldest) {
			sum = p.narrow(int64(sum) + int64(e.Change))
		}
	}
	return sum
}
