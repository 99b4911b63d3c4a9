package keda

import (
	"sort"
	"time"
)

// A Pruning lists the finished Jobs that KEDA deletes.
type Pruning struct {
	Deleted []int // indexes in the order of deletion, succeeded Jobs first; nil if there are none
	Fault   Fault // NoFault, or a negative limit; Deleted then lists the deletions before it
}

// History returns the finished Jobs that KEDA deletes at the end of a poll. jobs is in
// the order of the API server's list. A limit that is not set is 100. Terminating Jobs
// count and are deleted again. A paused ScaledJob deletes none.
//
// KEDA sorts the Jobs of each outcome by completion time. A Job without a time, as
// every failed Job is, equals all others, so that failed Jobs keep the order of the
// list. If only some of more than 12 Jobs have a time, the order depends on the
// algorithm of package sort, which History uses too.
func (p Profile) History(j *ScaledJob, jobs []Job) Pruning {
	if p.Paused(j) {
		return Pruning{}
	}
	var chosen []int
	for _, o := range []struct {
		outcome string
		limit   *int32
	}{
		{"Complete", j.Spec.SuccessfulJobsHistoryLimit},
		{"Failed", j.Spec.FailedJobsHistoryLimit},
	} {
		of := finished(jobs, o.outcome)
		limit := 100
		if o.limit != nil {
			limit = int(*o.limit)
		}
		if limit < 0 {
			return Pruning{chosen, negativeLimit}
		}
		sort.Sort(byCompletion{jobs, of})
		chosen = append(chosen, of[:max(0, len(of)-limit)]...)
	}
	return Pruning{Deleted: chosen}
}

func finished(jobs []Job, outcome string) []int {
	var of []int
	for i := range jobs {
		if jobs[i].outcome() == outcome {
			of = append(of, i)
		}
	}
	return of
}

// byCompletion sorts indexes of Jobs. If only some Jobs have a time, the order is not
// transitive, and the algorithm determines the result.
type byCompletion struct {
	jobs []Job
	of   []int
}

func (b byCompletion) Len() int      { return len(b.of) }
func (b byCompletion) Swap(i, k int) { b.of[i], b.of[k] = b.of[k], b.of[i] }
func (b byCompletion) Less(i, k int) bool {
	return before(b.jobs[b.of[i]].CompletionTime, b.jobs[b.of[k]].CompletionTime)
}

func before(a, b *time.Time) bool { return a != nil && b != nil && a.Before(*b) }
