// Package metrics has the operator's metrics for Prometheus.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// Metrics holds the metrics of all ScaledJobs. A ScaledJob has a series of each from when it
// is first reconciled until it is gone, or has another queue.
type Metrics struct {
	depth, active, desired *prometheus.GaugeVec
	reconciles, errors     *prometheus.CounterVec

	mu     sync.Mutex
	queues map[types.NamespacedName]string // that the series are labelled with
}

// New registers the metrics.
func New(r prometheus.Registerer) *Metrics {
	labels := []string{"namespace", "scaledjob", "queue"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "scaledjob", Name: name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "scaledjob", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		depth:      gauge("queue_depth", "Items that waited at the last reconcile; none if the queue could not be read."),
		active:     gauge("active_jobs", "Jobs that have not finished, those just created included."),
		desired:    gauge("desired_jobs", "Jobs that there should be; none if the queue could not be read."),
		reconciles: counter("reconcile_total", "Reconciles."),
		errors:     counter("reconcile_errors_total", "Reconciles in which something failed: the queue's reading, too."),
		queues:     map[types.NamespacedName]string{},
	}
	r.MustRegister(m.depth, m.active, m.desired, m.reconciles, m.errors)
	return m
}

// Reconciling counts a reconcile.
func (m *Metrics) Reconciling(sj *v1.ScaledJob) {
	m.follow(sj)
	m.reconciles.With(labels(sj)).Inc()
	m.errors.With(labels(sj)).Add(0)
}

// Failed counts a failed reconcile.
func (m *Metrics) Failed(sj *v1.ScaledJob) { m.errors.With(labels(sj)).Inc() }

// Active is how many Jobs are active.
func (m *Metrics) Active(sj *v1.ScaledJob, jobs int32) { m.active.With(labels(sj)).Set(float64(jobs)) }

// Queue is what is known of the queue.
func (m *Metrics) Queue(sj *v1.ScaledJob, depth int64, desired int32) {
	m.depth.With(labels(sj)).Set(float64(depth))
	m.desired.With(labels(sj)).Set(float64(desired))
}

// QueueUnknown notes that the queue could not be read: unknown is not 0.
func (m *Metrics) QueueUnknown(sj *v1.ScaledJob) {
	m.depth.Delete(labels(sj))
	m.desired.Delete(labels(sj))
}

// follow ends the series of a ScaledJob that has another queue now.
func (m *Metrics) follow(sj *v1.ScaledJob) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := types.NamespacedName{Namespace: sj.Namespace, Name: sj.Name}
	if queue, ok := m.queues[name]; ok && queue != sj.Spec.QueueName {
		m.remove(name)
	}
	m.queues[name] = sj.Spec.QueueName
}

// Forget ends the series of a ScaledJob that is gone.
func (m *Metrics) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queues, name)
	m.remove(name)
}

func (m *Metrics) remove(name types.NamespacedName) {
	of := prometheus.Labels{"namespace": name.Namespace, "scaledjob": name.Name}
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{m.depth, m.active, m.desired, m.reconciles, m.errors} {
		v.DeletePartialMatch(of)
	}
}

func labels(sj *v1.ScaledJob) prometheus.Labels {
	return prometheus.Labels{"namespace": sj.Namespace, "scaledjob": sj.Name, "queue": sj.Spec.QueueName}
}
