package keda

import (
	"sort"
	"time"
)

// A Pruning says which finished Jobs KEDA deletes.
type Pruning struct {
	Deleted []int // indexes, succeeded Jobs first, in the order in which they go; nil where there are none
	Fault   Fault // NegativeLimit, or none; then Deleted is what goes before
}

// History returns the finished Jobs that KEDA deletes at the end of a poll, from
// Jobs in the order in which the API server lists them. A limit that is not set
// is 100. Jobs that are being deleted count, and are deleted again. Paused, KEDA
// deletes none.
//
// Each outcome is sorted by completion time. A Job without one, as every failed
// Job is, is equal to all others, and so failed Jobs go as they are listed; but
// for more than 12 of which only some have a time, the order is whatever the
// standard library's sort makes of it.
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
			return Pruning{chosen, NegativeLimit}
		}
		if excess := len(of) - limit; excess > 0 {
			sort.Sort(byCompletion{jobs, of})
			chosen = append(chosen, of[:excess]...)
		}
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

// byCompletion sorts indexes of Jobs. Its order is not transitive where only some
// Jobs have a time, and so the algorithm is part of the result.
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
