package simulation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/scaling"
)

// A fleet decides by package placement.
type fleet struct {
	policy      placement.JobPolicy
	aggregation scaling.Aggregation
	metrics     []scaling.Metric
	clusters    []placement.JobCluster // as they were when they last answered, and Jobs created since
	index       map[string]int32       // of a cluster by name
	list        [][]placement.Job      // that have finished and are not deleted, of each cluster
	memory      placement.Memory
}

func newFleet(s *Scenario) *fleet {
	clusters := s.clusters()
	f := &fleet{policy: s.Policy.jobs(clusters), list: make([][]placement.Job, len(clusters)), index: map[string]int32{}}
	f.aggregation, _ = s.Policy.aggregation()
	for i := range clusters {
		name := clusterName(clusters, i)
		f.index[name] = int32(i)
		f.clusters = append(f.clusters, placement.JobCluster{Name: name})
	}
	return f
}

func (f *fleet) poll(w *world) string {
	failures := f.look(w)
	f.metrics = w.readAll(f.metrics[:0])
	asked := scaling.Aggregate(f.aggregation, f.metrics, false)
	plan := placement.PlanJobs(f.policy, placement.JobState{
		Demand:   placement.Demand{Jobs: asked.Jobs, Active: asked.Active > 0},
		Clusters: f.clusters, Failures: failures, Memory: f.memory, Now: w.now.time(),
	})
	f.memory = plan.Memory
	f.delete(w, plan.Delete)
	for _, p := range plan.Create {
		f.create(w, p)
	}
	return ruleOf(&plan, asked.Active > 0)
}

// create creates Jobs, and remembers them: their cluster may not answer any more when
// they could be seen.
func (f *fleet) create(w *world, p placement.Placement) {
	at := f.index[p.Cluster]
	before := len(w.live)
	w.create(at, int64(p.Fresh), placement.Source{})
	for _, r := range p.Replacements {
		w.create(at, 1, r.Source)
	}
	c := &f.clusters[at]
	for _, slot := range w.live[before:] {
		j := w.jobs[slot].seen()
		j.Phase, j.PendingSince = placement.InFlight, time.Time{}
		c.Jobs = append(c.Jobs, j)
	}
}

// ruleOf is why a plan creates no more than it does.
func ruleOf(plan *placement.JobPlan, active bool) string {
	rule := scaling.RuleStrategy
	if !active {
		rule = scaling.RuleInactive
	}
	return cmp.Or(string(plan.Blocked), string(plan.Reason), rule.String())
}

// look lists the Jobs of the clusters that answer, and returns the calls that failed.
func (f *fleet) look(w *world) (failures []placement.Failure) {
	for i := range f.clusters {
		c := &f.clusters[i]
		c.Reachable = w.sites[i].silent == 0
		if !c.Reachable {
			failures = append(failures, placement.Failure{Cluster: c.Name})
			continue
		}
		c.Known, c.Jobs = true, append(c.Jobs[:0], f.list[i]...)
	}
	for _, slot := range w.live {
		j := &w.jobs[slot]
		if c := &f.clusters[j.site]; c.Reachable {
			c.Jobs = append(c.Jobs, j.seen())
		}
	}
	return failures
}

// seen is a Job that has not ended as the API server has it.
func (j *job) seen() placement.Job {
	uid := strconv.FormatInt(j.number, 10)
	seen := placement.Job{Name: j.name(), UID: uid, Replaces: j.replaces, NeverStarted: !j.started}
	switch {
	case j.phase == terminating:
		seen.Phase, seen.Deleting = placement.Terminating, true
	case j.phase.pending():
		seen.Phase, seen.PendingSince = placement.Pending, j.since.time()
	}
	return seen
}

func (f *fleet) finished(w *world, j *job, succeeded bool) {
	ended := j.seen()
	ended.Phase, ended.PendingSince, ended.Finished = placement.Failed, time.Time{}, w.now.time()
	if succeeded {
		ended.Phase = placement.Succeeded
	}
	f.list[j.site] = append(f.list[j.site], ended)
}

func (f *fleet) delete(w *world, chosen []placement.Deletion) {
	for _, d := range chosen {
		if d.Deferred {
			continue
		}
		at := f.index[d.Cluster]
		if d.Reason == placement.ReasonHistoryLimit {
			list := f.list[at]
			i := slices.IndexFunc(list, func(j placement.Job) bool { return j.UID == d.UID })
			f.list[at] = slices.Delete(list, i, i+1)
			w.prune(1)
			continue
		}
		number, _ := strconv.ParseInt(d.UID, 10, 64)
		i := slices.IndexFunc(w.live, func(slot int32) bool { return w.jobs[slot].number == number })
		w.delete(w.live[i])
	}
}
