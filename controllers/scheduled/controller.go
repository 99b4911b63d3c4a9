package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// A controller reconciles a ScheduledJob after each change, when a run is due, and after
// the resync time.
type controller struct {
	*options
	process.Clients
	now      func() time.Time
	log      *slog.Logger
	events   events.EventBroadcaster
	recorder events.EventRecorder

	watched   watched
	scheduled cache.Indexer       // of *scheduledJob
	newest    cache.MutationCache // of *scheduledJob: as stored, or as watched if that is newer
	requests  cache.Indexer       // of *unstructured.Unstructured
	jobs      cache.Indexer       // of *batchv1.Job
	templates corelisters.PodTemplateLister
	tracker   *scheduledjob.Tracker
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	failures  *prometheus.CounterVec // of the ScheduledJobs that exist

	mutex   sync.Mutex
	foreign map[cache.ObjectName]foreignJobs // of the ScheduledJobs that exist
}

// Indexes of the caches
const (
	byOwner    = "owner"    // Jobs, by the UID of their controller
	byJob      = "job"      // RunRequests, by the ScheduledJob that they are for
	byAfter    = "after"    // ScheduledJobs, by the jobs that they come after
	byTemplate = "template" // ScheduledJobs, by the PodTemplate that they refer to
)

func newController(o *options, clients process.Clients, log *slog.Logger) *controller {
	c := &controller{
		options: o, Clients: clients, now: time.Now, log: log,
		events:  cluster.Events(clients.Requests.EventsV1()),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		foreign: map[cache.ObjectName]foreignJobs{},
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "scheduledjob", Name: "reconcile_errors_total", Help: "Reconciliations that failed and are repeated. Without a name: of requests for ScheduledJobs that do not exist.",
		}, []string{"namespace", "scheduledjob"}),
	}
	c.recorder = c.events.NewRecorder(scheme.Scheme, name)
	c.tracker = &scheduledjob.Tracker{Client: c.Requests, Late: 2 * c.requestTimeout, Terms: c.Lease.Terms, Now: func() time.Time { return c.now() }}
	factory := func(tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(c.Watches, 0, informers.WithNamespace(o.Namespace), informers.WithTweakListOptions(tweak))
	}
	custom := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.DynamicWatches, 0, o.Namespace, nil)
	templates := factory(nil).Core().V1().PodTemplates()
	c.watched = watched{
		scheduled: custom.ForResource(scheduledJobs).Informer(),
		requests:  custom.ForResource(runRequests).Informer(),
		jobs:      factory(func(l *metav1.ListOptions) { l.LabelSelector = scheduledjob.LabelTag }).Batch().V1().Jobs().Informer(),
		templates: templates.Informer(),
	}
	c.templates = templates.Lister()
	c.scheduled, c.requests, c.jobs = c.watched.scheduled.GetIndexer(), c.watched.requests.GetIndexer(), c.watched.jobs.GetIndexer()
	c.newest = cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), c.scheduled,
		cache.MutationCacheOptions{TTL: time.Minute, MaxCacheSize: 10_000})
	utilruntime.Must(c.watch()) // fails only if the informers have started
	return c
}

// watched holds the informers.
type watched struct{ scheduled, requests, jobs, templates cache.SharedIndexInformer }

func (w *watched) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{w.scheduled, w.requests, w.jobs, w.templates}
}

// watch adds the indexes of the caches and the handlers of changes.
func (c *controller) watch() error {
	w := &c.watched
	return errors.Join(
		w.scheduled.SetTransform(reads), w.requests.SetTransform(slim), w.jobs.SetTransform(slim), w.templates.SetTransform(slim),
		w.scheduled.AddIndexers(cache.Indexers{byAfter: after, byTemplate: template}),
		w.requests.AddIndexers(cache.Indexers{byJob: requested}),
		w.jobs.AddIndexers(cache.Indexers{byOwner: owner}),
		handle(w.scheduled, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(s any) { c.enqueue(s.(*scheduledJob).key()); c.enqueueIndexed(byAfter, s) },
			UpdateFunc: func(old, s any) { c.updated(old.(*scheduledJob), s.(*scheduledJob)) },
			DeleteFunc: c.deleted,
		}),
		handle(w.requests, always(c.enqueueRequested)),
		handle(w.jobs, always(c.enqueueOwner)),
		handle(w.templates, always(func(t any) { c.enqueueIndexed(byTemplate, t) })),
	)
}

func handle(i cache.SharedIndexInformer, h cache.ResourceEventHandler) error {
	_, err := i.AddEventHandler(h)
	return err
}

// always calls do for each change.
func always(do func(any)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: do, UpdateFunc: func(_, object any) { do(object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			do(object)
		},
	}
}

// updated ignores a change of the status for the ScheduledJob itself. ScheduledJobs that
// depend on it are reconciled.
func (c *controller) updated(old, s *scheduledJob) {
	edited := old.Generation != s.Generation || !maps.Equal(old.Annotations, s.Annotations)
	if edited || old.UID != s.UID {
		c.enqueue(s.key())
	}
	c.enqueueIndexed(byAfter, s)
}

// deleted is also for RunRequests that no reconciliation has claimed before the deletion.
func (c *controller) deleted(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.enqueue(key)
	}
	c.enqueueIndexed(byAfter, object)
}

func (c *controller) enqueue(key cache.ObjectName) { c.queue.Add(key) }

func (c *controller) enqueueIndexed(index string, object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return
	}
	found, _ := c.scheduled.ByIndex(index, key) // it has that index
	for _, s := range found {
		c.enqueue(s.(*scheduledJob).key())
	}
}

func (c *controller) enqueueRequested(object any) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		c.enqueue(cache.NewObjectName(u.GetNamespace(), jobOf(u)))
	}
}

func (c *controller) enqueueOwner(object any) {
	j, ok := object.(*batchv1.Job)
	if !ok {
		return
	}
	if o := metav1.GetControllerOfNoCopy(j); o != nil && o.Kind == scheduledjob.GroupVersionKind.Kind {
		c.enqueue(cache.NewObjectName(j.Namespace, o.Name))
	}
}

func owner(object any) ([]string, error) {
	if o := metav1.GetControllerOfNoCopy(object.(*batchv1.Job)); o != nil {
		return []string{string(o.UID)}, nil
	}
	return nil, nil
}

func requested(object any) ([]string, error) {
	u := object.(*unstructured.Unstructured)
	return []string{u.GetNamespace() + "/" + jobOf(u)}, nil
}

func after(object any) (keys []string, _ error) {
	s := object.(*scheduledJob)
	for _, d := range s.Spec.After {
		keys = append(keys, s.Namespace+"/"+d.Job)
	}
	return keys, nil
}

func template(object any) ([]string, error) {
	s := object.(*scheduledJob)
	if s.Spec.TemplateRef == nil {
		return nil, nil
	}
	return []string{s.Namespace + "/" + s.Spec.TemplateRef.Name}, nil
}

func (c *controller) hasSynced() bool {
	for _, i := range c.watched.informers() {
		if !i.HasSynced() {
			return false
		}
	}
	return true
}

// run watches until the context ends, and acts while it leads. It returns an error if it
// loses the lease.
func (c *controller) run(ctx context.Context) error {
	if err := c.events.StartRecordingToSinkWithContext(requests.WithTerm(ctx, c.Lease.Terms)); err != nil {
		return err
	}
	defer c.events.Shutdown()
	if !c.sync(ctx) {
		return nil
	}
	return c.Lease.Lead(ctx, c.act)
}

// sync starts the watches, and reports whether the caches are filled before the context
// ends.
func (c *controller) sync(ctx context.Context) bool {
	for _, i := range c.watched.informers() {
		go i.RunWithContext(ctx)
	}
	return cache.WaitForCacheSync(ctx.Done(), c.hasSynced)
}

// act reconciles until the context ends. A ScheduledJob whose requests hang or fail delays no other,
// as package requests describes.
func (c *controller) act(ctx context.Context) error {
	c.tracker.Start()
	c.log.Info("acting", "namespace", c.Namespace, "resync", c.resync)
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	var working sync.WaitGroup
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			break
		}
		working.Add(1)
		c.Clients.Queue.Do(ctx, requests.Owner{Namespace: key.Namespace, Name: key.Name}, func(ctx context.Context) {
			defer working.Done()
			c.next(ctx, key)
		})
	}
	working.Wait()
	c.log.Info("stopped")
	return nil
}

// next reconciles a ScheduledJob of the queue.
func (c *controller) next(ctx context.Context, key cache.ObjectName) {
	defer c.queue.Done(key)
	wait, err := time.Duration(-1), error(nil)
	if panicked := requests.Guard(func() { wait, err = c.reconcile(ctx, key) }); panicked != nil {
		err = panicked
	}
	switch {
	case err == nil:
		c.queue.Forget(key)
	case ctx.Err() == nil:
		c.failed(key)
		c.log.Warn("will try again", "scheduledJob", key.String(), "err", err)
		c.queue.AddRateLimited(key)
	}
	if wait >= 0 {
		c.queue.AddAfter(key, wait)
	}
}

// failed counts a failure. Users choose the names of ScheduledJobs that do not exist, so
// those have no metric of their own.
func (c *controller) failed(key cache.ObjectName) {
	if c.stored(key) == nil {
		key = cache.ObjectName{}
	}
	c.failures.WithLabelValues(key.Namespace, key.Name).Inc()
}
