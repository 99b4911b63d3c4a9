package jobs

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// A fleet is the working state of a decision: members by name, and all their Jobs.
type fleet struct {
	*Policy
	*Observation
	previous     Checkpoint
	members      []member
	jobs         []job     // by member
	chains       []chain   // from 1
	workloads    taint.Set // against his workloads, and those of other owners
	credited     bool      // the credits are those of the checkpoint
	createdAgain int64     // Jobs to create that late creates leave room for on their clusters only
	change       horizon   // when the decision can change
}

type member struct {
	Member
	Cluster
	credit     int64 // in the round of its tier: see apportion.RoundRobin
	listed     bool  // otherwise it is a cluster that has Jobs and is no member
	registered bool
	before     clusterCheckpoint
	counts     scaling.JobCounts
	own        taint.Taint // this owner's taint
	starts     Starts
	starting   bool     // a Job has started that was created after every stuck Job
	lost       bool     // it has not answered for LostAfter
	gone       int64    // unfinished Jobs of a lost member
	names      []string // the first of these
	reason     Reason
}

// maxNames is the most names of lost Jobs that a decision has for a member.
const maxNames = 10

func (m *member) name() string { return m.Member.Name }

// maxJobs returns the most unfinished Jobs there.
func (m *member) maxJobs() int64 {
	smallest := int64(math.MaxInt64)
	for _, limit := range []*int64{m.Member.MaxJobs, m.Cluster.MaxJobs} {
		if limit != nil {
			smallest = min(smallest, *limit)
		}
	}
	return smallest
}

func (m *member) path() taint.Path {
	return taint.Path{Cluster: m.name(), Priority: m.priority()}
}

type job struct {
	*Job
	member            int32
	chain             int32 // index of its chain; 0 if it has none
	stuck, surplus    bool
	lost              bool // on a lost cluster
	deleted, deferred bool // by this decision
}

// stays reports whether the Job goes on running or waiting after this decision.
func (j *job) stays() bool { return j.live() && (!j.deleted || j.deferred) }

func newFleet(p *Policy, o *Observation, c Checkpoint) *fleet {
	f := &fleet{Policy: p, Observation: o, previous: c, change: horizon{now: o.Now}}
	byName := make(map[string]member, len(p.Members)+len(o.Clusters))
	for _, m := range p.Members {
		byName[m.Name] = member{Member: m, listed: true}
	}
	for _, cluster := range o.Clusters {
		m := byName[cluster.Name]
		if m.Cluster, m.registered = cluster, true; len(p.Members) == 0 {
			m.Member, m.listed = NewMember(cluster.Name), true
		}
		byName[cluster.Name] = m
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		m := byName[name]
		m.Member.Name, m.before = name, c.clusters[name].sane()
		f.lose(&m)
		mayHaveJobs := len(m.Cluster.Jobs) > 0 || (m.Reach == NeverReached && m.before.total() > 0)
		if m.listed || mayHaveJobs {
			f.members = append(f.members, m)
		}
	}
	f.see()
	return f
}

// lose sets whether the Jobs of the member are lost.
func (f *fleet) lose(m *member) {
	away := m.registered && m.Reach != Reachable && !m.Since.IsZero()
	if d := f.Failover.LostAfter; d > 0 && away {
		var end time.Time
		m.lost, end = elapsed(m.Since, d, f.Now)
		f.change.add(end)
	}
}

// see lists the Jobs.
func (f *fleet) see() {
	n := 0
	for i := range f.members {
		n += len(f.members[i].Jobs)
	}
	f.jobs = make([]job, 0, n)
	for i := range f.members {
		m := &f.members[i]
		for k := range m.Jobs {
			j := job{Job: &m.Jobs[k], member: int32(i)}
			if j.lost = m.lost && !j.finished(); j.lost {
				m.names = append(m.names, j.Name)
			}
			var next time.Time
			j.stuck, next = f.stuck(&j)
			f.change.add(next)
			f.jobs = append(f.jobs, j)
		}
	}
	f.link()
}

// count counts the unfinished Jobs of each member. Jobs that this decision deletes are
// terminating. A member that was never reached has at least the Jobs of the checkpoint.
// Those of a lost member do not count.
func (f *fleet) count() {
	for i := range f.jobs {
		j := &f.jobs[i]
		c := &f.members[j.member].counts
		switch {
		case j.finished():
			continue
		case !j.stays():
			c.Terminating++
			continue
		case j.Phase == Pending:
			c.Pending++
		}
		c.Running++
		if j.stuck {
			c.Stuck++
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if m.registered && m.Reach == NeverReached && m.before.total() > plus(plus(m.counts.Running, m.counts.Terminating), max(0, m.Unanswered)) {
			m.Unanswered = 0 // part of Terminating
			m.counts = scaling.JobCounts{Running: m.before.Running, Pending: m.before.Pending, Terminating: m.before.Terminating}
		}
		if m.lost {
			m.gone = plus(plus(m.counts.Running, m.counts.Terminating), max(0, m.Unanswered))
			m.counts, m.Unanswered = scaling.JobCounts{}, 0
			slices.Sort(m.names)
			m.names = slices.Clone(m.names[:min(len(m.names), maxNames)])
		}
	}
}

// total returns the counts of all members, and their creates without an answer.
func (f *fleet) total() (counts scaling.JobCounts, unanswered int64) {
	for i := range f.members {
		c := &f.members[i].counts
		counts.Running = plus(counts.Running, c.Running)
		counts.Pending = plus(counts.Pending, c.Pending)
		counts.Stuck = plus(counts.Stuck, c.Stuck)
		counts.Terminating = plus(counts.Terminating, c.Terminating)
		unanswered = plus(unanswered, max(0, f.members[i].Unanswered))
	}
	return counts, unanswered
}

func (f *fleet) ref(j *job) JobRef {
	return JobRef{f.members[j.member].name(), j.Name, j.UID}
}

// compare orders Jobs by cluster, name and UID.
func (f *fleet) compare(a, b int32) int {
	x, y := &f.jobs[a], &f.jobs[b]
	return cmp.Or(cmp.Compare(x.member, y.member), strings.Compare(x.Name, y.Name), strings.Compare(x.UID, y.UID))
}
