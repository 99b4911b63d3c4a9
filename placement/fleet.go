package placement

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/placement/taint"
)

// A fleet is what a plan works on: policy and state, members by name, and the Jobs
// of all of them.
type fleet struct {
	*JobPolicy
	*JobState
	workload taint.Workload
	members  []fleetMember
	jobs     []fleetJob // by member
}

type fleetMember struct {
	Member
	rank    uint64
	listed  bool        // otherwise it is a cluster that has Jobs and is no member
	cluster *JobCluster // nil where it is not registered
	counts  Counts
	taint   taint.State
	reason  Reason // why it gets no new Job
}

type fleetJob struct {
	*Job
	member int
	stuck  bool
	// Whether this plan deletes it, and whether that has to wait.
	deleted, deferred bool
}

// stays reports whether the Job goes on being what it is: it is neither at its end
// nor on its way there, by this plan or before.
func (j *fleetJob) stays() bool { return j.live() && (!j.deleted || j.deferred) }

func newFleet(p *JobPolicy, s *JobState) *fleet {
	f := &fleet{JobPolicy: p, JobState: s}
	if p.Affinity != nil {
		f.workload.Class = p.Affinity.Class
		if p.Affinity.Size != nil {
			f.workload.Size = *p.Affinity.Size
		}
	}
	clusters := map[string]*JobCluster{}
	for i := range s.Clusters {
		if c := &s.Clusters[i]; clusters[c.Name] == nil {
			clusters[c.Name] = c
		}
	}
	all, order := members(p.Members, slices.Collect(maps.Keys(clusters)))
	for _, i := range order {
		name := all[i].Name
		f.members = append(f.members, fleetMember{Member: all[i], rank: rank(p.Seed, name), listed: true, cluster: clusters[name]})
		delete(clusters, name)
	}
	for name, c := range clusters {
		if len(c.Jobs) > 0 || !c.Known && s.Memory.Jobs[name].sane() != (Counts{}) {
			f.members = append(f.members, fleetMember{Member: Member{Name: name}, cluster: c})
		}
	}
	slices.SortFunc(f.members, func(a, b fleetMember) int { return strings.Compare(a.Name, b.Name) })
	f.see()
	return f
}

// see lists the Jobs.
func (f *fleet) see() {
	for m := range f.members {
		if f.members[m].cluster == nil {
			continue
		}
		jobs := f.members[m].cluster.Jobs
		for i := range jobs {
			stuck, _ := jobs[i].Stuck(f.Failover.GracePeriod, f.Now)
			f.jobs = append(f.jobs, fleetJob{Job: &jobs[i], member: m, stuck: stuck})
		}
	}
}

// nextStuck is when the next Job becomes stuck.
func (f *fleet) nextStuck() time.Time {
	change := horizon{now: f.Now}
	for i := range f.jobs {
		_, next := f.jobs[i].Stuck(f.Failover.GracePeriod, f.Now)
		change.add(next)
	}
	return change.next
}

// count counts the Jobs of each member, those that go as terminating. Of one whose
// Jobs are not known there are at least as many as are remembered.
func (f *fleet) count() {
	for i := range f.jobs {
		j := &f.jobs[i]
		c := &f.members[j.member].counts
		switch {
		case j.finished():
		case !j.stays():
			c.Terminating++
		default:
			c.add(j.Phase, j.stuck)
		}
	}
	for i := range f.members {
		m := &f.members[i]
		if remembered := f.Memory.Jobs[m.Name].sane(); m.cluster != nil && !m.cluster.Known && remembered.total() > m.counts.total() {
			m.counts = remembered
		}
	}
}

// after are the counts to remember, once the Jobs have been created.
func (f *fleet) after(create []Placement) map[string]Counts {
	jobs := map[string]Counts{}
	for i := range f.members {
		if m := &f.members[i]; m.cluster != nil && m.counts != (Counts{}) {
			jobs[m.Name] = m.counts.sane()
		}
	}
	for _, p := range create {
		n := int64(p.Jobs())
		jobs[p.Cluster] = jobs[p.Cluster].plus(Counts{Running: n, Pending: n})
	}
	return jobs
}

// counts are those of all members.
func (f *fleet) counts() (all Counts) {
	for i := range f.members {
		all = all.plus(f.members[i].counts)
	}
	return all
}

// A stuckJob is one to replace.
type stuckJob struct {
	job    int
	chain  []int  // all Jobs of its chain that stay, itself included
	source Source // of its replacement
}

// stuckJobs are the Jobs to replace, those that wait longest first: of each chain the
// newest, if all of it is stuck.
func (f *fleet) stuckJobs() (all []stuckJob) {
	chains := f.chains()
	for i := range f.jobs {
		j := &f.jobs[i]
		if !j.stuck || !j.stays() {
			continue
		}
		s := stuckJob{i, []int{i}, Source{j.source(), 1}}
		if c := chains[j.source()]; c != nil {
			s.chain, s.source.Attempt = c.live, c.attempts+1
		}
		newest := s.chain[len(s.chain)-1] == i
		if newest && !slices.ContainsFunc(s.chain, func(i int) bool { return !f.jobs[i].stuck }) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stuckJob) int {
		x, y := f.jobs[a.job], f.jobs[b.job]
		return cmp.Or(x.PendingSince.Compare(y.PendingSince), cmp.Compare(x.member, y.member), strings.Compare(x.UID, y.UID))
	})
	return all
}

// report is what there is to tell about the members.
func (f *fleet) report(memory Memory) []JobMember {
	all := make([]JobMember, len(f.members))
	for i := range f.members {
		m := &f.members[i]
		r := JobMember{Name: m.Name, State: NotRegistered, Excluded: m.reason, Counts: m.counts, Taint: m.taint}
		if c := m.cluster; c != nil {
			r.ID, r.State = c.ID, NotReady
			if c.Reachable {
				r.State = Ready
			}
		}
		for _, e := range memory.Workloads {
			if e.Path == m.path() {
				r.Scopes = append(r.Scopes, e)
			}
		}
		all[i] = r
	}
	return all
}
