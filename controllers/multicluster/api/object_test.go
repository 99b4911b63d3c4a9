package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/scaling"
)

const everyObjectField = `
metadata: {name: db, namespace: shop, annotations: {autoscaling.keda.sh/paused-replicas: "4", autoscaling.keda.sh/paused-scale-in: "", autoscaling.keda.sh/paused-scale-out: "1", autoscaling.keda.sh/force-activation: "true"}, creationTimestamp: "2026-01-01T12:00:00Z"}
spec:
  memberClusters: [{name: x, weight: 0, targetNamespace: there}, {name: w}]
  rebalancingPolicy: {gracePeriod: 45s, progressDeadline: 0s, maxSurge: 0}
  scaledObjectSpec:
    scaleTargetRef: {apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: postgres, envSourceContainerName: main}
    pollingInterval: 7
    minReplicaCount: 3
    maxReplicaCount: 9
    idleReplicaCount: 2
    cooldownPeriod: 11
    initialCooldownPeriod: 12
    fallback: {failureThreshold: 3, replicas: 6, behavior: currentReplicasIfHigher}
    advanced:
      restoreToOriginalReplicaCount: true
      scalingModifiers: {formula: z + 1, target: "2.5", activationTarget: "0.5", metricType: Value}
      horizontalPodAutoscalerConfig:
        behavior:
          scaleUp: {stabilizationWindowSeconds: 20, selectPolicy: Min, tolerance: 50m, policies: [{type: Pods, value: 2, periodSeconds: 30}]}
          scaleDown: {stabilizationWindowSeconds: 0}
    triggers: [{type: redis, name: z, metricType: Value, useCachedMetrics: true, metadata: {listLength: "8"}}]
`

// Each field has its effect, and none has another's.
func TestEveryObjectField(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, everyObjectField)
	require.NoError(t, err)
	c, err := d.Config()
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	require.Equal(t, replicas.Policy{
		Members: []replicas.Member{{Name: "x"}, {Name: "w", Weight: 1}}, Max: 9,
		GracePeriod: 45 * time.Second,
		Seed:        "shop/db",
	}, c.Policy)
	require.Equal(t, 7*time.Second, c.PollingInterval)
	require.NotNil(t, c.Scaling.Modifiers.Formula)
	c.Scaling.Modifiers.Formula = nil
	behavior := horizontal.DefaultBehavior()
	behavior.Up = horizontal.Rules{Window: 20 * time.Second, Select: "Min", Tolerance: new(0.05), Policies: []horizontal.Limit{{Type: "Pods", Value: 2, Period: 30 * time.Second}}}
	behavior.Down.Window = 0
	autoscaler := horizontal.DefaultPolicy(100)
	autoscaler.Behavior = &behavior
	require.Equal(t, scaledobject.Policy{
		Min: 3, Max: 9, Idle: size(2), Cooldown: 11 * time.Second, InitialCooldown: 12 * time.Second, Created: epoch.Local(),
		Fallback:  &scaledobject.Fallback{FailureThreshold: 3, Replicas: 6, Behavior: "currentReplicasIfHigher"},
		Modifiers: &scaledobject.Modifiers{Target: 2.5, Activation: 0.5, Type: "Value"}, Autoscaler: autoscaler,
		PausedReplicas: size(4), PausedIn: true, PausedOut: true, ForceActive: true,
	}, c.Scaling)
	require.Equal(t, "z + 1 main true", fmt.Sprint(c.Formula, " ", c.Container, " ", c.Restore))
	require.Equal(t, map[int]bool{0: true}, c.Cached())
	require.Equal(t, "apps.kruise.io/v1beta1, Kind=StatefulSet", c.Workload.Kind.String())
	require.Equal(t, "postgres", c.Workload.Name)
	require.Equal(t, "shop", c.Workload.Namespace)
	require.Equal(t, map[string]string{"x": "there"}, c.Workload.Namespaces)
	require.Equal(t, "z", c.Triggers[0].Name)
}

// Fields that cannot have a meaning across clusters are rejected with the reason, and so are
// invalid values.
func TestRejectedObjectFields(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, `
metadata: {name: a}
spec:
  scaledObjectSpec:
    scaleTargetRef: {name: b, kind: Worker, envSourceContainerName: c}
    minReplicaCount: 1
    idleReplicaCount: 1
    cooldownPeriod: -1
    fallback: {failureThreshold: -1, replicas: -1, behavior: never}
    advanced:
      scalingModifiers: {target: "0", activationTarget: x, metricType: Utilization}
      horizontalPodAutoscalerConfig:
        name: mine
        behavior: {scaleUp: {stabilizationWindowSeconds: 3601, selectPolicy: All, policies: []}, scaleDown: {policies: [{type: Nodes, value: 0, periodSeconds: 1801}]}}
    triggers: [{type: cpu, metadata: {value: "50"}}, {type: redis, name: q, metricType: Utilization}, {type: external, name: q}]
`)
	require.NoError(t, err)
	_, err = d.Config()
	var got []string
	for _, e := range field.All(err) {
		got = append(got, strings.ReplaceAll(strings.TrimPrefix(e.Error(), "spec.scaledObjectSpec."), `"`, ""))
	}
	require.ElementsMatch(t, []string{
		"advanced.horizontalPodAutoscalerConfig.name: found mine; use nothing: no HorizontalPodAutoscaler is created, on the hub or on a member",
		"triggers[0].type: found cpu; use a trigger with a value of its own, such as prometheus: the usage of pods on several clusters has no common source",
		"triggers[1].metricType: found Utilization; use AverageValue, which is the default, or Value",
		"scaleTargetRef.envSourceContainerName: found c; use nothing: only the containers of Deployments and StatefulSets can be read",
		"advanced.scalingModifiers.formula: found nothing; use an expression over the names of the triggers",
		"advanced.scalingModifiers.activationTarget: found x; use a number in quotes",
		"triggers[0].name: found nothing; use a name, with which the formula refers to the trigger",
		"triggers[2].name: found q; use a name that no other trigger has",
		"idleReplicaCount: found 1; use 0 or more, and less than Min, 1",
		"cooldownPeriod: found -1s; use 0 or more",
		"fallback.failureThreshold: found -1; use 0 or more",
		"fallback.replicas: found -1; use 0 or more",
		"fallback.behavior: found never; use static, currentReplicas, currentReplicasIfHigher, currentReplicasIfLower or scalingModifiers",
		"advanced.scalingModifiers.target: found 0; use a positive, finite number",
		"advanced.scalingModifiers.metricType: found Utilization; use AverageValue or Value",
		behaviorField + ".scaleUp.stabilizationWindowSeconds: found 1h0m1s; use 0 to 1h",
		behaviorField + ".scaleUp.selectPolicy: found All; use Max, Min or Disabled",
		behaviorField + ".scaleUp.policies: found nothing; use at least one policy",
		behaviorField + ".scaleDown.policies[0].type: found Nodes; use Pods or Percent",
		behaviorField + ".scaleDown.policies[0].value: found 0; use 1 or more",
		behaviorField + ".scaleDown.policies[0].periodSeconds: found 30m1s; use more than 0 and at most 30m",
	}, got)
}

// Readings become triggers: absent and failed readings are unreadable.
func TestObserve(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, `
metadata: {name: a}
spec:
  scaledObjectSpec:
    scaleTargetRef: {name: b}
    triggers: [{type: redis, name: x}, {type: redis, name: w, metricType: Value}, {type: redis, name: z}]
`)
	require.NoError(t, err)
	c, err := d.Config()
	require.NoError(t, err)
	got := c.Observe([]scaling.Metric{{Name: "w", Value: 0.289, Target: 2, Activity: scaling.Active}, {Name: "x", Failed: true}}, errors.New("timeout"), map[string]bool{"w": true})
	require.Equal(t, []scaledobject.Trigger{
		{Name: "x", Metric: horizontal.Metric{Name: "x", Target: "AverageValue", Amount: 5000, Unreadable: "the trigger could not be read"}},
		{Name: "w", Active: true, Fresh: true, Metric: horizontal.Metric{Name: "w", Target: "Value", Amount: 2000, Values: []int64{289}}},
		{Name: "z", Metric: horizontal.Metric{Name: "z", Target: "AverageValue", Amount: 5000, Unreadable: "the trigger could not be read"}},
	}, got)
}

// A kind without a version is one of apps/v1, a version without a kind a Deployment.
func TestWorkloadKind(t *testing.T) {
	for ref, want := range map[string]string{
		"{name: a}":                               "apps/v1, Kind=Deployment",
		"{name: a, kind: StatefulSet}":            "apps/v1, Kind=StatefulSet",
		"{name: a, apiVersion: example.com/v2}":   "example.com/v2, Kind=Deployment",
		"{name: a, apiVersion: v1, kind: Worker}": "/v1, Kind=Worker",
	} {
		d, err := parse[DistributedScaledObject](t, "metadata: {name: a}\nspec: {scaledObjectSpec: {scaleTargetRef: "+ref+", triggers: [{type: redis}]}}")
		require.NoError(t, err)
		c, err := d.Config()
		require.NoError(t, err)
		require.Equal(t, want, c.Workload.Kind.String(), ref)
	}
}

// Each problem has the path of its field in the manifest.
func TestObjectProblems(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, `
metadata: {name: a}
spec:
  memberClusters: [{name: x, weight: 0}, {name: x, weight: -1}]
  rebalancingPolicy: {gracePeriod: -1s, progressDeadline: -1s, maxSurge: -1}
  scaledObjectSpec: {scaleTargetRef: {name: b, apiVersion: a/b/c}, minReplicaCount: -1, maxReplicaCount: 0, triggers: [{type: redis}]}
`)
	require.NoError(t, err)
	_, err = d.Config()
	require.EqualError(t, err, `spec.scaledObjectSpec.scaleTargetRef.apiVersion: found "a/b/c"; use a group and a version, such as apps/v1
spec.scaledObjectSpec.minReplicaCount: found -1; use 0 or more
spec.scaledObjectSpec.maxReplicaCount: found 0; use 1 or more
spec.rebalancingPolicy.gracePeriod: found -1s; use 0s or more
spec.rebalancingPolicy.progressDeadline: found -1s; use 0s or more
spec.rebalancingPolicy.maxSurge: found -1; use 0 or more
spec.memberClusters[1].name: found "x"; use a name that no other member has
spec.memberClusters[1].weight: found -1; use 0 or more`)
	d.Spec.ScaledObjectSpec.MinReplicaCount, d.Spec.ScaledObjectSpec.MaxReplicaCount = size(101), nil
	_, err = d.Config()
	require.ErrorContains(t, err, "spec.scaledObjectSpec.minReplicaCount: found 101; use 100 or less")
	d.Spec.RebalancingPolicy = RebalancingPolicy{GracePeriod: &metav1.Duration{}}
	short, _ := d.Config()
	require.EqualError(t, short.Warnings[0], "spec.rebalancingPolicy.gracePeriod: found 0s; use the polling interval of 30s or more")
	d.Spec.RebalancingPolicy = RebalancingPolicy{}
	c, _ := d.Config()
	require.Empty(t, c.Warnings)
	d.Spec.ScaledObjectSpec.PollingInterval = size(61)
	c, _ = d.Config()
	require.EqualError(t, c.Warnings[0], "spec.rebalancingPolicy.gracePeriod: found 1m0s; use the polling interval of 1m1s or more")
}

// The annotations of each case, as a plan for a member that has another number.
func TestObjectPause(t *testing.T) {
	type target struct {
		Name             string
		Metric, Min, Max int32
		Annotations      map[string]string
		Expect           any
		PausedCondition  *bool
		Error            string
	}
	object := func(annotations map[string]string, least, most int32) (ObjectConfig, error) {
		d := &DistributedScaledObject{Meta: Meta{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}}
		d.Spec.ScaledObjectSpec = ScaledObjectSpec{ScaleTargetRef: ScaleTarget{Name: "b"}, MinReplicaCount: &least, MaxReplicaCount: &most, Triggers: []manifest.ScaleTrigger{{Type: "redis"}}}
		return d.Config()
	}
	for _, c := range cases[target](t, "object_target", 15) {
		config, err := object(c.Annotations, c.Min, c.Max)
		if c.Error == "" {
			require.NoError(t, err, c.Name)
		} else {
			require.Equal(t, "metadata.annotations[autoscaling.keda.sh/paused-replicas]", field.All(err)[0].Path, c.Name)
		}
		if c.PausedCondition != nil {
			require.Equal(t, *c.PausedCondition, config.Paused, c.Name)
		}
		number := c.Metric
		if n := config.Scaling.PausedReplicas; n != nil {
			number = *n
		} else {
			config.Policy.Min = c.Min // as package scaledobject does
		}
		plan := replicas.NewPlan(config.Policy, replicas.State{Replicas: config.Held(&number), Clusters: []replicas.Cluster{{Name: "a", Replicas: 77}}})
		want, writes := c.Expect.(float64)
		require.Equal(t, writes, plan.Shares[0].Write, c.Name)
		if writes {
			require.Equal(t, int32(want), plan.Shares[0].Desired, c.Name)
		}
	}
	_, err := object(map[string]string{"autoscaling.keda.sh/paused": "yes"}, 0, 1)
	require.EqualError(t, err, `metadata.annotations[autoscaling.keda.sh/paused]: found "yes"; use "true" or "false"; until then it means paused`)
	for _, text := range []string{"+3", "-0", "1_0", "3 ", "١", ""} {
		config, err := object(map[string]string{"autoscaling.keda.sh/paused-replicas": text}, 0, 1)
		require.Error(t, err, text)
		require.True(t, config.Paused, text)
		require.Nil(t, config.Held(new(int32(3))), text)
	}
}

func TestObjectStatus(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 12, 0, s, 0, time.UTC) }
	p := replicas.NewPolicy(100, replicas.NewMember("a"), replicas.NewMember("b"), replicas.NewMember("x"))
	s := replicas.State{Replicas: size(5), Now: at(0), Clusters: []replicas.Cluster{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 2}, {Name: "c", Replicas: 1}}}
	all := p
	all.Members = nil
	s.Checkpoint = replicas.NewPlan(all, s).Checkpoint
	s.Clusters[1].Problem = replicas.ReasonUnreachable
	before := ObjectStatus{MemberClusterStatuses: map[string]ObjectMemberStatus{
		"a": {State: Ready, CurrentReplicas: 1, LastStatusChangeTime: at(0), LastScalingProgressTime: at(0)},
		"b": {State: Ready, CurrentReplicas: 2, LastStatusChangeTime: at(0), LastScalingProgressTime: at(0)}}}
	plan := replicas.NewPlan(p, s)
	status := NewObjectStatus("nginx", plan, before, at(30).In(time.FixedZone("east", 3600)))
	data, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"memberClusterStatuses": {
			"a": {"currentReplicas": 3, "desiredReplicas": 3, "description": "Cluster is healthy", "excluded": false, "state": "Ready",
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"},
			"b": {"currentReplicas": 2, "desiredReplicas": 2, "description": "Cluster is unreachable, and keeps its share until 2026-01-01T12:01:00Z",
				"excluded": false, "state": "NotReady", "reason": "Unreachable",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"c": {"currentReplicas": 1, "desiredReplicas": 0, "description": "Cluster is no longer a member, and keeps 1 replicas until they exist elsewhere",
				"excluded": true, "state": "Ready", "reason": "NotListed",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"},
			"x": {"currentReplicas": 0, "desiredReplicas": 0, "description": "Cluster is not registered, and gets no replicas",
				"excluded": true, "state": "NotRegistered", "reason": "NotRegistered",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"}
		},
		"membersHealthyCount": 1, "membersTotalCount": 3, "selector": "kedify-agent-distributedscaledobject=nginx", "totalCurrentReplicas": 6
	}`, strings.TrimSpace(string(data)))
	require.Equal(t, status, NewObjectStatus("nginx", plan, status, at(40)), "later, but nothing changed")
}

// Each reason of a member has a state.
func TestState(t *testing.T) {
	for reason, want := range map[replicas.Reason]MemberState{
		"": Ready, replicas.ReasonNoProgress: Ready, replicas.ReasonNotListed: Ready, replicas.ReasonNoWeight: Ready,
		replicas.ReasonUnreachable: NotReady, replicas.ReasonWriteFailed: NotReady, replicas.ReasonWorkloadMissing: NotReady,
		replicas.ReasonUnconfirmed: NotReady, replicas.ReasonNotRegistered: NotRegistered,
	} {
		require.Equal(t, want, state(reason), reason)
	}
}

func TestObjectStatusOfThePage(t *testing.T) {
	type status struct {
		Name    string
		Members map[string]struct {
			Current, Desired int32
			State            MemberState
		}
		Expect ObjectStatus
	}
	for _, c := range cases[status](t, "status_object", 1) {
		var p replicas.Plan
		for name, m := range c.Members {
			p.Shares = append(p.Shares, replicas.Share{Name: name, Current: m.Current, Desired: m.Desired})
		}
		got := NewObjectStatus("nginx", p, ObjectStatus{}, time.Now())
		for name, m := range c.Members {
			require.Equal(t, m.Current, got.MemberClusterStatuses[name].CurrentReplicas)
			require.Equal(t, m.Desired, got.MemberClusterStatuses[name].DesiredReplicas)
			require.Equal(t, m.State, got.MemberClusterStatuses[name].State)
		}
		got.MemberClusterStatuses = nil
		require.Equal(t, c.Expect, got)
	}
}
