package placement

import (
	"cmp"
	"slices"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// A placer gives new Jobs to members.
type placer struct {
	*fleet
	tiers   [][]int // members by priority, the highest first
	placed  []Placement
	parties []apportion.Party
	shares  []int32
	buffer  apportion.Buffer
}

func (f *fleet) placer() *placer {
	p := &placer{fleet: f, placed: make([]Placement, len(f.members))}
	order := make([]int, len(f.members))
	for i := range order {
		order[i] = i
	}
	if f.Scheduling != PriorityFailover {
		p.tiers = [][]int{order}
		return p
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(f.members[b].priority(), f.members[a].priority())
	})
	for len(order) > 0 {
		end := 1
		for end < len(order) && f.members[order[end]].priority() == f.members[order[0]].priority() {
			end++
		}
		p.tiers = append(p.tiers, order[:end])
		order = order[end:]
	}
	return p
}

// give places n Jobs at members that are not excluded, tier after tier, and returns
// how many it could not place. In a tier each goes to the member with the
// best ticket, counting from the Jobs that it has. avoid is nil, or says which
// members must not get any; to is told who gets how many.
func (p *placer) give(n int32, avoid func(member int) bool, to func(member int, n int32)) (left int32) {
	for _, tier := range p.tiers {
		if n == 0 {
			break
		}
		p.parties = p.parties[:0]
		for _, i := range tier {
			var party apportion.Party
			if p.members[i].reason == "" && (avoid == nil || !avoid(i)) {
				party = p.party(i)
			}
			p.parties = append(p.parties, party)
		}
		p.shares, n = p.buffer.Append(p.shares[:0], n, p.parties)
		for place, share := range p.shares {
			if share > 0 {
				to(tier[place], share)
			}
		}
	}
	return n
}

func (p *placer) party(i int) apportion.Party {
	m := &p.members[i]
	placed := int64(p.placed[i].Fresh) + int64(len(p.placed[i].Replacements))
	party := apportion.Party{Weight: m.Weight, Held: clip(m.counts.Running + placed), Rank: m.rank}
	if m.MaxJobs != nil {
		party.Capped, party.Cap = true, clip(max(0, int64(*m.MaxJobs)-m.counts.Terminating))
	}
	return party
}

// replace places a replacement for a stuck Job, and reports whether there was a
// place. No member that has a Job of the same chain is one: the chain's Jobs are all
// stuck, and another beside one of them would be too.
func (p *placer) replace(s stuckJob) bool {
	avoid := func(member int) bool {
		return slices.ContainsFunc(s.chain, func(i int) bool { return p.jobs[i].member == member })
	}
	return p.give(1, avoid, func(member int, _ int32) {
		to := &p.placed[member]
		to.Replacements = append(to.Replacements, Replacement{p.ref(s.job), s.source})
	}) == 0
}

// fresh places Jobs that replace nothing.
func (p *placer) fresh(n int32) (left int32) {
	return p.give(n, nil, func(member int, n int32) { p.placed[member].Fresh += n })
}

// placements are those of members that get a Job, by name.
func (p *placer) placements() (all []Placement) {
	for i, placed := range p.placed {
		if placed.Fresh > 0 || len(placed.Replacements) > 0 {
			placed.Cluster = p.members[i].Name
			all = append(all, placed)
		}
	}
	return all
}

// judge says of each member why it gets no new Job.
func (f *fleet) judge(memory Memory) {
	rejected := map[string]bool{}
	for _, failure := range f.Failures {
		if failure.Kind == CreateRejected {
			rejected[failure.Cluster] = true
		}
	}
	for i := range f.members {
		m := &f.members[i]
		m.taint = memory.Clusters[m.Name]
		m.reason = f.reason(m, memory.Workloads, rejected[m.Name])
	}
}

func (f *fleet) reason(m *fleetMember, workloads taint.Set, rejected bool) Reason {
	switch {
	case m.cluster == nil:
		return ReasonNotRegistered
	case !m.listed:
		return ReasonNotListed
	case !m.cluster.Reachable:
		return ReasonUnreachable
	case m.taint.Level == taint.Hard:
		return ReasonHardTainted
	case !m.cluster.Known:
		return ReasonJobsUnknown
	case f.Scheduling == PriorityFailover && workloads.Excludes(f.workload, m.path(), f.Now):
		return ReasonWorkload
	case rejected:
		return ReasonRejected
	case m.cluster.Overloaded:
		return ReasonOverloaded
	case m.Weight <= 0:
		return ReasonNoWeight
	case m.MaxJobs != nil && m.counts.Running+m.counts.Terminating >= int64(*m.MaxJobs):
		return ReasonFull
	}
	return ""
}

func (m *fleetMember) path() taint.Path { return taint.Path{Cluster: m.Name, Priority: m.priority()} }
