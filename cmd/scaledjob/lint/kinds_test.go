package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// Misspelled kinds and groups of KEDA and of this project are findings. The objects of others are none.
func TestKinds(t *testing.T) {
	const valid = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: registry.example.com/orders:1}]}}}
  maxReplicaCount: 5
  triggers: [{type: aws-sqs-queue, metadata: {queueURL: "https://sqs.eu-west-1.amazonaws.com/1/q", queueLength: "5", awsRegion: eu-west-1, identityOwner: operator}}]
---
`
	for object, want := range map[string]string{
		"keda.sh/v1alpha1 ScaledJobs":                        "Write ScaledJob",
		"keda.sh/v1alpha1 scaledjob":                         "Write ScaledJob",
		"keda.sh/v1alpha1 ScaldObject":                       "Write ScaledObject",
		"keda.sh/v1 ScaledJob":                               "Write keda.sh/v1alpha1",
		"keda.sh/v1beta1 ScaledObject":                       "Write keda.sh/v1alpha1",
		"kedas.sh/v1alpha1 ScaledObject":                     "Write keda.sh/v1alpha1",
		"kedas.sh/v1alpha1 ScaledJobs":                       "Write keda.sh/v1alpha1",
		"keda.s/v1alpha1 TriggerAuthentication":              "Write keda.sh/v1alpha1",
		"scaledjob.github.io/v1alpha1 ScheduledJobs":         "Write ScheduledJob",
		"scaledjob.github.io/v1alpha1 scheduledjob":          "Write ScheduledJob",
		"scaledjob.github.io/v1 ScheduledJob":                "Write scaledjob.github.io/v1alpha1",
		"scaledjobs.github.io/v1alpha1 ScheduledJob":         "Write scaledjob.github.io/v1alpha1",
		"scaledjob.github.io/v1alpha1 Other":                 "Write one of ScheduledJob, RunRequest",
		" ScaledJobs":                                        "Write keda.sh/v1alpha1",
		" ScaldObject":                                       "Write keda.sh/v1alpha1",
		" ScheduledJob":                                      "Write scaledjob.github.io/v1alpha1",
		" Secret":                                            "Write v1",
		" ConfigMap":                                         "Write v1",
		" ServiceAccount":                                    "Write v1",
		" PersistentVolumeClaim":                             "Write v1",
		" TriggerAuthentication":                             "Write keda.sh/v1alpha1",
		" ClusterTriggerAuthentication":                      "Write keda.sh/v1alpha1",
		"example.com/v1 Secret":                              "",
		" Job":                                               "",
		"scaledjob.example.com/v1 ScheduledJob":              "",
		"batch.example.com/v1 ScheduledJob":                  "",
		"eventing.keda.sh/v1alpha1 CloudEventSource":         "",
		"http.keda.sh/v1alpha1 HTTPScaledObject":             "",
		"keda.kedify.io/v1alpha1 MetricPredictor":            "",
		"scaledjob.github.io/v1alpha1 RunRequest":            "",
		"keda.sh/v1alpha1 ScaledObject":                      "",
		"batch/v1 Job":                                       "",
		"v1 ScheduledJobs":                                   "",
		"kedas.sh/v1 Dashboard":                              "",
		strings.Repeat("keda.sh", 1000) + "/v1 ScaledObject": "",
	} {
		version, kind, _ := strings.Cut(object, " ")
		text := valid + "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: other}\n"
		var fixes []string
		for _, f := range lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}).Findings {
			if f.Line > 8 && (f.Path == "kind" || f.Path == "apiVersion") {
				fixes = append(fixes, f.Fix)
			}
		}
		if want == "" {
			require.Empty(t, fixes, object)
			continue
		}
		require.Equal(t, []string{want}, fixes, object)
	}
	// An object that no ScaledJob refers to may be no manifest.
	for part, want := range map[string]lint.Severity{"": lint.Note, "serviceAccountName: other, ": lint.Error} {
		text := strings.Replace(valid, "restartPolicy", part+"restartPolicy", 1) + "kind: ServiceAccount\nmetadata: {name: other}\n"
		r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}})
		require.Equal(t, want, r.Findings[len(r.Findings)-1].Severity, brief(r.Findings))
	}
}
