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

// A hand drives one job by hand: each call of at is a decision that is stored.
type hand struct {
	t     *testing.T
	spec  schedule.Spec
	state schedule.State
	seen  schedule.Observed
}

func (h *hand) at(minutes int) schedule.Decision {
	d := schedule.Decide(h.spec, h.state, h.seen, minute(minutes))
	h.state = d.State
	return d
}

// starts is a decision that starts a run, whose Job is observed then.
func (h *hand) starts(minutes int) string {
	h.t.Helper()
	d := h.at(minutes)
	require.Len(h.t, d.Start, 1)
	h.seen.Jobs = append(h.seen.Jobs, schedule.Job{Tag: d.Start[0].Tag, Created: minute(minutes)})
	d = h.at(minutes)
	require.Equal(h.t, []string{"RunStarted"}, reasons(d))
	require.False(h.t, d.Events[0].Warning())
	require.Equal(h.t, "Run "+d.Events[0].Run.Tag+" started", d.Events[0].String())
	return d.State.Running[len(d.State.Running)-1].Tag
}

func (h *hand) gone(tag string) {
	h.seen.Jobs = slices.DeleteFunc(h.seen.Jobs, func(j schedule.Job) bool { return j.Tag == tag })
}

func byHand(t *testing.T, change func(*schedule.Spec)) *hand {
	h := &hand{t: t, spec: minutely(t), seen: none}
	change(&h.spec)
	return h
}

// While suspended, occurrences become due and wait; requested runs start.
func TestSuspended(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.Suspended = true })
	require.Equal(t, "wait 00:00, 1=0+1+0+0", brief(h.at(0)))
	h.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(2)}}
	d := h.at(2)
	require.Equal(t, "start 00:02*, wait 00:02 00:02*, 2 RunsMissed, 3=0+1+2+0", brief(d))
	require.Contains(t, d.String(), "the schedule is suspended")
	h.spec.Suspended = false
	require.Equal(t, "start 00:02, wait 00:02 00:02*, 3=0+1+2+0", brief(h.at(2)))
}

// A run starts up to its deadline, and is missed a nanosecond later.
func TestStartingDeadline(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) {
		s.Concurrency, s.StartingDeadline, s.SkipOutdated = schedule.Wait, 90*time.Second, false
	})
	first := h.starts(0)
	require.Equal(t, "wait 00:01 00:02, run 00:00, 3=1+2+0+0", brief(h.at(2)))
	d := schedule.Decide(h.spec, h.state, h.seen, minute(1).Add(90*time.Second))
	require.Equal(t, "wait 00:01 00:02, run 00:00, 3=1+2+0+0", brief(d))
	require.Equal(t, minute(1).Add(90*time.Second+1), d.NextCheck)
	d = schedule.Decide(h.spec, h.state, h.seen, d.NextCheck)
	require.Equal(t, "wait 00:02, run 00:00, 1 RunsMissed, 3=1+1+1+0", brief(d))
	require.True(t, d.Events[0].Warning())
	h.gone(first)
	require.Equal(t, "start 01:39, wait 01:39 01:40, done 00:00, RunLost, 98 RunsMissed, 101=1+2+98+0", brief(h.at(100)))
}

// Forbid misses scheduled runs while another run is active, and starts the next one.
func TestForbid(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.Concurrency, s.SkipOutdated = schedule.Forbid, false })
	h.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(1)}}
	first := h.starts(0)
	require.Equal(t, "wait 00:01*, run 00:00, 1 RunsMissed, 2=1+0+1+0", brief(h.at(1)))
	h.gone(first)
	require.Equal(t, "start 00:01*, wait 00:01*, done 00:00, RunLost, 2=1+0+1+0", brief(h.at(1)), "requested runs wait")
	require.Equal(t, "start 00:01*, wait 00:01*, done 00:00, 3=1+0+2+0", brief(h.at(2)))
}

// Replace stops the active scheduled run, and starts the next when its Job is gone.
func TestReplace(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.Concurrency, s.BlockOnFailure = schedule.Replace, true })
	first := h.starts(0)
	d := h.at(1)
	require.Equal(t, "wait 00:01, run 00:00, stop 1, 2=1+1+0+0", brief(d))
	require.Equal(t, []string{first}, d.Stop)
	require.Contains(t, d.String(), "stopping "+first+": replaced")
	h.seen.Jobs[0].Deleting = true
	require.Equal(t, []string{first}, h.at(1).Stop, "in the background")
	h.seen.Jobs[0].Foreground = true
	require.Empty(t, h.at(1).Stop, "its pods end")
	h.gone(first)
	d = h.at(1)
	require.Equal(t, "start 00:01, wait 00:01, done 00:00!, RunStopped, 2=1+1+0+0", brief(d), "and nothing is blocked")
	require.False(t, d.State.Completed[0].Lost)
	require.Equal(t, "Run "+first+" was replaced", d.Events[0].String())
}

// A cancelled run completes without a Job if it has none, and is stopped otherwise.
func TestStopped(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.Concurrency = schedule.Wait })
	first := h.starts(0)
	h.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(1)}}
	h.at(1)
	for _, r := range h.state.Pending {
		h.seen.Cancelled = append(h.seen.Cancelled, r.Tag)
	}
	d := h.at(1)
	require.Equal(t, "run 00:00, done 00:01 00:01*, RunStopped, RunStopped, 2=1+0+1+0", brief(d))
	require.Equal(t, "cancelled", d.State.Completed[0].Stopped)
	require.Zero(t, d.State.Failed, "they never ran")
	require.Zero(t, d.State.Last)
	require.Equal(t, schedule.Unfinished, d.State.Completed[0].Outcome())

	h.seen.Cancelled = append(h.seen.Cancelled, first)
	require.Equal(t, []string{first}, h.at(1).Stop)
	h.seen.Jobs[0].Outcome, h.seen.Jobs[0].ExitCode = schedule.Failed, 143
	d = h.at(1)
	require.Equal(t, []string{"RunStopped"}, reasons(d))
	require.EqualValues(t, 1, d.State.Failed)
	require.Equal(t, "Run "+first+" was cancelled", d.Events[0].String())
}

// A run whose Job may exist is created before it is cancelled: the Job would run later
// otherwise.
func TestCancelledWhileCreated(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) {})
	tag := h.at(0).Start[0].Tag
	h.seen.Cancelled = []string{tag}
	require.Equal(t, "start 00:00, wait 00:00, 1=0+1+0+0", brief(schedule.Decide(h.spec, h.state, h.seen, minute(0).Add(2*time.Second))))
	h.seen.Jobs = []schedule.Job{{Tag: tag}}
	require.Equal(t, []string{tag}, h.at(0).Stop)
	h.seen.Jobs = nil
	h.seen.Rejected = []schedule.Rejection{{Tag: tag, Attempt: 1}}
	h = byHand(t, func(s *schedule.Spec) {})
	h.at(0)
	h.seen.Cancelled, h.seen.Rejected = []string{tag}, []schedule.Rejection{{Tag: tag, Attempt: 1}}
	require.Equal(t, "done 00:00, RunStopped, 1=0+0+1+0", brief(h.at(0)))
}

// History keeps the completed run of a request until the request shows it. An answered
// request asks for no run, whatever has become of the state.
func TestAnswered(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.Schedule, s.History.Succeeded = nil, history.Keep(0) })
	h.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(0)}}
	tag := h.starts(0)
	h.seen.Jobs[0].Outcome, h.seen.Jobs[0].Finished = schedule.Succeeded, minute(1)
	d := h.at(1)
	require.Equal(t, "done 00:00*, RunSucceeded, 0=0+0+0+0", brief(d))
	require.Equal(t, "r", d.State.Completed[0].Request)
	h.seen.Requests[0].Answered = true
	require.Equal(t, []string{tag}, h.at(2).Delete)
	h.state, h.seen.Jobs = schedule.State{}, nil
	require.Equal(t, "0=0+0+0+0", brief(h.at(3)))
}

// Refresh completes runs of a job whose spec cannot be read, and does nothing else.
func TestRefresh(t *testing.T) {
	h := byHand(t, func(s *schedule.Spec) { s.History.Failed = history.Keep(0) })
	first := h.starts(0)
	second := h.at(1).Start[0].Tag
	h.seen.Jobs = []schedule.Job{{Tag: first, Outcome: schedule.Failed, ExitCode: 3, Finished: minute(1)}, {Tag: second}, {Tag: "20260101t000200-f04b"}}
	d := schedule.Refresh(h.state, h.seen, minute(9))
	require.Equal(t, "run 00:01, done 00:00!, RunFailed, 2=2+0+0+0", brief(d))
	require.Zero(t, d.NextCheck)
	require.Zero(t, schedule.Refresh(h.state, schedule.Observed{JobsKnown: true, Jobs: h.seen.Jobs[:1]}, minute(9)).NextCheck, "with an unobserved Job")
	require.Equal(t, h.state.Handled, d.State.Handled)
	require.Equal(t, h.state.TimeSpec, d.State.TimeSpec)
	newer := h.state
	newer.JobsRevision = 2
	restored := schedule.Refresh(newer, schedule.Observed{JobsKnown: true, Revision: 1, Consistent: true}, minute(9))
	require.Equal(t, schedule.Restored, restored.Events[0].Reason)
	require.Equal(t, h.spec.UID, restored.State.UID, "on which the tags of waiting runs depend")
	again := schedule.Refresh(d.State, h.seen, minute(9))
	require.True(t, again.State.Equal(d.State))
	require.Empty(t, again.Events)

	unknown := schedule.Refresh(h.state, schedule.Observed{}, minute(9))
	require.True(t, unknown.State.Equal(h.state))
	require.True(t, unknown.JobsUnknown)
	require.Equal(t, schedule.Decision{JobsUnknown: true}, schedule.Refresh(schedule.State{}, h.seen, minute(9)))
	other := schedule.State{Version: 7, Since: created}
	require.Equal(t, schedule.Decision{State: other, JobsUnknown: true}, schedule.Refresh(other, h.seen, minute(9)))
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
		s := schedule.FromNext(text, func(after time.Time) time.Time {
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
	seconds := schedule.FromNext("seconds", func(after time.Time) time.Time { return after.Truncate(time.Second).Add(time.Second) }).From(created).(schedule.Counter)
	require.EqualValues(t, 1_000_000, seconds.Count(interval.Span{Until: created.AddDate(1, 0, 0)}))
	stuck := schedule.FromNext("stuck", func(after time.Time) time.Time { return after }).From(created).(schedule.Counter)
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
		change  func(*schedule.Spec, *schedule.State)
		stopped string
	}{
		{"a scheduled run", scheduled, func(*schedule.Spec, *schedule.State) {}, "replaced"},
		{"a requested run", requested, func(*schedule.Spec, *schedule.State) {}, ""},
		{"a run whose Job may exist", tried, func(*schedule.Spec, *schedule.State) {}, ""},
		{"a suspended run", scheduled, func(s *schedule.Spec, _ *schedule.State) { s.Suspended = true }, ""},
		{"a blocked run", scheduled, func(s *schedule.Spec, state *schedule.State) {
			s.BlockOnFailure, state.Last = true, ran("last", 0, false)
		}, ""},
		{"a run, with Wait", scheduled, func(s *schedule.Spec, _ *schedule.State) { s.Concurrency = schedule.Wait }, ""},
		{"a run after two tries", scheduled, func(_ *schedule.Spec, state *schedule.State) { state.Tries = 2 }, "replaced"},
		{"a run after three tries", scheduled, func(_ *schedule.Spec, state *schedule.State) { state.Tries = 3 }, ""},
		{"a run, of a cancelled one", scheduled, func(_ *schedule.Spec, state *schedule.State) { state.Running[0].Stopped = "cancelled" }, "cancelled"},
		{"a run, of a requested one", scheduled, func(_ *schedule.Spec, state *schedule.State) { state.Running[0].OnDemand = true }, ""},
	} {
		s, state := schedule.DefaultSpec(), decided()
		s.UID, s.Created, s.Concurrency = "2f6a", created, schedule.Replace
		state.Running, state.Pending = []schedule.Run{{Tag: "a", Due: minute(0), Started: minute(0)}}, []schedule.Run{tt.waits}
		tt.change(&s, &state)
		d := schedule.Decide(s, state, schedule.Observed{JobsKnown: true, Jobs: []schedule.Job{{Tag: "a"}}}, minute(2))
		require.Equal(t, tt.stopped, d.State.Running[0].Stopped, tt.name)
		require.Equal(t, tt.stopped != "", slices.Equal([]string{"a"}, d.Stop), tt.name)
	}
}

// A run that is cancelled before it starts completes now, but not before the last run.
func TestCompletionOfACancelledRun(t *testing.T) {
	for last, want := range map[int]int{3: 5, 8: 8} {
		order := map[int][]string{3: {"last", "w"}, 8: {"w", "last"}}[last] // at one time by due time
		h := byHand(t, func(s *schedule.Spec) { s.Schedule, s.Concurrency = nil, schedule.Wait })
		h.state = decided()
		h.state.Last = ran("last", last, true)
		h.state.Last.Due = minute(2)
		h.state.Completed = []schedule.Run{h.state.Last}
		h.state.Pending = []schedule.Run{{Tag: "w", OnDemand: true, Status: schedule.Pending, Due: minute(1)}}
		h.seen.Cancelled, h.seen.Jobs = []string{"w"}, []schedule.Job{{Tag: "last", Outcome: schedule.Succeeded}}
		d := h.at(5)
		require.Equal(t, []string{"RunStopped"}, reasons(d))
		require.Equal(t, order, tagsOf(d.State.Completed))
		for _, r := range d.State.Completed {
			if r.Tag == "w" {
				require.Equal(t, minute(want), r.Completed)
				require.Equal(t, schedule.Completed, r.Status)
			}
		}
		require.Equal(t, d.Events[0].Run.Completed, minute(want))
		require.Equal(t, "last", d.State.Last.Tag)
	}
}
