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

// A cluster is client-go's fake API server with as much of a job controller and
// a kubelet as the quickstart needs. Each call of advance is a step: the pod of a
// new Job is created, runs from the next step on, and succeeds two steps later.
type cluster struct {
	client *fake.Clientset
	now    time.Time
	made   int
}

func newCluster(now time.Time) *cluster {
	c := &cluster{client: fake.NewClientset(), now: now}
	c.client.PrependReactor("create", "*", c.admit)
	return c
}

func (c *cluster) time() time.Time { return c.now }

// admit sets the fields of an object that an API server sets.
func (c *cluster) admit(a ktesting.Action) (bool, runtime.Object, error) {
	object, err := meta.Accessor(a.(ktesting.CreateAction).GetObject())
	if err != nil {
		return true, nil, err
	}
	c.made++
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", c.made)))
	object.SetCreationTimestamp(metav1.NewTime(c.now))
	return false, nil, nil
}

// advance lets the time pass and takes a step.
func (c *cluster) advance(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	jobs, err := c.client.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range jobs.Items {
		if err := c.step(ctx, &jobs.Items[i], d); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) step(ctx context.Context, j *batchv1.Job, d time.Duration) error {
	now := metav1.NewTime(c.now)
	steps := 0
	if j.Status.StartTime != nil {
		steps = int(c.now.Sub(j.Status.StartTime.Time) / d)
	}
	switch {
	case len(j.Status.Conditions) > 0:
		return nil
	case j.Status.StartTime == nil:
		j.Status.StartTime, j.Status.Active = &now, 1
		if err := c.createPod(ctx, j); err != nil {
			return err
		}
	case steps < 3:
		if err := c.setPod(ctx, j, corev1.PodRunning); err != nil {
			return err
		}
	default:
		if err := c.setPod(ctx, j, corev1.PodSucceeded); err != nil {
			return err
		}
		j.Status.Active, j.Status.Succeeded, j.Status.CompletionTime = 0, 1, &now
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	}
	_, err := c.client.BatchV1().Jobs(j.Namespace).UpdateStatus(ctx, j, metav1.UpdateOptions{})
	return err
}

func (c *cluster) createPod(ctx context.Context, j *batchv1.Job) error {
	_, err := c.client.CoreV1().Pods(j.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, Labels: map[string]string{batchv1.JobNameLabel: j.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec:   j.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}, metav1.CreateOptions{})
	return err
}

func (c *cluster) setPod(ctx context.Context, j *batchv1.Job, phase corev1.PodPhase) error {
	pods := c.client.CoreV1().Pods(j.Namespace)
	pod, err := pods.Get(ctx, j.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod.Status.Phase = phase
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
