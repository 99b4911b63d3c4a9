package scaledobject

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/horizontal"
)

// Decide returns the number of replicas to write, by the steps of the package comment. It
// never fails, and changes none of its arguments.
//
// The result is the current count, PausedReplicas, the idle count, 0 if Min is 0, or
// between Min and Max.
func Decide(p Policy, o Observation, c Checkpoint) Decision {
	d := Decision{Current: o.Replicas, Replicas: o.Replicas, At: o.Now, Checkpoint: c.clone()}
	if d.Checkpoint.Original == nil {
		d.Checkpoint.Original = &o.Replicas
	}
	switch {
	case p.PausedReplicas != nil:
		d.Reason, d.Replicas = ReasonPaused, max(0, *p.PausedReplicas)
		return d
	case p.Paused || p.Max < 1 || o.Replicas < 0:
		d.Reason = ReasonPaused
		return d
	}
	r := reader{p: &p, o: &o, ready: ready(o.Pods)}
	metrics := r.read(&d)
	d.Active = r.active || p.ForceActive
	d.Unreadable, d.Fallback = r.unreadable, r.fallback
	d.FallbackCondition = p.fallbackCondition(d.Checkpoint.Failures)
	if o.Fresh && d.activate(&p) {
		return d
	}
	if !d.Active && p.Idle != nil && d.Current == *p.Idle {
		d.Reason = ReasonIdle
		return d
	}
	if o.Between {
		d.Reason = ReasonBetween
		return d
	}
	decision := horizontal.Decide(p.autoscaler(), horizontal.Observation{
		Now: o.Now, Replicas: o.Replicas, StatusReplicas: o.StatusReplicas, Pods: o.Pods, Metrics: metrics,
	}, c.Autoscaler)
	d.Autoscaler, d.Reason, d.Replicas = &decision, ReasonAutoscaler, decision.Replicas
	d.Checkpoint.Autoscaler = decision.Checkpoint
	d.check(decision.NextCheck)
	return d
}

// clone returns a checkpoint that shares no memory with c.
func (c Checkpoint) clone() Checkpoint {
	c.Failures = maps.Clone(c.Failures)
	a := &c.Autoscaler
	a.Recommendations, a.Ups, a.Downs = slices.Clone(a.Recommendations), slices.Clone(a.Ups), slices.Clone(a.Downs)
	if c.Original != nil {
		original := *c.Original
		c.Original = &original
	}
	return c
}

// fallbackCondition is KEDA's condition Fallback, which a policy without a valid fallback leaves as
// it is.
func (p *Policy) fallbackCondition(failures map[string]int32) horizontal.Condition {
	if !p.Fallback.valid() {
		return horizontal.Condition{}
	}
	for _, failed := range failures {
		if failed > p.Fallback.FailureThreshold {
			return horizontal.Condition{True: true, Reason: "FallbackExists"}
		}
	}
	return horizontal.Condition{Reason: "NoFallbackFound"}
}

// autoscaler returns the policy of the HorizontalPodAutoscaler that KEDA makes.
func (p *Policy) autoscaler() horizontal.Policy {
	h := p.Autoscaler
	h.Min, h.Max = max(1, p.Min), p.Max
	if !p.PausedIn && !p.PausedOut {
		return h
	}
	var b horizontal.Behavior
	if h.Behavior != nil {
		b = *h.Behavior
	}
	if p.PausedIn {
		b.Down.SelectPolicy = horizontal.Disabled
	}
	if p.PausedOut {
		b.Up.SelectPolicy = horizontal.Disabled
	}
	h.Behavior = &b
	return h
}

// activate is KEDA's own step. It reports whether it decided.
func (d *Decision) activate(p *Policy) bool {
	if d.Active {
		return d.activeStep(p)
	}
	d.ActiveCondition = horizontal.Condition{Reason: "ScalerNotActive"}
	switch {
	case d.Unreadable && (p.Fallback == nil || p.Fallback.Replicas != 0):
	case p.Idle != nil && d.Current > *p.Idle, d.Current > 0 && p.Min <= 0:
		return d.lower(p)
	case p.Idle == nil && d.Current < p.Min:
		d.Reason, d.Replicas = ReasonRaised, min(p.Min, p.Max)
		return true
	}
	return false
}

func (d *Decision) activeStep(p *Policy) bool {
	d.ActiveCondition = horizontal.Condition{True: true, Reason: "ScalerActive"}
	switch {
	case d.Current > 0 && !(p.Idle != nil && d.Current < p.Min):
		if !d.Unreadable {
			d.Checkpoint.LastActive = d.At.Truncate(time.Second)
		}
		return false
	case p.PausedOut:
		d.Reason = ReasonPausedOut
	default:
		d.Reason, d.Replicas = ReasonActivated, min(max(1, p.Min), p.Max)
	}
	return true
}

// lower goes to the idle count or to 0 when the cooldown is over.
func (d *Decision) lower(p *Policy) bool {
	if p.PausedIn {
		d.Reason = ReasonPausedIn
		return true
	}
	from, wait := d.Checkpoint.LastActive, p.Cooldown
	if from.IsZero() {
		from, wait = p.Created.Truncate(time.Second), p.InitialCooldown
	}
	if end := from.Add(wait); !end.Before(d.At) {
		d.ActiveCondition.Reason = "ScalerCooldown"
		d.check(end.Add(1))
		return false
	}
	d.Reason, d.Replicas = ReasonDeactivated, 0
	if p.Idle != nil {
		d.Replicas = max(0, *p.Idle)
	}
	return true
}

// check sets NextCheck if the instant is earlier.
func (d *Decision) check(now time.Time) {
	if !now.IsZero() && (d.NextCheck.IsZero() || now.Before(d.NextCheck)) {
		d.NextCheck = now
	}
}

func ready(pods []horizontal.Pod) (n int) {
	for _, pod := range pods {
		if (pod.Phase == "" || pod.Phase == "Running") && pod.Ready == "True" {
			n++
		}
	}
	return n
}

// A reader turns triggers into metrics.
type reader struct {
	p                            *Policy
	o                            *Observation
	ready                        int
	active, unreadable, fallback bool
}

// read returns the metrics of the autoscaler, and counts failures in the checkpoint.
func (r *reader) read(d *Decision) (metrics []horizontal.Metric) {
	values, external := map[string]*float64{}, false
	failures := &d.Checkpoint.Failures
	for i := range r.o.Triggers {
		t := &r.o.Triggers[i]
		if t.resource() {
			metrics = append(metrics, t.Metric)
			continue
		}
		external = true
		m, value := r.trigger(t, failures)
		values[t.Name] = value
		if r.p.Modifiers == nil {
			metrics = append(metrics, m)
		}
	}
	r.forget(*failures)
	if r.p.Modifiers != nil {
		metrics = append(metrics, r.combine(values))
	}
	if !external && !r.unreadable {
		r.active = true // nothing can activate a workload with cpu and memory only
	}
	return metrics
}

// forget drops the failures of triggers that an edit removed.
func (r *reader) forget(failures map[string]int32) {
	names := map[string]bool{}
	for _, t := range r.o.Triggers {
		names[t.Name] = true
	}
	for name := range failures {
		if !names[name] {
			delete(failures, name)
		}
	}
}

// trigger returns the metric of an external trigger, and its value for the formula: nil
// if it failed too often.
func (r *reader) trigger(t *Trigger, failures *map[string]int32) (horizontal.Metric, *float64) {
	value := total(&t.Metric)
	if t.Metric.Unreadable == "" {
		delete(*failures, t.Name)
		r.active = r.active || t.Active
		return t.Metric, &value
	}
	f := r.p.Fallback
	if !f.valid() {
		r.unreadable = true
		return t.Metric, &value
	}
	failed := (*failures)[t.Name]
	if r.o.Fresh || t.Fresh {
		failed = min(failed, math.MaxInt32-1) + 1
		if *failures == nil {
			*failures = map[string]int32{}
		}
		(*failures)[t.Name] = failed
	}
	if failed <= f.FailureThreshold {
		r.unreadable = true
		return t.Metric, &value
	}
	if f.Behavior == "scalingModifiers" {
		return t.Metric, nil
	}
	kind := t.Metric.TargetType
	if r.p.Modifiers != nil {
		kind = r.p.Modifiers.Type
	}
	if kind == horizontal.Value && r.ready == 0 {
		r.unreadable = true
		return t.Metric, &value
	}
	r.fallback, r.active = true, true
	m := t.Metric
	m.Unreadable = ""
	m.Values = []int64{milli(whole(m.Target), r.fallbackReplicas(kind))}
	return m, &value
}

// fallbackReplicas returns the replicas of the fallback, for Value divided by the ready pods.
func (r *reader) fallbackReplicas(kind string) float64 {
	f := r.p.Fallback
	n := f.Replicas
	switch f.Behavior {
	case "currentReplicas":
		n = r.o.Replicas
	case "currentReplicasIfHigher":
		n = max(n, r.o.Replicas)
	case "currentReplicasIfLower":
		n = min(n, r.o.Replicas)
	}
	if kind == horizontal.Value {
		return float64(n) / float64(r.ready)
	}
	return float64(n)
}

// whole returns a number of milli-units with the rounding that KEDA's quantities have.
func whole(milli int64) float64 { return float64(milli) * 1e-3 }

// total is the value of a metric that the formula sees.
func total(m *horizontal.Metric) (sum float64) {
	for _, v := range m.Values {
		sum += whole(v)
	}
	return sum
}

// combine applies the formula.
func (r *reader) combine(values map[string]*float64) horizontal.Metric {
	mod := r.p.Modifiers
	m := horizontal.Metric{Name: "composite-metric", TargetType: mod.Type, Target: milli(mod.Target, 1)}
	if m.TargetType == "" {
		m.TargetType = horizontal.AverageValue
	}
	r.active = false
	switch {
	case r.fallback:
		m.Values = []int64{milli(mod.Target, r.fallbackReplicas(m.TargetType))}
	case r.unreadable:
		m.Unreadable = "a trigger is unreadable"
	default:
		m.Values, m.Unreadable = r.formula(values)
		r.unreadable = m.Unreadable != ""
	}
	r.active = !r.unreadable && whole(m.Values[0]) > mod.Activation
	return m
}

func (r *reader) formula(values map[string]*float64) (milliValue []int64, reason string) {
	if r.p.Modifiers.Formula == nil {
		return nil, "there is no formula"
	}
	result, err := r.p.Modifiers.Formula(values)
	switch {
	case err != nil:
		return nil, err.Error()
	case result == nil && !r.p.Fallback.valid():
		return nil, "the formula has no value, and there is no fallback"
	case result == nil:
		return []int64{milli(r.p.Modifiers.Target, float64(r.p.Fallback.Replicas))}, ""
	case math.IsNaN(*result) || *result < 0:
		return nil, "the formula is negative or not a number"
	}
	return []int64{milli(*result, 1)}, ""
}

// milli returns a product in milli-units, truncated as KEDA does, and at most the largest
// number.
func milli(x, times float64) int64 {
	if x = x * 1000 * times; x < math.MaxInt64 {
		return int64(x)
	}
	return math.MaxInt64
}
