package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/unittest"
)

// printedSchema compiles the schema that is printed.
func printedSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	status, out, _ := call(t, "test --schema", "")
	require.Equal(t, success, status)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("test.schema.json", document))
	s, err := c.Compile("test.schema.json")
	require.NoError(t, err)
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	require.NoError(t, err)
	return s.Validate(document)
}

// The schema accepts the test files here and the one in the help.
func TestSchemaAcceptsExamples(t *testing.T) {
	s := printedSchema(t)
	files, err := filepath.Glob("testdata/tests/*.test.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, valid(t, s, string(data)), file)
	}
	_, help, _ := call(t, "test --help", "")
	_, example, found := strings.Cut(help, "  manifests: ")
	require.True(t, found)
	example, _, found = strings.Cut("  manifests: "+example, "\n\n")
	require.True(t, found)
	require.NoError(t, valid(t, s, example))
	_, err = unittest.Read(input.Source{Name: "help", Data: []byte(example)})
	require.NoError(t, err)
}

// The schema and the command reject the same mistakes. The command names the line.
func TestSchemaRejectsTypos(t *testing.T) {
	s := printedSchema(t)
	const good = `manifests: [../accurate.yaml]
releases: ["2.21"]
tests:
  - name: one
    queue: 5
    jobs: {running: 1, pending: 1}
    expect: {create: 4, rule: Strategy}
  - name: two
    simulate: {arrivals: "poisson:1/s", service: 5s, duration: 10m, seeds: 2, metric: all}
    expect: {maxWaitP95: 2m, maxPeakJobs: 30}
`
	require.NoError(t, valid(t, s, good))
	check := func(text string) error {
		f, err := unittest.Read(input.Source{Name: "x.test.yaml", Data: []byte(text)})
		if err == nil {
			f.Manifests = []string{"testdata/accurate.yaml"}
			err = f.Run(t.Context(), "x.test.yaml", func(*unittest.Result) {})
		}
		return err
	}
	require.NoError(t, check(good))
	for from, wrong := range map[string][]string{
		"manifests:": {"manifest:", "Manifests:"}, "[../accurate.yaml]": {"[]", "", `[""]`, "[-]", "../accurate.yaml", "[3]"},
		"releases:": {"release:"}, `["2.21"]`: {"[2.21]", `"2.21"`, ""}, `"2.21"`: {`"keda@2.21"`, `"3.0"`}, "tests:": {"test:", "TESTS:"},
		"name: one": {"nam: one", "Name: one", "name: ''", "name: 1", "name:"}, "queue: 5": {"queu: 5", "queue:", "queue: true", "queue: -1", "queue: {}", "queue: {redis: }", "queue: {redis: [1]}", "queue: {redis: {a: 1}}", "target: 5"},
		"jobs:": {"job:"}, "jobs: {running: 1, pending: 1}": {"jobs:", "jobs: 1", "jobs: {running: 1}\n    dump: [jobs.json]", "dump: []", "dump: [-]", "dump: jobs.json"},
		"running: 1": {"runing: 1", "running: 1.5", "running: many"}, "pending: 1": {"pending: -1"},
		"create: 4": {"creat: 4", "Create: 4", "create: -1", "create:"}, "create: 4,": {"create: many,"}, "rule:": {"rules:"},
		"{create: 4, rule: Strategy}": {"{}", "{deleted: []}", "{maxUndone: 0}"},
		"simulate:":                   {"simulated:", "queue: 5\n    simulate:", "jobs: {running: 1}\n    simulate:", "dump: [jobs.json]\n    simulate:"},
		`arrivals: "poisson:1/s", `:   {"", "arrivals: , ", "arrivals: '', ", "arrivals: 5, ", "arrivals: [], ", "arrivals: {}, ", "arrivals: {redis: 5}, ", "arrivals: {redis: ''}, "},
		"service:":                    {"servce:"}, "duration: 10m": {"duration: 600", `duration: "600"`, "duration: 0s", "duration: -10m"},
		"seeds: 2": {"seeds: two", "seeds: 0", "seeds: 1001", "seed: -1"}, "metric: all": {"metric: none", "acknowledge: never", "itemsPerJob: -1"},
		"maxWaitP95: 2m": {"maxWaitP95: soon", "maxWaitP95: -2m", "maxWaitP95: 2"}, "maxPeakJobs: 30": {"maxPeakJobs: -1.5", "maxPeakJobs: -1", "minPeakJobs: -1", "maxUndone: -1", "create: 1"},
	} {
		for _, to := range wrong {
			text := strings.Replace(good, from, to, 1)
			require.NotEqual(t, good, text, from)
			if to != `"3.0"` { // the schema knows no releases
				require.Error(t, valid(t, s, text), "the schema accepts %s", to)
			}
			err := check(text)
			require.Error(t, err, "the command accepts %s", to)
			require.Regexp(t, `^x\.test\.yaml(:[1-9]|: tests\[\d\] "(one|two)")`, err.Error(), to)
			require.NotRegexp(t, goWords, plainText(err.Error()), to)
			require.NotContains(t, err.Error(), "--", "a flag, for %s", to)
		}
	}
	for from, to := range map[string]string{
		"queue: 5": "queue: {redis: 5}", "10m": ".5h", "maxWaitP95: 2m": "maxWaitP95: 0s", "jobs: {running: 1, pending: 1}": "target: {redis: 2}", "seeds: 2": "seed: 0, seeds: 1",
		"name: one\n    queue: 5\n    jobs: {running: 1, pending: 1}\n    expect: {create: 4, rule: Strategy}": "name: one\n    dump: [testdata/jobs.json]\n    expect: {deleted: []}",
	} {
		text := strings.Replace(good, from, to, 1)
		require.NotEqual(t, good, text, from)
		require.NoError(t, valid(t, s, text), to)
		require.NoError(t, check(text), to)
	}
}

func TestTestWrong(t *testing.T) {
	file := func(text string) string { return written(t, "a.test.yaml", text) }
	manifest, err := filepath.Abs("testdata/two.yaml")
	require.NoError(t, err)
	head := "manifests: [" + manifest + "]\ntests:\n  - name: one\n    "
	for text, want := range map[string]string{
		"": "empty; see scaledjob test --help",
		"manifests: [gone.yaml]\ntests: [{name: one, queue: 1, expect: {create: 1}}]":                                                       "gone.yaml: no such file or directory",
		head + "queue: 1\n    expect: {create: 1}":                                                                                          "scaledJob: found none, and the manifests have several; use one of both, wrong",
		head + "scaledJob: gone\n    queue: 1\n    expect: {create: 1}":                                                                     `scaledJob: found "gone"; use one of both, wrong`,
		head + "scaledJob: both\n    queue: {kafka: 1}\n    expect: {create: 1}":                                                            `no trigger is called "kafka"; use rabbitmq, cache`,
		head + "scaledJob: both\n    expect: {create: 1}":                                                                                   "a.test.yaml:3: tests[0].queue: found nothing; use a queue length",
		head + "scaledJob: both\n    queue: 1\n    expect: {deleted: [x]}":                                                                  "tests[0].dump: found nothing; use files with Jobs",
		head + "scaledJob: both\n    queue: 1\n    expect: {maxUndone: 0}":                                                                  "tests[0].simulate: found nothing; use a workload",
		head + "scaledJob: both\n    queue: {rabbitmq: 1, cache: 1}\n    jobs: {running: 1, pending: 1, stuck: 1}\n    expect: {create: 1}": "KEDA 2.21.0 counts neither stuck nor terminating Jobs",
	} {
		status, _, said := call(t, "test "+file(text), "")
		require.Equal(t, trouble, status, text)
		require.Contains(t, said, want)
	}
	// A manifest that cannot be read hides no test.
	broken, err := filepath.Abs("testdata/broken.yaml")
	require.NoError(t, err)
	both := strings.Replace(head, "]", ", "+broken+"]", 1)
	status, out, said := call(t, "test "+file(both+"scaledJob: both\n    queue: {rabbitmq: 1, cache: 0}\n    expect: {create: 1}"), "")
	require.Equal(t, trouble, status)
	require.Contains(t, out, "1 test, 0 failed")
	require.Contains(t, said, "broken.yaml:4: invalid YAML")
	status, _, said = call(t, "test "+t.TempDir(), "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "no file ends with .test.yaml")
}

// A test plays a trace as it was recorded: its burst is in each run.
func TestTestTrace(t *testing.T) {
	rows := "time,items\n5000,15\n"
	for at := range 360 {
		rows += fmt.Sprintf("%d,1\n", 30*at)
	}
	trace := written(t, "queue.csv", rows)
	manifest, err := filepath.Abs("testdata/accurate.yaml")
	require.NoError(t, err)
	file := written(t, "a.test.yaml", "manifests: ["+manifest+"]\ntests:\n  - name: burst\n    scaledJob: a\n"+
		"    simulate: {trace: "+trace+", service: 'exp:5s'}\n    expect: {minPeakJobs: 16, maxPeakJobs: 17}\n")
	status, out, said := call(t, "test "+file, "")
	require.Equal(t, success, status, out+said)
}

// Values that a workload lacks are read from the manifest, as simulate does.
func TestTestAssumesAsSimulate(t *testing.T) {
	manifest, err := filepath.Abs("testdata/accurate.yaml")
	require.NoError(t, err)
	runs := func(fields string) string {
		file := written(t, "a.test.yaml", "manifests: ["+manifest+"]\ntests:\n  - name: one\n    scaledJob: a\n    target: 5\n"+
			"    simulate: {arrivals: 'poisson:0.5/s', duration: 20m, seeds: 1"+fields+"}\n    expect: {maxPeakJobs: 0}\n")
		status, out, said := call(t, "test "+file, "")
		require.Equal(t, found, status, said)
		return strings.ReplaceAll(out, file, "")
	}
	require.Equal(t, runs(", metric: waiting, itemsPerJob: 5"), runs(""))
	require.NotEqual(t, runs(", metric: all"), runs(""))
	require.NotEqual(t, runs(", itemsPerJob: 1"), runs(""))
}
