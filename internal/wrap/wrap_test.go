package wrap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/internal/wrap"
)

// A line is broken at the last space that fits. A longer word has a line of its own.
func TestLines(t *testing.T) {
	ninety := strings.Repeat("é", 90)
	require.Equal(t, []string{""}, wrap.Lines("", "  "))
	require.Equal(t, []string{ninety + " 012345678"}, wrap.Lines(ninety+" 012345678", "  "), "100 columns")
	require.Equal(t, []string{ninety, "  0123456789"}, wrap.Lines(ninety+" 0123456789", "  "), "101 columns")
	long := strings.Repeat("x", 120)
	require.Equal(t, []string{"a", "  " + long, "  b"}, wrap.Lines("a "+long+" b", "  "))
}
