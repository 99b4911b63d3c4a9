package controllerruntime_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/controllerruntime"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
)

// add adds a controller of queues, which are ConfigMaps, to a manager.
func add(manager ctrl.Manager, clients loop.Clients, terms *requests.Terms) error {
	jobs, err := controllerruntime.New(manager, clients, adapter.Options{Terms: terms, Namespace: "default"})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).Named("queues").
		Watches(&corev1.ConfigMap{}, jobs.Edits()).
		WatchesRawSource(jobs).
		Complete(controllerruntime.Reconciler(jobs, manager.GetClient(), target, func(_ context.Context, queue *corev1.ConfigMap) (adapter.Plan, controllerruntime.Done) {
			return poll(jobs.Tracker, queue)
		}))
}

// target describes the Jobs of a queue. An edit stops a plan that is under way.
func target(queue *corev1.ConfigMap) (t adapter.Target, err error) {
	t.Owner = adapter.OwnerOf(queue, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	t.Policy.Bounds.Max, err = strconv.ParseInt(queue.Data["max"], 10, 64)
	t.History = history.Policy{Succeeded: history.Keep(3), Failed: history.Keep(3)}
	t.Job = &batchv1.Job{}
	t.Job.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "worker", Image: queue.Data["image"], Command: strings.Fields(queue.Data["command"])}}
	return t, err
}

// poll asks for a Job for each item of the queue. Finished Jobs beyond the limits are deleted.
func poll(t *adapter.Tracker, queue *corev1.ConfigMap) (adapter.Plan, controllerruntime.Done) {
	items, unreadable := strconv.ParseUint(queue.Data["items"], 10, 64)
	metrics := []scaling.Metric{{Value: float64(items), Target: 1, Failed: unreadable != nil}}
	return t.Plan(queue.UID, metrics, time.Now()), func(_ context.Context, result adapter.Result, err error) time.Duration {
		slog.Info("polled", "queue", queue.Name, "items", items, "created", result.Created, "deleted", result.Pruned, "err", err)
		return time.Second
	}
}

// The controller of the README, on controller-runtime.
func Example() {
	config := ctrl.GetConfigOrDie()
	lease, err := loop.NewLease(config, "default", "queues", 0)
	exitOn(err)
	options := ctrl.Options{}
	controllerruntime.Elect(&options, lease)
	manager, err := ctrl.NewManager(config, options)
	exitOn(err)
	clients, err := loop.Connect(config, 0, loop.NewLimit(64))
	exitOn(err)
	exitOn(add(manager, clients, lease.Terms))
	exitOn(manager.Start(ctrl.SetupSignalHandler()))
}

func exitOn(err error) {
	if err != nil {
		panic(err)
	}
}
