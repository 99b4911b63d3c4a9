package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// reasons are those of the events of a decision.
func reasons(d schedule.Decision) (all []string) {
	for _, e := range d.Events {
		all = append(all, string(e.Reason))
	}
	return all
}

// A fixture drives one job by hand: each call of at is a decision that is stored.
type fixture struct {
	t          *testing.T
	policy     schedule.Policy
	checkpoint schedule.Checkpoint
	seen       schedule.Observation
}

func (f *fixture) at(minutes int) schedule.Decision {
	d := decide(f.policy, f.checkpoint, f.seen, minute(minutes))
	f.checkpoint = d.Checkpoint
	return d
}

// starts is a decision that starts a run, whose Job is observed then.
func (f *fixture) starts(minutes int) string {
	f.t.Helper()
	d := f.at(minutes)
	require.Len(f.t, d.Start, 1)
	f.seen.Jobs = append(f.seen.Jobs, schedule.Job{Tag: d.Start[0].Tag, Created: minute(minutes)})
	d = f.at(minutes)
	require.Equal(f.t, []string{"RunStarted"}, reasons(d))
	require.False(f.t, d.Events[0].Warning())
	require.Equal(f.t, "Run "+d.Events[0].Run.Tag+" started", d.Events[0].String())
	return d.Checkpoint.Running[len(d.Checkpoint.Running)-1].Tag
}

func (f *fixture) gone(tag string) {
	f.seen.Jobs = slices.DeleteFunc(f.seen.Jobs, func(j schedule.Job) bool { return j.Tag == tag })
}

func byHand(t *testing.T, change func(*schedule.Policy)) *fixture {
	f := &fixture{t: t, policy: minutely(t), seen: none}
	change(&f.policy)
	return f
}

// Replace stops the active scheduled run, and starts the next when its Job is gone.
func TestReplace(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) { s.Concurrency, s.BlockOnFailure = schedule.Replace, true })
	first := f.starts(0)
	d := f.at(1)
	require.Equal(t, "wait 00:01, run 00:00, stop 1, 2=1+1+0+0", brief(d))
	require.Equal(t, []string{first}, d.Stop)
	require.Contains(t, d.String(), "stopping "+first+": replaced")
	f.seen.Jobs[0].Deleting = true
	require.Equal(t, []string{first}, f.at(1).Stop, "in the background")
	f.seen.Jobs[0].Foreground = true
	require.Empty(t, f.at(1).Stop, "its pods end")
	f.gone(first)
	d = f.at(1)
	require.Equal(t, "start 00:01, wait 00:01, done 00:00, RunStopped, 2=1+1+0+0", brief(d), "and nothing is blocked")
	require.False(t, d.Checkpoint.Completed[0].Lost)
	require.Equal(t, "Run "+first+" was replaced", d.Events[0].String())
}

// A run whose Job may exist is created before it is cancelled: the Job would run later
// otherwise.
func TestCancelledWhileCreated(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) {})
	tag := f.at(0).Start[0].Tag
	f.seen.Cancelled = []string{tag}
	require.Equal(t, "start 00:00, wait 00:00, 1=0+1+0+0", brief(decide(f.policy, f.checkpoint, f.seen, minute(0).Add(2*time.Second))))
	f.seen.Jobs = []schedule.Job{{Tag: tag}}
	require.Equal(t, []string{tag}, f.at(0).Stop)
	f.seen.Jobs = nil
	f.seen.Rejected = []schedule.Rejection{{Tag: tag, Attempt: 1}}
	f = byHand(t, func(s *schedule.Policy) {})
	f.at(0)
	f.seen.Cancelled, f.seen.Rejected = []string{tag}, []schedule.Rejection{{Tag: tag, Attempt: 1}}
	require.Equal(t, "done 00:00, RunStopped, 1=0+0+1+0", brief(f.at(0)))
}

// History keeps the completed run of a request until the request shows it. An answered
// request asks for no run, whatever has become of the state.
func TestAnswered(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) { s.Schedule, s.History.Succeeded = nil, history.Keep(0) })
	f.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(0)}}
	tag := f.starts(0)
	f.seen.Jobs[0].Outcome, f.seen.Jobs[0].Finished = schedule.Succeeded, minute(1)
	d := f.at(1)
	require.Equal(t, "done 00:00*, RunSucceeded, 0=0+0+0+0", brief(d))
	require.Equal(t, "r", d.Checkpoint.Completed[0].Request)
	f.seen.Requests[0].Answered = true
	require.Equal(t, []string{tag}, f.at(2).Delete)
	f.checkpoint, f.seen.Jobs = schedule.Checkpoint{}, nil
	require.Equal(t, "0=0+0+0+0", brief(f.at(3)))
}

// Refresh completes runs of a job whose spec cannot be read, and does nothing else.
func TestRefresh(t *testing.T) {
	f := byHand(t, func(s *schedule.Policy) { s.History.Failed = history.Keep(0) })
	first := f.starts(0)
	second := f.at(1).Start[0].Tag
	f.seen.Jobs = []schedule.Job{{Tag: first, Outcome: schedule.Failed, ExitCode: 3, Finished: minute(1)}, {Tag: second}, {Tag: "20260101t000200-f04b"}}
	d := refresh(f.checkpoint, f.seen, minute(9))
	require.Equal(t, "run 00:01, done 00:00!, RunFailed, 2=2+0+0+0", brief(d))
	require.Zero(t, d.NextCheck)
	require.Zero(t, refresh(f.checkpoint, schedule.Observation{JobsKnown: true, Jobs: f.seen.Jobs[:1]}, minute(9)).NextCheck, "with an unobserved Job")
	require.Equal(t, f.checkpoint.Handled, d.Checkpoint.Handled)
	require.Equal(t, f.checkpoint.TimeSpec, d.Checkpoint.TimeSpec)
	newer := f.checkpoint
	newer.JobsRevision = 2
	restored := refresh(newer, schedule.Observation{JobsKnown: true, Revision: 1, Consistent: true}, minute(9))
	require.Equal(t, schedule.Restored, restored.Events[0].Reason)
	require.Equal(t, f.policy.UID, restored.Checkpoint.UID, "on which the tags of waiting runs depend")
	again := refresh(d.Checkpoint, f.seen, minute(9))
	require.True(t, again.Checkpoint.Equal(d.Checkpoint))
	require.Empty(t, again.Events)

	unknown := refresh(f.checkpoint, schedule.Observation{}, minute(9))
	require.True(t, unknown.Checkpoint.Equal(f.checkpoint))
	require.True(t, unknown.JobsUnknown)
	require.Equal(t, schedule.Decision{JobsUnknown: true}, refresh(schedule.Checkpoint{}, f.seen, minute(9)))
	other := schedule.Checkpoint{Version: 7, Begin: created}
	require.Equal(t, schedule.Decision{Checkpoint: other, JobsUnknown: true}, refresh(other, f.seen, minute(9)))
}

// backward returns the occurrences in a span, latest first, at most 2,001.
func backward(o schedule.Counter, in interval.Span) (all []time.Time) {
	if in.Until.IsZero() {
		in.Until = dusk
	}
	t, ok := o.Last(in.Until)
	for ; ok && t.After(in.After) && len(all) <= 2_000; t, ok = o.Last(t.Add(-1)) {
		all = append(all, t)
	}
	return all
}

// A schedule of a function has the occurrences of the function: as many as an equal
// interval has, in the same order, from the same time on.
func TestFromNext(t *testing.T) {
	for _, text := range []string{"R/2026-01-01T00:00:00Z/PT7S", "R/2026-01-01T00:00:00Z/PT1H", "R/2025-01-31T00:00:00Z/P1M", "R3/2026-01-01T00:00:00Z/P1D", "R/2026-01-01T00:00:00Z/P30Y", "R5/2026-01-01T00:00:00Z/P1000Y"} {
		all, err := parse(t, text).Occurrences(created, nil)
		require.NoError(t, err)
		s := schedule.FromNext(text, text, nil, func(after time.Time) time.Time {
			next, _ := all.Next(after)
			return next
		})
		require.Equal(t, text, s.String())
		since := created.Add(90 * time.Minute)
		got, want := s.From(since).(schedule.Counter), schedule.ISO8601(parse(t, text), nil).From(since).(schedule.Counter)
		spans := []interval.Span{{Until: since.Add(time.Hour)}, {After: since.Add(20 * time.Minute), Until: since.Add(30 * time.Hour)}, {After: since, Until: since}}
		if strings.HasSuffix(text, "Y") {
			spans = append(spans, interval.Span{}, interval.Span{After: since.AddDate(700, 0, 0)})
		}
		for _, in := range spans {
			require.Equal(t, want.Count(in), got.Count(in), text)
			require.Equal(t, backward(want, in), backward(got, in), text)
		}
		g, ok := got.Next(created)
		w, _ := want.Next(created)
		require.True(t, ok)
		require.Equal(t, w, g)
	}
	seconds := schedule.FromNext("seconds", "seconds", nil, func(after time.Time) time.Time { return after.Truncate(time.Second).Add(time.Second) }).From(created).(schedule.Counter)
	require.EqualValues(t, 1_000_000, seconds.Count(interval.Span{Until: created.AddDate(1, 0, 0)}))
	stuck := schedule.FromNext("stuck", "stuck", nil, func(after time.Time) time.Time { return after }).From(created).(schedule.Counter)
	_, ok := stuck.Next(created)
	require.False(t, ok, "a function that does not go on has no more occurrences")
	require.Zero(t, stuck.Count(interval.Span{After: created, Until: minute(9)}))
}

// An active scheduled run is replaced only by a scheduled run that could start instead.
func TestReplacedBy(t *testing.T) {
	scheduled, requested := schedule.Run{Tag: "w", Due: minute(1)}, schedule.Run{Tag: "w", Due: minute(1), OnDemand: true}
	tried := schedule.Run{Tag: "w", Due: minute(1), Status: schedule.Pending, Tried: minute(1)}
	for _, tt := range []struct {
		name    string
		waits   schedule.Run
		change  func(*schedule.Policy, *schedule.Checkpoint)
		stopped string
	}{
		{"a scheduled run", scheduled, func(*schedule.Policy, *schedule.Checkpoint) {}, "replaced"},
		{"a requested run", requested, func(*schedule.Policy, *schedule.Checkpoint) {}, ""},
		{"a run whose Job may exist", tried, func(*schedule.Policy, *schedule.Checkpoint) {}, ""},
		{"a suspended run", scheduled, func(s *schedule.Policy, _ *schedule.Checkpoint) { s.Suspended = true }, ""},
		{"a blocked run", scheduled, func(s *schedule.Policy, state *schedule.Checkpoint) {
			s.BlockOnFailure, state.FailedRun = true, "last"
		}, ""},
		{"a run, with Wait", scheduled, func(s *schedule.Policy, _ *schedule.Checkpoint) { s.Concurrency = schedule.Wait }, ""},
		{"a run after two tries", scheduled, func(_ *schedule.Policy, state *schedule.Checkpoint) { state.Tries = 2 }, "replaced"},
		{"a run after three tries", scheduled, func(_ *schedule.Policy, state *schedule.Checkpoint) { state.Tries = 3 }, ""},
		{"a run, of a cancelled one", scheduled, func(_ *schedule.Policy, state *schedule.Checkpoint) { state.Running[0].Stopped = "cancelled" }, "cancelled"},
		{"a run, of a requested one", scheduled, func(_ *schedule.Policy, state *schedule.Checkpoint) { state.Running[0].OnDemand = true }, ""},
	} {
		s, state := policyOf(t, "R/2026-01-02T00:00:00Z/P1D", nil), decided()
		s.Concurrency, state.Identity = schedule.Replace, s.Schedule.Identity()
		state.Running, state.Pending = []schedule.Run{{Tag: "a", Due: minute(0), Started: minute(0)}}, []schedule.Run{tt.waits}
		tt.change(&s, &state)
		d := decide(s, state, schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{{Tag: "a"}}}, minute(2))
		require.Equal(t, tt.stopped, d.Checkpoint.Running[0].Stopped, tt.name)
		require.Equal(t, tt.stopped != "", slices.Equal([]string{"a"}, d.Stop), tt.name)
	}
}
