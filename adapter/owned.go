package adapter

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// An owned holds the state of an owner's Jobs: the Jobs in the cache, counted as they
// change, and the creates that the cache does not show yet. It decides which numbers are
// free. It does no I/O and reads no clock, so that a model can explore it.
type owned struct {
	uid     types.UID
	target  *tracked // nil while the owner is not tracked
	jobs    map[types.UID]*job
	flights map[int64]*flight // by number
	start   *time.Time        // when it was tracked; nil if creates of before can no longer arrive
	called  string            // by the controller reference of a Job; "" if there was none
	stuck   *stuck            // nil is not counted
	counted
}

// A counted counts the Jobs in the cache.
type counted struct {
	phases   [InFlight]int32 // without strays, as the next two
	outdated int32
	surplus  [2]int32 // finished and not being deleted: succeeded and failed
	pruning  int32
}

// A stuck remembers how many Jobs were pending before a limit. It holds until a pending
// Job changes or the limit reaches next.
type stuck struct {
	n      int64
	before time.Time
	next   time.Time // the earliest PendingSince after the limit; zero is none
}

// A flight is a create whose Job the cache does not show.
type flight struct {
	from    *tracked // target of the Job
	state   outcome
	uid     types.UID // of the Job that the API server has under the number
	shown   types.UID // of the last Job that the cache showed under the number
	at      time.Time // of the last reply, or of its timeout
	sent    time.Time
	labels  map[string]string
	deleted bool // the API server accepted our delete
}

// over reports whether the cache has shown the Job of the flight.
func (f *flight) over() bool { return f.state > none && f.shown == f.uid }

// tally adds n Jobs such as j to the counts.
func (o *counted) tally(j *job, n int32) {
	if j.pruning {
		o.pruning += n
	}
	if j.stray {
		return
	}
	o.phases[j.Phase] += n
	if j.outdated {
		o.outdated += n
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
		InFlight:    o.inFlight(),
		Stuck:       stuck,
	}
}

// pendingBefore counts the Jobs that have been pending since the limit or longer.
func (o *owned) pendingBefore(limit time.Time) int64 {
	if s := o.stuck; s != nil && !limit.Before(s.before) && (s.next.IsZero() || limit.Before(s.next)) {
		return s.n
	}
	s := &stuck{before: limit}
	for _, j := range o.jobs {
		switch {
		case j.Phase != Pending || j.stray:
		case !j.PendingSince.After(limit):
			s.n++
		case s.next.IsZero() || j.PendingSince.Before(s.next):
			s.next = j.PendingSince
		}
	}
	o.stuck = s
	return s.n
}

// hidden reports whether the flight occupies capacity beside the Jobs in the cache:
// no unfinished Job in the cache stands for it.
func (o *owned) hidden(f *flight) bool {
	j := o.jobs[f.shown]
	return f.state != taken && (j == nil || j.ended())
}

// inFlight counts the flights that occupy capacity beside the Jobs in the cache.
func (o *owned) inFlight() (n int64) {
	for _, f := range o.flights {
		if o.hidden(f) {
			n++
		}
	}
	return n
}

// describe returns the Jobs, then the Jobs in flight by number.
func (o *owned) describe(in place) (jobs []Job) {
	for _, j := range o.jobs {
		if !j.stray {
			jobs = append(jobs, j.Job)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(o.flights)) {
		if f := o.flights[number]; o.hidden(f) {
			jobs = append(jobs, Job{
				Namespace: f.from.Owner.Namespace, Name: f.from.Owner.jobName(in, number), UID: f.uid, Number: number,
				Phase: InFlight, Deleting: f.deleted, Created: f.sent, Revision: f.from.Revision, Labels: f.labels,
			})
		}
	}
	return jobs
}

// choose returns creates on the lowest free numbers, at most n and within the maximum.
// They are in flight from now.
func (o *owned) choose(n int64, now time.Time) (creates []request) {
	unfinished := int64(o.running()+o.phases[Terminating]) + o.inFlight()
	if n = min(n, max(0, o.target.Policy.Bounds.Max)-unfinished); n <= 0 || o.pruning > 0 {
		return nil
	}
	busy := make(map[int64]bool, len(o.jobs))
	for _, j := range o.jobs {
		busy[j.Number] = true
	}
	if o.flights == nil {
		o.flights = map[int64]*flight{}
	}
	for k := int64(1); int64(len(creates)) < n; k++ {
		if o.flights[k] == nil && !busy[k] {
			o.flights[k] = &flight{from: o.target, sent: now}
			creates = append(creates, request{stage: creating, number: k, flight: o.flights[k]})
		}
	}
	return creates
}

// shows takes over that the cache shows the Job.
func (o *owned) shows(j *job) {
	if f := o.flights[j.Number]; f != nil {
		if f.shown = j.UID; f.over() {
			delete(o.flights, j.Number)
		}
	}
}

// created records the reply to a create, or to reading its Job.
func (o *owned) created(q *request, r reply, now time.Time) {
	if f := q.flight; o.flights[q.number] == f {
		f.state, f.uid, f.at = r.outcome, r.uid, now
		if f.state == none || f.over() {
			delete(o.flights, q.number)
		}
	}
}

// forget forgets the creates that can no longer arrive.
func (o *owned) forget() {
	maps.DeleteFunc(o.flights, func(_ int64, f *flight) bool { return f.state > unanswered })
}

// mayPrune reports whether finished Jobs may be deleted: no create is unanswered, and
// none of another process can arrive any more. late is L.
func (o *owned) mayPrune(now time.Time, late time.Duration) bool {
	if o.start != nil && now.Sub(*o.start) < late {
		return false
	}
	o.start = nil
	for _, f := range o.flights {
		if f.state <= unanswered {
			return false
		}
	}
	return true
}

// due returns the requests that ask, by number, for creates and prunes that were not
// answered, and for numbers that were taken, after L. It asks later for created Jobs that
// the cache does not show: under load it shows many late, and only the Jobs that came and
// went while nothing was watched are never shown.
func (o *owned) due(now time.Time, late, unshown time.Duration) (ask []request) {
	for number, f := range o.flights {
		wait := late
		if f.state == accepted || f.state == exists {
			wait = unshown
		}
		if f.state != sending && now.Sub(f.at) >= wait {
			ask = append(ask, request{stage: asking, number: number, flight: f})
		}
	}
	if o.pruning > 0 {
		for _, j := range o.jobs {
			if j.pruning && !j.pruned.IsZero() && now.Sub(j.pruned) >= late {
				ask = append(ask, request{stage: asking, number: j.Number, delete: new(j.Delete(rollout.Background, HistoryLimit))})
			}
		}
	}
	slices.SortFunc(ask, func(a, b request) int { return cmp.Compare(a.number, b.number) })
	return ask
}

// byNumber returns the Jobs in the order of their numbers, then names.
func (o *owned) byNumber() []*job {
	return slices.SortedFunc(maps.Values(o.jobs), func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
}
