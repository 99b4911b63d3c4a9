package simulation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// A fleet decides by package jobs.
type fleet struct {
	policy     jobs.Policy
	metrics    []scaling.Metric
	clusters   []jobs.Cluster   // as they were when they last answered, and Jobs created since
	index      map[string]int32 // of a cluster by name
	list       [][]jobs.Job     // that have finished and are not deleted, of each cluster
	checkpoint jobs.Checkpoint
}

func newFleet(s *Scenario) *fleet {
	clusters := s.clusters()
	f := &fleet{policy: s.Policy.jobs(clusters), list: make([][]jobs.Job, len(clusters)), index: map[string]int32{}}
	for i := range clusters {
		name := clusterName(clusters, i)
		f.index[name] = int32(i)
		f.clusters = append(f.clusters, jobs.Cluster{Name: name})
	}
	return f
}

func (f *fleet) poll(w *world) string {
	f.look(w)
	f.metrics = w.readAll(f.metrics[:0])
	d := jobs.Plan(f.policy, jobs.State{Metrics: f.metrics, Clusters: f.clusters, Checkpoint: f.checkpoint, Now: w.now.time()})
	f.checkpoint = d.Checkpoint
	for _, all := range [][]jobs.Deletion{d.Outdated, d.Duplicates, d.Finished} {
		f.delete(w, all)
	}
	for _, p := range d.Create {
		f.create(w, p)
	}
	return cmp.Or(string(d.Reason), d.Scaling.Rule.String())
}

// create creates Jobs, and remembers them: their cluster may not answer any more when
// they could be seen.
func (f *fleet) create(w *world, p jobs.Placement) {
	at := f.index[p.Cluster]
	before := len(w.live)
	w.create(at, p.Additional, jobs.Source{})
	for _, r := range p.Replacements {
		w.create(at, 1, r.Source)
	}
	c := &f.clusters[at]
	for _, slot := range w.live[before:] {
		j := w.jobs[slot].seen()
		j.Phase, j.PendingSince = jobs.Pending, time.Time{}
		c.Jobs = append(c.Jobs, j)
	}
}

// look lists the Jobs of the clusters that answer. Each poll one call to each other
// fails.
func (f *fleet) look(w *world) {
	for i := range f.clusters {
		c := &f.clusters[i]
		answers := w.sites[i].silent == 0
		c.Failures.Call = !answers
		switch {
		case answers:
			c.Reach, c.Jobs = jobs.Reachable, append(c.Jobs[:0], f.list[i]...)
		case c.Reach == jobs.Reachable:
			c.Reach = jobs.Unreachable
		}
	}
	for _, slot := range w.live {
		j := &w.jobs[slot]
		if c := &f.clusters[j.site]; c.Reach == jobs.Reachable {
			c.Jobs = append(c.Jobs, j.seen())
		}
	}
}

// seen is a Job that has not ended as the API server has it.
func (j *job) seen() jobs.Job {
	uid := strconv.FormatInt(j.number, 10)
	seen := jobs.Job{Name: j.name(), UID: uid, Replaces: j.replaces, NeverStarted: !j.started}
	switch {
	case j.phase == terminating:
		seen.Deleting = true
	case j.phase.pending():
		seen.Phase, seen.PendingSince = jobs.Pending, j.since.time()
	}
	return seen
}

func (f *fleet) finished(w *world, j *job, succeeded bool) {
	ended := j.seen()
	ended.Phase, ended.PendingSince, ended.Finished = jobs.Failed, time.Time{}, w.now.time()
	if succeeded {
		ended.Phase = jobs.Succeeded
	}
	f.list[j.site] = append(f.list[j.site], ended)
}

func (f *fleet) delete(w *world, chosen []jobs.Deletion) {
	for _, d := range chosen {
		if d.Deferred {
			continue
		}
		at := f.index[d.Cluster]
		if i := slices.IndexFunc(f.list[at], func(j jobs.Job) bool { return j.UID == d.UID }); i >= 0 {
			f.list[at] = slices.Delete(f.list[at], i, i+1)
			w.prune(1)
			continue
		}
		number, _ := strconv.ParseInt(d.UID, 10, 64)
		i := slices.IndexFunc(w.live, func(slot int32) bool { return w.jobs[slot].number == number })
		w.delete(w.live[i])
	}
}
