package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/testdata"
)

// The resources have the fields of the types, and no others. The API server removes
// fields that a resource does not have, and the state would change.
func TestResourcesHaveEveryField(t *testing.T) {
	processtest.RequireSchema(t, "manifests/crds/scheduledjobs.yaml", map[string]reflect.Type{
		"spec": reflect.TypeFor[scheduledjob.Spec](), "status": reflect.TypeFor[scheduledjob.Status](),
	}, true)
	processtest.RequireSchema(t, "manifests/crds/runrequests.yaml", map[string]reflect.Type{"status": reflect.TypeFor[requestStatus]()}, true)
}

// The flags of the Deployment are valid.
func TestDeployment(t *testing.T) {
	o := processtest.Parse(t, newOptions(), processtest.Arguments(t, "manifests/tenant")...)
	require.Equal(t, ":8080", o.MetricsAddress, "for the NetworkPolicy's namespaces")
	require.True(t, o.LeaderElect)
}

// The API server accepts every timeSpec that the controller can read. Of the others it accepts those for which
// it would have to compute.
func TestPatternOfTimeSpec(t *testing.T) {
	crd, err := os.ReadFile(filepath.Join("manifests", "crds", "scheduledjobs.yaml"))
	require.NoError(t, err)
	pattern := regexp.MustCompile(string(regexp.MustCompile(`pattern: '(\^\(R.*)'`).FindSubmatch(crd)[1]))
	var refused []*regexp.Regexp
	for _, rule := range regexp.MustCompile(`rule: "!self\.matches\('(.*)'\)"`).FindAllSubmatch(crd, -1) {
		refused = append(refused, regexp.MustCompile(string(rule[1])))
	}
	require.Len(t, refused, 9)
	accepts := func(text string) bool {
		return pattern.MatchString(text) && !slices.ContainsFunc(refused, func(r *regexp.Regexp) bool { return r.MatchString(text) })
	}
	vectors := func(name string, into any) {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	var right struct{ Cases []struct{ TimeSpec string } }
	vectors("intervals.json", &right)
	for _, c := range right.Cases {
		require.True(t, accepts(c.TimeSpec), c.TimeSpec)
	}
	require.True(t, accepts(""))
	var wrong struct{ Cases []struct{ Text string } }
	vectors("interval-errors.json", &wrong)
	var accepted []string
	for _, c := range wrong.Cases {
		if c.Text != "" && accepts(c.Text) {
			accepted = append(accepted, c.Text)
		}
	}
	require.Equal(t, []string{
		"R9223372036854775808/2026-01-01T02:00:00Z/P1D", "R5//PT0.333333333333H", "R5//P10001Y", "R5//PT2562048H", "R5//PT9223372036.9S",
		"R/2026-01-02T02:00:00Z/2026-01-02T02:00:00Z", "R/0001-01-02T02:00:00Z/2026-01-02T02:00:00Z",
	}, accepted)
	require.Greater(t, len(wrong.Cases), 100)
}
