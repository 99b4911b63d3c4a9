package scaling

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/field"
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

// A Reason says what determined a number of a decision. Decide never returns ReasonWaiting, which
// is for callers that may not create.
//
// If several apply to Create, the first of these is given: Paused, JobsUnknown, Max if it
// reduces Create, Unreadable, Held, Inactive, Min, Max if it limits the target, Strategy.
type Reason string

const (
	ReasonNone        Reason = "" // no decision
	ReasonStrategy    Reason = "Strategy"
	ReasonMin         Reason = "Min"         // the strategy asks for no more
	ReasonMax         Reason = "Max"         // it limits the target or the result
	ReasonInactive    Reason = "Inactive"    // only the minimum
	ReasonUnreadable  Reason = "Unreadable"  // only the minimum
	ReasonHeld        Reason = "Held"        // only the minimum, under HoldOnFailure
	ReasonPaused      Reason = "Paused"      // no Jobs
	ReasonJobsUnknown Reason = "JobsUnknown" // no Jobs
	ReasonWaiting     Reason = "Waiting"     // no Jobs

	ReasonDemand        Reason = "Demand"        // of Desired
	ReasonAboveDesired  Reason = "AboveDesired"  // of Surplus, and the next two
	ReasonCreating      Reason = "Creating"      // there is none
	ReasonNeeded        Reason = "Needed"        // there is none
	ReasonPartlyRead    Reason = "PartlyRead"    // of both, which are not known, and the next two
	ReasonWaitingOnly   Reason = "WaitingOnly"   // see Metric.WaitingOnly
	ReasonPartialTarget Reason = "PartialTarget" // see strategy.TargetIsTotal
)

var texts = map[Reason]string{
	ReasonNone:          "nothing was decided",
	ReasonStrategy:      "the strategy's proposal",
	ReasonMin:           "the minimum",
	ReasonMax:           "the maximum",
	ReasonInactive:      "no metric is active, so the minimum only",
	ReasonUnreadable:    "no metric could be read, so the minimum only",
	ReasonHeld:          "not every metric could be read, so the minimum only",
	ReasonPaused:        "paused",
	ReasonJobsUnknown:   "the Jobs are not known",
	ReasonWaiting:       "held back; see the reason beside it",
	ReasonDemand:        "the queue",
	ReasonAboveDesired:  "more Jobs run than are desired",
	ReasonCreating:      "Jobs are created",
	ReasonNeeded:        "every Job that has started is desired",
	ReasonPartlyRead:    "not every metric could be read",
	ReasonWaitingOnly:   "a metric leaves out the items in progress",
	ReasonPartialTarget: "the strategy's target leaves out the items in progress",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String returns the stages and the result in aligned lines, without a newline at the
// end.
func (d Decision) String() string {
	return d.Trace.String() + fmt.Sprintf("\ncreate    %d: %s", d.Create, d.Reason.Text())
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
		return fmt.Sprintf("%s; %s: queue length %g asks for %s, rounded up to %d", counts, t.Aggregation, d.Queue, jobs(d.Quotient), d.Jobs)
	}
	return fmt.Sprintf("%s; %s is %s: queue length %g asks for %s, rounded up to %d", counts, t.Aggregation, d.Name, d.Queue, jobs(d.Quotient), d.Jobs)
}

// jobs is a number of Jobs in words.
func jobs(n float64) string {
	if n == 1 {
		return "1 Job"
	}
	return fmt.Sprintf("%g Jobs", n)
}

func (t Trace) jobs() string {
	j := t.Jobs
	s := fmt.Sprintf("R=%d running, P=%d of them pending, S=%d of them stuck", j.Running, j.Pending, j.Stuck)
	for _, part := range []struct {
		n     int64
		state string
	}{{j.Suspended, "suspended"}, {j.InFlight, "in flight"}, {j.Terminating, "terminating, not part of R"}} {
		if part.n > 0 {
			s += fmt.Sprintf("; %d %s", part.n, part.state)
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
	s += fmt.Sprintf(": T=%d of %s asked for", t.Load.Target, jobs(float64(t.Demand.Jobs)))
	if t.Load.Running != t.Jobs.Running {
		s += fmt.Sprintf(", R=%d of %d running", t.Load.Running, t.Jobs.Running)
	}
	return s
}

func (t Trace) limits() string {
	if t.Headroom == NoMax {
		return fmt.Sprintf("min needs %s, no maximum", field.Plural(t.BelowMin, "more Job"))
	}
	return fmt.Sprintf("min needs %s, max allows %d more", field.Plural(t.BelowMin, "more Job"), t.Headroom)
}

func limit(n int64) string {
	if n == NoMax {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}
