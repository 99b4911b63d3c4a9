package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/poll"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
)

// A controller has the members, and a poller for each object of the home cluster.
type controller struct {
	*options
	clients
	log      *slog.Logger
	home     string // names the home cluster on the members
	registry registry.Registry
	members  *members
	taints   taints
	orphaned orphanage
	reader   triggerReader // of DistributedScaledJobs
	readers  []kedaReader
	events   events.EventBroadcaster
	recorder events.EventRecorder
	kinds    []*kind
	polling  sync.WaitGroup
}

type clients struct {
	client         kubernetes.Interface
	dynamic        dynamic.Interface
	watches        kubernetes.Interface // of informers
	dynamicWatches dynamic.Interface    // of informers
	keda           kedametrics.Clients
	lease          loop.Lease
}

// startTime is a time within which the triggers of every object are known. Objects of triggers that nobody has are deleted
// then.
const startTime = time.Minute

// A kind holds the pollers of all objects of a kind.
type kind struct {
	*controller
	resource schema.GroupVersionResource
	subject  func(*poller) subject
	watched  cache.SharedIndexInformer
	spread   poll.Spread // only the informer's goroutine uses it

	mu      sync.Mutex
	pollers map[cache.ObjectName]*poller // only the informer's goroutine changes it
}

// A triggerReader has KEDA read the triggers of owners.
type triggerReader interface {
	Track(kedametrics.Owner) error
	Untrack(types.UID)
	Take(cache.ObjectName) (kedametrics.Reading, bool)
}

// A kedaReader knows whether KEDA can be asked.
type kedaReader interface {
	Run(context.Context)
	Complete()
	Available() kedametrics.Reason
	Probe()
}

// kedaAway returns why KEDA cannot be asked, or "". If probe is set, KEDA is asked again.
func (c *controller) kedaAway(probe bool) kedametrics.Reason {
	for _, reader := range c.readers {
		if probe {
			reader.Probe()
		}
		if reason := reader.Available(); reason != "" && reason != kedametrics.Starting {
			return reason
		}
	}
	return ""
}

func newController(ctx context.Context, o *options, via clients, log *slog.Logger) (*controller, error) {
	system, err := via.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the home cluster's name: %w", err)
	}
	c := &controller{
		options: o, clients: via, log: log, home: string(system.UID),
		registry: registry.Registry{Client: via.watches, Namespace: o.kedaNamespace},
		events:   events.NewBroadcaster(&events.EventSinkImpl{Interface: via.client.EventsV1()}),
	}
	c.members = &members{Clusters: member.Clusters{Taints: &o.taints, Patience: time.Second}, controller: c, kubeconfigs: map[string]string{}}
	c.recorder = c.events.NewRecorder(scheme.Scheme, name)
	for _, r := range o.resources() {
		k := &kind{controller: c, resource: r, subject: newJob, pollers: map[cache.ObjectName]*poller{}}
		reads := kedametrics.Options{Clients: via.keda, Name: name, Namespace: o.Namespace, Decide: k.wake, RefuseClusterAuthentication: !o.clusterAuthentication}
		if r == api.Objects {
			k.subject, reads.Name = newObject, api.ReaderOfObjects // which reads nothing, and frees ScaledObjects without KEDA
		}
		reader := kedametrics.New(reads)
		c.readers = append(c.readers, reader)
		if r == api.Jobs {
			c.reader = reader
		}
		if k.watched, err = cluster.Informer(via.dynamicWatches, r, o.Namespace); err != nil {
			return nil, err
		}
		if err := k.watched.SetTransform(api.Slim); err != nil {
			return nil, err
		}
		c.kinds = append(c.kinds, k)
	}
	return c, nil
}

// run watches until the context ends, and acts while it holds the lease. The caches of
// the hub cluster are filled before. If the lease is lost, run returns its error: the
// next process starts with an observation of its own.
func (c *controller) run(ctx context.Context) error {
	for _, k := range c.kinds {
		go k.watched.RunWithContext(ctx)
	}
	if err := c.events.StartRecordingToSinkWithContext(requests.WithTerm(ctx, c.lease.Holder)); err != nil {
		return err
	}
	defer c.events.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
	}
	if !c.LeaderElect {
		return c.act(ctx)
	}
	return c.lease.Lead(ctx, c.act)
}

func (c *controller) synced() bool {
	for _, k := range c.kinds {
		if !k.watched.HasSynced() {
			return false
		}
	}
	return true
}

// act polls every object until the context ends, and returns when each poll has.
func (c *controller) act(ctx context.Context) error {
	if err := c.registry.Watch(ctx, func(registered []registry.Member) { c.members.register(ctx, registered) }); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for _, reader := range c.readers {
		c.polling.Go(func() { reader.Run(ctx) })
	}
	c.log.Info("acting", "namespace", c.Namespace, "members", c.members.Names(), "jobs", c.jobs.enabled, "objects", c.objects.enabled)
	var removals []func() error
	for _, k := range c.kinds {
		remove, err := k.watch(ctx)
		if err != nil {
			return err
		}
		removals = append(removals, remove)
	}
	if c.jobs.enabled {
		defer time.AfterFunc(startTime, c.readers[0].Complete).Stop()
	}
	<-ctx.Done()
	var problems []error
	for _, remove := range removals {
		problems = append(problems, remove())
	}
	c.polling.Wait()
	c.log.Info("stopped")
	return errors.Join(problems...)
}

func (k *kind) watch(ctx context.Context) (remove func() error, err error) {
	for _, object := range k.watched.GetStore().List() {
		k.remember(object.(*unstructured.Unstructured))
	}
	_, remove, err = poll.Handle(ctx, k.watched, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { k.changed(ctx, object.(*unstructured.Unstructured), initial) },
		UpdateFunc: func(_, object any) { k.changed(ctx, object.(*unstructured.Unstructured), false) },
		DeleteFunc: k.deleted,
	})
	return remove, err
}

// changed hands a changed object to its poller.
func (k *kind) changed(ctx context.Context, u *unstructured.Unstructured, initial bool) {
	name := cache.MetaObjectToName(u)
	p := k.pollers[name]
	if p != nil && p.uid != u.GetUID() {
		k.stop(name)
		p = nil
	}
	if p == nil {
		p = k.start(ctx, u, k.spread.Delay(initial))
		k.mu.Lock()
		k.pollers[name] = p
		k.mu.Unlock()
	} else {
		p.updates.Send(u)
	}
}

func (k *kind) deleted(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		k.stop(name)
	}
}

func (k *kind) stop(name cache.ObjectName) {
	p := k.pollers[name]
	if p == nil {
		return
	}
	p.cancel()
	k.mu.Lock()
	delete(k.pollers, name)
	k.mu.Unlock()
	if k.resource == api.Jobs {
		k.reader.Untrack(p.uid) // not in close, which also ends a term
	}
}

// slowPolls returns the times between KEDA's polls of the objects that KEDA polls less often than asked.
func (k *kind) slowPolls() map[cache.ObjectName]time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	slow := map[cache.ObjectName]time.Duration{}
	for name, p := range k.pollers {
		if period := time.Duration(p.slow.Load()); period > 0 {
			slow[name] = period
		}
	}
	return slow
}

// wake has the object of that name polled, because there is a reading of its triggers.
func (k *kind) wake(name cache.ObjectName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pollers[name]; p != nil {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}
