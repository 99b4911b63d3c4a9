package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
)

// A run completes when its Job finished, but not before it started, and at the decision if
// the Job has no such time or is gone. The exit code is that of the Job.
func TestCompletion(t *testing.T) {
	s := minutely(t)
	s.Schedule = nil
	state := decided()
	state.Running = []schedule.Run{{Tag: "r", Status: schedule.Running, Started: minute(4)}}
	complete := func(jobs ...schedule.Job) schedule.Run {
		d := decide(s, state, schedule.Observation{JobsKnown: true, Jobs: jobs}, minute(9))
		require.Empty(t, d.Checkpoint.Running)
		require.Len(t, d.Checkpoint.Completed, 1)
		require.Equal(t, d.Checkpoint.Completed[0], d.Checkpoint.Last)
		return d.Checkpoint.Last
	}
	failed := schedule.Job{Tag: "r", Outcome: schedule.Failed, ExitCode: 7, Finished: minute(6)}
	want := schedule.Run{Tag: "r", Status: schedule.Completed, Started: minute(4), Completed: minute(6), ExitCode: 7}
	require.Equal(t, want, complete(failed))
	failed.Finished, want.Completed = minute(3), minute(4)
	require.Equal(t, want, complete(failed))
	failed.Finished, want.Completed = time.Time{}, minute(9)
	require.Equal(t, want, complete(failed))
	want.ExitCode, want.Lost = 0, true
	require.Equal(t, want, complete())
}

// A run starts when its create is first decided, however often the create is repeated.
func TestStartedAtTheFirstTry(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) { s.Schedule = nil })
	f.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(0)}}
	f.at(1)
	r := f.at(2).Start[0]
	require.Equal(t, minute(1), r.Tried)
	require.EqualValues(t, 2, r.Attempts)
	f.seen.Jobs = []schedule.Job{{Tag: r.Tag, Created: minute(2)}}
	d := f.at(3)
	require.Equal(t, minute(1), d.Checkpoint.Running[0].Started)
	require.Zero(t, d.Checkpoint.Running[0].Tried)
	require.Zero(t, d.Checkpoint.Tries)
	require.Zero(t, d.Checkpoint.RetryAt)
}

// A Job of a lost state is adopted as the run of its occurrence, also between two seconds.
func TestAdoptsFractionsOfASecond(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.SkipOutdated = schedule.ISO8601(parse(t, "R3/2026-01-01T00:00:00Z/PT0.25S"), nil), false
	at := created.Add(time.Second)
	seen := none
	for _, r := range decide(s, schedule.Checkpoint{}, none, at).Start {
		seen.Jobs = append(seen.Jobs, schedule.Job{Tag: r.Tag, Created: created.Add(time.Second)})
	}
	d := decide(s, schedule.Checkpoint{}, seen, at)
	require.EqualValues(t, 3, d.Checkpoint.Started)
	for i, r := range d.Checkpoint.Running {
		require.False(t, r.OnDemand)
		require.Equal(t, created.Add(time.Duration(i)*250*time.Millisecond), r.Due)
	}
}

// Of several Jobs with a tag an unfinished one counts, then the oldest, then the first that
// finished, in any order of the Jobs.
func TestSameTag(t *testing.T) {
	s := minutely(t)
	s.Schedule = nil
	state := decided()
	state.Running = []schedule.Run{{Tag: "r", Status: schedule.Running, Started: minute(1)}}
	j := func(outcome schedule.Outcome, created, finished int, exit int32) schedule.Job {
		return schedule.Job{Tag: "r", Outcome: outcome, Created: minute(created), Finished: minute(finished), ExitCode: exit}
	}
	ordered := []schedule.Job{
		{Tag: "r", Created: minute(3)}, j(schedule.Failed, 1, 7, 9), j(schedule.Failed, 2, 5, 8), j(schedule.Failed, 2, 6, 3), j(schedule.Failed, 2, 6, 4), j(schedule.Succeeded, 2, 6, 0),
	}
	for len(ordered) > 0 {
		first := ordered[0]
		rapid.Check(t, func(t *rapid.T) {
			jobs := rapid.Permutation(ordered).Draw(t, "jobs")
			d := decide(s, state, schedule.Observation{JobsKnown: true, Jobs: jobs}, minute(9))
			last := d.Checkpoint.Last
			require.Equal(t, first.Outcome == schedule.Unfinished, len(d.Checkpoint.Running) == 1)
			if len(d.Checkpoint.Running) == 1 {
				return
			}
			require.Equal(t, first.Finished, last.Completed)
			require.Equal(t, first.ExitCode, last.ExitCode)
			require.Equal(t, first.Outcome, last.Outcome())
		})
		ordered = ordered[1:]
	}
}
