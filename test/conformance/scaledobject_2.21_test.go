//go:build !older

package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscale "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/events"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A deployment is the workload of a ScaledObject, and all that KEDA's executor and
// fallback ask a cluster for. Other requests panic.
type deployment struct {
	client.Client
	replicas int32
	ready    int
}

func (d *deployment) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.(*appsv1.Deployment).Spec.Replicas = &d.replicas
	return nil
}

func (d *deployment) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for range d.ready {
		list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, corev1.Pod{Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
	}
	return nil
}

// scales is the scale subresource of a deployment.
type scales struct {
	clientscale.ScaleInterface
	d *deployment
}

func (s scales) Scales(string) clientscale.ScaleInterface { return s }

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: s.d.replicas}, Status: autoscalingv1.ScaleStatus{Selector: "app=web"}}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, x *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	s.d.replicas = x.Spec.Replicas
	return x, nil
}

// both draws a ScaledObject and the same policy.
func both(t *rapid.T) (*v1alpha1.ScaledObject, scaledobject.Policy) {
	p := scaledobject.DefaultPolicy()
	p.Max = rapid.Int32Range(1, 20).Draw(t, "max")
	p.Min = rapid.Int32Range(0, p.Max).Draw(t, "min")
	p.Cooldown = time.Duration(rapid.Int32Range(0, 90).Draw(t, "cooldown")) * time.Second
	p.InitialCooldown = time.Duration(rapid.Int32Range(0, 90).Draw(t, "initial cooldown")) * time.Second
	p.Created = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when the clock of a bubble begins
	cooldown, initial := int32(p.Cooldown/time.Second), int32(p.InitialCooldown/time.Second)
	o := &v1alpha1.ScaledObject{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", CreationTimestamp: metav1.Time{Time: p.Created}, Annotations: map[string]string{}},
		Spec: v1alpha1.ScaledObjectSpec{ScaleTargetRef: &v1alpha1.ScaleTarget{Name: "web"}, MinReplicaCount: &p.Min, MaxReplicaCount: &p.Max,
			CooldownPeriod: &cooldown, InitialCooldownPeriod: &initial, Triggers: []v1alpha1.ScaleTriggers{{Type: "redis"}}},
		Status: v1alpha1.ScaledObjectStatus{ScaleTargetGVKR: &v1alpha1.GroupVersionKindResource{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments"}},
	}
	if p.Min > 0 && rapid.Bool().Draw(t, "idles") {
		idle := rapid.Int32Range(0, p.Min-1).Draw(t, "idle")
		p.Idle, o.Spec.IdleReplicaCount = &idle, &idle
	}
	if rapid.Bool().Draw(t, "falls back") {
		// It never starts: the functions of the fallback are compared in TestFallback.
		p.Fallback = &scaledobject.Fallback{FailureThreshold: math.MaxInt32, Replicas: rapid.Int32Range(0, 2).Draw(t, "fallback")}
		o.Spec.Fallback = &v1alpha1.Fallback{FailureThreshold: math.MaxInt32, Replicas: p.Fallback.Replicas}
	}
	for _, name := range []string{"paused", "paused-scale-in", "paused-scale-out", "force-activation", "paused-replicas"} {
		if rapid.IntRange(0, 9).Draw(t, name) == 0 {
			value := rapid.SampledFrom([]string{"true", "false", "", "yes", "0", "1"}).Draw(t, name+" value")
			if name == "paused-replicas" {
				value = "7"
			}
			o.Annotations["autoscaling.keda.sh/"+name] = value
		}
	}
	require.NoError(t, p.Annotate(o.Annotations))
	return o, p
}

// A step is a poll of the executor, and what happens around it.
type step struct {
	wait           time.Duration
	toSecond       bool // wait also for the end of the second
	active, failed bool
	moved          int32 // the count that somebody else writes afterwards; below 0, none
}

func drawStep(t *rapid.T) step {
	s := step{
		wait:     time.Duration(rapid.IntRange(0, 120_000).Draw(t, "wait")) * time.Millisecond,
		toSecond: rapid.IntRange(0, 3).Draw(t, "edge") == 0,
		active:   rapid.Bool().Draw(t, "active"),
		failed:   rapid.IntRange(0, 3).Draw(t, "failed") == 0,
		moved:    -1,
	}
	if rapid.IntRange(0, 2).Draw(t, "moves") == 0 {
		s.moved = rapid.Int32Range(0, 25).Draw(t, "moved to")
	}
	return s
}

// A run plays steps on the executor and on scaledobject.Decide.
type run struct {
	object     *v1alpha1.ScaledObject
	policy     scaledobject.Policy
	checkpoint scaledobject.Checkpoint
	d          *deployment
	e          executor.ScaleExecutor
	seen       map[scaledobject.Reason]bool
}

// play returns the difference, or "". After a poll the workload has the count of Decide,
// unless that is for the autoscaler or KEDA's controller to write, and lastActiveTime is
// the same.
func (r *run) play(s step) string {
	time.Sleep(s.wait)
	if s.toSecond {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	triggers := []scaledobject.Trigger{{Name: "a", Active: s.active, Metric: horizontal.Metric{TargetType: horizontal.AverageValue, Target: 1000, Values: []int64{1000}}}}
	if s.failed {
		triggers = append(triggers, scaledobject.Trigger{Name: "b", Metric: horizontal.Metric{Unreadable: "timeout"}})
	}
	before := r.d.replicas
	want := scaledobject.Decide(r.policy, scaledobject.Observation{Now: time.Now(), Replicas: before, StatusReplicas: before, Triggers: triggers, Fresh: true}, r.checkpoint)
	r.checkpoint = want.Checkpoint
	r.seen[want.Reason] = true
	result := r.e.RequestScale(context.Background(), r.object, s.active, s.failed, executor.ScaleExecutorOptions{})
	var last time.Time
	if result.LastActiveTime != nil {
		r.object.Status.LastActiveTime = &metav1.Time{Time: result.LastActiveTime.Truncate(time.Second)}
	}
	if r.object.Status.LastActiveTime != nil {
		last = r.object.Status.LastActiveTime.Time
	}
	count := want.Replicas
	if want.Autoscaler != nil || r.policy.PausedReplicas != nil {
		count = before
	}
	if want.Reason == scaledobject.ReasonActivated || count != before {
		r.checkpoint = want.Written() // the executor writes an equal count, too
	}
	if r.d.replicas != count || !last.Equal(r.checkpoint.LastActive) {
		return fmt.Sprintf("the executor writes %d, last active at %s; here %s: %s\n%+v", r.d.replicas, last, r.checkpoint.LastActive, want, r.policy)
	}
	if s.moved >= 0 {
		r.d.replicas = s.moved
	}
	return ""
}

func TestExecutorOfScaledObjects(t *testing.T) {
	prop := func(rt *rapid.T, c *premise.Counts) {
		object, p := both(rt)
		d := &deployment{replicas: rapid.Int32Range(0, 25).Draw(rt, "current")}
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 12).Draw(rt, "steps")
		r := run{object: object, policy: p, d: d, seen: map[scaledobject.Reason]bool{},
			e: executor.NewScaleExecutor(d, scales{d: d}, scheme, time.Minute, &events.FakeRecorder{})}
		difference := ""
		synctest.Test(t, func(*testing.T) {
			for _, s := range steps {
				if difference = r.play(s); difference != "" {
					return
				}
			}
		})
		if difference != "" {
			rt.Fatal(difference)
		}
		for _, rule := range []scaledobject.Reason{scaledobject.ReasonAutoscaler, scaledobject.ReasonPaused, scaledobject.ReasonActivated, scaledobject.ReasonDeactivated, scaledobject.ReasonRaised} {
			c.Note(string(rule), r.seen[rule])
		}
	}
	premise.CheckN(t, 3000, prop, premise.Least{"Autoscaler": 0.3, "Paused": 0.05, "Activated": 0.2, "Deactivated": 0.05, "Raised": 0.05})
}

// The fallback of KEDA replaces a failing metric from the same read on, by the same value.
func propFallback(t *rapid.T, c *premise.Counts) {
	behavior := rapid.SampledFrom([]string{"", "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"}).Draw(t, "behavior")
	kind := rapid.SampledFrom([]string{horizontal.AverageValue, horizontal.Value}).Draw(t, "kind")
	amount := rapid.Int64Range(1, 10_000).Draw(t, "amount")
	d := &deployment{replicas: rapid.Int32Range(1, 20).Draw(t, "current"), ready: rapid.IntRange(0, 20).Draw(t, "ready")}
	p := scaledobject.DefaultPolicy()
	p.Max, p.Autoscaler.Tolerance = 1000, 0
	p.Fallback = &scaledobject.Fallback{FailureThreshold: rapid.Int32Range(0, 3).Draw(t, "threshold"), Replicas: rapid.Int32Range(0, 30).Draw(t, "replicas"), Behavior: behavior}
	object, _ := both(t)
	object.Annotations = nil
	object.Spec.Fallback = &v1alpha1.Fallback{FailureThreshold: p.Fallback.FailureThreshold, Replicas: p.Fallback.Replicas, Behavior: behavior}
	quantity := resource.NewMilliQuantity(amount, resource.DecimalSI)
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.MetricTargetType(kind)}
	if kind == horizontal.Value {
		target.Value = quantity
	} else {
		target.AverageValue = quantity
	}
	handler := fallback.ScaledObjectHandler{Ctx: context.Background(), KubeClient: fallbackClient{d}, ScaleClient: scales{d: d}, UpdateLock: &sync.RWMutex{}, ScaledObject: object}
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{Target: target}}
	var checkpoint scaledobject.Checkpoint
	var replaced, failed bool
	pods := slices.Repeat([]horizontal.Pod{{Ready: "True"}}, d.ready)
	for i := range rapid.IntRange(1, 6).Draw(t, "reads") {
		ok := rapid.IntRange(0, 4).Draw(t, "ok") == 0
		m := horizontal.Metric{TargetType: kind, Target: amount, Values: []int64{amount}}
		var problem error
		if !ok {
			m.Unreadable, problem = "timeout", errors.New("timeout")
		}
		got, active, err := fallback.GetMetricsWithFallback(handler, nil, problem, "queue", spec)
		now := time.Unix(int64(i), 0)
		decision := scaledobject.Decide(p, scaledobject.Observation{Now: now, Replicas: d.replicas, StatusReplicas: d.replicas, Pods: pods, Fresh: true,
			Triggers: []scaledobject.Trigger{{Name: "queue", Active: true, Metric: m}}}, checkpoint)
		checkpoint = decision.Checkpoint
		if got := object.Status.Conditions.GetFallbackCondition(); got.Reason != decision.FallbackCondition.Reason || got.IsTrue() != decision.FallbackCondition.True {
			t.Fatalf("KEDA's condition is %+v; here: %+v", got, decision)
		}
		if active != decision.Fallback || (err != nil) != decision.Unreadable {
			t.Fatalf("KEDA: fallback %v, error %v; here: %+v", active, err, decision)
		}
		failed = failed || err != nil
		if !active {
			continue
		}
		replaced = true
		m.Unreadable, m.Values = "", []int64{got[0].Value.MilliValue()}
		want := horizontal.Decide(horizontal.DefaultPolicy(1000), horizontal.Observation{Now: now, Replicas: d.replicas, StatusReplicas: d.replicas, Pods: pods, Metrics: []horizontal.Metric{m}}, horizontal.Checkpoint{})
		if decision.Autoscaler == nil || math.Abs(float64(decision.Autoscaler.Proposed-want.Proposed)) > 0 && decision.Autoscaler.Proposed != d.replicas && want.Proposed != d.replicas {
			t.Fatalf("KEDA's value is %s: %s, and here %s", strconv.FormatInt(m.Values[0], 10), want, decision)
		}
	}
	c.Note("replaced "+kind, replaced)
	c.Note("an error before", failed)
}

// A fallbackClient stores the status of a ScaledObject nowhere: it is kept in the object.
type fallbackClient struct{ *deployment }

func (fallbackClient) Status() client.SubResourceWriter { return ignored{} }

type ignored struct{ client.SubResourceWriter }

func (ignored) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

func TestFallback(t *testing.T) {
	premise.CheckN(t, 3000, propFallback, premise.Least{"replaced AverageValue": 0.15, "replaced Value": 0.15, "an error before": 0.3})
}
