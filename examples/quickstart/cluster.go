package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// A cluster is client-go's fake API server with as much of a job controller and a kubelet as
// the quickstart needs.
type cluster struct {
	client  *fake.Clientset
	now     time.Time
	created int
}

func newCluster() *cluster {
	c := &cluster{client: fake.NewClientset(), now: time.Now()}
	c.client.PrependReactor("create", "*", c.admit)
	return c
}

// admit sets the fields of an object that an API server sets.
func (c *cluster) admit(a ktesting.Action) (bool, runtime.Object, error) {
	object, err := meta.Accessor(a.(ktesting.CreateAction).GetObject())
	if err != nil {
		return true, nil, err
	}
	c.created++
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.created)))
	object.SetCreationTimestamp(metav1.NewTime(c.now))
	return false, nil, nil
}

// advance lets the time between two polls pass.
func (c *cluster) advance(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	jobs, err := c.client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range jobs.Items {
		if j := &jobs.Items[i]; j.Status.CompletionTime == nil {
			if err := c.step(ctx, j, int(c.now.Sub(j.CreationTimestamp.Time)/d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// step updates a Job that was created so many polls ago, and its pod.
func (c *cluster) step(ctx context.Context, j *batchv1.Job, polls int) error {
	now, pods := metav1.NewTime(c.now), c.client.CoreV1().Pods(j.Namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: j.Name, Namespace: j.Namespace, Labels: map[string]string{batchv1.JobNameLabel: j.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	var err error
	switch {
	case polls == 1:
		j.Status.StartTime, j.Status.Active = &now, 1
		pod.Status.Phase = corev1.PodPending
		_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	case polls < 4:
		pod.Status.Phase = corev1.PodRunning
		_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	default:
		j.Status.Active, j.Status.Succeeded, j.Status.CompletionTime = 0, 1, &now
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
		pod.Status.Phase = corev1.PodSucceeded
		_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	}
	if err == nil {
		_, err = c.client.BatchV1().Jobs(j.Namespace).UpdateStatus(ctx, j, metav1.UpdateOptions{})
	}
	return err
}
