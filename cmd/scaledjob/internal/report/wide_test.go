package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// Chinese characters and emoji have two columns.
func TestWide(t *testing.T) {
	for text, want := range map[string]int{"": 0, "orders": 6, "é": 1, "e\u0301": 1, "注文": 4, "한": 2, "🚀": 2, "👩‍🚀": 2, "🇩🇪": 2, "\x1b[31m注\x1b[0m": 2} {
		require.Equal(t, want, report.Wide(text), "%q", text)
	}
	require.Equal(t, "注文    1\norders  2\n", report.Aligned("", false, [][]string{{"注文", "1"}, {"orders", "2"}}))
	require.Equal(t, "  注文   1\norders  22\n", report.Aligned("", true, [][]string{{"  注文", "1"}, {"orders", "22"}}))
	require.Equal(t, []string{"注文", "注文"}, report.Lines("注文 注文", "", 8))
	require.Equal(t, "注…", report.Cut("注文注文", 4))
	require.Equal(t, "注文", report.Cut("注文", 4))
}
