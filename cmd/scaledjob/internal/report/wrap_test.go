package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// A line is broken at the last space that fits. A longer word has a line of its own.
func TestLines(t *testing.T) {
	ninety := strings.Repeat("é", 90)
	require.Equal(t, []string{""}, report.Lines("", "  ", 100))
	require.Equal(t, []string{ninety + " 012345678"}, report.Lines(ninety+" 012345678", "  ", 100), "100 columns")
	require.Equal(t, []string{ninety, "  0123456789"}, report.Lines(ninety+" 0123456789", "  ", 100), "101 columns")
	long := strings.Repeat("x", 120)
	require.Equal(t, []string{"a", "  " + long, "  b"}, report.Lines("a "+long+" b", "  ", 100))
}
