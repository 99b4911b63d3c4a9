package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// policyOf returns the default policy with an interval.
func policyOf(t require.TestingT, text string, zone *time.Location) schedule.Policy {
	p := schedule.DefaultPolicy()
	p.UID, p.Created, p.Schedule = "2f6a", created, schedule.ISO8601(parse(t, text), zone)
	return p
}

func hour(n int) time.Time { return created.Add(time.Duration(n) * time.Hour) }

func day(n int) time.Time { return created.AddDate(0, 0, n-1) }

// clockFault returns a job whose clock was a year ahead at its first decision, with its only Job finished.
func clockFault(t *testing.T, change func(*schedule.Policy)) *fixture {
	f := byHand(t, change)
	d := decide(f.policy, f.checkpoint, none, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Len(t, d.Start, 1)
	f.checkpoint, f.seen.Jobs = d.Checkpoint, []schedule.Job{job(d.Start[0], schedule.Succeeded, day(2))}
	return f
}

func (f *fixture) decides(now time.Time) schedule.Decision {
	d := decide(f.policy, f.checkpoint, f.seen, now)
	f.checkpoint = d.Checkpoint
	return d
}

// A clock that was ahead starts nothing that is due later than now. It is reported with both times.
func TestClockWasAhead(t *testing.T) {
	for name, change := range map[string]func(*schedule.Policy){
		"all wait":   func(p *schedule.Policy) { p.Concurrency, p.SkipOutdated = schedule.Wait, false },
		"the latest": func(*schedule.Policy) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := clockFault(t, change)
			f.decides(day(2))
			for n := range 5 {
				d := f.decides(day(2).Add(time.Duration(n) * time.Minute))
				require.Empty(t, d.Start)
				reason, text := d.Waits()
				require.Equal(t, schedule.ClockAhead, reason)
				require.Contains(t, text, "2026-01-02T00:0")
				require.Contains(t, text, "2027-01-01T00:00:00Z")
			}
		})
	}
}

// A new value of Rewind, or another identity, cures a checkpoint that is ahead. Each value acts once, and
// no recorded run repeats when its time comes.
func TestRewind(t *testing.T) {
	for name, cure := range map[string]func(*schedule.Policy){
		"annotation": func(p *schedule.Policy) { p.Rewind = "1" },
		"identity":   func(p *schedule.Policy) { p.Schedule = schedule.ISO8601(parse(t, "R//PT60S"), location(t, "Etc/GMT")) },
	} {
		t.Run(name, func(t *testing.T) {
			f := clockFault(t, func(p *schedule.Policy) { p.Concurrency, p.SkipOutdated = schedule.Wait, false })
			recorded := f.seen.Jobs[0].Tag
			f.decides(day(2))
			cure(&f.policy)
			d := f.decides(day(2).Add(30 * time.Second))
			require.Contains(t, reasons(d), "RunsDropped")
			reason, _ := d.Waits()
			require.NotEqual(t, schedule.ClockAhead, reason)
			f.policy.Rewind = "1"
			d = f.decides(day(2).Add(90 * time.Second))
			require.Len(t, d.Start, 1)
			require.False(t, d.Start[0].Due.After(day(2).Add(90*time.Second)))
			f.seen.Jobs = append(f.seen.Jobs, job(d.Start[0], schedule.Succeeded, day(2)))
			f.decides(day(2).Add(90 * time.Second))

			f.policy.SkipOutdated, f.policy.History = true, schedule.Policy{}.History
			at, ok := schedule.TagOccurrence("2f6a", recorded)
			require.True(t, ok)
			for _, now := range []time.Time{at.Add(-time.Minute), at, at.Add(time.Second), at.Add(time.Minute)} {
				d = f.decides(now)
				for _, r := range d.Start {
					require.NotEqual(t, recorded, r.Tag)
					f.seen.Jobs = append(f.seen.Jobs, job(r, schedule.Succeeded, now))
				}
				f.decides(now)
			}
			require.NotEmpty(t, d.Start)
			require.Empty(t, f.checkpoint.Early)
			require.Equal(t, f.checkpoint.Due, f.checkpoint.Started+f.checkpoint.PendingScheduled()+f.checkpoint.Missed+f.checkpoint.Dropped)
		})
	}
	f := clockFault(t, func(*schedule.Policy) {})
	f.policy.Rewind = "1"
	require.Contains(t, reasons(f.decides(day(2))), "Rewound")
	f.decides(day(400))
	require.NotContains(t, reasons(f.decides(day(3))), "Rewound", "the value acts once")
	f.policy.Rewind = "2"
	require.Contains(t, reasons(f.decides(day(3))), "Rewound")
	f.policy.Rewind = "1"
	f.decides(day(400))
	require.NotContains(t, reasons(f.decides(day(4))), "Rewound", "for ever")
}

// A run whose create was decided by a clock that was ahead is not created now. It waits again when its
// create can have no effect any more.
func TestCreateOfAClockAhead(t *testing.T) {
	f := byHand(t, func(p *schedule.Policy) { p.Concurrency = schedule.Wait })
	require.Len(t, f.decides(day(400)).Start, 1)
	f.policy.Rewind = "1"
	f.decides(day(2))
	require.Empty(t, f.decides(day(2).Add(time.Minute)).Start, "its Job may exist")
	f.seen.Settled = true
	require.Len(t, f.decides(day(2).Add(2*time.Minute)).Start, 1)
	require.Empty(t, f.checkpoint.Early)
}

// An edit of anything but the start, recurrence and zone keeps count, phase and what was handled.
func TestEditsThatKeepTheCount(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R3//PT1H", nil), seen: none}
	for n := range 3 {
		d := f.decides(hour(n))
		require.Len(t, d.Start, 1)
		f.seen.Jobs = append(f.seen.Jobs, job(d.Start[0], schedule.Succeeded, hour(n)))
		f.decides(hour(n))
	}
	for _, edit := range []func(*schedule.Policy){
		func(p *schedule.Policy) { p.End = day(30) },
		func(p *schedule.Policy) { p.Jitter = schedule.Duration(20 * time.Minute) },
		func(p *schedule.Policy) { p.Schedule = schedule.ISO8601(parse(t, "R3//PT60M"), time.UTC) },
		func(p *schedule.Policy) { p.SkipOutdated, p.BlockOnFailure = false, true },
	} {
		edit(&f.policy)
		d := f.decides(hour(9))
		require.Empty(t, d.Start)
		require.True(t, d.NextRun.Time.IsZero())
		require.EqualValues(t, 3, d.Checkpoint.Started)
	}
	f.policy.Schedule, f.policy.Jitter = schedule.ISO8601(parse(t, "R5//PT1H"), nil), 0
	d := f.decides(hour(9))
	require.Len(t, d.Start, 2, "R3 edited to R5 runs two more")
	require.Equal(t, hour(3), d.Start[0].Due)
	f.policy.Schedule = schedule.ISO8601(parse(t, "R5//PT1H"), location(t, "Europe/Berlin"))
	d = f.decides(hour(20))
	require.EqualValues(t, hour(20), d.Checkpoint.Begin, "another zone")
}

// Every hour runs once, whatever the jitter is edited to, and when.
func TestEditsOfTheJitter(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R//PT1H", nil), seen: none}
	runs := map[time.Time]int{}
	for n := range 300 {
		f.policy.Jitter = schedule.Duration(n%7) * schedule.Duration(17*time.Minute)
		now := created.Add(time.Duration(n) * 11 * time.Minute)
		for _, r := range f.decides(now).Start {
			runs[r.Due]++
			require.False(t, now.Before(r.Due.Add(time.Duration(r.Delay))))
			f.seen.Jobs = append(f.seen.Jobs, job(r, schedule.Succeeded, now))
		}
		f.decides(now)
	}
	require.Len(t, runs, 55)
	for at, n := range runs {
		require.Equal(t, 1, n, at)
	}
}

// A run that started before its time, because the clock went back, is not missed while another was active.
func TestMissedBesideAnEarlyRun(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/PT1H", nil), seen: none}
	f.policy.Concurrency, f.policy.StartingDeadline = schedule.Wait, schedule.Duration(30*time.Minute)
	first := f.decides(hour(0)).Start[0]
	f.checkpoint.Early = []time.Time{hour(2)}
	f.seen.Jobs = []schedule.Job{job(first, schedule.Succeeded, hour(3).Add(30*time.Minute))}
	d := f.decides(hour(5))
	require.Equal(t, schedule.Missed{schedule.OtherRunIsActive: 2, schedule.DeadlineExceeded: 1}, d.Checkpoint.MissedBy)
}

// If the run that was due last was missed, the reason says so until a run starts.
func TestLastDueRunWasMissed(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/PT1H", nil), seen: none}
	f.policy.StartingDeadline = schedule.Duration(time.Minute)
	d := f.decides(hour(3).Add(30 * time.Minute))
	reason, text := d.Waits()
	require.Equal(t, schedule.DeadlineExceeded, reason)
	require.Equal(t, "the last due run was missed, because their starting deadline passed", text)
	d = f.decides(hour(4))
	reason, _ = d.Waits()
	require.Empty(t, reason)
}

// Of 15 due runs that may not overlap, one starts and the others wait for it.
func TestOneStartsAndOthersWait(t *testing.T) {
	p := policyOf(t, "R/2026-01-01T00:00:00Z/PT1H", nil)
	p.Concurrency, p.SkipOutdated = schedule.Wait, false
	d := decide(p, schedule.Checkpoint{}, none, hour(14))
	require.Len(t, d.Start, 1)
	reason, text := d.Waits()
	require.Equal(t, schedule.OtherRunIsActive, reason)
	require.Equal(t, "another run is active", text)
}

// A waiting run does not outlive its schedule.
func TestEndedSchedule(t *testing.T) {
	for name, edit := range map[string]func(*schedule.Policy){
		"removed":      func(p *schedule.Policy) { p.Schedule = nil },
		"ended before": func(p *schedule.Policy) { p.End = day(1) },
		"fewer":        func(p *schedule.Policy) { p.Schedule = schedule.ISO8601(parse(t, "R1/2026-01-01T00:00:00Z/P1D"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/P1D", nil), seen: none}
			f.policy.Suspended = true
			require.Len(t, f.decides(day(2)).Checkpoint.Pending, 1)
			edit(&f.policy)
			d := f.decides(day(3))
			require.Contains(t, reasons(d), "RunsDropped")
			require.Contains(t, fmt.Sprint(d.Events), "Waiting runs are dropped, because the schedule was removed or has ended")
			f.policy.Suspended = false
			require.Empty(t, f.decides(day(4)).Start)
		})
	}
	f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/P1D", nil), seen: none}
	f.policy.Suspended = true
	f.decides(day(2))
	f.policy.End, f.policy.Suspended = day(2), false
	require.Len(t, f.decides(day(3)).Start, 1, "its occurrence is not after the end")
}

// A cancelled or replaced run is neither success nor failure: a block stays as it is, and nobody who waits
// for a failure runs.
func TestStoppedRunsAreNoFailures(t *testing.T) {
	for _, failed := range []bool{false, true} {
		f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/P1D", nil), seen: none}
		f.policy.BlockOnFailure = true
		if failed {
			f.seen.Jobs = []schedule.Job{job(f.decides(day(1)).Start[0], schedule.Failed, day(1))}
			f.decides(day(1))
		}
		f.seen.Requests = []schedule.Request{{ID: "r", RequestedAt: day(2)}}
		d := f.decides(day(2).Add(-1))
		if !failed {
			f.gone(d.Start[0].Tag)
			f.seen.Jobs = append(f.seen.Jobs, job(d.Start[0], schedule.Succeeded, day(2)))
		}
		requested := d.Start[len(d.Start)-1]
		f.seen.Jobs = append(f.seen.Jobs, job(requested, "", time.Time{}))
		f.seen.Cancelled = []string{requested.Tag}
		f.decides(day(2))
		f.gone(requested.Tag)
		d = f.decides(day(2))
		require.Equal(t, failed, d.Checkpoint.Blocked)
		require.EqualValues(t, 1, d.Checkpoint.Stopped)
		up := d.Checkpoint.Upstream("a", "u")
		up.Created = created
		for outcome, want := range map[schedule.Outcome]int64{schedule.Failed: d.Checkpoint.Failed, schedule.Succeeded: d.Checkpoint.Succeeded, schedule.Any: d.Checkpoint.Failed + d.Checkpoint.Succeeded + 1} {
			follower := schedule.DefaultPolicy()
			follower.UID, follower.Created, follower.After = "x", created, []schedule.Dependency{{Job: "a", Outcome: outcome}}
			e := decide(follower, schedule.Checkpoint{}, following(up), day(3))
			require.Len(t, e.Start, int(want), outcome)
		}
	}
}

// A new value of Unblock ends a block, once. The text of a block names the run that failed and what ends it.
func TestUnblock(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/P1D", nil), seen: none}
	f.policy.BlockOnFailure = true
	for n, value := range map[int]string{1: "a", 2: "b"} {
		d := f.decides(day(n))
		require.Len(t, d.Start, 1)
		f.seen.Jobs = append(f.seen.Jobs, job(d.Start[0], schedule.Failed, day(n)))
		d = f.decides(day(n))
		_, text := d.Waits()
		require.Contains(t, text, "run "+d.Checkpoint.FailedRun+" failed; a requested run that succeeds ends the block, as does an earlier scheduled one")
		require.Contains(t, text, schedule.AnnotationUnblock)
		f.policy.Unblock = value
		require.Contains(t, reasons(f.decides(day(n))), "Unblocked")
		if n == 2 {
			break
		}
	}
}

// A run has its occurrence in the zone of the schedule and the delay beside it, also after JSON.
func TestOccurrenceInItsZone(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R/T00:00/P1D", location(t, "Europe/Berlin")), seen: none}
	f.policy.Jitter = schedule.Duration(30 * time.Minute)
	d := f.decides(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	require.Equal(t, "2026-07-01T00:00:00+02:00", d.Start[0].Due.Format(time.RFC3339))
	require.Less(t, time.Duration(d.Start[0].Delay), 30*time.Minute)
	require.NotZero(t, d.Start[0].Delay)
	require.Regexp(t, "^20260630t220000-", d.Start[0].Tag)
	require.Equal(t, "2026-07-02T00:00:00+02:00", d.NextRun.Time.Format(time.RFC3339))
	c := newCluster(f.policy)
	c.store(d.Checkpoint)
	require.Contains(t, string(c.stored), `"dueAt":"2026-07-01T00:00:00+02:00","delay":"`)
	require.True(t, c.state().Equal(d.Checkpoint))
}

// A cancelled run makes room for requests in the same decision, and so does the Job of a dropped run that is gone.
func TestRoomForRequests(t *testing.T) {
	f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/PT1M", nil), seen: none}
	f.policy.Concurrency, f.policy.SkipOutdated, f.policy.Suspended, f.policy.Jitter = schedule.Wait, false, true, schedule.Duration(15*time.Second)
	for n := range 20 {
		f.seen.Requests = append(f.seen.Requests, schedule.Request{ID: fmt.Sprint(n), RequestedAt: day(1)})
	}
	now := created.Add(999 * time.Minute)
	f.decides(now)
	waiting := len(f.checkpoint.Pending)
	require.Less(t, waiting, 1020, "not all requests fit")
	for _, r := range f.checkpoint.Pending[waiting-50:] {
		f.seen.Cancelled = append(f.seen.Cancelled, r.Tag)
	}
	for n := range 50 {
		f.checkpoint.PendingDeletion = append(f.checkpoint.PendingDeletion, fmt.Sprintf("20250101t0000%02d-00000000", n))
	}
	d := f.decides(now)
	require.Greater(t, len(d.Checkpoint.Pending), waiting-50)
	again := f.decides(now)
	require.Equal(t, len(d.Checkpoint.Pending), len(again.Checkpoint.Pending))
	require.True(t, d.Checkpoint.Equal(again.Checkpoint))
}
