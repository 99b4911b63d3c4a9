package oracle_test

import (
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
	data, err := os.ReadFile("../../../testdata/keda.json")
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
				require.Equal(t, want, answer(t, v, "keda@"+release)[field], "%s of %s at %s", field, v.ID, release)
				checked++
			}
		}
		for field, want := range v.Core {
			require.Equal(t, want, answer(t, v, "core")[field], "%s of %s in the core", field, v.ID)
			checked++
		}
	}
	require.Greater(t, checked, 3000)
}

func answer(t *testing.T, v vector, as string) map[string]any {
	t.Helper()
	v.Input["id"], v.Input["as"] = v.ID, as
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
	const good = `{"id":"good","as":"core","scalers":[{"queueLength":1,"target":1}]}`
	for line, want := range map[string]string{
		`{`:                                     "not JSON: the line ends before its object does",
		`[]`:                                    "found a list: want an object",
		`nope`:                                  "not JSON: found \"o\" as byte 2, where it cannot be",
		`{"id":7,"as":"core","running":1.5}`:    "running: found 1.5: want a whole number",
		`{"id":7,"as":"core","running":1e-400}`: "running: found 1e-400: want a whole number",
		`{"id":7,"as":"core","maxReplicaCount":5e9}`:                    "maxReplicaCount: found 5000000000: want a whole number from -2147483648 to 2147483647",
		`{"id":7,"as":"core","paused":1}`:                               "paused: found a number: want true or false",
		`{"id":7,"as":"core","scalers":{}}`:                             "scalers: found an object: want a list",
		`{"id":7,"as":"core","scalers":[{},{"error":1}]}`:               "scalers[1].error: found 1: want true, false, or a text",
		`{"id":7,"as":"core","jobs":[{},{"suspend":"no"}]}`:             "jobs[1].suspend: found a text: want true or false",
		`{"id":7,"as":"core","jobs":[{"completionTime":"x"}]}`:          `found x: want a time such as`,
		`{"id":7,"as":"core","customScalingRunningJobPercentage":true}`: `customScalingRunningJobPercentage: found true: want a number`,
		`{"id":7} {}`:                        "one object a line",
		`{"id":7,"as":"core"`:                "not JSON: the line ends before its object does",
		`{"id":7}`:                           `as: found "": want "core", or a release of KEDA such as "keda@2.21"`,
		`{"id":7,"as":"keda@3.0"}`:           "as: ",
		`{"id":7,"as":"core","x":1}`:         `unknown field "x"`,
		`{"id":7,"as":"core","running":"3"}`: "running: found a text: want a whole number",
		`{"id":7,"as":"core","scalers":[{"queueLength":"x","target":1}]}`:                           `scalers[0].queueLength: found "x": want a number, "NaN", "+Inf" or "-Inf"`,
		`{"id":7,"as":"core","scalers":[{"queueLength":true,"target":1}]}`:                          "want a number",
		`{"id":7,"as":"core","scalers":[{"metrics":[]}]}`:                                           "scalers[0].metrics",
		`{"id":7,"as":"core","scalers":[{"queueLength":0,"maxValue":1}]}`:                           "scalers[0].maxValue",
		`{"id":7,"as":"core","kind":"generate"}`:                                                    `kind: found "generate": want none, or one of aggregate, create, history`,
		`{"id":7,"as":"keda@2.21","kind":"x"}`:                                                      `kind: found "x": want none, or one of`,
		`{"id":7,"as":"core","strategy":"best"}`:                                                    "strategy: ",
		`{"id":7,"as":"core","calculation":"median"}`:                                               "calculation: ",
		`{"id":7,"as":"core","min":"top"}`:                                                          `min: found "top": want adds or floor`,
		`{"id":7,"as":"core","accurate":"x"}`:                                                       `accurate: found "x": want subtractPending`,
		`{"id":7,"as":"core","strategy":"custom","customScalingRunningJobPercentage":"50%"}`:        "customScalingRunningJobPercentage: ",
		`{"id":7,"as":"core","kind":"rollout","rolloutStrategy":"gradual","rollout.strategy":"no"}`: "rolloutStrategy: ",
		`{"id":7,"as":"core","kind":"rollout","rollout.propagationPolicy":"no"}`:                    "no",
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

// Two problems of one line are both told.
func TestAllProblems(t *testing.T) {
	answers, _ := ask(t, `{"as":"core","strategy":"best","calculation":"median","min":"top","scalers":[{"metrics":[]}]}`)
	for _, field := range []string{"strategy", "calculation", "min", "scalers[0].metrics"} {
		require.Contains(t, answers[0]["error"], field)
	}
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
		answers, unreadable := ask(t, `{"id":1,"as":"core","scalers":[`+scalers+`]}`)
		require.Zero(t, unreadable, answers)
		require.Equal(t, create, answers[0]["create"], scalers)
	}
	answers, _ := ask(t, `{"id":1,"as":"core","scalers":[{"queueLength":10,"maxValue":0}]}`)
	require.Contains(t, answers[0]["trace"], "0 of 1")
}

// Before 2.4 Jobs are found by another label.
func TestTrackingLabel(t *testing.T) {
	for as, want := range map[string]map[string]any{
		"keda@2.3": {"scaledjob": "o"},
		"keda@2.4": {"scaledjob.keda.sh/name": "x"},
	} {
		answers, _ := ask(t, `{"as":"`+as+`","kind":"generate","name":"x","labels":{"scaledjob":"o"}}`)
		require.Equal(t, want, answers[0]["jobLabel"])
		require.Equal(t, as != "keda@2.3", answers[0]["countedAsRunning"])
	}
}

// Where there is no annotation, no release has to know it.
func TestNoAnnotation(t *testing.T) {
	for _, as := range []string{"core", "keda@2.10", "keda@2.21"} {
		answers, _ := ask(t, `{"as":"`+as+`","kind":"paused","annotation":null}`)
		require.Equal(t, false, answers[0]["paused"], as)
	}
	answers, _ := ask(t, `{"as":"keda@2.10","kind":"paused","annotation":"true"}`)
	require.Equal(t, "since 2.11", answers[0]["unsupported"])
}

// A whole number may be written as any; the id stays as it is.
func TestWholeNumbers(t *testing.T) {
	var out bytes.Buffer
	_, err := oracle.Run(strings.NewReader(`{"id":1.0,"as":"core","scalers":[{"queueLength":20.5,"target":1}],"maxReplicaCount":1e1,"running":1.0,"pending":0.0}`), &out)
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
	for _, as := range []string{"core", "keda@2.21"} {
		b.Run(as, func(b *testing.B) {
			const lines = 1000
			line := `{"id":1,"as":"` + as + `","scalers":[{"queueLength":10,"target":2,"isActive":true}],"calculation":"max","minReplicaCount":null,` +
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
