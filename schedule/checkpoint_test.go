package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// Zones of times, and empty lists, make no difference.
func TestStateEqual(t *testing.T) {
	full := func() schedule.Checkpoint {
		runs := func(tag string) []schedule.Run {
			return []schedule.Run{{Tag: tag, Due: minute(1), Created: minute(2), Tried: minute(3), Started: minute(4), Completed: minute(5)}}
		}
		return schedule.Checkpoint{
			Version: 1, TimeSpec: "R//PT1M", Begin: minute(1), Handled: minute(2), Due: 1, Started: 2, Missed: 3, Dropped: 4,
			Pending: runs("a"), Running: runs("b"), Completed: runs("c"), Succeeded: 5, Failed: 6, Last: runs("d")[0], Blocked: true,
			Tries: 7, RetryAt: minute(6), JobsRevision: 8, Requested: []string{"e"}, PendingDeletion: []string{"f"},
			After:    []schedule.Connection{{Dependency: after("g")[0], Begin: minute(7)}},
			MissedBy: schedule.Missed{schedule.Outdated: 3}, Missing: []schedule.Reason{"h"}, Lost: 9, Rejected: "i", UID: "j",
		}
	}
	state := full()
	east := time.FixedZone("", 3600)
	for _, at := range []*time.Time{&state.Begin, &state.Handled, &state.RetryAt, &state.After[0].Begin} {
		*at = at.In(east)
	}
	for _, r := range []*schedule.Run{&state.Pending[0], &state.Running[0], &state.Completed[0], &state.Last} {
		for _, at := range []*time.Time{&r.Created, &r.Tried, &r.Started, &r.Completed} {
			*at = at.In(east)
		}
	}
	before := state
	require.True(t, state.Equal(full()))
	require.True(t, full().Equal(state))
	require.Equal(t, before, state)
	state.UID = "k"
	require.False(t, full().Equal(state))
	require.True(t, schedule.Checkpoint{Pending: []schedule.Run{}, Requested: []string{}}.Equal(schedule.Checkpoint{}))
}

// A run that is listed twice, as after an edit by hand, starts once.
func TestRunListedTwice(t *testing.T) {
	s := minutely(t)
	s.SkipOutdated, s.Concurrency = false, schedule.Wait
	state := decide(s, schedule.Checkpoint{}, schedule.Observation{}, minute(1)).Checkpoint
	first := state.Pending[0]
	seen := schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{{Tag: first.Tag, Outcome: schedule.Succeeded, Created: minute(1)}}}
	for range 2 { // beside itself, and beside its completed run
		state.Pending = append(state.Pending, first)
		d := decide(s, state, seen, minute(1))
		require.Len(t, d.Start, 1)
		require.NotEqual(t, first.Tag, d.Start[0].Tag)
		require.Len(t, d.Checkpoint.Pending, 1)
		state, seen.Jobs = d.Checkpoint, nil
		state.Tries, state.RetryAt = 0, time.Time{}
	}
}

// A state that was edited by hand has no negative count, no run that starts twice beside its Job, and
// requests with their own tags.
func TestEditedByHand(t *testing.T) {
	s := minutely(t)
	s.SkipOutdated, s.Concurrency = false, schedule.Wait
	state := decide(s, schedule.Checkpoint{}, schedule.Observation{}, minute(1)).Checkpoint
	state.Pending, state.MissedBy, state.Missed = nil, schedule.Missed{schedule.Outdated: 1}, 0
	lost := decide(s, schedule.Checkpoint{}, none, minute(1)).Start[0]
	d := decide(s, state, schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{job(lost, schedule.Unfinished, minute(1))}}, minute(1))
	require.Equal(t, int64(1), d.Checkpoint.Started)
	require.Zero(t, d.Checkpoint.Missed)

	state.Pending = schedule.PendingRuns{{OnDemand: true, Request: "id", Due: minute(1)}}
	d = decide(s, state, none, minute(1))
	require.Equal(t, schedule.RequestTag(s.UID, "id"), d.Start[0].Tag)

	d.Checkpoint.Pending[0].Status = schedule.Running
	d.Checkpoint.RetryAt = time.Time{}
	d.Checkpoint.Pending = append(d.Checkpoint.Pending, schedule.Run{Tag: "other", OnDemand: true, Due: minute(0)})
	d = decide(s, d.Checkpoint, none, minute(2))
	require.Len(t, d.Start, 1, "the other run waits")
	require.Equal(t, int64(2), d.Start[0].Attempts)
}
