package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// adoptable are the Jobs of runs that an earlier state started at these minutes.
func adoptable(t *testing.T, s schedule.Policy, minutes ...int) schedule.Observation {
	s.Concurrency = schedule.Allow
	seen := none
	for _, n := range minutes {
		d := decide(s, schedule.Checkpoint{}, none, minute(n))
		seen.Jobs = append(seen.Jobs, job(d.Start[len(d.Start)-1], schedule.Unfinished, time.Time{}))
	}
	return seen
}

// Of the occurrences since a lost state, an adopted run has started, however old it is. The
// others are missed if they are older than the deadline, and wait otherwise.
func TestAdoptedAndLate(t *testing.T) {
	s := minutely(t)
	s.SkipOutdated, s.Concurrency, s.StartingDeadline = false, schedule.Wait, schedule.Duration(150*time.Second)
	for _, tt := range []struct {
		adopted []int
		want    string
	}{
		{nil, "start 00:03, wait 00:03 00:04 00:05, 3 RunsMissed, 6=0+3+3+0"},
		{[]int{1}, "wait 00:03 00:04 00:05, run 00:01, 2 RunsMissed, 6=1+3+2+0"},
		{[]int{0, 2}, "wait 00:03 00:04 00:05, run 00:00 00:02, 1 RunsMissed, 6=2+3+1+0"},
		{[]int{0, 1, 2}, "wait 00:03 00:04 00:05, run 00:00 00:01 00:02, 6=3+3+0+0"},
		{[]int{3}, "wait 00:04 00:05, run 00:03, 3 RunsMissed, 6=1+2+3+0"},
		{[]int{2, 4}, "wait 00:03 00:05, run 00:02 00:04, 2 RunsMissed, 6=2+2+2+0"},
		{[]int{5}, "wait 00:03 00:04, run 00:05, 3 RunsMissed, 6=1+2+3+0"},
	} {
		d := decide(s, schedule.Checkpoint{}, adoptable(t, s, tt.adopted...), minute(5))
		require.Equal(t, tt.want, brief(d), "%v", tt.adopted)
	}
	s.SkipOutdated = true // an older run does not wait behind a later run
	require.Equal(t, "run 00:05, 3 RunsMissed, 2 RunsMissed, 6=1+0+5+0", brief(decide(s, schedule.Checkpoint{}, adoptable(t, s, 5), minute(5))))
	require.Equal(t, "wait 00:05, run 00:04, 3 RunsMissed, 1 RunsMissed, 6=1+1+4+0", brief(decide(s, schedule.Checkpoint{}, adoptable(t, s, 4), minute(5))))
	require.Equal(t, "wait 00:05, run 00:01, 2 RunsMissed, 2 RunsMissed, 6=1+1+4+0", brief(decide(s, schedule.Checkpoint{}, adoptable(t, s, 1), minute(5))))
}

// The decision can change when the first run is too late that can still be missed: neither
// a requested run nor a run whose Job may exist.
func TestCheckedAtTheDeadline(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) {
		s.SkipOutdated, s.Concurrency, s.StartingDeadline = false, schedule.Wait, schedule.Duration(90*time.Second)
		s.Schedule = schedule.ISO8601(parse(t, "R3/2026-01-01T00:00:00Z/PT1M"), nil)
	})
	f.at(0) // its Job is not observed
	f.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(1)}}
	d := f.at(2)
	require.Equal(t, "start 00:00, wait 00:00 00:01 00:01* 00:02, 3=0+3+0+0", brief(d))
	d = decide(f.policy, f.checkpoint, schedule.Observation{}, minute(2))
	require.Equal(t, minute(1).Add(90*time.Second+1), d.NextCheck)
	d = decide(f.policy, f.checkpoint, schedule.Observation{}, d.NextCheck)
	require.Equal(t, "wait 00:00 00:01* 00:02, 1 RunsMissed, 3=0+2+1+0", brief(d))
}

// Without MaxWaiting, the default holds.
func TestDefaultMaxWaiting(t *testing.T) {
	for _, most := range []int64{0, -1} {
		s := minutely(t)
		s.SkipOutdated, s.MaxWaiting = false, most
		d := decide(s, schedule.Checkpoint{}, schedule.Observation{}, minute(1001))
		require.EqualValues(t, 1000, d.Checkpoint.PendingScheduled())
		require.EqualValues(t, 2, d.Checkpoint.Dropped)
	}
}
