package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

const everyObjectField = `
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: db, namespace: shop, annotations: {team: shop, autoscaling.keda.sh/paused-replicas: "4", autoscaling.keda.sh/paused-scale-in: "", autoscaling.keda.sh/paused-scale-out: "1", autoscaling.keda.sh/force-activation: "true"}}
spec:
  replicas: 11
  memberClusters: [{name: x, weight: 0, targetNamespace: there}, {name: w}]
  rebalancingPolicy: {gracePeriod: 45s, progressDeadline: 0s, maxSurge: 0}
  scaledObjectSpec:
    scaleTargetRef: {apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: postgres}
    pollingInterval: 7
    minReplicaCount: 3
    maxReplicaCount: 9
    idleReplicaCount: 2
    cooldownPeriod: 11
    initialCooldownPeriod: 12
    fallback: {failureThreshold: 3, replicas: 6, behavior: currentReplicasIfHigher}
    advanced:
      restoreToOriginalReplicaCount: true
      scalingModifiers: {formula: z + 1, target: "2.5", activationTarget: "0.5", metricType: AverageValue}
      horizontalPodAutoscalerConfig:
        behavior:
          scaleUp: {stabilizationWindowSeconds: 20, selectPolicy: Min, tolerance: 50m, policies: [{type: Pods, value: 2, periodSeconds: 30}]}
          scaleDown: {stabilizationWindowSeconds: 0}
    triggers: [{type: redis, name: z, metricType: AverageValue, useCachedMetrics: true, metadata: {listLength: "8"}}]
`

// Each field has its effect here, or is KEDA's.
func TestEveryObjectField(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, everyObjectField)
	require.NoError(t, err)
	c, err := d.Config()
	require.NoError(t, err)
	require.Equal(t, ObjectConfig{
		Policy: replicas.Policy{
			Members: []replicas.Member{{Name: "x"}, {Name: "w", Weight: 1}}, Max: 11, // as kubectl scale has it
			GracePeriod: 45 * time.Second,
			Seed:        "shop/db",
		},
		Replicas: size(11), Restore: true, Paused: true,
		Workload: member.Workload{
			Kind:      schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "StatefulSet"},
			Namespace: "shop", Name: "postgres", Namespaces: map[string]string{"x": "there"},
		},
	}, c)

	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(everyObjectField), &object.Object))
	before := object.DeepCopy()
	scaled := ScaledObject(object)
	require.Equal(t, before, object)
	want := before.Object["spec"].(map[string]any)["scaledObjectSpec"].(map[string]any)
	want["scaleTargetRef"] = map[string]any{"apiVersion": "keda.kedify.io/v1alpha1", "kind": "DistributedScaledObject", "name": "db"}
	delete(want["advanced"].(map[string]any), "restoreToOriginalReplicaCount")
	require.Equal(t, want, scaled.Object["spec"])
	annotations := before.GetAnnotations()
	delete(annotations, "team")
	require.Equal(t, annotations, scaled.GetAnnotations())
	require.Equal(t, "keda.sh/v1alpha1 ScaledObject shop/db", fmt.Sprintf("%s %s %s/%s", scaled.GetAPIVersion(), scaled.GetKind(), scaled.GetNamespace(), scaled.GetName()))
}

// Fields that cannot have a meaning across clusters are rejected with the reason.
func TestRejectedObjectFields(t *testing.T) {
	d, err := parse[DistributedScaledObject](t, `
metadata: {name: a}
spec:
  scaledObjectSpec:
    scaleTargetRef: {name: b, envSourceContainerName: c}
    advanced:
      scalingModifiers: {formula: q, target: "1", metricType: Value}
      horizontalPodAutoscalerConfig: {name: mine}
    triggers:
      - {type: cpu, metadata: {value: "50"}}
      - {type: memory, metadata: {value: "50"}}
      - {type: redis, name: q, metricType: Value, metadata: {addressFromEnv: HOST, passwordFromEnv: PASSWORD, listName: FromEnvironment}}
      - {type: redis, authenticationRef: {name: shared, kind: ClusterTriggerAuthentication}}
`)
	require.NoError(t, err)
	_, err = d.Config()
	const averages = "AverageValue, which is the default: Value needs ready pods beside the HorizontalPodAutoscaler, and the pods are on the members"
	require.Equal(t, []string{
		"advanced.horizontalPodAutoscalerConfig.name: found mine; use nothing: KEDA overwrites any HorizontalPodAutoscaler of that name",
		"advanced.scalingModifiers.metricType: found Value; use " + averages,
		"scaleTargetRef.envSourceContainerName: found c; use nothing: the object has no pod template, and so no environment",
		"triggers[0].type: found cpu; use a trigger with a value of its own, such as prometheus: the usage of pods on several clusters has no common source",
		"triggers[1].type: found memory; use a trigger with a value of its own, such as prometheus: the usage of pods on several clusters has no common source",
		"triggers[2].metricType: found Value; use " + averages,
		"triggers[2].metadata.addressFromEnv: found HOST; use a value or an authenticationRef: the object has no pod template, and so no environment",
		"triggers[2].metadata.passwordFromEnv: found PASSWORD; use a value or an authenticationRef: the object has no pod template, and so no environment",
	}, texts(err))
	require.Equal(t, []string{"triggers[3].authenticationRef.kind: found ClusterTriggerAuthentication; use a TriggerAuthentication of the namespace: " +
		"the administrator has not allowed ClusterTriggerAuthentications (-allow-cluster-authentication)"},
		texts(RefuseClusterAuthentications(objectField, d.Spec.ScaledObjectSpec.Triggers)))
	d, err = parse[DistributedScaledObject](t, "metadata: {name: "+strings.Repeat("a", 64)+"}\nspec: {scaledObjectSpec: {scaleTargetRef: {name: b}}}")
	require.NoError(t, err)
	_, err = d.Config()
	require.Equal(t, []string{
		"metadata.name: found " + strings.Repeat("a", 64) + "; use at most 63 characters: KEDA labels the ScaledObject with its name",
		"triggers: found none; use at least one trigger",
	}, texts(err))
}

// texts returns the problems without quotes and the path of the ScaledObject's spec.
func texts(err error) (texts []string) {
	for _, e := range field.All(err) {
		texts = append(texts, strings.ReplaceAll(strings.TrimPrefix(e.Error(), objectField+"."), `"`, ""))
	}
	return texts
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
  scaledObjectSpec: {scaleTargetRef: {apiVersion: a/b/c}, maxReplicaCount: 0, triggers: [{type: redis}]}
`)
	require.NoError(t, err)
	_, err = d.Config()
	require.EqualError(t, err, `spec.scaledObjectSpec.scaleTargetRef.name: found nothing; use the name of the workload to scale
spec.scaledObjectSpec.scaleTargetRef.apiVersion: found "a/b/c"; use a group and a version, such as apps/v1
spec.scaledObjectSpec.maxReplicaCount: found 0; use 1 or more
spec.rebalancingPolicy.gracePeriod: found -1s; use 0s or more
spec.rebalancingPolicy.progressDeadline: found -1s; use 0s or more
spec.rebalancingPolicy.maxSurge: found -1; use 0 or more
spec.memberClusters[1].name: found "x"; use a name that no other member has
spec.memberClusters[1].weight: found -1; use 0 or more`)
}

// The annotations of each case, as a plan for a member that has another number. KEDA writes the number of
// paused-replicas; min and max are the HorizontalPodAutoscaler's.
func TestObjectPause(t *testing.T) {
	type target struct {
		Name             string
		Metric, Min, Max int32
		Annotations      map[string]string
		Expect           any
		PausedCondition  *bool
		Error            string
	}
	object := func(annotations map[string]string, limit, number int32) (ObjectConfig, error) {
		d := &DistributedScaledObject{Meta: Meta{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}}
		d.Spec.Replicas = &number
		d.Spec.ScaledObjectSpec = ScaledObjectSpec{ScaleTargetRef: ScaleTarget{Name: "b"}, MaxReplicaCount: &limit, Triggers: []manifest.ScaleTrigger{{Type: "redis"}}}
		return d.Config()
	}
	for _, c := range cases[target](t, "object_target", 15) {
		number := min(max(c.Metric, c.Min), c.Max)
		if n, err := strconv.ParseInt(c.Annotations["autoscaling.keda.sh/paused-replicas"], 10, 32); err == nil {
			number = int32(n)
		}
		config, err := object(c.Annotations, c.Max, number)
		if c.Error == "" {
			require.NoError(t, err, c.Name)
		} else {
			require.Equal(t, "metadata.annotations[autoscaling.keda.sh/paused-replicas]", field.All(err)[0].Path, c.Name)
		}
		if c.PausedCondition != nil {
			require.Equal(t, *c.PausedCondition, config.Paused, c.Name)
		}
		want, writes := c.Expect.(float64)
		require.Equal(t, writes, !config.Frozen, c.Name)
		if writes {
			plan := replicas.Decide(config.Policy, replicas.Observation{Replicas: config.Replicas, Clusters: []replicas.Cluster{{Name: "a", Replicas: 77}}}, replicas.Checkpoint{})
			require.Equal(t, int32(want), plan.Shares[0].Desired, c.Name)
		}
	}
	_, err := object(map[string]string{"autoscaling.keda.sh/paused": "yes"}, 1, 0)
	require.EqualError(t, err, `metadata.annotations[autoscaling.keda.sh/paused]: found "yes"; use "true" or "false"; until then it means paused`)
	for _, text := range []string{"+3", "-0", "1_0", "3 ", "١", ""} {
		config, err := object(map[string]string{"autoscaling.keda.sh/paused-replicas": text}, 1, 0)
		require.Error(t, err, text)
		require.True(t, config.Paused && config.Frozen, text)
	}
}

func TestObjectStatus(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 12, 0, s, 0, time.UTC) }
	p := replicas.NewPolicy(100, replicas.NewMember("a"), replicas.NewMember("b"), replicas.NewMember("x"))
	s := replicas.Observation{Replicas: size(5), Now: at(0), Clusters: []replicas.Cluster{{Name: "a", Replicas: 3, Reported: 1}, {Name: "b", Replicas: 2}, {Name: "c", Replicas: 1, Reported: 1}}}
	all := p
	all.Members = nil
	checkpoint := replicas.Decide(all, s, replicas.Checkpoint{}).Checkpoint
	s.Clusters[1].Problem = replicas.ReasonUnreachable
	well := MemberStatus{State: Ready, LastStatusChangeTime: at(0), LastScalingProgressTime: at(0)}
	before := ObjectStatus{MemberClusterStatuses: map[string]ObjectMemberStatus{
		"a": {MemberStatus: well, CurrentReplicas: 1},
		"b": {MemberStatus: well, CurrentReplicas: 2, Replicas: 2}}}
	plan := replicas.Decide(p, s, checkpoint)
	status := NewObjectStatus("nginx", plan, s.Clusters, before, at(30).In(time.FixedZone("east", 3600)))
	data, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"memberClusterStatuses": {
			"a": {"currentReplicas": 3, "replicas": 1, "desiredReplicas": 3, "description": "Cluster is healthy", "excluded": false, "state": "Ready",
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"},
			"b": {"currentReplicas": 2, "replicas": 2, "desiredReplicas": 2, "description": "Cluster is unreachable, and keeps its share until 2026-01-01T12:01:00Z",
				"excluded": false, "state": "NotReady", "reason": "Unreachable",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"c": {"currentReplicas": 1, "replicas": 1, "desiredReplicas": 0, "description": "Cluster is no longer a member, and keeps 1 replica until they exist elsewhere",
				"excluded": true, "state": "Ready", "reason": "NotListed",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"},
			"x": {"currentReplicas": 0, "replicas": 0, "desiredReplicas": 0, "description": "Cluster is not registered, and gets no replicas",
				"excluded": true, "state": "NotRegistered", "reason": "NotRegistered",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"}
		},
		"membersHealthyCount": 1, "membersTotalCount": 3, "replicas": 4, "selector": "kedify-agent-distributedscaledobject=nginx", "totalCurrentReplicas": 6
	}`, strings.TrimSpace(string(data)))
	require.Equal(t, status, NewObjectStatus("nginx", plan, s.Clusters, status, at(40)), "later, but nothing changed")
	s.Now = at(0).Add(time.Hour)
	require.EqualValues(t, 2, NewObjectStatus("nginx", replicas.Decide(p, s, plan.Checkpoint), s.Clusters, status, s.Now).Replicas, "b counts no more after its grace period")
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
		var p replicas.Decision
		for name, m := range c.Members {
			p.Shares = append(p.Shares, replicas.Share{Name: name, Current: m.Current, Desired: m.Desired})
		}
		got := NewObjectStatus("nginx", p, nil, ObjectStatus{}, time.Now())
		for name, m := range c.Members {
			require.Equal(t, m.Current, got.MemberClusterStatuses[name].CurrentReplicas)
			require.Equal(t, m.Desired, got.MemberClusterStatuses[name].DesiredReplicas)
			require.Equal(t, m.State, got.MemberClusterStatuses[name].State)
		}
		got.MemberClusterStatuses = nil
		require.Equal(t, c.Expect, got)
	}
}
