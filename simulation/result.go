package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Result holds the figures of a run. Equal scenarios have equal results.
type Result struct {
	Scenario string  `json:"scenario,omitempty"` // its name
	Summary  Summary `json:"summary"`
	// Ticks has one entry for each poll, in the order of time. It is nil if the options leave
	// it out.
	Ticks []Tick `json:"ticks,omitempty"`
	// Curves are the waiting items and the unfinished Jobs over time.
	Curves Curves `json:"-"`
}

// Curves hold means of the parts of a run. The last part counts in full.
type Curves struct{ Queue, Jobs []float64 }

// A Summary holds the numbers of a run. Times are in seconds. BusySeconds, IdleSeconds and
// WaitingSeconds are sums over the pods.
type Summary struct {
	Policy  string  `json:"policy"`  // its name
	Seconds float64 `json:"seconds"` // length of the run

	// Items, at the end. Arrived = Done + Queued + InProgress + Lost.
	Arrived    int64 `json:"arrived"`
	Done       int64 `json:"done"`
	Queued     int64 `json:"queued"`     // waiting
	InProgress int64 `json:"inProgress"` // taken, neither done nor lost, and not to be taken again yet
	Lost       int64 `json:"lost"`       // acknowledged by a Job that failed, or given up after MaxDeliveries
	// Duplicated counts the completions of items that were done or lost before.
	Duplicated int64 `json:"duplicated"`

	// Wait is the time from the arrival of an item to its first delivery. For other items it is
	// the time until the end of the run, so that a policy that leaves items waiting does not
	// look fast.
	Wait Times `json:"wait"`

	PeakQueue int64   `json:"peakQueue"` // highest number of items that waited at one time
	MeanQueue float64 `json:"meanQueue"` // items that wait, averaged over time
	// DrainSeconds is the time from the last arrival until every item was done or lost. It is
	// nil if some were not.
	DrainSeconds *float64 `json:"drainSeconds"`

	JobsCreated   int64   `json:"jobsCreated"`
	JobsSucceeded int64   `json:"jobsSucceeded"` // IdleJobs included
	JobsFailed    int64   `json:"jobsFailed"`
	JobsDeleted   int64   `json:"jobsDeleted"` // before they ended
	IdleJobs      int64   `json:"idleJobs"`    // ended without an item
	PeakJobs      int64   `json:"peakJobs"`    // highest number of unfinished Jobs at one time, including terminating Jobs
	MeanJobs      float64 `json:"meanJobs"`    // unfinished Jobs, averaged over time
	// ExcessOverMax is PeakJobs minus the documented maximum, at least 0.
	ExcessOverMax int64 `json:"excessOverMax"`
	JobsRejected  int64 `json:"jobsRejected"` // creates that an API server rejected

	// BusySeconds is the time in which pods worked. IdleSeconds is the time in which scheduled
	// pods did not: starting, warming up, waiting for an item, terminating. WaitingSeconds is
	// the part of it in which they waited for an item.
	BusySeconds    float64 `json:"busySeconds"`
	IdleSeconds    float64 `json:"idleSeconds"`
	WaitingSeconds float64 `json:"waitingSeconds"`

	Polls int64 `json:"polls"`
	// StarvedPolls counts the polls after which items waited for which no Job existed, below
	// the maximum.
	StarvedPolls int64 `json:"starvedPolls"`
	// FullPolls counts the polls after which items waited and as many Jobs existed as the
	// maximum allows.
	FullPolls int64 `json:"fullPolls"`
	// UnreadablePolls counts the polls in which a metric could not be read, and UnknownPolls
	// those in which the Jobs of a cluster could not be listed.
	UnreadablePolls int64 `json:"unreadablePolls"`
	UnknownPolls    int64 `json:"unknownPolls"`
	// LongestPending is the longest time in seconds that a Job was pending, its startup
	// included.
	LongestPending float64 `json:"longestPending"`
	// Rules counts the polls by the rule that decided, the most frequent first.
	Rules []RuleCount `json:"rules"`
}

// Cost is the sum of BusySeconds and IdleSeconds.
func (s *Summary) Cost() float64 { return s.BusySeconds + s.IdleSeconds }

// Times holds the mean and quantiles of times in seconds. A quantile is one of the times.
type Times struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// A RuleCount counts the polls that a rule decided.
type RuleCount struct {
	Rule    string `json:"rule"`
	Polls   int64  `json:"polls"`
	Starved int64  `json:"starved"` // the polls of them that StarvedPolls counts
}

// A Tick describes a poll, and the state after it.
type Tick struct {
	Seconds float64 `json:"seconds"` // since the start
	Metric  float64 `json:"metric"`  // items that the poll read, over all queues; 0 for a metric that failed
	Created int64   `json:"created"` // Jobs
	Rule    string  `json:"rule"`    // the rule that decided

	Queued     int64 `json:"queued"` // waiting items
	InProgress int64 `json:"inProgress"`
	Done       int64 `json:"done"` // so far
	Lost       int64 `json:"lost"` // so far
	Running    int64 `json:"running"`
	Pending    int64 `json:"pending"` // the part of Running that has not started, or waits for a retry
	// Finished counts the finished Jobs that are not deleted.
	Finished int64 `json:"finished"`

	Clusters []ClusterTick `json:"clusters,omitempty"` // if there are several

	Work    float64 `json:"-"` // seconds of service of the items that are neither done nor lost
	Offered float64 `json:"-"` // seconds of service of the items so far
}

// A ClusterTick is the part of a Tick for a cluster.
type ClusterTick struct {
	Created int64 `json:"created"`
	Running int64 `json:"running"`
	Pending int64 `json:"pending"`
}

func quantile(sorted []Duration, percent int) float64 {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)].seconds()
}

// measure takes the quantiles of times, which it sorts.
func measure(times []Duration) (t Times) {
	if len(times) == 0 {
		return t
	}
	slices.Sort(times)
	sum := 0.0
	for _, d := range times {
		sum += d.seconds()
	}
	return Times{sum / float64(len(times)), quantile(times, 50), quantile(times, 95), quantile(times, 99), quantile(times, 100)}
}

// A tally holds the sums of a run.
type tally struct {
	arrived, completed, lost, duplicated int64
	queued, inProgress, peakQueue        int64
	sources                              int // queues that items are still to come to
	lastArrival, drained                 Duration
	isDrained                            bool
	waits                                []Duration
	queueArea, jobArea                   float64 // items and Jobs times seconds
	curves                               Curves
	offered, unfinishedWork              float64 // seconds of service
	busyTime, idleTime, waitingTime      podTime

	jobsSucceeded, jobsFailed, idleJobs, jobsDeleted int64
	ending                                           int64 // Jobs that work on the last item that they will take
	peakJobs, rejected                               int64
	polls, starved, crowded, unreadable, unknown     int64
	longestPending                                   Duration
	rules                                            []RuleCount
	ticks                                            []Tick
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

// float returns the sum in seconds.
func (t *podTime) float() float64 { return float64(t.seconds) + float64(t.nanoseconds)/1e9 }

// advance moves the time on. Nothing has changed since the last time.
func (r *run) advance(time Duration) {
	if span := time - r.now; span > 0 {
		r.queueArea += float64(r.queued) * span.seconds()
		r.jobArea += float64(len(r.live)) * span.seconds()
		if r.options.Step > 0 {
			r.extendCurves(time)
		}
		for i := range r.clusters {
			c := &r.clusters[i]
			r.busyTime.add(c.phase[working], span)
			r.idleTime.add(c.idlePods(), span)
			r.waitingTime.add(c.phase[looking], span)
		}
	}
	r.now = time
}

// extendCurves shares out the time that passes by the parts of the run that it spans.
func (r *run) extendCurves(until Duration) {
	step, c := r.options.Step, &r.curves
	for now := r.now; now < until; {
		i := int(now / step)
		next := min(until, Duration(i+1)*step)
		for len(c.Queue) <= i {
			c.Queue, c.Jobs = append(c.Queue, 0), append(c.Jobs, 0)
		}
		share := float64(next-now) / float64(step)
		c.Queue[i] += float64(r.queued) * share
		c.Jobs[i] += float64(len(r.live)) * share
		now = next
	}
}

// settle notes when every item is done or lost.
func (r *run) settle() {
	if !r.isDrained && r.sources+int(r.queued+r.inProgress) == 0 {
		r.isDrained, r.drained = true, r.now
	}
}

// starves reports whether items wait that no Job exists or starts for, though the maximum
// has room.
func (r *run) starves() bool {
	if r.queued == 0 || int64(len(r.live)) >= r.settings.Max {
		return false
	}
	needed := 0.0
	for i := range r.queues {
		q := &r.queues[i]
		needed += math.Ceil(float64(q.waiting) / q.target())
	}
	available := -r.ending
	for i := range r.clusters {
		c := &r.clusters[i]
		available += c.running() - c.phase[completing]
		if c.stopped > 0 {
			available -= c.pending()
		}
	}
	return needed > float64(available)
}

// countPoll counts a poll by its rule, and by whether items wait after it.
func (r *run) countPoll(rule string) {
	i := slices.IndexFunc(r.rules, func(c RuleCount) bool { return c.Rule == rule })
	if i < 0 {
		i = len(r.rules)
		r.rules = append(r.rules, RuleCount{Rule: rule})
	}
	r.rules[i].Polls++
	switch {
	case r.starves():
		r.rules[i].Starved++
		r.starved++
	case r.queued > 0 && int64(len(r.live)) >= r.settings.Max:
		r.crowded++
	}
}

// summary is that of the run at its end.
func (r *run) summary() Summary {
	r.addUnfinished()
	s := Summary{
		Policy: r.settings.Name, Seconds: r.now.seconds(),
		Arrived: r.arrived, Done: r.completed, Queued: r.queued, InProgress: r.inProgress, Lost: r.lost, Duplicated: r.duplicated,
		Wait: measure(r.waits), PeakQueue: r.peakQueue,
		JobsCreated: r.created, JobsSucceeded: r.jobsSucceeded, JobsFailed: r.jobsFailed, JobsDeleted: r.jobsDeleted,
		IdleJobs: r.idleJobs, PeakJobs: r.peakJobs, ExcessOverMax: max(0, r.peakJobs-r.settings.Max), JobsRejected: r.rejected,
		BusySeconds: r.busyTime.float(), IdleSeconds: r.idleTime.float(), WaitingSeconds: r.waitingTime.float(),
		Polls: r.polls, StarvedPolls: r.starved, FullPolls: r.crowded, UnreadablePolls: r.unreadable, UnknownPolls: r.unknown,
		LongestPending: r.longestPending.seconds(), Rules: r.rules,
	}
	if s.Seconds > 0 {
		s.MeanQueue, s.MeanJobs = r.queueArea/s.Seconds, r.jobArea/s.Seconds
	}
	if r.isDrained {
		s.DrainSeconds = new((r.drained - r.lastArrival).seconds())
	}
	slices.SortFunc(s.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Polls, a.Polls), cmp.Compare(a.Rule, b.Rule))
	})
	return s
}

// addUnfinished adds the times of items and of pending Jobs that have not come to an end.
func (r *run) addUnfinished() {
	for _, slot := range r.live {
		if j := &r.jobs[slot]; j.phase.pending() {
			r.longestPending = max(r.longestPending, r.now-j.since)
		}
	}
	for i := range r.items {
		item := &r.items[i]
		if item.number > 0 && item.state < done && item.deliveries == 0 {
			r.waits = append(r.waits, r.now-item.arrived)
		}
	}
}

// An Event is an event of a run. Its Kind is:
//
//	arrived         an item is in the queue for the first time
//	delivered       a Job begins to work on an item
//	done            a Job has done an item
//	duplicated      a Job has done an item that was done or lost already
//	redelivered     an item can be taken again
//	lost            an item will not be done
//	polled          the autoscaler has decided; Number is the number of Jobs that it created just before
//	created         a Job exists; its pod is not scheduled yet
//	scheduled       a pod of the Job is scheduled, and starts
//	started         the pod runs
//	unscheduled     a starting pod waits for a cluster that starts pods
//	retried         a pod failed, and will be replaced
//	completing      the pod of a Job has ended, and the Job not yet
//	succeeded       a Job has ended
//	failed          a Job has ended, after its last failure
//	deleted         an unfinished Job is deleted
//	rejected        the API server of a cluster rejects creates; Number counts them
//	pruned          finished Jobs are deleted; Number counts them
//	outage started  an outage of a cluster begins
//	outage ended    an outage of a cluster ends
type Event struct {
	At      time.Duration // since the start
	Kind    string
	Item    int64 // in order of arrival, from 1; 0 is none
	Job     int64 // in order of creation, from 1; 0 is none
	Number  int64 // of Jobs, for kinds that have it
	Queue   int   // index in the scenario's queues, of an event of an item
	Cluster int   // index in the scenario's clusters, of an event of a Job or a cluster
}

// MarshalJSON returns the fields, with a time such as "1m30s".
func (e Event) MarshalJSON() ([]byte, error) { return jsonform.Marshal(e) }

// UnmarshalJSON reads the result of MarshalJSON.
func (e *Event) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, e) }

// String returns the event in a line, such as "1m0s item 3 delivered to Job 2".
func (e Event) String() string {
	at := Duration(e.At)
	switch {
	case e.Kind == "polled" || e.Kind == "pruned" || e.Kind == "rejected":
		return fmt.Sprintf("%s %s: %d", at, e.Kind, e.Number)
	case e.Kind == "delivered":
		return fmt.Sprintf("%s item %d delivered to Job %d", at, e.Item, e.Job)
	case e.Item != 0 && e.Job != 0:
		return fmt.Sprintf("%s item %d %s by Job %d", at, e.Item, e.Kind, e.Job)
	case e.Item != 0:
		return fmt.Sprintf("%s item %d %s", at, e.Item, e.Kind)
	case e.Job != 0:
		return fmt.Sprintf("%s Job %d %s", at, e.Job, e.Kind)
	}
	return fmt.Sprintf("%s cluster %d %s", at, e.Cluster, e.Kind)
}

func (r *run) observe(e Event) {
	if r.options.Observe != nil {
		e.At = time.Duration(r.now)
		r.options.Observe(e)
	}
}

// emit reports an event of a Job, and of the item that it works on, if any.
func (r *run) emit(kind string, item *item, slot int32) {
	e := Event{Kind: kind, Job: r.jobs[slot].number, Cluster: int(r.jobs[slot].cluster)}
	if item != nil {
		e.Item, e.Queue = item.number, int(item.queue)
	}
	r.observe(e)
}

// emitItem reports an event of an item alone.
func (r *run) emitItem(kind string, item *item) {
	r.observe(Event{Kind: kind, Item: item.number, Queue: int(item.queue)})
}
