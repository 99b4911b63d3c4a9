package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The widest column is cut off.
func TestAligned(t *testing.T) {
	require.Equal(t, "  a      n\n  bé  1234\n", Aligned("  ", true, [][]string{{"a", "n"}, {"bé", "1234"}}))
	rows := [][]string{{strings.Repeat("é", 120), strings.Repeat("y", 30)}}
	require.Equal(t, strings.Repeat("é", 67)+"…  "+strings.Repeat("y", 30)+"\n", Aligned("", false, rows))
}
