package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/results"
)

func TestGoals(t *testing.T) {
	goals, err := results.ParseGoals("")
	require.NoError(t, err)
	require.Empty(t, goals)
	goals, err = results.ParseGoals("p95<2m, peak<=40")
	require.NoError(t, err)
	require.Len(t, goals, 3, "all items must be done")
	require.True(t, goals[0].Meets(119.9))
	require.False(t, goals[0].Meets(120))
	require.True(t, goals[1].Meets(40))
	require.False(t, goals[2].Meets(1))
	goals, err = results.ParseGoals("undone<10")
	require.NoError(t, err)
	require.Len(t, goals, 1)
	for _, wrong := range []string{"p95", "p95<", "p95<2", "p90<2m", "<2m", "p95>2m", "p95<-2m", "peak<2m", "p95<1m,", "undone<0", "peak<NaN"} {
		_, err := results.ParseGoals(wrong)
		require.ErrorContains(t, err, "--objective", wrong)
	}
	_, _, said := call(t, workload+"--search", "")
	require.Contains(t, said, "--search without --objective: use both")
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
			Search   struct{ Policy int }
			Policies []struct{ Name string }
			Verdict  []string
			Patch    string
		}
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		require.Contains(t, r.Verdict[0], "the smallest maximum that meets "+objective+" and every item is done")
		require.Contains(t, r.Verdict[0], "instead of today's (default, min 0, max 100, every 30s)")
		require.Contains(t, r.Verdict[2], "today's policy costs ")
		require.Contains(t, r.Patch, "\nspec:\n  pollingInterval: ")
		_, after, found := strings.Cut(r.Policies[r.Search.Policy].Name, "max ")
		require.True(t, found)
		var most int32
		_, err := fmt.Sscanf(after, "%d,", &most)
		require.NoError(t, err)
		maxima[objective] = most
	}
	require.Less(t, maxima["p95<20m"], maxima["p95<2m"])
}

// A search goes up to the Jobs that a burst needs, though the mean load needs few, and its policy is shown beside today's.
func TestSearchOfABurst(t *testing.T) {
	trace := written(t, "burst.csv", "time,items\n0,1\n600,60\n7200,1\n")
	status, out, said := call(t, "simulate -f testdata/manifest.yaml --trace "+trace+" --service 2m --search --objective p95<3m", "")
	require.Equal(t, success, status, out+said)
	require.Contains(t, out, "Use ")
	require.Regexp(t, `maxReplicaCount: [2-6][0-9]\b`, out)
	require.Contains(t, out, "Highest in any run: today: ")
}
