package api

import (
	"math"
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// An ObjectStatus is the status of a DistributedScaledObject without its conditions.
type ObjectStatus struct {
	MemberClusterStatuses map[string]ObjectMemberStatus `json:"memberClusterStatuses,omitempty"`
	MembersHealthyCount   int32                         `json:"membersHealthyCount"` // members that are Ready
	MembersTotalCount     int32                         `json:"membersTotalCount"`   // without former members
	// Replicas is the sum of the members' status.replicas, for the HorizontalPodAutoscaler. A member that does not
	// answer counts as last known until its grace period is over, and then as 0.
	Replicas             int32  `json:"replicas"`
	Selector             string `json:"selector,omitempty"`
	TotalCurrentReplicas int32  `json:"totalCurrentReplicas"` // of unreachable members as last read
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
	Problem                 *MemberProblem  `json:"problem,omitempty"`
	Reason                  replicas.Reason `json:"reason,omitempty"`
	Replicas                int32           `json:"replicas"` // status.replicas of the workload, as last read
	State                   MemberState     `json:"state"`
}

// NewObjectStatus returns the status of the plan for the object of that name, and of the clusters from which it was made.
// Times of the previous status are kept if nothing has changed.
func NewObjectStatus(name string, plan replicas.Decision, clusters []replicas.Cluster, before ObjectStatus, now time.Time) ObjectStatus {
	s := ObjectStatus{
		MemberClusterStatuses: make(map[string]ObjectMemberStatus, len(plan.Shares)),
		Selector:              "kedify-agent-distributedscaledobject=" + manifest.LabelValue(name),
	}
	reported := map[string]int32{}
	for i := range clusters {
		if c := &clusters[i]; c.Problem == "" || c.Problem == replicas.ReasonWriteFailed || c.Problem == replicas.ReasonWorkloadMissing {
			reported[c.Name] = c.Reported
		}
	}
	var total, current int64
	for i := range plan.Shares {
		share := &plan.Shares[i]
		previous, listed := before.MemberClusterStatuses[share.Name]
		m := ObjectMemberStatus{
			CurrentReplicas: share.Current, DesiredReplicas: share.Desired, Excluded: share.Excluded,
			Description: share.Description(), Reason: share.Reason, State: state(share.Reason), Replicas: previous.Replicas,
		}
		m.LastStatusChangeTime = changed(listed && previous.State == m.State, previous.LastStatusChangeTime, now)
		m.LastScalingProgressTime = changed(listed && previous.CurrentReplicas == m.CurrentReplicas, previous.LastScalingProgressTime, now)
		n, read := reported[share.Name]
		if read {
			m.Replicas = n
		}
		if read || !share.Excluded {
			total += int64(m.Replicas)
		}
		s.MemberClusterStatuses[share.Name] = m
		current += int64(share.Current)
		if share.Reason == replicas.ReasonNotListed {
			continue
		}
		s.MembersTotalCount++
		if m.State == Ready {
			s.MembersHealthyCount++
		}
	}
	s.Replicas, s.TotalCurrentReplicas = int32(min(total, math.MaxInt32)), int32(min(current, math.MaxInt32))
	return s
}

// state returns the state of a member for the reason of its share.
func state(reason replicas.Reason) MemberState {
	switch reason {
	case replicas.ReasonNotRegistered:
		return NotRegistered
	case replicas.ReasonUnreachable, replicas.ReasonUnconfirmed, replicas.ReasonNotAsked, replicas.ReasonWriteFailed, replicas.ReasonWorkloadMissing:
		return NotReady
	}
	return Ready
}

// changed returns the time before if nothing has changed, and otherwise now, in whole
// seconds.
func changed(unchanged bool, before, now time.Time) time.Time {
	if unchanged {
		return before
	}
	return now.UTC().Truncate(time.Second)
}
