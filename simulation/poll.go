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
	r.Polls++
	before := r.JobsCreated
	rule := r.decide()
	if r.err != nil {
		return
	}
	r.countPoll(rule)
	r.observe(Event{Kind: "polled", Number: r.JobsCreated - before})
	running := r.tick(rule, r.JobsCreated-before)
	r.stopped = r.sources == 0 && r.Queued+r.InProgress == 0 && running <= r.settings.Min
	r.agenda.add(entry{at: r.now + r.settings.interval()}, dutyPoll)
}

func (r *run) decide() (rule string) {
	o := Observation{Now: r.now.time(), Metrics: r.readMetrics(), Checkpoint: r.checkpoint}
	if slices.ContainsFunc(o.Metrics, func(m scaling.Metric) bool { return m.Failed }) {
		r.UnreadablePolls++
	}
	if r.listJobs(&o); o.Jobs == nil {
		r.UnknownPolls++
	}
	d := r.autoscaler.Decide(o)
	r.checkpoint = d.Checkpoint
	for _, ref := range d.Delete {
		r.deleteRef(ref)
	}
	before := len(r.jobs)
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
		for _, j := range r.jobs[before:] { // their cluster may not answer in the next poll
			m := &r.members[j.cluster]
			m.Jobs = append(m.Jobs, j.observed(true))
		}
	}
	return d.Rule
}

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

// listJobs adds the lists of the Jobs to an observation, and their counts if they are all known.
func (r *run) listJobs(o *Observation) {
	var counts scaling.JobCounts
	known := true
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
}

// latest returns the list that the poll reads: the Jobs as they are, or an older list,
// which is empty at the start of a run.
func (r *run) latest(cluster int) *jobList {
	c := &r.clusters[cluster]
	if c.delay == 0 {
		return r.list(cluster, r.now)
	}
	l := &jobList{}
	for ; len(c.views) > 0 && c.views[0].poll <= r.now; c.views = c.views[1:] {
		l = &c.views[0]
	}
	return l
}

// addInFlight adds the Jobs that were created after the list, and returns their number.
func (r *run) addInFlight(cluster int, l *jobList) (n int64) {
	for _, j := range r.jobs {
		if j.cluster != cluster || j.number <= l.created {
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
	*l = jobList{poll: poll, phaseCounts: c.phaseCounts, created: r.JobsCreated, jobs: l.jobs[:0]}
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
	for _, j := range r.jobs {
		if j.cluster != cluster {
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

// keepFinished keeps a Job that has ended for an autoscaler that reads it, until it deletes it.
func (r *run) keepFinished(j *job, succeeded bool) {
	if !r.settings.Clusters {
		return
	}
	ended := j.observed(false)
	ended.Phase, ended.PendingSince, ended.Finished = jobs.Failed, time.Time{}, r.now.time()
	if succeeded {
		ended.Phase = jobs.Succeeded
	}
	c := &r.clusters[j.cluster]
	c.finished = append(c.finished, ended)
}

// deleteRef deletes a Job, unless its cluster does not answer.
func (r *run) deleteRef(ref jobs.JobRef) {
	cluster := r.clusterIndex(ref.Cluster)
	if cluster < 0 || r.clusters[cluster].silent > 0 {
		return
	}
	c := &r.clusters[cluster]
	if i := slices.IndexFunc(c.finished, func(j jobs.Job) bool { return j.UID == ref.UID }); i >= 0 {
		c.finished = slices.Delete(c.finished, i, i+1)
		return
	}
	number, _ := strconv.ParseInt(ref.UID, 10, 64)
	i := slices.IndexFunc(r.jobs, func(j *job) bool { return j.number == number })
	if i >= 0 && r.jobs[i].cluster == cluster && r.jobs[i].phase != terminating {
		r.delete(r.jobs[i])
	}
}

// tick reports the state after a poll, and returns the number of running Jobs.
func (r *run) tick(rule string, created int64) (running int64) {
	t := Tick{
		Seconds: r.now.seconds(), Created: created, Rule: rule,
		Queued: r.Queued, InProgress: r.InProgress, Done: r.Done, Lost: r.Lost, Work: r.unfinishedWork, Offered: r.offered,
	}
	for i := range r.metrics {
		t.Metric += r.metrics[i].Value
	}
	for i := range r.clusters {
		t.Running += r.clusters[i].running()
		t.Pending += r.clusters[i].pending()
	}
	if !r.options.SummaryOnly {
		r.ticks = append(r.ticks, t)
	}
	if r.options.EachPoll != nil {
		r.err = r.options.EachPoll(t)
	}
	return t.Running
}
