package main

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/adaptertest"
)

// A cluster is a fake API server with as much of a job controller and a kubelet as the
// quickstart needs.
type cluster struct {
	client *adaptertest.Cluster
	now    time.Time
}

func newCluster() *cluster {
	c := &cluster{client: adaptertest.NewCluster(), now: time.Now()}
	c.client.SetClock(func() time.Time { return c.now })
	return c
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
