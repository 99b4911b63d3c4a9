package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	runnable "sigs.k8s.io/controller-runtime/pkg/manager"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/controllerruntime"
	"github.com/scaledjob/scaledjob/adapter/loop"

	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/controller"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
)

// maxInFlight is the greatest number of requests in flight, of all ScaledJobs together.
const maxInFlight = 64

// Run returns nil when the context has ended and all work is done.
func (o *options) Run(ctx context.Context, log *slog.Logger) error {
	config, err := o.Connect(ctx, log)
	if err != nil {
		return err
	}
	lease, err := o.NewLease(config, log)
	if err != nil {
		return err
	}
	limit := loop.NewLimit(maxInFlight)
	manager, err := o.manager(config, lease, limit, log)
	if err != nil {
		return err
	}
	if err := served(manager.GetRESTMapper()); err != nil {
		return err
	}
	if err := o.add(manager, lease, limit); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// add adds the reconciler and the checks to a manager.
func (o *options) add(manager ctrl.Manager, lease loop.Lease, limit *loop.Limit) error {
	clients, err := loop.Connect(manager.GetConfig(), 0, limit)
	if err != nil {
		return err
	}
	jobs, err := controllerruntime.New(manager, clients, adapter.Options{Namespace: o.Namespace, Terms: lease.Terms})
	if err != nil {
		return err
	}
	broadcaster := cluster.Events(clients.Requests.EventsV1())
	record := func(ctx context.Context) error {
		defer broadcaster.Shutdown()
		err := broadcaster.StartRecordingToSinkWithContext(ctx)
		<-ctx.Done()
		return err
	}
	reconciler := &controller.Reconciler{
		Client:  manager.GetClient(),
		Live:    manager.GetAPIReader(),
		Jobs:    jobs,
		Queues:  &queue.Redis{Timeout: o.redisTimeout},
		Metrics: controller.NewMetrics(registry.Registry),
		Events:  broadcaster.NewRecorder(manager.GetScheme(), name),
		Poll:    o.poll, Retry: o.retry,
	}
	return errors.Join(
		manager.Add(runnable.RunnableFunc(record)),
		reconciler.SetupWithManager(manager),
		manager.AddHealthzCheck("ping", healthz.Ping),
		manager.AddReadyzCheck("caches", synced(manager.GetCache())),
	)
}

// manager returns a manager whose client shares the limit, so that statuses wait for their turns too.
func (o *options) manager(config *rest.Config, lease loop.Lease, limit *loop.Limit, log *slog.Logger) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(errors.Join(clientgo.AddToScheme(scheme), v1.AddToScheme(scheme)))
	options := o.managed()
	options.Scheme, options.Logger = scheme, logr.FromSlogHandler(log.Handler())
	options.NewClient = func(config *rest.Config, o ctrlclient.Options) (ctrlclient.Client, error) {
		o.HTTPClient = nil // without the limit
		return ctrlclient.New(loop.LimitedConfig(config, 0, limit), o)
	}
	if o.LeaderElect {
		controllerruntime.Elect(&options, lease)
	}
	return ctrl.NewManager(config, options)
}

// managed returns the manager's options of the flags.
func (o *options) managed() ctrl.Options {
	options := ctrl.Options{
		Cache:                  cache.Options{DefaultTransform: shorten},
		Metrics:                server.Options{BindAddress: cmp.Or(o.MetricsAddress, "0")},
		HealthProbeBindAddress: cmp.Or(o.ProbesAddress, "0"),
	}
	if o.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return options
}

// shorten leaves out of an object in the cache the parts that nobody reads.
func shorten(object any) (any, error) {
	if sj, ours := object.(*v1.ScaledJob); ours {
		sj.Spec.Shorten()
	}
	return cache.TransformStripManagedFields()(object)
}

// served returns an error if the cluster does not have ScaledJobs: the manager would
// wait for them.
func served(mapper meta.RESTMapper) error {
	kind := schema.GroupKind{Group: v1.GroupVersion.Group, Kind: "ScaledJob"}
	_, err := mapper.RESTMapping(kind, v1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster has no ScaledJobs of %s: apply redis-operator.yaml of the release, or config/crd of controllers/redis-operator", kind.Group)
	}
	return err
}

// synced returns a check of whether all objects that existed at the start are known.
func synced(c cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), 100*time.Millisecond)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced")
		}
		return nil
	}
}
