package conformance

import (
	"context"
	"reflect"
	"time"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/strategy"
)

// call calls a function whose parameters differ between releases. Each parameter is the next
// argument of its type, or else zero.
func call(function any, args ...any) []reflect.Value {
	f := reflect.ValueOf(function)
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		kind := f.Type().In(i)
		in[i] = reflect.Zero(kind)
		for k, arg := range args {
			if arg != nil && reflect.TypeOf(arg).AssignableTo(kind) {
				in[i], args[k] = reflect.ValueOf(arg), nil
				break
			}
		}
	}
	if f.Type().IsVariadic() {
		return f.Call(in[:len(in)-1])
	}
	return f.Call(in)
}

func newOperator(c client.Client) requestJobScale {
	e := call(executor.NewScaleExecutor, c, scheme, time.Minute, &record.FakeRecorder{}, &events.FakeRecorder{})[0].Interface().(executor.ScaleExecutor)
	return func(j *v1alpha1.ScaledJob, active bool, scaleTo, maxScale int64) {
		call(e.RequestJobScale, context.Background(), j, active, scaleTo, maxScale)
	}
}

// effectiveMaxScale returns the answer of a strategy. Before eager, none changed the scale asked for.
func effectiveMaxScale(s executor.ScalingStrategy, l strategy.Load, scaleTo int64) (int64, int64) {
	out := call(s.GetEffectiveMaxScale, l.Target, l.Running, l.Pending, l.Max, scaleTo)
	if len(out) == 1 {
		return out[0].Int(), scaleTo
	}
	return out[0].Int(), out[1].Int()
}
