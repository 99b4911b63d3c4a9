package scaledjob_test

// What the tests hold:
//
//	every field reaches the Target and the Job               TestEveryFieldHasAnEffect
//	the Jobs of KEDA count, a namesake's Jobs do not         TestJobsOfKEDACount; TestWhose in adapter
//	a state that lasts is reported once                      TestEventsOnce
//	Jobs of an earlier call are not reported as created      TestCreatedOnce
//	an outdated plan changes no condition                    TestOutdatedPlan

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

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
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
	unset := config(t, read(t, minimal)).Target.Job.Spec
	unset.Template = corev1.PodTemplateSpec{}
	require.Zero(t, unset, "unset fields are the API server's")
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
		client := adaptertest.NewCluster(jobOf(s, "consumer-x7k2p", test.generation))
		jobs, err := adapter.List(context.Background(), client, target, options)
		require.NoError(t, err)
		counts, known := jobs.Counts(s.UID, noon)
		require.True(t, known)
		require.Equal(t, scaling.JobCounts{Running: 1, Pending: 1}, counts)
		require.Len(t, jobs.Plan(s.UID, nil, noon).Delete, test.deleted)
	}
}
