package scaling

import "math"

// A Metric is what one trigger reported in this poll. The zero value is
// unreadable, because its Target is 0.
type Metric struct {
	// Name tells metrics apart in explanations; it may be empty.
	Name string
	// Value is the queue length: work items, at least 0. +Inf asks for as many
	// Jobs as the bounds allow. NaN and negative values are unreadable, and so is
	// +Inf where there is no maximum.
	Value float64
	// Target is the target average value: work items that one Job serves,
	// positive and finite. Anything else is unreadable.
	Target float64
	// ActivationThreshold is the value that an active metric exceeds, where
	// Activity does not say: 0 unless it is set.
	ActivationThreshold float64
	// Activity is what the caller knows of the metric's activity.
	Activity Activity
	// Failed says that the metric could not be read. The other fields but Name
	// then mean nothing.
	Failed bool
}

// Activity is what a caller says of whether a metric is active.
type Activity uint8

const (
	ByThreshold Activity = iota // active if Value > ActivationThreshold
	Active                      // active whatever the value, 0 included
	Inactive                    // not active whatever the value
)

// readable reports whether the metric says how many items there are; longest is
// the longest queue that counts as one.
func (m *Metric) readable(longest float64) bool {
	return !m.Failed && m.Value >= 0 && m.Value <= longest &&
		m.Target > 0 && m.Target <= math.MaxFloat64
}

func (m *Metric) active() bool {
	if m.Activity == ByThreshold {
		return m.Value > m.ActivationThreshold
	}
	return m.Activity == Active
}
