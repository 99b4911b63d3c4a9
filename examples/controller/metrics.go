package main

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("scaledjob_"+name, help, append([]string{"namespace", "scaledjob"}, labels...), nil)
}

var (
	queueLength = description("queue_length", "Queue length that a trigger read last; none if it could not be read.", "trigger")
	jobs        = description("jobs", "Unfinished Jobs at the last poll, before it created any. Pending Jobs are running too, and stuck Jobs pending.", "state")
	created     = description("jobs_created_total", "Jobs created.")
	deleted     = description("jobs_deleted_total", "Jobs deleted: by rollout, or by the limits of the history.", "reason")
	failures    = description("errors_total", "Polls with an invalid spec, or in which an operation failed.", "operation")
)

// pollDuration is of all ScaledJobs together: a histogram for each would take more memory
// than all else about a ScaledJob.
var pollDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
	Namespace: "scaledjob", Name: "poll_duration_seconds", Help: "Time from the beginning of a poll until its Jobs are created.",
	Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60},
})

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

// A tally holds the metrics of a ScaledJob. The zero value was never polled.
type tally struct {
	polled                    bool
	queues                    []queue
	counts                    scaling.JobCounts
	created, rollout, history int64
	errors                    [operations]int64
}

type queue struct {
	trigger string
	length  float64
}

// add adds a poll. Without a valid spec no queue is read, and no Job counted.
func (t *tally) add(p scaledjob.PollResult, metrics []scaling.Metric) {
	t.polled, t.queues, t.counts = p.Invalid == nil, t.queues[:0], p.Decision.Trace.Jobs
	for _, m := range metrics {
		if !m.Failed {
			t.queues = append(t.queues, queue{m.Name, m.Value})
		}
	}
	t.created += p.Result.Created
	t.rollout += int64(p.Result.Outdated)
	t.history += int64(p.Result.Pruned)
	failed := adapter.WithoutOutdated(p.Applied) != nil
	var create *adapter.CreateError
	creating := errors.As(p.Applied, &create)
	for operation, is := range [operations]bool{
		failedSpec: p.Invalid != nil, failedTriggers: p.Unread != nil, failedCreate: failed && creating, failedDelete: failed && !creating,
	} {
		if is {
			t.errors[operation]++
		}
	}
}

// send sends the metrics of a ScaledJob.
func (e *entry) send(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, append([]string{e.name.Namespace, e.name.Name}, labels...)...)
	}
	t := &e.tally
	if t.polled {
		for _, q := range t.queues {
			send(queueLength, prometheus.GaugeValue, q.length, q.trigger)
		}
		send(jobs, prometheus.GaugeValue, float64(t.counts.Running), "running")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Pending), "pending")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Stuck), "stuck")
		send(jobs, prometheus.GaugeValue, float64(t.counts.Terminating), "terminating")
	}
	send(created, prometheus.CounterValue, float64(t.created))
	send(deleted, prometheus.CounterValue, float64(t.rollout), "rollout")
	send(deleted, prometheus.CounterValue, float64(t.history), "history")
	for operation, n := range t.errors {
		if n > 0 {
			send(failures, prometheus.CounterValue, float64(n), operationNames[operation])
		}
	}
}

// Describe sends the descriptions.
func (c *controller) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queueLength, jobs, created, deleted, failures} {
		to <- d
	}
}

// Collect sends the metrics of all ScaledJobs. A controller that does not lead has none.
func (c *controller) Collect(to chan<- prometheus.Metric) {
	if t := c.term.Load(); t != nil {
		for _, e := range t.all() {
			e.send(to)
		}
	}
}

func (c *controller) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, pollDuration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
