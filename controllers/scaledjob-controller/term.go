package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
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
	reader  *kedametrics.Reader

	mu      sync.Mutex
	entries map[cache.ObjectName]*entry
}

// An entry is the state of a ScaledJob in a term: some 2 KB between polls.
type entry struct {
	name      cache.ObjectName
	uid       types.UID
	firstPoll time.Time        // with -label
	problems  process.Warnings // only polls use it

	mu     sync.Mutex
	from   *stored
	spec   *spec
	report report
	tally  tally
}

func (c *controller) newTerm(ctx context.Context) (*term, error) {
	t := &term{controller: c, ctx: ctx, reports: loop.NewKeys(requests.NewQueue(reporters)), entries: map[cache.ObjectName]*entry{}}
	var err error
	t.tracker, err = adapter.NewTracker(c.Watches, adapter.Options{
		Namespace: c.Namespace, Selector: scaledjob.Selector, Pods: c.watchPods, Timeout: c.requestTimeout, Terms: c.Lease.Terms,
	})
	t.polls = loop.New(loop.Options{Tracker: t.tracker, Client: c.Requests, Requests: c.Queue})
	t.reader = kedametrics.New(kedametrics.Options{Clients: c.keda, Name: c.identity(), Namespace: c.Namespace, Decide: t.polls.Now})
	return t, err
}

// run polls until the context ends. Then it ends the polls, and their reports.
func (t *term) run() error {
	var watching, reading, polling, reporting sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { t.tracker.Run(t.ctx) })
	if !cache.WaitForCacheSync(t.ctx.Done(), t.tracker.HasSynced) {
		return nil
	}
	t.log.Info("acting", "namespace", t.Namespace, "watchPods", t.watchPods)
	handler, err := t.watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { t.changed(object.(*stored)) },
		UpdateFunc: func(_, object any) { t.changed(object.(*stored)) },
		DeleteFunc: t.deleted,
	})
	if err != nil && t.ctx.Err() != nil {
		return nil // the informer takes no handler after its end
	}
	if err != nil {
		return err
	}
	last, end := context.WithCancel(context.WithoutCancel(t.ctx))
	defer end()
	reading.Go(func() { t.reader.Run(t.ctx) })
	polling.Go(func() { t.polls.Run(t.ctx, t.poll) })
	if cache.WaitForCacheSync(t.ctx.Done(), handler.HasSynced) {
		t.reader.Complete()
	}
	reporting.Go(func() {
		t.reports.Run(last, func(ctx context.Context, turn loop.Turn, ended func()) {
			defer ended()
			t.write(ctx, turn.Key)
		})
	})
	<-t.ctx.Done()
	err = t.watched.RemoveEventHandler(handler)
	polling.Wait()
	time.AfterFunc(lastReports, end)
	t.reports.Stop()
	reporting.Wait()
	reading.Wait()
	t.log.Info("stopped")
	return err
}

func (t *term) entry(key cache.ObjectName) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[key]
}

func (t *term) listEntries() (entries []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		entries = append(entries, e)
	}
	return entries
}

// changed records a changed ScaledJob. An edit stops the plan that is being applied.
func (t *term) changed(s *stored) {
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
		e = &entry{name: key, uid: s.UID, firstPoll: t.firstPoll(s)}
		e.edit(t, s)
		t.mu.Lock()
		t.entries[key] = e
		t.mu.Unlock()
		t.polls.Now(key)
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
		t.reader.Untrack(e.uid)
	}
}

// edit takes over a version of the ScaledJob, and reports whether the user has changed it.
func (e *entry) edit(t *term, s *stored) (edited bool) {
	e.mu.Lock()
	unchanged := e.from != nil && e.from.equals(s)
	e.from = s
	e.mu.Unlock()
	if unchanged {
		return false
	}
	var config scaledjob.Config
	job, err := s.read()
	if err == nil {
		config, err = scaledjob.Configure(job, targets(job.Spec.Triggers))
	}
	read := &spec{generation: s.Generation, invalid: err}
	if config.Target.Revision.TemplateHash = s.templateHash; err == nil {
		read.keda = t.transition.follow(job, &config.Target)
		t.transition.slowDown(&config)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if read.invalid == nil {
		read.invalid = t.tracker.Track(config.Target)
	}
	if read.invalid == nil {
		read.invalid = t.reader.Track(kedametrics.Owner{
			Owner: config.Target.Owner, Triggers: job.Spec.Triggers, Interval: config.PollingInterval,
			Container: job.Spec.EnvSourceContainerName, Pod: job.Spec.JobTargetRef.Template.Spec,
		})
	}
	if read.invalid != nil {
		t.tracker.Untrack(e.uid)
		t.reader.Untrack(e.uid)
	} else {
		for _, w := range config.Warnings { // valid fields that may surprise
			t.log.Warn(w.Error(), "namespace", e.name.Namespace, "scaledjob", e.name.Name)
		}
	}
	if job != nil {
		read.describe(job.Spec.Triggers)
	}
	e.spec = read
	return true
}

// targets returns a target for each type of KEDA whose own is not in the manifest: the HPA has it.
func targets(triggers []manifest.ScaleTrigger) map[string]float64 {
	defaults := map[string]float64{}
	for _, t := range triggers {
		inManifest := slices.Contains(manifest.TriggerTypes(), t.Type)
		if noQueue := t.Type == "cpu" || t.Type == "memory"; !inManifest && !noQueue {
			defaults[t.Type] = 1
		}
	}
	return defaults
}

// identity tells the objects of this controller from those of another with another label.
func (o *options) identity() string {
	if o.label == "" {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.label))
	return fmt.Sprintf("%s.%x", name, hash.Sum32())
}
