package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
