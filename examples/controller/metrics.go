package main

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"
)

// metrics are those of all ScaledJobs, with the labels namespace and scaledjob.
type metrics struct {
	registry *prometheus.Registry
	queue    *prometheus.GaugeVec   // and trigger
	jobs     *prometheus.GaugeVec   // and state
	created  *prometheus.CounterVec // Jobs
	deleted  *prometheus.CounterVec // Jobs, and reason
	errors   *prometheus.CounterVec // and of
	poll     *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	labels := func(more ...string) []string { return append([]string{"namespace", "scaledjob"}, more...) }
	gauge := func(name, help string, labels []string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "scaledjob", Name: name, Help: help}, labels)
	}
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "scaledjob", Name: name, Help: help}, labels)
	}
	m.queue = gauge("queue_length", "Queue length that a trigger read last; none if it could not be read.", labels("trigger"))
	m.jobs = gauge("jobs", "Unfinished Jobs at the last poll, before it created any. Pending ones are running too, and stuck ones pending.", labels("state"))
	m.created = counter("jobs_created_total", "Jobs created.", labels())
	m.deleted = counter("jobs_deleted_total", "Jobs deleted: by rollout, or by the history's limits.", labels("reason"))
	m.errors = counter("errors_total", "Polls in which something went wrong, and with what.", labels("with"))
	m.poll = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "scaledjob", Name: "poll_seconds", Help: "Time from a poll's beginning until its Jobs were created.",
		Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60},
	}, labels())
	m.registry.MustRegister(m.queue, m.jobs, m.created, m.deleted, m.errors, m.poll,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// of returns the metrics of one ScaledJob.
func (m *metrics) of(namespace, name string) *gauges {
	return &gauges{all: m, labels: prometheus.Labels{"namespace": namespace, "scaledjob": name}}
}

// gauges are the metrics of one ScaledJob.
type gauges struct {
	all    *metrics
	labels prometheus.Labels

	mu       sync.Mutex
	removed  bool
	triggers map[string]bool // that have a queue length
}

func (g *gauges) polled(metrics []scaling.Metric, d scaling.Decision, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return
	}
	queue := g.all.queue.MustCurryWith(g.labels)
	read := map[string]bool{}
	for _, m := range metrics {
		if !m.Failed {
			queue.WithLabelValues(m.Name).Set(m.Value)
			read[m.Name] = true
		}
	}
	for name := range g.triggers {
		if !read[name] { // now, or it is not a trigger any more
			queue.DeleteLabelValues(name)
		}
	}
	g.triggers = read
	jobs := g.all.jobs.MustCurryWith(g.labels)
	for state, n := range map[string]int64{
		"running": d.Trace.Jobs.Running, "pending": d.Trace.Jobs.Pending, "stuck": d.Trace.Jobs.Stuck, "terminating": d.Trace.Jobs.Terminating,
	} {
		jobs.WithLabelValues(state).Set(float64(n))
	}
	g.all.poll.With(g.labels).Observe(took.Seconds())
}

func (g *gauges) did(o adapter.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removed {
		return
	}
	if o.Invalid != nil { // no queue is read, and no Job counted
		g.all.queue.DeletePartialMatch(g.labels)
		g.all.jobs.DeletePartialMatch(g.labels)
		g.triggers = nil
	}
	g.all.created.With(g.labels).Add(float64(o.Result.Created))
	deleted := g.all.deleted.MustCurryWith(g.labels)
	deleted.WithLabelValues("rollout").Add(float64(o.Result.RolledOut))
	deleted.WithLabelValues("history").Add(float64(o.Result.Pruned))
	var create *adapter.CreateError
	for with, failed := range map[string]bool{
		"spec": o.Invalid != nil, "triggers": o.Unread != nil,
		"create": errors.As(o.Applied, &create), "delete": o.Applied != nil && create == nil,
	} {
		if failed {
			g.count(with)
		}
	}
}

func (g *gauges) failed(with string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.removed {
		g.count(with)
	}
}

func (g *gauges) count(with string) {
	g.all.errors.MustCurryWith(g.labels).WithLabelValues(with).Inc()
}

// remove ends the series, for the ScaledJob is gone. The name's next one may begin them
// anew: a poll of this one that has not ended yet adds nothing to them.
func (g *gauges) remove() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed = true
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{g.all.queue, g.all.jobs, g.all.created, g.all.deleted, g.all.errors, g.all.poll} {
		v.DeletePartialMatch(g.labels)
	}
}
