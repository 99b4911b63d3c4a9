package scaling

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Trace holds the numbers of a decision, stage by stage. The zero value is the trace of
// no decision. Traces can be compared with ==.
type Trace struct {
	Aggregation Aggregation `json:"aggregation"`
	Demand      Demand      `json:"demand"`
	Bounds      Bounds      `json:"bounds"` // as given, not normalized

	JobsKnown bool      `json:"jobsKnown"`
	Jobs      JobCounts `json:"jobs"`                  // normalized: InFlight is part of Running and Pending
	BelowMin  int64     `json:"belowMin"`              // max(0, min - R)
	Headroom  int64     `json:"headroom" form:"limit"` // max(0, max - R - terminating), or NoMax

	Strategy string        `json:"strategy"` // text of [strategy.Describe]; "" if the strategy was not called
	Load     strategy.Load `json:"load"`     // argument of the strategy
	Proposal int64         `json:"proposal"` // result of the strategy
}

// MarshalJSON returns the fields, with "unlimited" for a Headroom of NoMax.
func (t Trace) MarshalJSON() ([]byte, error) { return jsonform.Marshal(t) }

// UnmarshalJSON reads the result of MarshalJSON.
func (t *Trace) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, t) }

// Rule is the rule that determined Create in a decision. Decide never returns RuleWaiting.
//
// If several rules apply, the first of these is given: paused, jobsUnknown, max if it
// reduces Create, unreadable, held, inactive, min, max if it limits the target, strategy.
type Rule string

const (
	RuleNone        Rule = "" // no decision
	RuleStrategy    Rule = "strategy"
	RuleMin         Rule = "min"         // the minimum; the strategy asks for no more
	RuleMax         Rule = "max"         // the maximum limits the target or the result
	RuleInactive    Rule = "inactive"    // no metric is active: only the minimum
	RuleUnreadable  Rule = "unreadable"  // no metric is readable: only the minimum
	RuleHeld        Rule = "held"        // some metrics are unreadable under HoldOnFailure: only the minimum
	RulePaused      Rule = "paused"      // no Jobs
	RuleJobsUnknown Rule = "jobsUnknown" // no Jobs
	RuleWaiting     Rule = "waiting"     // requests of before must have their effect first: no Jobs
)

var rules = map[Rule]string{
	RuleNone:        "nothing was decided",
	RuleStrategy:    "the strategy's proposal",
	RuleMin:         "the minimum",
	RuleMax:         "the maximum",
	RuleInactive:    "no metric is active, so the minimum only",
	RuleUnreadable:  "no metric could be read, so the minimum only",
	RuleHeld:        "not every metric could be read, so the minimum only",
	RulePaused:      "paused",
	RuleJobsUnknown: "the Jobs are not known",
	RuleWaiting:     "earlier requests must have their effect first",
}

// String describes the rule in words.
func (r Rule) String() string { return cmp.Or(rules[r], string(r)) }

// String returns the stages and the result in aligned lines, without a newline at the
// end.
func (d Decision) String() string {
	return d.Trace.String() + fmt.Sprintf("\ncreate    %d: %s", d.Create, d.Rule)
}

// String returns the stages in aligned lines, without a newline at the end.
func (t Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "metrics   %s\n", t.metrics())
	if !t.JobsKnown {
		b.WriteString("jobs      not known")
		return b.String()
	}
	fmt.Fprintf(&b, "jobs      %s\n", t.jobs())
	fmt.Fprintf(&b, "bounds    %s\n", t.bounds())
	if t.Strategy != "" {
		fmt.Fprintf(&b, "strategy  %s; at T=%d R=%d P=%d S=%d M=%s it proposes %d\n", t.Strategy,
			t.Load.Target, t.Load.Running, t.Load.Pending, t.Load.Stuck, limit(t.Load.Max), t.Proposal)
	}
	fmt.Fprintf(&b, "limits    %s", t.limits())
	return b.String()
}

func (t Trace) metrics() string {
	d := t.Demand
	counts := fmt.Sprintf("%d of %d read, %d active", d.Read, d.Metrics, d.Active)
	switch {
	case d.Active == 0:
		return counts
	case d.Name == "":
		return fmt.Sprintf("%s; %s: queue length %g asks for %g Jobs, rounded up to %d", counts, t.Aggregation, d.Queue, d.Quotient, d.Jobs)
	}
	return fmt.Sprintf("%s; %s is %s: queue length %g asks for %g Jobs, rounded up to %d", counts, t.Aggregation, d.Name, d.Queue, d.Quotient, d.Jobs)
}

func (t Trace) jobs() string {
	j := t.Jobs
	s := fmt.Sprintf("R=%d running, P=%d of them pending, S=%d of them stuck", j.Running, j.Pending, j.Stuck)
	for _, part := range []struct {
		n    int64
		what string
	}{{j.Suspended, "suspended"}, {j.InFlight, "in flight"}, {j.Terminating, "terminating, not part of R"}} {
		if part.n > 0 {
			s += fmt.Sprintf("; %d %s", part.n, part.what)
		}
	}
	return s
}

func (t Trace) bounds() string {
	b := t.Bounds.normalize()
	s := fmt.Sprintf("min %d (%s), max %s", b.Min, b.Mode, limit(b.Max))
	if t.Bounds.Min > b.Max {
		s += fmt.Sprintf(" (min %d exceeds max and counts as max)", t.Bounds.Min)
	}
	if t.Strategy == "" {
		return s
	}
	s += fmt.Sprintf(": T=%d of %d Jobs asked for", t.Load.Target, t.Demand.Jobs)
	if t.Load.Running != t.Jobs.Running {
		s += fmt.Sprintf(", R=%d of %d running", t.Load.Running, t.Jobs.Running)
	}
	return s
}

func (t Trace) limits() string {
	if t.Headroom == NoMax {
		return fmt.Sprintf("min needs %d more Jobs, no maximum", t.BelowMin)
	}
	return fmt.Sprintf("min needs %d more Jobs, max allows %d more", t.BelowMin, t.Headroom)
}

func limit(n int64) string {
	if n == NoMax {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}
