package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/fair"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/controllers/internal/poll"
)

const (
	// reporters is how many statuses and events are written at once: few, so that they
	// leave the limit on requests to the Jobs.
	reporters = 4
	// lastReports is how long statuses and events are written after the last poll.
	lastReports = 5 * time.Second
)

// A term is the time while this process leads. Its knowledge of Jobs begins with it.
type term struct {
	*controller
	ctx     context.Context
	tracker *adapter.Tracker
	polls   *loop.Loop
	reports *loop.Keys
	spread  poll.Spread // only the informer's goroutine uses it

	mu      sync.Mutex
	entries map[cache.ObjectName]*entry
}

// An entry is the state of a ScaledJob in a term: some 2 KB between polls.
type entry struct {
	name     cache.ObjectName
	uid      types.UID
	begins   time.Time     // with -label
	problems poll.Warnings // only polls use it

	mu     sync.Mutex
	from   *stored
	spec   *spec
	report report
	tally  tally
}

func (c *controller) newTerm(ctx context.Context) (*term, error) {
	t := &term{controller: c, ctx: ctx, reports: loop.NewKeys(fair.New(reporters)), entries: map[cache.ObjectName]*entry{}}
	var err error
	t.tracker, err = adapter.NewTracker(c.Watches, adapter.Options{
		Namespace: c.Namespace, Selector: scaledjob.Selector, Pods: c.watchPods, Timeout: c.requestTimeout, Terms: c.lease.Holder,
	})
	t.polls = loop.New(loop.Options{Tracker: t.tracker, Client: c.Requests, Requests: c.Queue})
	return t, err
}

// run polls until the context ends. Then it ends the polls, and their reports.
func (t *term) run() error {
	var watching, polling, reporting sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { t.tracker.Run(t.ctx) })
	if !cache.WaitForCacheSync(t.ctx.Done(), t.tracker.HasSynced) {
		return nil
	}
	t.log.Info("acting", "namespace", t.Namespace, "watchPods", t.watchPods)
	remove, err := poll.Handle(t.ctx, t.watched, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { t.changed(object.(*stored), initial) },
		UpdateFunc: func(_, object any) { t.changed(object.(*stored), false) },
		DeleteFunc: t.deleted,
	})
	if err != nil {
		return err
	}
	last, end := context.WithCancel(context.WithoutCancel(t.ctx))
	defer end()
	polling.Go(func() { t.polls.Run(t.ctx, t.poll) })
	reporting.Go(func() {
		t.reports.Run(last, func(ctx context.Context, turn loop.Turn, ended func()) {
			defer ended()
			t.write(ctx, turn.Key)
		})
	})
	<-t.ctx.Done()
	err = remove()
	polling.Wait()
	time.AfterFunc(lastReports, end)
	t.reports.Stop()
	reporting.Wait()
	for _, e := range t.all() {
		t.reader.Forget(e.uid)
	}
	t.log.Info("stopped")
	return err
}

func (t *term) entry(key cache.ObjectName) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[key]
}

func (t *term) all() (all []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		all = append(all, e)
	}
	return all
}

// changed records a changed ScaledJob. An edit stops the plan that is being applied, and
// starts a poll.
func (t *term) changed(s *stored, initial bool) {
	key := cache.MetaObjectToName(s)
	e := t.entry(key)
	if e != nil && (e.uid != s.UID || s.DeletionTimestamp != nil) {
		t.remove(key)
		e = nil
	}
	switch {
	case s.DeletionTimestamp != nil:
		t.reports.Now(key) // see free
	case e == nil:
		e = &entry{name: key, uid: s.UID, begins: t.begins(s)}
		e.edit(t, s)
		t.mu.Lock()
		t.entries[key] = e
		t.mu.Unlock()
		t.polls.After(key, max(t.spread.Delay(initial), time.Until(e.begins)))
	case e.edit(t, s):
		t.polls.Now(key)
	}
}

func (t *term) deleted(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		t.remove(key)
	}
}

// remove forgets a ScaledJob. Its Jobs are the garbage collector's.
func (t *term) remove(key cache.ObjectName) {
	t.mu.Lock()
	e := t.entries[key]
	delete(t.entries, key)
	t.mu.Unlock()
	if e != nil {
		t.begin.Delete(e.uid)
		t.tracker.Untrack(e.uid)
		go t.reader.Forget(e.uid) // a worker may be slow
	}
}

// edit takes over a version of the ScaledJob, and reports whether the user has changed it.
func (e *entry) edit(t *term, s *stored) (edited bool) {
	e.mu.Lock()
	same := e.from != nil && e.from.same(s)
	e.from = s
	e.mu.Unlock()
	if same {
		return false
	}
	var config scaledjob.Config
	job, err := s.read()
	if err == nil {
		config, err = scaledjob.Configure(job, nil)
	}
	is := &spec{generation: s.Generation, invalid: err, interval: unreadable}
	if config.Target.Revision.TemplateHash = s.templateHash; err == nil {
		is.keda = t.transition.as(job, &config.Target)
		t.transition.slowDown(&config)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if is.invalid == nil {
		is.invalid = t.tracker.Track(config.Target)
	}
	if is.invalid != nil {
		t.tracker.Untrack(e.uid)
	} else {
		is.interval = config.PollingInterval
		is.owner = triggers.OwnerOf(job)
		is.owner.Generation = s.Generation
		for _, w := range config.Warnings { // valid fields that may surprise
			t.log.Warn(w.Error(), "namespace", e.name.Namespace, "scaledjob", e.name.Name)
		}
	}
	if job != nil {
		is.describe(job.Spec.Triggers)
	}
	if e.spec != nil {
		go t.reader.Forget(e.uid) // of triggers that it has no more
	}
	e.spec = is
	return true
}

// wake polls the owner of a push scaler that became active.
func (c *controller) wake(uid types.UID) {
	t := c.term.Load()
	if t == nil {
		return
	}
	for _, e := range t.all() {
		if e.uid == uid {
			t.polls.Now(e.name)
		}
	}
}
