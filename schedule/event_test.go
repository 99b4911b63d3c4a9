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
		{schedule.Event{Reason: schedule.RunLost, Run: with(func(r *schedule.Run) { r.Lost, r.DeletedBy, r.Pods.Failed = true, "ann", 2 })}, true,
			"Run r is lost: its Job was deleted by ann before it had finished; pods when last observed: 0 active, 0 succeeded, 2 failed"},
		{schedule.Event{Reason: schedule.Restored}, true, "The state was written for another API server or for newer data; runs that it does not show may run again"},
		{schedule.Event{Reason: schedule.RunStopped, Run: with(func(r *schedule.Run) { r.Stopped = "replaced" })}, false, "Run r was replaced"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.Outdated, Count: 3}, true, "Scheduled runs are missed, because later runs were due: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.TooLate, Count: 3}, true, "Scheduled runs are missed, because their starting deadline passed: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.Forbidden, Count: 3}, true, "Scheduled runs are missed, because another run was active: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.CreateRejected, Count: 3}, true, "Scheduled runs are missed, because the API server rejects their Jobs: 3 so far"},
		{schedule.Event{Reason: schedule.RunsDropped, Count: 4}, true, "Scheduled runs are dropped, because too many wait: 4 so far"},
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
