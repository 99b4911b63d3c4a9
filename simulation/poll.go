package simulation

import (
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// A jobList is the list of a cluster's Jobs, as of a time.
type jobList struct {
	phaseCounts
	poll    Duration // that reads it
	stuck   int64
	created int64 // Jobs created before, in all clusters
	jobs    []jobs.Job
}

func (r *run) poll() {
	r.polls++
	before := r.created
	clusters := r.clusterTicks()
	rule := r.decide()
	if r.err != nil {
		return
	}
	r.countPoll(rule)
	r.observe(Event{Kind: "polled", Number: r.created - before})
	if !r.options.SummaryOnly || r.options.EachPoll != nil {
		r.tick(rule, r.created-before, clusters)
	}
	r.stopped = r.isDrained && r.total(func(c *clusterState) int64 { return c.running() }) <= r.settings.Min
	r.agenda.add(r.now+r.settings.interval(), dutyPoll, 0, 0)
}

// decide lets the autoscaler decide, and carries its decision out.
func (r *run) decide() (rule string) {
	o := Observation{Now: r.now.time(), Metrics: r.readMetrics(), Checkpoint: r.checkpoint}
	if slices.ContainsFunc(o.Metrics, func(m scaling.Metric) bool { return m.Failed }) {
		r.unreadable++
	}
	known := r.listJobs(&o)
	if !known {
		r.unknown++
	}
	d := r.Autoscaler.Decide(o)
	r.checkpoint = d.Checkpoint
	for _, ref := range d.Delete {
		r.deleteRef(ref)
	}
	before := len(r.live)
	r.create(0, d.Create, jobs.Source{})
	for _, placement := range d.Place {
		i := r.clusterIndex(placement.Cluster)
		if i < 0 {
			continue
		}
		r.create(i, placement.Additional, jobs.Source{})
		for _, replacement := range placement.Replacements {
			r.create(i, 1, replacement.Source)
		}
	}
	if r.settings.Clusters {
		for _, slot := range r.live[before:] { // their cluster may not answer in the next poll
			j := &r.jobs[slot]
			m := &r.members[j.cluster]
			m.Jobs = append(m.Jobs, j.observed(true))
		}
	}
	if known {
		r.pruneFinished()
	}
	return d.Rule
}

// readMetrics reads the metrics.
func (r *run) readMetrics() []scaling.Metric {
	r.metrics = r.metrics[:0]
	for i := range r.queues {
		q := &r.queues[i]
		m := scaling.Metric{Name: q.Name, Target: q.target(), ActivationThreshold: q.ActivationThreshold, WaitingOnly: q.metric == waitingItems}
		m.Failed = slices.ContainsFunc(q.Outages, func(o Outage) bool { return o.From <= r.now && r.now < o.Until })
		if !m.Failed {
			m.Value = r.read(q)
		}
		r.metrics = append(r.metrics, m)
	}
	return r.metrics
}

// listJobs adds the lists of the Jobs to an observation, and reports whether they are all known.
func (r *run) listJobs(o *Observation) (known bool) {
	var counts scaling.JobCounts
	known = true
	for i := range r.clusters {
		c := &r.clusters[i]
		if c.silent > 0 {
			known = false
			r.showMember(i, nil)
			continue
		}
		l := r.latest(i)
		counts.Running += l.running()
		counts.Pending += l.pending()
		counts.Stuck += l.stuck
		counts.Terminating += l.phase[terminating]
		if i == 0 {
			o.phase = l.phase
		}
		if c.delay > 0 {
			counts.InFlight += r.addInFlight(i, l)
		}
		r.showMember(i, l)
	}
	r.judgeMembers()
	if o.Clusters = r.members; known {
		o.Jobs = &counts
	}
	return known
}

// latest returns the list that the poll reads: the Jobs as they are, or an older list,
// which is empty at the start of a run.
func (r *run) latest(cluster int) *jobList {
	c := &r.clusters[cluster]
	if c.delay == 0 {
		return r.list(cluster, r.now)
	}
	l := &jobList{}
	for c.views.n > 0 && c.views.peek(0).poll <= r.now {
		l = new(c.views.popFront())
	}
	return l
}

// addInFlight adds the Jobs that were created after the list, and returns their number.
func (r *run) addInFlight(cluster int, l *jobList) (n int64) {
	for _, slot := range r.live {
		j := &r.jobs[slot]
		if j.cluster != int32(cluster) || j.number <= l.created {
			continue
		}
		n++
		if r.settings.Clusters {
			l.jobs = append(l.jobs, j.observed(true))
		}
	}
	return n
}

// list lists the Jobs of a cluster for a poll, which may be later.
func (r *run) list(cluster int, poll Duration) *jobList {
	c := &r.clusters[cluster]
	l := &c.current
	*l = jobList{poll: poll, phaseCounts: c.phaseCounts, created: r.created, jobs: l.jobs[:0]}
	if c.delay > 0 {
		l.jobs = nil
	}
	grace := r.settings.StuckAfter
	if grace == nil && !r.settings.Clusters {
		return l
	}
	if r.settings.Clusters {
		l.jobs = append(l.jobs, c.finished...)
	}
	for _, slot := range r.live {
		j := &r.jobs[slot]
		if j.cluster != int32(cluster) {
			continue
		}
		if grace != nil && j.phase.pending() && poll-j.since >= *grace {
			l.stuck++
		}
		if r.settings.Clusters {
			l.jobs = append(l.jobs, j.observed(false))
		}
	}
	return l
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

// clusterIndex is the index of a cluster, or -1.
func (r *run) clusterIndex(name string) int32 {
	return int32(slices.IndexFunc(r.members, func(c jobs.Cluster) bool { return c.Name == name }))
}

// observed is a Job that has not ended, as the API server has it. Of a Job in flight only
// its creation is known.
func (j *job) observed(inFlight bool) jobs.Job {
	o := jobs.Job{Name: j.name(), UID: strconv.FormatInt(j.number, 10), Created: j.since.time(), Replaces: j.replaces, NeverStarted: !j.started}
	switch {
	case inFlight:
		o.Phase, o.NeverStarted = jobs.Pending, true
	case j.phase == terminating:
		o.Deleting = true
	case j.phase.pending():
		o.Phase, o.PendingSince = jobs.Pending, j.since.time()
	}
	return o
}

// name is the name of a Job. Names sort as Jobs were created.
func (j *job) name() string {
	name := []byte("job-0000000000000000000")
	for i, n := len(name)-1, j.number; n > 0; i, n = i-1, n/10 {
		name[i] += byte(n % 10)
	}
	return string(name)
}

// time is that of the clock, which begins with 1970.
func (d Duration) time() time.Time { return time.Unix(0, int64(d)).UTC() }

// keepFinished takes note of a Job that has ended.
func (r *run) keepFinished(j *job, succeeded bool) {
	kind, phase := 0, jobs.Failed
	if succeeded {
		kind, phase = 1, jobs.Succeeded
	}
	r.finished[kind]++
	if r.settings.Clusters {
		ended := j.observed(false)
		ended.Phase, ended.PendingSince, ended.Finished = phase, time.Time{}, r.now.time()
		c := &r.clusters[j.cluster]
		c.finished = append(c.finished, ended)
	}
}

// pruneFinished deletes finished Jobs above the limits. Which Jobs these are has no effect.
func (r *run) pruneFinished() {
	if r.settings.Clusters { // whose autoscaler deletes them
		return
	}
	limits := r.settings.History
	pruned := int64(0)
	for i, limit := range []*int64{limits.Failed, limits.Succeeded} {
		if limit != nil && r.finished[i] > *limit {
			pruned += r.finished[i] - *limit
			r.finished[i] = *limit
		}
	}
	if pruned > 0 {
		r.observe(Event{Kind: "pruned", Number: pruned})
	}
}

// deleteRef deletes a Job, unless its cluster does not answer.
func (r *run) deleteRef(ref jobs.Ref) {
	cluster := r.clusterIndex(ref.Cluster)
	if cluster < 0 || r.clusters[cluster].silent > 0 {
		return
	}
	c := &r.clusters[cluster]
	if i := slices.IndexFunc(c.finished, func(j jobs.Job) bool { return j.UID == ref.UID }); i >= 0 {
		kind := 0
		if c.finished[i].Phase == jobs.Succeeded {
			kind = 1
		}
		c.finished = slices.Delete(c.finished, i, i+1)
		r.finished[kind]--
		r.observe(Event{Kind: "pruned", Number: 1})
		return
	}
	number, _ := strconv.ParseInt(ref.UID, 10, 64)
	for _, slot := range r.live {
		if j := &r.jobs[slot]; j.number == number && j.cluster == cluster && j.phase != terminating {
			r.delete(slot)
			return
		}
	}
}

// clusterTicks returns a tick's part of each cluster with what it had created before, or
// nil where there is one cluster.
func (r *run) clusterTicks() (ticks []ClusterTick) {
	if len(r.clusters) == 1 || r.options.SummaryOnly {
		return nil
	}
	for i := range r.clusters {
		ticks = append(ticks, ClusterTick{Created: r.clusters[i].created})
	}
	return ticks
}

func (r *run) tick(rule string, created int64, clusters []ClusterTick) {
	t := Tick{
		Seconds: r.now.seconds(), Created: created, Rule: rule,
		Queued: r.queued, InProgress: r.inProgress, Done: r.completed, Lost: r.lost, Finished: r.finished[0] + r.finished[1],
		Clusters: clusters, Work: r.unfinishedWork, Offered: r.offered,
	}
	for i := range r.metrics {
		t.Metric += r.metrics[i].Value
	}
	for i := range r.clusters {
		c := &r.clusters[i]
		running, pending := c.running(), c.pending()
		t.Running += running
		t.Pending += pending
		if clusters != nil {
			clusters[i] = ClusterTick{c.created - clusters[i].Created, running, pending}
		}
	}
	if !r.options.SummaryOnly {
		r.ticks = append(r.ticks, t)
	}
	if r.options.EachPoll != nil {
		r.err = r.options.EachPoll(t)
	}
}
