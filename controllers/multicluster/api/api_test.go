package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func parse[T any](t *testing.T, manifest string) (*T, error) {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &u.Object))
	object, _, err := Read[T](u)
	return object, err
}

func documented(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name+".yaml"))
	require.NoError(t, err)
	return string(data)
}

func size(n int32) *int32 { return &n }

// The documented manifests are valid and need no change; one has neither Job nor triggers.
func TestDocumented(t *testing.T) {
	for _, name := range []string{"distributedscaledjob", "distributedscaledjob-overrides"} {
		d, err := parse[DistributedScaledJob](t, documented(t, name))
		require.NoError(t, err)
		c, err := d.Config()
		require.NoError(t, err)
		require.Empty(t, c.Warnings)
		want := jobs.DefaultPolicy()
		want.Members = []jobs.Member{{Name: "member-cluster-1", Weight: 2}, {Name: "member-cluster-2", Weight: 3}}
		want.Revision, want.Seed = c.Target.Revision, "/processor-job"
		want.Scheduling = jobs.WeightedRoundRobin
		if name == "distributedscaledjob" {
			want.Scaling.Bounds.Max, want.History = 20, history.Policy{Succeeded: history.Keep(2), Failed: history.Keep(2)}
		} else {
			require.Equal(t, "my-registry.local/processor:v2", c.Overrides["member-cluster-1"].Pod.ContainerOverrides["processor"].Image)
		}
		require.Equal(t, want, c.Policy)
	}
	d, err := parse[DistributedScaledJob](t, documented(t, "distributedscaledjob-failover"))
	require.NoError(t, err)
	c, err := d.Config()
	require.EqualError(t, err, "spec.scaledJobSpec.jobTargetRef: found nothing; use the spec of a batch/v1 Job, with a template\n"+
		"spec.scaledJobSpec.triggers: found none; use at least one trigger")
	require.Equal(t, jobs.PriorityFailover, c.Policy.Scheduling)
	require.Equal(t, taint.Workload{Class: "team-a", Size: 4}, c.Policy.Workload)
	require.Equal(t, []jobs.Member{
		{Name: "member-primary", Weight: 1, Priority: size(100)}, {Name: "member-failover", Weight: 1, Priority: size(0)},
	}, c.Policy.Members)
	o, err := parse[DistributedScaledObject](t, documented(t, "distributedscaledobject"))
	require.NoError(t, err)
	object, err := o.Config()
	require.NoError(t, err)
	require.Equal(t, []replicas.Member{{Name: "member-cluster-1", Weight: 4}, {Name: "member-cluster-2", Weight: 6}}, object.Policy.Members)
}

const everyJobField = `
metadata: {name: a, namespace: b, uid: c, generation: 3, annotations: {autoscaling.keda.sh/paused: "true"}}
spec:
  memberClusters:
    - {name: x, weight: 0, targetNamespace: there, maxJobs: 7, scheduling: {priority: 5}}
    - {name: w}
  clusterScheduling:
    failoverPolicy: {gracePeriod: 0s, hardTaintDuration: 1h, softTaintDuration: 0s, duplicationPolicy: preferSource}
  scaledJobSpec:
    jobTargetRef: {template: {spec: {containers: [{name: c}]}}}
    pollingInterval: 7
    successfulJobsHistoryLimit: 1
    failedJobsHistoryLimit: 2
    envSourceContainerName: c
    minReplicaCount: 3
    maxReplicaCount: 4
    failoverOverMax: true
    rolloutStrategy: gradual
    rollout: {strategy: gradual, propagationPolicy: orphan}
    scalingStrategy:
      strategy: custom
      customScalingQueueLengthDeduction: 5
      customScalingRunningJobPercentage: "0.5"
      pendingPodConditions: [Ready]
      multipleScalersCalculation: sum
    triggers: [{type: redis, name: z, metadata: {listLength: "8"}}]
`

func TestEveryJobField(t *testing.T) {
	d, err := parse[DistributedScaledJob](t, everyJobField)
	require.NoError(t, err)
	c, err := d.Config()
	require.NoError(t, err)
	half, err := strategy.ParsePercentage("0.5")
	require.NoError(t, err)
	require.Equal(t, jobs.Policy{
		Members:  []jobs.Member{{Name: "x", Priority: size(5), MaxJobs: new(int64(7))}, {Name: "w", Weight: 1}},
		Failover: jobs.Failover{HardTaint: time.Hour, Duplication: jobs.PreferSource},
		Scaling: scaling.Policy{
			Bounds: scaling.Bounds{Min: 3, Max: 4, Mode: scaling.Floor}, Aggregation: scaling.Sum,
			Strategy: strategy.NewCustom(5, half), Paused: true,
		},
		FailoverOverMax: true,
		History:         history.Policy{Succeeded: history.Keep(1), Failed: history.Keep(2)},
		Rollout:         rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Orphan},
		Revision:        c.Target.Revision,
		Seed:            "b/a",
	}, c.Policy)
	require.EqualValues(t, 3, c.Policy.Revision.Generation)
	require.Equal(t, "there", c.Overrides["x"].Namespace)
	require.Equal(t, 7*time.Second, c.PollingInterval)
	require.Equal(t, []string{"Ready"}, c.Target.PendingPodConditions)
	require.EqualValues(t, "c", c.Target.Owner.UID)
	require.Equal(t, "c", c.Source.Spec.EnvSourceContainerName)
	require.Equal(t, "z", c.Source.Spec.Triggers[0].Name)
	require.NotContains(t, c.Target.Job.Labels, manifest.LabelName, "KEDA on a member must not count the Jobs")
	require.NotContains(t, c.Target.Job.Annotations, manifest.AnnotationGeneration)
	require.Equal(t, "keda.kedify.io/v1alpha1 DistributedScaledJob b/a", fmt.Sprintf("%s %s %s/%s",
		c.Target.Owner.APIVersion, c.Target.Owner.Kind, c.Target.Owner.Namespace, c.Target.Owner.Name))
}

// What is wrong is told all at once, each with its path.
func TestProblems(t *testing.T) {
	d, err := parse[DistributedScaledJob](t, `
metadata: {name: a, annotations: {autoscaling.keda.sh/paused: maybe}}
spec:
  memberClusters: [{name: x, weight: -1}]
  clusterScheduling: {strategy: best}
  scaledJobSpec:
    maxReplicaCount: -1
    scalingStrategy: {strategy: fast, multipleScalersCalculation: most}
    triggers: [{type: redis, metadata: {listLength: none}}]
`)
	require.NoError(t, err)
	c, err := d.Config()
	require.True(t, c.Policy.Scaling.Paused, "until it can be read")
	for _, field := range []string{
		"metadata.annotations[autoscaling.keda.sh/paused]", "spec.memberClusters[0].weight", "spec.clusterScheduling.strategy",
		"spec.scaledJobSpec.maxReplicaCount", "spec.scaledJobSpec.scalingStrategy.strategy", "spec.scaledJobSpec.scalingStrategy.multipleScalersCalculation",
		"spec.scaledJobSpec.jobTargetRef", "spec.scaledJobSpec.triggers[0].metadata.listLength",
	} {
		require.ErrorContains(t, err, field)
	}
	require.Equal(t, 1, strings.Count(err.Error(), "autoscaling.keda.sh/paused"), "each problem once: %v", err)
}

// A field that does not exist is told wherever it is, also where the API server does
// not look.
func TestUnknownField(t *testing.T) {
	_, err := parse[DistributedScaledJob](t, `
metadata: {name: a}
spec:
  memberClusters: [{name: x, podOverrides: {containerOverrides: {c: {imagee: b}}}}]
  scaledJobSpec: {jobTargetRef: {template: {spec: {containers: [{name: c, imagePullPolice: Always}]}}}}
`)
	require.ErrorContains(t, err, "spec.memberClusters[0].podOverrides.containerOverrides.c.imagee")
	require.ErrorContains(t, err, "spec.scaledJobSpec.jobTargetRef.template.spec.containers[0].imagePullPolice: found an unknown field; use a field of this resource")
	d, m, err := Read[DistributedScaledJob](&unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a"}, "spec": "none",
	}})
	require.Error(t, err)
	require.Equal(t, "a", m.Name, "whatever the spec is")
	require.NotNil(t, d)
	d, _, err = Read[DistributedScaledJob](&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"labels": "none"}}})
	require.Error(t, err)
	require.NotNil(t, d)
}

// A long spec takes seconds to decode, for which other objects wait.
func TestLongSpec(t *testing.T) {
	triggers := make([]any, 100_000)
	for i := range triggers {
		triggers[i] = map[string]any{"type": "redis"}
	}
	begin := time.Now()
	_, meta, err := Read[DistributedScaledObject](&unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "work"}, "spec": map[string]any{"scaledObjectSpec": map[string]any{"triggers": triggers}}}})
	t.Log("read within", time.Since(begin))
	require.ErrorContains(t, err, "the spec, labels and annotations have 1700035 bytes; use at most 65536")
	require.Equal(t, "work", meta.Name)

	annotations := map[string]any{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("a", longestSpec)}
	long := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{}, "status": int64(5)}}
	_, _, err = Read[DistributedScaledObject](long)
	require.NoError(t, err, "no Job has it, and a status is not read")
	annotations["a"] = strings.Repeat("a", longestSpec)
	_, _, err = Read[DistributedScaledObject](long)
	require.ErrorContains(t, err, "the spec, labels and annotations have 65539 bytes")
}

// Of a long object a cache keeps little, and its owner is told of which length it is. Others stay.
func TestSlim(t *testing.T) {
	object := func(n int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "work"},
			"spec":   map[string]any{"memberClusters": slices.Repeat([]any{map[string]any{}}, n)},
			"status": map[string]any{"checkpoint": map[string]any{"version": int64(1), "x": slices.Repeat([]any{map[string]any{}}, n)}}}}
	}
	few := object(100)
	slim, err := Slim(few.DeepCopy())
	require.NoError(t, err)
	require.Equal(t, few, slim)
	slim, err = Slim(object(400_000))
	require.NoError(t, err)
	data, err := json.Marshal(slim)
	require.NoError(t, err)
	require.Less(t, len(data), 200)
	_, meta, err := Read[DistributedScaledJob](slim.(*unstructured.Unstructured))
	require.ErrorContains(t, err, "the spec, labels and annotations have 1200020 bytes")
	require.Equal(t, "work", meta.Name)
	version, _, _ := unstructured.NestedString(slim.(*unstructured.Unstructured).Object, "status", "checkpoint", "version")
	require.Contains(t, version, "a status of 12000")
}

// A quantity that takes hours to decode is a problem, wherever it is.
func TestQuantity(t *testing.T) {
	for path, spec := range map[string]map[string]any{
		"spec.memberClusters[0].podOverrides.containerOverrides.c.resources.limits.cpu": {"memberClusters": []any{map[string]any{
			"name": "a", "podOverrides": map[string]any{"containerOverrides": map[string]any{"c": map[string]any{
				"resources": map[string]any{"limits": map[string]any{"cpu": "12345678901234567890e2147483647"}}}}}}}},
		"spec.scaledJobSpec.jobTargetRef.template.spec.overhead.cpu": {"scaledJobSpec": map[string]any{"jobTargetRef": map[string]any{
			"template": map[string]any{"spec": map[string]any{"overhead": map[string]any{"cpu": "1e2147483647"}}}}}},
	} {
		_, meta, err := Read[DistributedScaledJob](&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "work"}, "spec": spec}})
		require.Len(t, field.All(err), 1)
		require.Equal(t, path, field.All(err)[0].Path)
		require.Equal(t, "work", meta.Name)
	}
}

// A grace period below the polling interval is a warning, and at most 64 members may be.
func TestLimitsOfJobs(t *testing.T) {
	d, err := parse[DistributedScaledJob](t, everyJobField)
	require.NoError(t, err)
	spec := &d.Spec.ClusterScheduling.FailoverPolicy
	for grace, want := range map[time.Duration]string{
		0: "found 0s; use the polling interval, 7s, or more", 1: "found 1ns; use the polling interval, 7s, or more",
		6 * time.Second: "found 6s; use the polling interval, 7s, or more", 7 * time.Second: "",
	} {
		spec.GracePeriod = &metav1.Duration{Duration: grace}
		c, err := d.Config()
		require.NoError(t, err)
		got := ""
		for _, w := range c.Warnings {
			if w.Path == "spec.clusterScheduling.failoverPolicy.gracePeriod" {
				got = "found " + w.Found + "; use " + w.Fix
			}
		}
		require.Equal(t, want, got)
	}
	for i := range 62 {
		d.Spec.MemberClusters = append(d.Spec.MemberClusters, JobMember{Member: Member{Name: fmt.Sprint("m", i)}})
	}
	_, err = d.Config()
	require.NoError(t, err)
	d.Spec.MemberClusters = append(d.Spec.MemberClusters, JobMember{Member: Member{Name: "one more"}})
	_, err = d.Config()
	require.EqualError(t, err, `spec.memberClusters: found "65 members"; use at most 64`)
}

// Under priorityFailover the size of the Jobs is required.
func TestSizeIsRequired(t *testing.T) {
	d, err := parse[DistributedScaledJob](t, `
metadata: {name: a}
spec:
  memberClusters: [{name: x, scheduling: {priority: 1}}]
  clusterScheduling: {strategy: priorityFailover, workloadAffinity: {class: b}}
  scaledJobSpec: {jobTargetRef: {template: {spec: {containers: [{name: c}]}}}, triggers: [{type: redis}]}
`)
	require.NoError(t, err)
	_, err = d.Config()
	require.EqualError(t, err, "spec.clusterScheduling.workloadAffinity.size: found nothing; use 0 or more under priorityFailover")
	d.Spec.ClusterScheduling.WorkloadAffinity.Size = size(0)
	_, err = d.Config()
	require.NoError(t, err)
}

// What has no effect, and what names nothing, is a warning.
func TestWarningsOfJob(t *testing.T) {
	const accurate = `
metadata: {name: a}
spec:
  memberClusters: [{name: x}]
  scaledJobSpec:
    jobTargetRef: {template: {spec: {containers: [{name: c}]}}}
    scalingStrategy: {strategy: accurate, customScalingQueueLengthDeduction: %d, customScalingRunningJobPercentage: "%s"}
    triggers: [{type: redis}]
`
	for _, test := range []struct {
		manifest string
		strategy strategy.Strategy
		warnings []string
	}{
		{`
metadata: {name: a, annotations: {autoscaling.keda.sh/paused-replicas: "3"}}
spec:
  memberClusters: [{name: x, scheduling: {priority: 1}}, {name: w, podOverrides: {containerOverrides: {nope: {image: b}}}}]
  clusterScheduling: {failoverPolicy: {hardTaintDuration: 0s}}
  scaledJobSpec:
    jobTargetRef: {template: {spec: {containers: [{name: c}]}}}
    rolloutStrategy: gradual
    scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: half}
    triggers: [{type: redis, useCachedMetrics: true, metricType: Value}]
`, strategy.Default{}, []string{
			`metadata.annotations[autoscaling.keda.sh/paused-replicas]: found "3"; use nothing, because it has no effect here`,
			"spec.memberClusters[0].scheduling.priority: found 1; use nothing: weightedRoundRobin ignores it",
			"spec.memberClusters[1].podOverrides.containerOverrides[nope]: found no such container; use one of c",
			"spec.clusterScheduling.failoverPolicy.hardTaintDuration: found 0s; use more than 0: otherwise no cluster is ever excluded",
			`spec.scaledJobSpec.rolloutStrategy: found "gradual"; use spec.rollout.strategy; rolloutStrategy is deprecated`,
			`spec.scaledJobSpec.scalingStrategy.customScalingRunningJobPercentage: found "half"; use a decimal such as 0.5: otherwise custom is the strategy basic`,
			"spec.scaledJobSpec.triggers[0].useCachedMetrics: found true; use nothing, because it has no effect here",
			`spec.scaledJobSpec.triggers[0].metricType: found "Value"; use nothing, because it has no effect here`,
		}},
		{fmt.Sprintf(accurate, 5, "0.5"), strategy.Accurate{}, []string{
			"spec.scaledJobSpec.scalingStrategy.customScalingQueueLengthDeduction: found 5; use nothing, because it has no effect here",
			`spec.scaledJobSpec.scalingStrategy.customScalingRunningJobPercentage: found "0.5"; use nothing, because it has no effect here`,
		}},
		{fmt.Sprintf(accurate, 0, ""), strategy.Accurate{}, nil},
	} {
		d, err := parse[DistributedScaledJob](t, test.manifest)
		require.NoError(t, err)
		c, err := d.Config()
		require.NoError(t, err)
		require.Equal(t, test.strategy, c.Policy.Scaling.Strategy)
		var warnings []string
		for _, w := range c.Warnings {
			warnings = append(warnings, w.Error())
		}
		require.ElementsMatch(t, test.warnings, warnings)
	}
}
