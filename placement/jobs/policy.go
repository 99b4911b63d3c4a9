package jobs

import (
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is the configuration of an owner with Jobs on several clusters. The
// zero value has a maximum of 0: it creates nothing, deletes no outdated Job and keeps
// all history. Start from [DefaultPolicy].
type Policy struct {
	Members []Member // the allowed clusters; if empty, every registered cluster with weight 1
	// Scaling has the bounds, the aggregation, the strategy and the pause. If its Strategy
	// is nil, it is strategy.PendingAware, the only strategy that replaces stuck Jobs.
	Scaling scaling.Policy
	// FailoverOverMax lets PendingAware replace stuck Jobs that occupy the maximum: stuck
	// Jobs do not count against it, up to twice the maximum in all.
	FailoverOverMax bool
	Scheduling      Scheduling
	Workload        taint.Workload // class and size of the Jobs, which PriorityFailover reads
	Failover        Failover
	History         history.Policy
	Rollout         rollout.Policy
	Revision        rollout.Revision // of new Jobs
	// Seed is where the turns of the members begin: if it is empty at the beginning of the
	// cycle, otherwise at a hash of it. Use the owner's namespace and name, so that the first
	// Jobs of many owners follow the weights.
	Seed string
}

// A Member is an allowed cluster. The zero value has no weight and gets no Job: use
// [NewMember].
type Member struct {
	Name     string
	Weight   int32  // share of the Jobs, relative to other weights; below 0 it counts as 0
	Priority *int32 // PriorityFailover prefers the highest; nil is below every number
	MaxJobs  *int64 // the most unfinished Jobs of this owner; nil means no limit
}

// NewMember returns a member with weight 1.
func NewMember(name string) Member { return Member{Name: name, Weight: 1} }

// Scheduling is the rule that chooses a member for a new Job. The zero value and
// unknown names are WeightedRoundRobin.
type Scheduling string

const (
	// WeightedRoundRobin gives each member its share of the new Jobs, and at most its share of
	// the unfinished Jobs. It ignores priorities.
	WeightedRoundRobin Scheduling = "weightedRoundRobin"
	// PriorityFailover prefers the members of the highest priority, by weight among
	// equals. Jobs that find no place there go to the next priority.
	PriorityFailover Scheduling = "priorityFailover"
)

// Failover configures when a Job is stuck or lost, how long a cluster is tainted for this
// owner, and whether a Job or its replacement is deleted. Durations below 0 count as 0.
type Failover struct {
	GracePeriod time.Duration // a Job that is pending for this time is stuck; 0 means at once
	HardTaint   time.Duration // a failing cluster is excluded for this time; 0 means never
	SoftTaint   time.Duration // a second failure within this time excludes; 0 means the first does
	// LostAfter is the time after which the Jobs of a cluster that does not answer, while
	// another does, are lost: their capacity is free, and their work may run twice. 0 means
	// never. In all there are then at most the maximum times 1 plus the lost clusters.
	LostAfter   time.Duration
	Duplication Duplication
}

// MarshalJSON returns the fields, with durations such as "5m0s".
func (f Failover) MarshalJSON() ([]byte, error) { return jsonform.Marshal(f) }

// UnmarshalJSON reads the result of MarshalJSON.
func (f *Failover) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, f) }

// A Duplication is the rule for a Job and its replacement if both exist. The zero value
// and unknown names are KeepAll. Only strategy.PendingAware creates replacements.
type Duplication string

const (
	KeepAll                Duplication = "keepAll"                // keep both
	PreferFailover         Duplication = "preferFailover"         // delete the source once the replacement runs
	PreferSource           Duplication = "preferSource"           // delete the replacement once the source runs
	ImmediateSourceCleanup Duplication = "immediateSourceCleanup" // delete the source once the replacement exists
)

// DefaultPolicy returns the policy of a manifest that sets nothing: every registered
// cluster with weight 1, weighted round robin, strategy pendingAware, at most 100 Jobs
// with the minimum as a floor, a grace period of 1 minute, hard taints of 5 and soft
// taints of 3 minutes, duplicates kept, and the history and rollout of a ScaledJob.
func DefaultPolicy() Policy {
	return Policy{
		Scaling:  scaling.Policy{Bounds: scaling.Bounds{Max: 100, Mode: scaling.Floor}, Strategy: strategy.PendingAware{}},
		Failover: Failover{GracePeriod: time.Minute, HardTaint: 5 * time.Minute, SoftTaint: 3 * time.Minute},
		History:  history.DefaultPolicy(), Rollout: rollout.DefaultPolicy(),
	}
}

func (p *Policy) strategy() strategy.Strategy {
	if p.Scaling.Strategy == nil {
		return strategy.PendingAware{}
	}
	return p.Scaling.Strategy
}

// replaces reports whether the strategy replaces stuck Jobs.
func (p *Policy) replaces() bool {
	_, ok := p.strategy().(strategy.PendingAware)
	return ok
}

// lowest is the priority of a member without Priority.
const lowest = -1

func (m *Member) priority() int32 {
	if m.Priority == nil {
		return lowest
	}
	return *m.Priority
}
