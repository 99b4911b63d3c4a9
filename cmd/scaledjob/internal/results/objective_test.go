package results

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each policy passes or fails each objective, or nobody can tell.
func TestJudged(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}, "b": {20, 23, 21}, "c": {9, 16, 11}})
	goals, err := ParseGoals("p95<15s,undone<=0")
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
	s.Sampling = "fewBlocks"
	all = judged(s, goals)
	require.Equal(t, "pass: a p95<15s: 11.0s (without an interval)", goals[0].lineOf(&all[0]))
}
