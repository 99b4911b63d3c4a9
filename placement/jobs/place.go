package jobs

import (
	"cmp"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// judge sets why each member gets no new Job.
func (f *fleet) judge() {
	for i := range f.members {
		m := &f.members[i]
		m.reason = m.judge(f.Scheduling == PriorityFailover && f.workloads.Excludes(f.Workload, m.path(), f.Now))
	}
}

func (m *member) judge(tainted bool) Reason {
	switch {
	case !m.registered:
		return ReasonNotRegistered
	case !m.listed:
		return ReasonNotListed
	case m.Reach != Reachable && m.Since.IsZero():
		return ReasonUnconfirmed
	case m.Reach == NeverReached:
		return ReasonNeverReached
	case m.Reach != Reachable:
		return ReasonUnreachable
	case m.Taint.Level == taint.Hard:
		return ReasonHardTainted
	case m.own.Level == taint.Hard && m.probes():
		return ReasonNotStarting
	case m.own.Level == taint.Hard:
		return ReasonRequestsFail
	case tainted:
		return ReasonWorkloadTainted
	case m.probes() && m.counts.Pending > m.counts.Stuck:
		return ReasonProbing
	case m.Failures.Rejected:
		return ReasonRejected
	case m.Weight <= 0:
		return ReasonNoWeight
	case plus(m.counts.Running, m.counts.Terminating) >= m.maxJobs():
		return ReasonFull
	}
	return ""
}

// A placer assigns new Jobs to members. Each goes to the first tier that has a place,
// and in the tier to the member with the best ticket.
type placer struct {
	*fleet
	tiers  [][]int32 // members that are not excluded, by priority, the highest first
	placed []Placement
}

func (f *fleet) placer() *placer {
	p := &placer{fleet: f, placed: make([]Placement, len(f.members))}
	var order []int32
	for i := range f.members {
		if f.members[i].reason == "" {
			order = append(order, int32(i))
		}
	}
	priority := func(i int32) int32 {
		if f.Scheduling != PriorityFailover {
			return lowest
		}
		return f.members[i].priority()
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(priority(b), priority(a)) })
	for at, i := range order {
		if at == 0 || priority(i) != priority(order[at-1]) {
			p.tiers = append(p.tiers, nil)
		}
		last := &p.tiers[len(p.tiers)-1]
		*last = append(*last, i)
	}
	return p
}

// parties returns the members of a tier as parties.
func (p *placer) parties(tier []int32) []apportion.Party {
	all := make([]apportion.Party, len(tier))
	for at, i := range tier {
		m := &p.members[i]
		all[at] = apportion.Party{
			Weight: m.Weight, Held: clip(plus(m.counts.Running, p.placed[i].Jobs())), Rank: m.rank,
			Capped: true, Cap: clip(m.maxJobs() - m.counts.Terminating),
		}
		if m.probes() {
			all[at].Cap = min(all[at].Cap, clip(plus(m.counts.Running, 1)))
		}
	}
	return all
}

// place creates the Jobs that were decided, replacements first.
func (f *fleet) place(d *Decision) {
	if d.Scaling.Create == 0 {
		return
	}
	p, additional := f.placer(), d.Scaling.Create-f.again
	var stuck []stuckJob
	if f.asked(d) && f.replaces() {
		stuck = f.stuckJobs()
	}
	replacements := min(additional, int64(len(stuck)))
	additional -= replacements
	d.Unplaced = p.replace(stuck, replacements)
	left := p.add(additional, false) + p.add(f.again, true)
	for i, placed := range p.placed {
		if placed.Jobs() > 0 {
			placed.Cluster = f.members[i].name()
			d.Create = append(d.Create, placed)
		}
	}
	if d.Unplaced += left; d.Unplaced > 0 {
		d.Reason = f.unplaced(left)
	}
}

// replace places n replacements, and returns how many found no place. A stuck Job that
// finds none leaves its turn to the next.
func (p *placer) replace(stuck []stuckJob, n int64) (left int64) {
	seats := make([]*apportion.Sequence, len(p.tiers))
	for i, tier := range p.tiers {
		seats[i] = apportion.NewSequence(p.parties(tier))
	}
	holds := make([]int32, len(p.members)) // the last turn whose chain has a Job there
	for turn := int32(1); n > 0 && int(turn) <= len(stuck); turn++ {
		j := &stuck[turn-1].job
		p.hold(holds, j, turn)
		for i, tier := range p.tiers {
			if at, ok := seats[i].Next(func(party int) bool { return holds[tier[party]] == turn }); ok {
				to := &p.placed[tier[at]]
				if to.Replacements == nil {
					to.Replacements = make([]Replacement, 0, int(n)/len(tier)+1)
				}
				to.Replacements = append(to.Replacements, Replacement{p.ref(j), Source{j.source(), p.chains[j.chain].attempts + 1}})
				n--
				break
			}
		}
	}
	return n
}

// hold marks the members that have a Job of the chain of a stuck Job.
func (p *placer) hold(holds []int32, j *job, turn int32) {
	holds[j.member] = turn
	for _, i := range p.chains[j.chain].jobs {
		if p.jobs[i].stays() {
			holds[p.jobs[i].member] = turn
		}
	}
}

// add places n Jobs that replace nothing, and returns how many found no place. Jobs that
// are created again go to members with late creates, up to their number on each member.
func (p *placer) add(n int64, again bool) (left int64) {
	for _, tier := range p.tiers {
		if n == 0 {
			break
		}
		parties := p.parties(tier)
		for at := range parties {
			if party, late := &parties[at], max(0, p.members[tier[at]].Late); again {
				party.Cap = min(party.Cap, clip(plus(int64(party.Held), late)))
			}
		}
		shares, _ := apportion.Webster(clip(n), parties)
		for at, share := range shares {
			p.placed[tier[at]].Additional += int64(share)
			n -= int64(share)
		}
	}
	return n
}

// unplaced returns why Jobs found no place. additional is how many replace nothing.
func (f *fleet) unplaced(additional int64) Reason {
	some := func(such func(member) bool) bool { return slices.ContainsFunc(f.members, such) }
	open := some(func(m member) bool { return m.reason == "" })
	switch {
	case f.cutOff():
		return ReasonCutOff
	case !some(func(m member) bool { return m.listed && m.registered && m.Weight > 0 }):
		return ReasonNoMembers
	case !open && !some(func(m member) bool { return m.reason == ReasonFull }):
		return ReasonAllExcluded
	case !open || additional > 0:
		return ReasonFull
	}
	return ReasonNoOtherMember
}

// clip returns n as an int32, at most the greatest.
func clip(n int64) int32 { return int32(min(n, math.MaxInt32)) }
