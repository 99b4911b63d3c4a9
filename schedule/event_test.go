package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// Each event has a message that names its run or the number of runs, with durations in
// milliseconds. The events that ask for attention are warnings.
func TestEvent(t *testing.T) {
	run := schedule.Run{Tag: "r", Started: minute(1), Completed: minute(2).Add(1_234_567)}
	with := func(change func(*schedule.Run)) schedule.Run {
		r := run
		change(&r)
		return r
	}
	for _, tt := range []struct {
		event   schedule.Event
		warning bool
		want    string
	}{
		{schedule.Event{Reason: schedule.RunStarted, Run: run}, false, "Run r started"},
		{schedule.Event{Reason: schedule.RunSucceeded, Run: run}, false, "Run r succeeded after 1m0.001s"},
		{schedule.Event{Reason: schedule.RunFailed, Run: run}, true, "Run r failed after 1m0.001s"},
		{schedule.Event{Reason: schedule.RunFailed, Run: with(func(r *schedule.Run) { r.ExitCode = 143 })}, true, "Run r failed with exit code 143"},
		{schedule.Event{Reason: schedule.RunFailed, Run: with(func(r *schedule.Run) { r.ExitCode = -1 })}, true, "Run r failed with exit code -1"},
		{schedule.Event{Reason: schedule.RunFailed, Run: with(func(r *schedule.Run) { r.Lost = true })}, true, "Run r failed: its Job was deleted"},
		{schedule.Event{Reason: schedule.RunStopped, Run: with(func(r *schedule.Run) { r.Stopped = "replaced" })}, false, "Run r was replaced"},
		{schedule.Event{Reason: schedule.RunsMissed, Count: 3}, true,
			"Scheduled runs missed, because a later run was due, the starting deadline passed, or another run was active: 3"},
		{schedule.Event{Reason: schedule.RunsDropped, Count: 4}, true, "Scheduled runs dropped, because too many wait: 4"},
		{schedule.Event{Reason: schedule.Blocked, Run: run}, true,
			"Scheduled runs no longer start, because run r failed; a requested run that succeeds ends the block"},
		{schedule.Event{Reason: schedule.Unblocked, Run: run}, false, "Scheduled runs start again"},
		{schedule.Event{Reason: "Other", Run: run}, false, "Other"},
		{schedule.Event{}, false, ""},
	} {
		require.Equal(t, tt.want, tt.event.String())
		require.Equal(t, tt.warning, tt.event.Warning(), tt.event.Reason)
	}
}
