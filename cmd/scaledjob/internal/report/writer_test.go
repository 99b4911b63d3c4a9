package report_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

func written(t require.TestingT, chunks ...string) string {
	var b bytes.Buffer
	w := report.NewWriter(&b)
	for _, c := range chunks {
		_, err := w.Write([]byte(c))
		require.NoError(t, err)
	}
	require.NoError(t, w.Flush())
	return b.String()
}

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\tb\n":                    "a\n\tb\n",
		"\x1b[31mred\x1b[0m":          `\u001b[31mred\u001b[0m`,
		"\u009b2J, \u202eabc":         `\u009b2J, \u202eabc`,
		"a\xff\rb":                    "a\ufffd\\u000db",
		"  ::error::x\n a :: b":       "  \\u003a:error::x\n a :: b",
		"x ##[command]y ###[z":        `x ##\u005bcommand]y ###\u005bz`,
		"x ##vso[task.complete]y":     `x ##vso\u005btask.complete]y`,
		"\U000e0041 (a language tag)": `\udb40\udc41 (a language tag)`,
	} {
		require.Equal(t, want, written(t, in))
	}
	require.Equal(t, "##\\u005bx", written(t, "#", "#", "[x"), "in pieces")
	require.Equal(t, `a\nb\tc\u001b`, report.Clean("a\nb\tc\x1b"))
}

// JSON has the same value after the Writer, which leaves nothing to obey.
func TestWriterKeepsJSON(t *testing.T) {
	hostile := 0
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"##[", "::", "\u009b", "\u2028", "\u202e", `\`, "#"}))).Draw(t, "in")
		data, err := json.Marshal(in)
		require.NoError(t, err)
		out := written(t, string(data))
		if out != string(data) {
			hostile++
		}
		require.NotContains(t, out, "##[")
		for _, r := range out {
			require.False(t, unicode.IsControl(r))
		}
		var got []string
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		require.Equal(t, in, got)
	})
	require.Greater(t, hostile, 5)
}
