package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

func TestObjective(t *testing.T) {
	point := func(name string, wait, cost float64, done int64) simulation.Point {
		var p simulation.Point
		p.Summary.Policy, p.Summary.Arrived, p.Summary.Done, p.Summary.Wait.P95, p.Summary.BusySeconds = name, 10, done, wait, cost
		return p
	}
	always := func(int) (bool, error) { return true, nil }
	points := []simulation.Point{point("cheap", 200, 10, 9), point("slow", 120, 20, 10), point("fast", 60, 90, 10), point("good", 90, 30, 10)}
	for text, want := range map[string]string{
		"":          "",
		"p95<2m":    "Cheapest of 2 policies that meet p95<2m: good, at 30.0s of Job time.",
		"p95<=2m":   "Cheapest of 3 policies that meet p95<=2m: slow, at 20.0s of Job time.",
		"p95 < 61s": "Cheapest of 1 policies that meet p95 < 61s: fast, at 1m30s of Job time.",
		"p95<30s":   "None of 4 policies tried meets p95<30s: fast comes closest, at 1m.",
	} {
		g, err := parseGoal(text)
		require.NoError(t, err)
		lines, err := searched(points, g, always)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(lines, "\n"))
	}
	lines, err := searched(points[:1], nil, always)
	require.NoError(t, err)
	require.Equal(t, []string{"None of 1 policies tried finishes all items."}, lines)
	// Of equally cheap policies it is the one with the shortest wait. A policy that does not meet
	// the objective under another seed is passed over.
	g, err := parseGoal("p95<2m")
	require.NoError(t, err)
	points = append(points, point("better", 80, 30, 10))
	for but, want := range map[string]string{
		"": "Cheapest of 3 policies that meet p95<2m: better, at 30.0s of Job time.", "better": "Cheapest of 3 policies that meet p95<2m: good, at 30.0s of Job time.",
		"good better fast": "None of 5 policies tried meets p95<2m under every seed; 3 do under the first.",
	} {
		lines, err := searched(points, g, func(i int) (bool, error) { return !strings.Contains(but, points[i].Summary.Policy), nil })
		require.NoError(t, err)
		require.Equal(t, []string{want}, lines)
	}
	_, err = searched(points, g, func(int) (bool, error) { return false, os.ErrClosed })
	require.ErrorIs(t, err, os.ErrClosed)
	for _, wrong := range []string{"p95", "p95<", "p95<2", "p90<2m", "<2m", "p95>2m", "p95<-2m"} {
		_, err := parseGoal(wrong)
		require.ErrorContains(t, err, "--objective", wrong)
	}
	_, _, said := call(t, workload+"--objective p95<2m", "")
	require.Contains(t, said, "--objective without --search: use both")
}

// The search tries maxima that the load needs, also far above the manifest's.
func TestSearchReachesTheLoad(t *testing.T) {
	const flags = "simulate -f testdata/manifest.yaml --arrivals poisson:5/s --service 60s --startup 0s --duration 20m --seeds 1 --search --objective p95<1m"
	_, out, said := call(t, flags, "")
	require.Empty(t, said)
	require.Contains(t, out, "Load: 5/s x 60s = 300 Jobs at work, 300 with startup; maximum 100.")
	require.Contains(t, out, " policies that meet p95<1m: ")
}
