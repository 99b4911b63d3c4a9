package scaling

import (
	"time"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Count is a number of Jobs, or the reason why it is not known. The zero value is not known.
type Count struct {
	Jobs   int64  `json:"jobs"`
	Known  bool   `json:"known"`
	Reason Reason `json:"reason"`
}

// desire sets Desired and Surplus.
func (d *Decision) desire(p *Policy, o *Observation) {
	if reason := d.undesired(p, o); reason != "" {
		d.Desired, d.Surplus = Count{Reason: reason}, Count{Reason: reason}
		return
	}
	jobs, bounds := &d.Trace.Jobs, p.Bounds.normalize()
	d.Desired = bounds.desired(&d.Trace.Demand)
	surplus := max(0, jobs.Running-jobs.Stuck-d.Desired.Jobs)
	switch {
	case o.Jobs == nil:
		d.Surplus = Count{Reason: ReasonJobsUnknown}
	case d.Create > 0:
		d.Surplus = Count{0, true, ReasonCreating}
	case surplus > 0:
		d.Surplus = Count{surplus, true, ReasonAboveDesired}
	default:
		d.Surplus = Count{0, true, ReasonNeeded}
	}
}

// undesired returns why the Jobs that the queue asks for are not known, or "".
func (d *Decision) undesired(p *Policy, o *Observation) Reason {
	demand := &d.Trace.Demand
	switch {
	case p.Paused:
		return ReasonPaused
	case demand.Read < demand.Metrics || demand.Metrics == 0:
		return ReasonPartlyRead
	case !strategy.TargetIsTotal(p.strategy()):
		return ReasonPartialTarget
	}
	for i := range o.Metrics {
		if o.Metrics[i].WaitingOnly {
			return ReasonWaitingOnly
		}
	}
	return ""
}

// desired returns the demand within the bounds.
func (b Bounds) desired(d *Demand) Count {
	c := Count{d.Jobs, true, ReasonDemand}
	if d.Active == 0 {
		c = Count{0, true, ReasonInactive}
	}
	switch {
	case b.Mode != Floor:
		c.Jobs = plus(c.Jobs, b.Min)
	case c.Jobs < b.Min:
		c.Jobs, c.Reason = b.Min, ReasonMin
	}
	if c.Jobs > b.Max {
		c.Jobs, c.Reason = b.Max, ReasonMax
	}
	return c
}

// A Cooldown drains a surplus that was steady. The zero value drains each surplus at once.
type Cooldown struct {
	Period time.Duration `json:"period"` // time for which there was a surplus in each observation
}

// MarshalJSON returns the field, with the period as a text such as "5m0s".
func (c Cooldown) MarshalJSON() ([]byte, error) { return jsonform.Marshal(c) }

// UnmarshalJSON reads the result of MarshalJSON.
func (c *Cooldown) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, c) }

// A CooldownObservation is the surplus at a time.
type CooldownObservation struct {
	Now     time.Time `json:"now"`
	Surplus Count     `json:"surplus"` // of a [Decision]
}

// A CooldownCheckpoint is the surplus that there has been since a time. The zero value is none.
type CooldownCheckpoint struct {
	Jobs  int64     `json:"jobs"` // the smallest surplus since then
	Since time.Time `json:"since,omitzero"`
}

// A CooldownDecision is a number of workers to drain. The zero value drains none.
type CooldownDecision struct {
	Jobs       int64              `json:"jobs"`
	NextCheck  time.Time          `json:"nextCheck,omitzero"` // when the present surplus will have been steady
	Checkpoint CooldownCheckpoint `json:"checkpoint"`         // for the next decision; it assumes that the workers are drained
}

// Decide returns the smallest surplus of the period that ends now. A surplus of 0, or one that is
// not known, begins the period anew, and so does a drain. If the clock went back, the period begins
// at the earlier time.
func (c Cooldown) Decide(o CooldownObservation, last CooldownCheckpoint) (d CooldownDecision) {
	if !o.Surplus.Known || o.Surplus.Jobs <= 0 {
		return d
	}
	next := CooldownCheckpoint{o.Surplus.Jobs, o.Now}
	if last.Jobs > 0 && !last.Since.After(o.Now) {
		next = CooldownCheckpoint{min(last.Jobs, o.Surplus.Jobs), last.Since}
	}
	end := next.Since.Add(max(0, c.Period))
	if end.After(o.Now) {
		return CooldownDecision{NextCheck: end, Checkpoint: next}
	}
	d.Jobs = next.Jobs
	if remaining := o.Surplus.Jobs - d.Jobs; remaining > 0 {
		d.Checkpoint, d.NextCheck = CooldownCheckpoint{remaining, o.Now}, o.Now.Add(max(0, c.Period))
	}
	return d
}
