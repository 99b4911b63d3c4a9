package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/controller"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

// name is what the operator is called in events, requests and its lease.
const name = "redis-operator"

// The lease, and what is told of it, are in the operator's own namespace.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=redis-operator,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=redis-operator,resources=leases,resourceNames=redis-operator,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=redis-operator,resources=events,verbs=create;patch

// operate returns nil when the context ends and all is put down.
func (o options) operate(ctx context.Context) error {
	manager, err := o.manager()
	if err != nil {
		return err
	}
	if err := served(manager.GetRESTMapper()); err != nil {
		return err
	}
	redis := &queue.Redis{Secrets: o.secrets, Timeout: o.redisTimeout, Idle: o.redisIdle}
	reconciler := &controller.Reconciler{
		Client:  manager.GetClient(),
		Live:    manager.GetAPIReader(),
		Queues:  redis,
		Metrics: metrics.New(registry.Registry),
		Events:  manager.GetEventRecorder(name),
		Now:     time.Now,
		Poll:    o.poll, Retry: o.retry, Workers: o.workers,
	}
	err = errors.Join(
		reconciler.SetupWithManager(manager),
		manager.Add(redis),
		manager.AddHealthzCheck("ping", healthz.Ping),
		manager.AddReadyzCheck("caches", synced(manager.GetCache())),
	)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

func (o options) manager() (ctrl.Manager, error) {
	config, err := cluster.Access{Program: name, Kubeconfig: o.kubeconfig}.Config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgo.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	labelled, err := labels.NewRequirement(controller.LabelOwner, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			ByObject:         map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: labels.NewSelector().Add(*labelled)}},
			DefaultTransform: cache.TransformStripManagedFields(),
		},
		Metrics:                       server.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		LeaderElection:                o.elect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
	}
	if o.namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	}
	return ctrl.NewManager(config, options)
}

// served returns an error where the cluster does not know ScaledJobs: they would be
// waited for.
func served(mapper meta.RESTMapper) error {
	kind := schema.GroupKind{Group: v1.GroupVersion.Group, Kind: "ScaledJob"}
	_, err := mapper.RESTMapping(kind, v1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster has no ScaledJobs of %s: kubectl apply -k examples/redis-operator/config/crd", kind.Group)
	}
	return err
}

// synced reports whether all that there was at the start is known.
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
