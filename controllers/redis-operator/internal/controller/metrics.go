package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// Metrics are the metrics of all ScaledJobs. A ScaledJob has a series of each from its first reconcile until it is
// deleted, or has another queue.
type Metrics struct {
	depth, active, desired *prometheus.GaugeVec
	reconciles, errors     *prometheus.CounterVec

	mu     sync.Mutex
	queues map[client.ObjectKey]string
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"namespace", "scaledjob", "queue"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Name: "scaledjob_" + name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: "scaledjob_" + name, Help: help}, labels)
	}
	return &Metrics{
		queues:     map[client.ObjectKey]string{},
		depth:      gauge("queue_depth", "Items that waited at the last reconcile; none if the queue could not be read."),
		active:     gauge("active_jobs", "Jobs that have not finished, those just created included."),
		desired:    gauge("desired_jobs", "Jobs that there should be; none if the queue could not be read."),
		reconciles: counter("reconcile_total", "Reconciles."),
		errors:     counter("reconcile_errors_total", "Reconciles in which something failed: the queue's reading, too."),
	}
}

// reconciled takes over the outcome of a reconcile.
func (m *Metrics) reconciled(sj *v1.ScaledJob, o outcome, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, queue := client.ObjectKeyFromObject(sj), sj.Spec.QueueName
	if before, known := m.queues[name]; known && before != queue {
		m.end(name)
	}
	m.queues[name] = queue
	m.active.WithLabelValues(name.Namespace, name.Name, queue).Set(float64(o.active))
	m.reconciles.WithLabelValues(name.Namespace, name.Name, queue).Inc()
	errors := m.errors.WithLabelValues(name.Namespace, name.Name, queue) // begins with 0
	if failed {
		errors.Inc()
	}
	if o.read() {
		m.depth.WithLabelValues(name.Namespace, name.Name, queue).Set(float64(o.depth))
		m.desired.WithLabelValues(name.Namespace, name.Name, queue).Set(float64(o.desired))
	} else {
		m.depth.DeleteLabelValues(name.Namespace, name.Name, queue)
		m.desired.DeleteLabelValues(name.Namespace, name.Name, queue)
	}
}

// forget ends the series of a ScaledJob that is deleted.
func (m *Metrics) forget(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queues, name)
	m.end(name)
}

func (m *Metrics) end(name client.ObjectKey) {
	for _, series := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.depth, m.active, m.desired, m.reconciles, m.errors} {
		series.DeletePartialMatch(prometheus.Labels{"namespace": name.Namespace, "scaledjob": name.Name})
	}
}
