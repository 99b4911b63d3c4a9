package horizontal

import (
	"math"
	"math/bits"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Metric is the configuration and the reading of a metric. Source and Target select
// its arithmetic:
//
//	External, Object     Value         ratio of the value to Target, times the ready pods
//	                     AverageValue  value / Target, rounded up; the tolerance compares
//	                                   with the replicas of the status
//	Pods, Resource,      AverageValue  mean of the samples against Target, times the pods
//	ContainerResource    Utilization   percentage of the requests against Target, times
//	                                   the pods; resources only
//
// At 0 replicas, Value proposes the ratio itself, rounded up. The zero value is unreadable.
type Metric struct {
	Name       string `json:"name"`       // for explanations
	Source     string `json:"source"`     // External (also ""), Object, Pods, Resource or ContainerResource
	TargetType string `json:"targetType"` // Value, AverageValue or Utilization
	Target     int64  `json:"target"`     // the target: more than 0, milli-units; percent with Utilization

	// Values are the readings of External and Object in milli-units. External adds them,
	// Object has one. None is unreadable.
	Values []int64 `json:"values,omitempty"`
	// Samples are the readings of the pods, for the other sources, in the order of
	// Observation.Pods. Fewer samples are missing ones.
	Samples []Sample `json:"samples,omitempty"`
	// CPU reports whether a Resource or ContainerResource is the processor: samples of
	// pods that are starting are then not used.
	CPU bool `json:"cpu,omitempty"`
	// Unreadable is the reason why the metric could not be read; "" if it could.
	Unreadable string `json:"unreadable,omitempty"`
}

// Values of Metric.TargetType.
const (
	Value        = "Value"
	AverageValue = "AverageValue"
	Utilization  = "Utilization"
)

// A Sample is a pod's reading. The zero value is missing.
type Sample struct {
	Known bool  `json:"known"` // whether there is a reading
	Value int64 `json:"value"` // milli-units
	// Request is the pod's request of the resource in milli-units, for Utilization.
	// RequestKnown is false if a container has none, which makes the metric unreadable.
	Request      int64         `json:"request,omitempty"`
	RequestKnown bool          `json:"requestKnown,omitempty"`
	At           time.Time     `json:"at"`     // end of the measurement
	Window       time.Duration `json:"window"` // length of the measurement
}

// MarshalJSON returns the fields, with a window such as "30s".
func (s Sample) MarshalJSON() ([]byte, error) { return jsonform.Marshal(s) }

// UnmarshalJSON reads the result of MarshalJSON.
func (s *Sample) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, s) }

// A Pod is a pod of the workload. Its fields have the names of the Kubernetes object. The zero value
// is running and not ready.
//
// The sample of a failed or deleted pod is not used, and a pending pod is unready. For a processor
// (Metric.CPU) a pod is also unready without Started or Ready; during CPUInitialization after Started, if
// it is not ready or if its sample began before ReadyChanged; and later, if it has not been ready since ReadinessDelay after
// Started. Where the samples ask for fewer replicas, a missing sample counts as the target, or for Utilization
// as the request or a higher target; where they ask for more, a missing or unready one counts as 0.
type Pod struct {
	// Phase is status.phase; "" counts as Running. A sample of a pod that is not in the
	// workload any more has the phase Unlisted.
	Phase    string `json:"phase"`
	Deleting bool   `json:"deleting"` // it has a deletion timestamp
	// Ready is the status of the condition Ready: True, False, Unknown, or "" if there is
	// none. ReadyChanged is its last transition.
	Ready        string    `json:"ready"`
	ReadyChanged time.Time `json:"readyChanged"`
	Started      time.Time `json:"started"` // status.startTime; zero if there is none
}

// Validate returns every problem of the configured fields, joined, and readings that its Source
// does not use. Each is a [*field.Error].
func (m Metric) Validate() error {
	var e field.Errors
	e.Check(m.known(), "Source", m.Source, "External, Object, Pods, Resource or ContainerResource")
	targets, ok := "Value or AverageValue", m.TargetType == Value || m.TargetType == AverageValue
	switch {
	case m.Source == "Pods":
		targets, ok = AverageValue, m.TargetType == AverageValue
	case m.known() && !m.total():
		targets, ok = "AverageValue or Utilization", m.TargetType == AverageValue || m.TargetType == Utilization
	}
	e.Check(ok, "TargetType", m.TargetType, targets)
	e.AtLeast("Target", m.Target, 1)
	if ofResource := m.Source == "Resource" || m.Source == "ContainerResource"; m.known() {
		e.Check(!m.CPU || ofResource, "CPU", m.CPU, "false: CPU is for Resource and ContainerResource metrics")
		e.Check(m.Source != "Object" || len(m.Values) <= 1, "Values", len(m.Values), "one value: an object has one")
		e.Check(m.total() || len(m.Values) == 0, "Values", len(m.Values), "Samples: a metric of pods has one for each pod")
		e.Check(!m.total() || len(m.Samples) == 0, "Samples", len(m.Samples), "Values: External and Object have no samples of pods")
	}
	return e.Err()
}

// A reader reads metrics of an observation.
type reader struct {
	o       *Observation
	t       tolerances
	p       *Policy
	current int32

	tolerated float64 // ratio that changed nothing
}

// within reports whether a ratio changes nothing. The bounds are included.
func (r *reader) within(ratio float64) bool {
	within := 1-r.t.down <= ratio && ratio <= 1+r.t.up
	if within && ratio != 1 {
		r.tolerated = ratio
	}
	return within
}

// propose returns the replicas that a metric asks for, or why it is unreadable.
func (r *reader) propose(m *Metric) (replicas int32, reason string) {
	switch {
	case m.Unreadable != "":
		return 0, m.Unreadable
	case m.Target <= 0:
		return 0, "the target is not positive"
	}
	switch {
	case m.total():
		return r.proposeTotal(m)
	case m.known():
		return r.proposeMean(m)
	}
	return 0, "unknown source"
}

// total reports whether the metric has a single value for the workload.
func (m *Metric) total() bool {
	return m.Source == "" || m.Source == "External" || m.Source == "Object"
}

// known reports whether Kubernetes has the source.
func (m *Metric) known() bool {
	return m.total() || m.Source == "Pods" || m.Source == "Resource" || m.Source == "ContainerResource"
}

// proposeTotal is for metrics with a single value for the workload.
func (r *reader) proposeTotal(m *Metric) (int32, string) {
	if len(m.Values) == 0 {
		return 0, "there is no value"
	}
	usage, ok := r.sum(m)
	if !ok {
		return 0, "the value is negative"
	}
	amount := float64(m.Target)
	switch m.TargetType {
	case AverageValue:
		if r.within(float64(usage) / (amount * float64(r.o.StatusReplicas))) {
			return r.o.StatusReplicas, ""
		}
		return r.count(math.Ceil(float64(usage)/amount), m.Source == "Object"), ""
	case Value:
		ratio := float64(usage) / amount
		switch {
		case r.current == 0:
			return r.count(math.Ceil(ratio), true), ""
		case r.within(ratio):
			return r.current, ""
		case !r.listed():
			return 0, "no pod matches the selector"
		}
		return r.count(math.Ceil(ratio*float64(r.ready())), false), ""
	}
	return 0, "unknown target"
}

// sum returns the usage. ok is false if it is negative and must not be.
func (r *reader) sum(m *Metric) (usage int64, ok bool) {
	if m.Source == "Object" {
		return m.Values[0], !r.p.Bounded || m.Values[0] >= 0
	}
	for _, v := range m.Values {
		switch {
		case !r.p.Bounded && m.TargetType == AverageValue:
			if usage += v; usage < 0 {
				return math.MaxInt64, true
			}
			continue
		case v < 0 && r.p.Bounded:
			return 0, false
		case v > 0 && usage > math.MaxInt64-v:
			return math.MaxInt64, true
		}
		usage += v
	}
	return usage, true
}

// count converts a number of replicas. wraps reports whether the code of Kubernetes
// converts it without a check, which on amd64 gives the smallest number.
func (r *reader) count(n float64, wraps bool) int32 {
	switch {
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return int32(n)
	case (!r.p.Bounded && wraps) || !(n > 0):
		return math.MinInt32
	}
	return math.MaxInt32
}

// listed reports whether the selector found a pod.
func (r *reader) listed() bool {
	for i := range r.o.Pods {
		if r.o.Pods[i].Phase != "Unlisted" {
			return true
		}
	}
	return false
}

// ready returns the number of pods that are running and ready.
func (r *reader) ready() (n int) {
	for i := range r.o.Pods {
		if pod := &r.o.Pods[i]; (pod.Phase == "" || pod.Phase == "Running") && pod.Ready == "True" {
			n++
		}
	}
	return n
}

// A pool holds the parts of a mean.
type pool struct {
	ready    int   // pods with a sample that is used
	samples  int   // samples used, of ready and unlisted pods
	matched  int   // samples of pods with a request
	total    int64 // their sum
	requests int64
	unready  int // pods with a sample that is not used yet
	missing  int // pods without a sample
}

// proposeMean is for metrics that have a sample for each pod.
func (r *reader) proposeMean(m *Metric) (int32, string) {
	utilization := m.TargetType == Utilization && m.Source != "Pods"
	if !utilization && m.TargetType != AverageValue {
		return 0, "unknown target"
	}
	if !r.listed() {
		return 0, "no pod matches the selector"
	}
	p, ok := r.pool(m, utilization)
	if !ok {
		return 0, "a sample or request is negative"
	}
	if p.samples == 0 {
		return 0, "no ready pod has a sample"
	}
	if utilization && r.requestMissing(m) {
		return 0, "a container has no request"
	}
	ratio, ok := r.ratio(m, p, utilization)
	if !ok {
		return 0, "no sample belongs to a pod with a request"
	}
	up := p.unready > 0 && ratio > 1
	if !up && p.missing == 0 {
		if r.within(ratio) {
			return r.current, ""
		}
		return r.count(math.Ceil(ratio*float64(p.ready)), true), ""
	}
	r.fill(&p, m, utilization, ratio, up)
	adjusted, ok := r.ratio(m, p, utilization)
	if !ok {
		return 0, "no sample belongs to a pod with a request"
	}
	if r.within(adjusted) || (ratio < 1 && adjusted > 1) || (ratio > 1 && adjusted < 1) {
		return r.current, ""
	}
	n := r.count(math.Ceil(adjusted*float64(p.samples)), true)
	if (adjusted < 1 && n > r.current) || (adjusted > 1 && n < r.current) {
		return r.current, ""
	}
	return n, ""
}

// pool sorts the pods. ok is false if a number is negative and must not be.
func (r *reader) pool(m *Metric, utilization bool) (p pool, ok bool) {
	for i := range r.o.Pods {
		s := sample(m, i)
		if r.p.Bounded && ((s.Known && s.Value < 0) || s.Request < 0) {
			return p, false
		}
		switch r.class(m, &r.o.Pods[i], s) {
		case classUnlisted:
			p.samples++
			if !utilization {
				p.total = r.plus(p.total, s.Value)
			}
		case classUsed:
			p.ready++
			p.add(r, s)
		case classUnready:
			p.unready++
		case classMissing:
			p.missing++
		}
	}
	return p, true
}

func (p *pool) add(r *reader, s *Sample) {
	p.samples++
	p.matched++
	p.total = r.plus(p.total, s.Value)
	p.requests = r.plus(p.requests, s.Request)
}

// fill adds the pods without a usable sample, against the direction of the change:
// with the target or their request if the ratio is below 1, with 0 if it is above.
func (r *reader) fill(p *pool, m *Metric, utilization bool, ratio float64, up bool) {
	for i := range r.o.Pods {
		filled := *sample(m, i)
		class := r.class(m, &r.o.Pods[i], sample(m, i))
		switch {
		case class == classMissing && ratio < 1 && utilization:
			filled.Value = r.times(filled.Request, max(100, m.Target)) / 100
		case class == classMissing && ratio < 1:
			filled.Value = m.Target
		case class == classMissing && ratio > 1, class == classUnready && up:
			filled.Value = 0
		default:
			continue
		}
		p.add(r, &filled)
	}
}

// ratio returns the usage against the target. ok is false if no request is known.
func (r *reader) ratio(m *Metric, p pool, utilization bool) (ratio float64, ok bool) {
	if !utilization {
		return float64(p.total/int64(p.samples)) / float64(m.Target), true
	}
	if p.requests == 0 {
		return 0, false
	}
	percent := r.times(p.total, 100) / p.requests
	if !r.p.Bounded {
		return float64(int32(percent)) / float64(int32(m.Target)), true
	}
	return float64(percent) / float64(m.Target), true
}

// requestMissing reports whether a pod has no request.
func (r *reader) requestMissing(m *Metric) bool {
	for i := range r.o.Pods {
		if r.o.Pods[i].Phase != "Unlisted" && !sample(m, i).RequestKnown {
			return true
		}
	}
	return false
}

type class uint8

const (
	classIgnored  class = iota // ended or deleted: neither a pod nor a sample
	classUnready               // pending, or starting with a metric of the processor
	classMissing               // without a sample
	classUnlisted              // a sample without a pod
	classUsed
)

// class returns how a pod counts. now is needed for the processor only.
func (r *reader) class(m *Metric, pod *Pod, s *Sample) class {
	switch {
	case pod.Phase == "Unlisted" && !s.Known:
		return classIgnored
	case pod.Phase == "Unlisted":
		return classUnlisted
	case pod.Deleting || pod.Phase == "Failed":
		return classIgnored
	case pod.Phase == "Pending":
		return classUnready
	case !s.Known:
		return classMissing
	case m.CPU && m.Source != "Pods" && r.starting(pod, s):
		return classUnready
	}
	return classUsed
}

// starting reports whether a sample of the processor may come from a pod's start.
func (r *reader) starting(pod *Pod, s *Sample) bool {
	switch {
	case pod.Ready == "" || pod.Started.IsZero():
		return true
	case pod.Started.Add(r.p.CPUInitialization).After(r.o.Now):
		return pod.Ready == "False" || s.At.Before(pod.ReadyChanged.Add(s.Window))
	}
	return pod.Ready == "False" && pod.Started.Add(r.p.ReadinessDelay).After(pod.ReadyChanged)
}

var missing Sample

// sample returns the sample of the pod with an index.
func sample(m *Metric, i int) *Sample {
	if i < len(m.Samples) {
		return &m.Samples[i]
	}
	return &missing
}

// plus adds two numbers, and times multiplies them: if bounded, up to the largest number.
func (r *reader) plus(a, b int64) int64 {
	if r.p.Bounded && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

func (r *reader) times(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); r.p.Bounded && (hi != 0 || lo > math.MaxInt64) {
		return math.MaxInt64
	}
	return a * b
}
