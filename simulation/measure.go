package simulation

import (
	"cmp"
	"math"
	"slices"
)

// A measure holds the sums of a run.
type measure struct {
	arrived, completed, lost, repeated int64
	queued, inProgress, longest        int64
	coming                             int // queues that items are still to come to
	lastArrival                        Duration
	drained                            bool
	drainedAt                          Duration
	waits, responses                   []Duration
	areaQueued, areaInProgress         float64 // items times seconds
	offered, unfinishedWork            float64 // seconds of service

	jobsSucceeded, jobsFailed, idleJobs, jobsDeleted int64
	lastItem                                         int64 // Jobs that work on the last item that they will take
	most                                             int64
	finished, mostFinished, pruned, rejected         int64

	polls, starved, full, unreadable, unknown int64
	longestPending                            Duration
	rules                                     []RuleCount
	ticks                                     []Tick
	told                                      int64 // percent of the run, as Progress was told
}

// A podTime is an exact sum of times of pods, so that equal sums are equal numbers
// whatever the order of events.
type podTime struct{ seconds, nanoseconds int64 }

// add adds the time of so many pods.
func (t *podTime) add(pods int64, d Duration) {
	t.nanoseconds += pods * int64(d%second)
	t.seconds += pods*int64(d/second) + t.nanoseconds/int64(second)
	t.nanoseconds %= int64(second)
}

// plus adds another sum.
func (t *podTime) plus(o podTime) {
	t.add(o.seconds, second)
	t.add(o.nanoseconds, 1)
}

// float returns the sum in seconds.
func (t *podTime) float() float64 { return float64(t.seconds) + float64(t.nanoseconds)/1e9 }

// advance moves the time on. Nothing has changed since it last was.
func (w *world) advance(to Duration) {
	if seconds := (to - w.now).seconds(); seconds > 0 {
		w.areaQueued += float64(w.queued) * seconds
		w.areaInProgress += float64(w.inProgress) * seconds
		for i := range w.sites {
			s := &w.sites[i]
			s.used.add(s.phase[working], to-w.now)
			s.idle.add(s.idlePods(), to-w.now)
		}
	}
	w.now = to
}

// settled notes when every item is done or lost.
func (w *world) settled() {
	if !w.drained && w.coming == 0 && w.queued == 0 && w.inProgress == 0 {
		w.drained, w.drainedAt = true, w.now
	}
}

// starves reports whether items wait that no Job is there or on its way for, though
// the maximum has room.
func (w *world) starves(most int64) bool {
	if w.queued == 0 || int64(len(w.live)) >= most {
		return false
	}
	wanted := 0.0
	for i := range w.queues {
		q := &w.queues[i]
		wanted += math.Ceil(float64(q.waiting) / q.target())
	}
	available := w.total(func(s *site) int64 { return s.running() - s.phase[completing] }) - w.lastItem
	for i := range w.sites {
		if s := &w.sites[i]; s.stopped > 0 {
			available -= s.pending()
		}
	}
	return wanted > float64(available)
}

// count counts a poll by its rule, and by whether items wait after it.
func (w *world) count(rule string) {
	i := slices.IndexFunc(w.rules, func(r RuleCount) bool { return r.Rule == rule })
	if i < 0 {
		i = len(w.rules)
		w.rules = append(w.rules, RuleCount{Rule: rule})
	}
	w.rules[i].Polls++
	switch {
	case w.starves(w.polling.Max):
		w.rules[i].Starved++
		w.starved++
	case w.queued > 0 && int64(len(w.live)) >= w.polling.Max:
		w.full++
	}
}

// summary is that of the run at its end.
func (w *world) summary() Summary {
	s := Summary{
		Policy: w.polling.Name, Seconds: w.now.seconds(),
		Arrived: w.arrived, Done: w.completed, Queued: w.queued, InProgress: w.inProgress, Lost: w.lost, Duplicated: w.repeated,
		PeakQueue:   w.longest,
		JobsCreated: w.created, JobsSucceeded: w.jobsSucceeded, JobsFailed: w.jobsFailed, JobsDeleted: w.jobsDeleted,
		IdleJobs: w.idleJobs, PeakJobs: w.most, JobsPruned: w.pruned, JobsRejected: w.rejected, MostFinished: w.mostFinished,
		Polls: w.polls, StarvedPolls: w.starved, FullPolls: w.full, UnreadablePolls: w.unreadable, UnknownPolls: w.unknown, Rules: w.rules,
	}
	s.ExcessOverMax = max(0, w.most-w.polling.Max)
	if s.Seconds > 0 {
		s.MeanQueue, s.MeanInProgress = w.areaQueued/s.Seconds, w.areaInProgress/s.Seconds
	}
	if w.drained {
		drain := (w.drainedAt - w.lastArrival).seconds()
		s.DrainSeconds = &drain
	}
	slices.SortFunc(s.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Polls, a.Polls), cmp.Compare(a.Rule, b.Rule))
	})
	w.unfinished()
	s.LongestPending = w.longestPending.seconds()
	s.Wait, s.Response = times(w.waits), times(w.responses)
	w.parts(&s)
	return s
}

// unfinished adds the times of items and of pending Jobs that have not come to an end.
func (w *world) unfinished() {
	for _, slot := range w.live {
		if j := &w.jobs[slot]; j.phase.pending() {
			w.longestPending = max(w.longestPending, w.now-j.since)
		}
	}
	for i := range w.items {
		it := &w.items[i]
		if it.number == 0 || it.state >= done {
			continue
		}
		if it.deliveries == 0 {
			w.waits = append(w.waits, w.now-it.arrived)
		}
		w.responses = append(w.responses, w.now-it.arrived)
	}
}

// parts adds what queues and clusters had.
func (w *world) parts(s *Summary) {
	for i := range w.queues {
		q := &w.queues[i]
		q.counts.Name = q.Name
		s.Queues = append(s.Queues, q.counts)
	}
	clusters := w.clusters()
	var used, idle podTime
	for i := range w.sites {
		at := &w.sites[i]
		used.plus(at.used)
		idle.plus(at.idle)
		if len(w.sites) > 1 {
			s.Clusters = append(s.Clusters, ClusterSummary{clusterName(clusters, i), at.created, at.most, at.used.float(), at.idle.float()})
		}
	}
	s.BusySeconds, s.IdleSeconds = used.float(), idle.float()
}
