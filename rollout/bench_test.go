package rollout_test

import (
	"fmt"
	"testing"

	"github.com/scaledjob/scaledjob/rollout"
)

// current returns n Jobs of generation 2, at work.
func current(n int) []rollout.Job {
	jobs := make([]rollout.Job, n)
	for i := range jobs {
		jobs[i].Revision = revision(2, "a")
	}
	return jobs
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		jobs := current(n)
		for _, bench := range []struct {
			name string
			now  rollout.Revision
		}{{"delete=none", revision(2, "a")}, {"delete=all", revision(3, "b")}} {
			b.Run(fmt.Sprintf("n=%d/%s", n, bench.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rollout.Choose(immediate, bench.now, jobs)
				}
			})
		}
	}
}
