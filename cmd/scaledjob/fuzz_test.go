package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
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
		s, err := parseSchedule(text, berlin, created)
		if err != nil {
			return
		}
		next := func(s parsed) (all []time.Time) {
			last := created.Add(-1)
			for range 5 {
				at, ok := s.Next(last)
				if !ok {
					break
				}
				require.True(t, at.After(last), "%q: %v after %v", text, at, last)
				s.notes(at)
				all, last = append(all, at), at
			}
			return all
		}
		again, err := parseSchedule(s.text, berlin, created)
		require.NoError(t, err, s.text)
		require.Equal(t, next(s), next(again), s.text)
	})
}

// A test file that can be read has tests with a name, and each problem has the file's name.
func FuzzTestFile(f *testing.F) {
	files, err := filepath.Glob("testdata/tests/*.test.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("tests: [{name: a, queue: {redis: 12}, releases: ['2.20'], simulate: {arrivals: {redis: constant:1/s}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readTestFile(input.Source{Name: "a.test.yaml", Data: data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a.test.yaml:"), "%v", err)
			return
		}
		require.NotEmpty(t, file.Releases)
	})
}
