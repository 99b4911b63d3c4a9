package horizontal

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// An Observation is a workload at an instant. The zero value has no replica.
type Observation struct {
	Now            time.Time `json:"now"`
	Replicas       int32     `json:"replicas"`       // spec.replicas of the scale subresource
	StatusReplicas int32     `json:"statusReplicas"` // status.replicas of it
	Pods           []Pod     `json:"pods,omitempty"` // the pods of its selector; needed by all but AverageValue of External and Object
	Metrics        []Metric  `json:"metrics"`
}

// A Decision is the number of replicas to write, with the reason. The zero value asks
// for none: use it only as the result of [Decide].
type Decision struct {
	Replicas int32     `json:"replicas"` // at least 0; equal to Current if nothing changes
	Current  int32     `json:"current"`
	At       time.Time `json:"at"`
	Reason   Reason    `json:"reason"` // what determined Replicas

	Proposals   []Proposal `json:"proposals,omitempty"` // for each metric; nil if metrics were not needed
	Proposed    int32      `json:"proposed"`            // the largest readable proposal, at least 0
	Recommended bool       `json:"recommended"`         // whether Proposed is a recommendation to remember
	Stabilized  int32      `json:"stabilized"`          // after the windows
	Allowed     int32      `json:"allowed"`             // after the limits of the rate; equal to Stabilized if none acted

	// The conditions of a HorizontalPodAutoscaler. An empty reason leaves a condition as it is.
	AbleToScale    Condition `json:"ableToScale"`
	ScalingActive  Condition `json:"scalingActive"`
	ScalingLimited Condition `json:"scalingLimited"`

	// NextCheck is the next instant at which a record leaves a window or a period that
	// held this decision back. It is zero if none did; a change that was limited may go on
	// when a period of its policy has passed since its write, so decide again after each write.
	NextCheck time.Time `json:"nextCheck,omitzero"`

	// Checkpoint is for the next decision if Replicas is not written, and Written() if it is.
	Checkpoint Checkpoint `json:"checkpoint"`
	// EventPeriod is the time for which the limits of the rate count a write, as far as it must be
	// remembered: the longest period of their policies. It is 0 without a Behavior.
	EventPeriod time.Duration `json:"eventPeriod"`
	// LeavesZero reports whether a metric is External or Object: only such a metric can
	// raise the count from 0.
	LeavesZero bool `json:"leavesZero"`
}

// MarshalJSON returns the fields, with durations such as "15s".
func (d Decision) MarshalJSON() ([]byte, error) { return jsonform.Marshal(d) }

// UnmarshalJSON reads the result of MarshalJSON.
func (d *Decision) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, d) }

// A Proposal is the number of replicas that a metric asks for.
type Proposal struct {
	Metric     string `json:"metric"`
	Replicas   int32  `json:"replicas"`             // 0 if unreadable
	Unreadable string `json:"unreadable,omitempty"` // the reason
	// Tolerated is the ratio of usage to target that the tolerance let pass; 0 is none.
	Tolerated float64 `json:"tolerated,omitempty"`
}

// A Condition is a status condition, with the reason in the words of Kubernetes.
type Condition struct {
	True   bool   `json:"true"`
	Reason string `json:"reason"`
}

// A Reason says what determined a decision. The zero value is no decision.
type Reason string

const (
	ReasonInvalid    Reason = "Invalid"
	ReasonDisabled   Reason = "ScalingDisabled"
	ReasonAboveMax   Reason = "AboveMax"
	ReasonBelowMin   Reason = "BelowMin"
	ReasonUnreadable Reason = "Unreadable"
	ReasonMetrics    Reason = "Metrics"
	ReasonStabilized Reason = "Stabilized"
	ReasonLimited    Reason = "Limited"
	ReasonMax        Reason = "Max"
	ReasonMin        Reason = "Min"
)

var texts = map[Reason]string{
	ReasonInvalid:    "the policy allows no replica, so the count stays",
	ReasonDisabled:   "the workload is at 0, and this autoscaler did not scale it there",
	ReasonAboveMax:   "the count was above the maximum",
	ReasonBelowMin:   "the count was below the minimum",
	ReasonUnreadable: "metrics are unreadable, so the count stays",
	ReasonMetrics:    "the largest proposal",
	ReasonStabilized: "a recommendation of the window",
	ReasonLimited:    "a limit of the rate",
	ReasonMax:        "the maximum",
	ReasonMin:        "the minimum",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String explains the decision in a line.
func (d Decision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replicas %d -> %d: %s", d.Current, d.Replicas, d.Reason.Text())
	for _, p := range d.Proposals {
		if p.Unreadable != "" {
			fmt.Fprintf(&b, "; %q unreadable: %s", p.Metric, p.Unreadable)
			continue
		}
		fmt.Fprintf(&b, "; %q asks for %d", p.Metric, p.Replicas)
		if p.Tolerated != 0 {
			fmt.Fprintf(&b, " (a ratio of %.3g is within the tolerance)", p.Tolerated)
		}
	}
	if d.Recommended && d.Stabilized != d.Proposed {
		fmt.Fprintf(&b, "; stabilized to %d", d.Stabilized)
	}
	if d.Recommended && d.Allowed != d.Stabilized {
		fmt.Fprintf(&b, "; limited to %d", d.Allowed)
	}
	return b.String()
}

// Decide returns the number of replicas to write, by the steps of the package comment. It
// never fails and changes none of its arguments.
//
// The result is the current count, or between p.Min and p.Max. A policy without a
// maximum, unreadable metrics and a disabled workload keep the current count. Counts above
// 2^30 may give a negative result, as in Kubernetes, unless the policy is Bounded.
func Decide(p Policy, o Observation, c Checkpoint) Decision {
	d := Decision{Current: o.Replicas, At: o.Now, Replicas: o.Replicas}
	for i := range o.Metrics {
		d.LeavesZero = d.LeavesZero || o.Metrics[i].total()
	}
	if p.Behavior != nil {
		p.Behavior = p.Behavior.fill(p.DownWindow)
	}
	d.decide(&p, &c, &o)
	d.Checkpoint = c.record(&p, &d)
	d.EventPeriod = p.eventPeriod(&d)
	return d
}

func (d *Decision) decide(p *Policy, c *Checkpoint, o *Observation) {
	lowest, highest, ok := p.normalize()
	d.AbleToScale = Condition{true, "SucceededGetScale"}
	switch current := o.Replicas; {
	case !ok || current < 0:
		d.Reason = ReasonInvalid
	case current == 0 && !p.leavesZero(c, d.LeavesZero):
		d.Reason, d.ScalingActive = ReasonDisabled, Condition{false, "ScalingDisabled"}
	case current > highest:
		d.Reason, d.Replicas = ReasonAboveMax, highest
	case current != 0 && current < lowest:
		d.Reason, d.Replicas = ReasonBelowMin, lowest
	case !d.read(p, o):
		d.Reason, d.ScalingActive = ReasonUnreadable, Condition{false, d.failure(o.Metrics)}
	default:
		d.ScalingActive = Condition{true, "ValidMetricFound"}
		d.stabilize(p, c)
		d.limit(p, c, lowest, highest)
	}
}

// failure returns the reason of Kubernetes for the first unreadable metric.
func (d *Decision) failure(metrics []Metric) string {
	for i, p := range d.Proposals {
		switch source := cmp.Or(metrics[i].Source, "External"); {
		case p.Unreadable == "":
		case metrics[i].known():
			return "FailedGet" + source + "Metric"
		default:
			return "InvalidMetricSourceType"
		}
	}
	return "InvalidMetricSourceType"
}

// leavesZero reports whether the metrics of a workload at 0 are read.
func (p *Policy) leavesZero(c *Checkpoint, fromZero bool) bool {
	if !p.ScaleToZeroGate {
		return p.Min <= 0
	}
	return c.ScaledToZero && (fromZero || p.Min > 0)
}

// read reads the metrics. It reports whether they decide.
func (d *Decision) read(p *Policy, o *Observation) bool {
	r := reader{o: o, t: p.tolerances(), p: p, current: d.Current}
	d.Proposals = make([]Proposal, len(o.Metrics))
	unreadable, largest, readable := 0, int32(math.MinInt32), false
	for i := range o.Metrics {
		r.tolerated = 0
		n, reason := r.propose(&o.Metrics[i])
		d.Proposals[i] = Proposal{o.Metrics[i].Name, n, reason, r.tolerated}
		if reason != "" {
			unreadable++
			continue
		}
		largest, readable = max(largest, n), true
	}
	if !readable || (unreadable > 0 && largest < d.Current) {
		return false
	}
	d.Proposed, d.Recommended = max(0, largest), true
	return true
}

// stabilize compares the recommendations of the windows.
func (d *Decision) stabilize(p *Policy, c *Checkpoint) {
	recorded := c.Recommendations
	var first [1]Recommendation
	if len(recorded) == 0 {
		first[0] = Recommendation{d.Current, d.At}
		recorded = first[:]
	}
	d.AbleToScale.Reason = "ReadyForNewScale"
	up, down := time.Duration(0), p.DownWindow+1 // without a behavior an age of the window counts
	if p.Behavior != nil {
		up, down = *p.Behavior.Up.Window, *p.Behavior.Down.Window
	}
	// Most recommendations are not extreme: times are compared last.
	fromUp, fromDown := d.At.Add(-up), d.At.Add(-down)
	lowest, highest := Recommendation{Replicas: d.Proposed}, Recommendation{Replicas: d.Proposed}
	for i := range recorded {
		switch r := &recorded[i]; {
		case r.Replicas == d.Proposed:
		case r.Replicas <= lowest.Replicas && r.At.After(fromUp):
			lowest = *r
		case r.Replicas >= highest.Replicas && r.At.After(fromDown):
			highest = *r
		}
	}
	if d.Stabilized = highest.Replicas; p.Behavior != nil {
		d.Stabilized = min(max(d.Current, lowest.Replicas), highest.Replicas)
	}
	switch {
	case d.Stabilized == d.Proposed:
	case p.Behavior != nil && d.Proposed >= d.Current:
		d.AbleToScale.Reason = "ScaleUpStabilized"
		d.check(lowest.At, up)
	default:
		d.AbleToScale.Reason = "ScaleDownStabilized"
		d.check(highest.At, down)
	}
}

// check sets NextCheck to the instant at which a record ends to count, if it is earlier.
func (d *Decision) check(now time.Time, period time.Duration) {
	if next := now.Add(period); next.After(d.At) && (d.NextCheck.IsZero() || next.Before(d.NextCheck)) {
		d.NextCheck = next
	}
}

// limit applies the limits of the rate and the bounds.
func (d *Decision) limit(p *Policy, c *Checkpoint, lowest, highest int32) {
	if p.Behavior == nil {
		d.limitToTwice(p, lowest, highest)
	} else {
		d.limitRate(p, c, lowest, highest)
	}
	if d.Current == 0 && d.Replicas < lowest {
		d.Replicas = lowest
	}
	d.ScalingLimited.True = d.ScalingLimited.Reason != "DesiredWithinRange"
	switch {
	case d.ScalingLimited.Reason == "TooManyReplicas":
		d.Reason = ReasonMax
	case d.ScalingLimited.Reason == "TooFewReplicas":
		d.Reason = ReasonMin
	case d.ScalingLimited.True:
		d.Reason = ReasonLimited
	case d.Replicas > d.Stabilized:
		d.Reason = ReasonMin
	case d.Stabilized != d.Proposed:
		d.Reason = ReasonStabilized
	default:
		d.Reason = ReasonMetrics
	}
}

// limitToTwice is the rule without a behavior.
func (d *Decision) limitToTwice(p *Policy, lowest, highest int32) {
	d.Replicas, d.Allowed, d.ScalingLimited.Reason = d.Stabilized, d.Stabilized, "DesiredWithinRange"
	twice := p.clamp(max(2*float64(d.Current), 4))
	switch {
	case d.Stabilized < lowest:
		d.Replicas, d.ScalingLimited.Reason = lowest, "TooFewReplicas"
	case d.Stabilized > highest && highest <= twice:
		d.Replicas, d.ScalingLimited.Reason = highest, "TooManyReplicas"
	case d.Stabilized > twice:
		d.Replicas, d.Allowed, d.ScalingLimited.Reason = twice, twice, "ScaleUpLimit"
	}
}

// limitRate applies the policies of the behavior.
func (d *Decision) limitRate(p *Policy, c *Checkpoint, lowest, highest int32) {
	d.Replicas, d.Allowed, d.ScalingLimited.Reason = d.Stabilized, d.Stabilized, "DesiredWithinRange"
	switch {
	case d.Stabilized > d.Current:
		allowed := max(d.Current, p.allowed(d, c, up))
		d.Allowed = min(d.Stabilized, allowed)
		if d.Stabilized > min(allowed, highest) {
			d.Replicas, d.ScalingLimited.Reason = allowed, "ScaleUpLimit"
			if highest <= allowed {
				d.Replicas, d.ScalingLimited.Reason = highest, "TooManyReplicas"
			}
		}
	case d.Stabilized < d.Current:
		allowed := min(d.Current, p.allowed(d, c, down))
		d.Allowed = max(d.Stabilized, allowed)
		if d.Stabilized < max(allowed, lowest) {
			d.Replicas, d.ScalingLimited.Reason = allowed, "ScaleDownLimit"
			if lowest >= allowed {
				d.Replicas, d.ScalingLimited.Reason = lowest, "TooFewReplicas"
			}
		}
	}
	if d.ScalingLimited.Reason == "ScaleUpLimit" {
		d.checkPeriods(p.Behavior.Up, c)
	}
	if d.ScalingLimited.Reason == "ScaleDownLimit" {
		d.checkPeriods(p.Behavior.Down, c)
	}
}

func (d *Decision) checkPeriods(r ScalingRules, c *Checkpoint) {
	for _, l := range r.Policies {
		for _, events := range [][]ScaleEvent{c.Ups, c.Downs} {
			for _, e := range events {
				d.check(e.At, l.Period)
			}
		}
	}
}

// A direction of change.
type direction int64

const (
	up   direction = 1
	down direction = -1
)

// allowed returns the count up or down to which the limits allow a change.
func (p *Policy) allowed(d *Decision, c *Checkpoint, dir direction) int32 {
	rules := p.Behavior.Up
	if dir == down {
		rules = p.Behavior.Down
	}
	if rules.SelectPolicy == Disabled {
		return d.Current
	}
	// The policy that allows the largest change has the largest result upwards.
	largest := (rules.SelectPolicy != MinChange) == (dir == up)
	result := int32(math.MinInt32)
	if !largest {
		result = math.MaxInt32
	}
	for _, l := range rules.Policies {
		added, removed := p.change(c.Ups, d.At, l.Period), p.change(c.Downs, d.At, l.Period)
		n := p.limited(l, p.narrow(int64(d.Current)-int64(added)+int64(removed)), dir)
		if largest == (n > result) {
			result = n
		}
	}
	return result
}

// limited returns the count that a policy allows, from the count at the start of its period.
func (p *Policy) limited(l ScalingPolicy, start int32, dir direction) int32 {
	if l.Type != PercentPolicy {
		return p.narrow(int64(start) + int64(dir)*int64(l.Value))
	}
	n := float64(start) * (1 + float64(dir)*float64(l.Value)/100)
	if dir == up {
		n = math.Ceil(n)
	}
	return p.clamp(n)
}

// narrow converts a number, and clamp a float: to the nearest int32 if bounded, or else as amd64 does.
func (p *Policy) narrow(n int64) int32 {
	if p.Bounded {
		n = min(max(n, math.MinInt32), math.MaxInt32)
	}
	return int32(n)
}

func (p *Policy) clamp(n float64) int32 {
	switch {
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return int32(n)
	case n > 0 && p.Bounded:
		return math.MaxInt32
	}
	return math.MinInt32
}
