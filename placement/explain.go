package placement

import (
	"fmt"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// describe is the description in a status.
func (part *ObjectPart) describe() string {
	switch {
	case part.Excluded == ReasonRecovering:
		return "Cluster is healthy again, and gets replicas from " + clock(part.Until) + " on"
	case part.Excluded == ReasonUnreachable:
		return "Cluster does not answer, and its replicas are at others"
	case part.Excluded == "" && part.State == NotReady:
		return "Cluster does not answer, and keeps its part until " + clock(part.Until)
	}
	return describe(part.Excluded)
}

// status is that of the member, without times.
func (m *JobMember) status() JobMemberStatus {
	s := JobMemberStatus{
		RunningJobs: m.Counts.Running, PendingJobs: m.Counts.Pending, StuckJobs: m.Counts.Stuck,
		SoftTainted: m.Taint.Level == taint.Soft, HardTainted: m.Taint.Level == taint.Hard,
		Excluded: m.Excluded != "", State: m.State, ID: m.ID, Description: m.describe(),
	}
	for _, e := range m.Scopes {
		s.HardTaintScopes = append(s.HardTaintScopes, TaintScope{e.Class, e.Priority, e.Size})
	}
	return s
}

func (m *JobMember) describe() string {
	switch {
	case m.Excluded == ReasonHardTainted:
		return describe(m.Excluded) + " until " + clock(m.Taint.Until)
	case m.Excluded == "" && m.Taint.Level == taint.Soft:
		return "Cluster is healthy, after a failure that counts until " + clock(m.Taint.Until)
	}
	return describe(m.Excluded)
}

// describe says a member's reason in words.
func describe(r Reason) string {
	switch r {
	case "":
		return "Cluster is healthy"
	case ReasonNotRegistered:
		return "Cluster is not registered"
	case ReasonNotListed:
		return "Cluster is not among the members, and has Jobs"
	case ReasonUnreachable:
		return "Cluster does not answer"
	case ReasonJobsUnknown:
		return "The Jobs of the cluster are not known"
	case ReasonHardTainted:
		return "Cluster failed, and gets no Job"
	case ReasonWorkload:
		return "Jobs of this class and size got stuck on the cluster"
	case ReasonOverloaded:
		return "Cluster is overloaded"
	case ReasonFull:
		return "Cluster has as many Jobs as it may have"
	case ReasonRejected:
		return "Cluster refused a Job"
	case ReasonNoWeight:
		return "Cluster has no weight"
	}
	return string(r)
}

// clock is a time as a status has it.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// String tells the plan in lines, one a member, without a newline at the end.
func (plan ObjectPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d replicas%s%s", plan.Total, because(plan.Hold), because(plan.Reason))
	if plan.Unplaced > 0 {
		fmt.Fprintf(&b, ", %d unplaced", plan.Unplaced)
	}
	if plan.Remaining > 0 {
		fmt.Fprintf(&b, ", %d to move later", plan.Remaining)
	}
	for i := range plan.Members {
		part := &plan.Members[i]
		fmt.Fprintf(&b, "\n%s: %d", part.Name, part.Desired)
		switch {
		case part.Write:
			fmt.Fprintf(&b, ", write %d over %d", part.Next, part.Current)
		case part.Next != part.Current:
			fmt.Fprintf(&b, ", not %d", part.Current)
		}
		fmt.Fprintf(&b, " (%s)", part.describe())
	}
	b.WriteString(next(plan.NextCheck))
	return b.String()
}

// String tells the plan in lines, without a newline at the end: the numbers, a line
// for each member, for each Job that is replaced, and for each that is deleted.
func (plan JobPlan) String() string {
	var b strings.Builder
	p, l := &plan.Proposal, &plan.Proposal.Load
	create := "create"
	if plan.Blocked != "" {
		create = "would create"
	}
	fmt.Fprintf(&b, "%s %d at T=%d R=%d P=%d S=%d M=%d, %d terminating%s",
		create, p.Create, l.Target, l.Running, l.Pending, l.Stuck, l.Max, p.Counts.Terminating, because(plan.Blocked))
	if plan.Unplaced > 0 {
		fmt.Fprintf(&b, "\n%d unplaced%s", plan.Unplaced, because(plan.Reason))
	}
	placed := plan.Create
	for i := range plan.Members {
		m := &plan.Members[i]
		fmt.Fprintf(&b, "\n%s: %d running, %d pending, %d stuck (%s)", m.Name, m.Counts.Running, m.Counts.Pending, m.Counts.Stuck, m.describe())
		if len(placed) > 0 && placed[0].Cluster == m.Name {
			placed[0].write(&b)
			placed = placed[1:]
		}
	}
	for _, d := range plan.Delete {
		fmt.Fprintf(&b, "\ndelete %s on %s: %s", d.Name, d.Cluster, d.Reason)
		if d.Deferred {
			b.WriteString(", when it answers")
		}
	}
	b.WriteString(next(plan.NextCheck))
	return b.String()
}

func (p *Placement) write(b *strings.Builder) {
	if p.Fresh > 0 {
		fmt.Fprintf(b, "\n  create %d", p.Fresh)
	}
	for _, r := range p.Replacements {
		fmt.Fprintf(b, "\n  replace %s on %s", r.Of.Name, r.Of.Cluster)
	}
}

func because(r Reason) string {
	if r == "" {
		return ""
	}
	return ", " + string(r)
}

func next(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "\nnext check at " + clock(t)
}
