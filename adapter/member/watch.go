package member

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
)

// jobInformer watches the Jobs of the home cluster's owners.
func (c *Cluster) jobInformer() cache.SharedIndexInformer {
	jobs := c.clients.Kubernetes.BatchV1().Jobs(c.options.Namespace)
	return c.informer("watch of Jobs", &batchv1.Job{}, labels.Set{adapter.LabelHome: c.options.Home}.String(), cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return jobs.List(ctx, o) },
		WatchFuncWithContext: jobs.Watch,
	})
}

// podInformer watches the pods of all Jobs, since those of our Jobs need not say
// whose they are.
func (c *Cluster) podInformer() cache.SharedIndexInformer {
	pods := c.clients.Kubernetes.CoreV1().Pods(c.options.Namespace)
	return c.informer("watch of pods", &corev1.Pod{}, batchv1.JobNameLabel, cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: pods.Watch,
	})
}

// informer watches what the selector selects. While the member does not answer it
// waits, instead of trying ever more seldom: so it goes on as soon as it answers.
func (c *Cluster) informer(what string, of runtime.Object, selector string, calls cache.ListWatch) cache.SharedIndexInformer {
	i := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (list runtime.Object, err error) {
			o.LabelSelector = selector
			err = c.watching(ctx, what, func() (err error) { list, err = calls.ListWithContextFunc(ctx, o); return err })
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (w watch.Interface, err error) {
			o.LabelSelector = selector
			err = c.watching(ctx, what, func() (err error) { w, err = calls.WatchFuncWithContext(ctx, o); return err })
			return w, err
		},
	}, c.clients.Kubernetes), of, 0, cache.Indexers{})
	if err := i.SetTransform(adapter.Strip); err != nil { // it has not started
		panic(err)
	}
	return i
}

// watching makes a call of an informer when the member answers, and notes what comes of
// it: that the server wants to be asked in another way is no failure.
func (c *Cluster) watching(ctx context.Context, what string, call func() error) error {
	if err := c.health.wait(ctx); err != nil {
		return err
	}
	err := call()
	switch {
	case ctx.Err() != nil:
	case err == nil || callFailed(err) && !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err):
		c.health.note(what, err)
		if err != nil {
			c.soon()
		}
	}
	return err
}
