package history_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scaledjob/scaledjob/history"
)

// finished returns n succeeded Jobs of the last 30 days, in seconds as Kubernetes
// records them.
func finished(n int, order string) []history.Job {
	random := rand.New(rand.NewPCG(1, 2))
	jobs := make([]history.Job, n)
	for i := range jobs {
		jobs[i] = history.Job{
			Name: fmt.Sprintf("consumer-%06d", i), Outcome: history.Succeeded,
			Finished: at(0).Add(time.Duration(random.IntN(30*24*3600)) * time.Second),
		}
	}
	switch order {
	case "oldest first":
		slices.SortFunc(jobs, func(a, b history.Job) int { return a.Finished.Compare(b.Finished) })
	case "newest first":
		slices.SortFunc(jobs, func(a, b history.Job) int { return b.Finished.Compare(a.Finished) })
	case "all at once":
		for i := range jobs {
			jobs[i].Finished = at(0)
		}
		random.Shuffle(n, func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	}
	return jobs
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		jobs := finished(n, "random")
		for _, k := range []int{0, 10, n - 100} {
			b.Run(fmt.Sprintf("n=%d/delete=%d", n, k), func(b *testing.B) { choose(b, jobs, k) })
		}
	}
	jobs := finished(100_000, "newest first")
	b.Run("n=100000/delete=10/newest first", func(b *testing.B) { choose(b, jobs, 10) })
}

func choose(b *testing.B, jobs []history.Job, k int) {
	policy := history.Policy{Succeeded: history.Keep(int64(len(jobs) - k))}
	b.ReportAllocs()
	for b.Loop() {
		history.Decide(policy, history.Observation{Jobs: jobs})
	}
}
