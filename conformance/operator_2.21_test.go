//go:build !keda2.20 && !keda2.19 && !keda2.18 && !keda2.16 && !keda2.13 && !keda2.8

package conformance

import (
	"context"
	"time"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newOperator(c client.Client) requestJobScale {
	e := executor.NewScaleExecutor(c, nil, scheme, time.Minute, &events.FakeRecorder{})
	return func(j *v1alpha1.ScaledJob, active bool, scaleTo, maxScale int64) {
		e.RequestJobScale(context.Background(), j, active, false, scaleTo, maxScale, executor.ScaleExecutorOptions{})
	}
}
