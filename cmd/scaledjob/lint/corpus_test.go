package lint_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// scopes are the releases for which the manifests of testdata/corpus are checked.
var scopes = map[string][]keda.Profile{"all releases": nil, "the newest": {keda.Newest()}}

// No error is found in a manifest without mistakes.
func TestCleanManifests(t *testing.T) {
	all := load(t, "testdata/corpus/clean/*.yaml")
	require.GreaterOrEqual(t, len(all), 60)
	types := map[string]bool{}
	for name, releases := range scopes {
		warned := 0
		for _, m := range all {
			r := lint.Check([]lint.File{m.File}, releases...)
			require.Equal(t, 1, r.ScaledJobs)
			for _, s := range lint.Read(m.Data) {
				types[s.Spec.Triggers[0].Type] = true
			}
			for _, f := range r.Findings {
				if f.Severity > lint.Note {
					t.Logf("%s: %s: %s %s", name, m.Name, f.Rule, f.Message())
				}
				if f.Severity == lint.Error {
					t.Errorf("%s: %s: %s", name, m.Name, f.Message())
				}
			}
			if r.Worst() == lint.Warning {
				warned++
			}
		}
		require.LessOrEqual(t, warned, len(all)/10, name)
	}
	require.GreaterOrEqual(t, len(types), 25)
}

// In at least 93 % of the manifests with a mistake an error or a warning is found.
func TestWrongManifests(t *testing.T) {
	all := load(t, "testdata/corpus/wrong/*.yaml")
	require.GreaterOrEqual(t, len(all), 90)
	for name, releases := range scopes {
		var missed []string
		for _, m := range all {
			if r := lint.Check([]lint.File{m.File}, releases...); r.Worst() < lint.Warning {
				missed = append(missed, strings.TrimSuffix(filepath.Base(m.Name), ".yaml"))
			}
		}
		require.LessOrEqual(t, 100*len(missed), 7*len(all), "%s: %v", name, missed)
		t.Logf("%s: %d of %d found, not %v", name, len(all)-len(missed), len(all), missed)
	}
}
