package scaling

import (
	"cmp"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Metric is the report of a trigger in a poll. The zero value is unreadable, because
// its Target is 0.
type Metric struct {
	// Name identifies the metric in explanations; it may be empty.
	Name string `json:"name"`
	// Value is the queue length in work items, at least 0. +Inf asks for as many Jobs
	// as the bounds allow. A NaN, a negative value, and +Inf without a maximum are
	// unreadable.
	Value float64 `json:"value"`
	// Target is the target average value: the work items per Job. It is positive and
	// finite; any other value is unreadable.
	Target float64 `json:"target"`
	// ActivationThreshold is the value that an active metric exceeds if Activity is
	// ByThreshold. The default is 0.
	ActivationThreshold float64 `json:"activationThreshold"`
	// Activity overrides the threshold if the caller knows whether the metric is active.
	// The zero value compares Value with ActivationThreshold.
	Activity Activity `json:"activity"`
	// WaitingOnly reports whether Value leaves out the items in progress. It changes nothing of what
	// is created; Desired and Surplus are then not known.
	WaitingOnly bool `json:"waitingOnly,omitempty"`
	// Failed reports whether reading the metric failed. The other fields except Name
	// are then ignored.
	Failed bool `json:"failed"`
}

// MarshalJSON returns the fields, with "+Inf", "-Inf" and "NaN" for numbers that are not finite.
func (m Metric) MarshalJSON() ([]byte, error) { return jsonform.Marshal(m) }

// UnmarshalJSON reads the result of MarshalJSON.
func (m *Metric) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, m) }

// Activity determines whether a metric is active. In JSON it is a name: byThreshold,
// active or inactive.
type Activity uint8

const (
	ByThreshold Activity = iota // active if Value > ActivationThreshold
	Active                      // active at any value, also 0
	Inactive                    // inactive at any value
)

var activities = []string{"byThreshold", "active", "inactive"}

// String returns the name of the activity.
func (a Activity) String() string { return jsonform.Name(activities, a) }

// MarshalText returns the same as String.
func (a Activity) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the name of an activity.
func (a *Activity) UnmarshalText(text []byte) error { return jsonform.Parse(activities, text, a) }

// Validate returns every problem of the configured fields, joined: Target, ActivationThreshold and
// Activity. Each is a [*field.Error].
func (m Metric) Validate() error {
	var e field.Errors
	e.Check(m.Target > 0 && m.Target <= math.MaxFloat64, "Target", m.Target, "a positive, finite number")
	e.Check(m.ActivationThreshold >= 0 && m.ActivationThreshold <= math.MaxFloat64,
		"ActivationThreshold", m.ActivationThreshold, "a finite number of 0 or more")
	e.Check(m.Activity <= Inactive, "Activity", m.Activity, "ByThreshold, Active or Inactive")
	return e.Err()
}

// readable reports whether the metric has a valid queue length, of at most longest, and
// a valid target.
func (m *Metric) readable(longest float64) bool {
	isTarget := m.Target > 0 && m.Target <= math.MaxFloat64
	return !m.Failed && isTarget && (m.Value >= 0 && m.Value <= longest)
}

// IsActive reports whether the metric is active: by Activity, or if that is ByThreshold,
// because Value exceeds ActivationThreshold.
func (m *Metric) IsActive() bool {
	if m.Activity == ByThreshold {
		return m.Value > m.ActivationThreshold
	}
	return m.Activity == Active
}

// Aggregation combines several metrics into a demand.
type Aggregation uint8

const (
	// Max takes the active metric with the longest queue, which need not ask for the most Jobs: 40
	// items at 10 per Job come before 30 items at 1 per Job. Sum asks for the Jobs of both. Of equal
	// queues the one that asks for more Jobs counts, also under Min.
	Max Aggregation = iota
	// Min takes the active metric with the shortest queue, which may be 0.
	Min
	// Avg takes the mean of Value / Target over the active metrics.
	Avg
	// Sum takes the sum of Value / Target over the active metrics.
	Sum
)

var aggregations = []string{"max", "min", "avg", "sum"}

// String returns the name that manifests use.
func (a Aggregation) String() string { return jsonform.Name(aggregations, a) }

// MarshalText returns the same as String.
func (a Aggregation) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads a name of [Aggregations]. Any other text is an error, also "".
func (a *Aggregation) UnmarshalText(text []byte) error { return jsonform.Parse(aggregations, text, a) }

// Aggregations returns the names of the aggregations, in the order of their values.
func Aggregations() []string { return slices.Clone(aggregations) }

// A Demand is the combined demand of all metrics. The zero value asks for no Jobs.
type Demand struct {
	Metrics int `json:"metrics"` // number of metrics
	Read    int `json:"read"`    // number of readable metrics
	Active  int `json:"active"`  // number of readable metrics that are active

	// Name is the name of the metric with the longest (Max) or shortest (Min) queue. It
	// is empty under Avg and Sum.
	Name string `json:"name"`
	// Queue is the aggregated queue length in items. Sums of 2^63 and above are +Inf.
	Queue float64 `json:"queue"`
	// Quotient is the aggregated Value / Target, in Jobs.
	Quotient float64 `json:"quotient"`
	// Jobs is Quotient rounded up, and at least 1 if Queue is positive.
	Jobs int64 `json:"jobs"`
}

// MarshalJSON returns the fields, with "+Inf" for infinite numbers.
func (d Demand) MarshalJSON() ([]byte, error) { return jsonform.Marshal(d) }

// UnmarshalJSON reads the result of MarshalJSON.
func (d *Demand) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, d) }

// aggregate combines the active readable metrics. If unlimited is true (there is no
// maximum), an infinite queue is unreadable. An unknown aggregation counts as Max.
//
// The order of the metrics does not matter. Ties under Max and Min go to the metric
// that asks for more Jobs, and sums are exact until they are rounded once.
func aggregate(a Aggregation, metrics []Metric, unlimited bool) Demand {
	var d Demand
	d.aggregate(a, metrics, longest(unlimited))
	return d
}

// longest returns the longest readable queue.
func longest(unlimited bool) float64 {
	if unlimited {
		return math.MaxFloat64
	}
	return math.Inf(1)
}

func (d *Demand) aggregate(a Aggregation, metrics []Metric, longest float64) {
	d.Metrics = len(metrics)
	switch a {
	case Avg, Sum:
		d.total(metrics, longest, a == Avg)
	default:
		d.choose(metrics, longest, a == Min)
	}
	d.Jobs = roundUp(d.Quotient)
	if d.Queue > 0 { // though the quotient may be too small for a float64
		d.Jobs = max(1, d.Jobs)
	}
}

// choose takes the metric with the shortest or else the longest queue.
func (d *Demand) choose(metrics []Metric, longest float64, shortest bool) {
	var best *Metric
	read, active := 0, 0
	extreme := math.Inf(-1) // longest queue so far; under shortest, the negative of the shortest
	for i := range metrics {
		m := &metrics[i]
		if !m.readable(longest) {
			continue
		}
		read++
		if !m.IsActive() {
			continue
		}
		active++
		value := m.Value
		if shortest {
			value = -value
		}
		if value > extreme || (value == extreme && m.precedes(best)) {
			best, extreme = m, value
		}
	}
	d.Read, d.Active = read, active
	if best != nil {
		d.Name, d.Queue, d.Quotient = best.Name, best.Value, best.Value/best.Target
	}
}

// precedes breaks a tie by the lower target, which asks for more Jobs, then by the name,
// so that explanations do not depend on the order.
func (m *Metric) precedes(best *Metric) bool {
	return best == nil || cmp.Or(cmp.Compare(m.Target, best.Target), cmp.Compare(m.Name, best.Name)) < 0
}

// total computes the sum of the active metrics, or their mean.
func (d *Demand) total(metrics []Metric, longest float64, mean bool) {
	var queue, quotient sum
	read, active, positive := 0, 0, false
	for i := range metrics {
		m := &metrics[i]
		if !m.readable(longest) {
			continue
		}
		read++
		if !m.IsActive() {
			continue
		}
		active++
		queue = queue.plus(m.Value)
		quotient = quotient.plus(m.Value / m.Target)
		positive = positive || m.Value > 0
	}
	d.Read, d.Active = read, active
	d.Queue, d.Quotient = queue.float(), quotient.float()
	if mean {
		n := float64(max(1, active))
		d.Queue, d.Quotient = d.Queue/n, d.Quotient/n
	}
	if positive && d.Queue == 0 { // too small for the sum's unit
		d.Queue = math.SmallestNonzeroFloat64
	}
}

// A sum adds non-negative numbers in fixed point, because a sum of floats depends on
// their order. Its unit is 2^-63, and each number is cut to it. From 2^63 on a sum is
// infinite.
type sum struct {
	units, part uint64 // both below 2^63, unless infinite
	infinite    bool
}

func (s sum) plus(x float64) sum {
	units, part := math.Modf(min(x, 1<<63))
	s.part += uint64(part * (1 << 63))
	s.units += uint64(units) + s.part>>63
	s.part &= 1<<63 - 1
	s.infinite = s.infinite || s.units >= 1<<63
	return s
}

func (s sum) float() float64 {
	if s.infinite {
		return math.Inf(1)
	}
	return float64(s.units) + float64(s.part)/(1<<63)
}

// roundUp returns x rounded up, or the nearest whole number if x is within one part in
// 10^9 of it. The result is at most MaxInt64.
func roundUp(x float64) int64 {
	if x >= 1<<63 {
		return math.MaxInt64
	}
	up := math.Ceil(x)
	if above := x - (up - 1); above < 0.5 && above <= (up-1)*1e-9 {
		up--
	}
	return int64(up)
}
