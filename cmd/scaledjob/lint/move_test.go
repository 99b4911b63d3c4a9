package lint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// fixesOf returns the fixes of a rule's findings.
func fixesOf(r lint.Report, rule string) (fixes []string) {
	for _, f := range r.Findings {
		if f.Rule == rule {
			fixes = append(fixes, f.Fix)
		}
	}
	return fixes
}

// A misplaced key goes where it belongs: up, down or beside, to the nearest place in which its value is valid.
func TestMoves(t *testing.T) {
	container := func(line string) string {
		return strings.Replace(minimal, "            image:", "            "+line+"\n            image:", 1)
	}
	pod := func(line string) string {
		return strings.Replace(minimal, "        containers:", "        "+line+"\n        containers:", 1)
	}
	for text, want := range map[string]string{
		pod("backoffLimit: 3"):                                           "Move it to spec.jobTargetRef.backoffLimit",
		pod("ttlSecondsAfterFinished: 3"):                                "Move it to spec.jobTargetRef.ttlSecondsAfterFinished",
		pod("maxReplicaCount: 3"):                                        "Move it to spec.maxReplicaCount",
		container("terminationGracePeriodSeconds: 30"):                   "Move it to spec.jobTargetRef.template.spec.terminationGracePeriodSeconds",
		container("resources: {nvidia.com/gpu: 1}"):                      "Move it to spec.jobTargetRef.template.spec.containers[0].resources.limits[nvidia.com/gpu]",
		pod("securityContext: {readOnlyRootFilesystem: true}"):           "Move it to spec.jobTargetRef.template.spec.containers[0].securityContext.readOnlyRootFilesystem",
		pod("volumes: [{name: v, persistentVolumeClaim: {name: data}}]"): "Write spec.jobTargetRef.template.spec.volumes[0].persistentVolumeClaim.claimName",
		pod("template: {spec: {containers: [{name: a, image: b}]}}"):     "Move what is below it to spec.jobTargetRef.template",
		strings.Replace(minimal, "    template:\n      spec:\n", "    spec:\n      template:\n       spec:\n", 1): "Move what is below it to spec.jobTargetRef",
		strings.Replace(minimal, "  triggers:", "  scalingTriggers:", 1):                                          "Write spec.triggers",
		container("nodeSelector: {a: b}"):                                                                         "Move it to spec.jobTargetRef.template.spec.nodeSelector",
		with("  strategy: accurate\n"):                                                                            "Move it to spec.scalingStrategy.strategy",
		with("  strategy: gradual\n"):                                                                             "Move it to spec.rollout.strategy",
		with("  multipleScalersCalculation: sum\n"):                                                               "Move it to spec.scalingStrategy.multipleScalersCalculation",
		with("  backoffLimit: 3\n"):                                                                               "Move it to spec.jobTargetRef.backoffLimit",
		with("  authenticationRef: {name: a}\n"):                                                                  "Move it to spec.triggers[0].authenticationRef",
		with("  labels: {a: b}\n"):                                                                                "Move it to metadata.labels",
		with("  nonsense: 3\n"):                                                                                   "Delete it; a ScaledJob has no such field",
		with("  cooldownPeriod: 3\n"):                                                                             "Delete it; only ScaledObjects have cooldownPeriod",
		with("  maxReplicaCoun: 3\n"):                                                                             "Write spec.maxReplicaCount",
		with("  maxReplicaCount: 2\n  strategy: eagr\n"):                                                          "Delete it; a ScaledJob has no such field",
		strings.Replace(minimal, "      metadata:", "      threshold: \"5\"\n      metadata:", 1):                 "Delete it; it belongs in spec.triggers[0].metadata.threshold, which already has a value",
		strings.Replace(minimal, "metadata:\n", "metadata:\n  authenticationRef: {name: a}\n", 1):                 "Move it to spec.triggers[0].authenticationRef",
		strings.Replace(minimal, "      metadata:", "      ignoreNullValues: \"true\"\n      metadata:", 1):       "Move it to spec.triggers[0].metadata.ignoreNullValues",
	} {
		require.Equal(t, []string{want}, fixesOf(checkText(text), "unknown-field"), text)
	}
	in := strings.Replace(minimal, "        query:", "        pollingInterval: \"30\"\n        query:", 1)
	require.Equal(t, []string{"Move it to spec.pollingInterval"}, fixesOf(checkText(in), "trigger-key-unknown"))
	other := strings.Replace(minimal, "metadata:\n", "metadata:\n  annotations: {autoscaling.keda.sh/cooldown-period: \"5\"}\n", 1)
	require.Equal(t, []string{"Delete it"}, fixesOf(checkText(other), "annotation-unknown"))
}

// Objects of the own directory come before those above, and those before the rest of the tree.
func TestNearestObject(t *testing.T) {
	job := strings.Replace(minimal, "            image:", "            env: [{name: A, valueFrom: {secretKeyRef: {name: orders, key: url}}}]\n            image:", 1)
	secret := func(key string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: orders}\nstringData: {" + key + ": x}\n"
	}
	const kustomization = "resources: [../secrets/s.yaml]\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		found bool
	}{
		{"own directory", map[string]string{"dev/j.yaml": job, "dev/s.yaml": secret("url"), "prod/s.yaml": secret("other")}, false},
		{"own directory without it", map[string]string{"dev/j.yaml": job, "dev/s.yaml": secret("other"), "prod/s.yaml": secret("url")}, true},
		{"above", map[string]string{"a/b/j.yaml": job, "a/s.yaml": secret("url"), "s.yaml": secret("other")}, false},
		{"the rest, one of two", map[string]string{"a/j.yaml": job, "b/s.yaml": secret("url"), "c/s.yaml": secret("other")}, false},
		{"the rest, none", map[string]string{"a/j.yaml": job, "b/s.yaml": secret("x"), "c/s.yaml": secret("other")}, true},
		{"a kustomization's", map[string]string{"dev/j.yaml": job, "dev/kustomization.yaml": kustomization, "secrets/s.yaml": secret("url"), "s.yaml": secret("other")}, false},
	} {
		var files []lint.File
		for name, text := range tt.files {
			files = append(files, lint.File{Name: name, Data: []byte(text)})
		}
		slices.SortFunc(files, func(a, b lint.File) int { return strings.Compare(a.Name, b.Name) })
		require.Equal(t, tt.found, has(lint.Check(files), "missing-key"), tt.name)
	}
	twice := []lint.File{{Name: "a/j.yaml", Data: []byte(minimal)}, {Name: "a/k.yaml", Data: []byte(minimal)}}
	require.True(t, has(lint.Check(twice), "duplicate-object"))
	twice[1].Name = "b/k.yaml"
	require.False(t, has(lint.Check(twice), "duplicate-object"))
}

// A finding about an object that several fields name is one, and so is that of a misplaced required field.
func TestOneFinding(t *testing.T) {
	env := "            env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: a}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: b}}}]\n            image:"
	r := checkText(strings.Replace(minimal, "            image:", env, 1))
	require.Len(t, fixesOf(r, "missing-secret"), 1)
	for metadata, noted := range map[string]bool{
		`{type: rabbitmq, metadata: {host: "amqp://u:p@a.b/", queueName: q, mode: QueueLength, value: "5"}, authenticationRef: {name: a}}`:                             false,
		`{type: aws-sqs-queue, metadata: {queueURL: "https://sqs.eu-west-1.amazonaws.com/1/q", queueLength: "1", awsRegion: eu-west-1}, authenticationRef: {name: a}}`: true,
	} {
		require.Equal(t, noted, has(checkText(withTrigger("", metadata)), "missing-authentication"), metadata)
	}
	moved := checkText(withTrigger("", `{type: rabbitmq, queueName: q, metadata: {host: "amqp://a.b", mode: QueueLength, value: "5"}}`))
	require.False(t, has(moved, "trigger-parameter-missing"))
	require.True(t, has(moved, "unknown-field"))
	fromEnv := checkText(withTrigger("", `{type: prometheus, metadata: {serverAddressFromEnv: PROM, query: up, threshold: "5"}}`))
	require.Len(t, fromEnv.Findings, 1, brief(fromEnv.Findings))
	require.Equal(t, "trigger-parameter-missing spec.triggers[0].metadata.serverAddressFromEnv Set serverAddress in the metadata",
		strings.Join([]string{fromEnv.Findings[0].Rule, fromEnv.Findings[0].Path, fromEnv.Findings[0].Fix}, " "))
}

// --fix changes nothing but values with which the API server rejects the file.
func TestFixed(t *testing.T) {
	text := strings.NewReplacer("keda.sh/v1alpha1", "keda.sh/v1alpha2", "threshold: \"5\"", "threshold: 5 # five").Replace(with("  maxReplicaCount: '10'\n  minReplicaCount: 50\n  maxReplicaCont: 3\n"))
	r := checkText(text)
	fixed, n := r.Fixed("a.yaml", []byte(text))
	require.Equal(t, 3, n)
	want := strings.NewReplacer("keda.sh/v1alpha2", "keda.sh/v1alpha1", "threshold: 5 # five", "threshold: \"5\" # five", "'10'", "10").Replace(text)
	require.Equal(t, want, string(fixed))
	again := lint.Check([]lint.File{{Name: "a.yaml", Data: fixed}})
	require.False(t, has(again, "not-a-string"))
	require.True(t, has(again, "unknown-field"), "the API server drops it: it stays")
	_, n = again.Fixed("a.yaml", fixed)
	require.Zero(t, n)
}

// --fix leaves every manifest of the tests one that YAML reads, and finds nothing to mend in what it wrote.
func TestFixedTwice(t *testing.T) {
	names, err := filepath.Glob("testdata/*/*.yaml")
	require.NoError(t, err)
	mended := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		r := lint.Check([]lint.File{{Name: name, Data: data}})
		fixed, n := r.Fixed(name, data)
		again := lint.Check([]lint.File{{Name: name, Data: fixed}})
		_, more := again.Fixed(name, fixed)
		require.Zero(t, more, name)
		require.Equal(t, r.ScaledJobs, again.ScaledJobs, name)
		mended += n
	}
	require.Greater(t, mended, 3)
}

// Mistakes that were planted in a correct manifest have the fix that mends them, and one finding.
func TestPlanted(t *testing.T) {
	main := func(lines string) string {
		return strings.Replace(minimal, "            image:", lines+"            image:", 1)
	}
	from := func(name string) string {
		redis := withTrigger("accurate", "{type: redis, metadata: {listName: mail, listLength: \"1\", addressFromEnv: "+name+"}}")
		return strings.Replace(redis, "            image:", "            env: [{name: REDIS, value: \"redis.shop.svc:6379\"}, {name: LIST, value: mail}]\n            image:", 1)
	}
	for text, want := range map[string]string{
		main("            resources: {requests: {memory: 256m}}\n"): "Write 256Mi",
		with("  envSourceContainerName: worker\n"):                  "Write main",
		from("REDDIS"):  "Write REDIS",
		from("ADDRESS"): "Write a variable of the container main: LIST, REDIS",
		strings.Replace(minimal, `threshold: "5"`, "threshold: \u201c5\u201d", 1):                               "Write plain quotes instead of typographic ones",
		strings.Replace(minimal, `threshold: "5"`, "threshold: \"5\"\n        authenticationRef: {name: a}", 1): "Move it to spec.triggers[0].authenticationRef",
		strings.Replace(minimal, "    template:", "    activeDeadlineSeconds: 10m\n    template:", 1):           "Write 600 (seconds), without a unit",
	} {
		r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}, keda.Newest())
		require.Len(t, r.Findings, 1, text)
		require.Equal(t, want, r.Findings[0].Fix, text)
	}
}
