package keda_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

func release(t testing.TB, name string) keda.Profile {
	t.Helper()
	p, err := keda.Release(name)
	require.NoError(t, err)
	return p
}

func TestRelease(t *testing.T) {
	for name, want := range map[string]string{
		"2.0": "2.0.0", "2.8": "2.8.2", "2.14": "2.14.1", "2.14.0": "2.14.0", "v2.18.1": "2.18.1", "2.21": "2.21.0", "v2.9": "2.9.3",
	} {
		require.Equal(t, want, release(t, name).Release(), name)
	}
	require.Equal(t, "KEDA 2.20.2", release(t, "2.20").String())
	require.Equal(t, release(t, "2.21"), keda.Newest())
	require.Equal(t, release(t, "2.0"), keda.Profile{})
	for _, name := range []string{"", "2", "2.", "2.22", "2.18.4", "2.18.0.1", "3.0", "2.x", "2.-1", "2.+1", "2.08", "vv2.8", "2.18 ", "main"} {
		p, err := keda.Release(name)
		require.ErrorContains(t, err, fmt.Sprintf("unknown KEDA release %q; use ", name))
		require.Zero(t, p)
	}
	_, err := keda.Release("2.99")
	require.EqualError(t, err, `unknown KEDA release "2.99"; use 2.0 to 2.21, or a patch such as 2.21.0`)
}

// KEDA's releases up to the newest known.
func TestAllReleases(t *testing.T) {
	require.Equal(t, strings.Fields(`2.0.0 2.1.0 2.2.0 2.3.0 2.4.0 2.5.0 2.6.0 2.6.1 2.7.0 2.7.1 2.8.0 2.8.1 2.8.2 2.9.0 2.9.1 2.9.2 2.9.3 2.10.0 2.10.1
		2.11.0 2.11.1 2.11.2 2.12.0 2.12.1 2.13.0 2.13.1 2.14.0 2.14.1 2.15.0 2.15.1 2.16.0 2.16.1 2.17.0 2.17.1 2.17.2 2.17.3 2.18.0 2.18.1 2.18.2 2.18.3
		2.19.0 2.20.0 2.20.1 2.20.2 2.21.0`), keda.Releases())
}

// The table in the package comment has the first release of each rule.
func TestPackageComment(t *testing.T) {
	source, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	var documented, known []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+)((?: +2\.[0-9.]+)+) `).FindAllStringSubmatch(string(source), -1) {
		for _, since := range strings.Fields(row[2]) {
			documented = append(documented, row[1]+" "+since)
		}
	}
	for _, r := range keda.Rules() {
		known = append(known, r.Behavior+" "+r.Since)
	}
	require.Equal(t, known, documented)
}

func TestRules(t *testing.T) {
	of := map[string][]keda.Rule{}
	for _, r := range keda.Rules() {
		of[r.Behavior] = append(of[r.Behavior], r)
		require.Regexp(t, `^[A-Za-z].*[^.]\.$`, r.Text)
		require.Equal(t, r, release(t, firstPatch(r.Since)).Rule(r.Behavior), r)
		require.Equal(t, r.Behavior+" since "+r.Since+": "+r.Text, r.String())
	}
	require.Len(t, of, 14)
	for behavior, rules := range of {
		require.Equal(t, "2.0", rules[0].Since, behavior)
		require.Equal(t, rules[0], keda.Profile{}.Rule(behavior))
		require.Equal(t, rules[len(rules)-1], keda.Newest().Rule(behavior))
	}
	require.Zero(t, keda.Newest().Rule("speed"))
	require.Equal(t, keda.Newest(), keda.Newest().With(keda.Rule{Behavior: "speed", Since: "2.0"}))
	require.Equal(t, keda.Newest(), keda.Newest().With(keda.Rule{}))
}

// firstPatch is the release with which a rule begins.
func firstPatch(since string) string {
	if len(since) < len("2.20.2") && since != "2.14.1" {
		return since + ".0"
	}
	return since
}

func TestChanges(t *testing.T) {
	from, to := release(t, "2.18"), release(t, "2.19")
	changes := keda.Changes(from, to)
	require.Len(t, changes, 1)
	require.Equal(t, "accurate", changes[0].To.Behavior)
	require.Equal(t, "2.1", changes[0].From.Since)
	require.Equal(t, "2.19", changes[0].To.Since)
	require.Equal(t, from.Rule("accurate"), to.With(changes[0].From).Rule("accurate"))
	require.Equal(t, "2.19.0", to.With(changes[0].From).Release())
	require.Nil(t, keda.Changes(to, to))
	require.Nil(t, keda.Changes(release(t, "2.16.0"), release(t, "2.17.3")))
	require.Equal(t, "2.1", keda.Changes(to, from)[0].To.Since)
}
