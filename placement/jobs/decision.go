package jobs

import (
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Decision holds the actions of a poll. The zero value does nothing. Store
// Checkpoint before creating the first Job.
type Decision struct {
	Create []Placement // by cluster
	// Jobs to delete, each at most once. Finished Jobs are oldest first, others by cluster
	// and name.
	Outdated, Duplicates, Finished []Deletion
	Checkpoint                     Checkpoint       // for the next decision
	Members                        []MemberDecision // by name, and clusters that have Jobs but are no members
	Scaling                        scaling.Decision
	// Target is the number of Jobs that should run, within the bounds.
	Target int64
	// Reason is why stuck Jobs are not replaced or Jobs are unplaced: ReasonHeldByStuck,
	// ReasonNoMembers, ReasonAllExcluded, ReasonFull or ReasonNoOtherMember; or ReasonCutOff.
	// It is empty if
	// everything that Scaling asks for is placed.
	Reason   Reason
	Unplaced int64 // Jobs to create that no member can take
	// NextCheck is the next time at which the same observation can give another decision;
	// the zero time means never.
	NextCheck time.Time
}

// A Placement holds the Jobs to create on a cluster.
type Placement struct {
	Cluster      string
	Additional   int64 // Jobs that replace nothing
	Replacements []Replacement
}

// Jobs returns the number of Jobs to create.
func (p Placement) Jobs() int64 { return p.Additional + int64(len(p.Replacements)) }

// A Replacement is a Job to create for a stuck Job.
type Replacement struct {
	Stuck  JobRef // the Job that it replaces
	Source Source // for the new Job
}

// A JobRef identifies a Job.
type JobRef struct{ Cluster, Name, UID string }

// A Deletion is a Job to delete.
type Deletion struct {
	JobRef
	// Deferred reports that the cluster is unreachable. The Job is in every decision until
	// it is deleted.
	Deferred bool
}

// A MemberDecision describes a member, or a cluster that has Jobs but is no member.
type MemberDecision struct {
	Name     string
	Reach    Reach
	Excluded Reason            // why it gets no new Job; empty if it may
	Jobs     scaling.JobCounts // without lost Jobs
	Lost     int64             // unfinished Jobs of a cluster that has not answered for LostAfter
	// LostNames are the first names of lost Jobs, at most 10. Jobs that were not observed since
	// the start have none.
	LostNames  []string
	Taint      taint.Taint // of the cluster: for all owners
	OwnerTaint taint.Taint // for this owner only
	// Workloads are the taints against workloads of any class and size, at the member's
	// present priority.
	Workloads taint.Set
}

// A Reason is the reason why a member gets no new Job, or why Jobs are not placed.
type Reason string

// Reasons of members. The first that applies is reported.
const (
	ReasonNotRegistered   Reason = "NotRegistered"
	ReasonNotListed       Reason = "NotListed"       // it has Jobs, but is no member
	ReasonNeverReached    Reason = "NeverReached"    // its Jobs have not been listed since the start
	ReasonUnconfirmed     Reason = "Unconfirmed"     // it does not answer, and no other cluster has answered since
	ReasonUnreachable     Reason = "Unreachable"     // it does not answer now
	ReasonHardTainted     Reason = "HardTainted"     // it has failed repeatedly, for all owners
	ReasonNotStarting     Reason = "JobsNotStarting" // Jobs of this owner were stuck on it repeatedly
	ReasonRequestsFail    Reason = "RequestsFailed"  // requests of this owner to it have failed repeatedly
	ReasonProbing         Reason = "Probing"         // a single Job shows whether Jobs of this owner start there again
	ReasonWorkloadTainted Reason = "WorkloadTainted" // Jobs of this class and size were stuck on it
	ReasonRejected        Reason = "CreateRejected"  // it has rejected the Jobs of the previous decision
	ReasonNoWeight        Reason = "NoWeight"
	ReasonFull            Reason = "MaxJobsReached" // it has the most Jobs, or the most pods of this owner; of a decision: all members that are not excluded
)

// Reasons of decisions. The first that applies is reported.
const (
	// ReasonHeldByStuck means that stuck Jobs occupy the maximum, so that none can be
	// replaced: see FailoverOverMax.
	ReasonHeldByStuck   Reason = "CapacityHeldByStuckJobs"
	ReasonNoMembers     Reason = "NoMembers"          // no member is registered and has weight
	ReasonAllExcluded   Reason = "AllMembersExcluded" // none because of MaxJobs
	ReasonNoOtherMember Reason = "NoOtherMember"      // every other member has a Job of the same chain, or is full
	ReasonCutOff        Reason = "HubMayBeCutOff"     // no member answers, and none has answered since another failed
)
