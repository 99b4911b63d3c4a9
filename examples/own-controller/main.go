// Own-controller creates Jobs for a resource of its own. Here the resource is a
// ConfigMap with the label example.com/queue: see queue.yaml and README.md.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"

	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
)

// run is a term: it polls each queue every second, until the lease or the program ends.
func run(ctx context.Context, clients loop.Clients, terms *requests.Holder) {
	tracker, err := adapter.NewTracker(clients.Watches, adapter.Options{Terms: terms, Namespace: "default"})
	exitOn(err)
	queues := informers.NewFilteredConfigMapInformer(clients.Watches, "default", 0, nil,
		func(o *metav1.ListOptions) { o.LabelSelector = "example.com/queue" })
	polls := loop.New(loop.Options{Tracker: tracker, Client: clients.Requests, Requests: clients.Queue})
	_, err = queues.AddEventHandler(loop.Handler(polls, target, func(queue *corev1.ConfigMap, err error) {
		slog.Error("edit ignored", "queue", cache.MetaObjectToName(queue), "err", err)
	}))
	exitOn(err)
	go tracker.Run(ctx)
	go queues.RunWithContext(ctx)
	polls.Run(ctx, loop.Stored(queues.GetStore(), func(_ context.Context, queue *corev1.ConfigMap) (adapter.Plan, loop.Done) {
		return poll(tracker, queue)
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
func poll(t *adapter.Tracker, queue *corev1.ConfigMap) (adapter.Plan, loop.Done) {
	items, unreadable := strconv.ParseUint(queue.Data["items"], 10, 64)
	metrics := []scaling.Metric{{Value: float64(items), Target: 1, Failed: unreadable != nil}}
	return t.Plan(queue.UID, metrics, time.Now()), func(result adapter.Result, err error) time.Duration {
		if err = errors.Join(unreadable, err); err != nil || result != (adapter.Result{}) {
			slog.Info("polled", "queue", cache.MetaObjectToName(queue), "items", items,
				"created", result.Created, "deleted", result.Pruned, "err", err)
		}
		return time.Second
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	exitOn(err)
	clients, err := loop.Connect(config, 0, loop.NewLimit(64))
	exitOn(err)
	lease, err := loop.NewLease(config, "default", "own-controller", 0)
	exitOn(err)
	exitOn(lease.Keep(ctx, func(ctx context.Context) error {
		run(ctx, clients, lease.Holder)
		return nil
	}))
}

func exitOn(err error) {
	if err != nil {
		slog.Error("stopped", "err", err)
		os.Exit(1)
	}
}
