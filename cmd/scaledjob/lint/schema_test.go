package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/crd"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// oddKeys are fields of a ScaledJob whose keys look like other paths.
var oddKeys = []string{
	`"[0]": 1`, `"[-1]": 1`, `spec: {"[0]": 1}`, `spec: {triggers: [{"[0]": 1}]}`,
	`"": 1`, "? \n: x", `".": 1`, `".spec": 1`, `spec: {"": 1}`, `spec: {"": 1, ".": 1}`, `spec: {triggers: [{"": 1}]}`,
	`{kind: ScaledJob, "spec.jobTargetRef": [1], spec: {jobTargetRef: {"[-1]": 1}}}`,
	`{kind: ScaledJob, "spec.jobTargetRef": [1], spec: {jobTargetRef: {"[0]": 1}}}`,
}

// asScaledJob adds the kind to the text of oddKeys.
func asScaledJob(text string) string {
	if strings.HasPrefix(text, "{") {
		return text
	}
	return "kind: ScaledJob\n" + text
}

// pathsOf returns the paths of a rule's findings.
func pathsOf(text, rule string) (paths []string) {
	for _, f := range lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}).Findings {
		if f.Rule == rule {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// A key that looks like another path is an unknown field.
func TestOddKeys(t *testing.T) {
	for _, text := range oddKeys {
		paths := pathsOf(asScaledJob(text), "unknown-field")
		require.NotEmpty(t, paths, text)
		require.NotContains(t, paths, "spec", text)
	}
	for text, want := range map[string]string{
		`"[0]": 1`: "[[0]]", `".": 1`: "[.]", `spec: {"": 1}`: "spec.", `spec: {triggers: [{"[0]": 1}]}`: "spec.triggers[0][[0]]",
	} {
		require.Equal(t, []string{want}, pathsOf(asScaledJob(text), "unknown-field"), text)
	}
}

// A key that is empty has a sentence, too.
func TestEmptyKey(t *testing.T) {
	r := checkText(withTrigger("", `{type: redis, metadata: {"": x, listName: a, address: "a:1"}}`))
	require.True(t, slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return strings.Contains(f.Message(), `redis has no parameter "", and`) }))
}

// The data of a Secret are base64 in strings, or what a tool replaces.
func TestSecretData(t *testing.T) {
	for value, wrong := range map[string]bool{
		"true": true, "5432": true, "12345678": true, "1.5": true, "plain text": true, "[a]": true,
		"aGVsbG8=": false, `"5432"`: false, "${TOKEN}": false, "<token>": false, "$TOKEN": false, "'{{ token }}'": false, "ref+vault://a": false,
	} {
		paths := pathsOf("kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata:\n  key: "+value+"\n---\n"+minimal, "wrong-type")
		require.Equal(t, wrong, len(paths) == 1, "%s: %v", value, paths)
	}
}

// A number in place of a string is one finding, and a string in place of a number has quotes too many.
func TestQuotes(t *testing.T) {
	inContainer := func(lines string) string {
		return strings.Replace(minimal, "image: example.com/orders:1\n", "image: example.com/orders:1\n            "+lines+"\n", 1)
	}
	for text, want := range map[string]string{
		inContainer("ports: [{containerPort: 1, protocol: 6}]"):                         `Write "6", with the quotes`,
		inContainer("volumeMounts: [{name: a, mountPath: /a, mountPropagation: true}]"): `Write "true", with the quotes`,
		with("  maxReplicaCount: \"30\"\n"):                                             "Write a whole number, without quotes",
		with("  maxReplicaCount: thirty\n"):                                             "Write a whole number",
		inContainer("stdin: 'true'"):                                                    "Write true or false, without quotes",
		inContainer("resources: {limits: {memory: '1 GB'}}"):                            "Write 1Gi, or 1G for powers of 1000",
		"kind: TriggerAuthentication\napiVersion: keda.sh/v1alpha1\nmetadata: {name: a}\nspec: {podIdentity: {provider: 6}}\n": `Write "6", with the quotes`,
	} {
		var got []string
		for _, f := range checkText(text).Findings {
			if f.Severity == lint.Error && strings.HasPrefix(f.Fix, "Write ") && f.Rule != "wrong-kind" {
				got = append(got, f.Fix)
			}
		}
		require.Equal(t, []string{want}, got, text)
	}
}

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

// A field that the CRD of a release does not have is found if the release is named.
func TestFieldsOfReleases(t *testing.T) {
	for _, tt := range []struct{ release, added, want string }{
		{"2.8", "podFailurePolicy: {rules: []}", "podFailurePolicy Use KEDA 2.9 or later"},
		{"2.9", "podFailurePolicy: {rules: []}", ""},
		{"2.11", "podReplacementPolicy: Failed", "podReplacementPolicy Use KEDA 2.12 or later"},
		{"2.1", "podReplacementPolicy: Failed", ""}, // its CRD is unknown
		{"2.15", "template: {spec: {resourceClaims: [{name: gpu, resourceClaimName: gpu}]}}", "template.spec.resourceClaims[0].resourceClaimName Use KEDA 2.16 or later"},
		{"2.15", "template: {spec: {resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]}}", ""},
		{"2.16", "template: {spec: {resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]}}", "template.spec.resourceClaims[0].source Move what is below it to spec.jobTargetRef.template.spec.resourceClaims[0]"},
		{"2.15", "template: {metadata: {labels: {a: b}}}", ""}, // KEDA's patch keeps them
	} {
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec:\n  jobTargetRef: {" + tt.added + "}\n"
		r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}, release(t, tt.release))
		var found []string
		for _, f := range r.Findings {
			if f.Rule == "unsupported-feature" || f.Rule == "unknown-field" {
				found = append(found, strings.TrimPrefix(f.Path, "spec.jobTargetRef.")+" "+f.Fix)
			}
		}
		require.Equal(t, tt.want != "", len(found) == 1, "%+v %v", tt, found)
		if tt.want != "" {
			require.Contains(t, found[0], tt.want)
		}
	}
}

// The CRDs of 2.0, 2.1 and 2.6 are unknown: a field that may be there is not missing.
func TestReleasesWithoutCRD(t *testing.T) {
	spec := crd.Kind("TriggerAuthentication").Field("spec")
	for field, want := range map[string]map[string]bool{
		"azureKeyVault":    {"2": true, "2.1.0": true, "2.5.0": false, "2.6.1": true, "2.7.1": true, "": true},
		"awsSecretManager": {"2.1.0": true, "2.6.1": false, "2.12.1": false, "2.13.1": true},
	} {
		for release, has := range want {
			require.Equal(t, has, spec.Field(field).In(release), "%s in %q", field, release)
		}
	}
	require.False(t, spec.Field("other").In("2.6.1"))
}
