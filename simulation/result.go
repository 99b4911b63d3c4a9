package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Result is what a run came to. Equal scenarios have equal results.
type Result struct {
	Scenario string  `json:"scenario,omitempty"` // its name
	Summary  Summary `json:"summary"`
	// Ticks has one entry for each poll, in the order of time. It is nil where the
	// options say so.
	Ticks []Tick `json:"ticks,omitempty"`
}

// A Summary is a run in numbers. Times are in seconds, and what is called a number of
// seconds of Jobs is summed up over all their pods.
type Summary struct {
	Policy  string  `json:"policy"`  // its name
	Seconds float64 `json:"seconds"` // how long the run was

	// Items, at the end. Arrived = Done + Queued + InProgress + Lost.
	Arrived    int64 `json:"arrived"`
	Done       int64 `json:"done"`
	Queued     int64 `json:"queued"`     // wait to be taken
	InProgress int64 `json:"inProgress"` // taken, neither done nor lost, and not to be taken again yet
	Lost       int64 `json:"lost"`       // acknowledged by a Job that failed, or given up after MaxDeliveries
	// Repeated is how often an item was done that had been done, or given up, already.
	Duplicated int64 `json:"duplicated"`

	// Wait is the time from when an item arrives to when it is taken for the first time,
	// and Response to when it is done or lost. Of an item that did not come so far it
	// is the time until the end, so that a policy that leaves items waiting does not
	// look fast.
	Wait     Times `json:"wait"`
	Response Times `json:"response"`

	PeakQueue      int64   `json:"peakQueue"` // most items that waited at one time
	MeanQueue      float64 `json:"meanQueue"` // items that wait, averaged over time
	MeanInProgress float64 `json:"meanInProgress"`
	// DrainSeconds is how long after the last arrival every item was done or lost. It is
	// nil where some were not.
	DrainSeconds *float64 `json:"drainSeconds"`

	JobsCreated   int64 `json:"jobsCreated"`
	JobsSucceeded int64 `json:"jobsSucceeded"` // IdleJobs included
	JobsFailed    int64 `json:"jobsFailed"`
	JobsDeleted   int64 `json:"jobsDeleted"` // before they ended
	IdleJobs      int64 `json:"idleJobs"`    // ended without ever having had an item: they found nothing to do
	PeakJobs      int64 `json:"peakJobs"`    // unfinished at one time, terminating ones included
	// ExcessOverMax is by how much PeakJobs is above the documented maximum, else 0.
	ExcessOverMax int64 `json:"excessOverMax"`
	JobsRejected  int64 `json:"jobsRejected"` // creates that an API server rejected
	JobsPruned    int64 `json:"jobsPruned"`   // finished, and deleted by the history limits
	MostFinished  int64 `json:"mostFinished"` // finished and not yet deleted, at one time

	// BusySeconds is how long pods worked, and IdleSeconds how long they held their
	// place without: starting, waiting for an item, terminating. Pods that have no room
	// cost nothing.
	BusySeconds float64 `json:"busySeconds"`
	IdleSeconds float64 `json:"idleSeconds"`

	Polls int64 `json:"polls"`
	// StarvedPolls is how many of them left items waiting that no Job was there or on its
	// way for, though the maximum had room.
	StarvedPolls int64 `json:"starvedPolls"`
	// Rules says how many polls each rule decided, the most frequent first.
	Rules []RuleCount `json:"rules"`

	Queues   []QueueSummary   `json:"queues"`
	Clusters []ClusterSummary `json:"clusters,omitempty"` // where there are several
}

// Cost is BusySeconds and IdleSeconds together.
func (s *Summary) Cost() float64 { return s.BusySeconds + s.IdleSeconds }

// Times are the quantiles of some times, in seconds. A quantile is a time that
// occurred: the smallest that at least so many are not longer than.
type Times struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// A RuleCount is how many polls a rule decided.
type RuleCount struct {
	Rule  string `json:"rule"`
	Polls int64  `json:"polls"`
}

// A QueueSummary is what became of a queue's items.
type QueueSummary struct {
	Name    string `json:"name,omitempty"`
	Arrived int64  `json:"arrived"`
	Done    int64  `json:"done"`
	Lost    int64  `json:"lost"`
}

// A ClusterSummary is what a cluster had.
type ClusterSummary struct {
	Name        string  `json:"name"`
	JobsCreated int64   `json:"jobsCreated"`
	PeakJobs    int64   `json:"peakJobs"`
	BusySeconds float64 `json:"busySeconds"`
	IdleSeconds float64 `json:"idleSeconds"`
}

// A Tick is one poll, and how things are after it.
type Tick struct {
	Seconds float64 `json:"seconds"` // since the start
	Metric  float64 `json:"metric"`  // items that the poll read, over all queues
	Created int64   `json:"created"` // Jobs
	Rule    string  `json:"rule"`    // which rule decided

	Queued     int64 `json:"queued"` // items that wait
	InProgress int64 `json:"inProgress"`
	Done       int64 `json:"done"` // so far
	Lost       int64 `json:"lost"` // so far
	Running    int64 `json:"running"`
	Pending    int64 `json:"pending"` // the part of Running that has not started, or is to be tried again
	// Finished is how many finished Jobs there are, those that the poll has deleted not
	// included.
	Finished int64 `json:"finished"`

	Clusters []ClusterTick `json:"clusters,omitempty"` // where there are several
}

// A ClusterTick is the part of a cluster.
type ClusterTick struct {
	Created int64 `json:"created"`
	Running int64 `json:"running"`
	Pending int64 `json:"pending"`
}

// Downsample returns at most n ticks for a picture. Each stands for a run of
// consecutive ones: it has the time and the rule of the first, what they created
// together, and the largest of every other number, so that no peak is lost. With n
// below 1 it returns nil.
func Downsample(ticks []Tick, n int) []Tick {
	if n < 1 || len(ticks) == 0 {
		return nil
	}
	each := (len(ticks) + n - 1) / n
	condensed := make([]Tick, 0, n)
	for run := range slices.Chunk(ticks, each) {
		t := run[0]
		t.Clusters = slices.Clone(t.Clusters)
		for i := range run[1:] {
			t.merge(&run[1+i])
		}
		condensed = append(condensed, t)
	}
	return condensed
}

func (t *Tick) merge(o *Tick) {
	t.Created += o.Created
	t.Metric = max(t.Metric, o.Metric)
	t.Queued, t.InProgress = max(t.Queued, o.Queued), max(t.InProgress, o.InProgress)
	t.Done, t.Lost = max(t.Done, o.Done), max(t.Lost, o.Lost)
	t.Running, t.Pending = max(t.Running, o.Running), max(t.Pending, o.Pending)
	t.Finished = max(t.Finished, o.Finished)
	for i := range min(len(t.Clusters), len(o.Clusters)) {
		c, other := &t.Clusters[i], &o.Clusters[i]
		c.Created += other.Created
		c.Running, c.Pending = max(c.Running, other.Running), max(c.Pending, other.Pending)
	}
}

// String tells the summary in aligned lines, without a newline at the end.
func (s Summary) String() string {
	var b strings.Builder
	line := func(name, format string, a ...any) { fmt.Fprintf(&b, "\n%-9s "+format, append([]any{name}, a...)...) }
	b.WriteString(s.Policy)
	line("items", "%d arrived: %d done, %d queued, %d in work, %d lost; %d done again", s.Arrived, s.Done, s.Queued, s.InProgress, s.Lost, s.Duplicated)
	line("wait", "p50 %gs, p95 %gs, p99 %gs, max %gs", round(s.Wait.P50), round(s.Wait.P95), round(s.Wait.P99), round(s.Wait.Max))
	drained := "not drained"
	if s.DrainSeconds != nil {
		drained = fmt.Sprintf("drained %gs after the last arrival", round(*s.DrainSeconds))
	}
	line("queue", "at most %d, on average %g; %s", s.PeakQueue, round(s.MeanQueue), drained)
	line("Jobs", "%d created, %d of them found nothing to do, %d failed, %d deleted", s.JobsCreated, s.IdleJobs, s.JobsFailed, s.JobsDeleted)
	line("at once", "%d Jobs, %d over the maximum", s.PeakJobs, s.ExcessOverMax)
	line("cost", "%gs used, %gs idle", round(s.BusySeconds), round(s.IdleSeconds))
	line("polls", "%d, of which %d starved the queue", s.Polls, s.StarvedPolls)
	for _, r := range s.Rules {
		line("", "%d by %s", r.Polls, r.Rule)
	}
	return b.String()
}

// round keeps three decimals.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// times takes the quantiles of times, which it sorts.
func times(all []Duration) (t Times) {
	if len(all) == 0 {
		return t
	}
	slices.Sort(all)
	sum := 0.0
	for _, d := range all {
		sum += d.seconds()
	}
	at := func(percent int) float64 { return all[(len(all)*percent+99)/100-1].seconds() }
	return Times{Mean: sum / float64(len(all)), P50: at(50), P95: at(95), P99: at(99), Max: all[len(all)-1].seconds()}
}
