package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// call runs a command as a shell would, with a file as standard input if there is
// one.
func call(t *testing.T, command, input string) (status int, out, said string) {
	t.Helper()
	var stdin, stdout, stderr bytes.Buffer
	if input != "" {
		data, err := os.ReadFile(input)
		require.NoError(t, err)
		stdin.Write(data)
	}
	status = run(t.Context(), strings.Fields(command), &stdin, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// What each command prints, to the letter. UPDATE=1 writes it anew.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		command, input string
		status         int
	}{
		"explain":          {"explain -f testdata/accurate.yaml --queue 30 --running 11 --pending 6", "", success},
		"explain-2.18":     {"explain -f testdata/accurate.yaml --queue 8 --running 13 --pending 7 --as keda@2.18", "", success},
		"explain-core":     {"explain -f testdata/accurate.yaml --queue 8 --running 13 --pending 7 --terminating 2 --stuck 1 --as core", "", success},
		"explain-json":     {"explain -f - --queue 8 -o json", "testdata/accurate.yaml", success},
		"explain-two":      {"explain -f testdata/two.yaml --name both --queue rabbitmq=12,cache=unread", "", success},
		"explain-panic":    {"explain -f testdata/two.yaml --name wrong --queue 12 --target 3 --as keda@2.8", "", success},
		"explain-several":  {"explain -f testdata/accurate.yaml -f testdata/manifest.yaml --queue 8", "", success},
		"diff":             {"diff -f testdata/accurate.yaml --from keda@2.18 --to keda@2.19", "", found},
		"diff-same":        {"diff -f testdata/manifest.yaml --from keda@2.18.0 --to keda@2.18.3", "", success},
		"diff-core":        {"diff -f testdata/accurate.yaml --from core", "", found},
		"diff-two":         {"diff -f testdata/two.yaml --name both --from keda@2.4 --to keda@2.8", "", found},
		"diff-json":        {"diff -f testdata/two.yaml --name wrong --target 3 --from keda@2.8 --to keda@2.20.1 -o json", "", found},
		"prune":            {"prune -f testdata/accurate.yaml", "testdata/jobs.json", success},
		"prune-core":       {"prune -f testdata/accurate.yaml --as core -o name", "testdata/jobs.json", success},
		"rollout":          {"rollout -f testdata/accurate.yaml --jobs testdata/jobs.json", "", success},
		"rollout-drain":    {"rollout -f testdata/drain.yaml --name drain --generation 3 --as core --jobs testdata/jobs.json --pods testdata/pods.json -o json", "", success},
		"rollout-nothing":  {"rollout -f testdata/accurate.yaml --generation 1 --as core --jobs testdata/jobs.json", "", success},
		"lint":             {"lint -f testdata/two.yaml", "", found},
		"help":             {"--help", "", success},
		"help-explain":     {"explain --help", "", success},
		"unsupported":      {"explain -f testdata/two.yaml --name wrong --queue 12 --target 3 --as keda@2.5", "", success},
		"refused":          {"explain -f testdata/two.yaml --name wrong --queue 12 --target 3 --as keda@2.20", "", success},
		"oracle":           {"oracle", "oracle/testdata/questions.jsonl", found},
		"completion-names": {"__complete explain --as keda@2.1", "", success},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := call(t, c.command, c.input)
			require.Equal(t, c.status, status, said)
			got := out
			if said != "" {
				got += "--- standard error\n" + said
			}
			file := filepath.Join("testdata", "golden", name+".txt")
			if os.Getenv("UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// Whoever calls a command wrongly is told what to do.
func TestWrong(t *testing.T) {
	for command, want := range map[string]string{
		"explode":                    `unknown command "explode"`,
		"explain":                    "no manifest: want -f scaledjob.yaml",
		"explain x":                  `unexpected argument "x": all are flags`,
		"explain -f":                 "flag needs an argument",
		"explain --queu 3":           "unknown flag: --queu",
		"explain -f gone.yaml":       "gone.yaml: no such file",
		"explain -f testdata":        "is a directory",
		"explain -f testdata/a.json": "no such file",
		"explain -f testdata/jobs.json --queue 1":                                                   "no ScaledJob: found only a Job; want",
		"explain -f testdata/deployment.yaml --queue 1":                                             "no ScaledJob: found only a Deployment",
		"explain -f testdata/scaledobject.yaml --queue 1":                                           "scales a Deployment and creates no Jobs",
		"explain -f testdata/broken.yaml --queue 1":                                                 "testdata/broken.yaml: not YAML: ",
		"explain -f testdata/accurate.yaml":                                                         "no queue length: want --queue 12",
		"explain -f testdata/accurate.yaml --queue many":                                            `--queue "many": want a number of 0 or more, or unread`,
		"explain -f testdata/accurate.yaml --queue -1":                                              `--queue "-1": want a number of 0 or more`,
		"explain -f testdata/accurate.yaml --queue 1,2":                                             `want a number for each of redis`,
		"explain -f testdata/accurate.yaml --queue kafka=1":                                         `no trigger is called "kafka": want redis`,
		"explain -f testdata/two.yaml --name both --queue 1":                                        "nothing for the trigger cache",
		"explain -f testdata/two.yaml --name both --queue rabbitmq=1,2":                             "want",
		"explain -f testdata/two.yaml --name neither --queue 1":                                     `no ScaledJob called "neither": found both, wrong`,
		"explain -f testdata/two.yaml --name wrong --queue 1":                                       "two.yaml: wrong: say with --target how many items a Job serves, or mend the manifest:\n",
		"explain -f testdata/two.yaml --name wrong --queue 1 --target 0":                            "a positive, finite number",
		"explain -f testdata/two.yaml --name wrong --queue 1 --target five":                         `--target "five": want a number`,
		"explain -f testdata/two.yaml --name wrong --queue 1 --target 3 --as core":                  "spec.scalingStategy: found an unknown field: want spec.scalingStrategy",
		"explain -f testdata/accurate.yaml --queue 1 --running -1":                                  "--running -1: want 0 or more",
		"explain -f testdata/accurate.yaml --queue 1 --running 2 --pending 3 --terminating 4":       "--pending 3: want no more than --running, 2",
		"explain -f testdata/accurate.yaml --queue 1 --as keda":                                     "want core, or a release such as keda@2.21",
		"explain -f testdata/accurate.yaml --queue 1 --as keda@2.99":                                `unknown KEDA release "2.99"`,
		"explain -f testdata/accurate.yaml --queue 1 -o xml":                                        "want one of text, json",
		"explain -f testdata/accurate.yaml --queue 1 --running 2 --pending 2 --stuck 1":             "--stuck 1: keda@2.21.0 does not tell stuck Jobs from other pending ones: want --as core",
		"explain -f testdata/accurate.yaml --queue 1 --running 2 --terminating 1 --as 2.18":         "--terminating 1: keda@2.18.3 counts Jobs on their way out as running ones: want --as core",
		"explain -f testdata/accurate.yaml --queue 1 --as 3.0":                                      "want core, or a release such as keda@2.21",
		"lint -f testdata/accurate.yaml --release 2.18,2.99":                                        `--release: unknown KEDA release "2.99"`,
		"diff -f testdata/accurate.yaml":                                                            "want --from keda@2.18",
		"prune -f - --jobs -":                                                                       "both the manifest and the Jobs are to come from standard input",
		"prune -f testdata/accurate.yaml --jobs testdata/pods.json":                                 "items[0]: found a Pod: want what kubectl get jobs -o json prints",
		"prune -f testdata/accurate.yaml --jobs testdata/deployment.yaml":                           "found Deployment: want what kubectl get jobs",
		"prune -f testdata/accurate.yaml --jobs testdata/broken.yaml":                               "not JSON",
		"prune -f testdata/two.yaml --jobs testdata/jobs.json":                                      "2 ScaledJobs: want --name to choose one",
		"rollout -f testdata/manifest.yaml --jobs testdata/jobs.json":                               "no metadata.generation",
		"rollout -f testdata/accurate.yaml --jobs testdata/jobs.json --pods gone":                   "gone: no such file",
		"rollout -f testdata/accurate.yaml --jobs testdata/jobs.json --pods testdata/accurate.yaml": "want what kubectl get pods",
		"lint":                            "no manifest",
		"lint -f gone.yaml":               "no such file",
		"oracle x":                        "unexpected argument",
		"lint -f testdata/two.yaml -o no": "want one of text, json, github, sarif",
	} {
		status, out, said := call(t, command, "")
		require.Equal(t, trouble, status, command)
		require.Contains(t, said, want, command)
		require.Empty(t, out, command)
		require.True(t, strings.HasPrefix(said, "scaledjob: "), said)
	}
}

// A ScaledJob that was made anew does not count the Jobs of the one before it,
// where that can be told; where not, nothing is guessed.
func TestNamesakes(t *testing.T) {
	var list map[string]any
	data, err := os.ReadFile("testdata/jobs.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(bytes.ReplaceAll(data, []byte(`"name": "b"`), []byte(`"name": "a"`)), &list))
	jobs := filepath.Join(t.TempDir(), "jobs.json")
	data, err = json.Marshal(list)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(jobs, data, 0o600))

	status, _, said := call(t, "rollout --as core -f testdata/accurate.yaml --jobs "+jobs, "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "2 ScaledJobs called a own Jobs here")

	manifest, err := os.ReadFile("testdata/accurate.yaml")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(file, bytes.Replace(manifest, []byte("name: a,"), []byte("name: a, uid: u2,"), 1), 0o600))
	status, out, _ := call(t, "rollout --as core -f "+file+" --jobs "+jobs, "")
	require.Equal(t, success, status)
	require.Contains(t, out, "would delete 1 of the 1 Jobs of a")
}

// A release is spelled with or without keda@, wherever one is asked for.
func TestReleaseSpellings(t *testing.T) {
	for plain, full := range map[string]string{
		"explain -f testdata/accurate.yaml --queue 8 --as 2.18":              "explain -f testdata/accurate.yaml --queue 8 --as keda@2.18",
		"diff -f testdata/accurate.yaml --from 2.18.0 --to 2.19":             "diff -f testdata/accurate.yaml --from keda@2.18.0 --to keda@2.19",
		"lint -f testdata/two.yaml --release 2.9 --release 2.18":             "lint -f testdata/two.yaml --release keda@2.9,keda@2.18",
		"prune -f testdata/accurate.yaml --jobs testdata/jobs.json --as 2.4": "prune -f testdata/accurate.yaml --jobs testdata/jobs.json --as keda@2.4",
	} {
		wanted, want, _ := call(t, full, "")
		status, out, said := call(t, plain, "")
		require.Empty(t, said)
		require.NotEmpty(t, out)
		require.Equal(t, wanted, status)
		require.Equal(t, want, out)
	}
}

// A list has the ScaledJobs that kubectl get prints, whatever stands beside them.
func TestList(t *testing.T) {
	one, err := os.ReadFile("testdata/accurate.yaml")
	require.NoError(t, err)
	var item map[string]any
	require.NoError(t, yaml.Unmarshal(one, &item))
	list := func(items ...any) string {
		data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		require.NoError(t, err)
		return write(t, "list.json", string(data))
	}
	file := list(map[string]any{"kind": "Secret"}, item)
	for _, command := range []string{"explain --queue 8", "diff --from keda@2.18", "prune --jobs testdata/jobs.json", "rollout --jobs testdata/jobs.json"} {
		_, want, _ := call(t, command+" -f testdata/accurate.yaml", "")
		_, got, said := call(t, command+" -f "+file, "")
		require.Empty(t, said)
		require.Equal(t, want, got)
	}
	for file, want := range map[string]string{
		list():                              "found only a List without items;",
		list(map[string]any{"x": 1}):        "found only a document without a kind;",
		write(t, "a.yaml", "x: 1\n"):        "found only a document without a kind;",
		write(t, "b.yaml", "- x\n---\n- y"): "found only a document without a kind;",
		list(map[string]any{"kind": "ScaledJob", "metadata": []int{}}): "items[0]: ",
	} {
		_, _, said := call(t, "explain --queue 8 -f "+file, "")
		require.Contains(t, said, want)
	}
}

// What kubectl prints for people is told from what is no JSON at all.
func TestTable(t *testing.T) {
	for name, header := range map[string]string{"one": "NAME   STATUS   COMPLETIONS", "all": "NAMESPACE   NAME   STATUS"} {
		file := write(t, name, header+"\na      Running  0/1\n")
		status, _, said := call(t, "prune -f testdata/accurate.yaml", file)
		require.Equal(t, trouble, status)
		require.Equal(t, "scaledjob: standard input: this is a table: want what kubectl get jobs -o json prints\n", said)
	}
}

func TestArticle(t *testing.T) {
	require.Equal(t, "an Ingress", article("Ingress"))
	require.Equal(t, "a Job", article("Job"))
}

func TestVersion(t *testing.T) {
	status, out, _ := call(t, "version", "")
	require.Equal(t, success, status)
	require.Contains(t, out, "go1.")
}

// Each shell gets a script.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		status, out, _ := call(t, "completion "+shell, "")
		require.Equal(t, success, status)
		require.Contains(t, out, "scaledjob")
	}
}

func TestSpread(t *testing.T) {
	require.Equal(t, []int64{0}, spread(0, 13))
	require.Equal(t, []int64{0, 1, 2, 3}, spread(3, 13))
	got := spread(1000, 13)
	require.LessOrEqual(t, len(got), 14)
	for _, n := range []int64{0, 1, 2, 998, 999, 1000} {
		require.Contains(t, got, n)
	}
}
