package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

// A job with n completed runs and their Jobs, after as many seconds as are missed.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{0, 10, 200} {
		for _, missed := range []int{0, 10, 1_000_000_000} {
			s := schedule.DefaultPolicy()
			s.UID, s.Created, s.Schedule = "2f6a", created, schedule.ISO8601(parse(b, "R/2026-01-01T00:00:00Z/PT1S"), nil)
			s.SkipOutdated = true
			state, seen, now := schedule.Checkpoint{}, schedule.Observation{JobsKnown: true}, created
			for i := range n {
				now = created.Add(time.Duration(i) * time.Second)
				d := decide(s, state, seen, now)
				for _, r := range d.Start {
					outcome := []schedule.Outcome{schedule.Succeeded, schedule.Failed}[i%2]
					seen.Jobs = append(seen.Jobs, schedule.Job{Tag: r.Tag, Outcome: outcome, Created: now, Finished: now})
				}
				state = decide(s, d.Checkpoint, seen, now).Checkpoint
			}
			now = now.Add(time.Duration(missed) * time.Second)
			b.Run(fmt.Sprintf("n=%d/missed=%d", n, missed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					decide(s, state, seen, now)
				}
			})
		}
	}
}
