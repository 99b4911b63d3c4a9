package schedule_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// States are equal if and only if all fields are. Zones of times, and empty lists, make no
// difference.
func TestStateEqual(t *testing.T) {
	full := func() schedule.State {
		runs := func(tag string) []schedule.Run {
			return []schedule.Run{{Tag: tag, Due: minute(1), Created: minute(2), Tried: minute(3), Started: minute(4), Completed: minute(5)}}
		}
		return schedule.State{
			Version: 1, TimeSpec: "R//PT1M", Since: minute(1), Handled: minute(2), Due: 1, Started: 2, Missed: 3, Dropped: 4,
			Pending: runs("a"), Running: runs("b"), Completed: runs("c"), Succeeded: 5, Failed: 6, Last: runs("d")[0], Blocked: true,
			Tries: 7, RetryAt: minute(6), JobsRevision: 8, Requested: []string{"e"}, PendingDeletion: []string{"f"},
			After:    []schedule.Connection{{Dependency: after("g")[0], Since: minute(7)}},
			MissedBy: schedule.Missed{schedule.Outdated: 3}, Missing: []schedule.Cause{"h"}, Lost: 9, Rejected: "i", UID: "j",
		}
	}
	fields := reflect.TypeFor[schedule.State]()
	for i := range fields.NumField() {
		state := full()
		f := reflect.ValueOf(&state).Elem().Field(i)
		require.False(t, f.IsZero(), "%s is not set in this test", fields.Field(i).Name)
		f.SetZero()
		require.False(t, state.Equal(full()), fields.Field(i).Name)
		require.False(t, full().Equal(state), fields.Field(i).Name)
	}

	state := full()
	east := time.FixedZone("", 3600)
	for _, at := range []*time.Time{&state.Since, &state.Handled, &state.RetryAt, &state.After[0].Since} {
		*at = at.In(east)
	}
	for _, r := range []*schedule.Run{&state.Pending[0], &state.Running[0], &state.Completed[0], &state.Last} {
		for _, at := range []*time.Time{&r.Due, &r.Created, &r.Tried, &r.Started, &r.Completed} {
			*at = at.In(east)
		}
	}
	before := state
	require.True(t, state.Equal(full()))
	require.True(t, full().Equal(state))
	require.Equal(t, before, state)
	require.True(t, schedule.State{Pending: []schedule.Run{}, Requested: []string{}}.Equal(schedule.State{}))
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
		{schedule.Run{Status: schedule.Completed, Stopped: "cancelled", Started: minute(1)}, schedule.Failed},
		{schedule.Run{Status: schedule.Completed}, schedule.Failed},
		{schedule.Run{Status: schedule.Completed, Lost: true}, schedule.Lost},
	} {
		require.Equal(t, tt.want, tt.run.Outcome(), "%+v", tt.run)
	}
}

// The input for dependent jobs does not change with the state.
func TestUpstreamIsACopy(t *testing.T) {
	state := schedule.State{Succeeded: 3, Failed: 4, Completed: []schedule.Run{ran("r", 1, true)}}
	up := state.Upstream("job", "uid")
	state.Completed[0].Tag = "other"
	require.Equal(t, schedule.Upstream{Job: "job", UID: "uid", Counts: schedule.Counts{Succeeded: 3, Failed: 4}, Recent: []schedule.Run{ran("r", 1, true)}}, up)
}
