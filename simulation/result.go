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
	Summary Summary `json:"summary"`
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

	PeakQueue int64 `json:"peakQueue"` // highest number of items that waited at one time

	JobsCreated int64 `json:"jobsCreated"`
	IdleJobs    int64 `json:"idleJobs"` // ended without an item
	PeakJobs    int64 `json:"peakJobs"` // highest number of unfinished Jobs at one time, including terminating Jobs
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

	Work    float64 `json:"-"` // seconds of service of the items that are neither done nor lost
	Offered float64 `json:"-"` // seconds of service of the items so far
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

// A podTime is an exact sum of times of pods, so that equal sums are equal numbers
// whatever the order of events.
type podTime struct{ seconds, nanoseconds int64 }

func (t *podTime) add(pods int64, d Duration) {
	t.nanoseconds += pods * int64(d%second)
	t.seconds += pods*int64(d/second) + t.nanoseconds/int64(second)
	t.nanoseconds %= int64(second)
}

func (t *podTime) float() float64 { return float64(t.seconds) + float64(t.nanoseconds)/1e9 }

// advance moves the time on. Nothing has changed since the last time.
func (r *run) advance(time Duration) {
	if span := time - r.now; span > 0 {
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
		c.Queue[i] += float64(r.Queued) * share
		c.Jobs[i] += float64(len(r.jobs)) * share
		now = next
	}
}

// starves reports whether items wait that no Job exists or starts for.
func (r *run) starves() bool {
	needed, available := 0.0, int64(0)
	for i := range r.queues {
		q := &r.queues[i]
		needed += math.Ceil(float64(q.waiting) / q.target())
	}
	for i := range r.clusters {
		c := &r.clusters[i]
		available += c.running() - c.phase[completing]
		if c.stopped > 0 {
			available -= c.pending()
		}
	}
	for _, j := range r.jobs {
		if j.phase == working && r.full(j) {
			available--
		}
	}
	return needed > float64(available)
}

// countPoll counts a poll by its rule, and by whether items wait after it.
func (r *run) countPoll(rule string) {
	i := slices.IndexFunc(r.Rules, func(c RuleCount) bool { return c.Rule == rule })
	if i < 0 {
		i = len(r.Rules)
		r.Rules = append(r.Rules, RuleCount{Rule: rule})
	}
	r.Rules[i].Polls++
	switch {
	case r.Queued == 0:
	case int64(len(r.jobs)) >= r.settings.Max:
		r.FullPolls++
	case r.starves():
		r.Rules[i].Starved++
		r.StarvedPolls++
	}
}

// conclude completes the summary at the end of the run, with the times of items and of pending Jobs that have
// not come to an end.
func (r *run) conclude() {
	for _, j := range r.jobs {
		if j.phase.pending() {
			r.longestPending = max(r.longestPending, r.now-j.since)
		}
	}
	for k := range r.queues {
		for _, i := range r.queues[k].items {
			if i.deliveries == 0 {
				r.waits = append(r.waits, r.now-i.arrived)
			}
		}
	}
	r.Seconds, r.LongestPending = r.now.seconds(), r.longestPending.seconds()
	r.Wait = measure(r.waits)
	r.ExcessOverMax = max(0, r.PeakJobs-r.settings.Max)
	r.BusySeconds, r.IdleSeconds, r.WaitingSeconds = r.busyTime.float(), r.idleTime.float(), r.waitingTime.float()
	slices.SortFunc(r.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Polls, a.Polls), cmp.Compare(a.Rule, b.Rule))
	})
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
	case e.Kind == "polled" || e.Kind == "rejected":
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

// emit reports an event of an item or a Job, or of both.
func (r *run) emit(kind string, i *item, j *job) {
	if r.options.Observe == nil {
		return
	}
	e := Event{Kind: kind}
	if i != nil {
		e.Item, e.Queue = i.number, i.queue.index
	}
	if j != nil {
		e.Job, e.Cluster = j.number, j.cluster
	}
	r.observe(e)
}
