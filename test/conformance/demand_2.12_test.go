//go:build !keda2.8

package conformance

import (
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
	"k8s.io/api/autoscaling/v2"
	"k8s.io/metrics/pkg/apis/external_metrics"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// demand is what KEDA's functions make of the scalers, asked as its scale handler
// asks them.
func demand(j *v1alpha1.ScaledJob, scalers []keda.Scaler) demanded {
	entries := make([]scaledjob.ScalerMetrics, 0, len(scalers))
	for i := range scalers {
		entries = append(entries, read(&scalers[i], j.MaxReplicaCount())...)
	}
	var d demanded
	d.active, d.queueLength, d.maxScale, _ = scaledjob.IsScaledJobActive(
		entries, j.Spec.ScalingStrategy.MultipleScalersCalculation, j.MinReplicaCount(), j.MaxReplicaCount())
	return d
}

// read asks one scaler for each of its metrics.
func read(s *keda.Scaler, most int64) (entries []scaledjob.ScalerMetrics) {
	specs := make([]v2.MetricSpec, 0, len(s.Metrics))
	for i := range s.Metrics {
		specs = append(specs, specOf(&s.Metrics[i]))
	}
	active := false
	for i, spec := range specs {
		if spec.External == nil || s.Failed || s.Metrics[i].Failed {
			continue
		}
		active = active || s.Activity == scaling.Active || s.Metrics[i].Activity == scaling.Active
		queue, jobs, _ := scaledjob.CalculateQueueLengthAndMaxValue(readings(s, s.Metrics[i].Name), specs, most)
		entries = append(entries, scaledjob.ScalerMetrics{QueueLength: queue, MaxValue: jobs, IsActive: active})
	}
	return entries
}

func specOf(m *keda.Metric) (spec v2.MetricSpec) {
	if m.Resource {
		return spec
	}
	spec.External = &v2.ExternalMetricSource{Metric: v2.MetricIdentifier{Name: m.Name}}
	if m.AverageValue != 0 {
		spec.External.Target.AverageValue = quantity(m.AverageValue)
	}
	return spec
}

// readings are what a scaler reports for one name.
func readings(s *keda.Scaler, name string) (values []external_metrics.ExternalMetricValue) {
	for _, m := range s.Metrics {
		if m.Name == name && !m.Resource {
			values = append(values, external_metrics.ExternalMetricValue{MetricName: name, Value: *quantity(m.Value)})
		}
	}
	return values
}
