package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// Each policy passes or fails each objective, or nobody can tell.
func TestJudged(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}, "b": {20, 23, 21}, "c": {9, 16, 11}})
	goals, err := ParseGoals("p95<15s,undone<=0")
	require.NoError(t, err)
	u := newUnits(s, simulation.Load{})
	var lines []string
	results := judged(s, goals)
	for i := range results {
		lines = append(lines, goals[i%len(goals)].line(&results[i], &u))
	}
	require.Equal(t, []string{
		"a p95<15s: pass, 11 s (95 % interval: 8.5 to 13 s).", "a undone<=0: pass, 0.", "b p95<15s: fail, 21 s (95 % interval: 18 to 25 s).", "b undone<=0: pass, 0.",
		"c p95<15s: too close to call, 12 s (95 % interval: 3 to 21 s).", "c undone<=0: pass, 0.",
	}, lines)
	alone := studyOf(map[string][]float64{"a": {10}})
	results = judged(alone, goals)
	require.Equal(t, "a p95<15s: too close to call, 10 s (one run has no interval; use --seeds 10).", goals[0].line(&results[0], &u))
}

// The status follows from the compared policies, or from the search.
func TestMissed(t *testing.T) {
	goals, err := ParseGoals("p95<15s")
	require.NoError(t, err)
	outcome := func(search *searched, waits ...float64) [2]bool {
		policies := map[string][]float64{"today": waits}
		if search == nil {
			policies["b"] = []float64{1, 1}
		}
		s := studyOf(policies)
		r := Findings{Study: s, Goals: goals, Objectives: judged(s, goals), Search: search}
		missed, close := r.Missed()
		return [2]bool{missed, close}
	}
	require.Equal(t, [2]bool{false, false}, outcome(nil, 10, 10))
	require.Equal(t, [2]bool{true, false}, outcome(nil, 20, 20), "one of two is enough")
	require.Equal(t, [2]bool{false, true}, outcome(nil, 10, 30))
	require.Equal(t, [2]bool{false, false}, outcome(&searched{Met: true}, 20, 21), "the search is to replace today's policy")
	require.Equal(t, [2]bool{true, false}, outcome(&searched{}, 10, 11))
}
