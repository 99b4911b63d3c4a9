package main

import (
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

// A cell of the page holds the whole text of its rule.
func TestReleases(t *testing.T) {
	page := releases([]keda.Rule{{Behavior: "eager", Since: "2.15", Text: "a|b"}})
	require.Contains(t, page, "| eager | 2.15 | a\\|b |\n")
}
