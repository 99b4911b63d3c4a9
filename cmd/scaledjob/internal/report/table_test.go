package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAligned(t *testing.T) {
	rows := [][]string{{"a", "n"}, {"bé", "1234"}}
	require.Equal(t, "  a      n\n  bé  1234\n", Aligned("  ", true, rows))
	require.Equal(t, "a   n\nbé  1234\n", Aligned("", false, rows))
}

// A table that is too wide loses its first column, and then all columns.
func TestTabulated(t *testing.T) {
	rows := [][]string{{"policy", "wait", "Jobs"}, {"the default", "12s", "4"}}
	require.Equal(t, "policy       wait  Jobs\nthe default   12s     4\n", Tabulated(rows, 23))
	require.Equal(t, "  wait  Jobs\nthe default\n   12s     4\n", Tabulated(rows, 22))
	require.Equal(t, "the default\n  wait: 12s, Jobs: 4\n", Tabulated(rows, 11))
	rows[0][0], rows[1][0] = "", ""
	require.Equal(t, "  wait: 12s, Jobs: 4\n", Tabulated(rows, 11))
}
