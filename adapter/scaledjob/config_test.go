package scaledjob_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/testdata"
)

const minimal = testdata.ScaledJob

func read(t require.TestingT, text string) *manifest.ScaledJob {
	found, err := manifest.Read([]byte(text))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// with adds lines to the spec.
func with(lines string) string { return strings.Replace(minimal, "spec:\n", "spec:\n"+lines, 1) }

// effects has for each field of a spec what it changes in a Config, and nothing else.
var effects = []struct {
	lines  string
	change func(c *scaledjob.Config)
}{
	{"jobTargetRef: {parallelism: 2}", func(c *scaledjob.Config) { c.Target.Job.Spec.Parallelism = new(int32(2)) }},
	{"jobTargetRef: {completions: 3}", func(c *scaledjob.Config) { c.Target.Job.Spec.Completions = new(int32(3)) }},
	{"jobTargetRef: {activeDeadlineSeconds: 600}", func(c *scaledjob.Config) { c.Target.Job.Spec.ActiveDeadlineSeconds = new(int64(600)) }},
	{"jobTargetRef: {backoffLimit: 0}", func(c *scaledjob.Config) { c.Target.Job.Spec.BackoffLimit = new(int32(0)) }},
	{"jobTargetRef: {ttlSecondsAfterFinished: 9}", func(c *scaledjob.Config) {
		c.Target.Job.Spec.TTLSecondsAfterFinished, c.Target.History.Age = new(int32(9)), history.After(9*time.Second)
	}},
	{"jobTargetRef: {suspend: true}", func(c *scaledjob.Config) { c.Target.Job.Spec.Suspend = new(true) }},
	{"pollingInterval: 1", func(c *scaledjob.Config) { c.PollingInterval = time.Second }},
	{"successfulJobsHistoryLimit: 0", func(c *scaledjob.Config) { c.Target.History.Succeeded = history.Keep(0) }},
	{"failedJobsHistoryLimit: 7", func(c *scaledjob.Config) { c.Target.History.Failed = history.Keep(7) }},
	{"envSourceContainerName: main", func(*scaledjob.Config) {}}, // of the sources of queue lengths
	{"minReplicaCount: 0", func(*scaledjob.Config) {}},
	{"minReplicaCount: 3", func(c *scaledjob.Config) { c.Target.Policy.Bounds.Min = 3 }},
	{"maxReplicaCount: 0", func(c *scaledjob.Config) { c.Target.Policy.Bounds.Max = 0 }},
	{"minReplicaCount: 1\n  maxReplicaCount: 0", func(c *scaledjob.Config) {
		c.Target.Policy.Bounds = scaling.Bounds{Min: 1}
		c.Warnings = []*field.Error{{Path: "spec.minReplicaCount", Found: "1", Fix: "maxReplicaCount or less; it is taken as 0"}}
	}},
	{"maxReplicaCount: 100", func(*scaledjob.Config) {}},
	{"maxReplicaCount: 7", func(c *scaledjob.Config) { c.Target.Policy.Bounds.Max = 7 }},
	{"rollout: {strategy: default}", func(*scaledjob.Config) {}},
	{"rollout: {strategy: immediate}", func(*scaledjob.Config) {}},
	{"rollout: {strategy: gradual}", func(c *scaledjob.Config) { c.Target.Rollout.Strategy = rollout.Gradual }},
	{"rollout: {strategy: drain}", func(c *scaledjob.Config) { c.Target.Rollout.Strategy = rollout.Drain }},
	{"rollout: {strategy: gradual}\n  rolloutStrategy: gradual", func(c *scaledjob.Config) { c.Target.Rollout.Strategy = rollout.Gradual }},
	{"rollout: {propagationPolicy: background}", func(*scaledjob.Config) {}},
	{"rollout: {propagationPolicy: foreground}", func(c *scaledjob.Config) { c.Target.Rollout.Propagation = rollout.Foreground }},
	{"rollout: {propagationPolicy: orphan}", func(c *scaledjob.Config) { c.Target.Rollout.Propagation = rollout.Orphan }},
	{"scalingStrategy: {strategy: default}", func(*scaledjob.Config) {}},
	{"scalingStrategy: {strategy: accurate}", func(c *scaledjob.Config) { c.Target.Policy.Strategy = strategy.Accurate{} }},
	{"scalingStrategy: {strategy: eager}", func(c *scaledjob.Config) { c.Target.Policy.Strategy = strategy.Eager{} }},
	{"scalingStrategy: {strategy: pendingAware}", func(c *scaledjob.Config) { c.Target.Policy.Strategy = strategy.PendingAware{} }},
	{`scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: "0.5"}`,
		func(c *scaledjob.Config) { c.Target.Policy.Strategy = custom(0, "0.5") }},
	{`scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: "0", customScalingQueueLengthDeduction: 2}`,
		func(c *scaledjob.Config) { c.Target.Policy.Strategy = custom(2, "0") }},
	{"scalingStrategy: {pendingPodConditions: [Ready, b]}", func(c *scaledjob.Config) { c.Target.PendingPodConditions = []string{"Ready", "b"} }},
	{"scalingStrategy: {multipleScalersCalculation: max}", func(*scaledjob.Config) {}},
	{"scalingStrategy: {multipleScalersCalculation: min}", func(c *scaledjob.Config) { c.Target.Policy.Aggregation = scaling.Min }},
	{"scalingStrategy: {multipleScalersCalculation: avg}", func(c *scaledjob.Config) { c.Target.Policy.Aggregation = scaling.Avg }},
	{"scalingStrategy: {multipleScalersCalculation: sum}", func(c *scaledjob.Config) { c.Target.Policy.Aggregation = scaling.Sum }},
}

func custom(deduction int64, percentage string) strategy.Strategy {
	p, err := strategy.ParsePercentage(percentage)
	if err != nil {
		panic(err)
	}
	return strategy.NewCustom(deduction, p)
}

func TestEveryFieldHasAnEffect(t *testing.T) {
	var covered strings.Builder
	for _, tt := range effects {
		covered.WriteString(tt.lines)
		lines := strings.Replace(minimal, "spec:\n", "spec:\n  "+tt.lines+"\n", 1)
		if inner, ok := strings.CutPrefix(tt.lines, "jobTargetRef: {"); ok {
			lines = strings.Replace(minimal, "jobTargetRef:\n", "jobTargetRef:\n    "+strings.TrimSuffix(inner, "}")+"\n", 1)
		}
		want, got := config(t, read(t, minimal)), config(t, read(t, lines))
		tt.change(&want)
		require.Equal(t, want, got, tt.lines)
		spec := got.Target.NewJob(1).Spec
		spec.Template.Spec.RestartPolicy = ""
		want.Target.Job.Spec.TTLSecondsAfterFinished = nil // the tracker deletes at that age
		require.Equal(t, want.Target.Job.Spec, spec, tt.lines)
	}
	for _, of := range []reflect.Type{reflect.TypeFor[manifest.Spec](), reflect.TypeFor[manifest.Rollout](), reflect.TypeFor[manifest.ScalingStrategy]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "triggers" { // TestEveryDocumentedField
				require.Contains(t, covered.String(), name+":", "a field without an effect")
			}
		}
	}
}

func TestJobSpec(t *testing.T) {
	c := config(t, read(t, strings.Replace(minimal, "    template:",
		"    parallelism: 2\n    completions: 3\n    activeDeadlineSeconds: 600\n    backoffLimit: 0\n    template:", 1)))
	want := batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(3)), ActiveDeadlineSeconds: new(int64(600)), BackoffLimit: new(int32(0))}
	got := c.Target.NewJob(1).Spec
	got.Template = corev1.PodTemplateSpec{}
	require.Equal(t, want, got)

	c = config(t, read(t, minimal))
	got = c.Target.NewJob(1).Spec
	got.Template = corev1.PodTemplateSpec{}
	require.Equal(t, batchv1.JobSpec{}, got, "unset fields are the API server's")
}

// jobOf returns a Job as KEDA creates it.
func jobOf(owner *manifest.ScaledJob, name, generation string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: owner.Namespace, UID: "job-" + owner.UID, ResourceVersion: "1",
		Labels:          map[string]string{manifest.LabelName: owner.Name},
		Annotations:     map[string]string{manifest.AnnotationGeneration: generation},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, manifest.GroupVersionKind)},
	}}
}

var options = adapter.Options{Selector: scaledjob.Selector}

// KEDA's Jobs count. They say nothing about their template, so that none is outdated, except as KEDA decides.
func TestJobsOfKEDACount(t *testing.T) {
	s := read(t, minimal)
	target := config(t, s).Target
	target.Revision.TemplateHash = "new"
	for _, test := range []struct {
		generation string
		asKEDA     bool
		deleted    int
	}{{"1", false, 0}, {"2", false, 0}, {"1", true, 1}, {"2", true, 0}} {
		target.Rollout.EveryEdit = test.asKEDA
		client := newCluster(jobOf(s, "consumer-x7k2p", test.generation))
		jobs, err := adapter.List(context.Background(), client, target, options)
		require.NoError(t, err)
		counts, known := jobs.Counts(s.UID, noon)
		require.True(t, known)
		require.Equal(t, scaling.JobCounts{Running: 1, Pending: 1}, counts)
		require.Len(t, jobs.Plan(s.UID, nil, noon).Delete, test.deleted)
	}
}

// Neither KEDA nor a tracker counts the Jobs of a resource of another kind for a
// ScaledJob of the same name.
func TestNamesake(t *testing.T) {
	s := read(t, minimal)
	target := config(t, s).Target
	other := adapter.Target{Owner: adapter.OwnerOf(s, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}), Job: &batchv1.Job{}}
	other.Owner.UID = "other"
	s.Spec.JobTargetRef.DeepCopyInto(&other.Job.Spec)
	job := other.NewJob(1)
	for _, release := range keda.Releases() {
		profile, err := keda.Release(release)
		require.NoError(t, err)
		require.NotContains(t, job.Labels, profile.TrackingLabel(), release)
	}
	job.Labels[manifest.LabelName] = s.Name // somebody else's
	jobs, err := adapter.Observe(target, options, []batchv1.Job{*job}, nil)
	require.NoError(t, err)
	counts, known := jobs.Counts(s.UID, noon)
	require.True(t, known)
	require.Zero(t, counts)
}

// A Job with a Running pod is pending until the pod has every condition.
func TestPendingPodConditions(t *testing.T) {
	pods := options
	pods.Pods = true
	for conditions, pending := range map[string]int64{"": 0, "Ready": 0, "Ready, PodScheduled": 1} {
		s := read(t, with("  scalingStrategy: {pendingPodConditions: ["+conditions+"]}\n"))
		job := jobOf(s, "consumer-1", "2")
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionFalse},
			}},
		}
		jobs, err := adapter.Observe(config(t, s).Target, pods, []batchv1.Job{*job}, []corev1.Pod{pod})
		require.NoError(t, err)
		counts, _ := jobs.Counts(s.UID, noon)
		require.Equal(t, scaling.JobCounts{Running: 1, Pending: pending}, counts, conditions)
		if conditions != "" {
			_, err = adapter.Observe(config(t, s).Target, options, nil, nil)
			require.ErrorContains(t, err, "a tracker with Options.Pods", "they would have no effect")
		}
	}
}

// An edit deletes the Jobs that it concerns: not one of the maximum, of a trigger or of the time to live. Jobs
// of an older release of this program have another annotation, and are never outdated; a controller that has
// not seen the edit outdates nothing.
func TestEdits(t *testing.T) {
	s := read(t, minimal)
	template := func(change func(map[string]any)) string {
		value := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "i:1"}}}}}
		change(value)
		return adapter.TemplateHash(value)
	}
	created := config(t, s).Target
	created.Revision.TemplateHash = template(func(map[string]any) {})
	job := created.NewJob(1)
	job.UID, job.ResourceVersion = "1", "1"
	for _, test := range []struct {
		name    string
		edit    func(*adapter.Target)
		deletes int
	}{
		{"nothing", func(*adapter.Target) {}, 0},
		{"the maximum", func(t *adapter.Target) { t.Revision.Generation++; t.Policy.Bounds.Max = 7 }, 0},
		{"the time to live", func(t *adapter.Target) {
			t.Revision.Generation++
			t.Revision.TemplateHash = template(func(v map[string]any) { v["ttlSecondsAfterFinished"] = 60 })
		}, 0},
		{"the image", func(t *adapter.Target) {
			t.Revision.Generation++
			t.Revision.TemplateHash = template(func(v map[string]any) { v["parallelism"] = 2 })
		}, 1},
		{"a default of a new API server", func(t *adapter.Target) {
			t.Revision.TemplateHash = template(func(v map[string]any) { v["fieldOfTomorrow"] = "x" })
		}, 0},
		{"the image, as an old controller sees it", func(t *adapter.Target) {
			t.Revision.Generation--
			t.Revision.TemplateHash = template(func(v map[string]any) { v["parallelism"] = 2 })
		}, 0},
	} {
		target := config(t, s).Target
		target.Revision.TemplateHash = created.Revision.TemplateHash
		test.edit(&target)
		jobs, err := adapter.List(context.Background(), newCluster(job), target, options)
		require.NoError(t, err)
		require.Len(t, jobs.Plan(s.UID, nil, noon).Delete, test.deletes, test.name)
	}
	old := job.DeepCopy()
	old.Annotations["scaledjob.github.io/template-hash"] = old.Annotations[adapter.AnnotationTemplateHash]
	delete(old.Annotations, adapter.AnnotationTemplateHash)
	target := config(t, s).Target
	target.Revision.Generation++
	target.Revision.TemplateHash = "another"
	jobs, err := adapter.List(context.Background(), newCluster(old), target, options)
	require.NoError(t, err)
	require.Empty(t, jobs.Plan(s.UID, nil, noon).Delete, "after an upgrade")
}
