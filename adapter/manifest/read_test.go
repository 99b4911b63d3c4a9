package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
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

func TestDefaults(t *testing.T) {
	s := read(t, minimal)
	c, err := s.Config(nil)
	require.NoError(t, err)
	require.Equal(t, manifest.Config{
		Policy:          scaling.Policy{Bounds: scaling.Bounds{Max: 100}, Strategy: strategy.Default{}},
		History:         history.Policy{Succeeded: history.Keep(100), Failed: history.Keep(100)},
		Rollout:         rollout.Policy{Strategy: rollout.Immediate},
		PollingInterval: 30 * time.Second,
		Triggers:        []manifest.Trigger{{Name: "rabbitmq", Type: "rabbitmq", Target: 5}},
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
	require.Equal(t, manifest.Config{
		Policy: scaling.Policy{Bounds: scaling.Bounds{Min: 10, Max: 50}, Aggregation: scaling.Sum,
			Strategy: strategy.NewCustom(1, half), Paused: true},
		History:         history.Policy{Succeeded: history.Keep(5), Failed: history.Keep(0)},
		Rollout:         rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Foreground},
		PollingInterval: 20 * time.Second,
		Triggers: []manifest.Trigger{
			{Name: "orders", Type: "aws-sqs-queue", Target: 2.5, ActivationThreshold: 3},
			{Name: "redis", Type: "redis", Target: 5},
			{Name: "redis-2", Type: "redis", Target: 7},
			{Name: "rabbitmq", Type: "rabbitmq", Target: 20, ActivationThreshold: 4},
		},
		Warnings: []*field.Error{{Path: "spec.rollout.propagationPolicy", Found: "foreground", Fix: "no value: gradual deletes no outdated Job"}},
	}, c)
}

func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"no ScaledJob: the text is empty"}},
		{"not YAML", "a: b: c", []string{"not YAML"}},
		{"objects without a separator", `{"kind": "ScaledJob"}` + "\n" + `{"kind": "ScaledJob"}`, []string{"not YAML: found an object after the first; use --- between objects"}},
		{"objects without a separator, after comments", "# Source: a.json\n\n  # b\n" + `{"kind": "ScaledJob"}` + "\n" + `{"kind": "ScaledJob"}`, []string{"not YAML: found an object after the first; use --- between objects"}},
		{"objects without a separator, after and between comments", "# Source: a.json\n\n  # b\n" + `{"kind": "ScaledJob"}` + "\n# Source: b.json\n" + `{"kind": "ScaledJob"}`, []string{"not YAML: found an object after the first; use --- between objects"}},
		{"a list", "- a", []string{"no ScaledJob: found an object without a kind"}},
		{"another kind", "kind: Deployment\n---\nkind: Ingress\n", []string{"no ScaledJob: found a Deployment, an Ingress"}},
		{"another version", "apiVersion: keda.sh/v1\nkind: ScaledJob\n", []string{"apiVersion: found \"keda.sh/v1\"; use keda.sh/v1alpha1"}},
		{"unknown fields, all at once", with("  cooldownPeriod: 3\n  scalingStategy: {}\n  jobs: 1\n"), []string{
			"spec.cooldownPeriod: found an unknown field; use a field that a ScaledJob has (cooldownPeriod is a ScaledObject's)",
			"spec.scalingStategy: found an unknown field; use spec.scalingStrategy",
			"spec.jobs: found an unknown field; use a field that a ScaledJob has",
		}},
		{"within the Job template", strings.Replace(minimal, "image:", "imagePullPolice: Always\n            image:", 1),
			[]string{"spec.jobTargetRef.template.spec.containers[0].imagePullPolice: found an unknown field"}},
		{"customPendingPodConditions", with("  scalingStrategy: {customPendingPodConditions: [Ready]}\n"),
			[]string{"spec.scalingStrategy.customPendingPodConditions: found an unknown field; use spec.scalingStrategy.pendingPodConditions"}},
		{"unquoted boolean", strings.Replace(minimal, "metadata:\n  name", "metadata:\n  annotations: {autoscaling.keda.sh/paused: true}\n  name", 1),
			[]string{`metadata.annotations.autoscaling.keda.sh/paused: found true, which YAML reads as a boolean; use a string in quotes: "true"`}},
		{"unquoted label", strings.Replace(minimal, "metadata:\n  name", "metadata:\n  labels: {version: 1.5}\n  name", 1),
			[]string{`metadata.labels.version: found 1.5, which YAML reads as a number; use a string in quotes: "1.5"`}},
		{"unquoted numbers, and an unknown field with them", strings.Replace(with("  jobs: 1\n  scalingStrategy: {customScalingRunningJobPercentage: 0.5, customScalingQueueLengthDeduction: 1}\n"), `"5"`, "5", 1), []string{
			`spec.triggers[0].metadata.queueLength: found 5, which YAML reads as a number; use a string in quotes: "5"`,
			`spec.scalingStrategy.customScalingRunningJobPercentage: found 0.5, which YAML reads as a number`,
			"spec.jobs: found an unknown field",
		}},
		{"another type", with("  maxReplicaCount: many\n"), []string{"spec.maxReplicaCount: found \"many\"; use a whole number"}},
		{"a template without its values", with("  maxReplicaCount: <no value>\n"), []string{`spec.maxReplicaCount: found "<no value>"; use a whole number`}},
		{"types of Kubernetes", strings.Replace(minimal, "image:", "resources: {limits: {cpu: many}}\n            livenessProbe: {tcpSocket: {port: true}}\n            image:", 1), []string{
			`resources.limits.cpu: found "many"; use a quantity such as 500m`, "livenessProbe.tcpSocket.port: found true; use a whole number or a string"}},
		{"all problems of all kinds", with("  maxReplicaCount: many\n  minReplicaCount: 1.5\n  jobs: 1\n  rollout: {strategy: [a]}\n"), []string{
			"spec.jobs: found an unknown field", `spec.maxReplicaCount: found "many"; use a whole number of 32 bits`,
			"spec.minReplicaCount: found 1.5; use a whole number of 32 bits", "spec.rollout.strategy: found a list; use a string, in quotes"}},
		{"another kind of value", with("  rollout: []\n"), []string{"spec.rollout: found a list; use an object"}},
		{"twice the same key", with("  pollingInterval: 1\n  pollingInterval: 2\n"), []string{`key "pollingInterval" already set`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := manifest.Read([]byte(tt.text))
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestSeveralDocuments(t *testing.T) {
	found, err := manifest.Read([]byte("kind: Secret\n---" + minimal + "---" + strings.Replace(minimal, "consumer", "second", 1)))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "second", found[1].Name)
}

func indented(text string) string {
	return "  - " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
}

func TestLists(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n" + indented("kind: Secret") + indented(minimal) + indented(strings.Replace(minimal, "consumer", "second", 1))
	for _, text := range []string{list, strings.Replace(list, "kind: List", "kind: ScaledJobList", 1), "kind: Secret\n---\n" + list} {
		found, err := manifest.Read([]byte(text))
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Equal(t, read(t, minimal), found[0])
		require.Equal(t, "second", found[1].Name)
	}
	_, err := manifest.Read([]byte(list + indented(with("  jobs: 1\n")) + "  - 7\n"))
	require.EqualError(t, err, "items[3].spec.jobs: found an unknown field; use a field that a ScaledJob has")
	_, err = manifest.Read([]byte("kind: List\nitems: []\n"))
	require.EqualError(t, err, "no ScaledJob: found a List")
	_, err = manifest.Read([]byte("kind: List\nitems: [7, {kind: Pod}]\n"))
	require.EqualError(t, err, "no ScaledJob: found an object without a kind, a Pod")
}

// Objects returns what the API server would accept, and all problems of the rest.
func TestObjects(t *testing.T) {
	for _, tt := range []struct {
		name, text, err string
		object          bool
	}{
		{"valid", minimal, "", true},
		{"an unknown field", with("  jobs: 1\n"), "spec.jobs: found an unknown field", true},
		{"a key twice", with("  pollingInterval: 1\n  pollingInterval: 1\n"), `key "pollingInterval" already set`, true},
		{"another version", strings.Replace(minimal, "v1alpha1", "v2", 1), `apiVersion: found "keda.sh/v2"; use keda.sh/v1alpha1`, true},
		{"a number for a string", strings.Replace(minimal, `"5"`, "5", 1), "spec.triggers[0].metadata.queueLength: found 5", false},
		{"a string for a number", with("  maxReplicaCount: many\n"), "spec.maxReplicaCount: found \"many\"", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := manifest.Objects([]byte("kind: Secret\ndata: 7\n---\n" + tt.text))
			require.Len(t, all, 2)
			require.Equal(t, manifest.Object{Kind: "Secret"}, all[0])
			require.Equal(t, "ScaledJob", all[1].Kind)
			require.Equal(t, tt.object, all[1].ScaledJob != nil)
			if tt.err == "" {
				require.NoError(t, all[1].Err)
				return
			}
			require.ErrorContains(t, all[1].Err, tt.err)
			if tt.object {
				_, err := all[1].ScaledJob.Config(nil)
				require.NoError(t, err)
			}
		})
	}
	all := manifest.Objects([]byte("a: b: c\n---\nkind: ScaledJobList\n"))
	require.Len(t, all, 2)
	require.ErrorContains(t, all[0].Err, "not YAML")
	require.Equal(t, manifest.Object{Kind: "List"}, all[1])
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
			"spec.minReplicaCount: found -1; use 0 or more", "spec.maxReplicaCount: found -2; use 0 or more",
			"spec.pollingInterval: found 0; use 1 or more", "spec.failedJobsHistoryLimit: found -1; use 0 or more",
			"spec.successfulJobsHistoryLimit: found -3; use 0 or more"}},
		{"names", with("  scalingStrategy: {strategy: Eager, multipleScalersCalculation: mean}\n  rollout: {strategy: fast, propagationPolicy: Background}\n"), []string{
			`spec.scalingStrategy.strategy: found "Eager"; use one of default, accurate, eager, custom, pendingAware`,
			`spec.scalingStrategy.multipleScalersCalculation: found "mean"; use one of max, min, avg, sum`,
			`spec.rollout.strategy: found "fast"; use gradual, drain or immediate`,
			`spec.rollout.propagationPolicy: found "Background"; use background, foreground or orphan`}},
		{"rollouts that disagree", with("  rolloutStrategy: gradual\n  rollout: {strategy: immediate}\n"),
			[]string{`spec.rolloutStrategy: found "gradual", while spec.rollout.strategy is "immediate"; use only spec.rollout.strategy`}},
		{"percentage", with("  scalingStrategy: {strategy: custom, customScalingRunningJobPercentage: 50%}\n"),
			[]string{`spec.scalingStrategy.customScalingRunningJobPercentage: found "50%"; use a decimal of 0 or more`}},
		{"deadline", strings.Replace(minimal, "    template:", "    activeDeadlineSeconds: 0\n    template:", 1),
			[]string{"spec.jobTargetRef.activeDeadlineSeconds: found 0; use 1 or more"}},
		{"numbers of a Job", strings.Replace(minimal, "    template:", "    parallelism: -1\n    completions: -2\n    backoffLimit: -3\n    ttlSecondsAfterFinished: -4\n    template:", 1),
			[]string{"spec.jobTargetRef.parallelism: found -1; use 0 or more", "spec.jobTargetRef.completions: found -2; use 0 or more",
				"spec.jobTargetRef.backoffLimit: found -3; use 0 or more", "spec.jobTargetRef.ttlSecondsAfterFinished: found -4; use 0 or more"}},
		{"no such container", with("  envSourceContainerName: other\n"), []string{`spec.envSourceContainerName: found "other"; use the name of a container`}},
		{"target", strings.Replace(minimal, `"5"`, `"0"`, 1), []string{`spec.triggers[0].metadata.queueLength: found "0"; use a positive number`}},
		{"no target", strings.Replace(minimal, "type: rabbitmq", "type: prometheus", 1), []string{`spec.triggers[0].metadata.threshold: found nothing; use the items that one Job serves, such as threshold: "5"`}},
		{"activation", strings.Replace(minimal, `queueLength: "5"`, `activationValue: "-1"`, 1), []string{`spec.triggers[0].metadata.activationValue: found "-1"; use a number of 0 or more`}},
		{"no type", strings.Replace(minimal, "type: rabbitmq", "name: a", 1), []string{"spec.triggers[0].type: found nothing; use the type of a trigger"}},
		{"unknown trigger", strings.Replace(minimal, "rabbitmq", "our-own", 1), []string{`spec.triggers[0].type: found "our-own"; use a type of KEDA, such as rabbitmq, or a target average value given by the caller for "our-own"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, tt.text).Config(nil)
			require.Error(t, err)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			require.Len(t, field.All(err), len(tt.want))
		})
	}
}

func TestWarnings(t *testing.T) {
	c, err := read(t, with("  minReplicaCount: 5\n  maxReplicaCount: 2\n  rolloutStrategy: gradual\n  scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 3}\n")).Config(nil)
	require.NoError(t, err)
	require.Equal(t, strategy.Default{}, c.Policy.Strategy)
	require.Equal(t, rollout.Gradual, c.Rollout.Strategy)
	texts := func(c manifest.Config) (warnings []string) {
		for _, w := range c.Warnings {
			warnings = append(warnings, w.Error())
		}
		return warnings
	}
	require.Equal(t, []string{
		"spec.minReplicaCount: found 5; use maxReplicaCount or less; it is taken as 2",
		`spec.scalingStrategy.customScalingRunningJobPercentage: found nothing; use a decimal of 0 or more, such as "0.5"; without it, custom is the strategy default`,
		`spec.rolloutStrategy: found "gradual"; use spec.rollout.strategy; rolloutStrategy is deprecated`,
	}, texts(c))

	c, err = read(t, with("  scalingStrategy: {strategy: accurate, customScalingQueueLengthDeduction: 3, customScalingRunningJobPercentage: \"0.5\"}\n")).Config(nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"spec.scalingStrategy.customScalingQueueLengthDeduction: found 3; use no value: only the strategy custom reads it",
		`spec.scalingStrategy.customScalingRunningJobPercentage: found "0.5"; use no value: only the strategy custom reads it`,
	}, texts(c))
}

func TestPaused(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false, "1": true, "0": false, "t": true, "F": false, "TRUE": true} {
		s := read(t, minimal)
		s.Annotations = map[string]string{manifest.AnnotationPaused: text}
		c, err := s.Config(nil)
		require.NoError(t, err)
		require.Equal(t, want, c.Policy.Paused, text)
	}
	for _, text := range []string{"", "yes", "no"} {
		s := read(t, minimal)
		s.Annotations = map[string]string{manifest.AnnotationPaused: text}
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
	require.ErrorContains(t, err, "spec.triggers[0]: found 0 as the target given for our-own; use a positive, finite number")
}

// A target by name comes before a target by type, and both before the manifest's.
func TestTargetsByNameAndType(t *testing.T) {
	s := read(t, minimal+"    - {type: rabbitmq, name: second, metadata: {queueLength: \"5\"}}\n")
	triggers, err := s.Triggers(map[string]float64{"second": 7, "rabbitmq": 6})
	require.NoError(t, err)
	require.Equal(t, []manifest.Trigger{{Name: "rabbitmq", Type: "rabbitmq", Target: 6}, {Name: "second", Type: "rabbitmq", Target: 7}}, triggers)
	triggers, err = s.Triggers(map[string]float64{"rabbitmq": 6})
	require.NoError(t, err)
	require.Equal(t, 6.0, triggers[1].Target)
	triggers, err = s.Triggers(map[string]float64{"second": -1})
	require.ErrorContains(t, err, "spec.triggers[1]: found -1 as the target given for second")
	require.Equal(t, 5.0, triggers[0].Target)
}

func TestTriggerTypes(t *testing.T) {
	for _, kind := range manifest.TriggerTypes() {
		s := read(t, strings.Replace(minimal, "rabbitmq", kind, 1))
		_, err := s.Config(map[string]float64{kind: 1})
		require.NoError(t, err, kind)
	}
}

func TestSampleManifest(t *testing.T) {
	data, err := testdata.Files.ReadFile("manifests/rabbitmq.yaml")
	require.NoError(t, err)
	c, err := read(t, string(data)).Config(nil)
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	require.Equal(t, int64(30), c.Policy.Bounds.Max)
	require.Equal(t, 10*time.Second, c.PollingInterval)
}

func TestDeepCopy(t *testing.T) {
	s := read(t, minimal)
	c := s.DeepCopyObject().(*manifest.ScaledJob)
	require.Equal(t, s, c)
	c.Spec.JobTargetRef.Template.Spec.Containers[0].Image = "other"
	c.Spec.Triggers[0].Metadata["queueLength"] = "6"
	require.Equal(t, read(t, minimal), s)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := manifest.Read(data)
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d found, and the error %v", len(found), err)
		}
		for _, s := range found {
			s.Config(nil)
		}
	})
}

// A quantity with a great exponent is not decoded: that would take hours.
func TestQuantities(t *testing.T) {
	pod := func(lines string) []byte {
		return []byte(strings.Replace(minimal, "        containers:\n          - name: main\n", "        "+lines+"\n        containers:\n          - name: main\n", 1))
	}
	const huge = `"12345678901234567890e2147483647"`
	for lines, path := range map[string]string{
		"initContainers: [{name: i, image: i, resources: {limits: {cpu: " + huge + "}}}]": "initContainers[0].resources.limits.cpu",
		"initContainers: [{name: i, image: i, resources: {requests: {cpu: '1E-99999'}}}]": "initContainers[0].resources.requests.cpu",
		"overhead: {cpu: " + huge + "}":                                                       "overhead.cpu",
		"volumes: [{name: v, emptyDir: {sizeLimit: " + huge + "}}]":                           "volumes[0].emptyDir.sizeLimit",
		"volumes: [{name: v, downwardAPI: {items: [{resourceFieldRef: {divisor: 1e1000}}]}}]": "volumes[0].downwardAPI.items[0].resourceFieldRef.divisor",
	} {
		_, err := manifest.Read(pod(strings.Replace(lines, "1e1000", `"1e1000"`, 1)))
		all := field.All(err)
		require.Len(t, all, 1, lines)
		require.Equal(t, "spec.jobTargetRef.template.spec."+path, all[0].Path)
	}
	read(t, string(pod(`initContainers: [{name: 1e99999x, image: i, args: ["1e99999"], resources: {limits: {cpu: 1e3, memory: 1E, example.com/c: "1.5e-3"}}}]`)))
}
