package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

// A list replaces the values of its line; other lines and unknown lists stay.
func TestFill(t *testing.T) {
	require.Equal(t, `enum: ["", max, min, avg, sum] # generated: aggregations
enum: ["", basic, default, accurate, eager, custom, pendingAware] # generated: strategies
enum: ["", a] # generated: other
enum: ["", a]
`, fill(`enum: ["", max] # generated: aggregations
enum: ["", basic, x] # generated: strategies
enum: ["", a] # generated: other
enum: ["", a]
`))
}

// A definition gets the parameters of strategies that it lacks.
func TestDeclare(t *testing.T) {
	const before = "  strategy:\n    enum: [\"\"] # generated: strategies\n  customScalingRunningJobPercentage:\n    type: string\n"
	want := strings.Replace(before, "strategies\n", "strategies\n  customScalingQueueLengthDeduction:\n    type: integer\n    format: int32\n", 1)
	require.Equal(t, want, declare(before))
	require.Equal(t, want, declare(want))
}

// A cell of the page holds the whole text of its rule.
func TestReleases(t *testing.T) {
	page := releases([]keda.Rule{{Behavior: "eager", Since: "2.15", Text: "a|b"}})
	require.Contains(t, page, "| eager | 2.15 | a\\|b |\n")
}

// A rule of a Role is a row, with the comment above it or behind it; a rule without one is an error.
func TestRights(t *testing.T) {
	const before = "kind: Role\nmetadata: {name: a, namespace: tenant}\nrules:\n  # Reads\n  # them.\n  - {apiGroups: [\"\"], resources: [pods], verbs: [list, watch]}\n" +
		"---\n# The lease.\nkind: Role\nmetadata: {name: a, namespace: a-tenant}\nrules:\n  - {apiGroups: [b], resources: [leases], resourceNames: [a], verbs: [get]} # elects\n"
	rows, err := rights(before)
	require.NoError(t, err)
	require.Equal(t, "| served | pods | list, watch | Reads them |\n| the controller's own | leases of b, only a | get | Elects |\n", rows)
	_, err = rights(strings.Replace(before, " # elects", "", 1))
	require.ErrorContains(t, err, "want a comment that says why")
	_, err = rights(strings.Replace(before, "resources: [pods], verbs: [list, watch]", "verbs: [list], resources: [pods]", 1))
	require.ErrorContains(t, err, "want a rule on one line")
}
