package keda

import (
	"math"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Scaler is the report of a trigger: a queue and its target, or several
// metrics. The zero value is an empty queue, which is inactive.
type Scaler struct {
	// QueueLength is the number of items in the queue. Releases before 2.8 read a
	// fraction as 0.
	QueueLength float64 `json:"queueLength"`
	// Target is the target average value: the items that a Job serves. At 0 the
	// scaler asks for no Jobs.
	Target float64 `json:"target"`
	// MaxValue is the number of Jobs that the scaler asks for. If it is nil,
	// QueueLength / Target is that number.
	MaxValue *float64 `json:"maxValue,omitempty"`
	// Metrics replace QueueLength and Target if there are any.
	Metrics []Metric `json:"metrics,omitempty"`

	// ActivationThreshold is the value that an active scaler exceeds if Activity is
	// ByThreshold. The default is 0.
	ActivationThreshold float64 `json:"activationThreshold"`
	// Activity is the activity that the scaler reports. The zero value decides as
	// KEDA's scalers do: QueueLength, or the Value of each of Metrics, exceeds
	// ActivationThreshold.
	Activity scaling.Activity `json:"activity"`
	Failed   bool             `json:"failed"` // could not be read
}

// MarshalJSON returns the fields, with "+Inf", "-Inf" and "NaN" for numbers that are not finite.
func (s Scaler) MarshalJSON() ([]byte, error) { return jsonform.Marshal(s) }

// UnmarshalJSON reads the result of MarshalJSON.
func (s *Scaler) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, s) }

// A Metric is a metric specification of a scaler, with its reading.
type Metric struct {
	Name         string  `json:"name"`
	Value        float64 `json:"value"`        // readings of one name add up
	AverageValue float64 `json:"averageValue"` // its target; 0 if there is none
	Failed       bool    `json:"failed"`       // could not be read
	Resource     bool    `json:"resource"`     // of cpu or memory: it has no external part, and no reading

	// Activity is the activity of this metric. The zero value takes the scaler's.
	Activity scaling.Activity `json:"activity"`
}

// MarshalJSON returns the fields, with "+Inf", "-Inf" and "NaN" for numbers that are not finite.
func (m Metric) MarshalJSON() ([]byte, error) { return jsonform.Marshal(m) }

// UnmarshalJSON reads the result of MarshalJSON.
func (m *Metric) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, m) }

// A sample is an entry of the aggregation.
type sample[T int64 | float64] struct {
	queue, jobs T
	uncapped    float64 // jobs without the maximum
	active      bool
}

// external reports whether the first metric is external; releases before 2.13 read no
// other metric.
func (s *Scaler) external() bool { return len(s.Metrics) == 0 || !s.Metrics[0].Resource }

// resource reports whether a metric has no external part, which the mean target
// does not expect.
func (s *Scaler) resource() bool {
	for i := range s.Metrics {
		if s.Metrics[i].Resource {
			return true
		}
	}
	return false
}

// failed and active describe the scaler's first metric, up to 2.12.
func (s *Scaler) failed() bool { return s.Failed || (len(s.Metrics) > 0 && s.Metrics[0].Failed) }
func (s *Scaler) active() bool {
	if len(s.Metrics) > 0 {
		return s.activeAs(&s.Metrics[0])
	}
	metric := scaling.Metric{Value: s.QueueLength, ActivationThreshold: s.ActivationThreshold, Activity: s.Activity}
	return metric.IsActive()
}

// activeAs reports whether the scaler is active when it is asked for a metric.
func (s *Scaler) activeAs(m *Metric) bool {
	metric := scaling.Metric{Value: m.Value, ActivationThreshold: s.ActivationThreshold, Activity: m.Activity}
	if m.Activity == scaling.ByThreshold {
		metric.Activity = s.Activity
	}
	return metric.IsActive()
}

// named adds up the readings of one name.
func (s *Scaler) named(name string) float64 {
	sum := 0.0
	for i := range s.Metrics {
		if m := &s.Metrics[i]; m.Name == name && !m.Resource {
			sum += m.Value
		}
	}
	return sum
}

// target is the mean of the targets.
func (s *Scaler) target() float64 {
	if len(s.Metrics) == 0 {
		return s.Target
	}
	sum := 0.0
	for i := range s.Metrics {
		sum += s.Metrics[i].AverageValue
	}
	return sum / float64(len(s.Metrics))
}

// The name of the metric that releases before 2.8 read from every scaler.
const queueLength = "queueLength"

// wholeQueue adds up the readings in whole numbers.
func (s *Scaler) wholeQueue(f *Fault) int64 {
	if len(s.Metrics) == 0 {
		return quantity(s.QueueLength)
	}
	sum := int64(0)
	for i := range s.Metrics {
		if m := &s.Metrics[i]; m.Name == queueLength && !m.Resource {
			sum = f.add(sum, quantity(m.Value))
		}
	}
	return sum
}

// wholeTarget is the mean of the targets in whole numbers.
func (s *Scaler) wholeTarget(f *Fault) int64 {
	if len(s.Metrics) == 0 {
		return quantity(s.Target)
	}
	sum := int64(0)
	for i := range s.Metrics {
		sum = f.add(sum, quantity(s.Metrics[i].AverageValue))
	}
	return sum / int64(len(s.Metrics))
}

// quantity returns x, or 0 if x is not a whole number within int64.
func quantity(x float64) int64 {
	if x != math.Trunc(x) || x < math.MinInt64 || x >= -math.MinInt64 {
		return 0
	}
	return int64(x)
}

// TargetAverage returns the mean of the targets of a scaler's metrics, as the
// release reads them: in fractions, and before 2.8 in whole numbers.
func (p Profile) TargetAverage(s *Scaler) float64 {
	if p.has(behaviorAggregation, version{8, 0}) {
		return s.target()
	}
	var f Fault
	return float64(s.wholeTarget(&f))
}
