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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
)

// run reconciles each queue every second, until ctx ends.
func run(ctx context.Context, client kubernetes.Interface) {
	for ctx.Err() == nil {
		queues, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{LabelSelector: "example.com/queue"})
		if err != nil {
			slog.Error("queues not listed", "err", err)
			queues = &corev1.ConfigMapList{}
		}
		for i := range queues.Items {
			queue := &queues.Items[i]
			if err := reconcile(ctx, client, queue); err != nil {
				slog.Error("not reconciled", "queue", cache.MetaObjectToName(queue), "err", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// reconcile asks for a Job for each item of the queue. Finished Jobs beyond the limits are deleted.
func reconcile(ctx context.Context, client kubernetes.Interface, queue *corev1.ConfigMap) error {
	target, err := target(queue)
	if err != nil || queue.DeletionTimestamp != nil {
		return err
	}
	jobs, err := adapter.List(ctx, client, target, adapter.Options{})
	if err != nil {
		return err
	}
	items, unreadable := strconv.ParseUint(queue.Data["items"], 10, 64)
	metrics := []scaling.Metric{{Value: float64(items), Target: 1, Failed: unreadable != nil}}
	result, err := jobs.Apply(ctx, client, jobs.Plan(queue.UID, metrics, time.Now()))
	if result != (adapter.Result{}) {
		slog.Info("reconciled", "queue", cache.MetaObjectToName(queue), "items", items, "created", result.Created, "deleted", result.Pruned)
	}
	return errors.Join(unreadable, err)
}

// target describes the Jobs of a queue. The next reconcile has each edit.
func target(queue *corev1.ConfigMap) (t adapter.Target, err error) {
	t.Owner = adapter.OwnerOf(queue, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	t.Policy.Bounds.Max, err = strconv.ParseInt(queue.Data["max"], 10, 64)
	t.History = history.Policy{Succeeded: history.Keep(3), Failed: history.Keep(3)}
	t.Job = &batchv1.Job{}
	t.Job.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "worker", Image: queue.Data["image"], Command: strings.Fields(queue.Data["command"])}}
	return t, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	exitOn(err)
	config.QPS, config.Burst, config.Timeout = 50, 100, adapter.DefaultTimeout
	client, err := kubernetes.NewForConfig(config)
	exitOn(err)
	run(ctx, client)
}

func exitOn(err error) {
	if err != nil {
		slog.Error("stopped", "err", err)
		os.Exit(1)
	}
}
