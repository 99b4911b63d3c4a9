package adapter

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// An owned holds the state of an owner's Jobs: the Jobs in the cache, counted as they
// change, and the set that decides about creates and deletes.
type owned struct {
	uid       types.UID
	target    *tracked     // nil while the owner is not tracked
	namespace string       // of the last target
	set       *slots.Set   // nil until the owner is tracked
	keyed     bool         // the set is
	before    time.Time    // creates of another identity may arrive until then
	now       *application // the plan being carried out
	jobs      map[types.UID]*job
	sent      map[slots.Slot]*origin // of the creates in flight, and of some before
	called    string                 // by the controller reference of a Job; "" if there was none
	stuck     *stuck                 // nil is not counted
	aged      bool                   // expiry is known
	expiry    time.Time              // when the next finished Job reaches its age; zero if none does
	counted
}

// A counted counts the Jobs in the cache.
type counted struct {
	phases   [InFlight]int32 // without strays, as the next two
	outdated int32
	surplus  [2]int32 // finished and not being deleted: succeeded and failed
	pruning  int32
	foreign  int32 // Jobs with a time to live, which somebody else carries out
}

// An origin is what a Job in flight was created from.
type origin struct {
	from    *tracked
	at      time.Time // when the create was sent
	item    *Item     // nil if the Job is numbered
	labels  map[string]string
	deleted types.UID // the API server accepted our delete of it
}

// A stuck counts the Jobs that have been pending since the limit before, or longer.
type stuck struct {
	n      int64
	before int64           // in nanoseconds since 1970
	at     map[int64]int32 // Jobs by PendingSince
	later  []int64         // a heap of the times after before
}

func (s *stuck) add(since time.Time, n int32) {
	at := since.UnixNano()
	if s.at[at] += n; at <= s.before {
		s.n += int64(n)
	} else if n > 0 && s.at[at] == n {
		heap.Push((*times)(&s.later), at)
	}
	if s.at[at] == 0 {
		delete(s.at, at)
	}
}

// advance counts the Jobs until a later limit.
func (s *stuck) advance(limit int64) {
	for s.before = limit; len(s.later) > 0 && s.later[0] <= limit; {
		at := heap.Pop((*times)(&s.later)).(int64)
		for len(s.later) > 0 && s.later[0] == at {
			heap.Pop((*times)(&s.later))
		}
		s.n += int64(s.at[at])
	}
}

type times []int64

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *times) Pop() any          { x := (*t)[len(*t)-1]; *t = (*t)[:len(*t)-1]; return x }

// tally adds n Jobs such as j to the counts.
func (o *counted) tally(j *job, n int32) {
	if j.stray {
		return
	}
	o.phases[j.Phase] += n
	if j.outdated {
		o.outdated += n
	}
	if j.ttl {
		o.foreign += n
	}
	if j.ended() && !j.Deleting {
		o.surplus[j.Phase-Succeeded] += n
	}
}

func (o *counted) running() int32 { return o.phases[Running] + o.phases[Pending] + o.phases[Suspended] }

// counts returns the counts for the decision. If leave is set, outdated Jobs count as
// terminating. A flight and the Job that it may stand for count once.
func (o *owned) counts(now time.Time, leave bool) scaling.JobCounts {
	c, stuck, limit := o.counted, int64(0), now.Add(-o.target.StuckAfter)
	if o.target.StuckAfter > 0 && c.phases[Pending] > 0 {
		stuck = o.pendingBefore(limit)
	}
	if leave {
		for _, j := range o.jobs {
			if j.outdated && j.Phase == Pending && stuck > 0 && !j.PendingSince.After(limit) {
				stuck--
			}
			if j.outdated {
				c.phases[j.Phase]--
				c.phases[Terminating]++
			}
		}
	}
	return scaling.JobCounts{
		Running:     int64(c.running()),
		Pending:     int64(c.phases[Pending] + c.phases[Suspended]),
		Suspended:   int64(c.phases[Suspended]),
		Terminating: int64(c.phases[Terminating]),
		InFlight:    o.set.Hidden(),
		Stuck:       stuck,
	}
}

// pendingBefore counts the Jobs that have been pending since the limit or longer.
func (o *owned) pendingBefore(limit time.Time) int64 {
	if at := limit.UnixNano(); o.stuck == nil || at < o.stuck.before {
		o.stuck = &stuck{before: at, at: map[int64]int32{}}
		for _, j := range o.jobs {
			if j.Phase == Pending && !j.stray {
				o.stuck.add(j.PendingSince, 1)
			}
		}
	}
	o.stuck.advance(limit.UnixNano())
	return o.stuck.n
}

// describe returns the Jobs, then the Jobs in flight by number.
func (o *owned) describe(in hub.Place) (jobs []Job) {
	for _, j := range o.jobs {
		if !j.stray {
			jobs = append(jobs, j.Job)
		}
	}
	flights := len(jobs)
	for slot, uid := range o.set.InFlight {
		from := o.sent[slot]
		jobs = append(jobs, Job{
			Namespace: from.from.Owner.Namespace, Name: from.from.Owner.slotName(in, slot), UID: types.UID(uid), Number: slot.Number,
			Phase: InFlight, Deleting: uid != "" && from.deleted == types.UID(uid), Created: from.at, Revision: from.from.Revision, Labels: from.labels,
		})
	}
	slices.SortFunc(jobs[flights:], func(a, b Job) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name)) })
	return jobs
}

// show passes a Job of the cache on to the set.
func (o *owned) show(j *job) {
	if o.set == nil || j.stray {
		return
	}
	o.set.Show(slots.Object{Slot: j.slot(), UID: string(j.UID), Finished: j.ended(), Failed: j.Phase == Failed, Deleting: j.marked})
	if o.landed(j.slot()); o.pruning > 0 {
		o.pruning = int32(o.set.Pruning())
	}
}

// gone passes on that the cache no longer shows a Job.
func (o *owned) gone(j *job) {
	if o.set != nil && !j.stray {
		o.set.Gone(string(j.UID))
		o.pruning = int32(o.set.Pruning())
	}
}

// landed forgets from what the Job in a slot was created, if its create is no longer in
// flight.
func (o *owned) landed(slot slots.Slot) {
	if o.sent[slot] != nil && !o.set.Flying(slot) {
		if delete(o.sent, slot); len(o.sent) == 0 {
			o.sent = nil
		}
	}
}

// byNumber returns the Jobs in the order of their numbers, then names.
func (o *owned) byNumber() []*job {
	return slices.SortedFunc(maps.Values(o.jobs), func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
}
