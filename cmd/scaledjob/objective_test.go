package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation/study"
)

func TestGoals(t *testing.T) {
	goals, err := parseGoals("")
	require.NoError(t, err)
	require.Empty(t, goals)
	goals, err = parseGoals("p95<2m, peak<=40")
	require.NoError(t, err)
	require.Len(t, goals, 3, "all items must be done")
	require.True(t, goals[0].Meets(119.9))
	require.False(t, goals[0].Meets(120))
	require.True(t, goals[1].Meets(40))
	require.False(t, goals[2].Meets(1))
	goals, err = parseGoals("undone<10")
	require.NoError(t, err)
	require.Len(t, goals, 1)
	for _, wrong := range []string{"p95", "p95<", "p95<2", "p90<2m", "<2m", "p95>2m", "p95<-2m", "peak<2m", "p95<1m,", "undone<0", "peak<NaN"} {
		_, err := parseGoals(wrong)
		require.ErrorContains(t, err, "--objective", wrong)
	}
	_, _, said := call(t, workload+"--search", "")
	require.Contains(t, said, "--search without --objective: use both")
}

// Each policy passes or fails each objective, or nobody can tell.
func TestJudged(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}, "b": {20, 23, 21}, "c": {9, 16, 11}})
	goals, err := parseGoals("p95<15s,undone<=0")
	require.NoError(t, err)
	var lines []string
	all := judged(s, goals)
	for i := range all {
		lines = append(lines, goals[i%len(goals)].lineOf(&all[i]))
	}
	require.Equal(t, []string{
		"pass: a p95<15s: 11.0s (8.5s to 13.5s)", "pass: a undone<=0: 0", "fail: b p95<15s: 21.3s (17.5s to 25.1s)", "pass: b undone<=0: 0",
		"cannot tell: c p95<15s: 12.0s (3.0s to 21.0s)", "pass: c undone<=0: 0",
	}, lines)
	s.Sampling = study.FewBlocks
	all = judged(s, goals)
	require.Equal(t, "pass: a p95<15s: 11.0s (without an interval)", goals[0].lineOf(&all[0]))
}

// The objective selects: a looser bound needs a smaller maximum. The smallest maximum is exact:
// the policies with the maximum below it were tried.
func TestSearch(t *testing.T) {
	const flags = "simulate -f testdata/manifest.yaml --arrivals poisson:0.3/s --service 45s --startup 10s --duration 20m --search -o json --objective "
	maxima := map[string]int32{}
	for _, objective := range []string{"p95<2m", "p95<20m"} {
		status, out, said := call(t, flags+objective, "")
		require.Equal(t, success, status, said)
		var r struct {
			Search struct {
				Found      struct{ Policy int }
				Name, Line string
				Study      struct{ Samples []study.Sample }
			}
		}
		unmarshal(t, out, &r)
		require.Contains(t, r.Search.Line, "Smallest maximum that meets "+objective+" and undone<=0: ")
		var most int32
		_, after, found := strings.Cut(r.Search.Name, "max ")
		require.True(t, found)
		_, err := sscan(after, &most)
		require.NoError(t, err)
		maxima[objective] = most
	}
	require.Less(t, maxima["p95<20m"], maxima["p95<2m"])
}
