package simulation

import (
	"cmp"
	"slices"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

type clusterState struct {
	phaseCounts
	capacity int64    // -1 is no limit
	pods     int64    // that hold room
	line     []jobRef // Jobs that wait for room
	outages  []Outage
	delay    Duration // age of the list of Jobs
	// outages in which it does not answer, in which no pod starts, and in which it
	// rejects creates
	silent, stopped, rejecting int

	current  jobList
	views    []jobList  // of later polls
	finished []jobs.Job // that are not deleted, for an autoscaler that reads them
	rejected bool       // a create, since the last poll
}

// addCluster adds the cluster at i, and what happens there by itself.
func (r *run) addCluster(i int, c *Cluster) {
	state := clusterState{capacity: -1, outages: c.Outages, delay: c.ListAge}
	if c.Capacity != nil {
		state.capacity = *c.Capacity
	}
	r.clusters = append(r.clusters, state)
	if r.settings.Clusters {
		r.members = append(r.members, jobs.Cluster{Name: clusterName(i, c)})
	}
	for k, o := range c.Outages { // beginnings are even numbers, ends are odd ones
		r.agenda.add(entry{at: o.From, index: int32(i), epoch: int32(2 * k)}, dutyOutage)
		r.agenda.add(entry{at: o.Until, index: int32(i), epoch: int32(2*k + 1)}, dutyOutage)
	}
	if c.ListAge > 0 {
		interval := r.settings.interval()
		r.agenda.add(entry{at: (c.ListAge+interval-1)/interval*interval - c.ListAge, index: int32(i)}, dutyList)
	}
}

func (c *clusterState) hasRoom() bool {
	return c.stopped == 0 && (c.capacity < 0 || c.pods < c.capacity)
}

func (r *run) fill(c *clusterState) {
	for len(c.line) > 0 && c.hasRoom() {
		ref := c.line[0]
		c.line = c.line[1:]
		if ref.job.epoch == ref.epoch {
			r.start(ref.job)
		}
	}
}

// outage begins an outage, or ends it if its number is odd.
func (r *run) outage(cluster, number int) {
	c := &r.clusters[cluster]
	kind, begins, change := c.outages[number/2].Kind, number%2 == 0, 1
	e := Event{Kind: "outage started", Cluster: cluster}
	if !begins {
		change, e.Kind = -1, "outage ended"
	}
	r.observe(e)
	stops := kind != unreachable && kind != rejects
	if kind == rejects {
		c.rejecting += change
	} else if kind != noStart {
		c.silent += change
	}
	if stops {
		c.stopped += change
	}
	if !begins {
		r.fill(c)
	} else if stops {
		r.stopPods(cluster, kind != noStart)
	}
}

// stopPods puts pods that are starting back into the line, and lets those that run fail,
// if they do.
func (r *run) stopPods(cluster int, fail bool) {
	c := &r.clusters[cluster]
	stopped := slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return j.cluster != cluster })
	slices.SortFunc(stopped, func(a, b *job) int { return cmp.Compare(b.number, a.number) })
	for _, j := range stopped {
		runs := j.phase == warming || j.phase == working || j.phase == looking
		if j.phase == starting {
			r.vacate(j, unscheduled)
			r.emit("unscheduled", nil, j)
			c.line = slices.Insert(c.line, 0, jobRef{j, j.epoch})
		} else if fail && runs {
			r.failPod(j)
		}
	}
	r.offer()
}

// judgeMembers lets the clusters that answer count against the others. Each poll makes one
// call to each cluster.
func (r *run) judgeMembers() {
	now := r.now.time()
	for i := range r.members {
		if r.clusters[i].silent > 0 {
			r.fleet.Failed(r.members[i].Name, now.Add(-1), now.Add(-1))
		}
	}
	for i := range r.members {
		if r.clusters[i].silent == 0 {
			r.fleet.Answered(r.members[i].Name, now, now)
		}
	}
	for i := range r.members {
		m := &r.members[i]
		standing := r.fleet.Standing(m.Name, now)
		m.Taint, m.Since = standing.Taint, standing.Since
	}
}

// showMember updates the cluster as the autoscaler sees it; without a list it does not answer.
func (r *run) showMember(cluster int, l *jobList) {
	if !r.settings.Clusters {
		return
	}
	m, c := &r.members[cluster], &r.clusters[cluster]
	m.Failures = jobs.Failures{Rejected: c.rejected}
	c.rejected = false
	switch {
	case l != nil:
		m.Reach, m.Jobs = jobs.Reachable, append(m.Jobs[:0], l.jobs...)
	case m.Reach == jobs.Reachable:
		m.Reach = jobs.Unreachable
	}
}

func (r *run) clusterIndex(name string) int {
	return slices.IndexFunc(r.members, func(c jobs.Cluster) bool { return c.Name == name })
}
