package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// Every unknown field is found, however many there are.
func TestManyUnknownFields(t *testing.T) {
	var b strings.Builder
	b.WriteString("kind: ScaledJob\nspec:\n")
	for i := range 400 {
		fmt.Fprintf(&b, "  bogus%d: 1\n", i)
	}
	require.Len(t, pathsOf(b.String(), "unknown-field"), 400)
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
