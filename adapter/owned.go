package adapter

import (
	"cmp"
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
	read      bool         // the set has been told of a view of this term
	before    time.Time    // creates of another identity may arrive until then
	now       *application // the plan being carried out
	jobs      []*job
	sent      map[slots.Slot]*origin // of the creates in flight, and of some before
	called    string                 // by the controller reference of a Job; "" if there was none
	timed     bool                   // since is known
	since     []int64                // when each pending Job became so, in nanoseconds since 1970, in order
	aged      bool                   // expiry is known
	expiry    time.Time              // when the next finished Job reaches its age; zero if none does
	counted
}

// A counted counts the Jobs in the cache.
type counted struct {
	phases   [InFlight]int32 // without strays, as the next two
	outdated int32
	surplus  [2]int32 // finished and not being deleted: succeeded and failed
	foreign  int32    // Jobs with a time to live, which somebody else carries out
}

// An origin is what a Job in flight was created from.
type origin struct {
	from   *tracked
	at     time.Time // when the create was sent
	item   *Item     // nil if the Job is numbered
	labels map[string]string
}

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
	c, stuck, limit := o.counted, 0, now.Add(-o.target.StuckAfter)
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
		InFlight:    o.flying(),
		Stuck:       int64(stuck),
	}
}

// flying returns the number of creates in flight.
func (o *owned) flying() (n int64) {
	for range o.set.InFlight {
		n++
	}
	return n
}

// pendingBefore counts the Jobs that have been pending since the limit or longer.
func (o *owned) pendingBefore(limit time.Time) int {
	if !o.timed {
		o.timed, o.since = true, nil
		for _, j := range o.jobs {
			if j.Phase == Pending && !j.stray {
				o.since = append(o.since, j.PendingSince.UnixNano())
			}
		}
		slices.Sort(o.since)
	}
	n, _ := slices.BinarySearch(o.since, limit.UnixNano()+1)
	return n
}

// wait notes that a Job is pending since then, or no longer if n is -1.
func (o *owned) wait(since int64, n int32) {
	i, _ := slices.BinarySearch(o.since, since)
	if n > 0 {
		o.since = slices.Insert(o.since, i, since)
	} else {
		o.since = slices.Delete(o.since, i, i+1)
	}
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
		from := cmp.Or(o.sent[slot], &origin{from: o.target})
		jobs = append(jobs, Job{
			Namespace: from.from.Owner.Namespace, Name: from.from.Owner.slotName(in, slot), UID: types.UID(uid), Number: slot.Number,
			Phase: InFlight, Created: from.at, Revision: from.from.Revision, labels: from.labels,
		})
	}
	slices.SortFunc(jobs[flights:], func(a, b Job) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name)) })
	return jobs
}

// keep adds a Job in the cache, or puts it in the place of its state before. Equal strings are kept once.
func (o *owned) keep(j, before *job) {
	if before != nil {
		j.Namespace, j.Name, j.UID, j.at = before.Namespace, before.Name, before.UID, before.at
		o.jobs[j.at] = j
	} else {
		j.at = int32(len(o.jobs))
		o.jobs = append(o.jobs, j)
	}
	if t := o.target; t != nil && j.Namespace == t.Owner.Namespace {
		j.Namespace = t.Owner.Namespace
	}
	if t := o.target; t != nil && j.Revision.TemplateHash == t.Revision.TemplateHash {
		j.Revision.TemplateHash = t.Revision.TemplateHash
	}
}

// forget removes a Job.
func (o *owned) forget(j *job) {
	n := len(o.jobs) - 1
	o.jobs[j.at], o.jobs[n].at = o.jobs[n], j.at
	o.jobs[n] = nil
	o.jobs = o.jobs[:n]
}

// show passes a Job of the cache on to the set.
func (o *owned) show(j *job) {
	if o.set == nil {
		return
	}
	if j.stray { // it may have been none before
		o.gone(j)
		return
	}
	o.set.Show(slots.Object{Slot: j.slot(), UID: string(j.UID), Finished: j.ended(), Failed: j.Phase == Failed, Deleting: j.marked})
}

// gone passes on that the cache no longer shows a Job.
func (o *owned) gone(j *job) {
	if o.set != nil {
		o.set.Show(slots.Object{UID: string(j.UID), Gone: true})
	}
}

// land forgets from what Jobs were created whose creates are no longer in flight.
func (o *owned) land() {
	maps.DeleteFunc(o.sent, func(slot slots.Slot, _ *origin) bool { return !o.set.Flying(slot) })
	if len(o.sent) == 0 {
		o.sent = nil
	}
}

// byNumber returns the Jobs in the order of their numbers, then names.
func (o *owned) byNumber() []*job {
	return slices.SortedFunc(slices.Values(o.jobs), func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
}
