package scaledjob_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The controller in the README is the one of the example.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("examples/own-controller/main.go")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "## A controller of your own")
	require.True(t, found)
	_, rest, found := strings.Cut(section, "```go\n")
	require.True(t, found)
	code, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	require.NotEmpty(t, code)
	require.Contains(t, string(example), code)
}
