package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Messages that spoke of the parser instead of the problem, or of another problem, with
// the words that they had.
func TestTexts(t *testing.T) {
	const orders = " testdata/accurate.yaml --queue 8 "
	for command, c := range map[string]struct {
		input, before, after string
	}{
		"next testdata":                        {"", "byte 0", "scaledjob: testdata: a directory; use a file with ScheduledJobs\nSee 'scaledjob next --help'.\n"},
		"explian -f x":                         {"", "unknown shorthand flag: 'f' in -f", "scaledjob: unknown command \"explian\"; use explain\nSee 'scaledjob --help'.\n"},
		"explian":                              {"", "", "scaledjob: unknown command \"explian\"; use explain\nSee 'scaledjob --help'.\n"},
		"help foo":                             {"", "Unknown help topic", "scaledjob: unknown command \"foo\"; use completion, conform, diff, explain, help, lint, man, next, oracle, simulate, test, version, why\nSee 'scaledjob help --help'.\n"},
		"help explain foo":                     {"", "", "scaledjob: unexpected argument \"foo\"\nSee 'scaledjob help --help'.\n"},
		"help completion zhs":                  {"", "", "scaledjob: unknown command \"zhs\"; use zsh\nSee 'scaledjob help --help'.\n"},
		"completion foo":                       {"", "", "scaledjob: unknown command \"foo\"; use bash, fish, powershell, zsh\nSee 'scaledjob completion --help'.\n"},
		"completion zhs":                       {"", "", "scaledjob: unknown command \"zhs\"; use zsh\nSee 'scaledjob completion --help'.\n"},
		"completion bash foo":                  {"", "unknown command", "scaledjob: unexpected argument \"foo\"\nSee 'scaledjob completion bash --help'.\n"},
		"version foo":                          {"", "", "scaledjob: unexpected argument \"foo\"\nSee 'scaledjob version --help'.\n"},
		"sim":                                  {"", "", "scaledjob: unknown command \"sim\"; use simulate\nSee 'scaledjob --help'.\n"},
		"explain --queu 3":                     {"", "", "scaledjob: unknown flag --queu; use --queue\nSee 'scaledjob explain --help'.\n"},
		"simulate --scenario -":                {"duration: 1h\nqueus: []\n", "json:", "scaledjob: standard input:2: queus: found an unknown field; use queues\n"},
		"simulate  --scenario -":               {"a: 1\n", "json:", "scaledjob: standard input:1: a: found an unknown field; use one of clusters, drain, duration, jobs, name, policy, queues, seed\nscaledjob: standard input:1: queues: found nothing; use at least one queue\n"},
		"test -":                               {"manifests: [a.yaml]\ntests:\n- naem: x\n  queue: 1\n  expect: {create: 1}\n", "json:", "scaledjob: standard input:3: tests[0].naem: found an unknown field; use name\n"},
		"test  -":                              {"manifests: [a.yaml]\ntests:\n- name: x\n  queue: 1\n  expect: {creat: 1}\n", "json:", "scaledjob: standard input:5: tests[0].expect.creat: found an unknown field; use create\n"},
		"help lnt":                             {"", "Unknown help topic", "scaledjob: unknown command \"lnt\"; use lint\nSee 'scaledjob help --help'.\n"},
		"explain" + orders + "--running 1.5":   {"", "strconv.ParseInt", "scaledjob: --running \"1.5\": use a whole number of 0 or more\nSee 'scaledjob explain --help'.\n"},
		"explain" + orders + "--running 0x10":  {"", "strconv.ParseInt", "scaledjob: --running \"0x10\": use a whole number of 0 or more\nSee 'scaledjob explain --help'.\n"},
		"explain" + orders + "--running -1":    {"", "--running -1: want 0 or more", "scaledjob: --running \"-1\": use a whole number of 0 or more\nSee 'scaledjob explain --help'.\n"},
		"explain" + orders + "--generation -3": {"", "", "scaledjob: --generation -3: use 1 or more\nSee 'scaledjob explain --help'.\n"},
		"explain" + orders + "--generation x":  {"", "strconv.ParseInt", "scaledjob: --generation \"x\": use a whole number\nSee 'scaledjob explain --help'.\n"},
		"explain" + orders + "--jobs -":        {"No resources found in default namespace.\n", "Go value of type struct", "scaledjob: standard input: not JSON; use the output of kubectl get jobs,pods -o json\n"},
		"explain - --queue 8":                  {"kind: ScaledJob\nmetadata:\n  name: {{ .Release.Name }}\n", "map[interface {}]", "scaledjob: standard input: a template; render first: helm template … | scaledjob lint -\n"},
		"lint -":                               {"{{- if .Values.on }}\nkind: ScaledJob\n{{- end }}\n", "map[interface {}]", "scaledjob: standard input: a template; render first: helm template … | scaledjob lint -\n"},
		"explain  - --queue 8":                 {"? {a: b}\n: c\n", "map[interface {}]", "scaledjob: standard input: invalid YAML: found a key that is not a string; use a string\n"},
	} {
		status, out, said := callWith(t, command, []byte(c.input))
		require.Equal(t, trouble, status, command)
		require.Empty(t, out, command)
		require.Equal(t, c.after, said, command)
		if c.before != "" {
			require.NotContains(t, said, c.before)
		}
	}
}

// --rules prints what -o says.
func TestRulesAsJSON(t *testing.T) {
	_, out, _ := call(t, "lint --rules -o json", "")
	var rules []map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &rules))
	require.NotEmpty(t, rules)
	for _, r := range rules {
		require.NotEmpty(t, r["id"])
		require.NotEmpty(t, r["severity"])
		require.NotEmpty(t, r["doc"])
	}
}

// An interrupt ends a command that waits for its input.
func TestInterrupt(t *testing.T) {
	for _, command := range []string{"explain - --queue 1", "lint -", "diff - --from 2.18", "oracle"} {
		ctx, cancel := context.WithCancel(t.Context())
		waits, closed := io.Pipe()
		var stdout, stderr bytes.Buffer
		status := make(chan int)
		go func() { status <- run(ctx, strings.Fields(command), waits, &stdout, &stderr) }()
		_, err := closed.Write([]byte(" ")) // the command reads
		require.NoError(t, err)
		cancel()
		require.Equal(t, interrupted, <-status, command)
		require.Equal(t, "scaledjob: interrupted\n", stderr.String())
	}
}

// Every command reads UTF-8 with a byte order mark, and UTF-16 with one.
func TestEncodings(t *testing.T) {
	text, err := os.ReadFile("testdata/accurate.yaml")
	require.NoError(t, err)
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(string(text))) {
		little, big = append(little, byte(unit), byte(unit>>8)), append(big, byte(unit>>8), byte(unit))
	}
	for _, command := range []string{"explain - --queue 8", "lint -", "diff - --from 2.18"} {
		wanted, want, _ := callWith(t, command, text)
		for _, data := range [][]byte{little, big, append([]byte("\xef\xbb\xbf"), text...)} {
			status, out, said := callWith(t, command, data)
			require.Empty(t, said)
			require.Equal(t, wanted, status)
			require.Equal(t, want, out)
		}
		status, _, said := callWith(t, command, []byte{'a', 0xc3, 0x28})
		require.Equal(t, trouble, status)
		require.Equal(t, "scaledjob: standard input: not text; use YAML or JSON in UTF-8\n", said)
	}
}

// Files, directories and several arguments are all checked, and an unreadable one hides
// no finding.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	one, err := os.ReadFile("testdata/accurate.yaml")
	require.NoError(t, err)
	for _, file := range []string{"a.yaml", "deep/b.yml", "deep/c.json", ".hidden/d.yaml", "notes.txt"} {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		data := one
		if strings.HasSuffix(file, ".json") {
			data, err = yaml.YAMLToJSON(one)
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	for command, want := range map[string]int{
		"explain --queue 1 -o json " + dir: 3, "explain --queue 1 -o json -f " + dir: 3,
		"explain --queue 1 -o json " + dir + "/a.yaml " + dir + "/deep/b.yml": 2, "explain --queue 1 -o json -f " + dir + "/a.yaml " + dir + "/deep": 3,
		"explain --queue 1 -o json " + dir + "/a.yaml -f " + dir + "/deep/..//a.yaml": 1, "diff --from 2.18.0 --to 2.18.3 -o json " + dir: 3,
	} {
		status, out, said := call(t, command, "")
		require.Equal(t, success, status, said)
		require.Equal(t, want, strings.Count(out, `"name":"a"`), command)
	}
	for _, command := range []string{"lint ", "diff --from 2.18 ", "explain --queue 1 "} {
		_, want, _ := call(t, command+dir+"/a.yaml testdata/manifest.yaml", "")
		status, out, said := call(t, command+dir+"/a.yaml gone.yaml testdata/manifest.yaml", "")
		require.Equal(t, trouble, status)
		require.Equal(t, want, out, command)
		require.Equal(t, "scaledjob: gone.yaml: no such file or directory\n", said)
	}
}

// A command whose output cannot be written does not succeed.
func TestUnwrittenOutput(t *testing.T) {
	for _, command := range []string{"", "help", "version", "--version", "completion bash", "lint --rules", "lint testdata/accurate.yaml", "lint testdata/accurate.yaml -o json", "oracle",
		"explain testdata/accurate.yaml --queue 1", "explain testdata/accurate.yaml --jobs testdata/jobs.json -o name", "diff testdata/accurate.yaml --from 2.18", "diff testdata/accurate.yaml --from 2.18 -o json",
		"next R//P1D", "test testdata/tests/fails.test.yaml", "test --schema", "simulate testdata/accurate.yaml --arrivals constant:1/m --duration 1m"} {
		var stderr bytes.Buffer
		status := run(t.Context(), words(command), strings.NewReader("{}\n"), fullDisk{}, &stderr)
		require.Equal(t, trouble, status, command)
		require.Contains(t, stderr.String(), "scaledjob: the output is incomplete: disk full\n", command)
	}
}

// A fullDisk cannot be written to.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// The JSON of lint and test is complete beside files that cannot be read.
func TestJSONBesideErrors(t *testing.T) {
	for _, command := range []string{"lint gone.yaml -o json", "lint gone.yaml -o sarif", "lint gone.yaml testdata/accurate.yaml -o json", "test gone.yaml -o json", "test testdata/broken.yaml -o json"} {
		status, out, said := call(t, command, "")
		require.Equal(t, trouble, status, command)
		require.True(t, json.Valid([]byte(out)), command)
		require.NotEmpty(t, said, command)
	}
}

// goWords are types, packages and errors of Go, which no message has.
var goWords = regexp.MustCompile(`strconv\.|Go (?:value|struct)|map\[|interface ?\{|\bstruct\b|(?:^|[\s:])(?:json|yaml): |reflect\.|runtime error|goroutine |panic:|%!|<nil>|\*[a-z]+\.[A-Z]|\b(?:v1|batchv1|corev1|metav1|keda|scaledjob|fs|os|io|url|http|errors|cobra|pflag|simulation|scaling|strategy)\.[A-Z]\w+|\b(?:u?int(?:8|16|32|64)|float(?:32|64))\b|\[\]byte`)

// oddInputs returns texts that are no valid manifest, or a manifest with a part replaced.
func oddInputs(t *testing.T) (all [][]byte) {
	t.Helper()
	valid, err := os.ReadFile("testdata/two.yaml")
	require.NoError(t, err)
	jobs, err := os.ReadFile("testdata/jobs.json")
	require.NoError(t, err)
	for _, text := range []string{
		"", " ", "\n", "---", "---\n---\n", "null", "true", "1", "1e999", `""`, "[]", "{}", "[[]]", "- a", "a", "a: b: c", "{", "]", "\t", "\x00", "%", "%YAML 9.9\n---\n",
		"&a", "*a", "a: *b", "? {a: b}\n: c", "{? [1]: 2}", "!!binary x", "!!int x", "!foo {a: b}", "a: &a [*a]", "<<: 1", "kind: 1", "kind: []", "kind: {}", "kind: List", "kind: List\nitems: 1",
		"kind: List\nitems: [1, null, a, [], {}]", "kind: ScaledJob", "kind: ScaledJob\nspec: 1", "kind: ScaledJob\nmetadata: 1", "kind: scaledjob", "kind: ScaledJob\napiVersion: 1",
		"apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\nspec: {~: 1}", "kind: Job\nmetadata: {null: 1}", "manifests: {~: 1}",
		"apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: []\nspec: []", "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {creationTimestamp: x}",
		"{{ x }}", "a: {{ x }}", "No resources found in default namespace.", "NAME   STATUS\na b", "<html>", "error: You must be logged in to the server", strings.Repeat("[", 20000), strings.Repeat("a: {", 200),
		`{"kind":"Job","metadata":{"name":1}}`, `{"kind":"Job","status":{"conditions":1}}`, `{"kind":"Pod","status":[]}`, `{"kind":"JobList","items":{}}`, `{"kind":"List","items":[{"kind":"Job","metadata":{"creationTimestamp":"x"}}]}`,
		`{"kind":"List","items":[{"kind":"Job","spec":{"parallelism":1.5}}]}`, `{"id":1}`, `{"id":`, `{"release":5}`, `{"release":"2.99","id":1}`,
	} {
		all = append(all, []byte(text))
	}
	values := []string{"1", "-1", "1.5", "99999999999999999999", "true", "null", "~", "[]", "{}", "[1, 2]", "{a: b}", `"x"`, "'", "\"", "!!str 1", "0x10", ".nan", ".inf", "2026-01-01", "{{ .Values.x }}"}
	random := rand.New(rand.NewPCG(1, 2))
	lines := strings.Split(string(valid), "\n")
	for range 160 {
		changed := append([]string{}, lines...)
		at := random.IntN(len(changed))
		key, value, ok := strings.Cut(changed[at], ": ")
		switch text := strings.TrimLeft(key, " -"); {
		case ok && random.IntN(3) == 0:
			changed[at] = strings.TrimSuffix(key, text) + values[random.IntN(len(values))] + ": " + value
		case ok:
			changed[at] = key + ": " + values[random.IntN(len(values))]
		default:
			changed[at] = values[random.IntN(len(values))]
		}
		all = append(all, []byte(strings.Join(changed, "\n")))
	}
	for _, text := range [][]byte{valid, jobs} {
		for range 50 {
			changed := bytes.Clone(text)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			all = append(all, changed[:random.IntN(len(changed))])
		}
	}
	return all
}

// No text of lint's rules and no pinned output has a type or a package of Go.
func TestPinnedTexts(t *testing.T) {
	files := 0
	for _, pattern := range []string{"README.md", "testdata/golden/*.txt", "testdata/*.txt", "lint/testdata/findings.txt", "lint/testdata/template.txt", "internal/triggers/testdata/*.txt"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			files++
			for line := range strings.Lines(string(data)) {
				assert.NotRegexp(t, goWords, line, name)
			}
		}
	}
	require.Greater(t, files, 8)
}

// No input of any command panics, and no message has a type or a package of Go.
func TestOddInputs(t *testing.T) {
	inputs := oddInputs(t)
	require.GreaterOrEqual(t, len(inputs), 300)
	messages := 0
	for _, command := range []string{
		"explain - --queue 1", "explain - --queue 1 --release spec --target 3", "explain testdata/accurate.yaml --queue 1 --jobs -", "explain testdata/accurate.yaml --release spec --jobs -",
		"lint -", "lint - -o json", "diff - --from 2.20 --target 3", "simulate - --arrivals constant:1/m --duration 1m --target 3 --seeds 1", "simulate --scenario -", "test -", "oracle",
	} {
		for _, input := range inputs {
			status, out, said := callWith(t, command, input)
			require.Contains(t, []int{success, found, trouble}, status)
			if status == trouble {
				require.NotEmpty(t, said)
				messages++
			}
			assert.NotRegexp(t, goWords, said+out, "%s < %.400q", command, input)
			require.Less(t, strings.Count(said, "\n"), 60)
		}
	}
	require.Greater(t, messages, 1000)
}

// No value of any flag panics, and no message has a type or a package of Go.
func TestOddFlags(t *testing.T) {
	values := []string{"", " ", "-1", "1.5", "x", "NaN", "1e400", "9999999999999999999999", ",", "=", "a=", "a=b=c", "2.21,", "[]", "{}", "0x1", "'", "\x00", "é", "--", "1h", "-", "/dev/null/", "2.18,2.18"}
	commands := map[string][]string{
		"explain testdata/accurate.yaml":      {"--queue", "--target", "--running", "--pending", "--stuck", "--terminating", "--release", "--generation", "--jobs", "-o", "--name", "-n", "--context", "--kubeconfig", "-f"},
		"diff testdata/accurate.yaml":         {"--from", "--to", "--target", "--all", "-o"},
		"lint testdata/accurate.yaml":         {"--release", "--fail-on", "--rules", "-o"},
		"simulate testdata/manifest.yaml":     {"--arrivals", "--trace", "--service", "--startup", "--duration", "--metric", "--acknowledge", "--items-per-job", "--seed", "--compare", "--release", "--scenario"},
		"test testdata/tests/fails.test.yaml": {"-o", "--schema", "-f"},
		"next R/P1D":                          {"--zone", "--count", "--from", "--created", "-o"},
		"":                                    {"explain", "help", "completion", "-x", "--x"},
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	for command, flags := range commands {
		for _, flag := range flags {
			for _, value := range values {
				if flag == "--duration" && value == "1h" {
					continue // valid, and long
				}
				var stdout, stderr bytes.Buffer
				status := run(t.Context(), append(strings.Fields(command), flag, value), strings.NewReader(""), &stdout, &stderr)
				require.Contains(t, []int{success, found, trouble}, status)
				if status == trouble {
					require.NotEmpty(t, stderr.String(), "%s %s %q", command, flag, value)
				}
				assert.NotRegexp(t, goWords, stderr.String(), "%s %s %q", command, flag, value)
			}
		}
	}
}

// Every command reports broken YAML at the same line, with the same words.
func TestBrokenLines(t *testing.T) {
	for text, want := range map[string]string{
		"kind: ScaledJob: x\n":            "1: invalid YAML: mapping values are not allowed in this context",
		"{":                               "1: invalid YAML: expected node content",
		"\n\nkind: ScaledJob: x\n":        "3: invalid YAML: mapping values are not allowed in this context",
		"a: 1\n---\nx: 1\ny: z: 1\n":      "4: invalid YAML: mapping values are not allowed in this context",
		"a: 1\n\tb: 2\n":                  "2: invalid YAML: found a tab character that violates indentation",
		"a: b: c\n---\na: 1\n---\nd: {\n": "1: invalid YAML: mapping values are not allowed in this context",
	} {
		line, words, _ := strings.Cut(want, ": invalid YAML: ")
		if strings.Contains(text, "kind: ScaledJob") { // lint judges no other text
			_, out, _ := callWith(t, "lint -", []byte(text))
			require.Contains(t, strings.Join(strings.Fields(out), " "), "standard input:"+line+":1: error: invalid YAML: "+words)
		}
		for _, command := range []string{"explain - --queue 1", "diff - --from 2.18", "simulate - --arrivals constant:1/s", "simulate --scenario -", "test -"} {
			if strings.Contains(text, "---") && (strings.Contains(command, "scenario") || strings.HasPrefix(command, "test")) {
				continue // they read one document
			}
			status, _, said := callWith(t, command, []byte(text))
			require.Equal(t, trouble, status)
			require.Contains(t, said, "scaledjob: standard input:"+want+"\n", command)
		}
	}
	_, _, said := callWith(t, "explain - --queue 1", []byte("a: b: c\n---\na: 1\n---\nd: @\n"))
	require.Equal(t, "scaledjob: standard input:1: invalid YAML: mapping values are not allowed in this context\n"+
		"scaledjob: standard input:5: invalid YAML: found character that cannot start any token\n", said)
}

// An output that calls a function after each write.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	after func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.after()
	return w.text.Write(p)
}

// An interrupted test prints the results of the tests before.
func TestInterruptedTest(t *testing.T) {
	first := written(t, "a.test.yaml", testOf(t, "first"))
	second := written(t, "b.test.yaml", testOf(t, "second"))
	for cause, want := range map[error]int{nil: interrupted, errTerminated: terminated} {
		ctx, stop := context.WithCancelCause(t.Context())
		out := &watched{after: func() { stop(cause) }}
		require.Equal(t, want, run(ctx, []string{"test", first, second}, nil, out, io.Discard))
		out.mu.Lock()
		require.Contains(t, out.text.String(), "a.test.yaml: first, KEDA")
		require.NotContains(t, out.text.String(), "b.test.yaml")
		out.mu.Unlock()
	}
}

// testOf is a test file with one test.
func testOf(t *testing.T, name string) string {
	t.Helper()
	manifest, err := filepath.Abs("testdata/accurate.yaml")
	require.NoError(t, err)
	return fmt.Sprintf("manifests: [%q]\ntests:\n  - {name: %s, queue: 40, expect: {create: 20}}\n", manifest, name)
}
