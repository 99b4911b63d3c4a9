package adapter

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List reads the Jobs of an owner, and their pods if Options.Pods is set, for a program
// that polls once. It returns a tracker that no event changes.
//
// List cannot detect a wrong namespace, because Jobs elsewhere are not listed. It does not
// know the creates that an earlier process or tracker sent in the last 2 Timeouts. Until
// they have arrived, each finished Job that Apply deletes may cost a Job above the maximum.
func List(ctx context.Context, client Client, target Target, o Options) (*Tracker, error) {
	t, err := newTracker(o)
	if err != nil {
		return nil, err
	}
	if err := t.check(&target); err != nil {
		return nil, err
	}
	namespace := target.Owner.Namespace
	jobs, err := client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{LabelSelector: t.selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list Jobs in %s: %w", namespace, err)
	}
	pods := &corev1.PodList{}
	if o.Pods {
		if pods, err = client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel}); err != nil {
			return nil, fmt.Errorf("list pods in %s: %w", namespace, err)
		}
	}
	return Observe(target, o, jobs.Items, pods.Items)
}

// Observe returns a tracker of an owner that knows these Jobs and pods, and that no event
// changes. Jobs of other owners are ignored. It sends no request.
func Observe(target Target, o Options, jobs []batchv1.Job, pods []corev1.Pod) (*Tracker, error) {
	t, err := newTracker(o)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		t.podShown(newPod(&pods[i]), false)
	}
	for i := range jobs {
		t.jobShown(newJob(&jobs[i], &t.options))
	}
	t.once = true
	if err := t.Track(target); err != nil {
		return nil, err
	}
	return t, nil
}
