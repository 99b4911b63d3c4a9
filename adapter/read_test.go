package adapter_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

const minimal = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: consumer
  namespace: shop
  uid: 7d2b2f3c-6a55-4a4f-8f50-111111111111
  generation: 2
spec:
  jobTargetRef:
    template:
      spec:
        containers:
          - name: main
            image: example.com/consumer:1
  triggers:
    - type: rabbitmq
      metadata:
        queueLength: "5"
`

func read(t *testing.T, text string) *adapter.ScaledJob {
	t.Helper()
	found, err := adapter.ReadScaledJobs([]byte(text))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// with adds lines to the spec.
func with(lines string) string { return strings.Replace(minimal, "spec:\n", "spec:\n"+lines, 1) }

func TestDefaults(t *testing.T) {
	s := read(t, minimal)
	c, err := s.Config(nil)
	require.NoError(t, err)
	require.Equal(t, adapter.Config{
		Revision:        s.Revision(),
		Policy:          scaling.Policy{Bounds: scaling.Bounds{Max: 100}, Strategy: strategy.Default{}},
		History:         history.Limits{Succeeded: history.Keep(100), Failed: history.Keep(100)},
		Rollout:         rollout.Policy{Strategy: rollout.Immediate},
		PollingInterval: 30 * time.Second,
		Triggers:        []adapter.Trigger{{Name: "rabbitmq", Type: "rabbitmq", Target: 5}},
	}, c)
}

func TestEveryDocumentedField(t *testing.T) {
	s := read(t, `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: all
  labels: {my-label: a}
  annotations: {autoscaling.keda.sh/paused: "true", my-annotation: b}
spec:
  jobTargetRef:
    parallelism: 1
    completions: 1
    activeDeadlineSeconds: 600
    backoffLimit: 6
    template: {spec: {containers: [{name: main, image: a}, {name: side, image: b}]}}
  pollingInterval: 20
  successfulJobsHistoryLimit: 5
  failedJobsHistoryLimit: 0
  envSourceContainerName: side
  minReplicaCount: 10
  maxReplicaCount: 50
  rollout: {strategy: gradual, propagationPolicy: foreground}
  scalingStrategy:
    strategy: custom
    customScalingQueueLengthDeduction: 1
    customScalingRunningJobPercentage: "0.5"
    pendingPodConditions: [Ready, PodScheduled]
    multipleScalersCalculation: sum
  triggers:
    - {type: aws-sqs-queue, name: orders, metadata: {queueLength: "2.5", activationQueueLength: "3"}}
    - {type: redis, metadata: {listName: a}, useCachedMetrics: true, metricType: AverageValue, authenticationRef: {name: a, kind: ClusterTriggerAuthentication}}
    - {type: redis, metadata: {listName: b, listLength: "7"}}
    - {type: rabbitmq, metadata: {mode: MessageRate, value: "20", activationValue: "4"}}
status: {paused: "0"}
`)
	c, err := s.Config(nil)
	require.NoError(t, err)
	half, err := strategy.ParsePercentage("0.5")
	require.NoError(t, err)
	require.Equal(t, adapter.Config{
		Policy: scaling.Policy{Bounds: scaling.Bounds{Min: 10, Max: 50}, Aggregation: scaling.Sum,
			Strategy: strategy.NewCustom(1, half), Paused: true},
		History:              history.Limits{Succeeded: history.Keep(5), Failed: history.Keep(0)},
		Rollout:              rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Foreground},
		PollingInterval:      20 * time.Second,
		Revision:             s.Revision(),
		PendingPodConditions: []string{"Ready", "PodScheduled"},
		Triggers: []adapter.Trigger{
			{Name: "orders", Type: "aws-sqs-queue", Target: 2.5, ActivationThreshold: 3},
			{Name: "redis", Type: "redis", Target: 5},
			{Name: "redis-2", Type: "redis", Target: 7},
			{Name: "rabbitmq", Type: "rabbitmq", Target: 20, ActivationThreshold: 4},
		},
	}, c)
}

func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"no ScaledJob: the text is empty"}},
		{"not YAML", "a: b: c", []string{"not a YAML object"}},
		{"a list", "- a", []string{"not a YAML object"}},
		{"another kind", "kind: Deployment\n---\nkind: Secret\n", []string{"no ScaledJob: found a Deployment, a Secret"}},
		{"another version", "apiVersion: keda.sh/v1\nkind: ScaledJob\n", []string{"apiVersion: found keda.sh/v1: want keda.sh/v1alpha1"}},
		{"unknown fields, all at once", with("  cooldownPeriod: 3\n  scalingStategy: {}\n  jobs: 1\n"), []string{
			"spec.cooldownPeriod: found an unknown field: want nothing (cooldownPeriod is a ScaledObject's)",
			"spec.scalingStategy: found an unknown field: want spec.scalingStrategy",
			"spec.jobs: found an unknown field: want no such field",
		}},
		{"within the Job template", strings.Replace(minimal, "image:", "imagePullPolice: Always\n            image:", 1),
			[]string{"spec.jobTargetRef.template.spec.containers[0].imagePullPolice: found an unknown field"}},
		{"customPendingPodConditions", with("  scalingStrategy: {customPendingPodConditions: [Ready]}\n"),
			[]string{"spec.scalingStrategy.customPendingPodConditions: found an unknown field: want spec.scalingStrategy.pendingPodConditions"}},
		{"unquoted boolean", strings.Replace(minimal, "metadata:\n  name", "metadata:\n  annotations: {autoscaling.keda.sh/paused: true}\n  name", 1),
			[]string{`metadata.annotations.autoscaling.keda.sh/paused: found true, which YAML reads as a boolean: want a string in quotes: autoscaling.keda.sh/paused: "true"`}},
		{"unquoted numbers, and an unknown field with them", strings.Replace(with("  jobs: 1\n  scalingStrategy: {customScalingRunningJobPercentage: 0.5}\n"), `"5"`, "5", 1), []string{
			`spec.triggers[0].metadata.queueLength: found 5, which YAML reads as a number: want a string in quotes: queueLength: "5"`,
			`spec.scalingStrategy.customScalingRunningJobPercentage: found 0.5, which YAML reads as a number`,
			"spec.jobs: found an unknown field",
		}},
		{"another type", with("  maxReplicaCount: many\n"), []string{"spec.maxReplicaCount: found a string: want a value of type int32"}},
		{"twice the same key", with("  pollingInterval: 1\n  pollingInterval: 2\n"), []string{`key "pollingInterval" already set`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := adapter.ReadScaledJobs([]byte(tt.text))
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestSeveralDocuments(t *testing.T) {
	found, err := adapter.ReadScaledJobs([]byte("kind: Secret\n---" + minimal + "---" + strings.Replace(minimal, "consumer", "second", 1)))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "second", found[1].Name)
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing at all", "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\n", []string{
			"metadata.name: found nothing", "spec.jobTargetRef: found nothing", "spec.triggers: found none"}},
		{"no template", strings.Replace(minimal, "    template:\n      spec:\n        containers:\n          - name: main\n            image: example.com/consumer:1\n", "    backoffLimit: 1\n", 1),
			[]string{"spec.jobTargetRef.template: found no container"}},
		{"numbers", with("  minReplicaCount: -1\n  maxReplicaCount: -2\n  pollingInterval: 0\n  failedJobsHistoryLimit: -1\n  successfulJobsHistoryLimit: -3\n"), []string{
			"spec.minReplicaCount: found -1: want 0 or more", "spec.maxReplicaCount: found -2: want 0 or more",
			"spec.pollingInterval: found 0: want 1 or more (seconds)", "spec.failedJobsHistoryLimit: found -1: want 0 or more",
			"spec.successfulJobsHistoryLimit: found -3: want 0 or more"}},
		{"names", with("  scalingStrategy: {strategy: Eager, multipleScalersCalculation: mean}\n  rollout: {strategy: fast, propagationPolicy: Background}\n"), []string{
			`spec.scalingStrategy.strategy: found "Eager": want one of default, accurate, eager, custom, pendingAware`,
			`spec.scalingStrategy.multipleScalersCalculation: found "mean": want max, min, avg or sum`,
			`spec.rollout.strategy: found "fast": want gradual, immediate`,
			`spec.rollout.propagationPolicy: found "Background": want background, foreground or orphan`}},
		{"rollouts that disagree", with("  rolloutStrategy: gradual\n  rollout: {strategy: immediate}\n"),
			[]string{`spec.rolloutStrategy: found "gradual", while spec.rollout.strategy is "immediate": want only spec.rollout.strategy`}},
		{"percentage", with("  scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: 50%}\n"),
			[]string{`spec.scalingStrategy.customScalingRunningJobPercentage: found "50%": want a decimal that is not negative`}},
		{"deadline", strings.Replace(minimal, "    template:", "    activeDeadlineSeconds: 0\n    template:", 1),
			[]string{"spec.jobTargetRef.activeDeadlineSeconds: found 0: want 1 or more (seconds)"}},
		{"no such container", with("  envSourceContainerName: other\n"), []string{`spec.envSourceContainerName: found "other": want the name of a container`}},
		{"target", strings.Replace(minimal, `"5"`, `"0"`, 1), []string{`spec.triggers[0].metadata.queueLength: found "0": want a positive number`}},
		{"no target", strings.Replace(minimal, "type: rabbitmq", "type: prometheus", 1), []string{`spec.triggers[0].metadata.threshold: found nothing: want the items that one Job serves, such as threshold: "5"`}},
		{"activation", strings.Replace(minimal, `queueLength: "5"`, `activationValue: "-1"`, 1), []string{`spec.triggers[0].metadata.activationValue: found "-1": want a number of 0 or more`}},
		{"unknown trigger", strings.Replace(minimal, "rabbitmq", "our-own", 1), []string{`spec.triggers[0].type: found "our-own": want a type in common use (activemq, apache-kafka`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, tt.text).Config(nil)
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			var field *adapter.FieldError
			require.ErrorAs(t, err, &field)
		})
	}
}

func TestWarnings(t *testing.T) {
	c, err := read(t, with("  minReplicaCount: 5\n  maxReplicaCount: 2\n  rolloutStrategy: gradual\n  scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 3}\n")).Config(nil)
	require.NoError(t, err)
	require.Equal(t, strategy.Default{}, c.Policy.Strategy)
	require.Equal(t, rollout.Gradual, c.Rollout.Strategy)
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Error())
	}
	require.Equal(t, []string{
		"spec.minReplicaCount: found 5: want no more than maxReplicaCount: it is taken as 2",
		`spec.rolloutStrategy: found "gradual": want spec.rollout.strategy, since rolloutStrategy is deprecated`,
		`spec.scalingStrategy.customScalingRunningJobPercentage: found nothing: want a decimal such as "0.5": without it, custom is the strategy default`,
	}, warnings)
}

func TestPaused(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false, "1": true, "0": false, "t": true, "F": false, "TRUE": true} {
		s := read(t, minimal)
		s.Annotations = map[string]string{adapter.AnnotationPaused: text}
		c, err := s.Config(nil)
		require.NoError(t, err)
		require.Equal(t, want, c.Policy.Paused, text)
	}
	for _, text := range []string{"", "yes", "no"} {
		s := read(t, minimal)
		s.Annotations = map[string]string{adapter.AnnotationPaused: text}
		c, err := s.Config(nil)
		require.ErrorContains(t, err, "until then it means paused")
		require.True(t, c.Policy.Paused, text)
	}
}

func TestTargetsOfTheCaller(t *testing.T) {
	s := read(t, strings.Replace(minimal, "rabbitmq", "our-own", 1))
	c, err := s.Config(map[string]float64{"our-own": 3})
	require.NoError(t, err)
	require.Equal(t, 3.0, c.Triggers[0].Target)
	_, err = s.Config(map[string]float64{"our-own": 0})
	require.ErrorContains(t, err, "spec.triggers[0]: found 0 as the target given for our-own: want a positive, finite number")
}

func TestTriggerTypes(t *testing.T) {
	for _, kind := range adapter.TriggerTypes() {
		s := read(t, strings.Replace(minimal, "rabbitmq", kind, 1))
		_, err := s.Config(map[string]float64{kind: 1})
		require.NoError(t, err, kind)
	}
}

func TestSampleManifest(t *testing.T) {
	data, err := os.ReadFile("../testdata/manifests/rabbitmq.yaml")
	require.NoError(t, err)
	c, err := read(t, string(data)).Config(nil)
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	require.Equal(t, int64(30), c.Policy.Bounds.Max)
	require.Equal(t, 10*time.Second, c.PollingInterval)
}

func TestDeepCopy(t *testing.T) {
	s := read(t, minimal)
	c := s.DeepCopyObject().(*adapter.ScaledJob)
	require.Equal(t, s, c)
	c.Spec.JobTargetRef.Template.Spec.Containers[0].Image = "other"
	c.Spec.Triggers[0].Metadata["queueLength"] = "6"
	require.Equal(t, read(t, minimal), s)
}

func FuzzReadScaledJobs(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := adapter.ReadScaledJobs(data)
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d found, and the error %v", len(found), err)
		}
		for _, s := range found {
			s.Config(nil)
		}
	})
}
