package api

import (
	"encoding/json"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// A MemberStatus is what the status of both kinds says about a member.
type MemberStatus struct {
	Description             string         `json:"description"`
	Excluded                bool           `json:"excluded"`
	ID                      string         `json:"id,omitempty"`
	LastScalingProgressTime time.Time      `json:"lastScalingProgressTime,omitzero"` // when its Jobs or replicas last changed
	LastStatusChangeTime    time.Time      `json:"lastStatusChangeTime,omitzero"`    // when State last changed
	Problem                 *MemberProblem `json:"problem,omitempty"`
	State                   MemberState    `json:"state"`
}

// JobStatus is the status of a DistributedScaledJob.
type JobStatus struct {
	DesiredJobs           int64                      `json:"desiredJobs"`
	RunningJobs           int64                      `json:"runningJobs"` // including pending Jobs
	PendingJobs           int64                      `json:"pendingJobs"`
	LostJobs              int64                      `json:"lostJobs,omitempty"` // on members that have not answered for lostAfter
	MemberClusterStatuses map[string]JobMemberStatus `json:"memberClusterStatuses,omitempty"`
	Selector              string                     `json:"selector,omitempty"`
	Print                 JobPrint                   `json:"print,omitzero"`
	Checkpoint            json.RawMessage            `json:"checkpoint,omitempty"` // a jobs.Checkpoint
	Failures              json.RawMessage            `json:"failures,omitempty"`   // an adapter.FailureCheckpoint, while Jobs fail
	Conditions            []metav1.Condition         `json:"conditions,omitempty"`
}

// A JobPrint holds the columns of kubectl get.
type JobPrint struct {
	MembersCount string `json:"membersCount,omitempty"` // healthy/total
	Running      int64  `json:"running"`                // without pending Jobs
	Why          string `json:"why,omitempty"`          // why fewer run than are desired
}

// JobMemberStatus is the status of a member.
type JobMemberStatus struct {
	MemberStatus    `json:",inline"`
	HardTaintScopes []TaintScope `json:"hardTaintScopes,omitempty"`
	HardTainted     bool         `json:"hardTainted"`
	LostJobs        int64        `json:"lostJobs,omitempty"`     // not in RunningJobs
	OrphanedJobs    int64        `json:"orphanedJobs,omitempty"` // of owners of this namespace that do not exist
	PendingJobs     int64        `json:"pendingJobs"`
	RunningJobs     int64        `json:"runningJobs"`
	SoftTainted     bool         `json:"softTainted"`
	StuckJobs       int64        `json:"stuckJobs"`
}

// TaintScope identifies the workloads that a taint on a member excludes: the class, and
// the size or larger, at the priority.
type TaintScope struct {
	Class    string `json:"class"`
	Priority int32  `json:"priority"`
	Size     int32  `json:"size"`
}

// NewJobStatus returns the status of the decision for the object of that name. Times of
// the previous status are kept if nothing has changed, and so is what the decision says nothing about.
func NewJobStatus(name string, d jobs.Decision, before JobStatus, now time.Time) JobStatus {
	s := before
	s.DesiredJobs, s.RunningJobs, s.PendingJobs, s.LostJobs = d.Target, 0, 0, 0
	s.MemberClusterStatuses = make(map[string]JobMemberStatus, len(d.Members))
	s.Selector = "kedify-agent-distributedscaledjob=" + manifest.LabelValue(name)
	for i := range d.Members {
		m := &d.Members[i]
		s.RunningJobs += m.Jobs.Running
		s.PendingJobs += m.Jobs.Pending
		s.LostJobs += m.Lost
		previous, known := before.MemberClusterStatuses[m.Name]
		status := memberStatus(m)
		status.LastStatusChangeTime = changed(known && previous.State == status.State, previous.LastStatusChangeTime, now)
		status.LastScalingProgressTime = changed(known && previous.RunningJobs == status.RunningJobs && previous.PendingJobs == status.PendingJobs,
			previous.LastScalingProgressTime, now)
		s.MemberClusterStatuses[m.Name] = status
	}
	return s
}

func memberStatus(m *jobs.MemberDecision) JobMemberStatus {
	s := JobMemberStatus{
		MemberStatus: MemberStatus{Excluded: m.Excluded != "", State: NotReady, Description: m.String()},
		RunningJobs:  m.Jobs.Running, PendingJobs: m.Jobs.Pending, StuckJobs: m.Jobs.Stuck,
		LostJobs:    m.Lost,
		SoftTainted: m.Taint.Level == taint.Soft || m.OwnerTaint.Level == taint.Soft, HardTainted: m.Taint.Level == taint.Hard || m.OwnerTaint.Level == taint.Hard,
	}
	switch {
	case m.Excluded == jobs.ReasonNotRegistered:
		s.State = NotRegistered
	case m.Reach == jobs.Reachable:
		s.State = Ready
	}
	for _, e := range m.Workloads {
		s.HardTaintScopes = append(s.HardTaintScopes, TaintScope{e.Class, e.Priority, e.Size})
	}
	return s
}

// An ObjectStatus is the status of a DistributedScaledObject.
type ObjectStatus struct {
	MemberClusterStatuses map[string]ObjectMemberStatus `json:"memberClusterStatuses,omitempty"`
	MembersHealthyCount   int32                         `json:"membersHealthyCount"` // members that are Ready
	MembersTotalCount     int32                         `json:"membersTotalCount"`   // without former members
	// Replicas is the sum of the members' status.replicas, for the HorizontalPodAutoscaler. A member that does not
	// answer counts as last known until its grace period is over, and then as 0.
	Replicas             int32               `json:"replicas"`
	Selector             string              `json:"selector,omitempty"`
	TotalCurrentReplicas int32               `json:"totalCurrentReplicas"` // of unreachable members as last read
	Print                ObjectPrint         `json:"print,omitzero"`
	Original             map[string]Original `json:"originalReplicaCounts,omitempty"` // by member
	Checkpoint           json.RawMessage     `json:"checkpoint,omitempty"`            // a replicas.Checkpoint
	Conditions           []metav1.Condition  `json:"conditions,omitempty"`
}

// An ObjectPrint holds the columns of kubectl get.
type ObjectPrint struct {
	MembersCount string `json:"membersCount,omitempty"` // healthy/total
	Wanted       int32  `json:"wanted"`
	Running      int32  `json:"running"`       // that are ready
	Pending      int32  `json:"pending"`       // that are not
	Lost         int32  `json:"lost"`          // last read on members that do not answer, and wanted elsewhere
	Why          string `json:"why,omitempty"` // why fewer run than are wanted
}

// An Original is the count that a workload on a member had before this object scaled it.
type Original struct {
	Replicas  int32  `json:"replicas"`
	Kind      string `json:"kind"` // and group
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// An ObjectMemberStatus is the status of a member.
type ObjectMemberStatus struct {
	MemberStatus    `json:",inline"`
	CurrentReplicas int32           `json:"currentReplicas"`
	DesiredReplicas int32           `json:"desiredReplicas"`
	Reason          replicas.Reason `json:"reason,omitempty"`
	Replicas        int32           `json:"replicas"` // status.replicas of the workload, as last read
}

// NewObjectStatus returns the status of the plan for the object of that name, and of the clusters from which it was made.
// Times of the previous status are kept if nothing has changed, and so is what the plan says nothing about.
func NewObjectStatus(name string, plan replicas.Decision, clusters []replicas.Cluster, before ObjectStatus, now time.Time) ObjectStatus {
	s := before
	s.MembersHealthyCount, s.MembersTotalCount = 0, 0
	s.MemberClusterStatuses = make(map[string]ObjectMemberStatus, len(plan.Shares))
	s.Selector = "kedify-agent-distributedscaledobject=" + manifest.LabelValue(name)
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
			MemberStatus:    MemberStatus{Excluded: share.Excluded, Description: share.Description(), State: state(share.Reason)},
			CurrentReplicas: share.Current, DesiredReplicas: share.Desired, Reason: share.Reason, Replicas: previous.Replicas,
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
