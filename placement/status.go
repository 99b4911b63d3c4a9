package placement

import (
	"time"
)

// An ObjectStatus is the status of a DistributedScaledObject, but for its
// conditions.
type ObjectStatus struct {
	MemberClusterStatuses map[string]ObjectMemberStatus `json:"memberClusterStatuses,omitempty"`
	MembersHealthyCount   int32                         `json:"membersHealthyCount"` // those that are Ready
	MembersTotalCount     int32                         `json:"membersTotalCount"`
	Selector              string                        `json:"selector,omitempty"`
	TotalCurrentReplicas  int32                         `json:"totalCurrentReplicas"` // the last known ones of those that do not answer
}

// An ObjectMemberStatus is that of one member.
type ObjectMemberStatus struct {
	CurrentReplicas         int32       `json:"currentReplicas"`
	Description             string      `json:"description"`
	DesiredReplicas         int32       `json:"desiredReplicas"`
	Excluded                bool        `json:"excluded"`
	ID                      string      `json:"id,omitempty"`
	LastScalingProgressTime time.Time   `json:"lastScalingProgressTime,omitzero"` // when CurrentReplicas last changed
	LastStatusChangeTime    time.Time   `json:"lastStatusChangeTime,omitzero"`    // when State last changed
	State                   MemberState `json:"state"`
}

// Status is that of the plan for the object of that name. Times in it are those of
// the status before, where nothing has changed.
func (plan ObjectPlan) Status(name string, before ObjectStatus, now time.Time) ObjectStatus {
	s := ObjectStatus{
		MemberClusterStatuses: make(map[string]ObjectMemberStatus, len(plan.Members)),
		MembersTotalCount:     int32(len(plan.Members)),
		Selector:              "kedify-agent-distributedscaledobject=" + name,
	}
	var total int64
	for _, part := range plan.Members {
		was, known := before.MemberClusterStatuses[part.Name]
		s.MemberClusterStatuses[part.Name] = ObjectMemberStatus{
			CurrentReplicas: part.Current, DesiredReplicas: part.Desired,
			State: part.State, Excluded: part.Excluded != "", Description: part.describe(), ID: part.ID,
			LastStatusChangeTime:    since(known && was.State == part.State, was.LastStatusChangeTime, now),
			LastScalingProgressTime: since(known && was.CurrentReplicas == part.Current, was.LastScalingProgressTime, now),
		}
		if part.State == Ready {
			s.MembersHealthyCount++
		}
		total += int64(part.Current)
	}
	s.TotalCurrentReplicas = clip(total)
	return s
}

// A JobStatus is the status of a DistributedScaledJob, but for its conditions.
type JobStatus struct {
	DesiredJobs           int64                      `json:"desiredJobs"`
	RunningJobs           int64                      `json:"runningJobs"` // pending ones included
	PendingJobs           int64                      `json:"pendingJobs"`
	MemberClusterStatuses map[string]JobMemberStatus `json:"memberClusterStatuses,omitempty"`
	Selector              string                     `json:"selector,omitempty"`
}

// A JobMemberStatus is that of one member.
type JobMemberStatus struct {
	Description             string       `json:"description"`
	Excluded                bool         `json:"excluded"`
	HardTaintScopes         []TaintScope `json:"hardTaintScopes,omitempty"`
	HardTainted             bool         `json:"hardTainted"`
	ID                      string       `json:"id,omitempty"`
	LastScalingProgressTime time.Time    `json:"lastScalingProgressTime,omitzero"` // when RunningJobs or PendingJobs last changed
	LastStatusChangeTime    time.Time    `json:"lastStatusChangeTime,omitzero"`    // when State last changed
	PendingJobs             int64        `json:"pendingJobs"`
	RunningJobs             int64        `json:"runningJobs"`
	SoftTainted             bool         `json:"softTainted"`
	State                   MemberState  `json:"state"`
	StuckJobs               int64        `json:"stuckJobs"`
}

// A TaintScope is what a taint on a member excludes: workloads of the class, and of
// the size or larger, at the priority.
type TaintScope struct {
	Class    string `json:"class"`
	Priority int32  `json:"priority"`
	Size     int32  `json:"size"`
}

// Status is that of the plan for the job of that name. Times in it are those of the
// status before, where nothing has changed.
func (plan JobPlan) Status(name string, before JobStatus, now time.Time) JobStatus {
	all := plan.Proposal.Counts
	s := JobStatus{
		DesiredJobs: plan.Proposal.Load.Target, RunningJobs: all.Running, PendingJobs: all.Pending,
		MemberClusterStatuses: make(map[string]JobMemberStatus, len(plan.Members)),
		Selector:              "kedify-agent-distributedscaledjob=" + name,
	}
	for _, m := range plan.Members {
		was, known := before.MemberClusterStatuses[m.Name]
		is := m.status()
		is.LastStatusChangeTime = since(known && was.State == is.State, was.LastStatusChangeTime, now)
		is.LastScalingProgressTime = since(known && was.RunningJobs == is.RunningJobs && was.PendingJobs == is.PendingJobs,
			was.LastScalingProgressTime, now)
		s.MemberClusterStatuses[m.Name] = is
	}
	return s
}

// since is the time of the status before where nothing has changed, and now, to the
// second, where it has.
func since(same bool, before, now time.Time) time.Time {
	if same {
		return before
	}
	return now.UTC().Truncate(time.Second)
}
