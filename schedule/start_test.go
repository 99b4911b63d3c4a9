package schedule_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// full returns a state whose history is full, and the time at which it became so.
func full(t *testing.T, s schedule.Policy) (schedule.Checkpoint, time.Time) {
	state, now := schedule.Checkpoint{}, created.Add(123456789)
	for i := range 200 {
		outcome := []schedule.Outcome{schedule.Succeeded, schedule.Failed}[i%2]
		d := decide(s, state, none, now)
		require.Len(t, d.Start, 1)
		seen := completed(d.Checkpoint)
		seen.Jobs = append(seen.Jobs, job(d.Start[0], outcome, now))
		state, now = decide(s, d.Checkpoint, seen, now).Checkpoint, now.Add(time.Minute)
	}
	require.Len(t, state.Completed, 200)
	return state, now
}

// completed is the list of the Jobs that a state has as completed.
func completed(s schedule.Checkpoint) schedule.Observation {
	seen := none
	for _, r := range s.Completed {
		seen.Jobs = append(seen.Jobs, schedule.Job{Tag: r.Tag, Outcome: r.Outcome(), Finished: r.Completed})
	}
	return seen
}

var every = flag.Bool("every", false, "test each combination of the settings")

// The state is bounded in a day of rejected or lost creates, with each combination of the settings.
// Without -every it is a part of them.
func TestSizeInAnOutage(t *testing.T) {
	choices := []int{2, 2, 2, 2, 4, 2, 2, 2, 2, 3}
	all := 1
	for _, n := range choices {
		all *= n
	}
	step := 419 // neither 2 nor 3 divides it; one of them has a backlog that the state has no room for
	if *every {
		step = 1
	}
	before := map[bool]schedule.Checkpoint{}
	var began time.Time
	for _, keep := range []bool{false, true} {
		s := minutely(t)
		if s.Schedule = often(t); keep {
			s.History = history.Policy{}
		}
		before[keep], began = full(t, s)
	}
	largest := 0
	for of := 0; of < all; of += step {
		rest := of
		choose := func(i int) int {
			n := rest % choices[i]
			rest /= choices[i]
			return n
		}
		s := minutely(t)
		s.Schedule = often(t)
		s.SkipOutdated, s.BlockOnFailure, s.Suspended = choose(0) == 1, choose(1) == 1, choose(2) == 1
		s.StartingDeadline = []schedule.Duration{0, schedule.Duration(10 * time.Minute)}[choose(3)]
		s.Concurrency = []schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace}[choose(4)]
		s.MaxWaiting, s.MaxCatchUp = []int64{0, 10_000}[choose(5)], []int64{0, 10_000}[choose(6)]
		keep := choose(7) == 1
		if keep {
			s.History = history.Policy{}
		}
		asked := choose(8) == 1
		if asked {
			s.After = after("other")
		}
		largest = max(largest, sizeInADay(t, s, before[keep], began, asked, choose(9)))
	}
	t.Logf("at most %d bytes with %d combinations", largest, all/step)
	require.Less(t, largest, 60<<10)
	require.Greater(t, largest, 50<<10)
}

func often(t *testing.T) schedule.Schedule {
	return schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00.123456789Z/PT10S"), nil)
}

// sizeInADay returns the largest size of the state as JSON. No create is answered, or all are
// rejected, or all are rejected after one that may arrive.
func sizeInADay(t *testing.T, s schedule.Policy, state schedule.Checkpoint, now time.Time, asked bool, answers int) (size int) {
	seen := completed(state)
	if asked {
		for i := range 100 {
			seen.Requests = append(seen.Requests, schedule.Request{ID: fmt.Sprintf("%066d", i), Occurrence: now})
		}
	}
	for hour := range 32 {
		if hour < 8 { // decisions are frequent at first
			now = now.Add(time.Minute)
		} else {
			now = now.Add(time.Hour)
		}
		seen.Upstreams = []schedule.Upstream{{Job: "other", UID: "o", Created: created, Counts: schedule.Counts{Succeeded: int64(100 * hour)}}}
		d := decide(s, state, seen, now)
		seen.Rejected = nil
		for _, r := range d.Start {
			if answers > 0 {
				seen.Rejected = append(seen.Rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: strings.Repeat("r", 400), MayArrive: answers > 1})
			}
		}
		state = d.Checkpoint
		data, err := json.Marshal(state)
		require.NoError(t, err)
		size = max(size, len(data))
	}
	return size
}

// The times between tries double up to five minutes. Only the create that was decided
// last can be rejected.
func TestBackOff(t *testing.T) {
	for _, c := range []schedule.Concurrency{schedule.Allow, schedule.Wait} {
		t.Run(string(c), func(t *testing.T) { backOff(t, c) })
	}
}

// An observed Job ends a long wait, also if the create of another is rejected before the same decision.
func TestObservedAndRejected(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.Concurrency = nil, schedule.Allow
	seen := none
	seen.Requests = []schedule.Request{{ID: "a", RequestedAt: created}, {ID: "b", RequestedAt: created}}
	d := decide(s, schedule.Checkpoint{}, seen, created)
	require.Len(t, d.Start, 2)
	d.Checkpoint.Tries = 9
	seen.Jobs = []schedule.Job{{Tag: d.Start[0].Tag, Created: created}}
	seen.Rejected = []schedule.Rejection{{Tag: d.Start[1].Tag, Attempt: 1, Reason: "quota"}}
	d = decide(s, d.Checkpoint, seen, created)
	require.Equal(t, "quota", d.Checkpoint.Rejected)
	require.Equal(t, created.Add(4*time.Second), d.Checkpoint.RetryAt)
}

// A rejection that is reported at each decision, as while the state cannot be stored, does not put the next create
// off. A state without the time of the next create has it at once, and says so.
func TestRejectedAgain(t *testing.T) {
	s := minutely(t)
	s.Schedule = nil
	seen := none
	seen.Requests = []schedule.Request{{ID: "a", RequestedAt: created}}
	d := decide(s, schedule.Checkpoint{}, seen, created)
	seen.Rejected = []schedule.Rejection{{Tag: d.Start[0].Tag, Attempt: 1, Reason: "quota", MayArrive: true}}
	for second := range 4 {
		d = decide(s, d.Checkpoint, seen, created.Add(time.Duration(second)*time.Second))
		require.Equal(t, created.Add(4*time.Second), d.Checkpoint.RetryAt)
		require.Empty(t, d.Start)
	}
	d = decide(s, d.Checkpoint, seen, created.Add(4*time.Second))
	require.Len(t, d.Start, 1)
	d.Checkpoint.RetryAt = time.Time{}
	_, why := d.Waits()
	require.Equal(t, "quota; the next create is tried at once", why)
}

func backOff(t *testing.T, c schedule.Concurrency) {
	s := minutely(t)
	s.Schedule, s.Concurrency = nil, c
	seen, state, now := none, schedule.Checkpoint{}, created
	seen.Requests = []schedule.Request{{ID: "a", RequestedAt: created}, {ID: "b", RequestedAt: created}}
	var waits []float64
	tags := map[string]int{}
	for range 12 {
		d := decide(s, state, seen, now)
		seen.Rejected = nil
		for _, r := range d.Start {
			tags[r.Tag]++
			seen.Rejected = append(seen.Rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts})
		}
		d = decide(s, d.Checkpoint, seen, now)
		require.Empty(t, d.Start)
		require.Equal(t, d.Checkpoint, decide(s, d.Checkpoint, seen, now).Checkpoint, "told twice")
		require.Empty(t, decide(s, d.Checkpoint, none, d.NextCheck.Add(-1)).Start)
		waits = append(waits, d.NextCheck.Sub(now).Seconds())
		state, now = d.Checkpoint, d.NextCheck
	}
	require.Equal(t, []float64{4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300, 300}, waits)
	require.Len(t, tags, 2)
	for _, n := range tags {
		require.GreaterOrEqual(t, n, 6, "each in turn")
	}
	// A clock that has gone back does not wait for the old time.
	require.Len(t, decide(s, state, seen, now.Add(-time.Hour)).Start, 1)
	// What was rejected long ago says nothing about the create that is under way.
	d := decide(s, state, none, now)
	require.Len(t, d.Start, 1)
	seen.Rejected = []schedule.Rejection{{Tag: d.Start[0].Tag, Attempt: d.Start[0].Attempts - 1}}
	again := decide(s, d.Checkpoint, seen, now)
	require.True(t, d.Checkpoint.Equal(again.Checkpoint))
}

// After a rejected create, the next check is the next try, if a run may start then.
func TestCheckedAtTheNextTry(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		f := byHand(t, func(s *schedule.Policy) { s.Schedule = schedule.ISO8601(parse(t, "R1/2026-01-01T00:00:00Z/PT1M"), nil) })
		r := f.at(1).Start[0]
		f.policy.Suspended, f.seen.Rejected = suspended, []schedule.Rejection{{Tag: r.Tag, Attempt: r.Attempts}}
		d := f.at(1)
		require.Len(t, d.Checkpoint.Pending, 1)
		require.Equal(t, minute(1).Add(4*time.Second), d.Checkpoint.RetryAt)
		if suspended {
			require.Zero(t, d.NextCheck)
		} else {
			require.Equal(t, d.Checkpoint.RetryAt, d.NextCheck)
		}
	}
}

// With a state of another version, nothing happens, and the decision says why.
func TestVersion(t *testing.T) {
	s := minutely(t)
	for _, state := range []schedule.Checkpoint{{Version: 2}, {Version: 7, Begin: created, Handled: created}, {Begin: created, Handled: created}, {Begin: created}, {Handled: created}} {
		err := state.Validate()
		var problem *field.Error
		require.ErrorAs(t, err, &problem)
		require.Equal(t, "version", problem.Path)
		require.ErrorContains(t, err, "use a checkpoint of version 1")
		d := decide(s, state, none, minute(9))
		require.True(t, d.Checkpoint.Equal(state))
		require.Empty(t, d.Start)
		require.True(t, d.JobsUnknown)
	}
	d := decide(s, schedule.Checkpoint{}, none, minute(9))
	require.NoError(t, d.Checkpoint.Validate())
	require.Equal(t, int32(1), d.Checkpoint.Version)
}

// A schedule needs a creation time.
func TestCreatedIsValidated(t *testing.T) {
	s := minutely(t)
	require.NoError(t, s.Validate())
	s.Created = time.Time{}
	require.ErrorContains(t, s.Validate(), "Created: found nothing; use the creation time")
}
