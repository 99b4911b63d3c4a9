package interval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/test/premise"
)

// pick draws one of these, the first ones more often.
func pick(t *rapid.T, name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }

func number(t *rapid.T, name string, most int) string {
	return fmt.Sprint(rapid.IntRange(0, most).Draw(t, name))
}

// drawText draws what is mostly a time spec.
var drawText = rapid.Custom(func(t *rapid.T) string {
	times := "R" + pick(t, "times", "", "0", "1", "5", "100", "9223372036854775807", "9223372036854775808", "x")
	switch pick(t, "form", "start and duration", "start and duration", "start and end", "duration and end") {
	case "start and end":
		return times + "/" + drawStart(t) + "/" + drawStart(t)
	case "duration and end":
		return times + "/" + drawDuration(t) + "/" + drawStart(t)
	}
	return times + "/" + drawStart(t) + "/" + drawDuration(t)
})

func drawStart(t *rapid.T) string {
	clock := fmt.Sprintf("T%02s:%02s:%02s", number(t, "hour", 24), number(t, "minute", 60), number(t, "second", 60)) +
		pick(t, "fraction", "", "", ".5", ",25", ".123456789", ".000", ".")
	clock = pick(t, "clock", clock, clock, clock[:6], "T24:00:00")
	offset := pick(t, "offset", "Z", "+02:00", "-05:30", "+14", "", "-00:00", "+1")
	date := fmt.Sprintf("%04s-%02s-%02s", pick(t, "year", "2026", "2024", "1", "9999", "0"), number(t, "month", 13), number(t, "day", 31))
	return pick(t, "start", "2026-01-31T02:30:00Z", "2027-02-28T02:30Z", date+clock+offset, "", clock+offset, date+clock+offset, date)
}

func drawDuration(t *rapid.T) string {
	var b strings.Builder
	for _, unit := range []string{"P", "Y", "M", "W", "D", "T", "H", "M", "S"} {
		switch {
		case unit == "P" || unit == "T":
			b.WriteString(unit)
		case rapid.IntRange(0, 3).Draw(t, unit) == 0:
			b.WriteString(pick(t, "n", "1", "2", "7", "30", "366", "01", "0", "0.5", "1.75", "3000000", "99999999999999999999") + unit)
		}
	}
	return strings.TrimSuffix(b.String(), "T")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "R/2026-01-01T00:00:00Z/PT1S", "R5/T01:00:00/PT01", "r5//p1d", "R5/2026-01-31T23:59:59.5+02/P1Y2M3W4DT5H6M7.8S",
		"R/2026-01-01T24:00Z/2026-01-02T02:00Z", "R3/P1M/2026-12-31T00:00Z", "R/2026-W01-1T02:00:00Z/P1D"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkParse(t, text) })
}

func TestParse(t *testing.T) {
	premise.CheckN(t, 1000, propParse, premise.Least{"a time spec": 0.1})
	rapid.Check(t, func(t *rapid.T) { checkParse(t, rapid.String().Draw(t, "text")) })
}

func propParse(t *rapid.T, c *premise.Counts) {
	text := drawText.Draw(t, "text")
	checkParse(t, text)
	_, err := interval.Parse(text)
	c.Note("a time spec", err == nil)
}

// Whatever parses prints back to an equal interval, in a spelling that stays. What
// does not says where.
func checkParse(t require.TestingT, text string) {
	i, err := interval.Parse(text)
	if err == nil {
		again := parse(t, i.String())
		require.Equal(t, i, again, text)
		require.Equal(t, i.String(), again.String())
		require.NotZero(t, i)
		return
	}
	var problem *interval.ParseError
	require.True(t, errors.As(err, &problem))
	require.Zero(t, i)
	require.Equal(t, text, problem.Text)
	require.True(t, strings.HasPrefix(text[problem.Offset:], problem.Found), err)
	require.NotEmpty(t, problem.Want)
}

// Long texts are not repeated as a whole.
func TestLongError(t *testing.T) {
	_, err := interval.Parse("R5/" + strings.Repeat("é", 1000) + "/P1D")
	require.Less(t, len(err.Error()), 300)
}

// Two intervals have one identity if their starts and durations are equal, however these are written.
// The number of repetitions belongs to it only if the start follows from it.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"R3//PT1H", "R5//PT60M", true},
		{"R3//PT1H", "R//PT1H", true},
		{"R//PT1H", "R//PT61M", false},
		{"R//P1D", "R//PT24H", false},
		{"R//P1W", "R//P7D", true},
		{"R/2026-01-01T01:00:00+01:00/P1D", "R9/2026-01-01T00:00:00Z/P1D", true},
		{"R/2026-01-01T00:00:00Z/P1D", "R/2026-01-02T00:00:00Z/P1D", false},
		{"R/T00:30+01:00/P1D", "R/T23:30:00Z/P1D", true},
		{"R/T00:30/P1D", "R/T00:30Z/P1D", false},
		{"R/2026-01-01T00:00:00Z/2026-01-02T00:00:00Z", "R/2026-01-01T00:00:00Z/PT24H", true},
		{"R3/P1D/2026-01-04T00:00:00Z", "R4/P1D/2026-01-04T00:00:00Z", false},
		{"R3/P1D/2026-01-04T00:00:00Z", "R3/P1D/2026-01-05T00:00:00Z", false},
		{"R3/P1D/2026-01-04T00:00:00Z", "R3/P1D/2026-01-04T02:00:00+02:00", true},
	} {
		require.Equal(t, tt.same, parse(t, tt.a).Identity() == parse(t, tt.b).Identity(), "%s and %s", tt.a, tt.b)
	}
}
