package schedule_test

import (
	"encoding/json"
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

// A run has an outcome once it has completed, unless it never started.
func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		run  schedule.Run
		want schedule.Outcome
	}{
		{schedule.Run{Status: schedule.Running, Success: true}, schedule.Unfinished},
		{schedule.Run{Status: schedule.Pending}, schedule.Unfinished},
		{schedule.Run{}, schedule.Unfinished},
		{ran("r", 1, true), schedule.Succeeded},
		{ran("r", 1, false), schedule.Failed},
		{schedule.Run{Status: schedule.Completed, Stopped: "cancelled"}, schedule.Unfinished},
		{schedule.Run{Status: schedule.Completed, Stopped: "cancelled", Started: minute(1)}, schedule.Stopped},
		{schedule.Run{Status: schedule.Completed}, schedule.Failed},
		{schedule.Run{Status: schedule.Completed, Lost: true}, schedule.Lost},
	} {
		require.Equal(t, tt.want, tt.run.Outcome(), "%+v", tt.run)
	}
}

// The input for dependent jobs does not change with the state.
func TestUpstreamIsACopy(t *testing.T) {
	state := schedule.Checkpoint{Succeeded: 3, Failed: 4, Completed: []schedule.Run{ran("r", 1, true)}}
	up := state.Upstream("job", "uid")
	state.Completed[0].Tag = "other"
	require.Equal(t, schedule.Upstream{Job: "job", UID: "uid", Counts: schedule.Counts{Succeeded: 3, Failed: 4}, Recent: []schedule.Run{ran("r", 1, true)}}, up)
}

// A state that is read from JSON equals the state that was written, also with many waiting runs,
// which its text names.
func TestStateJSONOfBacklog(t *testing.T) {
	s := minutely(t)
	s.SkipOutdated, s.UID, s.MaxWaiting = false, "uid", 1000
	d := decide(s, schedule.Checkpoint{}, schedule.Observation{}, minute(100))
	require.Greater(t, len(d.Checkpoint.Pending), 50)
	data, err := json.Marshal(d.Checkpoint)
	require.NoError(t, err)
	var read schedule.Checkpoint
	require.NoError(t, json.Unmarshal(data, &read))
	require.Empty(t, read.Pending[50].Tag)
	require.True(t, read.Equal(d.Checkpoint))

	d.Checkpoint = read // as the command reads it
	require.NotContains(t, d.String(), "waiting  :")
	require.Empty(t, read.Pending[50].Tag)
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
