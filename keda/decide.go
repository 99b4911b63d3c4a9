package keda

import "github.com/scaledjob/scaledjob/strategy"

// A State is what one poll finds. The zero value has no scaler and no Job.
type State struct {
	Scalers []Scaler // in the order of the manifest's triggers

	// Running is R, the Jobs that have not finished, and Pending is P, those of
	// them that are pending: see [Profile.Count]. Negative numbers count as 0.
	Running, Pending int64
	// JobsUnknown is whether the Jobs could not be listed. KEDA counts none then,
	// whatever Running and Pending say.
	JobsUnknown bool
}

// A Decision says how many Jobs KEDA creates in one poll, and why.
type Decision struct {
	Create int64 // 0 where KEDA panics
	Reason Reason
	Trace
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

// scale keeps the minimum, or else asks the strategy.
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

// create holds the answer to the queue's length.
func (d *Decision) create() {
	if !d.Demand.Active {
		d.Reason = ReasonInactive
		return
	}
	form := d.Profile.forms[PartCreation]
	if d.EffectiveMaxScale <= 0 && form == creation2141 {
		return
	}
	effective := max(0, d.EffectiveMaxScale)
	if d.ScaleTo < effective {
		d.Reason = ReasonQueueLength
	}
	n := min(d.ScaleTo, effective)
	if form > creation20 && (n < 0 || n > 1<<45) {
		d.Fault.note(SliceLength)
	}
	d.Create = max(0, n)
}
