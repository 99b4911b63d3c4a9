package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
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
}

type clients struct {
	process.Clients
	keda kedametrics.Clients
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
	keys     *loop.Keys

	mu      sync.Mutex
	pollers map[cache.ObjectName]*poller
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
	system, err := via.Requests.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the home cluster's name: %w", err)
	}
	c := &controller{
		options: o, clients: via, log: log, home: string(system.UID),
		registry: registry.Registry{Client: via.Watches, Namespace: o.kedaNamespace},
		events:   cluster.Events(via.Requests.EventsV1()),
	}
	c.members = &members{Clusters: member.Clusters{Taints: &o.taints, Patience: time.Second}, controller: c, kubeconfigs: map[string]string{}}
	c.recorder = c.events.NewRecorder(scheme.Scheme, name)
	for _, r := range o.resources() {
		k := newKind(c, r, newJob)
		reads := kedametrics.Options{Clients: via.keda, Name: name, Namespace: o.Namespace, Decide: k.keys.Now, RefuseClusterAuthentication: !o.clusterAuthentication}
		if r == api.Objects {
			k.subject, reads.Name = newObject, api.ReaderOfObjects // which reads nothing, and frees ScaledObjects without KEDA
		}
		reader := kedametrics.New(reads)
		c.readers = append(c.readers, reader)
		if r == api.Jobs {
			c.reader = reader
		}
		k.watched = dynamicinformer.NewFilteredDynamicInformer(via.DynamicWatches, r, o.Namespace, 0, cache.Indexers{}, nil).Informer()
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
	if err := c.events.StartRecordingToSinkWithContext(requests.WithTerm(ctx, c.Lease.Terms)); err != nil {
		return err
	}
	defer c.events.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced) {
		return nil
	}
	return c.Lease.Lead(ctx, c.act)
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
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel() // ends them if a watch cannot begin
		running.Wait()
		c.log.Info("stopped")
	}()
	for _, reader := range c.readers {
		running.Go(func() { reader.Run(ctx) })
	}
	c.log.Info("acting", "namespace", c.Namespace, "members", c.members.Names(), "jobs", c.jobs.enabled, "objects", c.objects.enabled)
	for _, k := range c.kinds {
		if err := k.watch(); err != nil && ctx.Err() == nil {
			return err
		}
		running.Go(func() { k.run(ctx) })
	}
	if c.jobs.enabled {
		defer time.AfterFunc(startTime, c.readers[0].Complete).Stop()
	}
	<-ctx.Done()
	return nil
}

func newKind(c *controller, resource schema.GroupVersionResource, subject func(*poller) subject) *kind {
	// An object waits for no other: a queue or a member that does not answer delays its own objects only.
	slots := requests.NewQueue(math.MaxInt32)
	return &kind{controller: c, resource: resource, subject: subject, keys: loop.NewKeys(slots),
		pollers: map[cache.ObjectName]*poller{}}
}

// watch schedules a turn for each change. A change of the status alone schedules none.
func (k *kind) watch() error {
	for _, object := range k.watched.GetStore().List() {
		k.remember(object.(*unstructured.Unstructured))
	}
	_, err := k.watched.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: k.added,
		UpdateFunc: func(before, after any) {
			if u := after.(*unstructured.Unstructured); !equalExceptStatus(before.(*unstructured.Unstructured), u) {
				k.end(cache.MetaObjectToName(u), u.GetUID())
				k.keys.Now(cache.MetaObjectToName(u))
			}
		},
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				k.end(name, "")
				k.keys.Now(name)
			}
		},
	})
	return err
}

// added schedules the first turn of an object. The initial DistributedScaledObjects are polled within a period, not all
// at once; DistributedScaledJobs wait for KEDA.
func (k *kind) added(object any, initial bool) {
	name := cache.MetaObjectToName(object.(metav1.Object))
	if initial && k.resource == api.Objects {
		k.keys.After(name, rand.N(k.syncPeriod))
	} else {
		k.keys.Now(name)
	}
}

// run polls each object when it is due, until the context ends.
func (k *kind) run(ctx context.Context) {
	defer context.AfterFunc(ctx, k.keys.Stop)()
	k.keys.Run(ctx, func(_ context.Context, turn loop.Turn, ended func()) {
		defer ended()
		stored, _, _ := k.watched.GetStore().GetByKey(turn.Key.String())
		u, _ := stored.(*unstructured.Unstructured) // nil if it is gone
		p := k.pollerOf(turn.Key, u)
		if p == nil || ctx.Err() != nil {
			return
		}
		if next := p.turn(ctx, u); !next.IsZero() {
			k.keys.After(turn.Key, max(50*time.Millisecond, time.Until(next)))
		}
	})
}

// pollerOf returns the poller of the object, or nil if u is nil. It closes that of an object that is gone.
func (k *kind) pollerOf(name cache.ObjectName, u *unstructured.Unstructured) *poller {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pollers[name]
	if p != nil && (u == nil || p.uid != u.GetUID()) {
		delete(k.pollers, name)
		p.end()
		p.close()
		p = nil
	}
	if p == nil && u != nil {
		p = newPoller(k, u)
		k.pollers[name] = p
	}
	return p
}

// end ends the turn under way of another object of the name than that with the UID.
func (k *kind) end(name cache.ObjectName, uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pollers[name]; p != nil && p.uid != uid {
		p.end()
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
