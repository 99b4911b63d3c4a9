// Package controllerruntime is for controllers on controller-runtime: it makes the Jobs of a tracker a
// source of a controller, and a manager's election the terms of the tracker.
//
//	lease, err := loop.NewLease(config, "shop", "shop-operator", 0)
//	controllerruntime.Elect(&options, lease)                     // of the manager
//	clients, err := loop.Connect(config, 0, loop.NewLimit(64))
//	jobs, err := controllerruntime.New(manager, clients, adapter.Options{Terms: lease.Terms})
//	err = ctrl.NewControllerManagedBy(manager).Named("shop").
//		Watches(&v1.Shop{}, jobs.Edits()).
//		WatchesRawSource(jobs).
//		Complete(controllerruntime.Reconciler(jobs, manager.GetClient(), target, poll))
//
// The example has the whole controller. A reconciler of your own calls Track with the owner's
// spec, reads the queue, and then:
//
//	plan := jobs.Plan(owner.UID, metrics, time.Now())
//	result, err := jobs.Apply(ctx, plan) // holds a worker
//	if failed := adapter.WithoutOutdated(err); failed != nil {
//		return ctrl.Result{}, failed // controller-runtime tries again, and ignores a result
//	}
//	return jobs.Next(plan, err, 30*time.Second), nil
//
// # Terms
//
// A term begins when the manager is elected, which is also when a source begins to watch. It
// ends by the renewals of the lease: a process that was stopped for a minute sends nothing,
// although the manager's Elected channel stays closed. Without Elect, use [requests.OneShot].
//
// # A watch of its own
//
// The tracker watches Jobs itself. An informer of Jobs that the manager has already cannot feed
// it: client-go groups the events of an informer by object, and deleting finished Jobs needs
// one order of all Jobs of an owner. The second watch gets each event of the selected Jobs
// once more, and keeps 0.55 KB for each Job. adapter.Options.Selector keeps it small: the
// default selects the Jobs that trackers have created.
package controllerruntime

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// Elect lets the manager's election hold the lease.
func Elect(o *ctrl.Options, l loop.Lease) {
	deadline, retry := l.RenewDeadline(), l.RetryPeriod()
	o.LeaderElection, o.LeaderElectionReleaseOnCancel = true, true
	o.LeaderElectionID, o.LeaderElectionNamespace = l.Name, l.Namespace
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &l.Duration, &deadline, &retry
	o.LeaderElectionResourceLockInterface = l.Lock()
}

// Jobs tracks the Jobs of a controller's owners. As a source of the controller it begins to
// watch when the controller begins to act, and reconciles an owner when the number of its
// unfinished Jobs has changed.
type Jobs struct {
	*adapter.Tracker
	clients loop.Clients
	terms   *requests.Terms
	ctx     context.Context // of the source
	queue   workqueue.TypedRateLimitingInterface[ctrl.Request]
	reads   *requests.Queue // of polls

	backoff   loop.Backoff
	mu        sync.Mutex
	plans     map[ctrl.Request]bool // polled or carried out; true if the owner is to be reconciled then
	planEnded sync.Cond             // a plan
}

// New returns Jobs that have not begun to watch. The manager, to which the controller is added
// too, ends after the plans of [Reconciler]. New replaces o.Changed.
func New(runnables interface{ Add(manager.Runnable) error }, clients loop.Clients, o adapter.Options) (*Jobs, error) {
	j := &Jobs{clients: clients, terms: o.Terms, reads: requests.NewQueue(2048), plans: map[ctrl.Request]bool{}}
	j.planEnded.L = &j.mu
	o.Changed = func(owner adapter.Owner) {
		req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}}
		if !j.consumeRepeat(req) {
			j.queue.Add(req)
		}
	}
	var err error
	if j.Tracker, err = adapter.NewTracker(clients.Watches, o); err != nil {
		return nil, err
	}
	return j, runnables.Add(manager.RunnableFunc(j.wait))
}

// Start watches until the context ends. The controller calls it.
func (j *Jobs) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	j.ctx, j.queue = requests.WithTerm(ctx, j.terms), queue
	go j.Run(ctx)
	return nil
}

// WaitForSync waits until all Jobs that existed at the start are known.
func (j *Jobs) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), j.HasSynced) {
		return errors.Join(errors.New("watch Jobs: the cache has not synced"), j.Problem())
	}
	return nil
}

// Apply carries a plan out.
func (j *Jobs) Apply(ctx context.Context, p adapter.Plan) (adapter.Result, error) {
	return j.Tracker.Apply(ctx, j.clients.Requests, p)
}

// again is the time after which a plan that was outdated is decided anew, and the shortest time
// until a reconcile without an event.
const retryDelay = time.Second

// Next returns the result of a reconcile that applied the plan. The next reconcile follows
// after the interval, when the plan may differ without an event if that is earlier, or soon if
// the plan was outdated.
func (j *Jobs) Next(p adapter.Plan, applied error, interval time.Duration) ctrl.Result {
	if errors.Is(applied, adapter.ErrOutdated) {
		interval = min(interval, retryDelay)
	}
	if !p.NextCheck.IsZero() {
		interval = min(interval, max(retryDelay, time.Until(p.NextCheck)))
	}
	return ctrl.Result{RequeueAfter: interval}
}

// Edits returns the handler of events of owners. An edit, also of a label or an annotation, or a
// deletion stops a plan that is under way, and brings a reconcile, which should call Track.
// Changes of a status do neither, if the kind has generations. A reconcile must not write a label or
// an annotation of its owner each time: it would bring the next one without a pause.
func (j *Jobs) Edits() handler.EventHandler { return &edits{jobs: j} }

type edits struct {
	handler.EnqueueRequestForObject
	jobs *Jobs
}

// Update stops a plan of the spec before.
func (e *edits) Update(ctx context.Context, u event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if edited(u.ObjectOld, u.ObjectNew) {
		e.jobs.Untrack(u.ObjectOld.GetUID())
		e.EnqueueRequestForObject.Update(ctx, u, queue)
	}
}

func edited(before, after metav1.Object) bool {
	return before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		(after.GetGeneration() == 0 && before.GetResourceVersion() != after.GetResourceVersion())
}

// Delete stops a plan of the deleted owner.
func (e *edits) Delete(ctx context.Context, d event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	e.jobs.Untrack(d.Object.GetUID())
	e.EnqueueRequestForObject.Delete(ctx, d, queue)
}
