package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// play decides at each step, finishes each Job after its work, and returns the due times of the runs by their start.
func (f *fixture) play(from, until time.Time, step, work time.Duration) (due []string) {
	for now := from; !now.After(until); now = now.Add(step) {
		for i, j := range f.seen.Jobs {
			if j.Outcome == "" && !now.Before(j.Created.Add(work)) {
				f.seen.Jobs[i].Outcome, f.seen.Jobs[i].Finished = schedule.Succeeded, now
			}
		}
		for _, r := range f.decides(now).Start {
			due = append(due, r.Due.Format("15:04"))
			f.seen.Jobs = append(f.seen.Jobs, schedule.Job{Tag: r.Tag, Created: now})
		}
		f.decides(now)
	}
	return due
}

// Situations that people have reported of other schedulers.
func TestReportedSituations(t *testing.T) {
	minutes := func(n int) time.Time { return created.Add(time.Duration(n) * time.Minute) }
	for _, tt := range []struct {
		name, source string
		change       func(*schedule.Policy)
		play         func(f *fixture) []string
		want         []string
	}{
		{"suspended for longer than a hundred occurrences", "kubernetes/kubernetes#45825, #110919", func(p *schedule.Policy) { p.Suspended = true },
			func(f *fixture) []string {
				f.play(minutes(0), minutes(300), time.Minute, 0)
				f.policy.Suspended = false
				return f.play(minutes(300).Add(30*time.Second), minutes(302), 30*time.Second, 0)
			}, []string{"05:00", "05:01", "05:02"}},
		{"the cluster is off for a night", "kubernetes/kubernetes#42649", nil,
			func(f *fixture) []string {
				f.play(minutes(0), minutes(1), time.Minute, 0)
				return f.play(minutes(600).Add(20*time.Second), minutes(602), 20*time.Second, 0)
			}, []string{"10:00", "10:01", "10:02"}},
		{"five occurrences missed, and all are wanted", "argoproj/argo-workflows#9632", func(p *schedule.Policy) { p.Concurrency, p.SkipOutdated = schedule.Wait, false },
			func(f *fixture) []string {
				f.play(minutes(0), minutes(0), time.Minute, 0)
				return f.play(minutes(5).Add(10*time.Second), minutes(6).Add(-time.Second), time.Second, time.Second)
			}, []string{"00:01", "00:02", "00:03", "00:04", "00:05"}},
		{"runs of two minutes each minute, none may be lost", "argoproj/argo-workflows#6778", func(p *schedule.Policy) { p.Concurrency, p.SkipOutdated = schedule.Wait, false },
			func(f *fixture) []string { return f.play(minutes(0), minutes(8), 10*time.Second, 2*time.Minute) }, []string{"00:00", "00:01", "00:02", "00:03", "00:04"}},
		{"runs of two minutes each minute, with Forbid", "kubernetes/website#44796", func(p *schedule.Policy) { p.Concurrency = schedule.Forbid },
			func(f *fixture) []string { return f.play(minutes(0), minutes(8), 10*time.Second, 130*time.Second) }, []string{"00:00", "00:02", "00:04", "00:06"}},
		{"resumed with a year of catching up, and one at a time", "temporalio/temporal#4332", func(p *schedule.Policy) { p.Suspended = true },
			func(f *fixture) []string {
				f.play(minutes(0), minutes(10), time.Minute, 0)
				f.policy.Suspended = false
				return f.play(minutes(10).Add(time.Second), minutes(11).Add(-time.Second), time.Second, 0)
			}, []string{"00:10"}},
		{"created long after its start: nothing of the past", "apache/airflow#38168", func(p *schedule.Policy) { p.Created = minutes(90).Add(30 * time.Second) },
			func(f *fixture) []string {
				return f.play(minutes(90).Add(30*time.Second), minutes(92), 30*time.Second, 0)
			}, []string{"01:31", "01:32"}},
		{"the interval is edited: nothing of the past", "apache/airflow#45274", nil,
			func(f *fixture) []string {
				f.play(minutes(0), minutes(7), time.Minute, 0)
				f.policy.Schedule = policyOf(f.t, "R/2026-01-01T00:00:00Z/PT2M", nil).Schedule
				return f.play(minutes(7).Add(time.Second), minutes(10), time.Second, 0)
			}, []string{"00:08", "00:10"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fixture{t: t, policy: policyOf(t, "R/2026-01-01T00:00:00Z/PT1M", nil), seen: none}
			if tt.change != nil {
				tt.change(&f.policy)
			}
			require.Equal(t, tt.want, tt.play(f), tt.source)
		})
	}
}
