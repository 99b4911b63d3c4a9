package simulation

import (
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// core decides by packages scaling and history.
type core struct {
	policy     scaling.Policy
	limits     history.Limits
	stuckAfter *Duration
	metrics    []scaling.Metric
	list       []history.Job // that have finished and are not deleted
	succeeded  int           // of the list
}

func newCore(s *Scenario) *core {
	return &core{policy: s.Policy.scaling(), limits: s.Policy.limits(), stuckAfter: s.Policy.StuckAfter}
}

func (c *core) poll(w *world) string {
	c.metrics = w.readAll(c.metrics[:0])
	seen := scaling.State{Metrics: c.metrics}
	here := &w.sites[0]
	if here.silent == 0 {
		seen.Jobs = &scaling.JobCounts{
			Running: here.running(), Pending: here.pending(), Stuck: c.stuck(w), Terminating: here.phase[terminating],
		}
	}
	d := scaling.Decide(c.policy, seen)
	w.create(0, d.Create, jobs.Source{})
	if here.silent == 0 {
		c.prune(w)
	}
	return d.Rule.String()
}

// readAll reads the metrics.
func (w *world) readAll(metrics []scaling.Metric) []scaling.Metric {
	for i := range w.queues {
		q := &w.queues[i]
		metrics = append(metrics, scaling.Metric{
			Name: q.Name, Value: w.read(q), Target: q.target(), ActivationThreshold: q.ActivationThreshold,
		})
	}
	return metrics
}

func (c *core) stuck(w *world) (n int64) {
	if c.stuckAfter == nil {
		return 0
	}
	for _, slot := range w.live {
		if j := &w.jobs[slot]; j.phase.pending() && w.now-j.since >= *c.stuckAfter {
			n++
		}
	}
	return n
}

func (c *core) finished(w *world, j *job, succeeded bool) {
	h := history.Job{Name: j.name(), Outcome: history.Failed, Finished: w.now.time()}
	if succeeded {
		h.Outcome = history.Succeeded
		c.succeeded++
	}
	c.list = append(c.list, h)
}

func (c *core) prune(w *world) {
	if !c.limits.Exceeded(c.succeeded, len(c.list)-c.succeeded) {
		return
	}
	chosen := history.ToDelete(c.limits, c.list)
	for _, i := range chosen {
		if c.list[i].Outcome == history.Succeeded {
			c.succeeded--
		}
	}
	c.list = without(c.list, chosen)
	w.prune(len(chosen))
}

// without removes the elements at the indexes, in place.
func without[T any](all []T, indexes []int) []T {
	gone := make([]bool, len(all))
	for _, i := range indexes {
		gone[i] = true
	}
	kept := all[:0]
	for i := range all {
		if !gone[i] {
			kept = append(kept, all[i])
		}
	}
	clear(all[len(kept):])
	return kept
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
