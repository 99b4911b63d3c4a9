package placement

import (
	"time"

	"github.com/scaledjob/scaledjob/placement/apportion"
)

// An ObjectPolicy is what a manifest says about a distributed object: a workload
// with replicas, such as a Deployment, in several clusters. The zero value has a
// maximum of 0.
type ObjectPolicy struct {
	Members     []Member // with none, every registered cluster at weight 1
	Min, Max    int32    // of the total; below 0 they count as 0, and a Min above Max as Max
	Rebalancing Rebalancing
	Pause       Pause
	// Seed decides ties between members: see [JobPolicy].
	Seed            string
	PollingInterval time.Duration // what Validate compares the grace period with; 0 is not known
}

// Rebalancing is when and how fast replicas move to other members. The zero value
// moves them at once.
type Rebalancing struct {
	GracePeriod   time.Duration // how long a member that does not answer keeps its part
	RecoveryDelay time.Duration // how long one that was excluded must answer to get its part back
	// MaxPercentage of the total, rounded down, but at least one replica, may move
	// from one member to another in one plan. With nil there is no limit.
	MaxPercentage *int32
}

// DefaultObjectPolicy is that of a manifest that says nothing: no minimum, at most
// 100 replicas, a minute of grace, immediate recovery, no limit of what may move.
func DefaultObjectPolicy() ObjectPolicy {
	return ObjectPolicy{Max: 100, Rebalancing: Rebalancing{GracePeriod: time.Minute}}
}

// An ObjectState is what was seen. The zero value knows neither metrics nor
// clusters.
type ObjectState struct {
	// Replicas are those that the metrics ask for, before the bounds; nil where they
	// could not be read.
	Replicas *int32
	Clusters []ObjectCluster // those that are registered
	Now      time.Time
}

// An ObjectCluster is one registered cluster, as it was seen.
type ObjectCluster struct {
	Name   string
	ID     string // for the status
	Health Health
	// Current is spec.replicas of the workload, as last seen. A cluster where the
	// workload is missing does not answer for this object.
	Current int32
}

// An ObjectPlan is how many replicas each member is to have. The zero value
// writes nothing.
type ObjectPlan struct {
	Total   int32        // what the members share; while nothing is to be written, the sum of Current
	Members []ObjectPart // by name
	// Hold says why nothing is written: ReasonPaused or ReasonMetricsUnknown. A
	// pause with a number of replicas is not a hold.
	Hold   Reason
	Paused bool // for the condition of that name
	// Reason is ReasonAllExcluded where the parts are those of all members, since
	// none answers, and ReasonNoMembers where there is none to have a part.
	Reason    Reason
	Unplaced  int32 // replicas that nobody has; not 0 only with ReasonNoMembers
	Remaining int32 // replicas that move in plans after this one, because of MaxPercentage
	// NextCheck is when the same observation could give another plan; the zero time
	// is never.
	NextCheck time.Time
}

// An ObjectPart is the part of one member.
type ObjectPart struct {
	Name, ID string
	State    MemberState
	Excluded Reason    // why it has no part; "" where it has one
	Until    time.Time // when that changes by itself; the zero time is never
	Current  int32     // as last seen
	Desired  int32     // its part of the total
	Next     int32     // what it is to have now: Desired, or on the way there
	Write    bool      // Next is to be written: it answers, and has another number
}

// Target returns how many replicas there are to be in all, or why that is not to be
// changed.
//
//	paused with a number  that number, whatever the bounds are
//	paused                as it is
//	metrics not known     as it is
//	else                  what they ask for, at least Min and at most Max
func (p *ObjectPolicy) Target(replicas *int32) (total int32, hold Reason) {
	switch {
	case p.Pause.Paused && p.Pause.Replicas != nil:
		return max(0, *p.Pause.Replicas), ""
	case p.Pause.Paused:
		return 0, ReasonPaused
	case replicas == nil:
		return 0, ReasonMetricsUnknown
	}
	most := max(0, p.Max)
	return max(min(max(0, p.Min), most), min(*replicas, most)), ""
}

// PlanObject shares the replicas among the members by weight. It is total and pure,
// and needs no history.
//
//  1. The total is that of [ObjectPolicy.Target].
//
//  2. A member that does not answer keeps its part for the grace period; nobody
//     else moves. Then it is excluded and its part goes to the others, of which none
//     loses a replica. When it answers again it has its part back, exactly as
//     before, at once or after the recovery delay.
//
//  3. If all are excluded, those that are recovering are not, since nobody can do
//     their work meanwhile. If none is, the parts are those of all: there is nobody
//     to write to, and nothing to gain by waiting for them with other numbers.
//
//  4. Parts are those of [apportion.Webster], ties by seed and name.
//
//  5. With a MaxPercentage, Next is on the way to Desired: see [StepToward].
//
// Nothing is written to members that do not answer.
//
// The cost depends on the members, and not on the number of replicas
// (BenchmarkPlanObject).
func PlanObject(p ObjectPolicy, s ObjectState) ObjectPlan {
	plan := ObjectPlan{Paused: p.Pause.Paused}
	weights := plan.see(&p, &s)
	plan.Total, plan.Hold = p.Target(s.Replicas)
	if plan.Hold != "" {
		plan.hold()
		return plan
	}
	plan.share(p.Seed, weights)
	plan.step(p.Rebalancing.MaxPercentage)
	return plan
}

// see sets the members and when they change, and returns their weights.
func (plan *ObjectPlan) see(p *ObjectPolicy, s *ObjectState) []int32 {
	registered := make([]string, len(s.Clusters))
	for i := range s.Clusters {
		registered[i] = s.Clusters[i].Name
	}
	clusters := byName(len(registered), func(i int) string { return registered[i] })
	all, order := members(p.Members, registered)
	plan.Members = make([]ObjectPart, len(order))
	weights := make([]int32, len(order))
	for i, listed := range order {
		part, m := &plan.Members[i], &all[listed]
		*part = ObjectPart{Name: m.Name, State: NotRegistered, Excluded: ReasonNotRegistered}
		for len(clusters) > 0 && registered[clusters[0]] < m.Name {
			clusters = clusters[1:]
		}
		if len(clusters) > 0 && registered[clusters[0]] == m.Name {
			part.see(&s.Clusters[clusters[0]], p.Rebalancing, s.Now)
			weights[i] = m.Weight
		}
		if part.Excluded == "" && m.Weight <= 0 {
			part.Excluded = ReasonNoWeight
		}
	}
	plan.reinstate(weights)
	change := horizon{now: s.Now}
	for i := range plan.Members {
		change.add(plan.Members[i].Until)
	}
	plan.NextCheck = change.next
	return weights
}

// reinstate includes those that are recovering where all are excluded. The first of
// them that has recovered excludes the others again.
func (plan *ObjectPlan) reinstate(weights []int32) {
	for i := range plan.Members {
		if plan.Members[i].Excluded == "" && weights[i] > 0 {
			return
		}
	}
	var back []*ObjectPart
	for i := range plan.Members {
		if part := &plan.Members[i]; part.Excluded == ReasonRecovering && weights[i] > 0 {
			part.Excluded = ""
			back = append(back, part)
		}
	}
	if len(back) == 1 {
		back[0].Until = time.Time{}
	}
}

func (part *ObjectPart) see(c *ObjectCluster, r Rebalancing, now time.Time) {
	part.ID, part.Current = c.ID, max(0, c.Current)
	part.State, part.Excluded = NotReady, ""
	if c.Health.Reachable {
		part.State = Ready
	}
	var excluded bool
	excluded, part.Until = c.Health.excluded(r, now)
	switch {
	case excluded && c.Health.Reachable:
		part.Excluded = ReasonRecovering
	case excluded:
		part.Excluded = ReasonUnreachable
	}
}

// hold leaves every member as it is.
func (plan *ObjectPlan) hold() {
	var total int64
	for i := range plan.Members {
		part := &plan.Members[i]
		part.Desired, part.Next = part.Current, part.Current
		total += int64(part.Current)
	}
	plan.Total = clip(total)
}

// share sets what each member is to have. Who is not registered has no weight.
func (plan *ObjectPlan) share(seed string, weights []int32) {
	parties := make([]apportion.Party, len(weights))
	some := false
	for i, part := range plan.Members {
		parties[i].Rank = rank(seed, part.Name)
		if part.Excluded == "" {
			parties[i].Weight = weights[i]
			some = true
		}
	}
	if !some {
		plan.Reason = ReasonNoMembers
		for i, weight := range weights {
			parties[i].Weight = weight
			if weight > 0 {
				plan.Reason = ReasonAllExcluded
			}
		}
	}
	shares, left := apportion.Webster(plan.Total, parties)
	for i, share := range shares {
		plan.Members[i].Desired = share
	}
	plan.Unplaced = left
}

// step sets what each member is to have now.
func (plan *ObjectPlan) step(percentage *int32) {
	for i := range plan.Members {
		plan.Members[i].Next = plan.Members[i].Desired
	}
	if percentage != nil {
		plan.limit(*percentage)
	}
	for i := range plan.Members {
		part := &plan.Members[i]
		part.Write = part.State == Ready && part.Next != part.Current
	}
}

func (plan *ObjectPlan) limit(percentage int32) {
	replicas := make([]Replicas, len(plan.Members))
	for i, part := range plan.Members {
		replicas[i] = Replicas{part.Current, part.Desired}
	}
	plan.discount(replicas)
	moves := max(1, int64(plan.Total)*int64(max(0, min(percentage, 100)))/100)
	var remaining int64
	for i, next := range StepToward(replicas, int32(moves)) {
		plan.Members[i].Next = next
		remaining += max(0, int64(plan.Members[i].Desired)-int64(next))
	}
	plan.Remaining = clip(remaining)
}

// discount takes what there is too much in all from members that do not answer: what
// they may still have cannot be scaled down, and the others must not be in its place.
func (plan *ObjectPlan) discount(replicas []Replicas) {
	var excess, there int64
	away := make([]int64, len(replicas))
	for i, r := range replicas {
		off := int64(r.Current) - int64(r.Target)
		excess += off
		if plan.Members[i].State != Ready {
			away[i] = max(0, off)
			there += away[i]
		}
	}
	for i, taken := range level(away, max(0, min(excess, there))) {
		replicas[i].Current -= int32(taken)
	}
}

// clip is n as an int32, or the greatest there is.
func clip(n int64) int32 { return int32(min(n, 1<<31-1)) }
