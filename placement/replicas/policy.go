package replicas

import (
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/placement/apportion"
)

// NoMax as Policy.Max allows any number of replicas.
const NoMax = math.MaxInt32

// A Policy is the configuration of a workload with replicas on several clusters. The zero
// value has no maximum, so that its plans write nothing; see [NewPolicy].
type Policy struct {
	// Members are the clusters that may have replicas. If there are none, every
	// registered cluster is a member of weight 1.
	Members []Member
	// Min and Max bound the total. If Max is 0 or less, plans write nothing. A Min
	// above Max counts as Max, and a negative Min as 0.
	Min, Max int32
	// GracePeriod is how long a member that fails keeps its share. At 0 its
	// share moves at once.
	GracePeriod time.Duration
	// ProgressDeadline is the time within which another of a member's missing replicas
	// must exist. A member without progress keeps its existing replicas and a missing replica,
	// and the others get the rest, until that replica exists. At 0 there is no deadline.
	ProgressDeadline time.Duration
	// MaxSurge is the number of replicas above Max that members may have while replicas
	// move. At 0 no replica moves as long as the members have Max replicas.
	MaxSurge int32
	// Seed decides which of equal members gets the odd replica. With an empty seed it
	// is the first by name; with the owner's namespace and name owners differ.
	Seed string
}

// MarshalJSON returns the fields, with durations such as "5m0s".
func (p Policy) MarshalJSON() ([]byte, error) { return jsonform.Marshal(p) }

// UnmarshalJSON reads the result of MarshalJSON.
func (p *Policy) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, p) }

// NewPolicy returns a policy with at most max replicas, 1 minute of grace and a
// progress deadline of five minutes. It allows a surge of a quarter of max, at least 1
// replica. It has no minimum.
func NewPolicy(max int32, members ...Member) Policy {
	return Policy{
		Members: members, Max: max, MaxSurge: surge(max),
		GracePeriod: time.Minute, ProgressDeadline: 5 * time.Minute,
	}
}

func surge(maximum int32) int32 { return max(1, maximum/4) }

// A Member is a cluster that may have replicas. The zero value has no weight and gets
// none.
type Member struct {
	Name   string
	Weight int32 // its share, relative to other members; below 0 it counts as 0
}

// NewMember returns a member of weight 1.
func NewMember(name string) Member { return Member{Name: name, Weight: 1} }

// hold returns the reason to leave all members as they are; empty means that there is
// none.
func (p *Policy) hold(replicas *int32) Reason {
	switch {
	case p.Max <= 0:
		return ReasonNoMaximum
	case replicas == nil:
		return ReasonMetricsUnknown
	}
	return ""
}

// bound returns the number of replicas that members may have while replicas move.
func (p *Policy) bound() int64 {
	return int64(p.Max) + int64(max(0, p.MaxSurge))
}

// Split shares total replicas among members by weight, and returns the number of each
// in the order of members. The sum is total if a member has weight. Ties go to the
// first by name. Decide shares in the same way.
func Split(total int32, members ...Member) []int32 {
	names, parties := make([]string, len(members)), make([]apportion.Party, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	slices.Sort(names)
	for i, m := range members {
		first, _ := slices.BinarySearch(names, m.Name)
		parties[i] = apportion.Party{Weight: m.Weight, Rank: uint64(first)}
	}
	shares, _ := apportion.Webster(total, parties)
	return shares
}
