//go:build keda2.8

package conformance

import (
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/scaledjob/scaledjob/keda"
)

// demand is the model's own: these releases combine scalers in a package that
// needs every scaler there is. The module aggregate2.8 compares that.
func demand(j *v1alpha1.ScaledJob, scalers []keda.Scaler) demanded {
	j.MinReplicaCount() // which may panic
	spec := keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: j.Spec.MinReplicaCount, MaxReplicaCount: j.Spec.MaxReplicaCount}}
	spec.Spec.ScalingStrategy.MultipleScalersCalculation = j.Spec.ScalingStrategy.MultipleScalersCalculation
	d := profile.Aggregate(&spec, scalers)
	if d.Fault.Panics() {
		panic(d.Fault)
	}
	return demanded{d.Active, d.QueueLength, d.MaxScale}
}
