package main

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/scaling"
)

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("scaledjob_"+name, help, labels, nil)
}

func perObject(name, help string, labels ...string) *prometheus.Desc {
	return description(name, help, append([]string{"namespace", "scaledjob"}, labels...)...)
}

// Metrics of the process.
var (
	leader        = description("leader", "1 if this process acts, 0 if another process leads.")
	objects       = description("scaledjobs", "ScaledJobs that this process polls.")
	lastPoll      = description("last_poll_timestamp_seconds", "When a poll ended last, or when this process became the leader.")
	lag           = description("scheduler_lag_seconds", "Time for which the poll has waited that is due the longest and has not begun.")
	polls         = description("polls", "Polls that are due or under way.", "state")
	requestSlots  = description("request_slots", "Requests that may be in flight.")
	openRequests  = description("requests", "Requests to the API server that are in flight, or wait.", "state")
	congestedJobs = description("congested_scaledjobs", "ScaledJobs whose requests were refused or hang, and share a quarter of the slots.")
	synced        = description("cache_synced", "1 if the Jobs are known.")
	kedaAway      = description("keda_unavailable", "1 while KEDA cannot be asked, for a reason.", "reason")
	cacheAge      = description("cache_age_seconds", "Time since the watch of Jobs delivered an event or a bookmark, which comes about every minute.")
)

// Metrics of a ScaledJob. A series appears when it is not 0.
var (
	queueLength = perObject("queue_length", "Queue length that a trigger read last; none if it could not be read.", "trigger")
	jobs        = perObject("jobs", "Unfinished Jobs at the last poll, before it created any. Pending Jobs are running too, and stuck Jobs pending.", "state")
	maximum     = perObject("jobs_max", "Greatest number of unfinished Jobs.")
	created     = perObject("jobs_created_total", "Jobs created.")
	deleted     = perObject("jobs_deleted_total", "Jobs deleted: by rollout, or by the limits of the history.", "reason")
	failures    = perObject("errors_total", "Polls with an invalid spec, or in which an operation failed.", "operation")
	failing     = perObject("failing_since_timestamp_seconds", "When an operation began to fail, if it has failed in each poll since.", "operation")
	kedaPeriod  = perObject("keda_poll_seconds", "Time between KEDA's polls, if KEDA polls less often than asked.")
	isCongested = perObject("congested", "1 while requests of the ScaledJob are refused or hang.")
)

// totals are counters of the process that begin at 0.
type totals struct {
	created          prometheus.Counter
	deleted, errors  *prometheus.CounterVec
	stopped, answers *prometheus.CounterVec
	pollDuration     prometheus.Histogram
}

func newTotals() *totals {
	counters := func(name, help string, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "scaledjob", Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	t := &totals{
		created: prometheus.NewCounter(prometheus.CounterOpts{Namespace: "scaledjob", Name: "all_jobs_created_total", Help: "Jobs created, of all ScaledJobs."}),
		deleted: counters("all_jobs_deleted_total", "Jobs deleted, of all ScaledJobs.", "reason", "rollout", "history"),
		errors:  counters("all_errors_total", "Polls in which an operation failed, of all ScaledJobs.", "operation", operationNames[:]...),
		stopped: counters("plans_stopped_total", "Plans that stopped before they were carried out.", "reason", stops...),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "scaledjob", Name: "requests_total", Help: "Answers of the API server. Code 0 is no answer in time. Overload is the API server's own refusal.",
		}, []string{"verb", "resource", "code", "overload"}),
		// A histogram for each ScaledJob would take more memory than all else about it.
		pollDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "scaledjob", Name: "poll_duration_seconds", Help: "Time from when a poll is due until its Jobs are created.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60},
		}),
	}
	for _, code := range []string{"0", "429", "500"} {
		t.answers.WithLabelValues("POST", "jobs", code, "false")
	}
	t.answers.WithLabelValues("POST", "jobs", "429", "true")
	return t
}

// stops are the reasons that stop a plan.
var stops = []string{"edit", "age", "lease", "other"}

// stop returns the reason that stopped a plan.
func stop(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "was edited"):
		return "edit"
	case strings.Contains(text, " old"):
		return "age"
	case errors.Is(err, requests.ErrEnded):
		return "lease"
	}
	return "other"
}

// observe counts an answer, and logs that the API server is overloaded, once in a while.
func (c *controller) observe(a loop.Answer) {
	verb, resource, _ := strings.Cut(a.Kind, " ")
	overloaded := a.Answer == requests.Overloaded
	c.totals.answers.WithLabelValues(verb, resource, strconv.Itoa(a.Code), strconv.FormatBool(overloaded)).Inc()
	now := time.Now().Unix()
	if a.Answer == requests.Success || a.Answer == requests.Neutral || now-c.warned.Load() < 10 {
		return
	}
	switch s := c.Queue.Stats(); {
	case overloaded:
		c.warned.Store(now)
		c.log.Warn("the API server is overloaded: it refused a request, and fewer are sent", "status", a.Code, "kind", a.Kind,
			"retryAfter", a.RetryAfter, "held", s.Held)
	case s.Widespread:
		c.warned.Store(now)
		c.log.Warn("requests of ScaledJobs in half of the namespaces are refused or hang, and a third fewer are sent", "status", a.Code,
			"kind", a.Kind, "scaledjobs", s.Owners)
	}
}

// Operations that may fail.
const (
	failedSpec = iota
	failedTriggers
	failedCreate
	failedDelete
	failedStatus
	operations
)

var operationNames = [operations]string{"spec", "triggers", "create", "delete", "status"}

// longestLabel bounds the name of a trigger. Of more than 32 triggers, none is read.
const longestLabel = 63

// A tally holds the metrics of a ScaledJob. The zero value was never polled.
type tally struct {
	polled                    bool
	queues                    []queue
	counts                    scaling.JobCounts
	max                       int64
	created, rollout, history int64
	slow                      time.Duration // between KEDA's polls
	errors                    [operations]int64
	failing                   [operations]time.Time // since when; zero if the last was no failure
}

type queue struct {
	trigger string
	length  float64
}

// add adds a poll. Without a valid spec no queue is read, and no Job counted.
func (t *tally) add(sums *totals, p scaledjob.PollResult, metrics []scaling.Metric) {
	t.polled, t.queues, t.counts, t.max = p.Invalid == nil, t.queues[:0], p.Decision.Trace.Jobs, p.Decision.Trace.Bounds.Max
	names := map[string]bool{}
	for _, m := range metrics {
		name := label(m.Name)
		if !m.Failed && !names[name] {
			names[name] = true
			t.queues = append(t.queues, queue{name, m.Value})
		}
	}
	t.created += p.Result.Created
	t.rollout += int64(p.Result.Outdated)
	t.history += int64(p.Result.Pruned)
	sums.created.Add(float64(p.Result.Created))
	sums.deleted.WithLabelValues("rollout").Add(float64(p.Result.Outdated))
	sums.deleted.WithLabelValues("history").Add(float64(p.Result.Pruned))
	if errors.Is(p.Applied, adapter.ErrOutdated) {
		sums.stopped.WithLabelValues(stop(p.Applied)).Inc()
	}
	failed := adapter.WithoutOutdated(p.Applied) != nil
	var create *adapter.CreateError
	creating := errors.As(p.Applied, &create)
	for operation, failing := range [operations]bool{
		failedSpec: p.Invalid != nil, failedTriggers: p.Unread != nil, failedCreate: failed && creating, failedDelete: failed && !creating,
	} {
		switch {
		case failing:
			t.fail(sums, operation)
		case operation != failedStatus: // which is written later
			t.failing[operation] = time.Time{}
		}
	}
}

func (t *tally) fail(sums *totals, operation int) {
	t.errors[operation]++
	if t.failing[operation].IsZero() {
		t.failing[operation] = time.Now()
	}
	sums.errors.WithLabelValues(operationNames[operation]).Inc()
}

// label cuts a label's value, between characters.
func label(s string) string { return strings.ToValidUTF8(s[:min(len(s), longestLabel)], "") }

// send sends the metrics of a ScaledJob: only its faults if brief.
func (e *entry) send(to chan<- prometheus.Metric, brief bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		if value != 0 || d == queueLength {
			to <- prometheus.MustNewConstMetric(d, kind, value, append([]string{e.name.Namespace, e.name.Name}, labels...)...)
		}
	}
	t := &e.tally
	for operation, n := range t.errors {
		send(failures, prometheus.CounterValue, float64(n), operationNames[operation])
		if start := t.failing[operation]; !start.IsZero() {
			send(failing, prometheus.GaugeValue, float64(start.Unix()), operationNames[operation])
		}
	}
	if brief {
		return
	}
	if t.polled {
		for _, q := range t.queues {
			send(queueLength, prometheus.GaugeValue, q.length, q.trigger)
		}
		send(jobs, prometheus.GaugeValue, float64(t.counts.Running), "running")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Pending), "pending")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Stuck), "stuck")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Terminating), "terminating")
		send(jobs, prometheus.GaugeValue, float64(t.counts.InFlight), "in_flight")
		send(maximum, prometheus.GaugeValue, float64(t.max))
	}
	send(kedaPeriod, prometheus.GaugeValue, t.slow.Seconds())
	send(created, prometheus.CounterValue, float64(t.created))
	send(deleted, prometheus.CounterValue, float64(t.rollout), "rollout")
	send(deleted, prometheus.CounterValue, float64(t.history), "history")
}

// unanswered sends how many creates of a ScaledJob have no answer: they hold capacity.
func (e *entry) unanswered(t *term, to chan<- prometheus.Metric) {
	e.mu.Lock()
	inFlight := e.tally.counts.InFlight
	e.mu.Unlock()
	if inFlight == 0 { // most ScaledJobs, whose Jobs are not listed
		return
	}
	n := 0
	tracked, _ := t.tracker.Jobs(e.uid)
	for _, j := range tracked {
		if j.Phase == adapter.InFlight && j.UID == "" {
			n++
		}
	}
	if n > 0 {
		to <- prometheus.MustNewConstMetric(jobs, prometheus.GaugeValue, float64(n), e.name.Namespace, e.name.Name, "unanswered")
	}
}

// Describe sends no descriptions: the series come and go.
func (c *controller) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the process, and of each ScaledJob while it leads.
func (c *controller) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	slow := c.Queue.Congested()
	s := c.Queue.Stats()
	gauge(requestSlots, float64(s.Slots))
	gauge(congestedJobs, float64(s.Owners))
	for state, n := range map[string]int{"in_flight": s.InFlight, "congested": s.Congested, "hanging": s.Hanging, "waiting": s.Waiting, "held": s.Held} {
		gauge(openRequests, float64(n), state)
	}
	t := c.term.Load()
	if t == nil {
		gauge(leader, 0)
		return
	}
	entries := t.listEntries()
	p := t.polls.Stats()
	gauge(leader, 1)
	gauge(objects, float64(len(entries)))
	gauge(lastPoll, float64(p.Last.UnixMilli())/1000)
	gauge(lag, p.Lag.Seconds())
	gauge(polls, float64(p.Busy), "busy")
	gauge(polls, float64(p.Waiting), "waiting")
	known := 0.
	if t.tracker.HasSynced() {
		known = 1
	}
	gauge(synced, known)
	if reason := t.reader.Available(); reason != "" {
		gauge(kedaAway, 1, string(reason))
	}
	if heard := t.tracker.Heard(); !heard.IsZero() {
		gauge(cacheAge, time.Since(heard).Seconds())
	}
	for _, e := range entries {
		e.send(to, c.aggregate)
		e.unanswered(t, to)
	}
	for _, o := range slow {
		if t.entry(cache.ObjectName(o)) != nil {
			gauge(isCongested, 1, o.Namespace, o.Name)
		}
	}
}

func (c *controller) metrics() http.Handler {
	t := c.totals
	return process.Metrics(c, t.created, t.deleted, t.errors, t.stopped, t.answers, t.pollDuration,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
