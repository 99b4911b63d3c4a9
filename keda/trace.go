package keda

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/strategy"
)

// A Trace is the numbers of a decision in the order of its stages. Traces can be
// compared with ==, where no number of them is a NaN.
type Trace struct {
	Profile  Profile
	Replicas Replicas
	Demand   Demand

	JobsUnknown      bool
	Running, Pending int64 // as KEDA counts them

	Asked    bool          // whether the strategy was asked
	Strategy Strategy      // which one
	Load     strategy.Load // what it saw

	EffectiveMaxScale int64 // what it answered, or what the minimum lacks; before it is raised to 0
	ScaleTo           int64 // what holds it

	Fault Fault // of any stage
}

// Reason is what had the last word in a decision.
type Reason uint8

const (
	ReasonNone        Reason = iota // nothing has been decided
	ReasonStrategy                  // the strategy's answer
	ReasonQueueLength               // the queue is shorter than the strategy's answer
	ReasonMinimum                   // Jobs of the minimum are missing: the queue does not count
	ReasonInactive                  // no scaler that counts is active: nothing
	ReasonPaused                    // paused: nothing
	ReasonPanic                     // the operator dies: nothing
)

var reasons = [...]string{
	ReasonNone:        "nothing was decided",
	ReasonStrategy:    "the strategy's answer",
	ReasonQueueLength: "the queue's length",
	ReasonMinimum:     "the minimum, whatever the queue",
	ReasonInactive:    "not active",
	ReasonPaused:      "paused",
	ReasonPanic:       "the operator dies",
}

// String says the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// String tells the decision in aligned lines, one a stage, without a newline at
// the end. Nothing is formatted before.
func (d Decision) String() string {
	if d.Reason == ReasonPaused || d.Reason == ReasonNone {
		return fmt.Sprintf("release   %s\ncreate    %d: %s", d.Profile, d.Create, d.Reason)
	}
	return d.Trace.String() + fmt.Sprintf("\ncreate    %d: %s", d.Create, d.Reason)
}

// String tells the stages in aligned lines, without a newline at the end.
func (t Trace) String() string {
	var b strings.Builder
	b.Grow(400)
	fmt.Fprintf(&b, "release   %s\n", t.Profile)
	fmt.Fprintf(&b, "replicas  min %d, and %d for the queue\n", t.Replicas.Min, t.Replicas.QueueMax)
	fmt.Fprintf(&b, "scalers   %s\n", t.Demand)
	fmt.Fprintf(&b, "jobs      %s\n", t.jobs())
	if t.Asked {
		l := t.Load
		fmt.Fprintf(&b, "strategy  %s, at T=%d R=%d P=%d M=%d\n", t.Strategy, l.Target, l.Running, l.Pending, l.Max)
	}
	fmt.Fprintf(&b, "scale     %d, held to %d", t.EffectiveMaxScale, t.ScaleTo)
	if t.Fault != NoFault {
		fmt.Fprintf(&b, "\nfault     %s", t.Fault)
	}
	return b.String()
}

func (t Trace) jobs() string {
	if t.JobsUnknown {
		return "could not be listed, so R=0 and P=0"
	}
	return fmt.Sprintf("R=%d running, P=%d of them pending", t.Running, t.Pending)
}

// String tells the numbers in one line.
func (d Demand) String() string {
	active := "not active"
	if d.Active {
		active = "active"
	}
	return fmt.Sprintf("%d of %d read, %s: queue %g, %g Jobs, rounded up %d and %d",
		d.Scalers-d.Failed, d.Scalers, active, d.Queue, d.Jobs, d.QueueLength, d.MaxScale)
}
