package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// A decision prints each run once, in the line of its part: active, starting or waiting.
func TestString(t *testing.T) {
	require.Equal(t, `due      0: 0 started, 0 pending, 0 missed, 0 dropped
next     never`, schedule.Decision{}.String())

	first, second := schedule.Run{Tag: "first", Status: schedule.Pending, Tried: minute(1)}, schedule.Run{Tag: "second", OnDemand: true}
	d := schedule.Decision{
		Checkpoint: schedule.Checkpoint{
			Due: 10, Started: 4, Missed: 3, Dropped: 2,
			Running: []schedule.Run{{Tag: "active"}, {Tag: "old", Stopped: "replaced"}},
			Pending: []schedule.Run{first, second},
		},
		Start: []schedule.Run{first}, Delete: []string{"a", "b"}, NextCheck: minute(2).Add(500_000_000),
	}
	require.Equal(t, `due      10: 4 started, 1 pending, 3 missed, 2 dropped
running  active
stopping old: replaced
start    first
waiting  second: another run is active
delete   a
delete   b
next     2026-01-01T00:02:00.5Z`, d.String())
}

// A waiting run has one reason: the first of this order that applies.
func TestWhy(t *testing.T) {
	const (
		asked     = "its Job was asked for and has not been observed"
		unknown   = "the Jobs are not known"
		isBlocked = "run f failed; a requested run that succeeds ends the block, as does an earlier scheduled one, or a new value of the annotation scaledjob.github.io/unblock"
		suspended = "the schedule is suspended"
		fail      = "creates are not answered; the next is tried at 2026-01-01T00:05:00Z"
		rejecting = "quota; the next create is tried at 2026-01-01T00:05:00Z"
		busy      = "another run is active"
	)
	plain, onDemand, tried := schedule.Run{Tag: "r"}, schedule.Run{Tag: "r", OnDemand: true}, schedule.Run{Tag: "r", Tried: minute(1)}
	for _, tt := range []struct {
		run                         schedule.Run
		unknown, blocked, suspended bool
		tries                       int64
		want                        string
	}{
		{tried, false, true, true, 3, asked},
		{plain, true, true, true, 3, unknown},
		{onDemand, true, true, true, 3, unknown},
		{plain, false, true, true, 3, isBlocked},
		{plain, false, false, true, 3, suspended},
		{onDemand, false, true, true, 3, fail},
		{onDemand, false, true, true, 2, busy},
		{plain, false, false, false, 4, fail},
		{plain, false, false, false, 3, fail},
		{plain, false, false, false, 2, busy},
	} {
		tt.run.Status = schedule.Pending
		d := schedule.Decision{JobsUnknown: tt.unknown, Suspended: tt.suspended,
			Checkpoint: schedule.Checkpoint{Blocked: tt.blocked, FailedRun: "f", Tries: tt.tries, RetryAt: minute(5), Pending: []schedule.Run{tt.run}}}
		name := "waiting  "
		if !tt.run.Tried.IsZero() {
			name = "active   "
		}
		require.Contains(t, d.String(), name+"r: "+tt.want+"\n", "%+v", tt)
	}
	asking := tried
	asking.Status = schedule.Pending
	rejected := schedule.Decision{Checkpoint: schedule.Checkpoint{Rejected: "quota", RetryAt: minute(5), Pending: []schedule.Run{plain}}}
	require.Contains(t, rejected.String(), "waiting  r: "+rejecting+"\n")
	for want, d := range map[schedule.Reason]schedule.Decision{
		schedule.CreateRejected: {Checkpoint: schedule.Checkpoint{Rejected: "quota"}}, schedule.Blocked: {Checkpoint: schedule.Checkpoint{Blocked: true}}, schedule.JobsUnknown: {JobsUnknown: true},
		schedule.Suspended: {Suspended: true}, "": {Checkpoint: schedule.Checkpoint{Tries: 2, Pending: []schedule.Run{asking}}},
		schedule.CreateUnanswered: {Checkpoint: schedule.Checkpoint{Tries: 3, Pending: []schedule.Run{asking}}}, schedule.CatchingUp: {Held: schedule.CatchingUp, Checkpoint: schedule.Checkpoint{Pending: []schedule.Run{plain}}},
	} {
		hold, _ := d.Waits()
		require.Equal(t, want, hold)
	}
}

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
		{schedule.Event{Reason: schedule.Restored}, true, "The checkpoint was written for another API server or for newer data; runs that it does not show may run again"},
		{schedule.Event{Reason: schedule.RunStopped, Run: with(func(r *schedule.Run) { r.Stopped = "replaced" })}, false, "Run r was replaced"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.Outdated, Count: 3}, true, "Scheduled runs are missed, because later runs were due: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.DeadlineExceeded, Count: 3}, true, "Scheduled runs are missed, because their starting deadline passed: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.OtherRunIsActive, Count: 3}, true, "Scheduled runs are missed, because another run was active: 3 so far"},
		{schedule.Event{Reason: schedule.RunsMissed, Cause: schedule.CreateRejected, Count: 3}, true, "Scheduled runs are missed, because the API server rejects their Jobs: 3 so far"},
		{schedule.Event{Reason: schedule.RunsDropped, Cause: schedule.TooManyWaiting, Count: 4}, true, "Waiting runs are dropped, because too many wait: 4 so far"},
		{schedule.Event{Reason: schedule.Blocked, Run: run}, true,
			"Scheduled runs no longer start: run r failed; a requested run that succeeds ends the block, as does an earlier scheduled one, or a new value of the annotation scaledjob.github.io/unblock"},
		{schedule.Event{Reason: schedule.Unblocked, Run: run}, false, "Scheduled runs start again"},
		{schedule.Event{Reason: "Other", Run: run}, false, "Other"},
		{schedule.Event{}, false, ""},
	} {
		require.Equal(t, tt.want, tt.event.String())
		require.Equal(t, tt.warning, tt.event.Warning(), tt.event.Reason)
	}
}
