package replicas

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/apportion"
)

// A Decision is the number of replicas that each member has next. The zero value writes nothing.
type Decision struct {
	Requested int32   // replicas that the metrics ask for; 0 if that is unknown
	Total     int32   // replicas that the members share, or that they have if Reason leaves them as they are
	Shares    []Share // of each member, by name
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
// comment. The checkpoint is that of the previous decision, or the zero value. Decide is
// total and pure.
func Decide(p Policy, o Observation, c Checkpoint) Decision {
	f := newFleet(&p, &o, c)
	plan := Decision{NextCheck: f.next, Checkpoint: f.checkpoint()}
	if o.Replicas != nil {
		plan.Requested = max(0, *o.Replicas)
	}
	if hold := p.hold(o.Replicas); hold != "" {
		plan.Reason, plan.Total = hold, f.hold()
	} else {
		plan.Total = min(max(0, p.Min, *o.Replicas), p.Max)
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

func newFleet(p *Policy, o *Observation, checkpoint Checkpoint) *fleet {
	f := &fleet{Policy: p}
	listed, registered := map[string]bool{}, map[string]*Cluster{}
	for _, m := range p.Members {
		f.members = append(f.members, member{Share: Share{Name: m.Name}, weight: m.Weight, listed: true})
		listed[m.Name] = true
	}
	for i := range o.Clusters {
		c := &o.Clusters[i]
		registered[c.Name] = c
		_, former := checkpoint.Members[c.Name]
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
		m.health = checkpoint.Members[m.Name]
		m.observe(p, registered[m.Name], o.Now)
	}
	f.members = slices.DeleteFunc(f.members, func(m member) bool { return !m.listed && m.done() })
	for i := range f.members {
		f.members[i].progress(p.ProgressDeadline, o.Now)
		f.change(f.members[i].Until, o.Now)
	}
	return f
}

// change takes into account when something changes by itself.
func (f *fleet) change(instant, now time.Time) {
	if instant.After(now) && (f.next.IsZero() || instant.Before(f.next)) {
		f.next = instant
	}
}

// observe sets the state of the member; c is nil if it is not registered.
func (m *member) observe(p *Policy, c *Cluster, now time.Time) {
	m.cluster = c
	if c == nil {
		m.exclude(ReasonNotRegistered)
		return
	}
	m.health = m.health.observe(c, p, now)
	m.Current, m.Existing, m.Cause = m.health.Replicas, m.health.Existing, c.Cause
	problem := c.problem()
	m.usable = problem == "" || problem == ReasonWriteFailed
	if problem == "" && c.Ordered != nil {
		m.foreign = max(0, m.Current-max(0, *c.Ordered))
	}
	if m.Reason = m.health.Problem; problem == ReasonUnconfirmed {
		m.Reason = problem
	}
	m.Excluded, m.Until = m.health.excluded(p, now)
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
	waits := deadline > 0 && !m.health.WaitingSince.IsZero()
	if healthy := m.Reason == "" && m.usable; !healthy || !waits {
		return
	}
	var expired bool
	if expired, m.Until = elapsed(m.health.WaitingSince, deadline, now); expired {
		m.Reason = ReasonNoProgress
	}
}

func (m *member) exclude(reason Reason) {
	m.Reason, m.Excluded, m.Until = reason, true, time.Time{}
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
func (f *fleet) share() (unplaced int32, reason Reason) {
	anyIncluded, free, later := false, false, false
	for i := range f.members {
		m := &f.members[i]
		anyIncluded = anyIncluded || !m.Excluded
		free = free || (!m.Excluded && !m.stalled())
		later = later || m.later()
	}
	parties := make([]apportion.Party, len(f.members))
	for i := range f.members {
		m := &f.members[i]
		parties[i] = apportion.Party{Weight: m.weight, Cap: m.Existing, Capped: free && m.stalled(), Rank: apportion.Rank(f.Seed, m.Name)}
		if m.Excluded && (anyIncluded || !m.later()) {
			parties[i].Weight = 0
		}
	}
	shares, unplaced := apportion.Webster(int32(f.total), parties)
	for i, n := range shares {
		f.members[i].Desired = n
	}
	switch {
	case anyIncluded:
		return unplaced, ""
	case later:
		return unplaced, ReasonAllExcluded
	}
	return unplaced, ReasonNoMembers
}

// later reports whether the member has a share if all members are excluded: it fails,
// and may be healthy at any time.
func (m *member) later() bool {
	switch m.Reason {
	case ReasonUnreachable, ReasonNotAsked, ReasonUnconfirmed, ReasonWriteFailed:
		return true
	}
	return !m.Excluded
}

// clip returns n as an int32, or the greatest int32.
func clip(n int64) int32 { return int32(min(n, math.MaxInt32)) }
