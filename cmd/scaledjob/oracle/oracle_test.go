package oracle_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
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

// The lines of each kind that the documentation shows, lines that cannot be read, and their answers: each
// is answered in its place.
func TestGolden(t *testing.T) {
	questions, err := os.ReadFile("testdata/questions.jsonl")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/answers.jsonl")
	require.NoError(t, err)
	var out bytes.Buffer
	unreadable, err := oracle.Run(bytes.NewReader(questions), &out)
	require.NoError(t, err)
	require.Equal(t, 45, unreadable)
	if string(want) != out.String() && os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("testdata/answers.jsonl", out.Bytes(), 0o644))
	}
	require.Equal(t, string(want), out.String())
	for _, kind := range []string{"create", "history", "pending", "rollout", "aggregate", "strategy", "strategy-select", "replicas", "paused", "target-average", "rollout-precedence", "generate"} {
		require.Contains(t, string(questions), `"kind":"`+kind+`"`)
		require.Contains(t, oracle.Fields, kind)
	}
	for _, name := range slices.Concat(strategy.Names(), scaling.Aggregations()) {
		require.Contains(t, oracle.Fields, name)
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

// Every case of the other vectors.
func TestSpecification(t *testing.T) {
	checked := 0
	check := func(question map[string]json.RawMessage, field string, want any, name string) {
		line, err := json.Marshal(question)
		require.NoError(t, err)
		answers, unreadable := ask(t, string(line))
		require.Zero(t, unreadable, answers)
		require.Equal(t, want, answers[0][field], name)
		checked++
	}
	for _, name := range []string{"strategies.json", "decisions.json", "history.json", "rollout.json"} {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		var file struct {
			Cases []struct {
				Name                  string
				Input                 map[string]json.RawMessage // as it is written
				Create, Deleted, Rule any
				EffectiveMaxScale     map[string]float64
			}
		}
		require.NoError(t, json.Unmarshal(data, &file))
		for _, c := range file.Cases {
			for field, want := range map[string]any{"create": c.Create, "deleted": c.Deleted, "rule": c.Rule} {
				if want != nil {
					check(c.Input, field, want, c.Name)
				}
			}
			for strategy, proposal := range c.EffectiveMaxScale {
				c.Input["strategy"] = json.RawMessage(`"` + strategy + `"`)
				check(c.Input, "effectiveMaxScale", proposal, c.Name)
			}
		}
	}
	require.Greater(t, checked, 450)
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
	index := func(release string) int {
		require.Contains(t, keda.Releases(), release)
		return slices.Index(keda.Releases(), release)
	}
	for _, bound := range strings.Fields(bounds) {
		first, isFirst := strings.CutPrefix(bound, ">=")
		if isBefore := index(release) < index(strings.TrimPrefix(first, "<")); isBefore == isFirst {
			return false
		}
	}
	return true
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

// A short form beside the long one is read if they agree, and is an error if they differ.
func TestTwoForms(t *testing.T) {
	const elsewhere = ", while conditions has it with another status or time; use only conditions"
	for _, tt := range []struct{ question, agrees, differs, problem string }{
		{`"kind":"rollout","rollout":{"strategy":"drain"},"strategy":"?"`, "drain", "gradual", `strategy: found "gradual", while rollout {"strategy"} is "drain"; use only rollout {"strategy"}`},
		{`"kind":"rollout","rollout.strategy":"drain","strategy":"?"`, "drain", "gradual", `strategy: found "gradual", while rollout {"strategy"} is "drain"; use only rollout {"strategy"}`},
		{`"kind":"rollout","rolloutStrategy":"drain","strategy":"?"`, "drain", "gradual", `strategy: found "gradual", while rolloutStrategy is "drain"; use only rolloutStrategy`},
		{`"kind":"rollout","rollout":{"strategy":"drain"},"rollout.strategy":"?"`, "drain", "gradual", `rollout.strategy: found "gradual", while rollout {"strategy"} is "drain"; use only rollout {"strategy"}`},
		{`"kind":"rollout","rollout":{"propagationPolicy":"foreground"},"rollout.propagationPolicy":"?"`, "foreground", "background", `rollout.propagationPolicy: found "background", while rollout {"propagationPolicy"} is "foreground"; use only rollout {"propagationPolicy"}`},
		{`"kind":"rollout","jobs":[{"annotations":{"scaledjob.keda.sh/generation":"2"},"generationAnnotation":"?"}]`, "2", "1", `jobs[0].generationAnnotation: found "1", while annotations {"scaledjob.keda.sh/generation"} is "2"; use only annotations {"scaledjob.keda.sh/generation"}`},
		{`"kind":"history","jobs":[{"condition":"Failed","conditions":[{"type":"Failed","status":"?"}]}]`, "True", "False", `jobs[0].condition: found "Failed"` + elsewhere},
		{`"kind":"history","jobs":[{"condition":"Failed","failedConditionTransition":"2026-01-01T00:00:00Z","conditions":[{"type":"Failed","lastTransitionTime":"?"}]}]`, "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z", `jobs[0].condition: found "Failed"` + elsewhere},
		{`"kind":"pending","jobs":[{"finished":true,"conditions":[{"type":"Complete","status":"?"}]}]`, "True", "False", `jobs[0].finished: found "Complete"` + elsewhere},
		{`"kind":"pending","jobs":[{"pods":[{"trueConditions":["Ready"],"conditions":[{"type":"Ready","status":"?"}]}]}]`, "True", "False", `jobs[0].pods[0].trueConditions: found "Ready"` + elsewhere},
		{`"kind":"pending","jobs":[{"pods":[{"phase":"Running"}]}],"pods":[{"phase":"?"}]`, "Running", "Pending", `jobs: found other Jobs than the one of pods and jobFinished; use only jobs`},
		{`"kind":"paused","paused":true,"annotation":"?"`, "TRUE", "false", `annotation: found "false", while paused is true; use only annotation`},
		{`"kind":"paused","paused":true,"annotations":{"autoscaling.keda.sh/paused":"?"}`, "TRUE", "false", `paused: found "true", while annotations {"autoscaling.keda.sh/paused"} is "false"; use only annotations {"autoscaling.keda.sh/paused"}`},
		{`"kind":"paused","annotations":{"autoscaling.keda.sh/paused":"true"},"annotation":"?"`, "true", "false", `annotation: found "false", while annotations {"autoscaling.keda.sh/paused"} is "true"; use only annotations {"autoscaling.keda.sh/paused"}`},
	} {
		for _, release := range []string{"spec", "2.21"} {
			template := `{"release":"` + release + `",` + tt.question + "}\n"
			answers, unreadable := ask(t, strings.Replace(template, "?", tt.agrees, 1)+strings.Replace(template, "?", tt.differs, 1))
			require.Equal(t, 1, unreadable, answers)
			require.Equal(t, tt.problem, answers[1]["error"])
		}
	}
}

// A short form asks the same as the long one.
func TestShortForms(t *testing.T) {
	for _, forms := range [][2]string{
		{`"kind":"pending","pods":[{"phase":"Running"}]`, `"kind":"pending","jobs":[{"pods":[{"phase":"Running"}]}]`},
		{`"kind":"pending","jobFinished":true`, `"kind":"pending","jobs":[{"conditions":[{"type":"Complete"}]}]`},
		{`"kind":"pending","pendingPodConditions":["Ready"],"pods":[{"trueConditions":["Ready"]}]`,
			`"kind":"pending","pendingPodConditions":["Ready"],"jobs":[{"pods":[{"conditions":[{"type":"Ready","status":"True"}]}]}]`},
		{`"kind":"history","failedJobsHistoryLimit":0,"jobs":[{"name":"a","condition":"Failed","failedConditionTransition":"2026-01-01T00:00:00Z"}]`,
			`"kind":"history","failedJobsHistoryLimit":0,"jobs":[{"name":"a","conditions":[{"type":"Failed","lastTransitionTime":"2026-01-01T00:00:00Z"}]}]`},
		{`"kind":"rollout","generation":2,"rollout.strategy":"gradual","rollout.propagationPolicy":"orphan","jobs":[{"name":"a","generationAnnotation":"1"}]`,
			`"kind":"rollout","generation":2,"rollout":{"strategy":"gradual","propagationPolicy":"orphan"},"jobs":[{"name":"a","generationAnnotation":"1"}]`},
		{`"kind":"rollout","generation":2,"strategy":"gradual","jobs":[{"name":"a","generationAnnotation":"1"}]`,
			`"kind":"rollout","generation":2,"rollout":{"strategy":"gradual"},"jobs":[{"name":"a","generationAnnotation":"1"}]`},
		{`"strategy":"custom","customScalingRunningJobPercentage":0.5,"running":3`, `"strategy":"custom","customScalingRunningJobPercentage":"0.5","running":3`},
	} {
		for _, release := range []string{"spec", "2.21"} {
			lines := ""
			for _, form := range forms {
				lines += `{"release":"` + release + `",` + form + "}\n"
			}
			answers, unreadable := ask(t, lines)
			require.Zero(t, unreadable, lines)
			require.Equal(t, answers[1], answers[0], lines)
		}
	}
}
