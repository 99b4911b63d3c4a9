//go:build !keda2.7

package aggregate

import (
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/scaledjob/scaledjob/keda"
)

func specOf(j *keda.ScaledJob) *v1alpha1.ScaledJob {
	return &v1alpha1.ScaledJob{Spec: v1alpha1.ScaledJobSpec{
		MinReplicaCount: j.Spec.MinReplicaCount, MaxReplicaCount: j.Spec.MaxReplicaCount}}
}
