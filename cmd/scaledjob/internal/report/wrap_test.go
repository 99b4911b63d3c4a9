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

// A line continues behind its label, if that leaves half of the line.
func TestFitted(t *testing.T) {
	for line, want := range map[string][]string{
		"label     one two three":           {"label     one two", "          three"},
		"  1  -  one two three":             {"  1  -  one two", "        three"},
		"    one two three fours":           {"    one two three", "        fours"},
		"one two three four five":           {"one two three four", "    five"},
		"a long label here  one two":        {"a long label here", "    one two"},
		"\x1b[1mone\x1b[0m two three":       {"\x1b[1mone\x1b[0m two three"},
		strings.Repeat("é", 20) + "  two 3": {strings.Repeat("é", 20), "    two 3"},
	} {
		require.Equal(t, want, report.Fitted(line, 20))
	}
}

// Paragraphs are broken again, except those with a space before them.
func TestProse(t *testing.T) {
	require.Equal(t, "one\ntwo\nthree\n\n  four five\n\nsix\n", report.Prose("one two\nthree\n\n  four five\n\nsix\n", 5))
	require.Equal(t, "one two three\n  a  four five\n     six\n  b  seven\neight nine ten\n", report.Prose("one two\nthree\n  a  four five six\n  b  seven\neight\nnine ten\n", 14), "a list")
}

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

func TestAligned(t *testing.T) {
	rows := [][]string{{"a", "n"}, {"bé", "1234"}}
	require.Equal(t, "  a      n\n  bé  1234\n", report.Aligned("  ", true, rows))
	require.Equal(t, "a   n\nbé  1234\n", report.Aligned("", false, rows))
}

// A table that is too wide loses its first column, and then all columns.
func TestTabulated(t *testing.T) {
	rows := [][]string{{"policy", "wait", "Jobs"}, {"the default", "12s", "4"}}
	require.Equal(t, "policy       wait  Jobs\nthe default   12s     4\n", report.Tabulated(rows, 23))
	require.Equal(t, "  wait  Jobs\nthe default\n   12s     4\n", report.Tabulated(rows, 22))
	require.Equal(t, "the default\n  wait: 12s, Jobs: 4\n", report.Tabulated(rows, 11))
	rows[0][0], rows[1][0] = "", ""
	require.Equal(t, "  wait: 12s, Jobs: 4\n", report.Tabulated(rows, 11))
}
