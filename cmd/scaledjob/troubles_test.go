package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

// The known troubles of each strategy, with the remedy beside it: the numbers are those
// of the Examples of package simulation, whose README shows these pictures. UPDATE=1
// draws them anew.
func TestTroubles(t *testing.T) {
	strategy := func(name string) func(*scenario) {
		return func(s *scenario) { s.Policy.Spec.ScalingStrategy.Strategy = name }
	}
	for name, c := range map[string]struct {
		remedy      func(*scenario)
		jobs, empty int64 // in trouble
		better      int64 // Jobs with the remedy
	}{
		"starves":   {strategy("accurate"), 180, 0, 180},
		"doubles":   {strategy("default"), 783, 603, 180},
		"reissues":  {strategy("default"), 30, 24, 6},
		"runs-away": {func(s *scenario) { s.Policy.StuckAfter = new(simulation.Duration(5 * time.Minute)) }, 40, 30, 10},
		"overshoots": {func(s *scenario) {
			s.Queues[0].Staleness, s.Policy.Name = 0, "accurate, with a fresh metric"
		}, 40, 30, 10},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "troubles", name+".yaml"))
			require.NoError(t, err)
			s, err := readScenario(source{name, data})
			require.NoError(t, err)
			trouble, err := simulation.Run(s.Scenario, simulation.Options{})
			require.NoError(t, err)
			c.remedy(s)
			require.NoError(t, s.check())
			better, err := simulation.Run(s.Scenario, simulation.Options{})
			require.NoError(t, err)
			results := []simulation.Result{*trouble, *better}
			require.Equal(t, c.jobs, results[0].Summary.JobsCreated)
			require.Equal(t, c.empty, results[0].Summary.IdleJobs)
			require.Equal(t, c.better, results[1].Summary.JobsCreated)
			drawn := picture.Sheet(picture.Items(results), picture.Jobs(results, s.Capacity().Max))
			file := filepath.Join("..", "..", "simulation", "pictures", name+".svg")
			if os.Getenv("UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, drawn, 0o644))
			}
			shown, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(shown), string(drawn), "the picture is of another run")
		})
	}
}
