package jobs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// A fleet is the working state of a decision: members by name, and all their Jobs.
type fleet struct {
	*Policy
	*State
	members []member
	jobs    []job   // by member
	chains  []chain // from 1
	again   int64   // Jobs to create that late creates leave room for on their clusters only
	change  horizon // when the decision can change
}

type member struct {
	Member
	Cluster
	rank       uint64
	listed     bool // otherwise it is a cluster that has Jobs and is no member
	registered bool
	same       bool // another name of a cluster that comes before
	before     clusterCheckpoint
	counts     scaling.JobCounts
	taint      taint.State
	unreached  time.Time // since when it is NeverReached
	reason     Reason
}

func (m *member) name() string { return m.Member.Name }

func (m *member) path() taint.Path {
	return taint.Path{Cluster: m.name(), Priority: m.priority()}
}

type job struct {
	*Job
	member            int32
	chain             int32 // index of its chain; 0 if it has none
	stuck, surplus    bool
	deleted, deferred bool // by this decision
}

// stays reports whether the Job goes on running or waiting after this decision.
func (j *job) stays() bool { return j.live() && (!j.deleted || j.deferred) }

func newFleet(p *Policy, s *State) *fleet {
	f := &fleet{Policy: p, State: s, change: horizon{now: s.Now}}
	clusters := byName(s.Clusters, func(c *Cluster) string { return c.Name }, join)
	listed := byName(p.Members, func(m *Member) string { return m.Name }, least)
	for i := range clusters {
		if len(p.Members) == 0 {
			listed = append(listed, NewMember(clusters[i].Name))
		}
	}
	for i, j := 0, 0; i < len(listed) || j < len(clusters); {
		order := 0
		switch {
		case i == len(listed):
			order = 1
		case j == len(clusters):
			order = -1
		default:
			order = strings.Compare(listed[i].Name, clusters[j].Name)
		}
		m := member{listed: order <= 0, registered: order >= 0}
		if m.registered {
			m.Cluster = clusters[j]
			m.Member.Name = m.Cluster.Name
			j++
		}
		if m.listed {
			m.Member = listed[i]
			i++
		}
		m.before = s.Checkpoint.clusters[m.name()].sane()
		m.rank = apportion.Rank(p.Seed, m.name())
		if m.listed || len(m.Cluster.Jobs) > 0 || m.Reach == NeverReached && m.before.total() > 0 {
			f.members = append(f.members, m)
		}
	}
	f.see()
	return f
}

// byName returns copies of all, by name. It merges elements of the same name. The result
// of merge must not depend on their order.
func byName[T any](all []T, name func(*T) string, merge func(T, T) T) []T {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b T) int { return strings.Compare(name(&a), name(&b)) })
	kept := sorted[:0]
	for i := range sorted {
		if n := len(kept); n > 0 && name(&kept[n-1]) == name(&sorted[i]) {
			kept[n-1] = merge(kept[n-1], sorted[i])
			continue
		}
		kept = append(kept, sorted[i])
	}
	return kept
}

// least merges two members of the same name: the least of each field counts.
func least(a, b Member) Member {
	a.Weight = min(a.Weight, b.Weight)
	a.Priority = new(min(a.priority(), b.priority()))
	a.MaxJobs = new(min(a.maxJobs(), b.maxJobs()))
	return a
}

// join merges two observations of the same cluster.
func join(a, b Cluster) Cluster {
	a.Reach = min(a.Reach, b.Reach)
	a.Jobs = slices.Concat(a.Jobs, b.Jobs)
	a.Overloaded = a.Overloaded || b.Overloaded
	a.Late = max(a.Late, b.Late)
	a.Failures.Call = a.Failures.Call || b.Failures.Call
	a.Failures.Create = a.Failures.Create || b.Failures.Create
	a.Failures.Rejected = a.Failures.Rejected || b.Failures.Rejected
	return a
}

// see lists the Jobs, each UID once: a Job that two names have belongs to the first.
func (f *fleet) see() {
	n := 0
	for _, m := range f.members {
		n += len(m.Jobs)
	}
	f.jobs = make([]job, 0, n)
	seen := make(map[string]int32, n)
	for i := range f.members {
		m := &f.members[i]
		for k := range m.Jobs {
			j := &m.Jobs[k]
			if at, again := seen[j.UID]; again && j.UID != "" {
				if first := &f.jobs[at]; int(first.member) != i {
					m.same = true
				} else if compareJobs(j, first.Job) < 0 {
					first.Job = j
				}
				continue
			}
			seen[j.UID] = int32(len(f.jobs))
			f.jobs = append(f.jobs, job{Job: j, member: int32(i)})
		}
	}
	for i := range f.jobs {
		j := &f.jobs[i]
		var next time.Time
		j.stuck, next = j.Job.stuck(f.Failover.GracePeriod, f.Now)
		f.change.add(next)
	}
	f.link(seen)
}

// compareJobs orders two observations of the same UID.
func compareJobs(a, b *Job) int {
	flags := func(j *Job) (n int) {
		for i, flag := range []bool{j.Deleting, j.NeverStarted, j.Unconfirmed} {
			if flag {
				n |= 1 << i
			}
		}
		return n
	}
	return cmp.Or(
		cmp.Compare(a.Phase, b.Phase), cmp.Compare(flags(a), flags(b)), strings.Compare(a.Name, b.Name),
		a.PendingSince.Compare(b.PendingSince), a.Finished.Compare(b.Finished),
		strings.Compare(a.Replaces.UID, b.Replaces.UID), cmp.Compare(a.Replaces.Attempt, b.Replaces.Attempt),
		cmp.Compare(a.Revision.Generation, b.Revision.Generation), strings.Compare(a.Revision.TemplateHash, b.Revision.TemplateHash),
	)
}

// count counts the unfinished Jobs of each member. Jobs that this decision deletes are
// terminating. A member that was never reached has at least the Jobs of the checkpoint.
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
		if m.registered && m.Reach == NeverReached && m.before.total() > plus(plus(m.counts.Running, m.counts.Terminating), max(0, m.Late)) {
			m.Late = 0 // part of Terminating
			m.counts = scaling.JobCounts{Running: m.before.Running, Pending: m.before.Pending, Terminating: m.before.Terminating}
		}
	}
}

// total returns the counts of all members, and their late creates.
func (f *fleet) total() (all scaling.JobCounts, late int64) {
	for i := range f.members {
		c := &f.members[i].counts
		all.Running = plus(all.Running, c.Running)
		all.Pending = plus(all.Pending, c.Pending)
		all.Stuck = plus(all.Stuck, c.Stuck)
		all.Terminating = plus(all.Terminating, c.Terminating)
		late = plus(late, max(0, f.members[i].Late))
	}
	return all, late
}

func (f *fleet) ref(j *job) Ref {
	return Ref{f.members[j.member].name(), j.Name, j.UID}
}

// compare orders Jobs by cluster, name and UID.
func (f *fleet) compare(a, b int32) int {
	x, y := &f.jobs[a], &f.jobs[b]
	return cmp.Or(cmp.Compare(x.member, y.member), strings.Compare(x.Name, y.Name), strings.Compare(x.UID, y.UID))
}
