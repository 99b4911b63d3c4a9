package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// A schedule that can be read has occurrences in the order of time, and its own text reads
// the same.
func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"0 6 * * *", "*/5 0-23/2 1,15 jan-dec sun", "0 0 30 2 *", "0 0 29 2 1", "@daily", "@every 1h", "@reboot", "TZ=UTC 0 6 * * *",
		"60 * * * *", "5-1 * * * *", "*/0 * * * *", "? ? ? ? ?", "R/2026-01-01 02:00:00Z/P1D", "R5/T01:00:00/PT1H", "r5//p1d", ""} {
		f.Add(text)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(f, err)
	created := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSchedule(text, berlin)
		if err != nil {
			return
		}
		next := func(s schedule.Schedule) (all []time.Time) {
			due, last := s.From(created), created.Add(-1)
			for range 5 {
				at, ok := due.Next(last)
				if !ok {
					break
				}
				require.True(t, at.After(last), "%q: %v after %v", text, at, last)
				all, last = append(all, at), at
			}
			return all
		}
		spelling := strings.TrimSuffix(s.String(), " "+berlin.String())
		again, err := parseSchedule(spelling, berlin)
		require.NoError(t, err, spelling)
		require.Equal(t, s.Identity(), again.Identity(), spelling)
		require.Equal(t, next(s), next(again), spelling)
	})
}
