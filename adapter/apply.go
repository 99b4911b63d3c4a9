package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/slots"
)

// A Result holds the numbers of Jobs that Apply created and deleted.
type Result struct {
	Created  int64 // Jobs that this call created
	Existing int64 // Jobs found under a name that was to be created: another writer's, or of an earlier create
	// Jobs that are deleted now, by the reason: HistoryLimit is pruned.
	Outdated, Pruned, Duplicates int
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

// An application is a plan being carried out.
type application struct {
	tracker  *Tracker
	plan     *Plan
	deletes  map[types.UID]*Deletion
	left     int64 // Jobs to create
	labels   []map[string]string
	begun    bool
	mu       sync.Mutex // of what follows
	result   Result
	failed   error // the first reason why a Job was not created
	skipped  int   // numbers
	passed   error // why the last number was passed over
	outdated error
	problems []error
}

// apply returns the application of a plan, of which nothing has been sent. The rest of a plan
// of the same owner that was begun before is dropped with its first request.
func (t *Tracker) apply(p *Plan) *application {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &application{tracker: t, plan: p, left: p.Create, labels: slices.Clone(p.Labels)}
	if p.made.IsZero() {
		_ = t.leads() // next has the error
		p.made, p.term = t.now(), t.term
	}
	if o := t.owners[p.Owner]; o != nil {
		p.target = cmp.Or(p.target, o.target)
	}
	return a
}

// begin gives the plan to the owner's set.
func (a *application) begin(o *owned) {
	p, now := a.plan, a.tracker.now()
	w := o.want(p.Items, p.List)
	w.Create, w.Max = p.Create, o.target.Policy.Bounds.Max
	a.deletes = make(map[types.UID]*Deletion, len(p.Delete))
	for i := range p.Delete {
		d := &p.Delete[i]
		if a.deletes[d.UID] != nil {
			continue
		}
		a.deletes[d.UID] = d
		w.Delete = append(w.Delete, string(d.UID))
	}
	o.set.Want(w, now)
	o.now, a.begun = a, true
}

// next returns the requests to send now: none if the plan has been carried out or is
// outdated. Numbers are chosen and the gates of pruning are checked here.
func (a *application) next(ctx context.Context) []slots.Request {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	leads := t.leads()
	o := t.owners[a.plan.Owner]
	if err := cmp.Or(ctx.Err(), t.outdated(o, a, leads)); err != nil {
		if o != nil && o.now == a {
			defer o.set.Stop()
		}
		if ctx.Err() != nil && a.left > 0 {
			a.mu.Lock()
			a.failed = cmp.Or(a.failed, err)
			a.mu.Unlock()
			return nil
		}
		if a.left > 0 || !a.begun && len(a.plan.Delete) > 0 || o != nil && o.now == a && o.set.Pending() {
			a.outdated = cmp.Or(a.outdated, err)
		}
		return nil
	}
	if !a.begun {
		a.begin(o)
	}
	for {
		batch := o.set.Next(t.now())
		o.pruning = int32(o.set.Pruning())
		sent := batch[:0]
		for _, q := range batch {
			if q.Kind == slots.Relist {
				t.readAgain(o, q)
				continue
			}
			if q.Kind == slots.Create {
				a.from(o, q.Slot)
			}
			sent = append(sent, q)
		}
		if len(sent) > 0 || len(batch) == 0 {
			return sent
		}
	}
}

// from notes what a Job is created from.
func (a *application) from(o *owned, slot slots.Slot) {
	is := &origin{from: o.target, at: a.tracker.now()}
	if len(a.labels) > 0 {
		is.labels, a.labels = a.labels[0], a.labels[1:]
	}
	for i := range a.plan.Items {
		if a.plan.Items[i].Key == slot.Key {
			is.item = &a.plan.Items[i]
			break
		}
	}
	if o.sent == nil {
		o.sent = map[slots.Slot]*origin{}
	}
	o.sent[slot] = is
}

// readAgain reads all Jobs anew.
func (t *Tracker) readAgain(o *owned, q slots.Request) {
	r := slots.Reply{Result: slots.None}
	if t.relist() {
		r.Result = slots.Done
	}
	o.set.Answer(q, r, t.now())
}

// mark carries out a request to mark the lease.
func (a *application) mark(ctx context.Context, q slots.Request) reply {
	t := a.tracker
	t.mu.Lock()
	of, o := t.term, t.owners[a.plan.Owner]
	t.mu.Unlock()
	do := of.Aside
	if q.Kind == slots.Unmark {
		do = of.Unaside
	}
	if err := do(ctx, o); err != nil {
		return reply{slots.None, "", err}
	}
	return reply{Result: slots.Done}
}

// outdated returns why a plan stops, or nil.
func (t *Tracker) outdated(o *owned, a *application, leads error) error {
	p := a.plan
	age := t.now().Sub(p.made)
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
	case a.begun && o.now != a:
		return fmt.Errorf("%w: a newer plan of its owner has begun", ErrOutdated)
	}
	return nil
}

// check returns why a request of the plan may no longer be sent, or nil. A request may have
// waited for long since Next.
func (a *application) check() error {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	leads := t.leads()
	return t.outdated(t.owners[a.plan.Owner], a, leads)
}

// over returns what was done, and the errors joined.
func (a *application) over() (Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	failed := a.failed
	if failed == nil && a.left > 0 && a.passed != nil && a.outdated == nil {
		failed = a.passed
	}
	switch {
	case failed != nil && a.left > 0:
		failed = &CreateError{a.result.Created, a.plan.Create, failed}
	case failed != nil && a.plan.Create > 0: // other creates took its place
		failed = fmt.Errorf("create a Job: %w", failed)
	}
	return a.result, errors.Join(append(slices.Clone(a.problems), failed, a.outdated)...)
}

// answered takes over the reply to a request.
func (a *application) answered(q slots.Request, r reply) {
	t := a.tracker
	a.count(q, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owners[a.plan.Owner]
	if o == nil || o.set == nil {
		return
	}
	o.set.Answer(q, slots.Reply{Result: r.Result, UID: string(r.uid)}, t.now())
	o.landed(q.Slot)
	if q.UID != "" && r.Result == slots.Done {
		t.deleted(o, types.UID(q.UID))
	}
	o.pruning = int32(o.set.Pruning())
	t.drop(o)
}

// deleted records that the API server accepted a delete.
func (t *Tracker) deleted(o *owned, uid types.UID) {
	for slot, is := range o.set.InFlight {
		if is == string(uid) {
			o.sent[slot].deleted = uid
		}
	}
	if j := o.jobs[uid]; j != nil {
		before := *j
		before.deleted = true
		t.recount(j, before)
	}
}

// count counts the reply to a request in the result.
func (a *application) count(q slots.Request, r reply) {
	from := a.origin(q.Slot)
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.deletes[types.UID(q.UID)]
	switch done := r.Result == slots.Done; {
	case q.Kind == slots.Read && r.Result == slots.Unanswered:
		a.problems = append(a.problems, fmt.Errorf("read a Job that was created or deleted before: %w", r.err))
	case q.Kind == slots.Read:
	case q.Kind == slots.Mark || q.Kind == slots.Unmark:
		if r.err != nil && !errors.Is(r.err, term.ErrNoMark) {
			a.problems = append(a.problems, fmt.Errorf("mark the lease, so that a number whose Job is refused is passed over: %w", r.err))
		}
	case errors.Is(r.err, ErrOutdated):
		a.outdated = cmp.Or(a.outdated, r.err)
	case q.Kind == slots.Create && done && r.err == nil:
		a.left, a.result.Created = a.left-1, a.result.Created+1
	case q.Kind == slots.Create && done:
		a.left, a.result.Existing = a.left-1, a.result.Existing+1
	case q.Kind == slots.Create && r.Result == slots.Taken:
		if a.skipped++; a.skipped >= maxPassed {
			a.passed = r.err
		}
		if from != nil { // its labels are for the next number
			a.labels = append(a.labels, from.labels)
		}
	case q.Kind == slots.Create:
		a.failed = cmp.Or(a.failed, r.err)
	case done && d.Reason == Outdated:
		a.result.Outdated++
	case done && d.Reason == HistoryLimit:
		a.result.Pruned++
	case done:
		a.result.Duplicates++
	case !errors.Is(r.err, errChanged):
		a.problems = append(a.problems, fmt.Errorf("delete Job %s: %w", d.Name, r.err))
	}
}

const maxPassed = 64
