package replicas

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/apportion"
)

// A Decision is the number of replicas that each member has next. The zero value writes nothing.
type Decision struct {
	Asked  int32   // replicas that the metrics ask for; 0 if that is unknown
	Total  int32   // replicas that the members share, or that they have if Reason leaves them as they are
	Shares []Share // of each member, by name
	// Reason is why the plan does less than was asked for. Empty means that every
	// replica has a place, and may move there.
	Reason Reason
	// Unplaced is the number of replicas that no member can take.
	Unplaced int32
	// Remaining is the number of replicas above the members' shares, to be moved by later
	// plans.
	Remaining int32
	// NextCheck is when the same observation could give another plan; the zero time
	// means never.
	NextCheck time.Time
	// Checkpoint is the input of the next plan.
	Checkpoint Checkpoint
}

// A Share is the part of a member.
type Share struct {
	Name string
	// Reason is why the member has no share or may lose it. Empty means that it is a
	// healthy member.
	Reason   Reason
	Excluded bool      // the member has no share, unless all are excluded
	Until    time.Time // when Reason or Excluded changes by itself; the zero time means never
	Current  int32     // replicas as last read
	Existing int32     // replicas that exist, as last read
	Cause    string    // the Cluster's
	Desired  int32     // its part of the total
	Next     int32     // the number to write now, between Current and Desired
	// Write reports whether the caller must write Next. For a member whose last write failed
	// it may equal Current: the write shows whether writing is possible again.
	Write bool
}

// A member is a Share in the making.
type member struct {
	Share
	weight  int32
	health  MemberCheckpoint
	cluster *Cluster // nil if it is not registered
	listed  bool
	usable  bool  // it was read, so that it may be written to
	foreign int32 // replicas that it shows above the last write
}

// A fleet is the working state of a plan.
type fleet struct {
	*Policy
	members []member // by name
	total   int64
	next    time.Time
}

// Decide decides how many replicas each member has next, by the rules of the package
// comment. It is total and pure.
func Decide(p Policy, s Observation) Decision {
	unknown := s.Checkpoint.check() != nil
	before := s.Checkpoint
	if unknown {
		s.Checkpoint = Checkpoint{}
	}
	f := newFleet(&p, &s)
	plan := Decision{NextCheck: f.next, Checkpoint: f.checkpoint()}
	if s.Replicas != nil {
		plan.Asked = max(0, *s.Replicas)
	}
	hold := p.hold(s.Replicas)
	if unknown {
		hold, plan.Checkpoint = ReasonCheckpointVersion, Checkpoint{before.Version, maps.Clone(before.Members)}
	}
	if hold != "" {
		plan.Reason, plan.Total = hold, f.hold()
	} else {
		plan.Total = min(max(0, p.Min, *s.Replicas), p.Max)
		f.total = int64(plan.Total)
		plan.Unplaced, plan.Reason = f.share()
		atMax := f.move()
		plan.Remaining = f.remaining()
		if atMax && plan.Reason == "" {
			plan.Reason = ReasonAtMax
		}
	}
	plan.Shares = make([]Share, len(f.members))
	for i := range f.members {
		plan.Shares[i] = f.members[i].Share
	}
	return plan
}

func newFleet(p *Policy, s *Observation) *fleet {
	f := &fleet{Policy: p}
	listed, registered := map[string]bool{}, map[string]*Cluster{}
	for _, m := range p.Members {
		f.members = append(f.members, member{Share: Share{Name: m.Name}, weight: m.Weight, listed: true})
		listed[m.Name] = true
	}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		registered[c.Name] = c
		_, former := s.Checkpoint.Members[c.Name]
		switch {
		case len(p.Members) == 0:
			f.members = append(f.members, member{Share: Share{Name: c.Name}, weight: 1, listed: true})
		case former && !listed[c.Name]:
			f.members = append(f.members, member{Share: Share{Name: c.Name}})
		}
	}
	slices.SortStableFunc(f.members, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
	for i := range f.members {
		m := &f.members[i]
		m.observe(p, s, registered[m.Name])
	}
	f.members = slices.DeleteFunc(f.members, func(m member) bool { return !m.listed && m.done() })
	for i := range f.members {
		f.members[i].progress(p.ProgressDeadline, s.Now)
		f.change(f.members[i].Until, s.Now)
	}
	return f
}

// change takes into account when something changes by itself.
func (f *fleet) change(at, now time.Time) {
	if at.After(now) && (f.next.IsZero() || at.Before(f.next)) {
		f.next = at
	}
}

// observe sets the state of the member; c is nil if it is not registered.
func (m *member) observe(p *Policy, s *Observation, c *Cluster) {
	m.cluster = c
	if c == nil {
		m.exclude(ReasonNotRegistered)
		return
	}
	m.health = s.Checkpoint.Members[m.Name].observe(c, p, s.Now)
	m.Current, m.Existing, m.Cause = m.health.Replicas, m.health.Existing, c.Cause
	problem := c.problem()
	m.usable = problem == "" || problem == ReasonWriteFailed
	if problem == "" && c.Ordered != nil {
		m.foreign = max(0, m.Current-max(0, *c.Ordered))
	}
	if m.Reason = m.health.Problem; problem == ReasonUnconfirmed {
		m.Reason = problem
	}
	m.Excluded, m.Until = m.health.excluded(p, s.Now)
	switch {
	case !m.listed:
		m.exclude(ReasonNotListed)
	case problem == ReasonWorkloadMissing:
		m.exclude(ReasonWorkloadMissing)
	case m.weight <= 0:
		m.exclude(ReasonNoWeight)
	}
}

// progress sets whether a healthy member that was read gets the replicas that it lacks.
func (m *member) progress(deadline time.Duration, now time.Time) {
	if m.Reason != "" || !m.usable || deadline <= 0 || m.health.WaitingSince.IsZero() {
		return
	}
	var over bool
	if over, m.Until = elapsed(m.health.WaitingSince, deadline, now); over {
		m.Reason = ReasonNoProgress
	}
}

func (m *member) exclude(why Reason) {
	m.Reason, m.Excluded, m.Until = why, true, time.Time{}
}

// stalled reports whether the member's share has the replicas that exist at most.
func (m *member) stalled() bool { return m.Reason == ReasonNoProgress }

// probe returns the number of missing replicas that a stalled member keeps: a single
// replica, which shows when others can exist.
func (m *member) probe() int64 {
	if m.stalled() && m.Desired >= m.Existing {
		return 1
	}
	return 0
}

// done reports whether a former member has nothing left to give up.
func (m *member) done() bool {
	return (m.usable && m.Current == 0) || m.cluster.problem() == ReasonWorkloadMissing
}

// checkpoint returns the checkpoint for the next plan.
func (f *fleet) checkpoint() Checkpoint {
	c := Checkpoint{Version: checkpointVersion, Members: map[string]MemberCheckpoint{}}
	for i := range f.members {
		if m := &f.members[i]; m.cluster != nil {
			c.Members[m.Name] = m.health
		}
	}
	return c
}

// hold leaves every member as it is, and returns the number of replicas.
func (f *fleet) hold() int32 {
	var total int64
	for i := range f.members {
		m := &f.members[i]
		m.Desired, m.Next = m.Current, m.Current
		total += int64(m.Current)
	}
	return clip(total)
}

// share sets the part of each member. If all are excluded, all members share that
// may have replicas at another time.
func (f *fleet) share() (unplaced int32, why Reason) {
	some, free, later := false, false, false
	for i := range f.members {
		m := &f.members[i]
		some = some || !m.Excluded
		free = free || (!m.Excluded && !m.stalled())
		later = later || m.later()
	}
	parties := make([]apportion.Party, len(f.members))
	for i := range f.members {
		m := &f.members[i]
		parties[i] = apportion.Party{Weight: m.weight, Cap: m.Existing, Capped: free && m.stalled(), Rank: apportion.Rank(f.Seed, m.Name)}
		if m.Excluded && (some || !m.later()) {
			parties[i].Weight = 0
		}
	}
	shares, unplaced := apportion.Webster(int32(f.total), parties)
	for i, n := range shares {
		f.members[i].Desired = n
	}
	switch {
	case some:
		return unplaced, ""
	case later:
		return unplaced, ReasonAllExcluded
	}
	return unplaced, ReasonNoMembers
}

// later reports whether the member has a share if all members are excluded: it fails,
// and may be healthy at any time.
func (m *member) later() bool {
	return !m.Excluded || m.Reason == ReasonUnreachable || m.Reason == ReasonNotAsked || m.Reason == ReasonUnconfirmed || m.Reason == ReasonWriteFailed
}

// clip returns n as an int32, or the greatest int32.
func clip(n int64) int32 { return int32(min(n, math.MaxInt32)) }
