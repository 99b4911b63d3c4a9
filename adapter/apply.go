package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/adapter/fair"
	"github.com/scaledjob/scaledjob/adapter/internal/build"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
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
	return fmt.Sprintf("created %d of %d Jobs: %s", e.Created, e.Wanted, request.Words(e.Err))
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
	ErrNotSent = request.ErrNotSent
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
// It stops with [ErrOutdated] before a request if the plan is outdated. If a create
// is refused, or its name is taken, the next Job takes its place, as package slots allows. It stops creating
// after a batch in which no create succeeded and a create failed for another reason, and returns a [*CreateError].
// The errors of eight other requests are joined, and further ones are counted. A Job that is deleted already
// counts as deleted; a Job that has changed is left to the next plan. The Result is also valid with an error.
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
	a.labels = hub.LabelsOf(client)
	a.step(ctx, client, queue, done)
}

// An application is a plan being carried out. The tracker's lock guards it.
type application struct {
	tracker  *Tracker
	plan     *Plan
	owner    *owned // nil until its first request is chosen
	deletes  map[types.UID]*Deletion
	labels   hub.Queue // of the next Jobs
	result   Result
	failed   error // the first reason why a Job was not created
	taken    []error
	outdated error
	problems request.Problems
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
			for r.Err != nil && fair.Rest(slot) {
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
			if q.Verb != "list" {
				batch = append(batch, a.call(q))
				continue
			}
			result := slots.None
			if t.jobFeeds.Relist() {
				result = slots.Done
			}
			a.owner.set.Answer(q, result, "", t.now())
		}
	}
	return batch
}

// begin gives the plan to the owner's set.
func (a *application) begin(o *owned) {
	w := a.plan.want
	w.Create, w.Max, w.Retries = a.plan.Create, o.target.Policy.Bounds.Max, o.target.Retries
	a.deletes = make(map[types.UID]*Deletion, len(a.plan.Delete))
	for i := range a.plan.Delete {
		d := &a.plan.Delete[i]
		if a.deletes[d.UID] == nil {
			a.deletes[d.UID] = d
			w.Delete = append(w.Delete, string(d.UID))
		}
	}
	o.land()
	o.set.Want(w, a.tracker.now())
	o.plan, a.owner = a, o
}

// stop ends the application before a request.
func (a *application) stop(ended, err error) {
	o, left := a.tracker.owners[a.plan.Owner], a.left() > 0
	dropped := o != nil && o.plan == a && o.set.Stop()
	switch {
	case ended != nil && left:
		a.failed = cmp.Or(a.failed, ended)
	case left, dropped, a.owner == nil && len(a.plan.Delete) > 0:
		a.outdated = cmp.Or(a.outdated, err)
	}
}

func (a *application) left() int64 { return a.plan.Create - a.result.Created - a.result.Existing }

// call returns what a request needs.
func (a *application) call(q slots.Request) call {
	o, c := a.owner, call{Request: q}
	switch {
	case q.UID != "":
		j := a.tracker.jobs[types.UID(q.UID)]
		d := j.Delete(rollout.Background, HistoryLimit)
		if q.Verb == "delete" {
			plan := a.deletes[d.UID]
			d.Propagation, d.Reason = plan.Propagation, plan.Reason
			if j.pruned = j.pruned || q.Finished; q.Finished || plan.ResourceVersion != "" {
				d.ResourceVersion = plan.ResourceVersion
			}
		}
		c.of = &d
	case q.Verb == "read":
		c.from = o.sent[q.Slot]
	case q.Verb == "create":
		of := o.target
		c.from = &origin{from: &of.jobs, Job: Job{
			Namespace: of.Owner.Namespace, Name: of.jobs.Name(q.Slot), Number: q.Slot.Number, Phase: InFlight, Created: a.tracker.now(),
			Revision: of.Revision, labels: a.labels.Next(),
		}}
		if i := slices.IndexFunc(a.plan.want.Items, func(is slots.Slot) bool { return is.Key == q.Slot.Key }); q.Slot.Key != "" && i >= 0 {
			c.from.item = &a.plan.items[i]
		}
		if o.sent == nil {
			o.sent = map[slots.Slot]*origin{}
		}
		o.sent[q.Slot] = c.from
	}
	return c
}

// stops returns why the plan stops, or nil. A request may have waited for long since next.
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
	case a.owner != nil && o.plan != a:
		return fmt.Errorf("%w: a newer plan of its owner has begun", ErrOutdated)
	}
	return nil
}

// over returns what was done, and the errors joined.
func (a *application) over() (Result, error) {
	a.tracker.mu.Lock()
	defer a.tracker.mu.Unlock()
	failed := a.failed
	if failed == nil && a.outdated == nil && len(a.taken) >= maxTaken {
		failed = a.taken[0]
	}
	switch {
	case failed != nil && a.left() > 0:
		failed = &CreateError{a.result.Created, a.plan.Create, failed}
	case a.failed != nil && a.plan.Create > 0: // other creates took its place
		failed = &request.Error{What: "create a Job", Err: failed}
	default:
		failed = nil
	}
	return a.result, a.problems.Join(failed, a.outdated)
}

// maxTaken is how many names may be taken until no other is tried.
const maxTaken = 64

// answered takes over the reply to a request.
func (a *application) answered(c call, r request.Reply) {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	a.count(c, r)
	o := t.owners[a.plan.Owner]
	if o == nil || o.set == nil {
		return
	}
	if o.plan == a && errors.Is(r.Err, ErrNotSent) {
		o.set.Stop()
	}
	o.set.Answer(c.Request, r.Result, string(r.UID), t.now())
	read := c.Verb == "read"
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
func (a *application) count(c call, r request.Reply) {
	done := r.Result == slots.Done
	switch {
	case c.Verb == "read":
		if r.Result == slots.Unanswered {
			a.problems.Add("read a Job that was created or deleted before", r.Err)
		}
	case c.Verb == "mark":
		if r.Err != nil && !errors.Is(r.Err, term.ErrNoMark) {
			a.problems.Add("mark the lease, so that a number whose Job is refused is passed over", r.Err)
		}
	case errors.Is(r.Err, ErrOutdated):
		a.outdated = cmp.Or(a.outdated, r.Err)
	case c.Verb == "create" && done && r.Err == nil:
		a.result.Created++
	case c.Verb == "create" && done:
		a.result.Existing++
	case c.Verb == "create":
		if r.Result != slots.Unanswered {
			a.labels = append(a.labels, c.from.labels) // for the next number
		}
		if r.Result == slots.Taken {
			a.taken = append(a.taken, r.Err)
		} else {
			a.failed = cmp.Or(a.failed, r.Err)
		}
	case done && c.of.Reason == Outdated:
		a.result.Outdated++
	case done && c.of.Reason == HistoryLimit:
		a.result.Pruned++
	case done:
		a.result.Other++
	case !errors.Is(r.Err, request.ErrChanged):
		a.problems.Add("delete Job "+c.of.Name, r.Err)
	}
}

func (a *application) send(ctx context.Context, client batchclient.JobsGetter, c call) request.Reply {
	ctx, cancel := term.Timeout(term.With(ctx, a.plan.term), a.tracker.options.Timeout)
	defer cancel()
	switch {
	case c.Verb == "read" && c.of != nil:
		return request.ReadDeleted(ctx, client.Jobs(c.of.Namespace), c.of.Name, c.of.UID)
	case c.Verb == "read":
		return request.Read(ctx, client.Jobs(c.from.Namespace), c.from.Name, a.whose(c.Slot))
	}
	a.tracker.mu.Lock()
	err := cmp.Or(ctx.Err(), a.stops())
	a.tracker.mu.Unlock()
	switch {
	case err != nil:
		return request.Failure(fmt.Errorf("%w: %w", ErrNotSent, err))
	case c.Verb == "create":
		job, err := c.from.from.Job(c.Slot, (*build.Item)(c.from.item), c.from.labels)
		if selects := a.tracker.selector; err == nil && !selects.Matches(labels.Set(job.Labels)) {
			err = fmt.Errorf("item %q: the tracker does not select its labels: use %s", c.Slot.Key, selects)
		}
		if err != nil {
			return request.Reply{Result: slots.Refused, Err: err}
		}
		return request.Create(ctx, client.Jobs(job.Namespace), job, a.whose(c.Slot))
	case c.Verb == "delete":
		d := c.of
		return request.Delete(ctx, client.Jobs(d.Namespace), d.Name, d.UID, d.ResourceVersion, d.Propagation)
	}
	if err = a.plan.term.Aside(ctx); err != nil {
		return request.Reply{Result: slots.None, Err: err}
	}
	return request.Reply{Result: slots.Done}
}

// whose returns a function that reports whether a Job in a slot has finished, or is not the plan's.
func (a *application) whose(slot slots.Slot) func(*batchv1.Job) bool {
	return func(job *batchv1.Job) bool {
		item, phase := build.ItemOf(job), end(job)
		return build.ClaimOf(job, a.tracker.options.hub.Home).UID != a.plan.Owner || slot.Key != "" && (item == nil || *item != slot) || phase == Succeeded || phase == Failed
	}
}
