package api

import (
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// JobStatus is the status of a DistributedScaledJob without its conditions.
type JobStatus struct {
	DesiredJobs           int64                      `json:"desiredJobs"`
	RunningJobs           int64                      `json:"runningJobs"` // including pending Jobs
	PendingJobs           int64                      `json:"pendingJobs"`
	LostJobs              int64                      `json:"lostJobs,omitempty"` // on members that have not answered for lostAfter
	MemberClusterStatuses map[string]JobMemberStatus `json:"memberClusterStatuses,omitempty"`
	Selector              string                     `json:"selector,omitempty"`
}

// JobMemberStatus is the status of a member.
type JobMemberStatus struct {
	Description             string         `json:"description"`
	Excluded                bool           `json:"excluded"`
	HardTaintScopes         []TaintScope   `json:"hardTaintScopes,omitempty"`
	HardTainted             bool           `json:"hardTainted"`
	ID                      string         `json:"id,omitempty"`
	LastScalingProgressTime time.Time      `json:"lastScalingProgressTime,omitzero"` // when RunningJobs or PendingJobs last changed
	LastStatusChangeTime    time.Time      `json:"lastStatusChangeTime,omitzero"`    // when State last changed
	LostJobs                int64          `json:"lostJobs,omitempty"`               // not in RunningJobs
	OrphanedJobs            int64          `json:"orphanedJobs,omitempty"`           // of owners of this namespace that do not exist
	PendingJobs             int64          `json:"pendingJobs"`
	Problem                 *MemberProblem `json:"problem,omitempty"`
	RunningJobs             int64          `json:"runningJobs"`
	SoftTainted             bool           `json:"softTainted"`
	State                   MemberState    `json:"state"`
	StuckJobs               int64          `json:"stuckJobs"`
}

// TaintScope identifies the workloads that a taint on a member excludes: the class, and
// the size or larger, at the priority.
type TaintScope struct {
	Class    string `json:"class"`
	Priority int32  `json:"priority"`
	Size     int32  `json:"size"`
}

// NewJobStatus returns the status of the decision for the object of that name. Times of
// the previous status are kept if nothing has changed.
func NewJobStatus(name string, d jobs.Decision, before JobStatus, now time.Time) JobStatus {
	s := JobStatus{
		DesiredJobs:           d.Target,
		MemberClusterStatuses: make(map[string]JobMemberStatus, len(d.Members)),
		Selector:              "kedify-agent-distributedscaledjob=" + manifest.LabelValue(name),
	}
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
		RunningJobs: m.Jobs.Running, PendingJobs: m.Jobs.Pending, StuckJobs: m.Jobs.Stuck,
		LostJobs:    m.Lost,
		SoftTainted: m.Taint.Level == taint.Soft || m.OwnerTaint.Level == taint.Soft, HardTainted: m.Taint.Level == taint.Hard || m.OwnerTaint.Level == taint.Hard,
		Excluded: m.Excluded != "", State: NotReady, Description: m.String(),
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
