package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/picture"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// The known troubles of each strategy, with the remedy beside it: the numbers are those
// of the Examples of package simulation, whose README shows these pictures. UPDATE=1
// draws them anew.
func TestTroubles(t *testing.T) {
	strategy := func(name string) func(*scenario.Scenario) {
		return func(s *scenario.Scenario) { s.Policy.Spec.ScalingStrategy.Strategy = name }
	}
	for name, c := range map[string]struct {
		remedy      func(*scenario.Scenario)
		jobs, empty int64 // in trouble
		better      int64 // Jobs with the remedy
	}{
		"starves":   {strategy("accurate"), 180, 0, 180},
		"doubles":   {strategy("default"), 783, 603, 180},
		"reissues":  {strategy("default"), 30, 24, 6},
		"runs-away": {func(s *scenario.Scenario) { s.Policy.StuckAfter = new(simulation.Duration(5 * time.Minute)) }, 40, 30, 10},
		"overshoots": {func(s *scenario.Scenario) {
			s.Queues[0].Staleness, s.Policy.Name = 0, "accurate, with a fresh metric"
		}, 40, 30, 10},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "troubles", name+".yaml"))
			require.NoError(t, err)
			s, err := scenario.Read(input.Source{Name: name, Data: data})
			require.NoError(t, err)
			both, err := study.Replicate(s.Scenario, []simulation.Autoscaler{s.Scenario.Autoscaler}, study.Options{})
			require.NoError(t, err)
			c.remedy(s)
			require.NoError(t, s.Check())
			better, err := study.Replicate(s.Scenario, []simulation.Autoscaler{s.Scenario.Autoscaler}, study.Options{})
			require.NoError(t, err)
			both.Samples = append(both.Samples, better.Samples...)
			require.Equal(t, c.jobs, both.Samples[0].Runs[0].JobsCreated)
			require.Equal(t, c.empty, both.Samples[0].Runs[0].IdleJobs)
			require.Equal(t, c.better, both.Samples[1].Runs[0].JobsCreated)
			drawn := sheet(picture.Items(both), picture.Jobs(both, s.Load().Max))
			file := filepath.Join(pictures(t), name+".svg")
			if os.Getenv("UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
			}
			shown, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(shown), drawn, "the picture is of another run")
		})
	}
}

// sheet puts charts of equal height below each other.
func sheet(charts ...string) string {
	_, size, _ := strings.Cut(charts[0], `viewBox="0 0 `)
	var width, height int
	_, _ = fmt.Sscanf(size, "%d %d", &width, &height)
	text := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d"><style>%s</style>`+"\n"+`<rect width="100%%" height="100%%" style="fill: var(--paper)"/>`,
		width, height*len(charts), width, picture.Style)
	for i, c := range charts {
		text += "\n" + strings.Replace(c, "<svg ", fmt.Sprintf(`<svg y="%d" height="%d" `, i*height, height), 1)
	}
	return text + "\n</svg>\n"
}

// pictures returns the directory of the pictures, which the page of package simulation shows.
func pictures(t *testing.T) string {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/scaledjob/scaledjob/simulation").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "pictures")
}
