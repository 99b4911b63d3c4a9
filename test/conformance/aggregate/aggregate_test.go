package aggregate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scaling/cache"
	"k8s.io/api/autoscaling/v2beta2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// checks is how many random cases are tried, unless -rapid.checks says otherwise.
const checks = "100000"

var (
	profile            keda.Profile
	cases, differences atomic.Int64
)

func TestMain(m *testing.M) {
	var err error
	if profile, err = keda.Release(required((*cache.ScalersCache).IsScaledJobActive)); err != nil {
		panic(err)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	status := m.Run()
	fmt.Printf("| %s, aggregate | %d cases | %d differences |\n", profile.Release(), cases.Load(), differences.Load())
	os.Exit(status)
}

// required returns the version of the module that a function was compiled from:
// the path of its file has it.
func required(function any) string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).FileLine(0)
	_, version, _ := strings.Cut(file, "@")
	version, _, _ = strings.Cut(version, "/")
	return version
}

// A scaler reports what the model's does, to KEDA.
type scaler struct{ *keda.Scaler }

func (s scaler) GetMetrics(_ context.Context, name string, _ labels.Selector) (values []external_metrics.ExternalMetricValue, _ error) {
	for _, m := range s.Metrics {
		if m.Name == name && !m.Resource {
			values = append(values, external_metrics.ExternalMetricValue{MetricName: name, Value: *quantity(m.Value)})
		}
	}
	return values, nil
}

func (s scaler) GetMetricSpecForScaling(context.Context) (specs []v2beta2.MetricSpec) {
	for _, m := range s.Metrics {
		var spec v2beta2.MetricSpec
		if !m.Resource {
			spec.External = &v2beta2.ExternalMetricSource{Metric: v2beta2.MetricIdentifier{Name: m.Name}}
			if m.AverageValue != 0 {
				spec.External.Target.AverageValue = quantity(m.AverageValue)
			}
		}
		specs = append(specs, spec)
	}
	return specs
}

func (s scaler) IsActive(context.Context) (bool, error) {
	if s.Failed || s.Metrics[0].Failed {
		return false, errors.New("failed")
	}
	return s.Activity == scaling.Active || s.Metrics[0].Activity == scaling.Active, nil
}

func (s scaler) Close(context.Context) error { return nil }

// quantity is a number of thousandths, as scalers report them.
func quantity(x float64) *resource.Quantity {
	if x >= 1<<53 || x <= -1<<53 || x == math.Trunc(x) {
		return resource.NewQuantity(int64(x), resource.DecimalSI)
	}
	return resource.NewMilliQuantity(int64(math.Round(x*1000)), resource.DecimalSI)
}

// demanded is what the scalers come to.
type demanded struct {
	active, panicked      bool
	queueLength, maxScale int64
}

func operator(j *keda.ScaledJob, reported []keda.Scaler) (d demanded) {
	spec := specOf(j)
	spec.Spec.ScalingStrategy.MultipleScalersCalculation = j.Spec.ScalingStrategy.MultipleScalersCalculation
	c := cache.ScalersCache{Logger: logr.Discard(), Recorder: &record.FakeRecorder{}}
	for i := range reported {
		s := scaler{&reported[i]}
		c.Scalers = append(c.Scalers, cache.ScalerBuilder{Scaler: s, Factory: func() (scalers.Scaler, error) { return s, nil }})
	}
	defer func() {
		if recover() != nil {
			d = demanded{panicked: true}
		}
	}()
	d.active, d.queueLength, d.maxScale = c.IsScaledJobActive(context.Background(), spec)
	return d
}

func propAggregate(t *rapid.T) {
	j := drawScaledJob(t)
	reported := drawScalers(t)
	d := profile.Aggregate(j, reported)
	model := demanded{d.Active, d.Fault.Panics(), d.QueueLength, d.MaxScale}
	cases.Add(1)
	if got := operator(j, reported); got != model {
		differences.Add(1)
		t.Fatalf("model %+v, KEDA %+v: %+v of %+v", model, got, reported, j.Spec)
	}
}

// What a release before 2.12 makes of its scalers, failing ones too.
func TestAggregate(t *testing.T) { rapid.Check(t, propAggregate) }

func drawScaledJob(t *rapid.T) *keda.ScaledJob {
	bounds := rapid.SampledFrom([]*int32{nil, new(int32(-3)), new(int32(0)), new(int32(1)), new(int32(5)), new(int32(12)), new(int32(1000))})
	j := &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: bounds.Draw(t, "min"), MaxReplicaCount: bounds.Draw(t, "max")}}
	j.Spec.ScalingStrategy.MultipleScalersCalculation = rapid.SampledFrom([]string{"", "max", "min", "avg", "sum", "median"}).Draw(t, "calculation")
	return j
}

func drawScalers(t *rapid.T) []keda.Scaler {
	thousandths := rapid.OneOf(rapid.IntRange(0, 20_000), rapid.Map(rapid.IntRange(-3, 20), func(n int) int { return n * 1000 }),
		rapid.IntRange(-3000, 0))
	value := rapid.Map(thousandths, func(n int) float64 { return quantity(float64(n) / 1000).AsApproximateFloat64() })
	reported := make([]keda.Scaler, rapid.IntRange(0, 4).Draw(t, "scalers"))
	for i := range reported {
		s := keda.Scaler{Activity: scaling.Inactive, Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0}
		if rapid.IntRange(0, 4).Draw(t, "active") > 0 {
			s.Activity = scaling.Active
		}
		for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "metrics") {
			m := keda.Metric{
				Name:  rapid.SampledFrom([]string{"queueLength", "queueLength", "other"}).Draw(t, "name"),
				Value: value.Draw(t, "value"), AverageValue: value.Draw(t, "target"),
				Failed: rapid.IntRange(0, 9).Draw(t, "metric failed") == 0,
			}
			if rapid.IntRange(0, 4).Draw(t, "metric active") == 0 {
				m.Activity = scaling.Active
			}
			switch rapid.IntRange(0, 39).Draw(t, "odd") {
			case 0:
				m = keda.Metric{Resource: true}
			case 1:
				m.Value = rapid.SampledFrom([]float64{1 << 62, 9.2e18, -9.2e18}).Draw(t, "huge")
			}
			s.Metrics = append(s.Metrics, m)
		}
		reported[i] = s
	}
	return reported
}
