package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// Apply carries a plan out with a client whose timeout is Options.Timeout. Each request has
// that deadline in any case, but only a client of adapter/loop tells it the API server. Apply reads the
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
	finished := make(chan struct{})
	t.Start(ctx, client, p, nil, func(r Result, e error) {
		result, err = r, e
		close(finished)
	})
	<-finished
	return result, err
}

// Start carries a plan out as [Tracker.Apply] does, and returns at once. Each request waits
// for a slot of the queue, and a waiting plan has no goroutine. A request that the API server
// refused because of its own load is sent again in its slot until the plan is outdated. The
// lease, the Target and the age of the plan are checked again when the slot comes. Start calls done once, at the end,
// in a goroutine that still has a slot: done should not wait. A nil queue does not limit.
func (t *Tracker) Start(ctx context.Context, client Client, p Plan, queue *requests.Queue, done func(Result, error)) {
	a := &application{account: account{plan: &p}, tracker: t, client: client, labels: hub.LabelsOf(client)}
	a.step(ctx, queue, done)
}

// An application is a plan being carried out. The tracker's lock guards it.
type application struct {
	account
	tracker *Tracker
	client  Client
	owner   *owned // nil until its first request is chosen
	deletes map[types.UID]*Deletion
	labels  hub.Queue // of the next Jobs
}

// step sends the next batch, and the following ones when all its replies are there.
func (a *application) step(ctx context.Context, queue *requests.Queue, done func(Result, error)) {
	batch := a.next(ctx)
	if len(batch) == 0 {
		done(a.finish())
		return
	}
	owner := &a.plan.target.Owner
	turn := requests.Owner{Namespace: owner.Namespace, Name: owner.Name}
	var pending atomic.Int64
	pending.Store(int64(len(batch)))
	for _, c := range batch {
		queue.Do(ctx, turn, func(slot context.Context) {
			reply := a.send(slot, c)
			for reply.Err != nil && requests.Retry(slot) {
				reply = a.send(slot, c)
			}
			a.answered(c, reply)
			if pending.Add(-1) == 0 {
				a.step(ctx, queue, done)
			}
		})
	}
}

// next returns the calls of the next batch: none if the plan has been carried out or is
// outdated. Numbers are chosen and the gates of pruning are checked here.
func (a *application) next(ctx context.Context) (batch []*call) {
	t, p := a.tracker, a.plan
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.created.IsZero() { // a program made it: it is of now
		_ = t.leads() // outdatedBy has the error
		p.created, p.term = t.now(), t.term
		if o := t.owners[p.Owner]; o != nil {
			p.target = o.target
		}
	}
	if err := cmp.Or(ctx.Err(), a.outdatedBy()); err != nil {
		o := t.owners[p.Owner]
		dropped := o != nil && o.plan == a && o.set.Stop()
		a.stop(ctx.Err(), err, dropped || (a.owner == nil && len(p.Delete) > 0))
		return nil
	}
	if a.owner == nil {
		a.begin(t.owners[p.Owner])
	}
	for len(batch) == 0 {
		requests := a.owner.set.Next(t.now())
		if len(requests) == 0 {
			return nil
		}
		for _, q := range requests {
			if q.Verb != slots.List {
				batch = append(batch, a.choose(q))
				continue
			}
			result := slots.NoEffect
			if t.jobFeeds.Relist() {
				result = slots.Done
			}
			a.owner.set.Answer(q, result, "", t.now())
		}
	}
	return batch
}

// outdatedBy returns why the plan stops, or nil. A request may have waited for long since next.
func (a *application) outdatedBy() error {
	t, p, leads := a.tracker, a.plan, a.tracker.leads()
	age, o := t.now().Sub(p.created), t.owners[p.Owner]
	switch {
	case leads != nil:
		return fmt.Errorf("%w: %w", ErrOutdated, leads)
	case p.term != t.term:
		return fmt.Errorf("%w: %w; another has begun", ErrOutdated, requests.ErrEnded)
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

// begin gives the plan to the owner's set. The rest of the owner's plan before is dropped.
func (a *application) begin(o *owned) {
	d := slots.Demand{Create: a.plan.Create, Max: o.target.Policy.Bounds.Max}
	if d.Max == scaling.NoMax { // Without a maximum, the plan is the bound: an unanswered create keeps its place.
		unfinished := o.set.Unfinished()
		d.Max = unfinished + min(d.Create, d.Max-unfinished)
	}
	a.deletes = make(map[types.UID]*Deletion, len(a.plan.Delete))
	for i := range a.plan.Delete {
		deletion := &a.plan.Delete[i]
		if a.deletes[deletion.UID] == nil {
			a.deletes[deletion.UID] = deletion
			d.Delete = append(d.Delete, string(deletion.UID))
		}
	}
	o.land()
	o.set.Begin(d, a.tracker.now())
	o.plan, a.owner = a, o
}

// choose returns the call of a request, with what the Target and the cache say now.
func (a *application) choose(q slots.Request) *call {
	o, c, j := a.owner, &call{Request: q}, a.tracker.jobs[types.UID(q.UID)]
	switch {
	case q.Verb == slots.Create:
		c.job = Job{
			Namespace: o.target.Owner.Namespace, Name: o.target.jobName(q.Number), Number: q.Number, Phase: InFlight, Created: a.tracker.now(),
			Revision: o.target.Revision, labels: a.labels.Next(),
		}
		if o.sent == nil {
			o.sent = map[int64]Job{}
		}
		o.sent[q.Number] = c.job
	case q.Verb == slots.Delete:
		planned := a.deletes[j.UID]
		c.job, c.propagation, c.reason = j.Job, planned.Propagation, planned.Reason
		if j.pruned = j.pruned || q.Finished; q.Finished || planned.ResourceVersion != "" {
			c.job.ResourceVersion = planned.ResourceVersion
		}
	case q.UID != "": // the read of a Job that was deleted
		c.job = j.Job
	default: // the read of a Job that was created, or a mark
		c.job = o.sent[q.Number]
	}
	return c
}

// answered takes over the reply to a call.
func (a *application) answered(c *call, r request.Reply) {
	t := a.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.count(c, r); c.Verb == slots.Create && r.Result != slots.Done && r.Result != slots.Unanswered {
		a.labels = append(a.labels, c.job.labels) // for the next number
	}
	o := t.owners[a.plan.Owner]
	if o == nil || o.set == nil {
		return
	}
	if o.plan == a && errors.Is(r.Err, ErrNotSent) {
		o.set.Stop()
	}
	o.set.Answer(c.Request, r.Result, string(r.UID), t.now())
	switch {
	case c.UID == "":
	case c.Verb == slots.Read && r.Result == slots.Done: // the Job is there; the plan was made when this prune was in doubt
		if o.target != nil && t.options.Changed != nil {
			go t.options.Changed(o.target.Owner)
		}
	case r.Result == slots.Done, r.Result == slots.Absent:
		t.deleted(types.UID(c.UID))
	}
	t.drop(o)
}

// deleted notes that the API server has accepted the deletion of a Job.
func (t *Tracker) deleted(uid types.UID) {
	if j := t.jobs[uid]; j != nil {
		before := *j
		before.deleted = true
		t.recount(j, before)
	}
}
