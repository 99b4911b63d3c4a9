package simulation

import (
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// A view is the list of a cluster's Jobs, as of a time.
type view struct {
	phased
	of      Duration // the poll that reads it
	stuck   int64
	created int64 // Jobs created before, in all clusters
	jobs    []jobs.Job
}

// A control is the state between polls.
type control struct {
	polling    Settings
	metrics    []scaling.Metric
	members    []jobs.Cluster
	fleet      taint.Fleet // judges the members
	checkpoint any
	ended      [2]int64 // finished Jobs that are not deleted: failed, succeeded
}

func newControl(s *Scenario) *control {
	c := &control{polling: s.settings(), fleet: taint.Fleet{Durations: taint.DefaultDurations()}}
	if c.polling.Clusters {
		for i := range s.clusters() {
			c.members = append(c.members, jobs.Cluster{Name: clusterName(s.clusters(), i)})
		}
	}
	return c
}

func (w *world) poll() {
	w.polls++
	before := w.created
	sites := w.perSite()
	rule := w.decide()
	if w.err != nil {
		return
	}
	w.count(rule)
	w.observe(Event{Kind: "polled", Number: w.created - before})
	if !w.options.SummaryOnly || w.options.EachPoll != nil {
		w.tick(rule, w.created-before, sites)
	}
	if w.drained && w.total((*site).running) <= w.polling.Min {
		w.over = true
	}
	w.agenda.add(w.now+w.polling.interval(), dutyPoll, 0, 0)
	w.progress()
}

// decide lets the policy decide, and does what it decided.
func (w *world) decide() (rule string) {
	p := Poll{Now: w.now.time(), Metrics: w.readAll(), Checkpoint: w.checkpoint}
	if slices.ContainsFunc(p.Metrics, func(m scaling.Metric) bool { return m.Failed }) {
		w.unreadable++
	}
	known := w.listJobs(&p)
	if !known {
		w.unknown++
	}
	d := w.Policy.Decide(p)
	w.checkpoint = d.Checkpoint
	for _, ref := range d.Delete {
		w.deleteRef(ref)
	}
	before := len(w.live)
	w.create(0, d.Create, jobs.Source{})
	for _, one := range d.Place {
		if at := w.clusterAt(one.Cluster); at >= 0 {
			w.create(at, one.Additional, jobs.Source{})
			for _, r := range one.Replacements {
				w.create(at, 1, r.Source)
			}
		}
	}
	if w.polling.Clusters {
		for _, slot := range w.live[before:] { // their cluster may not answer in the next poll
			j := &w.jobs[slot]
			c := &w.members[j.site]
			c.Jobs = append(c.Jobs, j.seen(true))
		}
	}
	if known {
		w.pruneTo(w.polling.History)
	}
	return d.Rule
}

// readAll reads the metrics.
func (w *world) readAll() []scaling.Metric {
	w.metrics = w.metrics[:0]
	for i := range w.queues {
		q := &w.queues[i]
		m := scaling.Metric{Name: q.Name, Target: q.target(), ActivationThreshold: q.ActivationThreshold}
		if m.Failed = during(q.Outages, w.now); !m.Failed {
			m.Value = w.read(q)
		}
		w.metrics = append(w.metrics, m)
	}
	return w.metrics
}

// during reports whether it is the time of an outage.
func during(outages []Outage, now Duration) bool {
	return slices.ContainsFunc(outages, func(o Outage) bool { return o.From <= now && now < o.Until })
}

// listJobs gives a poll the lists of the Jobs, and reports whether all are known.
func (w *world) listJobs(p *Poll) (known bool) {
	var counts scaling.JobCounts
	known = true
	for at := range w.sites {
		s := &w.sites[at]
		if s.silent > 0 {
			known = false
			w.relist(at, nil)
			continue
		}
		v := w.latest(at)
		counts.Running += v.running()
		counts.Pending += v.pending()
		counts.Stuck += v.stuck
		counts.Terminating += v.phase[terminating]
		if at == 0 {
			p.phase = v.phase
		}
		if s.delay > 0 {
			counts.InFlight += w.addInFlight(at, v)
		}
		w.relist(at, v)
	}
	w.judge()
	if p.Clusters = w.members; known {
		p.Jobs = &counts
	}
	return known
}

// latest returns the view that the poll reads: the Jobs as they are, or an older list,
// which is empty at the start of a run.
func (w *world) latest(at int) *view {
	s := &w.sites[at]
	if s.delay == 0 {
		return w.view(at, w.now)
	}
	v := &view{}
	for s.views.n > 0 && s.views.at(0).of <= w.now {
		v = new(s.views.popFront())
	}
	return v
}

// addInFlight adds the Jobs that were created after the view, and returns their number.
func (w *world) addInFlight(at int, v *view) (n int64) {
	for _, slot := range w.live {
		if j := &w.jobs[slot]; j.site == int32(at) && j.number > v.created {
			n++
			if w.polling.Clusters {
				v.jobs = append(v.jobs, j.seen(true))
			}
		}
	}
	return n
}

// view lists the Jobs of a cluster for a poll, which may be later.
func (w *world) view(at int, of Duration) *view {
	s := &w.sites[at]
	v := &s.current
	*v = view{of: of, phased: s.phased, created: w.created, jobs: v.jobs[:0]}
	if s.delay > 0 {
		v.jobs = nil
	}
	grace := w.polling.StuckAfter
	if grace == nil && !w.polling.Clusters {
		return v
	}
	if w.polling.Clusters {
		v.jobs = append(v.jobs, s.finished...)
	}
	for _, slot := range w.live {
		j := &w.jobs[slot]
		if j.site != int32(at) {
			continue
		}
		if grace != nil && j.phase.pending() && of-j.since >= *grace {
			v.stuck++
		}
		if w.polling.Clusters {
			v.jobs = append(v.jobs, j.seen(false))
		}
	}
	return v
}

// judge lets the clusters that answer count against the others. Each poll makes one call to
// each cluster.
func (w *world) judge() {
	now := w.now.time()
	for i := range w.members {
		if w.sites[i].silent > 0 {
			w.fleet.Failed(w.members[i].Name, now.Add(-1), now.Add(-1))
		}
	}
	for i := range w.members {
		if w.sites[i].silent == 0 {
			w.fleet.Answered(w.members[i].Name, now, now)
		}
	}
	for i := range w.members {
		standing := w.fleet.Of(w.members[i].Name, now)
		w.members[i].Taint, w.members[i].Since = standing.Taint, standing.Since
	}
}

// relist updates the cluster as the policy sees it; without a view it does not answer.
func (w *world) relist(at int, v *view) {
	if !w.polling.Clusters {
		return
	}
	c, s := &w.members[at], &w.sites[at]
	c.Failures = jobs.Failures{Rejected: s.rejected}
	s.rejected = false
	switch {
	case v != nil:
		c.Reach, c.Jobs = jobs.Reachable, append(c.Jobs[:0], v.jobs...)
	case c.Reach == jobs.Reachable:
		c.Reach = jobs.Unreachable
	}
}

// clusterAt is the index of a cluster, or -1.
func (w *world) clusterAt(name string) int32 {
	return int32(slices.IndexFunc(w.members, func(c jobs.Cluster) bool { return c.Name == name }))
}

// seen is a Job that has not ended, as the API server has it. Of a Job in flight only
// its creation is known.
func (j *job) seen(inFlight bool) jobs.Job {
	seen := jobs.Job{Name: j.name(), UID: strconv.FormatInt(j.number, 10), Created: j.since.time(), Replaces: j.replaces, NeverStarted: !j.started}
	switch {
	case inFlight:
		seen.Phase, seen.NeverStarted = jobs.Pending, true
	case j.phase == terminating:
		seen.Deleting = true
	case j.phase.pending():
		seen.Phase, seen.PendingSince = jobs.Pending, j.since.time()
	}
	return seen
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

// noted takes note of a Job that has ended.
func (w *world) noted(j *job, succeeded bool) {
	if !w.polling.Clusters {
		w.ended[index(succeeded)]++
		return
	}
	ended := j.seen(false)
	ended.Phase, ended.PendingSince, ended.Finished = jobs.Failed, time.Time{}, w.now.time()
	if succeeded {
		ended.Phase = jobs.Succeeded
	}
	s := &w.sites[j.site]
	s.finished = append(s.finished, ended)
}

func index(succeeded bool) int {
	if succeeded {
		return 1
	}
	return 0
}

// pruneTo deletes finished Jobs above the limits. Which Jobs these are has no effect.
func (w *world) pruneTo(limits history.Limits) {
	pruned := int64(0)
	for i, limit := range []history.Limit{limits.Failed, limits.Succeeded} {
		if n, limited := limit.Value(); limited && w.ended[i] > int64(n) {
			pruned += w.ended[i] - int64(n)
			w.ended[i] = int64(n)
		}
	}
	w.prune(pruned)
}

// deleteRef deletes a Job, unless its cluster does not answer.
func (w *world) deleteRef(ref jobs.Ref) {
	at := w.clusterAt(ref.Cluster)
	if at < 0 || w.sites[at].silent > 0 {
		return
	}
	s := &w.sites[at]
	if i := slices.IndexFunc(s.finished, func(j jobs.Job) bool { return j.UID == ref.UID }); i >= 0 {
		s.finished = slices.Delete(s.finished, i, i+1)
		w.prune(1)
		return
	}
	number, _ := strconv.ParseInt(ref.UID, 10, 64)
	i := slices.IndexFunc(w.live, func(slot int32) bool {
		j := &w.jobs[slot]
		return j.number == number && j.site == at && j.phase != terminating
	})
	if i >= 0 {
		w.delete(w.live[i])
	}
}

// perSite returns a tick's part of each cluster with what it had created before, or
// nil where there is one cluster.
func (w *world) perSite() (all []ClusterTick) {
	if len(w.sites) == 1 || w.options.SummaryOnly {
		return nil
	}
	for i := range w.sites {
		all = append(all, ClusterTick{Created: w.sites[i].created})
	}
	return all
}

func (w *world) tick(rule string, created int64, sites []ClusterTick) {
	t := Tick{
		Seconds: w.now.seconds(), Created: created, Rule: rule,
		Queued: w.queued, InProgress: w.inProgress, Done: w.completed, Lost: w.lost,
		Running: w.total((*site).running), Pending: w.total((*site).pending), Finished: w.finished,
		Clusters: sites, Work: w.unfinishedWork, Offered: w.offered,
	}
	for i := range w.metrics {
		t.Metric += w.metrics[i].Value
	}
	for i := range sites {
		s := &w.sites[i]
		sites[i] = ClusterTick{s.created - sites[i].Created, s.running(), s.pending()}
	}
	if !w.options.SummaryOnly {
		w.ticks = append(w.ticks, t)
	}
	if w.options.EachPoll != nil {
		w.err = w.options.EachPoll(t)
	}
}

// prune is that so many finished Jobs are deleted.
func (w *world) prune(n int64) {
	if n > 0 {
		w.finished -= n
		w.pruned += n
		w.observe(Event{Kind: "pruned", Number: n})
	}
}

// progress reports how far the run is, once for each hundredth of it.
func (w *world) progress() {
	if w.options.Progress == nil {
		return
	}
	percent := int64(100)
	if !w.over && w.end > 0 {
		percent = int64(float64(w.now) / float64(w.end) * 100)
	}
	if percent > w.told {
		w.told = percent
		w.err = w.options.Progress(float64(percent) / 100)
	}
}
