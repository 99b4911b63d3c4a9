package schedule_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// follower is a job that depends on the job "up" since minute 5, and knows none of its
// completions.
func follower(t *testing.T, outcome schedule.Outcome) (schedule.Policy, schedule.Checkpoint) {
	s := schedule.DefaultPolicy()
	s.UID, s.Created, s.After = "2f6a", minute(5), []schedule.Dependency{{Job: "up", Outcome: outcome}}
	d := decide(s, schedule.Checkpoint{}, none, minute(5))
	require.Empty(t, d.Start)
	return s, d.Checkpoint
}

func following(up schedule.Upstream) schedule.Observation {
	o := none
	o.Upstreams = []schedule.Upstream{up}
	return o
}

func ran(tag string, at int, success bool) schedule.Run {
	return schedule.Run{Tag: tag, Status: schedule.Completed, Started: minute(at), Completed: minute(at), Success: success}
}

// At the first sight of a job, its completions count that its history shows since the
// dependency: each outcome by itself, and none for a run that was cancelled before it started.
func TestMeet(t *testing.T) {
	cancelled := schedule.Run{Tag: "c", Status: schedule.Completed, Completed: minute(6), Stopped: "cancelled"}
	recent := []schedule.Run{ran("a", 4, false), ran("b", 4, true), ran("d", 5, true), cancelled, ran("e", 6, false), ran("f", 7, true)}
	up := schedule.Upstream{Job: "up", UID: "u", Counts: schedule.Counts{Succeeded: 9, Failed: 8}, Recent: recent}
	for outcome, want := range map[schedule.Outcome][]string{
		schedule.Succeeded: {"d", "f"}, schedule.Failed: {"e"}, schedule.Any: {"d", "e", "f"}, "other": nil,
	} {
		s, state := follower(t, outcome)
		d := decide(s, state, following(up), minute(8))
		var requests []string
		for _, r := range d.Start {
			requests = append(requests, r.Request)
		}
		require.Equal(t, want, requests, "%s", outcome)
		require.Equal(t, []schedule.Connection{{Dependency: s.After[0], Begin: minute(5), UID: "u", Counts: schedule.Counts{Succeeded: 9, Failed: 8}}}, d.Checkpoint.After)
	}
}

// The run for a completion names the run that completed, and is due at its completion. If
// history has dropped that run, the request is empty and the run is due now.
func TestNamesTheCompletedRun(t *testing.T) {
	for _, tt := range []struct {
		kept int // of four completions
		want string
	}{
		{4, "3@3 4@4 5@5 6@6"}, {2, "5@5 6@6 @9 @9"}, {0, "@9 @9 @9 @9"},
	} {
		s, state := follower(t, schedule.Succeeded)
		state = decide(s, state, following(schedule.Upstream{Job: "up", UID: "u"}), minute(6)).Checkpoint
		up := schedule.Upstream{Job: "up", UID: "u", Counts: schedule.Counts{Succeeded: 4, Failed: 1}}
		for n := range tt.kept {
			at := 7 - tt.kept + n
			up.Recent = append(up.Recent, ran(fmt.Sprint(at), at, true), ran("failed", at, false))
		}
		text := ""
		for i, r := range decide(s, state, following(up), minute(9)).Start {
			if i > 0 {
				text += " "
			}
			text += fmt.Sprintf("%s@%d", r.Request, int(r.Due.Sub(minute(0)).Minutes()))
		}
		require.Equal(t, tt.want, text)
	}
}

// Waiting requested runs leave less room for completions. Scheduled runs do not.
func TestRoomForCompletions(t *testing.T) {
	s := schedule.DefaultPolicy()
	s.UID, s.Created, s.After = "2f6a", created, after("up")
	s.Schedule, s.SkipOutdated, s.MaxWaiting, s.Concurrency = schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00Z/PT1M"), nil), false, 3, schedule.Wait
	up := schedule.Upstream{Job: "up", UID: "u"}
	o := following(up)
	o.Requests = []schedule.Request{{ID: "a", RequestedAt: minute(0)}, {ID: "b", RequestedAt: minute(0)}}
	d := decide(s, schedule.Checkpoint{}, o, minute(2))
	require.Len(t, d.Checkpoint.Pending, 5)
	o.Upstreams[0].Succeeded = 5
	d = decide(s, d.Checkpoint, o, minute(2))
	require.Len(t, d.Checkpoint.Pending, 6)
	require.EqualValues(t, 1, d.Checkpoint.After[0].Succeeded)
}

// A request without a time is due at the decision that first lists it. It has been asked
// for once, also if it is listed twice.
func TestRequestTimes(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.Concurrency = nil, schedule.Wait
	o := none
	east := time.FixedZone("", 3600)
	o.Requests = []schedule.Request{{ID: "late", RequestedAt: minute(9).In(east)}, {ID: "now"}, {ID: "now"}}
	d := decide(s, schedule.Checkpoint{}, o, minute(3))
	require.Len(t, d.Checkpoint.Pending, 2)
	for _, r := range d.Checkpoint.Pending {
		require.Equal(t, minute(3), r.Due, "not later than the decision")
	}
}

// A backlog that fills the state keeps no request from ending the block.
func TestFullBacklogOfABlock(t *testing.T) {
	for name, requested := range map[string]schedule.Observation{
		"request":    {JobsKnown: true, Requests: []schedule.Request{{ID: "a"}, {ID: "b"}}},
		"completion": {JobsKnown: true, Upstreams: []schedule.Upstream{{Job: "other", UID: "o", Created: created, Counts: schedule.Counts{Succeeded: 2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := minutely(t)
			s.SkipOutdated, s.BlockOnFailure, s.MaxWaiting, s.After = false, true, 1550, after("other")
			d := decide(s, schedule.Checkpoint{}, none, minute(0))
			failed := schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{job(d.Start[0], schedule.Failed, minute(1))}}
			d = decide(s, d.Checkpoint, failed, minute(3000))
			require.True(t, d.Checkpoint.Blocked)
			require.EqualValues(t, 1550, d.Checkpoint.PendingScheduled())
			requested.Jobs = failed.Jobs
			d = decide(s, d.Checkpoint, requested, minute(3000))
			require.Len(t, d.Start, 1, "there is room for one")
			requested.Jobs = append(requested.Jobs, job(d.Start[0], schedule.Succeeded, minute(3000)))
			d = decide(s, d.Checkpoint, requested, minute(3000))
			require.False(t, d.Checkpoint.Blocked)
			require.NotEmpty(t, d.Start)
		})
	}
}

// Of many cancelled requests a bounded number is taken up, and the others when those are answered.
func TestManyCancelledRequests(t *testing.T) {
	s := minutely(t)
	s.Schedule = nil
	seen, waiting := none, map[string]int{}
	for i := range 450 {
		id := fmt.Sprintf("%036d", i)
		seen.Requests = append(seen.Requests, schedule.Request{ID: id, RequestedAt: created})
		seen.Cancelled = append(seen.Cancelled, schedule.RequestTag(s.UID, id))
		waiting[id] = i
	}
	var state schedule.Checkpoint
	for n := range 5 {
		state = decide(s, state, seen, minute(n)).Checkpoint
		require.True(t, state.Equal(decide(s, state, seen, minute(n)).Checkpoint), "again at one time")
		data, err := json.Marshal(state)
		require.NoError(t, err)
		require.Less(t, len(data), 60<<10)
		for _, r := range state.Completed {
			if i, ok := waiting[r.Request]; ok {
				seen.Requests[i].Answered = true
				delete(waiting, r.Request)
			}
		}
	}
	require.Zero(t, len(waiting))
}
