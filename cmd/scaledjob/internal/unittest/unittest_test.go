package unittest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
)

// TestArrivals has patterns of triggers of any name.
func TestArrivals(t *testing.T) {
	for text, want := range map[string][2]string{
		`"poisson:1/s"`:                            {"poisson:1/s", ""},
		`{"": "poisson:1/s"}`:                      {"poisson:1/s", ""},
		`{"a=b": "poisson:1/s"}`:                   {"poisson:1/s", ""},
		`{"": "poisson:1/s", "=": "constant:2/s"}`: {"poisson:1/s", "constant:2/s"},
		`{"a=b": "poisson:1/s", "=": "daily:1/s"}`: {"poisson:1/s", "daily:1/s"},
	} {
		var all arrivals
		require.NoError(t, json.Unmarshal([]byte(text), &all), text)
		s := &simulation.Scenario{}
		w := scenario.Workload{Arrivals: all, Service: "1s", Startup: "1s", Metrics: []string{"all", "all"}}
		require.NoError(t, w.Set(s, []manifest.Trigger{{Name: "a=b"}, {Name: "="}}, ""), text)
		var found [2]simulation.Arrivals
		for i, pattern := range want {
			if pattern != "" {
				require.NoError(t, found[i].UnmarshalText([]byte(pattern)))
			}
			require.Equal(t, found[i], s.Queues[i].Arrivals, text)
		}
	}
}

// A test file that can be read has tests with a name, and each problem has the file's name.
func FuzzTestFile(f *testing.F) {
	files, err := filepath.Glob("../../testdata/tests/*.test.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("tests: [{name: a, queue: {redis: 12}, releases: ['2.20'], simulate: {arrivals: {redis: constant:1/s}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(input.Source{Name: "a.test.yaml", Data: data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a.test.yaml:"), "%v", err)
			return
		}
		require.NotEmpty(t, file.Releases)
	})
}
