package jobs

import (
	"maps"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// judge sets why each member gets no new Job. A member that gets none keeps no credit, so that
// it does not catch up.
func (f *fleet) judge() {
	f.restoreCredits()
	for i := range f.members {
		m := &f.members[i]
		m.reason = m.judge(f.Scheduling == PriorityFailover && f.workloads.Excludes(f.Workload, m.path(), f.Now))
		if m.reason != "" {
			m.credit = min(0, m.credit)
		}
	}
}

// restoreCredits sets the credits: those of the checkpoint, or if the weights were edited since,
// those of the position of Seed in the cycle.
func (f *fleet) restoreCredits() {
	unedited, weighted := true, 0
	for i := range f.members {
		m := &f.members[i]
		m.credit = m.before.Credit
		if m.listed && m.Weight > 0 {
			weighted++
			unedited = unedited && m.before.Weight == m.Weight
		}
	}
	for _, c := range f.previous.clusters {
		if c.Weight > 0 {
			weighted--
		}
	}
	if f.credited = unedited && weighted == 0; f.credited {
		return
	}
	for _, members := range f.tiers(func(m *member) bool { return m.listed && m.Weight > 0 }) {
		turns := apportion.RoundRobin(f.parties(members))
		turns.Start(f.Seed)
		for turn, i := range members {
			f.members[i].credit = turns[turn].Credit
		}
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
// and in the tier to the member whose turn it is.
type placer struct {
	*fleet
	tiers  []tier
	placed []Placement
}

// A tier has the members of a priority, which take turns.
type tier struct {
	members []int32
	turns   apportion.RoundRobin
}

func (f *fleet) placer() *placer {
	p := &placer{fleet: f, placed: make([]Placement, len(f.members))}
	for _, members := range f.tiers(func(m *member) bool { return m.reason == "" }) {
		p.tiers = append(p.tiers, tier{members, f.parties(members)})
	}
	return p
}

// tiers returns the members that satisfy include by priority, the highest first.
func (f *fleet) tiers(include func(*member) bool) (tiers [][]int32) {
	byPriority := map[int32][]int32{}
	for i := range f.members {
		if m := &f.members[i]; include(m) {
			priority := int32(lowest)
			if f.Scheduling == PriorityFailover {
				priority = m.priority()
			}
			byPriority[priority] = append(byPriority[priority], int32(i))
		}
	}
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(byPriority))) {
		tiers = append(tiers, byPriority[priority])
	}
	return tiers
}

// parties returns members as parties with the Jobs that they have.
func (f *fleet) parties(members []int32) []apportion.Party {
	parties := make([]apportion.Party, len(members))
	for turn, i := range members {
		m := &f.members[i]
		parties[turn] = apportion.Party{
			Weight: m.Weight, Held: clip(m.counts.Running), Credit: m.credit,
			Capped: true, Cap: clip(m.maxJobs() - m.counts.Terminating),
		}
		if m.probes() {
			parties[turn].Cap = min(parties[turn].Cap, clip(plus(m.counts.Running, 1)))
		}
	}
	return parties
}

// place creates the Jobs that were decided, replacements first.
func (f *fleet) place(d *Decision) {
	if d.Scaling.Create == 0 {
		return
	}
	p, additional := f.placer(), d.Scaling.Create-f.createdAgain
	var stuck []stuckJob
	if f.proposed(d) && f.replaces() {
		stuck = f.stuckJobs()
	}
	replacements := min(additional, int64(len(stuck)))
	additional -= replacements
	d.Unplaced = p.replace(stuck, replacements)
	remaining := p.add(additional) + p.recreate(f.createdAgain)
	p.keepCredits()
	for i, placed := range p.placed {
		if placed.Jobs() > 0 {
			placed.Cluster = f.members[i].name()
			d.Create = append(d.Create, placed)
		}
	}
	if d.Unplaced += remaining; d.Unplaced > 0 {
		d.Reason = f.unplaced(remaining)
	}
}

// replace places n replacements, and returns how many found no place. A stuck Job that
// finds none leaves its turn to the next.
func (p *placer) replace(stuck []stuckJob, n int64) (unplaced int64) {
	holds := make([]int32, len(p.members)) // the last turn whose chain has a Job there
	for turn := int32(1); n > 0 && int(turn) <= len(stuck); turn++ {
		j := &stuck[turn-1].job
		p.hold(holds, j, turn)
		if target := p.next(func(member int32) bool { return holds[member] == turn }); target != nil {
			target.Replacements = append(target.Replacements, Replacement{p.ref(j), Source{j.source(), p.chains[j.chain].attempts + 1}})
			n--
		}
	}
	return n
}

// next returns the placement of the member that gets the next Job, or nil if there is none that
// avoid does not report.
func (p *placer) next(avoid func(member int32) bool) *Placement {
	for _, t := range p.tiers {
		if party, ok := t.turns.Next(func(party int) bool { return avoid(t.members[party]) }); ok {
			return &p.placed[t.members[party]]
		}
	}
	return nil
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

// maxTurns bounds the Jobs of a decision that are placed one by one. Jobs above it are divided
// first, so that the cost does not grow with them.
const maxTurns = 4096

// add places n Jobs that replace nothing, and returns how many found no place.
func (p *placer) add(n int64) (unplaced int64) {
	if n > maxTurns {
		n = maxTurns + p.divide(n-maxTurns, func(t tier) []apportion.Party { return t.turns })
	}
	for ; n > 0; n-- {
		target := p.next(func(int32) bool { return false })
		if target == nil {
			break
		}
		target.Additional++
	}
	return n
}

// recreate places n Jobs on the members with late creates, up to their number on each member. These
// were placed before, so that they change no credit.
func (p *placer) recreate(n int64) (unplaced int64) {
	return p.divide(n, func(t tier) []apportion.Party {
		parties := slices.Clone(t.turns)
		for k := range parties {
			party, unanswered := &parties[k], max(0, p.members[t.members[k]].Unanswered)
			party.Cap = min(party.Cap, clip(plus(int64(party.Held), unanswered)))
		}
		return parties
	})
}

// divide places n Jobs among the parties of each tier, and returns how many found no place.
func (p *placer) divide(n int64, parties func(tier) []apportion.Party) (unplaced int64) {
	for _, t := range p.tiers {
		shares, _ := apportion.Webster(clip(n), parties(t))
		for k, share := range shares {
			p.placed[t.members[k]].Additional += int64(share)
			t.turns[k].Held = clip(int64(t.turns[k].Held) + int64(share))
			n -= int64(share)
		}
	}
	return n
}

// keepCredits takes the credits over from the tiers.
func (p *placer) keepCredits() {
	for _, t := range p.tiers {
		for turn, i := range t.members {
			p.members[i].credit = t.turns[turn].Credit
		}
	}
}

// unplaced returns why Jobs found no place. additional is how many replace nothing.
func (f *fleet) unplaced(additional int64) Reason {
	anyMember := func(such func(member) bool) bool { return slices.ContainsFunc(f.members, such) }
	open := anyMember(func(m member) bool { return m.reason == "" })
	switch {
	case f.cutOff():
		return ReasonCutOff
	case !anyMember(func(m member) bool { return m.listed && m.registered && m.Weight > 0 }):
		return ReasonNoMembers
	case !open && !anyMember(func(m member) bool { return m.reason == ReasonFull }):
		return ReasonAllExcluded
	case !open || additional > 0:
		return ReasonFull
	}
	return ReasonNoOtherMember
}

// clip returns n as an int32, at most the greatest.
func clip(n int64) int32 { return int32(min(n, math.MaxInt32)) }
