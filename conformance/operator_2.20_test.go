//go:build keda2.20

package conformance

import (
	"context"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newOperator(c client.Client) requestJobScale {
	e := executor.NewScaleExecutor(c, nil, scheme, &events.FakeRecorder{})
	return func(j *v1alpha1.ScaledJob, active bool, scaleTo, maxScale int64) {
		e.RequestJobScale(context.Background(), j, active, false, scaleTo, maxScale, executor.ScaleExecutorOptions{})
	}
}
