package interval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

func TestClamp(t *testing.T) {
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-1)
	for at, want := range map[time.Time]time.Time{
		first.Add(-1): first, first: first, first.Add(1): first.Add(1),
		last.Add(-1): last.Add(-1), last: last, last.Add(1): last, last.AddDate(500, 0, 0): last,
	} {
		require.Equal(t, want, interval.Clamp(at))
	}
	east := time.FixedZone("", 3600)
	require.Equal(t, first, interval.Clamp(first.In(east)))
}

// The longest duration is 10,000 years. Fractions are exact or rejected, however long.
func TestLongest(t *testing.T) {
	for _, text := range []string{"P3652425D", "P521775W", "P10000Y", "P120000M", "PT0.5" + strings.Repeat("0", 70) + "H"} {
		_, err := interval.Parse("R/2026-01-01T00:00:00Z/" + text)
		require.NoError(t, err, text)
	}
	for _, text := range []string{"P3652426D", "P521776W", "P10001Y", "P120001M", "PT0.00000000000000001H", "PT0." + strings.Repeat("0", 70) + "1H"} {
		_, err := interval.Parse("R/2026-01-01T00:00:00Z/" + text)
		require.Error(t, err, text)
	}
}

// An error shows the beginning of a text of more than 40 bytes.
func TestLongText(t *testing.T) {
	for n, want := range map[int]string{40: strings.Repeat("x", 40) + `"`, 41: strings.Repeat("x", 40) + `…"`} {
		_, err := interval.Parse(strings.Repeat("x", n))
		require.ErrorContains(t, err, want)
	}
}

// A start in a gap is noted also if the duration is exact. The next occurrences are not in it.
func TestGapOfTheStart(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	i, err := interval.Parse("R/T02:30:00/PT1H")
	require.NoError(t, err)
	o, err := i.Occurrences(time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC), berlin)
	require.NoError(t, err)
	start, ok := o.Next(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC))
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), start)
	notes := o.Notes(start)
	require.Len(t, notes, 1)
	require.Equal(t, "gap", notes[0].Kind)
	require.Empty(t, o.Notes(start.Add(time.Hour)))
}
