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

// A command is broken so that a shell reads the same words.
func TestCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"  run a --b c d":            {"  run a --b c d"},
		"  run aa --bb 'c d' --e f":  {"  run aa \\", "    --bb 'c d' \\", "    --e f\n"},
		"  run --b --ccccc dddd eee": {"  run --b \\", "    --ccccc dddd \\", "    eee\n"},
		"  run aa --bb='c d' --e":    {"  run aa \\", "    --bb='c d' \\", "    --e\n"},
		"  # one two three four":     {"  # one two three", "  # four"},
	} {
		require.Equal(t, want, report.Command(line, 17))
	}
}

// Paragraphs are broken again, except those with a space before them.
func TestProse(t *testing.T) {
	require.Equal(t, "one\ntwo\nthree\n\n  four five\n\nsix\n", report.Prose("one two\nthree\n\n  four five\n\nsix\n", 5))
	require.Equal(t, "one two three\n  a  four five\n     six\n  b  seven\neight nine ten\n", report.Prose("one two\nthree\n  a  four five six\n  b  seven\neight\nnine ten\n", 14), "a list")
}
