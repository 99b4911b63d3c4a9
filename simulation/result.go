package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Result holds the figures of a run. Equal scenarios have equal results.
type Result struct {
	Scenario string  `json:"scenario,omitempty"` // its name
	Summary  Summary `json:"summary"`
	// Ticks has one entry for each poll, in the order of time. It is nil if the options leave
	// it out.
	Ticks []Tick `json:"ticks,omitempty"`
	// Waits holds the quantiles of the wait at 0, 1, 2, … 100 %, in seconds. It is nil if the
	// options leave out the ticks, or if no item arrived.
	Waits []float64 `json:"waits,omitempty"`
}

// A Summary holds the numbers of a run. Times are in seconds. BusySeconds and IdleSeconds
// are sums over all pods.
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

	// Wait is the time from the arrival of an item to its first delivery, and Response the
	// time until it is done or lost. For other items it is the time until the end of the run,
	// so that a policy that leaves items waiting does not look fast.
	Wait     Times `json:"wait"`
	Response Times `json:"response"`

	PeakQueue      int64   `json:"peakQueue"` // most items that waited at one time
	MeanQueue      float64 `json:"meanQueue"` // items that wait, averaged over time
	MeanInProgress float64 `json:"meanInProgress"`
	// DrainSeconds is the time from the last arrival until every item was done or lost. It is
	// nil if some were not.
	DrainSeconds *float64 `json:"drainSeconds"`

	JobsCreated   int64 `json:"jobsCreated"`
	JobsSucceeded int64 `json:"jobsSucceeded"` // IdleJobs included
	JobsFailed    int64 `json:"jobsFailed"`
	JobsDeleted   int64 `json:"jobsDeleted"` // before they ended
	IdleJobs      int64 `json:"idleJobs"`    // ended without an item
	PeakJobs      int64 `json:"peakJobs"`    // most unfinished Jobs at one time, including terminating Jobs
	// ExcessOverMax is PeakJobs minus the documented maximum, at least 0.
	ExcessOverMax int64 `json:"excessOverMax"`
	JobsRejected  int64 `json:"jobsRejected"` // creates that an API server rejected
	JobsPruned    int64 `json:"jobsPruned"`   // finished Jobs deleted by the policy
	MostFinished  int64 `json:"mostFinished"` // most finished Jobs at one time

	// BusySeconds is the time in which pods worked. IdleSeconds is the time in which scheduled
	// pods did not: starting, waiting for an item, terminating.
	BusySeconds float64 `json:"busySeconds"`
	IdleSeconds float64 `json:"idleSeconds"`

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

	Queues   []QueueSummary   `json:"queues"`
	Clusters []ClusterSummary `json:"clusters,omitempty"` // if there are several
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

// A QueueSummary counts the items of a queue.
type QueueSummary struct {
	Name    string `json:"name,omitempty"`
	Arrived int64  `json:"arrived"`
	Done    int64  `json:"done"`
	Lost    int64  `json:"lost"`
}

// A ClusterSummary holds the numbers of a cluster.
type ClusterSummary struct {
	Name        string  `json:"name"`
	JobsCreated int64   `json:"jobsCreated"`
	PeakJobs    int64   `json:"peakJobs"`
	BusySeconds float64 `json:"busySeconds"`
	IdleSeconds float64 `json:"idleSeconds"`
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
	Offered float64 `json:"-"` // seconds of service of all items so far
}

// A ClusterTick is the part of a Tick for a cluster.
type ClusterTick struct {
	Created int64 `json:"created"`
	Running int64 `json:"running"`
	Pending int64 `json:"pending"`
}

// String returns the summary in aligned lines, without a newline at the end.
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

// percentiles returns the quantiles of sorted times at each percent.
func percentiles(sorted []Duration) (all []float64) {
	for percent := 0; percent <= 100 && len(sorted) > 0; percent++ {
		all = append(all, sorted[max(0, (len(sorted)*percent+99)/100-1)].seconds())
	}
	return all
}

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
