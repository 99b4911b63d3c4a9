package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// call runs a command as a shell would, with a file as standard input if there is
// one.
func call(t *testing.T, command, input string) (status int, out, said string) {
	t.Helper()
	var data []byte
	if input != "" {
		var err error
		data, err = os.ReadFile(input)
		require.NoError(t, err)
	}
	return callWith(t, command, data)
}

// callWith runs a command with a text as standard input.
func callWith(t *testing.T, command string, input []byte) (status int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), words(command), bytes.NewReader(input), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// words are those of a command. Simulations find no other loads, unless they say so.
func words(command string) []string {
	all := strings.Fields(command)
	if len(all) > 1 && all[0] == "simulate" && !strings.Contains(command, "--loads") && !strings.Contains(command, "help") {
		all = append(all, "--loads=false")
	}
	return all
}

// What commands print that read standard input, to the letter. UPDATE=1 writes it anew.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		command, input string
		status         int
	}{
		"explain-json":  {"explain - --queue 8 --release 2.21,spec -o json", "testdata/accurate.yaml", success},
		"explain-jobs":  {"explain testdata/accurate.yaml --jobs - --jobs testdata/pods.json --queue 8", "testdata/jobs.json", success},
		"explain-names": {"explain testdata/accurate.yaml --jobs - --release spec -o name", "testdata/jobs.json", success},
		"oracle":        {"oracle", "oracle/testdata/questions.jsonl", found},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := call(t, c.command, c.input)
			require.Equal(t, c.status, status, said)
			golden(t, filepath.Join("testdata", "golden", name+".txt"), out+said)
		})
	}
}

// golden compares a text with a file, or writes the file if UPDATE is set.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Each line "$ scaledjob ..." of the README, with the output below it. UPDATE=1 writes the
// outputs anew.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```")
	run := 0
	for i := 1; i < len(blocks); i += 2 {
		run += fill(t, &blocks[i])
	}
	require.Equal(t, 1, run)
	got := strings.Join(blocks, "```")
	golden(t, "README.md", got)
}

// fill runs the commands of a block, if it has any, and writes their outputs into it. Their
// paths begin in the root of the repository.
func fill(t *testing.T, block *string) (run int) {
	var b strings.Builder
	for line := range strings.Lines(*block) {
		if command, ok := strings.CutPrefix(line, "$ scaledjob "); ok {
			run++
			_, out, _ := callWith(t, strings.ReplaceAll(command, "cmd/scaledjob/", ""), nil)
			line += out
		} else if run > 0 {
			continue
		}
		b.WriteString(line)
	}
	*block = b.String()
	return run
}

// The README shows a test file of testdata.
func TestReadmeTestFile(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	file, err := os.ReadFile("testdata/tests/orders.test.yaml")
	require.NoError(t, err)
	require.Contains(t, string(readme), string(file))
}

// Each line "$ scaledjob ..." of a file, with the output below it, and the status if it is not 0. A call of wrong.txt is
// an error with a fix. UPDATE=1 writes the outputs anew.
func TestTranscripts(t *testing.T) {
	for _, file := range []string{"testdata/wrong.txt", "testdata/answers.txt"} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var got strings.Builder
		for line := range strings.Lines(string(data)) {
			command, ok := strings.CutPrefix(line, "$ scaledjob ")
			if !ok {
				continue
			}
			status, out, said := call(t, command, "")
			require.NotRegexp(t, goWords, out+said)
			got.WriteString(line + out + said)
			if file == "testdata/wrong.txt" {
				require.Equal(t, trouble, status, command)
				require.Empty(t, out, command)
				require.True(t, strings.HasPrefix(said, "scaledjob: "), said)
			} else if status != success {
				fmt.Fprintf(&got, "status %d\n", status)
			}
		}
		golden(t, file, got.String())
	}
}

// A ScaledJob that was made anew does not count the Jobs of the one before it,
// where that can be told; where not, nothing is guessed.
func TestNamesakes(t *testing.T) {
	var list map[string]any
	data, err := os.ReadFile("testdata/jobs.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(bytes.ReplaceAll(data, []byte(`"name": "b"`), []byte(`"name": "a"`)), &list))
	data, err = json.Marshal(list)
	require.NoError(t, err)
	jobs := written(t, "jobs.json", string(data))

	status, _, said := call(t, "explain --release spec -f testdata/accurate.yaml --jobs "+jobs, "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "2 ScaledJobs called a own Jobs in the dump")

	manifest, err := os.ReadFile("testdata/accurate.yaml")
	require.NoError(t, err)
	file := written(t, "a.yaml", strings.Replace(string(manifest), "name: a,", "name: a, uid: u2,", 1))
	status, out, _ := call(t, "explain --release spec "+file+" --jobs "+jobs, "")
	require.Equal(t, success, status)
	require.Contains(t, out, "rollout   0 Jobs: the template of ")
}

// Every command reads the same spellings of a release, and rejects none.
func TestReleaseSpellings(t *testing.T) {
	for _, command := range []string{
		"explain testdata/accurate.yaml --queue 8 --release ", "lint testdata/accurate.yaml --release ",
		"diff testdata/accurate.yaml --to 2.19 --from ", "diff testdata/accurate.yaml --from 2.19 --to ",
		"simulate testdata/manifest.yaml --arrivals constant:1/m --duration 10m --release ",
		"simulate testdata/manifest.yaml --arrivals constant:1/m --duration 10m --compare ",
	} {
		wanted, want, said := call(t, command+"2.18.3", "")
		require.NotEqual(t, trouble, wanted, said)
		for _, spelling := range []string{"2.18", "v2.18", "v2.18.3"} {
			status, out, said := call(t, command+spelling, "")
			require.Empty(t, said)
			require.Equal(t, wanted, status)
			if !strings.Contains(command, "--compare") { // whose results have the given names
				require.Equal(t, want, out)
			}
		}
		for _, wrong := range []string{"2.18.9", "2", "two", "3.0", "v2.99", "keda@2.18"} {
			if strings.Contains(command, "--compare") && wrong != "2.18.9" && wrong != "v2.99" {
				continue // it reads as a strategy
			}
			status, _, said := call(t, command+wrong, "")
			require.Equal(t, trouble, status, command+wrong)
			require.Contains(t, said, "unknown", command)
		}
		var stdout, stderr bytes.Buffer
		require.Equal(t, trouble, run(t.Context(), append(strings.Fields(command), ""), nil, &stdout, &stderr), command)
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
		return written(t, "list.json", string(data))
	}
	file := list(map[string]any{"kind": "Secret"}, item)
	for _, command := range []string{"explain --queue 8", "diff --from 2.18", "explain --jobs testdata/jobs.json"} {
		_, want, _ := call(t, command+" -f testdata/accurate.yaml", "")
		_, got, said := call(t, command+" -f "+file, "")
		require.Empty(t, said)
		require.Equal(t, want, got)
	}
	for file, want := range map[string]string{
		list():                                "found only a List without items;",
		list(map[string]any{"x": 1}):          "found only a document without a kind;",
		written(t, "a.yaml", "x: 1\n"):        "found only a document without a kind;",
		written(t, "b.yaml", "- x\n---\n- y"): "found only a document without a kind;",
		list(map[string]any{"kind": "ScaledJob", "metadata": []int{}}):       "items[0].metadata: found a list",
		scaledJobFile(t, "", "  pollingInterval: 1\n  pollingInterval: 2\n"): `key "pollingInterval" already set`,
	} {
		_, _, said := call(t, "explain --queue 8 -f "+file, "")
		require.Contains(t, said, want)
	}
}

// A problem of a manifest has its line, and each is one of its own.
func TestLines(t *testing.T) {
	unknown := strings.Replace(hostileManifest, "spec:\n", "spec:\n  maxReplicaCont: 5\n", 1)
	wrong := strings.Replace(unknown, "spec:\n", "spec:\n  pollingInterval: abc\n", 1)
	list := "kind: List\napiVersion: v1\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(wrong), "\n", "\n  ")
	twice := strings.Replace(hostileManifest, "spec:\n", "spec:\n  x: 1\n  x: 2\n", 1)
	for text, want := range map[string]string{
		"# one\n" + hostileManifest + "---\n" + wrong:          ":15: spec.maxReplicaCont: found an unknown field",
		"%YAML 1.2\n---\n" + hostileManifest + "---\n" + wrong: ": spec.pollingInterval: found \"abc\"",
		wrong: ":5: spec.pollingInterval: found \"abc\"",
		list:  ":9: items[0].spec.maxReplicaCont: found an unknown field",
		"# one\n" + hostileManifest + "---\n" + unknown:    ":14: spec.maxReplicaCont: found an unknown field",
		"# one\n" + hostileManifest + "---\n" + twice:      ":15: key \"x\" already set",
		strings.Replace(hostileManifest, "\"5\"", "x5", 1): ":7: orders: no target average value",
		strings.Replace(hostileManifest, "spec:", "x: "+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"\nspec:", 1) + "---\n" + wrong: ": spec.pollingInterval: found",
		"kind: SecretList\napiVersion: v1\nitems: [{kind: ScaledJob}]\n---\n" + wrong:                                                     ":9: spec.pollingInterval: found",
	} {
		_, out, said := callWith(t, "explain - --queue 5", []byte(text))
		require.Contains(t, out+said, ": standard input"+want)
		require.NotContains(t, said, `\n`)
	}
}

// What kubectl prints for people is told from what is no JSON at all.
func TestTable(t *testing.T) {
	for name, header := range map[string]string{"one": "NAME   STATUS   COMPLETIONS", "all": "NAMESPACE   NAME   STATUS"} {
		file := written(t, name, header+"\na      Running  0/1\n")
		status, _, said := call(t, "explain testdata/accurate.yaml --jobs -", file)
		require.Equal(t, trouble, status)
		require.Equal(t, "scaledjob: standard input: found a table; use the output of kubectl get jobs,pods -o json\n", said)
	}
}

func TestArticle(t *testing.T) {
	require.Equal(t, "an Ingress", report.Article("Ingress"))
	require.Equal(t, "a Job", report.Article("Job"))
}

// As a plugin of kubectl, the help shows commands that can be copied, and a link completes.
func TestPlugin(t *testing.T) {
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = []string{"/usr/local/bin/kubectl-scaledjob"}
	for _, command := range []string{"explain", "diff", "lint", "simulate", "test", "next", "why", "oracle", "conform"} {
		_, out, _ := call(t, "help "+command, "")
		require.Regexp(t, `(?m)^  (kubectl|echo) `, out)
		require.NotRegexp(t, `(?m)^ *scaledjob |\| scaledjob `, out)
	}
	tree(t, map[string]string{"a.yaml": hostileManifest, "notes.txt.json": "{\"a\": 1,}\n// a comment\n", "job.yaml": "kind: ScaledJob\nmetadata: {name: {{ .x }}}\n"})
	for _, command := range []string{"explain --queue 5 .", "simulate --arrivals batch:1@0s --service 1s .", "diff --from 2.18 ."} {
		_, _, said := call(t, command, "")
		require.Contains(t, said, "helm template DIR | kubectl scaledjob "+strings.Fields(command)[0]+" -\n")
	}
	os.Args = []string{"kubectl_complete-scaledjob"}
	_, out, _ := call(t, "lint --fail-on w", "")
	require.Contains(t, out, "warning\n")
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

// Each command has a manual page, in which examples in the text are as they are in the help.
func TestManualPages(t *testing.T) {
	folder := t.TempDir()
	status, _, said := call(t, "man "+folder, "")
	require.Equal(t, success, status, said)
	for _, c := range newRoot().Commands() {
		page, err := os.ReadFile(filepath.Join(folder, "scaledjob-"+c.Name()+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), "scaledjob-"+c.Name()+" - "+c.Short)
	}
	page, err := os.ReadFile(filepath.Join(folder, "scaledjob-test.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), ".EX\n  manifests: [orders.yaml]       # relative to this file\n  releases:")
	status, _, said = call(t, "man", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "found 0 directories")
}
