package interval_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/testdata"
)

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := testdata.Files.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

func parse(t require.TestingT, text string) interval.Interval {
	i, err := interval.Parse(text)
	require.NoError(t, err, text)
	return i
}

var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func occurrences(t require.TestingT, text string, created time.Time, zone *time.Location) interval.Occurrences {
	o, err := parse(t, text).Occurrences(created, zone)
	require.NoError(t, err)
	return o
}

// within returns the occurrences in a span, earliest first.
func within(o interval.Occurrences, in interval.Span) []time.Time {
	if in.Until.IsZero() {
		in.Until = dusk
	}
	all := []time.Time{}
	t, ok := o.Last(in.Until)
	for ; ok && t.After(in.After); t, ok = o.Last(t.Add(-1)) {
		all = append(all, t)
	}
	slices.Reverse(all)
	return all
}

// nextN returns the first n occurrences later than a time, or fewer if there are no more.
func nextN(o interval.Occurrences, after time.Time, n int) (all []time.Time) {
	t, ok := o.Next(after)
	for ; ok && len(all) < n; t, ok = o.Next(t) {
		all = append(all, t)
	}
	return all
}

func location(t require.TestingT, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

// The first occurrences of each interval, which testdata/intervals.py has found one
// by one.
func TestIntervals(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, TimeSpec, Zone, Text string
			Created                    time.Time
			First                      []time.Time
			Count                      *int64
		}
	}
	readJSON(t, "intervals.json", &file)
	require.GreaterOrEqual(t, len(file.Cases), 60)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			i := parse(t, c.TimeSpec)
			require.Equal(t, c.Text, i.String())
			s := occurrences(t, c.TimeSpec, c.Created, location(t, c.Zone))
			after := time.Time{}
			for _, want := range c.First {
				got, ok := s.Next(after)
				require.True(t, ok)
				require.Equal(t, want, got)
				after = got
			}
			all := interval.Span{After: time.Time{}, Until: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}
			if c.Count == nil {
				require.Greater(t, s.Count(all), int64(6))
				return
			}
			require.Equal(t, *c.Count, s.Count(all))
			if *c.Count == int64(len(c.First)) {
				_, ok := s.Next(after)
				require.False(t, ok)
				require.Equal(t, c.First, within(s, all))
			}
		})
	}
}

// What is wrong with bad intervals, and where.
func TestIntervalErrors(t *testing.T) {
	var file struct {
		Cases []struct {
			Text    string
			Offset  int
			Message string
		}
	}
	readJSON(t, "interval-errors.json", &file)
	require.GreaterOrEqual(t, len(file.Cases), 40)
	for _, c := range file.Cases {
		i, err := interval.Parse(c.Text)
		if !assert.EqualError(t, err, c.Message, c.Text) {
			continue
		}
		var problem *interval.ParseError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, c.Offset, problem.Offset, c.Text)
		require.Zero(t, i)
	}
}
