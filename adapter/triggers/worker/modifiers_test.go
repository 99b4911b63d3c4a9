package main

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
	"github.com/kedacore/keda/v2/pkg/scaling/cache"
	"github.com/kedacore/keda/v2/pkg/scaling/modifiers"
	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/metrics/pkg/apis/external_metrics"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A combined is a ScaledObject with a formula of the triggers a and b, and the same policy.
type combined struct {
	*rapid.T
	object *kedav1alpha1.ScaledObject
	cache  *cache.ScalersCache
	policy scaledobject.Policy
}

func drawCombined(t *rapid.T) *combined {
	formulas := []string{"a + b", "max([a, b])", "a > 2 ? a : 1", "(a ?? 1) * (b ?? 2)", "a ?? b ?? nil", "a ?? nil", "a ?? 4"}
	formula := rapid.SampledFrom(formulas).Draw(t, "formula")
	// KEDA ignores the fallback if the target is not whole.
	target, activation := rapid.IntRange(1, 5).Draw(t, "target"), rapid.IntRange(0, 8).Draw(t, "activation")
	p := scaledobject.DefaultPolicy()
	p.Max, p.Autoscaler = 1000, horizontal.DefaultPolicy(1000)
	p.Autoscaler.Tolerance = 0
	p.Modifiers = &scaledobject.Modifiers{Target: float64(target), Activation: float64(activation), Formula: func(values map[string]*float64) (*float64, error) {
		result := evaluate(&wire.Formula{Text: formula, Values: values})
		switch {
		case result.Error != "":
			return nil, errors.New(result.Error)
		case result.None:
			return nil, nil
		}
		return &result.Value, nil
	}}
	object := &kedav1alpha1.ScaledObject{Spec: kedav1alpha1.ScaledObjectSpec{
		Triggers: []kedav1alpha1.ScaleTriggers{{Type: "redis", Name: "a"}, {Type: "redis", Name: "b"}},
		Advanced: &kedav1alpha1.AdvancedConfig{ScalingModifiers: kedav1alpha1.ScalingModifiers{Formula: formula, Target: strconv.Itoa(target)}},
	}}
	program, err := kedav1alpha1.ValidateAndCompileScalingModifiers(object)
	require.NoError(t, err)
	if behavior := rapid.SampledFrom([]string{"", "static", "scalingModifiers"}).Draw(t, "behavior"); behavior != "" {
		p.Fallback = &scaledobject.Fallback{FailureThreshold: rapid.Int32Range(0, 2).Draw(t, "threshold"), Replicas: rapid.Int32Range(0, 9).Draw(t, "replicas"), Behavior: behavior}
		object.Spec.Fallback = &kedav1alpha1.Fallback{FailureThreshold: p.Fallback.FailureThreshold, Replicas: p.Fallback.Replicas, Behavior: behavior}
	}
	return &combined{t, object, &cache.ScalersCache{CompiledFormula: program}, p}
}

// read returns what KEDA reads: the metric of the formula, if it has one, and whether a
// trigger failed or fell back. A value is in milli-units; below 0, the trigger fails.
func (c *combined) read(values map[string]int64) (metric []external_metrics.ExternalMetricValue, failed, fellBack bool) {
	handler := fallback.ScaledObjectHandler{Ctx: context.Background(), KubeClient: unstored{}, UpdateLock: &sync.RWMutex{}, ScaledObject: c.object}
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{}}
	var fallbacks []external_metrics.ExternalMetricValue
	pairs := map[string]string{}
	for _, name := range []string{"a", "b"} {
		var problem error
		if values[name] < 0 {
			problem = errors.New("timeout")
		}
		value := external_metrics.ExternalMetricValue{MetricName: "s-" + name, Value: *resource.NewMilliQuantity(values[name], resource.DecimalSI)}
		pair, err := modifiers.GetPairTriggerAndMetric(c.object, value.MetricName, name)
		require.NoError(c, err)
		maps.Copy(pairs, pair)
		got, active, err := fallback.GetMetricsWithFallback(handler, []external_metrics.ExternalMetricValue{value}, problem, value.MetricName, spec)
		failed, metric = failed || err != nil, append(metric, got...)
		if active {
			fellBack, fallbacks = true, append(fallbacks, got...)
		}
	}
	if failed && !fellBack {
		return nil, true, false
	}
	return modifiers.HandleScalingModifiers(c.object, metric, pairs, fellBack, fallbacks, c.cache, logr.Discard()), failed, fellBack
}

// unstored is a client that stores no status.
type unstored struct{ client.Client }

func (unstored) Status() client.SubResourceWriter { return ignored{} }

type ignored struct{ client.SubResourceWriter }

func (ignored) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// Triggers, fallback and formula lead to the metric and the activity of KEDA. A formula that
// fails is unreadable here; for KEDA the workload is then inactive.
func propModifiers(t *rapid.T, n *premise.Counts) {
	c := drawCombined(t)
	var state scaledobject.State
	current := rapid.Int32Range(1, 20).Draw(t, "current")
	for i := range rapid.IntRange(1, 6).Draw(t, "reads") {
		values := map[string]int64{}
		o := scaledobject.Observation{Now: time.Unix(int64(i), 0), Replicas: current, StatusReplicas: current, Fresh: true}
		for _, name := range []string{"a", "b"} {
			m := horizontal.Metric{Target: horizontal.AverageValue, Amount: 1000}
			if values[name] = rapid.Int64Range(-9000, 20_000).Draw(t, name); values[name] < 0 {
				m.Unreadable = "timeout"
			} else {
				m.Values = []int64{values[name]}
			}
			o.Triggers = append(o.Triggers, scaledobject.Trigger{Name: name, Metric: m})
		}
		metric, failed, fellBack := c.read(values)
		is := scaledobject.Decide(c.policy, state, o)
		state.Record(c.policy, is)
		none := len(metric) == 0
		if is.Unreadable != (failed || none) || is.Fallback != fellBack {
			t.Fatalf("KEDA failed: %v, fell back: %v, has %v; here: %+v", failed, fellBack, metric, is)
		}
		n.Note("failed", failed)
		n.Note("fell back", fellBack)
		n.Note("a formula fails", none && !failed)
		if none {
			continue
		}
		active := !failed && metric[0].Value.AsApproximateFloat64() > c.policy.Modifiers.Activation
		want := horizontal.Decide(c.policy.Autoscaler, horizontal.State{}, horizontal.Observation{Now: o.Now, Replicas: current, StatusReplicas: current, Metrics: []horizontal.Metric{{
			Target: horizontal.AverageValue, Amount: int64(c.policy.Modifiers.Target * 1000), Values: []int64{metric[0].Value.MilliValue()}}}})
		if is.Active != active || is.Autoscaler != nil && is.Autoscaler.Metrics != want.Metrics {
			t.Fatalf("KEDA has %v, active: %v, %s; here: %+v", metric, active, want, is)
		}
		n.Note("decided", is.Autoscaler != nil)
	}
}

func TestModifiers(t *testing.T) {
	premise.CheckN(t, 3000, propModifiers, premise.Least{"failed": 0.3, "fell back": 0.05, "a formula fails": 0.02, "decided": 0.4})
}
