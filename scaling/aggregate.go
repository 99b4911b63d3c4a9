package scaling

import (
	"fmt"
	"math"
)

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

var aggregations = [...]string{"max", "min", "avg", "sum"}

// String returns the name that manifests use.
func (a Aggregation) String() string {
	if int(a) < len(aggregations) {
		return aggregations[a]
	}
	return fmt.Sprintf("Aggregation(%d)", uint8(a))
}

// ParseAggregation returns the aggregation of that name. Any other name than
// max, min, avg and sum, the empty one included, is an error.
func ParseAggregation(name string) (Aggregation, error) {
	for i, known := range aggregations {
		if name == known {
			return Aggregation(i), nil
		}
	}
	return Max, fmt.Errorf("unknown aggregation %q: want max, min, avg or sum", name)
}

// A Demand is what the metrics ask for together. The zero value asks for
// nothing.
type Demand struct {
	Metrics int // how many there are
	Read    int // how many of them could be read
	Active  int // how many of those are active

	// Name is that of the metric that decides, under Max and Min.
	Name string
	// Queue is the aggregated queue length in items: that of the metric that
	// decides, or the mean or sum over the active ones. Sums from 2^63 on are
	// +Inf.
	Queue float64
	// Quotient is Queue / Target of the metric that decides, or the mean or sum
	// of the quotients.
	Quotient float64
	// Jobs is the quotient rounded up: see [Decide].
	Jobs int64
}

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

// Health is how many metrics could be read.
type Health uint8

const (
	AllRead  Health = iota // every one, or there is none
	SomeRead               // some, and those decide, unless HoldOnFailure is set
	NoneRead               // none: the minimum only
)

// String says it in words.
func (h Health) String() string {
	switch h {
	case AllRead:
		return "all metrics read"
	case SomeRead:
		return "some metrics read"
	case NoneRead:
		return "no metric read"
	}
	return fmt.Sprintf("Health(%d)", uint8(h))
}

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
		if !m.active() {
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
		if !m.active() {
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
