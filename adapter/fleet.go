package adapter

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Fleet is what is known of the Jobs of one owner, in one namespace. It is
// counted as Jobs come and go, so that a plan in which nothing is to be deleted
// costs the same for any number of Jobs (BenchmarkTracker). The zero value has no
// Job; a nil *Fleet, where a function takes one, means that the Jobs are not known.
//
// A Fleet must not be used from two goroutines at once; a [Tracker] sees to that.
type Fleet struct {
	jobs    map[string]*member
	counts  scaling.Jobs // without Stuck and InFlight, which depend on the time
	waiting waiting      // the pending ones that are not stuck
	before  time.Time    // the last limit that Count was asked for
	stuck   int64

	unfinished map[rollout.Job]int // how many there are of each kind that the rollout could judge
	finished   [2]int              // not deleting: succeeded and failed

	numbers numbers
	flights map[int64]flight // creates that the Jobs do not show yet, by number
}

// A member is a Job with what the Fleet notes about it.
type member struct {
	Job
	isStuck bool
	deleted bool // by us, whatever the cache still shows
	index   int  // in waiting
}

// NewFleet counts Jobs from scratch. Of two with one name the later is kept.
func NewFleet(jobs []Job) *Fleet {
	f := &Fleet{jobs: make(map[string]*member, len(jobs))}
	for _, j := range jobs {
		f.Set(j)
	}
	return f
}

// Set adds a Job, or replaces what was known under its name.
func (f *Fleet) Set(j Job) {
	m := f.jobs[j.Name]
	switch {
	case m == nil:
		if f.jobs == nil {
			f.jobs = map[string]*member{}
		}
		m = &member{}
		f.jobs[j.Name] = m
	default:
		f.take(m)
		m.deleted = m.deleted && m.UID == j.UID
	}
	m.Job = j
	if flight := f.flights[j.Sequence].job; flight != nil && flight.UID == j.UID {
		m.deleted = m.deleted || flight.Deleting
	}
	if m.deleted {
		m.terminate()
	}
	f.add(m)
	f.numbers.see(j.Sequence, j.Created)
	delete(f.flights, j.Sequence)
}

// Remove forgets the Job of that name, if there is one.
func (f *Fleet) Remove(name string) {
	if m := f.jobs[name]; m != nil {
		f.take(m)
		delete(f.jobs, name)
	}
}

// deleted marks a Job whose deletion the API server has accepted.
func (f *Fleet) deleted(name string, uid types.UID) {
	if m := f.jobs[name]; m != nil && m.UID == uid {
		f.take(m)
		m.deleted = true
		m.terminate()
		f.add(m)
	}
	for _, flight := range f.flights {
		if j := flight.job; j != nil && j.Name == name && j.UID == uid {
			j.Deleting = true
			j.terminate()
		}
	}
}

func (j *Job) terminate() {
	j.Deleting = true
	if !j.finished() {
		j.Phase = Terminating
	}
}

func (f *Fleet) add(m *member)  { f.tally(m, 1) }
func (f *Fleet) take(m *member) { f.tally(m, -1) }

// tally counts a member in or out.
func (f *Fleet) tally(m *member, n int) {
	count(&f.counts, &m.Job, int64(n))
	switch m.Phase {
	case Pending:
		f.wait(m, n > 0)
	case Succeeded, Failed:
		if !m.Deleting {
			f.finished[m.Phase-Succeeded] += n
		}
	}
	if m.finished() {
		return
	}
	if f.unfinished == nil {
		f.unfinished = map[rollout.Job]int{}
	}
	kind := m.rollout()
	if f.unfinished[kind] += n; f.unfinished[kind] == 0 {
		delete(f.unfinished, kind)
	}
}

// wait puts a pending member among those that wait, or the stuck, or takes it
// out of them.
func (f *Fleet) wait(m *member, in bool) {
	switch {
	case in && m.Job.stuck(f.before):
		m.isStuck = true
		f.stuck++
	case in:
		heap.Push(&f.waiting, m)
	case m.isStuck:
		m.isStuck = false
		f.stuck--
	default:
		heap.Remove(&f.waiting, m.index)
	}
}

// Count counts the unfinished Jobs as [Count] does; none is in flight. Each Job
// that gets stuck costs the logarithm of the pending ones, once; only a limit
// before the last one is a recount.
func (f *Fleet) Count(stuckBefore time.Time) scaling.Jobs {
	if stuckBefore.Before(f.before) {
		f.before = stuckBefore
		for _, m := range f.jobs {
			if m.isStuck {
				f.wait(m, false)
				f.wait(m, true)
			}
		}
	}
	f.before = stuckBefore
	for len(f.waiting) > 0 && f.waiting[0].Job.stuck(stuckBefore) {
		m := f.waiting[0]
		f.wait(m, false)
		f.wait(m, true)
	}
	c := f.counts
	c.Stuck = f.stuck
	return c
}

// All ranges over the Jobs, in no order.
func (f *Fleet) All() iter.Seq[Job] {
	return func(yield func(Job) bool) {
		for _, m := range f.jobs {
			if !yield(m.Job) {
				return
			}
		}
	}
}

// Len is the number of Jobs, finished ones included.
func (f *Fleet) Len() int { return len(f.jobs) }

// old returns the members that the rollout deletes, in the order of their
// numbers. Where there are none it costs no more than there are kinds of Jobs.
func (f *Fleet) old(p rollout.Policy, current rollout.Revision) []*member {
	any := false
	for kind := range f.unfinished {
		one := [1]rollout.Job{kind}
		any = any || rollout.Choose(p, current, one[:]) != nil
	}
	if !any {
		return nil
	}
	members, candidates := sorted(f, (*Job).rollout)
	return pick(members, rollout.Choose(p, current, candidates))
}

// surplus returns the finished members that are more than the limits keep.
func (f *Fleet) surplus(l history.Limits) []*member {
	if !l.Exceeded(f.finished[0], f.finished[1]) {
		return nil
	}
	members, candidates := sorted(f, (*Job).history)
	return pick(members, history.Choose(l, candidates))
}

// sorted returns the members in the order of their numbers, and each as a rule sees it.
func sorted[T any](f *Fleet, as func(*Job) T) ([]*member, []T) {
	members := make([]*member, 0, len(f.jobs))
	for _, m := range f.jobs {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Name, b.Name))
	})
	candidates := make([]T, len(members))
	for i, m := range members {
		candidates[i] = as(&m.Job)
	}
	return members, candidates
}

func pick(members []*member, chosen []int) []*member {
	picked := make([]*member, len(chosen))
	for i, c := range chosen {
		picked[i] = members[c]
	}
	return picked
}

// waiting is a heap of pending members, the one that waits longest first.
type waiting []*member

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].Since.Before(w[j].Since) }
func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *waiting) Push(x any) {
	m := x.(*member)
	m.index = len(*w)
	*w = append(*w, m)
}

func (w *waiting) Pop() any {
	last := len(*w) - 1
	m := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return m
}
