package placement

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
)

// A JobPolicy is what a manifest says about a distributed job. The zero value has
// a maximum of 0: it creates nothing, rolls out nothing and keeps all history. With a
// maximum alone it replaces every pending Job at once, since its grace period is
// 0; see [DefaultJobPolicy].
type JobPolicy struct {
	Members    []Member // with none, every registered cluster at weight 1
	Scheduling Scheduling
	Affinity   *WorkloadAffinity // of PriorityFailover; nil is class "" and size 0
	Failover   FailoverPolicy
	Scaling    Scaling
	History    history.Limits
	Rollout    rollout.Policy
	Revision   rollout.Revision // what Jobs are made from now
	Paused     bool             // creates and rolls out nothing; all else goes on
	// Seed decides which member comes first where weights and Jobs do not: "" is by
	// name, anything else by a hash, and is best the owner's namespace and name.
	Seed            string
	MaxMembers      int           // that Validate accepts; 0 is no limit
	PollingInterval time.Duration // what Validate compares the grace period with; 0 is not known
}

// Scheduling is clusterScheduling.strategy: how a member is chosen for a new Job. The
// zero value is WeightedRoundRobin, and so is what has no name here.
type Scheduling string

const (
	// WeightedRoundRobin keeps unfinished Jobs at the proportions of the weights:
	// each new one goes where a member has the fewest for its weight.
	WeightedRoundRobin Scheduling = "weightedRoundRobin"
	// PriorityFailover takes the members of the highest priority, by weight among
	// equals, and those of the next only for what finds no place there.
	PriorityFailover Scheduling = "priorityFailover"
)

// WorkloadAffinity is clusterScheduling.workloadAffinity: what kind of Jobs these
// are. Where one finds no room, larger ones of its class are not tried.
type WorkloadAffinity struct {
	Class string
	Size  *int32 // required
}

// FailoverPolicy is clusterScheduling.failoverPolicy. Durations below 0 count as 0.
type FailoverPolicy struct {
	GracePeriod time.Duration // how long a Job may be pending before it is stuck; at 0 it always is
	HardTaint   time.Duration // how long a failing cluster is excluded; at 0 it never is
	SoftTaint   time.Duration // how long a first failure is remembered; at 0 it is a hard taint
	Duplication Duplication
}

// DefaultJobPolicy is that of a manifest that says nothing: weighted round robin,
// pendingAware, no minimum, at most 100 Jobs, a minute of grace, five of a hard
// taint, three of a soft one, duplicates kept, and the history and rollout of a
// ScaledJob.
func DefaultJobPolicy() JobPolicy {
	return JobPolicy{
		Failover: FailoverPolicy{GracePeriod: time.Minute, HardTaint: 5 * time.Minute, SoftTaint: 3 * time.Minute},
		Scaling:  Scaling{Max: 100},
		History:  history.DefaultLimits(), Rollout: rollout.DefaultPolicy(),
		MaxMembers: 64,
	}
}

// A JobState is what one poll saw. The zero value knows no cluster.
type JobState struct {
	Demand   Demand
	Clusters []JobCluster // those that are registered
	Failures []Failure    // since the plan before; each is told once
	Memory   Memory       // that the plan before handed back
	Now      time.Time
}

// A JobCluster is one registered cluster, as it was seen. The zero value is one of
// which nothing is known.
type JobCluster struct {
	Name      string
	ID        string // for the status
	Reachable bool   // it answered in this poll
	// Known is that Jobs are all that there are, or were when the cluster last
	// answered. While it is false Memory.Jobs count in their place, and nothing is
	// created anywhere, unless the member has a hard taint: there might be as many Jobs
	// as are allowed.
	Known      bool
	Overloaded bool // the caller wants no more Jobs there
	Jobs       []Job
}

// A JobPlan is what one poll does. The zero value does nothing.
type JobPlan struct {
	Create   []Placement // by cluster
	Delete   []Deletion  // Jobs rolled out, then duplicates, each by cluster and name, then history, oldest first
	Memory   Memory      // for the next plan
	Members  []JobMember // by name
	Proposal Proposal
	Paused   bool // for the condition of that name
	// Blocked is why nothing is created, whatever the members: ReasonPaused,
	// ReasonJobsUnknown or ReasonHeldByStuck.
	Blocked Reason
	// Unplaced are Jobs to create that no member can take, and Reason says why:
	// ReasonNoMembers, ReasonAllExcluded, ReasonMembersFull or ReasonNoOtherMember.
	Unplaced int32
	Reason   Reason
	// NextCheck is when the same observation could give another plan; the zero time
	// is never.
	NextCheck time.Time
}

// A Placement is Jobs to create on one cluster.
type Placement struct {
	Cluster      string
	Fresh        int32 // Jobs that replace nothing
	Replacements []Replacement
}

// Jobs is how many Jobs to create.
func (p Placement) Jobs() int { return int(p.Fresh) + len(p.Replacements) }

// A Replacement is a Job to create for one that is stuck.
type Replacement struct {
	Of     JobRef
	Source Source // for the labels of the new Job
}

// A JobRef names a Job.
type JobRef struct {
	Cluster, Name, UID string
}

// A Deletion is a Job to delete.
type Deletion struct {
	JobRef
	Reason Reason // ReasonOldSpec, ReasonDuplicate or ReasonHistoryLimit
	// Deferred is that the cluster does not answer. The Job is in every plan until
	// it is seen to be gone.
	Deferred bool
}

// A JobMember is what a plan found out about a member, or about a cluster that is
// none any more but has Jobs.
type JobMember struct {
	Name, ID string
	State    MemberState
	Excluded Reason // why it gets no new Job; "" where it may
	Counts   Counts
	Taint    taint.State
	// Scopes are the taints against workloads, of whatever class and size, on its
	// present priority.
	Scopes taint.Set
}

// PlanJobs decides one poll: which Jobs to delete, how many to create and where. It
// is total and pure, and does not depend on the order of clusters, Jobs or failures.
//
//  1. Jobs of an older spec are rolled out, then duplicates resolved, then finished
//     ones pruned, all over the whole fleet. On a cluster that does not answer a
//     deletion is deferred, and the Job counts for what it is; elsewhere it is
//     terminating from here on.
//
//  2. Failures and stuck Jobs become taints: [Memory].
//
//  3. [Scaling.Propose] says how many Jobs to create.
//
//  4. Under pendingAware the first of them replace stuck Jobs, those that wait longest
//     first, each on a cluster where its chain has none; a Job that has a live
//     replacement needs no other.
//
//  5. All are placed by [Scheduling], at members that are not excluded.
//
// Paused it creates and rolls out nothing. Nothing is created either while the Jobs
// of a member are not known that has no hard taint; with one, they count as
// [Memory] has them.
func PlanJobs(p JobPolicy, s JobState) JobPlan {
	f := newFleet(&p, &s)
	plan := JobPlan{Paused: p.Paused, NextCheck: f.nextStuck()}
	plan.Memory = f.remember()
	plan.Delete = f.delete()
	f.count()
	f.judge(plan.Memory)
	plan.Proposal = p.Scaling.Propose(s.Demand, f.counts())
	plan.Blocked = cmp.Or(f.blocked(), plan.Proposal.Blocked)
	if plan.Blocked == "" {
		plan.place(f)
	}
	plan.Memory.Jobs = f.after(plan.Create)
	plan.Members = f.report(plan.Memory)
	change := horizon{s.Now, plan.NextCheck}
	for _, state := range plan.Memory.Clusters {
		change.add(state.Until)
	}
	for _, entry := range plan.Memory.Workloads {
		change.add(entry.Until)
	}
	plan.NextCheck = change.next
	return plan
}

// place creates what the proposal says, replacements first.
func (plan *JobPlan) place(f *fleet) {
	p, fresh := f.placer(), plan.Proposal.Create
	if f.Demand.Active && f.Scaling.replaces() {
		stuck := f.stuckJobs()
		replacements := min(fresh, clip(int64(len(stuck))))
		fresh -= replacements
		for _, s := range stuck { // another may find a place where this one does not
			if replacements > 0 && p.replace(s) {
				replacements--
			}
		}
		plan.Unplaced = replacements
	}
	left := p.fresh(fresh)
	plan.Create = p.placements()
	if plan.Unplaced += left; plan.Unplaced > 0 {
		plan.Reason = f.unplaced(left)
	}
}

// unplaced says why Jobs found no place, of which so many replace nothing.
func (f *fleet) unplaced(fresh int32) Reason {
	some := func(such func(fleetMember) bool) bool { return slices.ContainsFunc(f.members, such) }
	open := some(func(m fleetMember) bool { return m.reason == "" })
	switch {
	case !some(func(m fleetMember) bool { return m.listed && m.cluster != nil && m.Weight > 0 }):
		return ReasonNoMembers
	case !open && !some(func(m fleetMember) bool { return m.reason == ReasonFull }):
		return ReasonAllExcluded
	case !open || fresh > 0:
		return ReasonMembersFull
	}
	return ReasonNoOtherMember
}

// blocked says why nothing may be created.
func (f *fleet) blocked() Reason {
	if f.Paused {
		return ReasonPaused
	}
	for i := range f.members {
		m := &f.members[i]
		if m.listed && m.cluster != nil && !m.cluster.Known && m.taint.Level != taint.Hard {
			return ReasonJobsUnknown
		}
	}
	return ""
}

func (f *fleet) ref(i int) JobRef {
	j := &f.jobs[i]
	return JobRef{f.members[j.member].Name, j.Name, j.UID}
}

// compare orders Jobs by cluster, name and UID.
func (f *fleet) compare(a, b int) int {
	x, y := &f.jobs[a], &f.jobs[b]
	return cmp.Or(cmp.Compare(x.member, y.member), strings.Compare(x.Name, y.Name), strings.Compare(x.UID, y.UID))
}
