package api

import (
	"math"
	"time"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// An ObjectStatus is the status of a DistributedScaledObject without its conditions.
type ObjectStatus struct {
	MemberClusterStatuses map[string]ObjectMemberStatus `json:"memberClusterStatuses,omitempty"`
	MembersHealthyCount   int32                         `json:"membersHealthyCount"` // members that are Ready
	MembersTotalCount     int32                         `json:"membersTotalCount"`   // without former members
	Selector              string                        `json:"selector,omitempty"`
	TotalCurrentReplicas  int32                         `json:"totalCurrentReplicas"` // of unreachable members as last read
}

// An ObjectMemberStatus is the status of a member.
type ObjectMemberStatus struct {
	CurrentReplicas         int32           `json:"currentReplicas"`
	Description             string          `json:"description"`
	DesiredReplicas         int32           `json:"desiredReplicas"`
	Excluded                bool            `json:"excluded"`
	ID                      string          `json:"id,omitempty"`
	LastScalingProgressTime time.Time       `json:"lastScalingProgressTime,omitzero"` // when CurrentReplicas last changed
	LastStatusChangeTime    time.Time       `json:"lastStatusChangeTime,omitzero"`    // when State last changed
	Reason                  replicas.Reason `json:"reason,omitempty"`
	State                   MemberState     `json:"state"`
}

// NewObjectStatus returns the status of the plan for the object of that name. Times of
// the previous status are kept if nothing has changed.
func NewObjectStatus(name string, plan replicas.Plan, before ObjectStatus, now time.Time) ObjectStatus {
	s := ObjectStatus{
		MemberClusterStatuses: make(map[string]ObjectMemberStatus, len(plan.Shares)),
		Selector:              "kedify-agent-distributedscaledobject=" + member.LabelValue(name),
	}
	var total int64
	for i := range plan.Shares {
		share := &plan.Shares[i]
		was, known := before.MemberClusterStatuses[share.Name]
		is := ObjectMemberStatus{
			CurrentReplicas: share.Current, DesiredReplicas: share.Desired, Excluded: share.Excluded,
			Description: share.Description(), Reason: share.Reason, State: state(share.Reason),
		}
		is.LastStatusChangeTime = changed(known && was.State == is.State, was.LastStatusChangeTime, now)
		is.LastScalingProgressTime = changed(known && was.CurrentReplicas == is.CurrentReplicas, was.LastScalingProgressTime, now)
		s.MemberClusterStatuses[share.Name] = is
		total += int64(share.Current)
		if share.Reason == replicas.ReasonNotListed {
			continue
		}
		s.MembersTotalCount++
		if is.State == Ready {
			s.MembersHealthyCount++
		}
	}
	s.TotalCurrentReplicas = int32(min(total, math.MaxInt32))
	return s
}

// state returns the state of a member for the reason of its share.
func state(why replicas.Reason) MemberState {
	switch why {
	case replicas.ReasonNotRegistered:
		return NotRegistered
	case replicas.ReasonUnreachable, replicas.ReasonUnconfirmed, replicas.ReasonNotAsked, replicas.ReasonWriteFailed, replicas.ReasonWorkloadMissing:
		return NotReady
	}
	return Ready
}

// changed returns the time before if nothing has changed, and otherwise now, in whole
// seconds.
func changed(same bool, before, now time.Time) time.Time {
	if same {
		return before
	}
	return now.UTC().Truncate(time.Second)
}

// An ObjectScaling describes the last decision about the number of replicas of all members.
type ObjectScaling struct {
	// DesiredReplicas is nil as long as no trigger could be read: the members stay as they are.
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`
	Active          bool   `json:"active"`
	// Rule is the rule that determined the number: of package scaledobject, or of package
	// horizontal if the autoscaler decided.
	Rule string `json:"rule"`
	// Limit is the reason of the condition ScalingLimited, or of a stabilization, if one acted.
	Limit string `json:"limit,omitempty"`
	// Proposals are the numbers that the metrics ask for.
	Proposals []horizontal.Proposal `json:"proposals,omitempty"`
}

// NewObjectScaling returns the status of a decision, with the number that it led to.
func NewObjectScaling(d scaledobject.Decision, number *int32) *ObjectScaling {
	s := &ObjectScaling{DesiredReplicas: number, Active: d.Active, Rule: string(d.Rule)}
	a := d.Autoscaler
	if a == nil {
		return s
	}
	s.Proposals = a.Proposals
	if d.Rule == scaledobject.RuleAutoscaler {
		s.Rule = string(a.Rule)
	}
	switch {
	case a.Limited.True:
		s.Limit = a.Limited.Reason
	case a.Rule == horizontal.RuleStabilized:
		s.Limit = a.AbleToScale.Reason
	}
	return s
}
