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
		indexes := finished(jobs, o.outcome)
		limit := 100
		if o.limit != nil {
			limit = int(*o.limit)
		}
		if limit < 0 {
			return Pruning{chosen, negativeLimit}
		}
		sort.Sort(byCompletion{jobs, indexes})
		chosen = append(chosen, indexes[:max(0, len(indexes)-limit)]...)
	}
	return Pruning{Deleted: chosen}
}

func finished(jobs []Job, outcome string) []int {
	var indexes []int
	for i := range jobs {
		if jobs[i].outcome() == outcome {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// byCompletion sorts indexes of Jobs. If only some Jobs have a time, the order is not
// transitive, and the algorithm determines the result.
type byCompletion struct {
	jobs    []Job
	indexes []int
}

func (b byCompletion) Len() int      { return len(b.indexes) }
func (b byCompletion) Swap(i, k int) { b.indexes[i], b.indexes[k] = b.indexes[k], b.indexes[i] }
func (b byCompletion) Less(i, k int) bool {
	return before(b.jobs[b.indexes[i]].CompletionTime, b.jobs[b.indexes[k]].CompletionTime)
}

func before(a, b *time.Time) bool { return a != nil && b != nil && a.Before(*b) }
