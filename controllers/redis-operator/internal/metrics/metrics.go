// Package metrics has the operator's metrics for Prometheus.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func description(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("scaledjob_"+name, help, []string{"namespace", "scaledjob", "queue"}, nil)
}

var (
	depth      = description("queue_depth", "Items that waited at the last reconcile; none if the queue could not be read.")
	active     = description("active_jobs", "Jobs that have not finished, those just created included.")
	desired    = description("desired_jobs", "Jobs that there should be; none if the queue could not be read.")
	reconciles = description("reconcile_total", "Reconciles.")
	failures   = description("reconcile_errors_total", "Reconciles in which something failed: the queue's reading, too.")
)

// Metrics holds the metrics of all ScaledJobs. A ScaledJob has a series of each from its
// first reconcile until it is deleted, or has another queue.
type Metrics struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

type state struct {
	Reconcile
	queue              string
	reconciles, errors float64
}

// A Reconcile is the result of a reconcile.
type Reconcile struct {
	Active         int32
	Depth, Desired float64
	Read           bool // Depth and Desired are known
	Failed         bool
}

// New registers the metrics.
func New(r prometheus.Registerer) *Metrics {
	m := &Metrics{states: map[types.NamespacedName]*state{}}
	r.MustRegister(m)
	return m
}

// Reconciled takes over the result of a reconcile.
func (m *Metrics) Reconciled(sj *v1.ScaledJob, r Reconcile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := types.NamespacedName{Namespace: sj.Namespace, Name: sj.Name}
	s := m.states[name]
	if s == nil || s.queue != sj.Spec.QueueName {
		s = &state{queue: sj.Spec.QueueName}
		m.states[name] = s
	}
	s.Reconcile = r
	s.reconciles++
	if r.Failed {
		s.errors++
	}
}

// Forget ends the series of a ScaledJob that is deleted.
func (m *Metrics) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, name)
}

// Describe sends no descriptions: the series come and go.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.states {
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64) {
			to <- prometheus.MustNewConstMetric(d, kind, value, name.Namespace, name.Name, s.queue)
		}
		send(active, prometheus.GaugeValue, float64(s.Active))
		send(reconciles, prometheus.CounterValue, s.reconciles)
		send(failures, prometheus.CounterValue, s.errors)
		if s.Read {
			send(depth, prometheus.GaugeValue, s.Depth)
			send(desired, prometheus.GaugeValue, s.Desired)
		}
	}
}
