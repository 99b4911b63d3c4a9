package keda

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A State is the observation of a poll. The zero value has no scaler and no Job.
type State struct {
	Scalers []Scaler `json:"scalers"` // in the order of the manifest's triggers

	// Running is R, the unfinished Jobs. Pending is P, the part of R that is pending: see
	// [Profile.Count]. Negative numbers count as 0.
	Running int64 `json:"running"`
	Pending int64 `json:"pending"`
	// JobsUnknown reports whether listing the Jobs failed. KEDA then counts 0 Jobs, and
	// Running and Pending are ignored.
	JobsUnknown bool `json:"jobsUnknown"`
}

// A Decision is the number of Jobs that KEDA creates in a poll, with the numbers of
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

	Asked    bool          `json:"asked"`    // whether the strategy was called
	Strategy Strategy      `json:"strategy"` // strategy of the manifest
	Load     strategy.Load `json:"load"`     // argument of the strategy

	EffectiveMaxScale int64 `json:"effectiveMaxScale"` // result of the strategy, or the Jobs below the minimum; may be negative
	ScaleTo           int64 `json:"scaleTo"`           // upper limit of Create

	Fault Fault `json:"fault"` // the worst fault of all stages
}

// Decide returns the number of Jobs that the release creates in a poll. A feature
// that the release lacks is ignored, as KEDA does; [Profile.Validate] reports it.
//
// The steps, with m (minimum) and M (maximum for the queue) of [Profile.Replicas]:
//
//  1. A paused ScaledJob is not polled.
//  2. The scalers are combined to a queue length and T ([Profile.Aggregate]).
//  3. If R < m, create is m - R, and the queue length is ignored.
//  4. Otherwise the strategy reads T, R - m, P and M ([Strategy.Scale]), also if no
//     scaler is active. Create is its answer, at most the queue length (under eager, at
//     most M) and at least 0.
//  5. If no scaler is active, create is 0. A minimum counts as an active scaler.
func (p Profile) Decide(j *ScaledJob, s State) (d Decision) {
	d.Profile = p
	if p.Paused(j) {
		d.Reason = ReasonPaused
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
		d.Create, d.Reason = 0, ReasonPanic
	}
	return
}

// scale sets the answer to the Jobs below the minimum, or else calls the strategy.
func (d *Decision) scale(s Strategy) {
	if missing := d.Replicas.Min - d.Running; missing > 0 {
		d.EffectiveMaxScale, d.ScaleTo, d.Reason = missing, missing, ReasonMinimum
		return
	}
	d.Asked, d.Strategy, d.Reason = true, s, ReasonStrategy
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

// create limits the answer.
func (d *Decision) create() {
	if !d.Demand.Active {
		d.Reason = ReasonInactive
		return
	}
	if d.EffectiveMaxScale <= 0 && d.Profile.has(behaviorCreation, version{14, 1}) {
		return
	}
	effective := max(0, d.EffectiveMaxScale)
	if d.ScaleTo < effective {
		d.Reason = ReasonQueueLength
	}
	n := min(d.ScaleTo, effective)
	if d.Profile.has(behaviorCreation, version{13, 0}) && (n < 0 || n > 1<<45) {
		d.Fault.note(sliceLength)
	}
	d.Create = max(0, n)
}

// A Reason says what determined Create. It is empty if nothing was decided.
type Reason string

const (
	ReasonStrategy    Reason = "Strategy"
	ReasonQueueLength Reason = "QueueLength" // the queue length is below the strategy's answer
	ReasonMinimum     Reason = "Min"         // Jobs of the minimum are missing; the queue is ignored
	ReasonInactive    Reason = "Inactive"    // no scaler is active: no Jobs
	ReasonPaused      Reason = "Paused"      // no Jobs
	ReasonPanic       Reason = "Panic"       // the operator panics: no Jobs
)

var texts = map[Reason]string{
	"":                "nothing was decided",
	ReasonStrategy:    "the strategy's answer",
	ReasonQueueLength: "the queue length",
	ReasonMinimum:     "the minimum; the queue is ignored",
	ReasonInactive:    "no scaler is active",
	ReasonPaused:      "paused",
	ReasonPanic:       "the operator panics",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String returns the stages in aligned lines, without a newline at the end.
func (d Decision) String() string {
	if d.Reason == ReasonPaused || d.Reason == "" {
		return fmt.Sprintf("release   %s\ncreate    %d: %s", d.Profile, d.Create, d.Reason.Text())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "release   %s\n", d.Profile)
	fmt.Fprintf(&b, "replicas  min %d, and %d for the queue\n", d.Replicas.Min, d.Replicas.QueueMax)
	fmt.Fprintf(&b, "scalers   %s\n", d.Demand.text())
	fmt.Fprintf(&b, "jobs      %s", d.jobs())
	if d.Asked {
		l := d.Load
		fmt.Fprintf(&b, "\nstrategy  %s; at T=%d R=%d P=%d M=%d", d.Strategy, l.Target, l.Running, l.Pending, l.Max)
	}
	b.WriteString(d.proposal())
	if d.Fault != NoFault {
		fmt.Fprintf(&b, "\nfault     %s", d.Fault)
	}
	fmt.Fprintf(&b, "\ncreate    %d: %s", d.Create, d.Reason.Text())
	return b.String()
}

// proposal returns the line about the number before the last limit, if a stage proposed any.
func (d *Decision) proposal() string {
	limit := "the queue length"
	switch {
	case d.Asked && d.Strategy.kind == eager:
		limit = "the maximum for the queue"
	case !d.Asked && d.EffectiveMaxScale > 0:
		return fmt.Sprintf("\nproposal  %d, the Jobs below the minimum", d.EffectiveMaxScale)
	case !d.Asked:
		return ""
	}
	return fmt.Sprintf("\nproposal  %d, at most %d (%s)", d.EffectiveMaxScale, d.ScaleTo, limit)
}

func (d *Decision) jobs() string {
	if d.JobsUnknown {
		return "could not be listed, so R=0 and P=0"
	}
	if d.Asked && d.Replicas.Min > 0 {
		return fmt.Sprintf("%d running, %d of them for the minimum: R=%d, P=%d pending", d.Running, min(d.Running, d.Replicas.Min), d.Load.Running, d.Pending)
	}
	return fmt.Sprintf("R=%d running, P=%d of them pending", d.Running, d.Pending)
}

// A Fault is an error of KEDA's code on the way to a result. The zero value is
// none. In JSON it is a name: none, wrapsAround, noMaximum, noDeduction,
// resourceMetric, sliceLength or negativeLimit. A program compares faults without a
// constant by this name, from MarshalText.
type Fault uint8

const (
	NoFault Fault = iota
	// WrapsAround: an int64 overflows and wraps around. The result is amd64's.
	WrapsAround
	// NoMaximum: in 2.8 to 2.10 a minimum without a maximum dereferences nil. KEDA panics.
	NoMaximum
	// NoDeduction: custom without a deduction dereferences nil. KEDA panics.
	NoDeduction
	// resourceMetric: a cpu or memory metric in a scaler with an external metric
	// dereferences nil. KEDA panics.
	resourceMetric
	// sliceLength: KEDA makes a slice of a negative number of Jobs, or of more than 2^45,
	// and panics.
	sliceLength
	// negativeLimit: a negative history limit indexes past the last Job. KEDA panics. If
	// the list has spare capacity, KEDA first deletes every Job of that outcome, and
	// stops at a Job without a name.
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

// Panics reports whether KEDA's operator panics.
func (f Fault) Panics() bool { return f > WrapsAround }

// String describes the fault in words.
func (f Fault) String() string { return jsonform.Name(faults, f) }

// MarshalText returns the name of the fault.
func (f Fault) MarshalText() ([]byte, error) { return []byte(jsonform.Name(faultNames, f)), nil }

// UnmarshalText reads the name of a fault.
func (f *Fault) UnmarshalText(text []byte) error { return jsonform.Parse(faultNames, text, f) }

// note keeps the first fault; a panic replaces WrapsAround.
func (f *Fault) note(g Fault) {
	if *f == NoFault || (g.Panics() && !f.Panics()) {
		*f = g
	}
}

// add returns a + b, with int64's overflow.
func (f *Fault) add(a, b int64) int64 {
	sum := a + b
	if (sum^a)&(sum^b) < 0 {
		f.note(WrapsAround)
	}
	return sum
}

// sub returns a - b, with int64's overflow.
func (f *Fault) sub(a, b int64) int64 {
	diff := a - b
	if (a^b)&(diff^a) < 0 {
		f.note(WrapsAround)
	}
	return diff
}

// truncate converts as amd64 does: NaN and numbers outside int64 become MinInt64.
func (f *Fault) truncate(x float64) int64 {
	if x >= math.MinInt64 && x < -math.MinInt64 {
		return int64(x)
	}
	f.note(WrapsAround)
	return math.MinInt64
}
