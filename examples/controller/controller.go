package main

import (
	"context"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/examples/internal/poll"
)

// A controller has a poller for each ScaledJob, and one tracker of all Jobs.
type controller struct {
	options
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	log       *slog.Logger
	resolver  *source.Resolver
	tracker   *adapter.Tracker
	informers []cache.SharedIndexInformer
	watched   cache.SharedIndexInformer // of ScaledJobs
	events    events.EventBroadcaster
	recorder  events.EventRecorder
	metrics   *metrics

	polling sync.WaitGroup
	pollers map[cache.ObjectName]*poller // only the informer's goroutine uses it
	spread  poll.Spread                  // likewise
}

func newController(o options, client kubernetes.Interface, dynamic dynamic.Interface, log *slog.Logger) (*controller, error) {
	c := &controller{
		options: o, client: client, dynamic: dynamic, log: log,
		resolver: &source.Resolver{Client: client, Dynamic: dynamic, ClusterNamespace: o.clusterNamespace},
		events:   events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}),
		metrics:  newMetrics(),
		pollers:  map[cache.ObjectName]*poller{},
	}
	c.recorder = c.events.NewRecorder(scheme.Scheme, name)
	var err error
	if c.watched, err = cluster.Informer(dynamic, scaledJobs, o.namespace); err != nil {
		return nil, err
	}
	jobs := adapter.JobInformer(client, o.namespace)
	c.informers = []cache.SharedIndexInformer{c.watched, jobs}
	var pods cache.SharedIndexInformer
	if o.watchPods {
		pods = adapter.PodInformer(client, o.namespace)
		c.informers = append(c.informers, pods)
	}
	c.tracker, err = adapter.NewTracker(jobs, pods)
	return c, err
}

// run watches until the context ends, and acts while it leads. Another that takes
// over later has its caches filled already.
func (c *controller) run(ctx context.Context) error {
	for _, i := range c.informers {
		go i.RunWithContext(ctx)
	}
	if err := c.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer c.events.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
	}
	if !c.elect {
		return c.act(ctx)
	}
	return c.lease().Lead(ctx, c.act)
}

func (c *controller) synced() bool {
	return c.watched.HasSynced() && c.tracker.HasSynced()
}

// act polls every ScaledJob until the context ends, and returns when each poll has.
func (c *controller) act(ctx context.Context) error {
	c.log.Info("acting", "namespace", c.namespace, "watchPods", c.watchPods)
	registration, err := c.watched.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { c.changed(ctx, object, initial) },
		UpdateFunc: func(_, object any) { c.changed(ctx, object, false) },
		DeleteFunc: func(object any) { c.deleted(object) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	err = c.watched.RemoveEventHandler(registration)
	c.polling.Wait()
	c.log.Info("stopped")
	return err
}

// changed hands what is new of a ScaledJob to its poller.
func (c *controller) changed(ctx context.Context, object any, initial bool) {
	s := read(object.(*unstructured.Unstructured))
	name := cache.MetaObjectToName(s)
	p := c.pollers[name]
	if p != nil && (p.uid != s.UID || s.DeletionTimestamp != nil) {
		c.stop(name)
		p = nil
	}
	switch {
	case s.DeletionTimestamp != nil || ctx.Err() != nil:
	case p == nil:
		c.pollers[name] = c.start(ctx, s, c.spread.Delay(initial))
	default:
		p.updates.Send(s)
	}
}

func (c *controller) deleted(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.stop(name)
	}
}

func (c *controller) stop(name cache.ObjectName) {
	if p := c.pollers[name]; p != nil {
		p.cancel()
		p.metrics.remove()
		delete(c.pollers, name)
	}
}
