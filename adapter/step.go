package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// A stage is a part of applying a plan. The stages follow one after another.
type stage int

const (
	asking   stage = iota // reads the Jobs of creates and prunes with an unknown result
	removing              // unfinished Jobs
	creating
	pruning // finished Jobs
	over
)

// A request is a call about a Job.
type request struct {
	stage  stage
	number int64     // number of the Job to create or to read
	flight *flight   // of the number
	delete *Deletion // the Job to delete, or to read after its deletion
}

// An outcome is the known result of a request, or of an earlier request that was read.
type outcome uint8

const (
	sending    outcome = iota // nothing yet: the call has not returned
	unanswered                // nothing: the request may still have its effect
	none                      // it had no effect
	accepted                  // it had its effect
	exists                    // the owner has an unfinished Job of the name
	taken                     // the name belongs to a finished Job or to another owner
)

// A reply is the outcome of a request.
type reply struct {
	outcome
	uid types.UID // of the Job that was created or has the name
	err error     // nil if everything went as planned
}

// An application is a plan being carried out. It decides which requests are sent next
// and takes over the replies. A model explores both without a client.
type application struct {
	tracker  *Tracker
	jobs     batchclient.JobsGetter
	plan     *Plan
	stage    stage
	size     int                 // of the next batch
	queues   [over][]request     // by stage; creates are chosen when they are sent
	labels   []map[string]string // of Jobs to create, beside the prototype's
	left     int64               // Jobs to create
	taken    int                 // numbers passed over
	result   Result
	failed   error // the reason why no more is created
	problems []error
}

const maxBatch = 64

// begin returns the application of a plan. Nothing of the plan has been sent.
func (t *Tracker) begin(p *Plan) *application {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &application{tracker: t, plan: p, size: 1, labels: slices.Clone(p.Labels), left: p.Create}
	if p.made.IsZero() {
		p.made = t.now()
	}
	o := t.owner(p.Owner)
	defer t.drop(o)
	if p.target = cmp.Or(p.target, o.target); o.target != nil {
		a.queues[asking] = o.due(t.now(), t.late(), t.unshown)
	}
	for i := range p.Delete {
		d, s := &p.Delete[i], removing
		if j := o.jobs[d.UID]; d.Reason == HistoryLimit || j != nil && j.ended() {
			s = pruning
		}
		a.queues[s] = append(a.queues[s], request{stage: s, delete: d})
	}
	return a
}

// next returns the requests to send now: none if the plan has been carried out or is
// outdated. Numbers are chosen and the gates of pruning are checked under the lock.
func (t *Tracker) next(ctx context.Context, a *application) []request {
	mayAct := t.options.MayAct == nil || t.options.MayAct()
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owners[a.plan.Owner]
	for ; a.stage < over; a.stage, a.size = a.stage+1, 1 {
		if len(a.queues[a.stage]) == 0 && (a.stage != creating || a.left <= 0 || a.failed != nil) {
			continue
		}
		if err := cmp.Or(ctx.Err(), t.outdated(o, a.plan, mayAct)); err != nil {
			a.stage, a.failed = over, cmp.Or(a.failed, err)
			return nil
		}
		if batch := a.batch(o); len(batch) > 0 {
			a.size = min(2*a.size, maxBatch)
			return batch
		}
	}
	return nil
}

// outdated returns why a plan stops, or nil.
func (t *Tracker) outdated(o *owned, p *Plan, mayAct bool) error {
	age := t.now().Sub(p.made)
	switch {
	case !mayAct:
		return fmt.Errorf("%w: this process may not act", ErrOutdated)
	case age > t.options.MaxAge:
		return fmt.Errorf("%w: it is %s old", ErrOutdated, age.Round(time.Millisecond))
	case o == nil || o.target == nil:
		return fmt.Errorf("%w: its owner is not tracked", ErrOutdated)
	case t.unsynced > 0:
		return fmt.Errorf("%w: its Jobs are not known yet", ErrOutdated)
	case p.target != o.target:
		return fmt.Errorf("%w: its owner was edited", ErrOutdated)
	}
	return nil
}

// batch returns the next requests of the stage.
func (a *application) batch(o *owned) (batch []request) {
	t := a.tracker
	switch {
	case a.stage == creating:
		batch = o.choose(min(int64(a.size), a.left), t.now())
		n := min(len(batch), len(a.labels))
		for i, labels := range a.labels[:n] {
			batch[i].flight.labels = labels
		}
		a.labels = a.labels[n:]
		return batch
	case a.stage == pruning && !o.mayPrune(t.now(), t.late()):
		return nil
	}
	queue := &a.queues[a.stage]
	for ; len(*queue) > 0 && len(batch) < a.size; *queue = (*queue)[1:] {
		q := (*queue)[0]
		if j := o.jobs[value(q.delete).UID]; j != nil && a.stage == pruning {
			if j.pruning { // it is asked for, and not sent again
				continue
			}
			before := *j
			before.pruning, before.pruned = true, time.Time{}
			t.recount(j, before)
		}
		batch = append(batch, q)
	}
	return batch
}

// answered takes over the reply to a request. It may be called from several goroutines.
func (t *Tracker) answered(a *application, q *request, r reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.count(q, r)
	o := t.owner(a.plan.Owner)
	defer t.drop(o)
	switch {
	case q.stage == asking && r.outcome == unanswered: // the next Apply asks again
	case q.delete != nil:
		t.deleted(o, q.delete.UID, r.outcome)
	default:
		o.created(q, r, t.now())
	}
	if o.target == nil {
		o.forget()
	}
}

// deleted records the result of a delete.
func (t *Tracker) deleted(o *owned, uid types.UID, is outcome) {
	for _, f := range o.flights {
		f.deleted = f.deleted || is == accepted && f.uid == uid
	}
	if j := o.jobs[uid]; j != nil {
		before := *j
		before.deleted = before.deleted || is == accepted
		before.pruning, before.pruned = before.pruning && is != none, t.now()
		t.recount(j, before)
	}
}

// count counts the reply to a request in the result.
func (a *application) count(q *request, r reply) {
	switch {
	case q.stage == asking && r.outcome == unanswered:
		a.problems = append(a.problems, fmt.Errorf("read a Job that was created or deleted before: %w", r.err))
	case q.stage == asking:
	case q.stage == creating && r.outcome == accepted:
		a.left, a.result.Created = a.left-1, a.result.Created+1
	case q.stage == creating && r.outcome == exists:
		a.left, a.result.Existing = a.left-1, a.result.Existing+1
	case q.stage == creating && r.outcome == taken && a.taken < maxBatch:
		a.taken, a.labels = a.taken+1, append(a.labels, q.flight.labels)
	case q.stage == creating:
		a.failed = cmp.Or(a.failed, r.err)
	case r.outcome == accepted && q.delete.Reason == Outdated:
		a.result.Outdated++
	case r.outcome == accepted && q.delete.Reason == HistoryLimit:
		a.result.Pruned++
	case r.outcome == accepted:
		a.result.Duplicates++
	case !errors.Is(r.err, errChanged):
		a.problems = append(a.problems, fmt.Errorf("delete Job %s: %w", q.delete.Name, r.err))
	}
}

// err joins the errors.
func (a *application) err() error {
	if a.left > 0 && a.failed != nil && !errors.Is(a.failed, ErrOutdated) {
		a.failed = &CreateError{a.result.Created, a.plan.Create, a.failed}
	}
	return errors.Join(append(a.problems, a.failed)...)
}
