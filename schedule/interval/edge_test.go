package interval_test

// What the tests hold:
//
//	the occurrences of each notation, also at clock changes   TestIntervals (testdata/intervals.json, written by a Python program)
//	the message for each mistake                              TestIntervalErrors (testdata/interval-errors.json)
//	what parses prints back to an equal interval              TestParse
//	the functions agree with a search day by day              TestOneByOne
//	a time of day keeps its local time in every zone          TestTimeOfDay
//	spans add up                                              TestSpansAddUp
//	no memory                                                 TestAllocations

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// The longest duration is 10,000 years. Fractions are exact or rejected, however long.
func TestLongest(t *testing.T) {
	for _, text := range []string{"P3652425D", "P521775W", "P10000Y", "P120000M", "PT0.5" + strings.Repeat("0", 70) + "H", "P0.0000152587890625W"} {
		_, err := interval.Parse("R/2026-01-01T00:00:00Z/" + text)
		require.NoError(t, err, text)
	}
	for _, text := range []string{"P3652426D", "P521776W", "P10001Y", "P120001M", "PT0.00000000000000001H", "PT0." + strings.Repeat("0", 70) + "1H"} {
		_, err := interval.Parse("R/2026-01-01T00:00:00Z/" + text)
		require.Error(t, err, text)
	}
}

// Each part of a time, and of a duration, has its range. Outside of it is an error at that part.
func TestRanges(t *testing.T) {
	for _, text := range []string{
		"R/0000-01-01T00:00:00Z/P1D", "R/9999-12-31T23:59:59.999999999Z/P1D", "R/9999-12-30T24:00:00Z/P1D", "R/2024-02-29T00:00Z/P1D",
		"R/T00:00:00/P1D", "R/T23:59:59.999999999/P1D", "R/T00:00+23:59/P1D", "R/T00:00-23:59/P1D", "R/T00:00-00:01/P1D", "R/T00:00+00/P1D",
		"R0//P1D", "R9223372036854775807//P1D",
		"R//P10000Y", "R//P3652425D", "R//PT0.000000001S", "R//PT9223372036.854775807S", "R//P0.5D", "R//P0Y0M0W0DT0H0M1S",
		"R/2000-01-01T00:00:00Z/2000-01-01T00:00:00.000000001Z", "R/2000-01-01T00:00:00Z/2292-04-10T23:47:16.854775806Z",
	} {
		parse(t, text)
	}
	for text, want := range map[string]string{
		"R/9999-12-31T24:00Z/P1D":                `byte 2 is "9999-12-31T24:00"; use a time before the year 10000`,
		"R/T24:01/P1D":                           `byte 3 is "24:01"; use a time up to 24:00:00`,
		"R/T24:00:00.1/P1D":                      `byte 3 is "24:00:00.1"; use a time up to 24:00:00`,
		"R/T24:00:00.000000001/P1D":              `byte 3 is "24:00:00.000000001"; use a time up to 24:00:00`,
		"R/T25:00/P1D":                           `byte 3 is "25"; use an hour, 00 to 24`,
		"R/T00:60/P1D":                           `byte 6 is "60"; use minutes, 00 to 59`,
		"R/T00:00:60/P1D":                        `byte 9 is "60"; use seconds, 00 to 59`,
		"R/T00:00+24/P1D":                        `byte 9 is "24"; use hours of an offset, 00 to 23`,
		"R/T00:00+00:60/P1D":                     `byte 12 is "60"; use minutes of an offset, 00 to 59`,
		"R/2026-00-01T00:00Z/P1D":                `byte 7 is "00"; use a month, 01 to 12`,
		"R/2026-01-00T00:00Z/P1D":                `byte 10 is "00"; use a day of January 2026, 01 to 31`,
		"R/:00/P1D":                              `byte 2 is ":00"; use a date and time such as 2026-01-01T02:00:00Z, a time of day such as T02:00:00, or nothing`,
		"R/2026-01-01T00:00Z/:":                  `byte 20 is ":"; use a duration such as P1D or PT1H`,
		"R/P1D/:":                                `byte 6 is ":"; use an end such as 2026-01-01T02:00:00Z`,
		"R/P1D/2026":                             `byte 10 is nothing; use - and a month`,
		"R/2026-01-01T00:00Z/2026":               `byte 24 is nothing; use a duration such as P1D or PT1H, or an end such as 2026-01-01T02:00:00Z`,
		"R/2026-01-01T00:00Z/2026-13":            `byte 25 is "13"; use a month, 01 to 12`,
		"R/2026-01-01T00:00Z/2026-01-01T00:00Z":  `byte 20 is "2026-01-01T00:00Z"; use an end later than the start`,
		"R/2026-01-01T00:00Z/2026-01-02T00:00Zx": `byte 37 is "x"; use the end`,
		"R/P1D/2026-01-02T00:00Zx":               `byte 23 is "x"; use the end`,
		"R//P1D/":                                `byte 6 is "/"; use the end`,
		"R//PT9223372036.854775808S":             `byte 5 is "9223372036.854775808S"; use less than 292 years of hours, minutes and seconds`,
		"R//PT0.0000000001S":                     `byte 6 is ".0000000001"; use a fraction that comes to whole nanoseconds`,
		"R/2000-01-01T00:00:00Z/2292-04-10T23:47:16.854775807Z": `byte 23 is "2292-04-10T23:47:16.854775807Z"; use an end less than 292 years after the start`,
	} {
		_, err := interval.Parse(text)
		var problem *interval.ParseError
		require.ErrorAs(t, err, &problem, text)
		require.Equal(t, want, problem.Error())
	}
}

// The canonical spelling has decimal numbers in the largest units, and no zeros.
func TestSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"PT59S": "PT59S", "PT60S": "PT1M", "PT3599.5S": "PT59M59.5S", "PT3600S": "PT1H", "PT86400S": "PT24H", "PT100H": "PT100H",
		"PT0.000000001S": "PT0.000000001S", "PT0.10S": "PT0.1S", "PT10.010S": "PT10.01S", "PT100S": "PT1M40S", "PT1M0.5S": "PT1M0.5S",
		"P6D": "P6D", "P7D": "P1W", "P14D": "P2W", "P15D": "P15D", "P11M": "P11M", "P12M": "P1Y", "P25M": "P2Y1M", "P1Y7DT1S": "P1Y1WT1S",
		"P0.5W": "PT84H", "P1.5D": "P1DT12H", "P1M1D": "P1M1D",
	} {
		require.Equal(t, "R10/T00:00:00-10:30/"+want, parse(t, "R10/T00:00:00-10:30/"+text).String())
	}
}

// Near a day that a zone skips, each span counts the occurrences that it has.
func TestSkippedDay(t *testing.T) {
	for zone, skipped := range map[string]time.Time{
		"Pacific/Apia": time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC), "Pacific/Kwajalein": time.Date(1993, 8, 21, 12, 0, 0, 0, time.UTC),
		"Asia/Manila": time.Date(1844, 12, 31, 15, 56, 0, 0, time.UTC), "Europe/Berlin": time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC),
	} {
		s := occurrences(t, "R/1840-01-01T12:00:00Z/P1D", time.Time{}, location(t, zone))
		ends := []time.Time{skipped.AddDate(-11, 0, 0), skipped.AddDate(11, 0, 0)}
		for _, at := range within(s, interval.Span{After: skipped.AddDate(0, 0, -4), Until: skipped.AddDate(0, 0, 4)}) {
			ends = append(ends, at.Add(-1), at)
		}
		require.Len(t, ends, 18)
		skips := shown(location(t, zone), ends[17]).Sub(shown(location(t, zone), ends[3])) - ends[17].Sub(ends[3])
		require.Equal(t, zone != "Europe/Berlin", skips == 24*time.Hour, zone)
		for _, after := range ends {
			for _, until := range ends {
				n := int64(0)
				for range within(s, interval.Span{After: after, Until: until}) {
					n++
				}
				require.Equal(t, n, s.Count(interval.Span{After: after, Until: until}), "%s after %v until %v", zone, after, until)
			}
		}
	}
}

// Monthly, daily and exact steps reach from the year 0 to the end of the year 9999, forward
// and backward.
func TestWholeCalendar(t *testing.T) {
	year0 := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]int64{
		"P1Y": 10_000, "P1M": 120_000, "P1D": 3_652_425, "P1W": 521_775, "PT24H": 3_652_425, "PT1S": 3_652_425 * 86_400, "P10000Y": 1, "P9999Y": 2,
		"PT0.0000003S": 3_652_425 * 86_400 / 3 * 10_000_000,
	} {
		forward := occurrences(t, "R/0000-01-01T00:00:00Z/"+text, year0, nil)
		require.Equal(t, want, forward.Count(interval.Span{After: year0.Add(-1)}), text)
	}
	for text, want := range map[string]int64{"P1Y": 9999, "P1M": 119_999, "P1D": 3_652_424, "PT24H": 3_652_424} {
		backward := occurrences(t, "R/"+text+"/9999-12-31T00:00:00Z", year0, nil)
		require.Equal(t, want, backward.Count(interval.Span{After: year0.Add(-1)}), text)
		first, _ := backward.Next(year0.Add(-1))
		require.Equal(t, 0, first.Year(), text)
	}
}

// A creation outside of the years 0 to 9999 is like one at their begin or end.
func TestCreationOutsideOfTheCalendar(t *testing.T) {
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"R//P1Y", "R/T00:00:00/P1D", "R/P1D/2026-01-01T00:00:00Z"} {
		at, ok := occurrences(t, text, first.AddDate(-50, 1, 1), nil).Next(first.AddDate(-60, 0, 0))
		require.True(t, ok, text)
		require.Equal(t, first, at, text)
	}
	_, ok := occurrences(t, "R//P1D", first.AddDate(10_500, 0, 0), nil).Next(first.AddDate(10_000, 0, 0))
	require.False(t, ok)
}

// A time of day in a gap across midnight is on the day after. It is the first occurrence of
// a job that was created between both.
func TestGapAcrossMidnight(t *testing.T) {
	created := time.Date(1919, 3, 31, 4, 35, 0, 0, time.UTC) // 00:35; clocks went from 23:30 to 00:30
	s := occurrences(t, "R/T23:45:00/P1D", created, location(t, "America/Toronto"))
	require.Equal(t, []time.Time{created.Add(10 * time.Minute), time.Date(1919, 4, 1, 3, 45, 0, 0, time.UTC)}, nextN(s, created, 2))
}

// Notes are of occurrences. Each unusual occurrence has its own.
func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		text, zone  string
		created, at string
		want        []interval.Note
	}{
		{"R/2026-01-31T12:00:00Z/P1M", "UTC", "2026-01-01T00:00:00Z", "2026-02-28T12:00:00Z",
			[]interval.Note{{"clamped month", "February 2026 has 28 days, and the start is on day 31"}}},
		{"R/2026-01-31T12:00:00Z/P1M", "UTC", "2026-01-01T00:00:00Z", "2026-03-31T12:00:00Z", nil},
		{"R/2026-01-31T12:00:00Z/P1M", "UTC", "2026-01-01T00:00:00Z", "2026-02-28T12:00:01Z", nil},  // no occurrence
		{"R/2026-01-31T12:00:00Z/P1M", "UTC", "2026-03-01T00:00:00Z", "2026-02-28T12:00:00Z", nil},  // before the creation
		{"R1/2026-01-31T12:00:00Z/P1M", "UTC", "2026-01-01T00:00:00Z", "2026-02-28T12:00:00Z", nil}, // after the end
		{"R/2026-01-31T12:00:00Z/P1MT1H", "UTC", "2026-01-01T00:00:00Z", "2026-02-28T13:00:00Z",
			[]interval.Note{{"clamped month", "February 2026 has 28 days, and the start is on day 31"}}},
		{"R/T02:30:00/P1D", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-29T01:30:00Z",
			[]interval.Note{{"gap", "2026-03-29 02:30:00 does not exist in Europe/Berlin; the clock shows 2026-03-29 03:30:00 instead"}}},
		{"R/T02:15:00/P1D", "Australia/Lord_Howe", "2026-10-01T00:00:00Z", "2026-10-03T15:45:00Z",
			[]interval.Note{{"gap", "2026-10-04 02:15:00 does not exist in Australia/Lord_Howe; the clock shows 2026-10-04 02:45:00 instead"}}},
		{"R/2026-03-29T01:30:00Z/PT1H", "Europe/Berlin", "2026-03-01T00:00:00Z", "2026-03-29T01:30:00Z", nil}, // shown as 03:30
		{"R/T02:30:00.5/P1D", "Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T00:30:00.5Z",
			[]interval.Note{{"overlap", "2026-10-25 02:30:00.5 occurs twice in Europe/Berlin; this is the first"}}},
		{"R/T02:30:00.5/P1D", "Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-26T01:30:00.5Z", nil},
		{"R/2026-10-25T02:30:00+01:00/P1D", "Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T01:30:00Z",
			[]interval.Note{{"overlap", "2026-10-25 02:30:00 occurs twice in Europe/Berlin; this is the second"}}},
		{"R/2026-10-25T00:30:00Z/PT1H", "Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-25T01:30:00Z",
			[]interval.Note{{"overlap", "2026-10-25 02:30:00 occurs twice in Europe/Berlin; this is the second"}}},
	} {
		created, err := time.Parse(time.RFC3339, tt.created)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339, tt.at)
		require.NoError(t, err)
		require.Equal(t, tt.want, occurrences(t, tt.text, created, location(t, tt.zone)).Notes(at), "%s in %s at %s", tt.text, tt.zone, tt.at)
	}
}

// Occurrences end with the year 9999 in UTC, wherever the offset of the end or start puts it.
func TestEndOfTheCalendar(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 30, 0, 0, time.UTC)
	for text, want := range map[string]int64{
		"R3/PT30M/9999-12-31T23:30:00-01:00": 2, "R3/PT30M/9999-12-31T23:30:00-00:30": 3,
		"R3/9999-12-31T22:00:00-01:00/PT30M": 2, "R3/9999-12-31T23:30:00-01:00/PT30M": 0, "R/9999-12-31T23:30:00Z/PT30M": 1,
	} {
		s := occurrences(t, text, time.Time{}, nil)
		require.Equal(t, want, s.Count(interval.Span{}), text)
		for _, at := range within(s, interval.Span{}) {
			require.False(t, at.After(last), text)
		}
	}
	// Only after 2^62 repetitions do they end earlier.
	for text, want := range map[string]int{
		"R/1970-01-01T00:00:00Z/PT0.000000001S": 2116, "R/0001-01-01T00:00:00Z/PT0.000000068S": 9938, "R/0001-01-01T00:00:00Z/PT0.000000069S": 9999,
	} {
		at, _ := occurrences(t, text, time.Time{}, nil).Last(dusk)
		require.Equal(t, want, at.Year(), text)
	}
}
