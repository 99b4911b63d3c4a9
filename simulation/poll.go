package simulation

import "strings"

// An engine is whose rules decide.
type engine interface {
	// poll decides what the policy does at this time, does it, and says which rule
	// decided.
	poll(w *world) (rule string)
	// finished takes note of a Job that has ended.
	finished(w *world, j *job, succeeded bool)
}

func newEngine(s *Scenario) engine {
	as := s.Policy.as(len(s.clusters()))
	switch {
	case as == asPlacement:
		return newFleet(s)
	case strings.HasPrefix(as, asKEDA):
		return newOperator(s)
	}
	return newCore(s)
}

func (w *world) poll() {
	w.polls++
	before := w.created
	sites := w.perSite()
	rule := w.engine.poll(w)
	if w.err != nil {
		return
	}
	w.count(rule)
	w.observe(Event{Kind: Polled, Number: w.created - before})
	bounds := w.Policy.bounds()
	if w.starves(bounds.Max) {
		w.starved++
	}
	if !w.options.SummaryOnly {
		w.tick(rule, w.created-before, sites)
	}
	if w.drained && w.total((*site).running) <= bounds.Min {
		w.over = true
	}
	w.agenda.add(w.now+w.Policy.interval(), dutyPoll, 0, 0)
	w.progress()
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
		Clusters: sites,
	}
	for i := range w.queues {
		t.Metric += w.read(&w.queues[i])
	}
	for i := range sites {
		s := &w.sites[i]
		sites[i] = ClusterTick{s.created - sites[i].Created, s.running(), s.pending()}
	}
	w.ticks = append(w.ticks, t)
}

// prune is that the engine has deleted so many finished Jobs.
func (w *world) prune(n int) {
	if n > 0 {
		w.finished -= int64(n)
		w.pruned += int64(n)
		w.observe(Event{Kind: Pruned, Number: int64(n)})
	}
}

// progress tells how far the run is, once for each hundredth of it.
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
