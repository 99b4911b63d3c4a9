package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/text"
)

// A line is broken at the last space that fits. A longer word has a line of its own.
func TestLines(t *testing.T) {
	ninety := strings.Repeat("é", 90)
	require.Equal(t, []string{""}, text.Lines("", "  ", 100))
	require.Equal(t, []string{ninety + " 012345678"}, text.Lines(ninety+" 012345678", "  ", 100), "100 columns")
	require.Equal(t, []string{ninety, "  0123456789"}, text.Lines(ninety+" 0123456789", "  ", 100), "101 columns")
	long := strings.Repeat("x", 120)
	require.Equal(t, []string{"a", "  " + long, "  b"}, text.Lines("a "+long+" b", "  ", 100))
}
