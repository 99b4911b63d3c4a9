package keda

import (
	"fmt"
	"math"
	"strings"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A State is what one poll finds. The zero value has no scaler and no Job.
type State struct {
	Scalers []Scaler `json:"scalers"` // in the order of the manifest's triggers

	// Running is R, the Jobs that have not finished, and Pending is P, those of
	// them that are pending: see [Profile.Count]. Negative numbers count as 0.
	Running int64 `json:"running"`
	Pending int64 `json:"pending"`
	// JobsUnknown is whether the Jobs could not be listed. KEDA counts none then,
	// whatever Running and Pending say.
	JobsUnknown bool `json:"jobsUnknown"`
}

// A Decision is the number of Jobs that KEDA creates in one poll, with the numbers of
// each stage. In JSON, enumerated values have names, the strategy is its text, and
// numbers that are not finite are "+Inf", "-Inf" and "NaN". Decisions can be compared
// with ==, if no number is a NaN.
type Decision struct {
	Create int64  `json:"create"` // 0 if KEDA panics
	Reason Reason `json:"reason"`

	Profile  Profile  `json:"profile"`
	Replicas Replicas `json:"replicas"`
	Demand   Demand   `json:"demand"`

	JobsUnknown bool  `json:"jobsUnknown"`
	Running     int64 `json:"running"` // as KEDA counts them
	Pending     int64 `json:"pending"`

	Asked    bool          `json:"asked"`    // whether the strategy was asked
	Strategy Strategy      `json:"strategy"` // which one
	Load     strategy.Load `json:"load"`     // what it saw

	EffectiveMaxScale int64 `json:"effectiveMaxScale"` // what it answered, or what the minimum lacks; before it is raised to 0
	ScaleTo           int64 `json:"scaleTo"`           // what holds it

	Fault Fault `json:"fault"` // of any stage
}

// Decide returns what the release does in one poll. It does what KEDA does with
// the manifest even where the release lacks a feature that the manifest uses;
// [Profile.Validate] says so.
//
// In this order, where m and M are those of [Profile.Replicas]:
//
//  1. Paused, KEDA does not poll.
//
//  2. The scalers come to a queue length and to T, the strategy's target
//     ([Profile.Aggregate]).
//
//  3. Where R is below m, create is m - R, and nobody looks at the queue.
//
//  4. Else the strategy answers from T, R - m, P and M ([Strategy.Scale]).
//
//  5. Unless the scalers are active, nothing is created. Else create is the
//     strategy's answer, held to the queue's length and raised to 0.
//
// The cost is constant but for the scalers, which take a few nanoseconds each,
// and nothing is allocated (BenchmarkDecide).
func (p Profile) Decide(j *ScaledJob, s State) (d Decision) {
	d.Profile = p
	if p.Paused(j) {
		d.Reason = reasonPaused
		return
	}
	d.Replicas = p.Replicas(j)
	d.Demand = p.aggregate(j, s.Scalers, d.Replicas)
	if d.JobsUnknown = s.JobsUnknown; !s.JobsUnknown {
		d.Running, d.Pending = max(0, s.Running), max(0, s.Pending)
	}
	d.Fault = d.Demand.Fault
	if !d.Fault.Panics() {
		d.scale(p.Strategy(j))
	}
	if !d.Fault.Panics() {
		d.create()
	}
	if d.Fault.Panics() {
		d.Create, d.Reason = 0, reasonPanic
	}
	return
}

// scale keeps the minimum, or else asks the strategy.
func (d *Decision) scale(s Strategy) {
	if missing := d.Replicas.Min - d.Running; missing > 0 {
		d.EffectiveMaxScale, d.ScaleTo, d.Reason = missing, missing, reasonMinimum
		return
	}
	d.Asked, d.Strategy, d.Reason = true, s, reasonStrategy
	d.Load = strategy.Load{
		Target:  d.Demand.MaxScale,
		Running: d.Fault.sub(d.Running, d.Replicas.Min),
		Pending: d.Pending,
		Max:     d.Replicas.QueueMax,
	}
	answer := s.Scale(d.Load, d.Demand.QueueLength)
	d.EffectiveMaxScale, d.ScaleTo = answer.EffectiveMaxScale, answer.ScaleTo
	d.Fault.note(answer.Fault)
}

// create holds the answer to the queue's length.
func (d *Decision) create() {
	if !d.Demand.Active {
		d.Reason = reasonInactive
		return
	}
	form := d.Profile.forms[behaviorCreation]
	if d.EffectiveMaxScale <= 0 && form == creation2141 {
		return
	}
	effective := max(0, d.EffectiveMaxScale)
	if d.ScaleTo < effective {
		d.Reason = reasonQueueLength
	}
	n := min(d.ScaleTo, effective)
	if form > creation20 && (n < 0 || n > 1<<45) {
		d.Fault.note(sliceLength)
	}
	d.Create = max(0, n)
}

// Reason is what determined Create in a decision. In JSON it is a name: none,
// strategy, queueLength, min, inactive, paused or panic.
type Reason uint8

const (
	reasonNone        Reason = iota // nothing has been decided
	reasonStrategy                  // the strategy's answer
	reasonQueueLength               // the queue is shorter than the strategy's answer
	reasonMinimum                   // Jobs of the minimum are missing: the queue does not count
	reasonInactive                  // no scaler that counts is active: nothing
	reasonPaused                    // paused: nothing
	reasonPanic                     // the operator dies: nothing
)

var reasonNames = []string{
	reasonNone:        "none",
	reasonStrategy:    "strategy",
	reasonQueueLength: "queueLength",
	reasonMinimum:     "min",
	reasonInactive:    "inactive",
	reasonPaused:      "paused",
	reasonPanic:       "panic",
}

var reasons = []string{
	reasonNone:        "nothing was decided",
	reasonStrategy:    "the strategy's answer",
	reasonQueueLength: "the queue's length",
	reasonMinimum:     "the minimum, whatever the queue",
	reasonInactive:    "not active",
	reasonPaused:      "paused",
	reasonPanic:       "the operator dies",
}

// String describes the reason in words.
func (r Reason) String() string { return jsonform.Name(reasons, r) }

// MarshalText returns the name of the reason.
func (r Reason) MarshalText() ([]byte, error) { return []byte(jsonform.Name(reasonNames, r)), nil }

// String returns the stages in aligned lines, without a newline at the end.
func (d Decision) String() string {
	if d.Reason == reasonPaused || d.Reason == reasonNone {
		return fmt.Sprintf("release   %s\ncreate    %d: %s", d.Profile, d.Create, d.Reason)
	}
	var b strings.Builder
	b.Grow(400)
	fmt.Fprintf(&b, "release   %s\n", d.Profile)
	fmt.Fprintf(&b, "replicas  min %d, and %d for the queue\n", d.Replicas.Min, d.Replicas.QueueMax)
	fmt.Fprintf(&b, "scalers   %s\n", d.Demand.text())
	fmt.Fprintf(&b, "jobs      %s\n", d.jobs())
	if d.Asked {
		l := d.Load
		fmt.Fprintf(&b, "strategy  %s, at T=%d R=%d P=%d M=%d\n", d.Strategy, l.Target, l.Running, l.Pending, l.Max)
	}
	fmt.Fprintf(&b, "scale     %d, held to %d", d.EffectiveMaxScale, d.ScaleTo)
	if d.Fault != NoFault {
		fmt.Fprintf(&b, "\nfault     %s", d.Fault)
	}
	fmt.Fprintf(&b, "\ncreate    %d: %s", d.Create, d.Reason)
	return b.String()
}

func (d *Decision) jobs() string {
	if d.JobsUnknown {
		return "could not be listed, so R=0 and P=0"
	}
	return fmt.Sprintf("R=%d running, P=%d of them pending", d.Running, d.Pending)
}

// A Fault is where KEDA's code fails on the way to a result. The zero value is
// none. In JSON it is a name: none, wrapsAround, noMaximum, noDeduction,
// resourceMetric, sliceLength or negativeLimit.
type Fault uint8

const (
	NoFault Fault = iota
	// WrapsAround: a number left the range of int64 and came back at its other
	// end. The result is what amd64 makes of it.
	WrapsAround
	// NoMaximum: a minimum without a maximum is a nil pointer. KEDA panics.
	NoMaximum
	// NoDeduction: custom without a deduction is a nil pointer. KEDA panics.
	NoDeduction
	// resourceMetric: a metric of cpu or memory beside an external one of the same
	// scaler is a nil pointer. KEDA panics.
	resourceMetric
	// sliceLength: a slice of a negative number of Jobs, or of more than 2^45, which
	// fit into no memory. KEDA panics.
	sliceLength
	// negativeLimit: a history limit below 0 reaches behind the last Job. KEDA
	// panics or, where the list has spare memory, deletes every Job of that
	// outcome and stops at one without a name.
	negativeLimit
)

var faultNames = []string{
	NoFault:        "none",
	WrapsAround:    "wrapsAround",
	NoMaximum:      "noMaximum",
	NoDeduction:    "noDeduction",
	resourceMetric: "resourceMetric",
	sliceLength:    "sliceLength",
	negativeLimit:  "negativeLimit",
}

var faults = []string{
	NoFault:        "none",
	WrapsAround:    "a number wraps around",
	NoMaximum:      "KEDA panics: minReplicaCount without maxReplicaCount",
	NoDeduction:    "KEDA panics: custom without customScalingQueueLengthDeduction",
	resourceMetric: "KEDA panics: a cpu or memory metric beside an external one",
	sliceLength:    "KEDA panics: a number of Jobs that no slice can have",
	negativeLimit:  "KEDA panics: a negative history limit",
}

// Panics reports whether KEDA's operator dies of it.
func (f Fault) Panics() bool { return f > WrapsAround }

// String describes the fault in words.
func (f Fault) String() string { return jsonform.Name(faults, f) }

// MarshalText returns the name of the fault.
func (f Fault) MarshalText() ([]byte, error) { return []byte(jsonform.Name(faultNames, f)), nil }

// note keeps the first fault, but for a panic, which comes before wrapping.
func (f *Fault) note(g Fault) {
	if *f == NoFault || !f.Panics() && g.Panics() {
		*f = g
	}
}

// add returns a + b as int64 wraps it.
func (f *Fault) add(a, b int64) int64 {
	sum := a + b
	if (sum^a)&(sum^b) < 0 {
		f.note(WrapsAround)
	}
	return sum
}

// sub returns a - b as int64 wraps it.
func (f *Fault) sub(a, b int64) int64 {
	diff := a - b
	if (a^b)&(diff^a) < 0 {
		f.note(WrapsAround)
	}
	return diff
}

// whole converts as amd64 does: what is no int64, NaN included, is MinInt64.
func (f *Fault) whole(x float64) int64 {
	if x >= math.MinInt64 && x < -math.MinInt64 {
		return int64(x)
	}
	f.note(WrapsAround)
	return math.MinInt64
}
