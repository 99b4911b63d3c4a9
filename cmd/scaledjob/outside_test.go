package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// outside is a text that would clear a screen, forge a line, and command a runner.
const outside = "x\x1b[2J\u009b31m\u202e\n::set-output name=a::b\nforged ##[command]rm\r\tz"

// outsideTexts have one text from outside for each place that the command may print. The
// mark @ stands for it, in double quotes.
var outsideTexts = map[string]string{
	"name":            "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: @}\nspec: {%}\n",
	"namespace":       "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders, namespace: @}\nspec: {%}\n",
	"annotation":      "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders, annotations: {@: @, autoscaling.keda.sh/paused: @}}\nspec: {%}\n",
	"kind":            "apiVersion: v1\nkind: @\n---\napiVersion: @\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {%}\n",
	"field":           "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\n@: 1\nmetadata: {name: orders}\nspec: {@: 2, %}\n",
	"field twice":     "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {@: 2, @: 3, %}\n",
	"strategy":        "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {scalingStrategy: {strategy: @, multipleScalersCalculation: @}, rollout: {strategy: @}, envSourceContainerName: @, %}\n",
	"type of trigger": "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}, triggers: [{type: @, name: @, metadata: {@: @}}]}\n",
	"trigger":         "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {jobTargetRef: {template: {spec: {containers: [{name: @, image: i, env: [{name: @, value: @}]}]}}}, triggers: [{type: redis, name: @, metadata: {listLength: \"5\", listName: @, @: @, addressFromEnv: @}, authenticationRef: {name: @}}]}\n",
	"targets":         "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders}\nspec: {jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}, triggers: [{type: redis, metadata: {listLength: @}}]}\n",
	"anchor":          "a: *" + "nothing\n@: 1\n",
	"not YAML":        "a: @\n  b: [\n",
	"a document":      "@\n",
}

const outsideSpec = `jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}, triggers: [{type: redis, name: a, metadata: {listLength: "5"}}, {type: redis, metadata: {listLength: "5"}}]`

var outsideQuoted = strings.NewReplacer("@", `"x\e[2J\x9b31m\u202e\n::set-output name=a::b\nforged ##[command]rm\r\tz"`, "%", outsideSpec)

const outsideJobs = `{"kind": "List", "items": [
	{"kind": "Job", "metadata": {"name": @, "namespace": @, "uid": "1", "labels": {"scaledjob.keda.sh/name": "orders", @: @}, "annotations": {"scaledjob.keda.sh/generation": @}, "ownerReferences": [{"controller": true, "kind": "ScaledJob", "name": "orders", "uid": @}]}, "status": {"conditions": [{"type": "Complete", "status": "True", "reason": @}]}},
	{"kind": "Job", "metadata": {"name": @, "uid": "2", "labels": {"scaledjob.keda.sh/name": "orders"}}},
	{"kind": "Pod", "metadata": {"name": @}}, {"kind": "Job", "metadata": {"name": "b", "labels": {"scaledjob.keda.sh/name": @}}}]}`

// TestTextFromOutside checks that no command prints a control character, begins a line with
// a text from outside, or prints a command of a runner.
func TestTextFromOutside(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	data, err := json.Marshal(outside)
	require.NoError(t, err)
	quoted := string(data)
	jobs := file("jobs.json", strings.ReplaceAll(outsideJobs, "@", quoted))
	for _, name := range slices.Sorted(maps.Keys(outsideTexts)) {
		manifest := file("m.yaml", outsideQuoted.Replace(outsideTexts[name]))
		test := file("a.test.yaml", outsideQuoted.Replace("manifests: [m.yaml]\ntests:\n- {name: @, scaledJob: orders, queue: 3, expect: {create: 9}}\n- {name: @, @: @, scaledJob: @, queue: {@: 3}, expect: {create: 9}}\n"))
		scenario := file("s.yaml", outsideQuoted.Replace("@: @\nqueues: [{name: @, arrivals: [{kind: @}]}]\npolicy: {@: @}\n"))
		for _, command := range [][]string{
			{"lint", manifest}, {"lint", manifest, "-o", "github"}, {"lint", manifest, "-o", "json"}, {"lint", manifest, "-o", "sarif"},
			{"explain", manifest, "--queue", "7"}, {"explain", manifest, "--queue", "7", "--release", "spec,2.18", "-o", "json"},
			{"explain", manifest, "--queue", "7", "--name", outside}, {"explain", manifest, "--queue", outside + "=7"}, {"explain", manifest, "--jobs", jobs},
			{"explain", manifest, "--jobs", jobs, "-o", "name", "--generation", "3"}, {"explain", manifest, "--jobs", jobs, "--queue", "7", "--release", "spec,2.20"},
			{"diff", manifest, "--from", "2.18"}, {"diff", manifest, "--from", "2.4", "--to", "spec", "-o", "json"},
			{"simulate", manifest, "--arrivals", "constant:1/m", "--duration", "2m", "--seeds", "1"}, {"simulate", "--scenario", scenario},
			{"simulate", manifest, "--trace", jobs}, {"simulate", manifest, "--trace", scenario},
			{"test", test}, {"test", test, "-o", "json"}, {"test", outside}, {"lint", outside}, {outside}, {"lint", "--explain", outside}, {"lint", "--ignore", outside, manifest},
			{"next", outside}, {"explain", manifest, "--" + outside}, {"explain", manifest, "--release", outside}, {"explain", jobs, "--queue", "1"},
		} {
			var out, said bytes.Buffer
			run(t.Context(), command, strings.NewReader(""), &out, &said)
			for _, text := range []string{out.String(), said.String()} {
				requireSafe(t, text, name, command)
			}
		}
		var out bytes.Buffer
		run(t.Context(), []string{"oracle"}, strings.NewReader(quoted+"\n{"+quoted+":"+quoted+`,"release":`+quoted+"}\n"), &out, &out)
		requireSafe(t, out.String(), name, []string{"oracle"})
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x\n::error::forged.yaml"), []byte("kind: ["), 0o600))
	for _, command := range []string{"lint", "explain", "diff"} {
		var out bytes.Buffer
		run(t.Context(), []string{command, dir}, strings.NewReader(""), &out, &out)
		requireSafe(t, out.String(), "file name", []string{command})
	}
}

func requireSafe(t *testing.T, text, name string, command []string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' {
			require.False(t, unicode.IsControl(r) || r == '\u202e', "%s %q: %q", name, command, text)
		}
	}
	require.NotContains(t, text, "##[", "%s %q", name, command)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "::") {
			require.Regexp(t, `^::(error|warning|notice) file=\S+,line=\d+,col=\d+,title=[a-z-]+::[^\n]*$`, line, "%s %q", name, command)
		}
		require.False(t, strings.HasPrefix(line, "forged"), "%s %q: %q", name, command, text)
	}
}
