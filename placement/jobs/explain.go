package jobs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

var texts = map[Reason]string{
	"":                    "Cluster is healthy",
	ReasonNotRegistered:   "Cluster is not registered",
	ReasonNotListed:       "Cluster is no member, but has Jobs",
	ReasonNeverReached:    "Cluster has not been reached since the start",
	ReasonUnreachable:     "Cluster is unreachable",
	ReasonUnconfirmed:     "Cluster is unreachable, and no other has answered since: the hub may be cut off",
	ReasonHardTainted:     "Cluster has failed, and gets no Job",
	ReasonNotStarting:     "Jobs of this owner do not start on the cluster, and it gets none",
	ReasonRequestsFail:    "Requests of this owner to the cluster have failed, and it gets no Job",
	ReasonProbing:         "Jobs of this owner did not start on the cluster, and a single Job probes it",
	ReasonWorkloadTainted: "Jobs of this class and size were stuck on the cluster",
	ReasonRejected:        "Cluster has rejected a Job",
	ReasonNoWeight:        "Cluster has no weight",
	ReasonFull:            "Cluster has the most Jobs, or pods, that it may have",
	ReasonHeldByStuck:     "Stuck Jobs take up the maximum, so that none can be replaced",
	ReasonNoMembers:       "No member is registered and has weight",
	ReasonAllExcluded:     "All members are excluded",
	ReasonNoOtherMember:   "Every other member has a Job of the same chain, or is full",
	ReasonCutOff:          "No member answers: the hub may be cut off",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String describes the member in a sentence, without its numbers.
func (m MemberDecision) String() string {
	text := m.Excluded.Text()
	switch {
	case m.Excluded == "" && m.Taint.Level == taint.Soft:
		text += "; a failure counts until " + clock(m.Taint.Until)
	case m.Excluded == "" && m.OwnerTaint.Level == taint.Soft && m.Jobs.Stuck > 0:
		text += "; Jobs of this owner do not start there, and another failure counts until " + clock(m.OwnerTaint.Until)
	case m.Excluded == "" && m.OwnerTaint.Level == taint.Soft:
		text += "; Jobs or requests of this owner failed there, and another failure counts until " + clock(m.OwnerTaint.Until)
	case m.Excluded == ReasonHardTainted:
		text += " until " + clock(m.Taint.Until)
	case m.Excluded == ReasonNotStarting || m.Excluded == ReasonRequestsFail:
		text += " until " + clock(m.OwnerTaint.Until)
	}
	if m.Lost > 0 {
		text += fmt.Sprintf("; the work of %s there may run twice", field.Plural(m.Lost, "lost Job"))
	}
	if n := int64(len(m.LostNames)); n > 0 {
		text += ": " + strings.Join(m.LostNames, ", ")
		if n < m.Lost {
			text += " and others"
		}
	}
	return text
}

// clock formats a time as a status does.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// String describes the decision in lines, without a newline at the end: the numbers of Jobs
// that are asked for and unplaced, each member with the Jobs to create there, and the Jobs
// to delete.
func (d Decision) String() string {
	var b strings.Builder
	var total scaling.JobCounts
	for i := range d.Members {
		c := &d.Members[i].Jobs
		total.Running, total.Pending = plus(total.Running, c.Running), plus(total.Pending, c.Pending)
		total.Stuck, total.Terminating = plus(total.Stuck, c.Stuck), plus(total.Terminating, c.Terminating)
	}
	fmt.Fprintf(&b, "create %d (%s): target %d, %d running, %d pending, %d stuck, %d terminating",
		d.Scaling.Create, d.Scaling.Reason.Text(), d.Target, total.Running, total.Pending, total.Stuck, total.Terminating)
	if d.Unplaced > 0 {
		fmt.Fprintf(&b, "\n%d unplaced", d.Unplaced)
	}
	if d.Reason != "" {
		fmt.Fprintf(&b, "\n%s", d.Reason.Text())
	}
	placed := d.Create
	for i := range d.Members {
		m := &d.Members[i]
		fmt.Fprintf(&b, "\n%s: %d running, %d pending, %d stuck (%s)", m.Name, m.Jobs.Running, m.Jobs.Pending, m.Jobs.Stuck, m)
		if len(placed) > 0 && placed[0].Cluster == m.Name {
			placed[0].write(&b)
			placed = placed[1:]
		}
	}
	for _, kind := range []struct {
		kind string
		all  []Deletion
	}{{"outdated", d.Outdated}, {"duplicate", d.Duplicates}, {"finished", d.Finished}} {
		for _, gone := range kind.all {
			fmt.Fprintf(&b, "\ndelete %s on %s: %s", gone.Name, gone.Cluster, kind.kind)
			if gone.Deferred {
				b.WriteString(", when it is reachable")
			}
		}
	}
	if !d.NextCheck.IsZero() {
		b.WriteString("\nnext check at " + clock(d.NextCheck))
	}
	return b.String()
}

func (p *Placement) write(b *strings.Builder) {
	if p.Additional > 0 {
		fmt.Fprintf(b, "\n  create %d", p.Additional)
	}
	for _, r := range p.Replacements {
		fmt.Fprintf(b, "\n  replace %s on %s", r.Stuck.Name, r.Stuck.Cluster)
	}
}
