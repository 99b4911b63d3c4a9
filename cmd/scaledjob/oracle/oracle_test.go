package oracle_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/testdata"
)

// ask returns the answers to lines, and how many could not be read.
func ask(t *testing.T, lines string) (answers []map[string]any, unreadable int) {
	t.Helper()
	var out bytes.Buffer
	unreadable, err := oracle.Run(strings.NewReader(lines), &out)
	require.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		var a map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &a), line)
		answers = append(answers, a)
	}
	return answers, unreadable
}

// The lines of each kind that the documentation shows, and their answers.
func TestGolden(t *testing.T) {
	questions, err := os.ReadFile("testdata/questions.jsonl")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/answers.jsonl")
	require.NoError(t, err)
	var out bytes.Buffer
	unreadable, err := oracle.Run(bytes.NewReader(questions), &out)
	require.NoError(t, err)
	require.Equal(t, 2, unreadable)
	if string(want) != out.String() && os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("testdata/answers.jsonl", out.Bytes(), 0o644))
	}
	require.Equal(t, string(want), out.String())
	for _, kind := range []string{"create", "history", "pending", "rollout", "aggregate", "strategy", "strategy-select", "replicas", "paused", "target-average", "rollout-precedence", "generate"} {
		require.Contains(t, string(questions), `"kind":"`+kind+`"`)
		require.Contains(t, oracle.Help, kind)
	}
}

type vector struct {
	ID, Kind, KEDA string
	Input          map[string]any
	Expect, Core   map[string]any
}

func vectors(t testing.TB) []vector {
	data, err := testdata.Files.ReadFile("keda.json")
	require.NoError(t, err)
	var file struct{ Vectors []vector }
	require.NoError(t, json.Unmarshal(data, &file))
	return file.Vectors
}

// Every case of testdata/keda.json, asked of each release that it holds for, and of the core
// where it says what that gives.
func TestVectors(t *testing.T) {
	checked := 0
	for _, v := range vectors(t) {
		v.Input["kind"] = v.Kind
		for _, release := range keda.Releases() {
			if !within(t, release, v.KEDA) {
				continue
			}
			for field, want := range v.Expect {
				if field == "keda" || field == "libraryShouldDelete" {
					continue // in words
				}
				require.Equal(t, want, answer(t, v, release)[field], "%s of %s at %s", field, v.ID, release)
				checked++
			}
		}
		for field, want := range v.Core {
			require.Equal(t, want, answer(t, v, "spec")[field], "%s of %s in the specification", field, v.ID)
			checked++
		}
	}
	require.Greater(t, checked, 3000)
}

// Every case of testdata/decisions.json.
func TestDecisions(t *testing.T) {
	data, err := testdata.Files.ReadFile("decisions.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name   string
			Input  json.RawMessage
			Create float64
			Rule   string
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Greater(t, len(file.Cases), 60)
	for _, c := range file.Cases {
		answers, unreadable := ask(t, string(c.Input))
		require.Zero(t, unreadable, answers)
		require.Equal(t, c.Create, answers[0]["create"], c.Name)
		if c.Rule != "" {
			require.Equal(t, c.Rule, answers[0]["rule"], c.Name)
		}
	}
}

func answer(t *testing.T, v vector, release string) map[string]any {
	t.Helper()
	v.Input["id"], v.Input["release"] = v.ID, release
	line, err := json.Marshal(v.Input)
	require.NoError(t, err)
	answers, unreadable := ask(t, string(line))
	require.Zero(t, unreadable, answers)
	require.Equal(t, v.ID, answers[0]["id"])
	return answers[0]
}

func within(t *testing.T, release, bounds string) bool {
	for _, bound := range strings.Fields(bounds) {
		from, isFrom := strings.CutPrefix(bound, ">=")
		if isFrom && ordinal(t, release) < ordinal(t, from) || !isFrom && ordinal(t, release) >= ordinal(t, strings.TrimPrefix(bound, "<")) {
			return false
		}
	}
	return true
}

func ordinal(t *testing.T, release string) int {
	var minor, patch int
	_, err := fmt.Sscanf(release, "2.%d.%d", &minor, &patch)
	require.NoError(t, err)
	return minor*100 + patch
}

// A line that cannot be read is answered in its place, and the rest goes on.
func TestUnreadable(t *testing.T) {
	const good = `{"id":"good","scalers":[{"queueLength":1,"target":1}]}`
	for line, want := range map[string]string{
		`{`:                                      "line: found the end of the line within its object; use one JSON object",
		`[]`:                                     "line: found a list; use an object",
		`nope`:                                   `line: found "o" as byte 2, which is not JSON; use one JSON object`,
		`{} {}`:                                  `line: found "{" as byte 4, which is not JSON; use one JSON object`,
		`{"id":7`:                                "line: found the end of the line within its object; use one JSON object",
		`{"id":7,"running":1.5}`:                 "running: found 1.5; use a whole number of 64 bits",
		`{"id":7,"running":1e-400}`:              "running: found 1e-400; use a whole number of 64 bits",
		`{"id":7,"running":"3"}`:                 `running: found "3"; use a whole number of 64 bits`,
		`{"id":7,"running":9223372036854775808}`: "running: found 9223372036854775808; use a whole number of 64 bits",
		`{"id":7,"maxReplicaCount":5e9}`:         "maxReplicaCount: found 5e9; use a whole number of 32 bits",
		`{"id":7,"paused":1}`:                    "paused: found 1; use true or false",
		`{"id":7,"hold":"yes"}`:                  `hold: found "yes"; use true or false`,
		`{"id":7,"scalers":{}}`:                  "scalers: found an object; use a list",
		`{"id":7,"scalers":[{},{"error":1}]}`:    "scalers[1].error: found 1; use true, false, or a text",
		`{"id":7,"scalers":[1]}`:                 "scalers[0]: found 1; use an object",
		`{"id":7,"jobs":[{},{"suspend":"no"}]}`:  `jobs[1].suspend: found "no"; use true or false`,
		`{"id":7,"jobs":[{"completionTime":"x"}]}`:                                      `jobs[0].completionTime: found "x"; use a time such as 2026-01-01T00:00:00Z`,
		`{"id":7,"jobs":[{"conditions":["Complete",{"status":1}]}]}`:                    `jobs[0].conditions[1].status: found 1; use a string`,
		`{"id":7,"labels":{"a":1}}`:                                                     "labels.a: found 1; use a string",
		`{"id":7,"customScalingRunningJobPercentage":true}`:                             `customScalingRunningJobPercentage: found true; use a number, or one as a text, such as "0.5"`,
		`{"id":7,"release":"3.0"}`:                                                      `release: found "3.0"; use "spec", or a release of KEDA from 2.0 to 2.21.0, such as "2.21" or "2.14.1"`,
		`{"id":7,"release":"keda@2.20"}`:                                                `release: found "keda@2.20"; use "spec"`,
		`{"id":7,"as":"core"}`:                                                          `as: found an unknown field; use release, such as "spec" or "2.21"`,
		`{"id":7,"x":1}`:                                                                `x: found an unknown field; use a field that scaledjob oracle --help lists`,
		`{"id":7,"Running":1}`:                                                          `Running: found an unknown field; use running`,
		`{"id":7,"scalers":[{"queueLength":"x","target":1}]}`:                           `scalers[0].queueLength: found "x"; use a number, "NaN", "+Inf" or "-Inf"`,
		`{"id":7,"scalers":[{"queueLength":true,"target":1}]}`:                          `scalers[0].queueLength: found true; use a number`,
		`{"id":7,"scalers":[{"queueLength":1e999,"target":1}]}`:                         `scalers[0].queueLength: found 1e999; use a number`,
		`{"id":7,"scalers":[{"metrics":[]}]}`:                                           "scalers[0].metrics: found a list, which only releases of KEDA have; use queueLength and target",
		`{"id":7,"scalers":[{"queueLength":0,"maxValue":1}]}`:                           "scalers[0].maxValue: found 1 at a queueLength of 0, which no target gives; use target",
		`{"id":7,"kind":"generate"}`:                                                    `kind: found "generate"; use none, or one of aggregate, create, history`,
		`{"id":7,"release":"2.21","kind":"x"}`:                                          `kind: found "x"; use none, or one of aggregate`,
		`{"id":7,"stuck":0,"agesUnknown":true}`:                                         "stuck: found 0, while agesUnknown is true; use only one of the two",
		`{"id":7,"release":"2.21","stuck":2,"agesUnknown":true}`:                        "stuck: found 2, while agesUnknown is true; use only one of the two",
		`{"id":7,"strategy":"best"}`:                                                    `strategy: found "best"; use one of default, accurate, eager, custom, pendingAware`,
		`{"id":7,"multipleScalersCalculation":"median"}`:                                `multipleScalersCalculation: found "median"; use one of max, min, avg, sum`,
		`{"id":7,"min":"top"}`:                                                          `min: found "top"; use additive or floor`,
		`{"id":7,"accurate":"x"}`:                                                       `accurate: found "x"; use subtractPending`,
		`{"id":7,"strategy":"custom","customScalingRunningJobPercentage":"50%"}`:        `customScalingRunningJobPercentage: found "50%"; use a decimal of 0 or more, such as "0.5"`,
		`{"id":7,"strategy":"custom","customScalingRunningJobPercentage":-0.5}`:         `customScalingRunningJobPercentage: found "-0.5"; use a decimal of 0 or more, such as "0.5"`,
		`{"id":7,"kind":"rollout","rolloutStrategy":"gradual","rollout.strategy":"no"}`: `rolloutStrategy: found "gradual", while rollout.strategy is "no"; use only rollout.strategy`,
		`{"id":7,"kind":"rollout","rollout.strategy":"no"}`:                             `rollout.strategy: found "no"; use gradual, immediate or drain`,
		`{"id":7,"kind":"rollout","rollout.propagationPolicy":"no"}`:                    `rollout.propagationPolicy: found "no"; use background, foreground or orphan`,
	} {
		answers, unreadable := ask(t, good+"\n\n"+line+"\n"+good)
		require.Len(t, answers, 3, line)
		require.Equal(t, 1, unreadable, line)
		require.Equal(t, 1.0, answers[0]["create"])
		require.Equal(t, 1.0, answers[2]["create"])
		require.Contains(t, answers[1]["error"], want, line)
		require.Equal(t, 3.0, answers[1]["line"], line)
		if strings.HasPrefix(line, `{"id":7`) && strings.HasSuffix(line, "}") {
			require.Equal(t, 7.0, answers[1]["id"], line)
		}
	}
}

// All problems of a line are reported at once.
func TestAllProblems(t *testing.T) {
	answers, _ := ask(t, `{"strategy":"best","multipleScalersCalculation":"median","min":"top","accurate":"x","scalers":[{"metrics":[]},{"maxValue":1,"target":"x"}],"running":"2","hold":3,"stuck":1,"agesUnknown":true,"x":1}`)
	var paths []string
	for _, problem := range strings.Split(answers[0]["error"].(string), "\n") {
		path, _, _ := strings.Cut(problem, ":")
		paths = append(paths, path)
	}
	require.Equal(t, []string{"x", "hold", "running", "scalers[1].target", "stuck", "min", "multipleScalersCalculation", "accurate", "strategy",
		"scalers[0].metrics", "scalers[1].maxValue"}, paths)
	answers, _ = ask(t, `{"release":"1.0","kind":"best","running":true}`)
	require.Equal(t, 2, strings.Count(answers[0]["error"].(string), "\n"), answers)
}

// In the core the Jobs that a scaler asks for mean the target that gives them.
func TestMaxValueInCore(t *testing.T) {
	for scalers, create := range map[string]float64{
		`{"queueLength":0,"maxValue":0,"isActive":true},{"queueLength":5,"maxValue":5,"isActive":true}`: 5,
		`{"queueLength":10,"maxValue":4}`:                               4,
		`{"queueLength":10,"maxValue":0},{"queueLength":3,"target":1}`:  3,
		`{"queueLength":10,"maxValue":-1},{"queueLength":3,"target":1}`: 3,
		`{"failed":true,"maxValue":2},{"queueLength":3,"target":1}`:     3,
	} {
		answers, unreadable := ask(t, `{"id":1,"release":"spec","scalers":[`+scalers+`]}`)
		require.Zero(t, unreadable, answers)
		require.Equal(t, create, answers[0]["create"], scalers)
	}
	answers, _ := ask(t, `{"id":1,"release":"spec","scalers":[{"queueLength":10,"maxValue":0}]}`)
	require.Contains(t, answers[0]["trace"], "0 of 1")
}

// Before 2.4 Jobs are found by another label.
func TestTrackingLabel(t *testing.T) {
	for release, want := range map[string]map[string]any{
		"2.3": {"scaledjob": "o"},
		"2.4": {"scaledjob.keda.sh/name": "x"},
	} {
		answers, _ := ask(t, `{"release":"`+release+`","kind":"generate","name":"x","labels":{"scaledjob":"o"}}`)
		require.Equal(t, want, answers[0]["jobLabel"])
		require.Equal(t, release != "2.3", answers[0]["countedAsRunning"])
	}
}

// Where there is no annotation, no release has to know it.
func TestNoAnnotation(t *testing.T) {
	for _, release := range []string{"spec", "2.10", "2.21"} {
		answers, _ := ask(t, `{"release":"`+release+`","kind":"paused","annotation":null}`)
		require.Equal(t, false, answers[0]["paused"], release)
	}
	answers, _ := ask(t, `{"release":"2.10","kind":"paused","annotation":"true"}`)
	require.Equal(t, "since 2.11", answers[0]["unsupported"])
}

// A whole number may be written as any; the id stays as it is.
func TestWholeNumbers(t *testing.T) {
	var out bytes.Buffer
	_, err := oracle.Run(strings.NewReader(`{"id":1.0,"release":"spec","scalers":[{"queueLength":20.5,"target":1}],"maxReplicaCount":1e1,"running":1.0,"pending":0.0}`), &out)
	require.NoError(t, err)
	require.Contains(t, out.String(), `{"id":1.0,"isActive":true,"queueLength":21,"target":10,"create":9,`)
}

func FuzzAnswer(f *testing.F) {
	data, err := os.ReadFile("testdata/questions.jsonl")
	require.NoError(f, err)
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(bytes.ReplaceAll(line, []byte("\n"), nil), []byte("\r"), nil)
		var out bytes.Buffer
		_, err := oracle.Run(bytes.NewReader(line), &out)
		require.NoError(t, err)
		if len(bytes.TrimSpace(line)) == 0 {
			require.Empty(t, out.Bytes())
			return
		}
		require.True(t, json.Valid(out.Bytes()), "%s", &out)
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")))
	})
}

func BenchmarkRun(b *testing.B) {
	for _, release := range []string{"spec", "2.21"} {
		b.Run(release, func(b *testing.B) {
			const lines = 1000
			line := `{"id":1,"release":"` + release + `","scalers":[{"queueLength":10,"target":2,"isActive":true}],"multipleScalersCalculation":"max","minReplicaCount":null,` +
				`"maxReplicaCount":3,"strategy":"default","customScalingQueueLengthDeduction":null,"customScalingRunningJobPercentage":null,"running":0,"pending":0}` + "\n"
			in := []byte(strings.Repeat(line, lines))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := oracle.Run(bytes.NewReader(in), io.Discard); n > 0 || err != nil {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// A program may wait for each answer before it asks again. The first line may begin with a
// byte order mark.
func TestOneByOne(t *testing.T) {
	questions, ask := io.Pipe()
	answers, answer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := oracle.Run(questions, answer)
		answer.Close()
		done <- err
	}()
	lines := bufio.NewScanner(answers)
	for i, prefix := range []string{"\ufeff", "", "  "} {
		_, err := fmt.Fprintf(ask, "%s{\"id\":%d,\"kind\":\"paused\"}\n", prefix, i)
		require.NoError(t, err)
		require.True(t, lines.Scan())
		require.Equal(t, fmt.Sprintf(`{"id":%d,"paused":false}`, i), lines.Text())
	}
	require.NoError(t, ask.Close())
	require.False(t, lines.Scan())
	require.NoError(t, <-done)
}
