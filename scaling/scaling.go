// Package scaling decides how many Jobs to create in a poll of a queue, and how many workers
// too many there are.
//
//	policy := scaling.DefaultPolicy()
//	decision := scaling.Decide(policy, scaling.Observation{Metrics: metrics, Jobs: &counts})
//	// decision.Create Jobs are missing; decision.Surplus workers may be drained; decision.Reason says why
//
//	metrics ─ aggregation ─> demand ─ Bounds ─> target ─ Strategy ─> proposal ─ Bounds ─> Decision
//
// [Decide] takes a [Policy], which is configuration, and an [Observation] of a poll. It returns a
// [Decision] with a [Trace] of each stage. [Policy.Validate] and [Metric.Validate] return the
// problems of each; call them when configuration is loaded.
//
// R, P and S are the running, pending and stuck Jobs, T the Jobs that the queue asks for,
// and M the most Jobs that the queue may have, as in package strategy. Jobs in flight are
// part of R and P.
//
// # Stages
//
//  1. Demand. A metric is unreadable if it failed or if its numbers are invalid
//     ([Metric]). The active readable metrics are aggregated ([Aggregation]) to a
//     queue length and a quotient in Jobs.
//
//  2. Rounding. T is the quotient rounded up, and at least 1 if the queue is not
//     empty. A quotient within one part in 10^9 of a whole number is that number:
//     2.1 items at 0.3 per Job are 7 Jobs, although the float64 quotient exceeds 7.
//
//  3. Load. With an additive minimum, the strategy reads
//
//     M = max - min, T = min(T, M), R' = max(0, R - min), P' = min(P, R'), S' = min(S, P')
//
//     With a floor, it reads M = max and T = min(T, max). If its target is a total
//     ([strategy.TargetIsTotal]), T is also at least min.
//
//  4. Proposal. With an additive minimum, create is max(0, min - R) + max(0, proposal).
//     With a floor, it is the larger of the two.
//
//  5. Limits. Create is at most max - R - terminating, and at least 0.
//
// Some polls do not call the strategy. Without an active metric, and with an
// unreadable metric under HoldOnFailure, create is max(0, min - R), limited as in stage 5.
// If the policy is paused or the Jobs are unknown, create is 0.
//
// # Departures from the specification
//
// The rules are from KEDA's ScaledJob specification, not of KEDA's code (package
// keda has those), and testdata/SPECIFICATION.md numbers them for any language. Three depart from the
// specification, to keep the maximum and to serve the whole queue:
//
//   - Terminating Jobs are not part of R, and count in the last limit.
//   - P' and S' are reduced with R', so that pending Jobs of the minimum do not use up
//     demand.
//   - The proposal of custom is limited like any other.
//
// # Cost
//
// A decision takes constant time, and a few nanoseconds for each metric. It allocates
// nothing, except with the strategy custom (BenchmarkDecide).
//
// # Workers that serve many items
//
// [Decision].Desired is the number of Jobs that the queue asks for, whatever runs, and
// [Decision].Surplus is the number that may be drained. A [Cooldown] waits until a surplus is
// steady. With one metric and one item per Job, the surplus is at most the workers without an
// item. With several items or queues it is not known which workers are idle: mark a worker, wait
// until it answers that it takes no more items, and then delete it.
//
// A marked worker is part of R while it has an item, and then of nothing; Create takes marked
// workers back before it makes new ones. Workers elsewhere that serve the same queue are part of R,
// and are added to both bounds. Queues that share a maximum are metrics with the aggregation Sum.
// examples/machines is such a program.
package scaling

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is the scaling configuration of an owner. The zero value has a maximum of 0
// and creates nothing.
type Policy struct {
	Bounds      Bounds      `json:"bounds"`
	Aggregation Aggregation `json:"aggregation"`
	// Strategy is the strategy; nil means strategy.Default.
	Strategy strategy.Strategy `json:"strategy"`
	// HoldOnFailure keeps only the minimum if a metric is unreadable. Otherwise the
	// readable metrics decide.
	HoldOnFailure bool `json:"holdOnFailure"`
	// Paused creates nothing. The caller also rolls out nothing; it continues to delete
	// finished Jobs.
	Paused bool `json:"paused"`
}

// DefaultPolicy returns the policy of a manifest without scaling fields: no minimum, at
// most 100 Jobs, aggregation max, strategy default.
func DefaultPolicy() Policy {
	return Policy{Bounds: Bounds{Max: 100}, Strategy: strategy.Default{}}
}

func (p Policy) strategy() strategy.Strategy {
	if p.Strategy == nil {
		return strategy.Default{}
	}
	return p.Strategy
}

// MarshalJSON returns the fields, with the text of [strategy.Describe] as the strategy.
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	return json.Marshal(struct {
		plain
		Strategy string `json:"strategy"`
	}{plain(p), strategy.Describe(p.strategy())})
}

// UnmarshalJSON reads the result of MarshalJSON, with a strategy that [strategy.Parse] knows.
func (p *Policy) UnmarshalJSON(data []byte) error {
	type plain Policy
	form := struct {
		plain
		Strategy string `json:"strategy"`
	}{plain: plain(*p)}
	err := jsonform.Read(data, &form)
	*p = Policy(form.plain)
	if err != nil || form.Strategy == "" {
		return err
	}
	chosen, err := strategy.Parse(form.Strategy)
	if err == nil {
		p.Strategy = chosen
	}
	return err
}

// NoMax is the Bounds.Max without a maximum.
const NoMax = math.MaxInt64

// Bounds limit the number of unfinished Jobs. The zero value allows none. Negative
// numbers count as 0, and a Min above Max counts as Max.
type Bounds struct {
	Min  int64   `json:"min"`              // Jobs to keep even if the queue is empty
	Max  int64   `json:"max" form:"limit"` // most unfinished Jobs; NoMax ("unlimited" in JSON) is no limit
	Mode MinMode `json:"mode"`             // whether the queue's Jobs count towards Min
}

// MarshalJSON returns the fields, with "unlimited" for a Max of NoMax.
func (b Bounds) MarshalJSON() ([]byte, error) { return jsonform.Marshal(b) }

// UnmarshalJSON reads the result of MarshalJSON.
func (b *Bounds) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, b) }

func (b Bounds) normalize() Bounds {
	b.Max = max(0, b.Max)
	b.Min = min(max(0, b.Min), b.Max)
	return b
}

// MinMode is the meaning of a minimum. In JSON it is a name: additive or floor.
type MinMode uint8

const (
	// Additive keeps Min Jobs in addition to the Jobs for the queue, as the ScaledJob
	// specification demands. With a minimum of 2, two running Jobs and three items, it
	// creates three Jobs.
	Additive MinMode = iota
	// Floor counts the Jobs for the queue towards Min. In the same case it creates 1
	// Job.
	Floor
)

var minModes = []string{"additive", "floor"}

// String returns the name of the mode.
func (m MinMode) String() string { return jsonform.Name(minModes, m) }

// MarshalText returns the same as String.
func (m MinMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the name of a mode.
func (m *MinMode) UnmarshalText(text []byte) error { return jsonform.Parse(minModes, text, m) }

// Validate returns every problem of the policy, joined. Each is a [*field.Error].
// Decide also accepts an invalid policy. A Min above Max is valid: it counts as Max, and
// the trace shows it.
func (p Policy) Validate() error {
	var e field.Errors
	e.AtLeast("Bounds.Min", p.Bounds.Min, 0)
	e.AtLeast("Bounds.Max", p.Bounds.Max, 0)
	e.Check(p.Bounds.Mode <= Floor, "Bounds.Mode", p.Bounds.Mode, "Additive or Floor")
	e.Check(int(p.Aggregation) < len(aggregations), "Aggregation", p.Aggregation, "one of "+strings.Join(aggregations, ", "))
	return e.Err()
}

// Warnings returns what is valid and probably a mistake: a Min above Max, and a metric that leaves
// out the items in progress beside a strategy that subtracts the running Jobs.
func (p Policy) Warnings(metrics ...Metric) error {
	var e field.Errors
	if p.Bounds.Min > p.Bounds.Max {
		e.Check(false, "Bounds.Min", p.Bounds.Min, fmt.Sprintf("at most Max, %d; it counts as Max", p.Bounds.Max))
	}
	for i, m := range metrics {
		if m.WaitingOnly && strategy.TargetIsTotal(p.strategy()) {
			e.Check(false, fmt.Sprintf("Metrics[%d].WaitingOnly", i), true,
				"a metric that counts items in progress, or the strategy accurate: "+strategy.Describe(p.strategy())+" subtracts the running Jobs from the waiting items")
		}
	}
	return e.Err()
}

// An Observation is what was read for a poll. The zero value has no metric and unknown Jobs, so
// that nothing is created.
type Observation struct {
	Metrics []Metric `json:"metrics"`
	// Jobs is nil if the Jobs are unknown: they could not be listed, or the cache has
	// not synced.
	Jobs *JobCounts `json:"jobs"`
}

// JobCounts holds the numbers of an owner's unfinished Jobs. The zero value has none.
// Negative numbers count as 0. Pending is at most Running, Suspended at most Pending,
// and Stuck at most Pending - Suspended; larger numbers are reduced.
type JobCounts struct {
	Running     int64 `json:"running"`     // unfinished and not terminating
	Pending     int64 `json:"pending"`     // part of Running: no pod is Running or Succeeded
	Suspended   int64 `json:"suspended"`   // part of Pending: spec.suspend is true; never stuck
	Stuck       int64 `json:"stuck"`       // part of Pending: pending for at least the grace period
	Terminating int64 `json:"terminating"` // unfinished, with a deletion timestamp: they use headroom and serve no items
	InFlight    int64 `json:"inFlight"`    // created and not observed yet; added to Running and Pending

	// AgesUnknown reports whether the ages of pending Jobs are unknown. Every pending
	// Job that is neither suspended nor in flight then counts as stuck.
	AgesUnknown bool `json:"agesUnknown"`
}

// normalize sets j to the observed counts, with InFlight added and each part at most
// its whole.
func (j *JobCounts) normalize(observed *JobCounts) {
	running := max(0, observed.Running)
	pending := min(max(0, observed.Pending), running)
	j.InFlight = max(0, observed.InFlight)
	j.Suspended = min(max(0, observed.Suspended), pending)
	j.Stuck = pending - j.Suspended
	if !observed.AgesUnknown {
		j.Stuck = min(max(0, observed.Stuck), j.Stuck)
	}
	j.Running = plus(running, j.InFlight)
	j.Pending = plus(pending, j.InFlight)
	j.Terminating = max(0, observed.Terminating)
	j.AgesUnknown = observed.AgesUnknown
}

// A Decision is the number of Jobs to create, with the reason. The zero value creates
// none and drains none. It can be read back from its JSON: enumerated values have names, an
// infinite number is "+Inf", and NoMax is "unlimited".
type Decision struct {
	Create int64  `json:"create"` // at least 0
	Reason Reason `json:"reason"` // what determined Create
	// Desired is the number of Jobs that the queue asks for within the bounds, whatever runs.
	Desired Count `json:"desired"`
	// Surplus is the number of running workers above Desired, stuck ones left out, for workers that
	// serve many items, such as idle agents or machines. It is 0 if Create is not. The caller drains
	// idle workers: those that it drains are not created again while the metrics stay.
	Surplus Count `json:"surplus"`
	Trace   Trace `json:"trace"` // the numbers of each stage
}

// Decide returns the number of Jobs to create in a poll, by the stages of the package
// comment. It never fails and is pure: it panics only if the strategy does, and equal
// inputs have equal results.
//
// R + terminating + create exceeds the maximum only if R + terminating already did. With
// unknown Jobs (o.Jobs is nil), create is 0.
func Decide(p Policy, o Observation) (d Decision) {
	d.create(&p, &o)
	d.desire(&p, &o)
	return
}

// create decides how many Jobs are created.
func (d *Decision) create(p *Policy, o *Observation) {
	t, bounds, room := &d.Trace, p.Bounds.normalize(), int64(0)
	t.Aggregation, t.Bounds = p.Aggregation, p.Bounds
	t.Demand.aggregate(p.Aggregation, o.Metrics, longest(p.Bounds.Max == NoMax))
	if o.Jobs != nil {
		t.JobsKnown = true
		t.Jobs.normalize(o.Jobs)
		room = bounds.room(&t.Jobs)
		if t.Headroom = room; bounds.Max == NoMax {
			t.Headroom = NoMax
		}
		t.BelowMin = max(0, bounds.Min-t.Jobs.Running)
	}
	unread := t.Demand.Metrics - t.Demand.Read
	switch {
	case p.Paused:
		d.Reason = ReasonPaused
		return
	case o.Jobs == nil:
		d.Reason = ReasonJobsUnknown
		return
	case unread > 0 && t.Demand.Read == 0:
		d.Reason = ReasonUnreadable
	case unread > 0 && p.HoldOnFailure:
		d.Reason = ReasonHeld
	case t.Demand.Active == 0:
		d.Reason = ReasonInactive
	default:
		d.Reason = t.propose(p.strategy(), bounds)
	}
	d.Create = t.request()
	if d.Create > room {
		d.Create, d.Reason = room, ReasonMax
	}
}

// propose calls the strategy, and returns the reason for the result so far.
func (t *Trace) propose(s strategy.Strategy, b Bounds) Reason {
	limit, running := b.Max, t.Jobs.Running
	if b.Mode != Floor {
		running = max(0, running-b.Min)
		if limit != NoMax {
			limit -= b.Min
		}
	}
	target := min(t.Demand.Jobs, limit)
	if b.Mode == Floor && strategy.TargetIsTotal(s) {
		target = max(target, b.Min)
	}
	pending, stuck := min(t.Jobs.Pending, running), min(t.Jobs.Stuck, running)
	// Field by field, and not as a struct: reading a copy that was just written waits for
	// the writes, longer than the rest of the decision takes.
	l := &t.Load
	l.Target, l.Running, l.Pending, l.Stuck, l.Max = target, running, pending, stuck, limit
	t.Proposal = s.Propose(strategy.Load{Target: target, Running: running, Pending: pending, Stuck: stuck, Max: limit})
	t.Strategy = strategy.Describe(s)
	switch {
	case t.BelowMin > 0 && t.request() == t.BelowMin:
		return ReasonMin
	case t.Demand.Jobs > limit:
		return ReasonMax
	}
	return ReasonStrategy
}

// request returns the Jobs for the minimum and the proposal together.
func (t *Trace) request() int64 {
	proposal := max(0, t.Proposal)
	if t.Bounds.Mode == Floor {
		return max(t.BelowMin, proposal)
	}
	return plus(t.BelowMin, proposal)
}

// room returns the number of Jobs that the maximum still allows.
func (b Bounds) room(j *JobCounts) int64 {
	return max(0, max(0, b.Max-j.Running)-j.Terminating)
}

// plus adds two numbers that are not negative.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}
