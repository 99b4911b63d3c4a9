package replicas

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// A Reason is the reason why a member has no share or may lose it, or why a plan does less
// than was asked for. Empty means that there is no reason.
type Reason string

// Reasons of members. The first five also describe an observation.
const (
	ReasonUnreachable     Reason = "Unreachable"     // the workload could not be read
	ReasonWriteFailed     Reason = "WriteFailed"     // it was read, and the last write failed
	ReasonWorkloadMissing Reason = "WorkloadMissing" // the cluster answered that there is no such workload
	ReasonNotAsked        Reason = "NotAsked"        // no request was sent, such as for a rate limit
	ReasonUnconfirmed     Reason = "Unconfirmed"     // it does not answer, and no other cluster has answered since: no time counts
	ReasonNoProgress      Reason = "NoProgress"      // replicas are not ready, and none became ready within the progress deadline
	ReasonNotRegistered   Reason = "NotRegistered"   // the policy lists it, and Observation.Clusters does not have it
	ReasonNotListed       Reason = "NotListed"       // it has replicas of a previous plan, and the policy lists other members
	ReasonNoWeight        Reason = "NoWeight"
)

// Reasons of plans. Under the first three nothing is written.
const (
	ReasonMetricsUnknown    Reason = "MetricsUnknown"    // or the caller is paused
	ReasonNoMaximum         Reason = "NoMaximum"         // the policy has no maximum; NoMax allows any number
	ReasonCheckpointVersion Reason = "CheckpointVersion" // of a caller whose checkpoint UnmarshalJSON rejected; Decide never returns it
	ReasonNoMembers         Reason = "NoMembers"         // no member is registered and has weight and the workload
	ReasonAllExcluded       Reason = "AllMembersExcluded"
	ReasonAtMax             Reason = "AtMax" // replicas do not move, because members have Max and MaxSurge
)

var texts = map[Reason]string{
	"":                    "Cluster is healthy",
	ReasonUnreachable:     "Cluster is unreachable",
	ReasonWriteFailed:     "Cluster failed the last write",
	ReasonNotAsked:        "Cluster was not asked",
	ReasonUnconfirmed:     "Cluster is unreachable, and no other has answered since: the hub may be cut off",
	ReasonWorkloadMissing: "Cluster does not have the workload",
	ReasonNoProgress:      "Cluster lacks ready replicas, and added none in time",
	ReasonNotRegistered:   "Cluster is not registered",
	ReasonNotListed:       "Cluster is no longer a member",
	ReasonNoWeight:        "Cluster has no weight",

	ReasonMetricsUnknown:    "the metrics are not known",
	ReasonNoMaximum:         "the policy has no maximum",
	ReasonCheckpointVersion: "the checkpoint is of another version",
	ReasonNoMembers:         "no member is registered and has weight and the workload",
	ReasonAllExcluded:       "all members are excluded",
	ReasonAtMax:             "replicas do not move, because members have the maximum and the surge",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// Description describes the member in words, with the cause of replicas that do not work.
func (s *Share) Description() string {
	if s.Cause != "" && s.Existing < s.Current {
		return fmt.Sprintf("%s; %d of %s work: %s", s.state(), s.Existing, field.Plural(s.Current, "replica"), s.Cause)
	}
	return s.state()
}

func (s *Share) state() string {
	text := s.Reason.Text()
	switch until := clock(s.Until); {
	case s.Reason == "":
		return text
	case s.Reason == ReasonNotListed && s.Next > 0:
		return fmt.Sprintf("%s, and keeps %s until they exist elsewhere", text, field.Plural(s.Next, "replica"))
	case s.Excluded && s.Desired > 0:
		return text + ", and keeps its share, because all members are excluded"
	case s.Excluded && !s.Until.IsZero():
		return text + ", and gets no replicas until " + until
	case s.Excluded:
		return text + ", and gets no replicas"
	case s.Reason == ReasonNoProgress:
		return text + ", so that others get those"
	case !s.Until.IsZero():
		return text + ", and keeps its share until " + until
	}
	return text
}

// clock returns the time as a status has it.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// String describes the plan in lines, a line for each member, without a newline at the
// end.
func (p Decision) String() string {
	var b strings.Builder
	b.WriteString(field.Plural(p.Total, "replica"))
	if p.Reason != "" {
		fmt.Fprintf(&b, ", %s", p.Reason.Text())
	}
	if p.Requested != p.Total {
		fmt.Fprintf(&b, ", %d asked for", p.Requested)
	}
	if p.Unplaced > 0 {
		fmt.Fprintf(&b, ", %d unplaced", p.Unplaced)
	}
	if p.Remaining > 0 {
		fmt.Fprintf(&b, ", %d to move later", p.Remaining)
	}
	for i := range p.Shares {
		s := &p.Shares[i]
		fmt.Fprintf(&b, "\n%s: %d desired, %d now", s.Name, s.Desired, s.Current)
		if s.Existing != s.Current {
			fmt.Fprintf(&b, " (%d exist)", s.Existing)
		}
		if s.Write {
			fmt.Fprintf(&b, ", write %d", s.Next)
		}
		fmt.Fprintf(&b, ". %s", s.Description())
	}
	if !p.NextCheck.IsZero() {
		b.WriteString("\nnext check at " + clock(p.NextCheck))
	}
	return b.String()
}
