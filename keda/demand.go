package keda

import (
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Demand is the combined demand of all scalers. The zero value asks for no Jobs.
type Demand struct {
	Scalers int  `json:"scalers"` // number of scalers
	Failed  int  `json:"failed"`  // number of scalers with a failed metric
	Active  bool `json:"active"`

	Queue    float64 `json:"queue"`    // the combined queue length, before it is rounded up
	Uncapped float64 `json:"uncapped"` // the combined number of Jobs without the maximum; KEDA does not compute it
	Jobs     float64 `json:"jobs"`     // the combined number of Jobs, within the maximum, before it is rounded up

	QueueLength int64 `json:"queueLength"` // Queue rounded up: KEDA's first scaleTo
	MaxScale    int64 `json:"maxScale"`    // Jobs rounded up: the strategies' T

	Fault Fault `json:"fault"`
}

// MarshalJSON returns the fields, with "+Inf", "-Inf" and "NaN" for numbers that are not finite.
func (d Demand) MarshalJSON() ([]byte, error) { return jsonform.Marshal(d) }

// Aggregate combines the scalers by the behavior aggregation. Active is also true if
// there is a minimum. The order of the scalers matters. Under "max" and "min", the first
// of equal queues counts. Under "min", a queue of 0 is replaced by any later queue.
func (p Profile) Aggregate(j *ScaledJob, scalers []Scaler) Demand {
	return p.aggregate(j, scalers, p.Replicas(j))
}

func (p Profile) aggregate(j *ScaledJob, scalers []Scaler, r Replicas) (d Demand) {
	d.Scalers, d.Fault = len(scalers), r.Fault
	for i := range scalers {
		if scalers[i].incomplete() {
			d.Failed++
		}
	}
	c := calculationOf(j.Spec.ScalingStrategy.MultipleScalersCalculation)
	switch {
	case p.has(behaviorAggregation, version{8, 0}):
		p.fractions(&d, scalers, c, r.QueueMax)
	case p.has(behaviorAggregation, version{5, 0}):
		d.wholeNumbers(scalers, c, r.QueueMax)
	default:
		d.total(scalers, r.QueueMax)
	}
	if d.Fault.Panics() {
		return Demand{Scalers: d.Scalers, Failed: d.Failed, Fault: d.Fault}
	}
	d.Active = d.Active || r.Min > 0
	if !(d.Uncapped > d.Jobs) { // nor if a number is a NaN
		d.Uncapped = d.Jobs
	}
	return d
}

func (s *Scaler) incomplete() bool {
	for i := range s.Metrics {
		if s.Metrics[i].Failed {
			return true
		}
	}
	return s.Failed
}

// total adds up the queues of all scalers and divides by the last target.
func (d *Demand) total(scalers []Scaler, highest int64) {
	queue, target := int64(0), int64(0)
	for i := range scalers {
		s := &scalers[i]
		if !s.external() {
			continue
		}
		if s.resource() {
			d.Fault.note(resourceMetric)
		}
		target = s.wholeTarget(&d.Fault)
		if s.failed() {
			continue
		}
		queue = d.Fault.add(queue, s.wholeQueue(&d.Fault))
		d.Active = d.Active || s.active()
	}
	jobs := int64(0)
	if target != 0 {
		jobs = divideUp(queue, target)
	}
	d.Uncapped = float64(jobs)
	d.wholes(queue, min(highest, jobs))
}

// wholeNumbers combines the scalers in whole numbers.
func (d *Demand) wholeNumbers(scalers []Scaler, c calculation, highest int64) {
	t := tally[int64]{calculation: c}
	for i := range scalers {
		s := &scalers[i]
		if !s.external() || s.failed() {
			continue
		}
		if s.resource() {
			d.Fault.note(resourceMetric)
		}
		e := sample[int64]{queue: s.wholeQueue(&d.Fault), active: s.active()}
		switch target := s.wholeTarget(&d.Fault); {
		case s.MaxValue != nil:
			e.jobs = quantity(*s.MaxValue)
			e.uncapped = float64(e.jobs)
		case target != 0:
			jobs := divideUp(e.queue, target)
			e.jobs, e.uncapped = min(highest, jobs), float64(jobs)
		}
		t.add(e)
	}
	if t.wrapped {
		d.Fault.note(WrapsAround)
	}
	if c == average && t.n > 0 {
		t.queue, t.jobs = divideUp(t.queue, t.n), divideUp(t.jobs, t.n)
		t.uncapped = math.Ceil(t.uncapped / float64(t.n))
	}
	d.Active, d.Uncapped = t.active, t.uncapped
	d.wholes(t.queue, min(highest, t.jobs))
}

func (d *Demand) wholes(queue, jobs int64) {
	d.Queue, d.Jobs = float64(queue), float64(jobs)
	d.QueueLength, d.MaxScale = queue, jobs
}

// divideUp is KEDA's division. For a negative quotient it returns one more than the
// ceiling.
func divideUp(x, y int64) int64 {
	if x%y != 0 {
		return x/y + 1
	}
	return x / y
}

// fractions combines the scalers in fractions and rounds up once.
func (p Profile) fractions(d *Demand, scalers []Scaler, c calculation, highest int64) {
	t := tally[float64]{calculation: c}
	for i := range scalers {
		switch s := &scalers[i]; {
		case s.MaxValue != nil && !s.failed():
			t.add(sample[float64]{s.QueueLength, *s.MaxValue, *s.MaxValue, s.active()})
		case len(s.Metrics) > 0 && p.has(behaviorAggregation, version{13, 0}):
			p.addMetrics(&t, &d.Fault, s, highest)
		case s.external() && !s.failed():
			if s.resource() {
				d.Fault.note(resourceMetric)
			}
			queue := s.QueueLength
			if len(s.Metrics) > 0 {
				queue = s.named(s.Metrics[0].Name)
			}
			t.add(p.quotient(queue, s.target(), highest, s.active()))
		}
	}
	if c == average && t.n > 0 {
		t.queue /= t.n
		t.jobs /= t.n
		t.uncapped /= t.n
	}
	d.Active, d.Uncapped = t.active, t.uncapped
	d.Queue, d.Jobs = t.queue, p.hold(t.jobs, highest)
	d.QueueLength = d.Fault.truncate(math.Ceil(d.Queue))
	d.MaxScale = d.Fault.truncate(math.Ceil(d.Jobs))
}

// addMetrics adds an entry for every metric of a scaler. After an active metric, all later
// metrics of the scaler count as active.
func (p Profile) addMetrics(t *tally[float64], f *Fault, s *Scaler, highest int64) {
	active := false
	for i := range s.Metrics {
		m := &s.Metrics[i]
		if m.Resource || m.Failed || s.Failed {
			continue
		}
		if s.resource() {
			f.note(resourceMetric)
		}
		active = active || s.activeAs(m)
		queue := 0.0
		if m.Name == s.Metrics[0].Name {
			queue = s.named(m.Name)
		}
		t.add(p.quotient(queue, s.target(), highest, active))
	}
}

// quotient returns an entry that asks for queue/target Jobs.
func (p Profile) quotient(queue, target float64, highest int64, active bool) sample[float64] {
	if target == 0 {
		return sample[float64]{queue: queue, active: active}
	}
	jobs := queue / target
	return sample[float64]{queue, p.hold(jobs, highest), jobs, active}
}

// hold returns the smaller of two numbers.
func (p Profile) hold(jobs float64, highest int64) float64 {
	if p.forms[behaviorCap] == (version{8, 0}) && jobs != jobs {
		return float64(highest)
	}
	return min(jobs, float64(highest))
}

// calculation is multipleScalersCalculation.
type calculation uint8

const (
	longest calculation = iota // "max", and any other name
	shortest
	average
	sum
)

var calculations = [...]string{"max", "min", "avg", "sum"}

// Calculations returns the values of multipleScalersCalculation that KEDA knows. It takes any other for max.
func Calculations() []string { return slices.Clone(calculations[:]) }

func (c calculation) String() string { return calculations[c] }

func calculationOf(name string) calculation {
	return calculation(max(0, slices.Index(calculations[:], name)))
}

// A tally combines entries one after another.
type tally[T int64 | float64] struct {
	calculation calculation
	queue, jobs T
	uncapped    float64
	n           T // entries added up
	active      bool
	wrapped     bool // of int64
}

func (t *tally[T]) add(e sample[T]) {
	if !e.active {
		return
	}
	take := false
	switch t.calculation {
	case average, sum:
		t.queue, t.jobs = t.plus(t.queue, e.queue), t.plus(t.jobs, e.jobs)
		t.uncapped += e.uncapped
		t.n++
		t.active = true
	case shortest: // a queue of 0 stands for none yet
		take = t.queue == 0 || e.queue < t.queue
	default:
		take = e.queue > t.queue
	}
	if take {
		t.queue, t.jobs, t.uncapped, t.active = e.queue, e.jobs, e.uncapped, true
	}
}

func (t *tally[T]) plus(a, b T) T {
	sum := a + b
	t.wrapped = t.wrapped || (sum < a) != (b < 0)
	return sum
}

// text returns the numbers on a line.
func (d *Demand) text() string {
	active := "not active"
	if d.Active {
		active = "active"
	}
	noun, within := "Jobs", ""
	if d.Uncapped == 1 {
		noun = "Job"
	}
	if d.Uncapped > d.Jobs {
		within = fmt.Sprintf(", limited to %g by the maximum", d.Jobs)
	}
	return fmt.Sprintf("%d of %d read, %s: queue length %g asks for %g %s%s, rounded up to %d",
		d.Scalers-d.Failed, d.Scalers, active, d.Queue, d.Uncapped, noun, within, d.MaxScale)
}
