package main

import (
	"context"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"

	"github.com/scaledjob/scaledjob/adapter"
	adapterclient "github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/scaling"
)

// create prints how long each takes to create n Jobs in a namespace of its own. KEDA's
// executor has the rate limit that its operator ships with, and none.
func create(ctx context.Context, out io.Writer, kubeconfig string, n int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	clients, err := adapterclient.Connect(config, 0, nil)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		run  func(namespace string, owner *corev1.ConfigMap) error
	}{
		{"scaledjob", func(namespace string, owner *corev1.ConfigMap) error {
			target, _ := scaled(n, 100)
			target.Owner = adapter.OwnerOf(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			tracker, err := adapter.List(ctx, clients.Requests, target, adapter.Options{})
			if err != nil {
				return err
			}
			_, err = tracker.Apply(ctx, clients.Requests, tracker.Plan(owner.UID, []scaling.Metric{{Value: float64(n), Target: 1}}, time.Now()))
			return err
		}},
		{"KEDA, 20 requests a second and bursts of 30 (as shipped)", kedaCreates(ctx, config, 20, 30, n)},
		{"KEDA, without a rate limit", kedaCreates(ctx, config, -1, 0, n)},
	} {
		namespace, err := clients.Requests.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		owner, err := clients.Requests.CoreV1().ConfigMaps(namespace.Name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "orders"}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := c.run(namespace.Name, owner); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		took := time.Since(begin)
		jobs, err := clients.Requests.BatchV1().Jobs(namespace.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(jobs.Items) != n {
			return fmt.Errorf("%s: %d Jobs on the cluster; want %d", c.name, len(jobs.Items), n)
		}
		fmt.Fprintf(out, "%s: %d Jobs in %s, %.0f a second\n", c.name, n, took.Round(time.Millisecond), float64(n)/took.Seconds())
		if err := clients.Requests.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func kedaCreates(ctx context.Context, config *rest.Config, qps float32, burst, n int) func(string, *corev1.ConfigMap) error {
	return func(namespace string, owner *corev1.ConfigMap) error {
		scheme := k8sruntime.NewScheme()
		for _, add := range []func(*k8sruntime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
			if err := add(scheme); err != nil {
				return err
			}
		}
		limited := rest.CopyConfig(config)
		limited.QPS, limited.Burst = qps, burst
		c, err := client.New(limited, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		_, scaledJob := scaled(n, 100)
		scaledJob.Namespace, scaledJob.UID = namespace, owner.UID
		e := executor.NewScaleExecutor(listed{c}, nil, scheme, time.Minute, &events.FakeRecorder{})
		return e.RequestJobScale(ctx, scaledJob, true, false, int64(n), int64(n), executor.ScaleExecutorOptions{}).Error
	}
}

// A listed client has no Jobs and pods before the poll: the operator reads them from its
// cache, which makes no request.
type listed struct{ client.Client }

func (listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if jobs, ok := list.(*batchv1.JobList); ok {
		jobs.Items = nil
	}
	return nil
}
