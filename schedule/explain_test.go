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
		State: schedule.State{
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
		isBlocked = "run f failed; a requested run that succeeds ends the block"
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
			State: schedule.State{Blocked: tt.blocked, Last: schedule.Run{Tag: "f"}, Tries: tt.tries, RetryAt: minute(5), Pending: []schedule.Run{tt.run}}}
		name := "waiting  "
		if !tt.run.Tried.IsZero() {
			name = "active   "
		}
		require.Contains(t, d.String(), name+"r: "+tt.want+"\n", "%+v", tt)
	}
	asking := tried
	asking.Status = schedule.Pending
	rejected := schedule.Decision{State: schedule.State{Rejected: "quota", RetryAt: minute(5), Pending: []schedule.Run{plain}}}
	require.Contains(t, rejected.String(), "waiting  r: "+rejecting+"\n")
	for want, d := range map[schedule.Hold]schedule.Decision{
		schedule.Rejecting: {State: schedule.State{Rejected: "quota"}}, schedule.IsBlocked: {State: schedule.State{Blocked: true}}, schedule.Unknown: {JobsUnknown: true},
		schedule.IsSuspended: {Suspended: true}, schedule.NotHeld: {State: schedule.State{Tries: 2, Pending: []schedule.Run{asking}}},
		schedule.Unanswered: {State: schedule.State{Tries: 3, Pending: []schedule.Run{asking}}}, schedule.CatchingUp: {Held: schedule.CatchingUp, State: schedule.State{Pending: []schedule.Run{plain}}},
	} {
		hold, _ := d.Waits()
		require.Equal(t, want, hold)
	}
}
