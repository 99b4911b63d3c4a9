package placement

// A Member is what a manifest says about a cluster: an entry of
// spec.memberClusters. The zero value has no weight, and gets nothing.
type Member struct {
	Name   string
	Weight int32 // its part, relative to the others'; below 0 it counts as 0
	// Priority is scheduling.priority: under [PriorityFailover] the highest comes
	// first, and nil last. It means nothing elsewhere.
	Priority *int32
	MaxJobs  *int32 // the most unfinished Jobs it may have, nil for no limit; of objects it means nothing
}

// NewMember is a member as a manifest has it that gives a name and nothing else:
// of weight 1.
func NewMember(name string) Member { return Member{Name: name, Weight: 1} }

// lowest is below every valid priority, which are 0 to 1000.
const lowest = -1

func (m *Member) priority() int32 {
	if m.Priority == nil {
		return lowest
	}
	return *m.Priority
}

// members returns the members of a manifest, which are the registered clusters where it
// lists none, and their indexes by name, each name once.
func members(listed []Member, registered []string) (all []Member, order []int) {
	if len(listed) == 0 {
		listed = make([]Member, len(registered))
		for i, name := range registered {
			listed[i] = NewMember(name)
		}
	}
	return listed, byName(len(listed), func(i int) string { return listed[i].Name })
}

// MemberState is the state of a member in a status.
type MemberState string

const (
	Ready         MemberState = "Ready"
	NotReady      MemberState = "NotReady"      // it does not answer
	NotRegistered MemberState = "NotRegistered" // the manifest lists it, and nobody registered it
)

// A Reason says why a member gets nothing, or a plan does less than was asked for.
// The zero value is that there is none: it gets its part, it does all.
type Reason string

// Reasons of members.
const (
	ReasonNotRegistered Reason = "NotRegistered"
	ReasonNotListed     Reason = "NotListed"   // it has Jobs, but the manifest lists others
	ReasonUnreachable   Reason = "Unreachable" // of an object: for the grace period or longer
	ReasonRecovering    Reason = "Recovering"  // reachable again, for less than the recovery delay
	ReasonJobsUnknown   Reason = "JobsUnknown" // its Jobs have not been listed
	ReasonHardTainted   Reason = "HardTainted"
	ReasonWorkload      Reason = "WorkloadTainted" // a taint against workloads of this class and size
	ReasonOverloaded    Reason = "Overloaded"      // the caller says so
	ReasonFull          Reason = "MaxJobsReached"
	ReasonRejected      Reason = "CreateRejected" // it refused the Jobs of the plan before
	ReasonNoWeight      Reason = "NoWeight"
)

// Reasons of plans, the first that is true. ReasonJobsUnknown is one as well: a member
// that is not given up has Jobs that are not known.
const (
	ReasonNoMembers      Reason = "NoMembers"          // none is registered and has weight
	ReasonAllExcluded    Reason = "AllMembersExcluded" // each for a reason of its own, which is not MaxJobs
	ReasonMembersFull    Reason = "MembersFull"        // those that are not excluded have their MaxJobs
	ReasonNoOtherMember  Reason = "NoOtherMember"      // the others have one of a chain that is stuck, or are full by now
	ReasonPaused         Reason = "Paused"
	ReasonMetricsUnknown Reason = "MetricsUnknown"
	// ReasonHeldByStuck is that stuck Jobs take up all of the maximum, so that none
	// can be replaced; see [Scaling].FailoverOverMax.
	ReasonHeldByStuck Reason = "CapacityHeldByStuckJobs"
)

// Reasons of deletions.
const (
	ReasonOldSpec      Reason = "OldSpec"
	ReasonDuplicate    Reason = "Duplicate"
	ReasonHistoryLimit Reason = "HistoryLimit"
)
