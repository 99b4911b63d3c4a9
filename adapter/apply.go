package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/fair"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// A Result holds the numbers of Jobs that Apply created and deleted.
type Result struct {
	Created  int64 // Jobs that this call created
	Existing int64 // Jobs found under a name that was to be created: another writer's, or of an earlier create
	// Jobs that are deleted now, by the reason: HistoryLimit is pruned, and Other has all reasons
	// of a program's own.
	Outdated, Pruned, Other int
}

// A CreateError reports that a create failed, so that fewer Jobs were created than planned.
type CreateError struct {
	Created, Wanted int64
	Err             error // the first reason
}

// Error returns the counts and the first reason.
func (e *CreateError) Error() string {
	return fmt.Sprintf("created %d of %d Jobs: %s", e.Created, e.Wanted, words(e.Err))
}

// Unwrap returns the first reason.
func (e *CreateError) Unwrap() error { return e.Err }

var (
	// ErrOutdated is the error of a plan that stops: its Target was edited or
	// untracked, the Jobs are not known yet, its age is above Options.MaxAge, or its
	// term has ended, which is also a [term.ErrEnded]. Decide anew.
	ErrOutdated = errors.New("the plan is outdated")
	// ErrNotSent is the error of a request that was never sent. A client that limits
	// requests may return it, wrapped, so that the request is known to have no effect.
	ErrNotSent = errors.New("not sent")

	errTaken   = errors.New("the name belongs to a finished Job or to another owner")
	errChanged = errors.New("the Job has changed")
)

// WithoutOutdated returns the errors that Apply joined other than [ErrOutdated], or nil.
func WithoutOutdated(err error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	return errors.Join(slices.DeleteFunc(all, func(err error) bool { return errors.Is(err, ErrOutdated) })...)
}

// Apply carries a plan out with a client whose timeout is Options.Timeout. Each request has
// that deadline in any case, but only a client of adapter/client tells it the API server. Apply reads the
// Jobs of earlier requests that were not answered for twice the timeout, or not shown by the
// cache for eight times the timeout. Then it deletes unfinished Jobs, creates Jobs, and
// deletes finished Jobs, in batches that double from 1 to 64. Apply a plan once: a second
// call creates further Jobs, up to the maximum.
//
// If the Target's maximum leaves no capacity, Apply creates fewer Jobs and returns no error.
// It stops with [ErrOutdated] before a request if the plan is outdated. It stops creating
// after a batch in which no create succeeded, and returns a [*CreateError]. Errors of
// deletes are joined. A Job that is deleted already counts as deleted; a Job that has changed
// is left to the next plan. The Result is also valid with an error.
func (t *Tracker) Apply(ctx context.Context, client Client, p Plan) (result Result, err error) {
	over := make(chan struct{})
	t.Start(ctx, client, p, nil, func(r Result, e error) {
		result, err = r, e
		close(over)
	})
	<-over
	return result, err
}

// Start carries a plan out as [Tracker.Apply] does, and returns at once. Each request waits
// for a slot of the queue, and a waiting plan has no goroutine. A request that the API server
// refused because of its own load is sent again in its slot until the plan is outdated. The
// lease, the Target and the age of the plan are checked again when the slot comes. Start calls done once, at the end,
// in a goroutine that still has a slot: done should not wait. A nil queue does not limit.
func (t *Tracker) Start(ctx context.Context, client Client, p Plan, queue *fair.Queue, done func(Result, error)) {
	a := t.apply(&p)
	if elsewhere, is := client.(hub.Client); is {
		a.labels = slices.Clone(elsewhere.Labels())
	}
	a.step(ctx, client, queue, done)
}

// An application is a plan being carried out. The tracker's lock guards it.
type application struct {
	tracker  *Tracker
	plan     *Plan
	owner    *owned // nil until its first request is chosen
	deletes  map[types.UID]*Deletion
	labels   []map[string]string // of the next Jobs
	result   Result
	failed   error // the first reason why a Job was not created
	taken    int   // names that were
	passed   error // why so many names were passed over that no other was tried
	outdated error
	problems []error
}

// A call is a request, and what is needed to send it.
type call struct {
	slots.Request
	from *origin   // of a create, and of its read
	of   *Deletion // of a delete, and of the read of a Job that was deleted
}

// apply returns the application of a plan, of which nothing has been sent. The rest of a plan
// of the same owner that was begun before is dropped with its first request.
func (t *Tracker) apply(p *Plan) *application {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.made.IsZero() {
		_ = t.leads() // next has the error
		p.made, p.term = t.now(), t.term
	}
	if o := t.owners[p.Owner]; o != nil {
		p.target = cmp.Or(p.target, o.target)
	}
	return &application{tracker: t, plan: p}
}

// step sends the next batch, and the following ones when all its replies are there.
func (a *application) step(ctx context.Context, client Client, queue *fair.Queue, done func(Result, error)) {
	batch := a.next(ctx)
	if len(batch) == 0 {
		done(a.over())
		return
	}
	var left atomic.Int64
	left.Store(int64(len(batch)))
	var owner fair.Owner
	if target := a.plan.target; target != nil {
		owner = fair.Owner{Namespace: target.Owner.Namespace, Name: target.Owner.Name}
	}
	for _, c := range batch {
		queue.Do(ctx, owner, func(slot context.Context) {
			r := a.send(slot, client.BatchV1(), c)
			for r.err != nil && fair.Rest(slot) {
				r = a.send(slot, client.BatchV1(), c)
			}
			a.answered(c, r)
			if left.Add(-1) == 0 {
				a.step(ctx, client, queue, done)
			}
		})
	}
}

// next returns the requests to send now: none if the plan has been carried out or is
// outdated. Numbers are chosen and the gates of pruning are checked here.
func (a *application) next(ctx context.Context) (batch []call) {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := cmp.Or(ctx.Err(), a.stops()); err != nil {
		a.stop(ctx.Err(), err)
		return nil
	}
	if a.owner == nil {
		a.begin(t.owners[a.plan.Owner])
	}
	for len(batch) == 0 {
		all := a.owner.set.Next(t.now())
		if len(all) == 0 {
			return nil
		}
		for _, q := range all {
			if c := (call{Request: q}); a.ready(&c) {
				batch = append(batch, c)
			}
		}
	}
	return batch
}

// begin gives the plan to the owner's set.
func (a *application) begin(o *owned) {
	w := o.want(a.plan.Items, a.plan.List)
	w.Create, w.Max = a.plan.Create, o.target.Policy.Bounds.Max
	a.deletes = make(map[types.UID]*Deletion, len(a.plan.Delete))
	for i := range a.plan.Delete {
		d := &a.plan.Delete[i]
		if a.deletes[d.UID] == nil {
			a.deletes[d.UID] = d
			w.Delete = append(w.Delete, string(d.UID))
		}
	}
	o.set.Want(w, a.tracker.now())
	o.now, a.owner = a, o
}

// stop ends the application before a request.
func (a *application) stop(ended, err error) {
	o, left := a.tracker.owners[a.plan.Owner], a.left() > 0
	dropped := o != nil && o.now == a && o.set.Stop()
	switch {
	case ended != nil && left:
		a.failed = cmp.Or(a.failed, ended)
	case left, dropped, a.owner == nil && len(a.plan.Delete) > 0:
		a.outdated = cmp.Or(a.outdated, err)
	}
}

func (a *application) left() int64 { return a.plan.Create - a.result.Created - a.result.Existing }

// ready notes what a request needs. It reports whether the request is to be sent.
func (a *application) ready(c *call) bool {
	t, o := a.tracker, a.owner
	switch {
	case c.Kind == slots.Relist:
		result := slots.None
		if t.relist() {
			result = slots.Done
		}
		o.set.Answer(c.Request, result, "", t.now())
		return false
	case c.Kind == slots.Create:
		c.from = &origin{from: o.target, at: t.now()}
		if len(a.labels) > 0 {
			c.from.labels, a.labels = a.labels[0], a.labels[1:]
		}
		if i := slices.IndexFunc(a.plan.Items, func(i Item) bool { return brief(i.Key) == c.Slot.Key }); i >= 0 {
			c.from.item = &a.plan.Items[i]
		}
		if o.sent == nil {
			o.sent = map[slots.Slot]*origin{}
		}
		o.sent[c.Slot] = c.from
	case c.Kind == slots.Read && c.UID == "":
		c.from = cmp.Or(o.sent[c.Slot], &origin{from: o.target})
	case c.UID != "":
		j := t.jobs[types.UID(c.UID)]
		j.pruned = j.pruned || c.Kind == slots.Delete && c.Finished
		d := j.Delete(rollout.Background, HistoryLimit)
		if plan := a.deletes[d.UID]; plan != nil && c.Kind == slots.Delete {
			d.Propagation, d.Reason = plan.Propagation, plan.Reason
			if d.ResourceVersion = cmp.Or(plan.ResourceVersion, d.ResourceVersion); c.Finished {
				d.ResourceVersion = plan.ResourceVersion
			}
		}
		c.of = &d
	}
	return true
}

// mark carries out a request to mark the lease.
func (a *application) mark(ctx context.Context, q slots.Request) reply {
	do := a.plan.term.Aside
	if q.Kind == slots.Unmark {
		do = a.plan.term.Unaside
	}
	if err := do(ctx, a.owner); err != nil {
		return reply{slots.None, "", err}
	}
	return reply{Result: slots.Done}
}

// stops returns why the plan stops, or nil.
func (a *application) stops() error {
	t, p, leads := a.tracker, a.plan, a.tracker.leads()
	age, o := t.now().Sub(p.made), t.owners[p.Owner]
	switch {
	case leads != nil:
		return fmt.Errorf("%w: %w", ErrOutdated, leads)
	case p.term != t.term:
		return fmt.Errorf("%w: %w; another has begun", ErrOutdated, term.ErrEnded)
	case age > t.options.MaxAge:
		return fmt.Errorf("%w: it is %s old", ErrOutdated, age.Round(time.Millisecond))
	case o == nil || o.target == nil:
		return fmt.Errorf("%w: its owner is not tracked", ErrOutdated)
	case t.unlisted(o) != nil:
		return fmt.Errorf("%w: its Jobs are not known yet", ErrOutdated)
	case p.target != o.target:
		return fmt.Errorf("%w: its owner was edited", ErrOutdated)
	case a.owner != nil && o.now != a:
		return fmt.Errorf("%w: a newer plan of its owner has begun", ErrOutdated)
	}
	return nil
}

// check returns why a request of the plan may no longer be sent, or nil. A request may have
// waited for long since Next.
func (a *application) check() error {
	a.tracker.mu.Lock()
	defer a.tracker.mu.Unlock()
	return a.stops()
}

// over returns what was done, and the errors joined.
func (a *application) over() (Result, error) {
	a.tracker.mu.Lock()
	defer a.tracker.mu.Unlock()
	failed := a.failed
	if failed == nil && a.outdated == nil {
		failed = a.passed
	}
	switch {
	case failed != nil && a.left() > 0:
		failed = &CreateError{a.result.Created, a.plan.Create, failed}
	case a.failed != nil && a.plan.Create > 0: // other creates took its place
		failed = fmt.Errorf("create a Job: %w", failed)
	default:
		failed = nil
	}
	return a.result, errors.Join(append(slices.Clone(a.problems), failed, a.outdated)...)
}

// answered takes over the reply to a request.
func (a *application) answered(c call, r reply) {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	a.count(c, r)
	o := t.owners[a.plan.Owner]
	if o == nil || o.set == nil {
		return
	}
	o.set.Answer(c.Request, r.Result, string(r.uid), t.now())
	read := c.Kind == slots.Read
	if j := t.jobs[types.UID(c.UID)]; j != nil && (!read && r.Result == slots.Done || read && r.Result == slots.None) {
		t.deleted(j)
	}
	if read && c.UID != "" && r.Result == slots.Done && o.target != nil && t.options.Changed != nil {
		go t.options.Changed(o.target.Owner) // the plan was made when this prune was in doubt
	}
	t.drop(o)
}

// deleted notes that the API server has accepted a delete.
func (t *Tracker) deleted(j *job) {
	before := *j
	before.deleted = true
	t.recount(j, before)
}

// count counts the reply to a request in the result.
func (a *application) count(c call, r reply) {
	switch done := r.Result == slots.Done; {
	case c.Kind == slots.Read && r.Result == slots.Unanswered:
		a.problems = append(a.problems, fmt.Errorf("read a Job that was created or deleted before: %w", r.err))
	case c.Kind == slots.Read:
	case c.Kind == slots.Mark || c.Kind == slots.Unmark:
		if r.err != nil && !errors.Is(r.err, term.ErrNoMark) {
			a.problems = append(a.problems, fmt.Errorf("mark the lease, so that a number whose Job is refused is passed over: %w", r.err))
		}
	case errors.Is(r.err, ErrOutdated):
		a.outdated = cmp.Or(a.outdated, r.err)
	case c.Kind == slots.Create && done && r.err == nil:
		a.result.Created++
	case c.Kind == slots.Create && done:
		a.result.Existing++
	case c.Kind == slots.Create && r.Result == slots.Taken:
		if a.taken++; a.taken >= maxPassed {
			a.passed = r.err
		}
		a.labels = append(a.labels, c.from.labels) // for the next number
	case c.Kind == slots.Create:
		a.failed = cmp.Or(a.failed, r.err)
	case done && c.of.Reason == Outdated:
		a.result.Outdated++
	case done && c.of.Reason == HistoryLimit:
		a.result.Pruned++
	case done:
		a.result.Other++
	case !errors.Is(r.err, errChanged):
		a.problems = append(a.problems, fmt.Errorf("delete Job %s: %w", c.of.Name, r.err))
	}
}

const maxPassed = 64
