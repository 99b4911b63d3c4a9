package scaling

import (
	"math"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Metric is what one trigger reported in this poll. The zero value is
// unreadable, because its Target is 0.
type Metric struct {
	// Name tells metrics apart in explanations; it may be empty.
	Name string `json:"name"`
	// Value is the queue length: work items, at least 0. +Inf asks for as many
	// Jobs as the bounds allow. NaN and negative values are unreadable, and so is
	// +Inf where there is no maximum.
	Value float64 `json:"value"`
	// Target is the target average value: work items that one Job serves,
	// positive and finite. Anything else is unreadable.
	Target float64 `json:"target"`
	// ActivationThreshold is the value that an active metric exceeds if Activity is
	// ByThreshold: 0 unless it is set.
	ActivationThreshold float64 `json:"activationThreshold"`
	// Activity is what the caller knows of the metric's activity; the zero value
	// decides by Value.
	Activity Activity `json:"activity"`
	// Failed says that the metric could not be read. The other fields but Name
	// then mean nothing.
	Failed bool `json:"failed"`
}

// MarshalJSON returns the fields, with "+Inf", "-Inf" and "NaN" for numbers that are not finite.
func (m Metric) MarshalJSON() ([]byte, error) { return jsonform.Marshal(m) }

// UnmarshalJSON reads the result of MarshalJSON.
func (m *Metric) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, m) }

// Activity is what a caller says of whether a metric is active. In JSON it is a
// name: byThreshold, active or inactive.
type Activity uint8

const (
	ByThreshold Activity = iota // active if Value > ActivationThreshold
	Active                      // active whatever the value, 0 included
	Inactive                    // not active whatever the value
)

var activities = []string{"byThreshold", "active", "inactive"}

// String returns the name of the activity.
func (a Activity) String() string { return jsonform.Name(activities, a) }

// MarshalText returns the same as String.
func (a Activity) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the name of an activity.
func (a *Activity) UnmarshalText(text []byte) error { return jsonform.Parse(activities, text, a) }

// readable reports whether the metric says how many items there are; longest is
// the longest queue that counts as one.
func (m *Metric) readable(longest float64) bool {
	return !m.Failed && m.Value >= 0 && m.Value <= longest &&
		m.Target > 0 && m.Target <= math.MaxFloat64
}

// IsActive reports whether the metric is active. Activity says so, or else Value
// exceeds ActivationThreshold.
func (m *Metric) IsActive() bool {
	if m.Activity == ByThreshold {
		return m.Value > m.ActivationThreshold
	}
	return m.Activity == Active
}

// Aggregation is how several metrics become one demand.
type Aggregation uint8

const (
	// Max takes the active metric with the longest queue.
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

// UnmarshalText reads a name as [ParseAggregation] does.
func (a *Aggregation) UnmarshalText(text []byte) error { return jsonform.Parse(aggregations, text, a) }

// ParseAggregation returns the aggregation of that name. Any other name than
// max, min, avg and sum, the empty one included, is an error.
func ParseAggregation(name string) (a Aggregation, err error) {
	err = a.UnmarshalText([]byte(name))
	return a, err
}

// A Demand is what the metrics ask for together. The zero value asks for
// nothing.
type Demand struct {
	Metrics int `json:"metrics"` // how many there are
	Read    int `json:"read"`    // how many of them could be read
	Active  int `json:"active"`  // how many of those are active

	// Name is that of the metric that decides, under Max and Min.
	Name string `json:"name"`
	// Queue is the aggregated queue length in items: that of the metric that
	// decides, or the mean or sum over the active ones. Sums from 2^63 on are
	// +Inf.
	Queue float64 `json:"queue"`
	// Quotient is Queue / Target of the metric that decides, or the mean or sum
	// of the quotients.
	Quotient float64 `json:"quotient"`
	// Jobs is the quotient rounded up: see [Decide].
	Jobs int64 `json:"jobs"`
}

// MarshalJSON returns the fields, with "+Inf" for infinite numbers.
func (d Demand) MarshalJSON() ([]byte, error) { return jsonform.Marshal(d) }

// UnmarshalJSON reads the result of MarshalJSON.
func (d *Demand) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, d) }

// Health says how many of the metrics could be read.
func (d Demand) Health() Health { return health(d.Read, d.Metrics) }

func health(read, metrics int) Health {
	switch read {
	case metrics:
		return AllRead
	case 0:
		return NoneRead
	}
	return SomeRead
}

// Health is how many metrics could be read. In JSON it is a name: allRead,
// someRead or noneRead.
type Health uint8

const (
	AllRead  Health = iota // every one, or there is none
	SomeRead               // some, and those decide, unless HoldOnFailure is set
	NoneRead               // none: the minimum only
)

var (
	healths     = []string{"all metrics read", "some metrics read", "no metric read"}
	healthNames = []string{"allRead", "someRead", "noneRead"}
)

// String describes the health in words.
func (h Health) String() string { return jsonform.Name(healths, h) }

// MarshalText returns the name of the health.
func (h Health) MarshalText() ([]byte, error) { return []byte(jsonform.Name(healthNames, h)), nil }

// UnmarshalText reads the name of a health.
func (h *Health) UnmarshalText(text []byte) error { return jsonform.Parse(healthNames, text, h) }

// Aggregate combines the active metrics that can be read. Their order does not
// matter: ties under Max and Min go to the metric that asks for more Jobs, and
// sums are exact until they are rounded once (FuzzOrder). unlimited is whether
// there is no maximum, so that an infinite queue is unreadable. An unknown
// aggregation is taken as Max.
//
// The cost is a few nanoseconds for each metric (BenchmarkDecide).
func Aggregate(a Aggregation, metrics []Metric, unlimited bool) Demand {
	var d Demand
	d.aggregate(a, metrics, longest(unlimited))
	return d
}

// longest is the longest queue that can be read.
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
	most := math.Inf(-1) // of the values, or of their negatives under shortest
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
		if value > most || value == most && m.precedes(best) {
			best, most = m, value
		}
	}
	d.Read, d.Active = read, active
	if best != nil {
		d.Name, d.Queue, d.Quotient = best.Name, best.Value, best.Value/best.Target
	}
}

// precedes breaks a tie: the metric that asks for more Jobs comes first, then
// the name, so that explanations do not depend on the order either.
func (m *Metric) precedes(best *Metric) bool {
	if best == nil {
		return true
	}
	if m.Target != best.Target {
		return m.Target < best.Target
	}
	return m.Name < best.Name
}

// total sums up the active metrics, or takes their mean.
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
	if mean && active > 0 {
		d.Queue /= float64(active)
		d.Quotient /= float64(active)
	}
	if positive && d.Queue == 0 { // too small for the sum's unit
		d.Queue = math.SmallestNonzeroFloat64
	}
}

// A sum adds numbers that are not negative in fixed point, because adding
// floats gives another result in another order. Its unit is 2^-63, below which
// each number is cut; from 2^63 on it is infinite.
type sum struct {
	whole, part uint64 // both below 2^63
	over        bool
}

func (s sum) plus(x float64) sum {
	if x >= 1<<63 {
		s.over = true
		return s
	}
	whole := int64(x)
	s.part += uint64(int64((x - float64(whole)) * (1 << 63)))
	s.whole += uint64(whole) + s.part>>63
	s.part &= 1<<63 - 1
	if s.whole >= 1<<63 {
		s.whole, s.over = 0, true
	}
	return s
}

func (s sum) float() float64 {
	if s.over {
		return math.Inf(1)
	}
	return float64(s.whole) + float64(s.part)/(1<<63)
}

// roundUp returns the next whole number at or above x, or the nearest one where
// x is within one part in 10^9 of it, at most MaxInt64.
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
