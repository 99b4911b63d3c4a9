package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// An outcome is what a reconcile came to.
type outcome struct {
	unread       error // why the queue could not be read; depth and desired then mean nothing
	depth        int64
	desired      int32
	active       int32 // those created included
	created      int32
	createFailed error
}

// write puts the outcome into a status. What is not known stays as it was.
func (o outcome) write(status *v1.ScaledJobStatus, generation int64, now time.Time) {
	status.ActiveJobs = o.active
	if o.unread == nil {
		status.QueueDepth, status.DesiredJobs = new(o.depth), new(o.desired)
	}
	if o.created > 0 {
		status.LastScaleTime = new(metav1.NewTime(now))
	}
	for _, c := range []metav1.Condition{o.connected(), o.ready()} {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
		c.Message = fmt.Sprintf("%.1000s", c.Message)
		meta.SetStatusCondition(&status.Conditions, c)
	}
}

func (o outcome) connected() metav1.Condition {
	c := metav1.Condition{Type: v1.ConditionQueueConnected}
	if o.unread != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1.ReasonRedisUnreachable, o.unread.Error()
	} else {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1.ReasonConnected, "The queue can be read"
	}
	return c
}

func (o outcome) ready() metav1.Condition {
	c := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case o.unread != nil:
		c.Reason, c.Message = v1.ReasonRedisUnreachable, "No Job is created while the queue cannot be read"
	case o.createFailed != nil:
		c.Reason, c.Message = v1.ReasonCreateFailed, o.createFailed.Error()
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1.ReasonReconciled, "The queue was read, and the Jobs it asks for were created"
	}
	return c
}

// events are what there is to tell of the step from the status before to the one
// after: each transition once, and that Jobs were created.
func (o outcome) events(before, after *v1.ScaledJobStatus) (told []adapter.Event) {
	was := meta.FindStatusCondition(before.Conditions, v1.ConditionQueueConnected)
	is := meta.FindStatusCondition(after.Conditions, v1.ConditionQueueConnected)
	lost := was != nil && was.Status == metav1.ConditionFalse
	switch {
	case is.Status == metav1.ConditionFalse && !lost:
		told = append(told, adapter.Event{Type: corev1.EventTypeWarning, Reason: v1.ReasonRedisUnreachable, Message: is.Message})
	case is.Status == metav1.ConditionTrue && lost:
		told = append(told, adapter.Event{Type: corev1.EventTypeNormal, Reason: v1.ReasonQueueConnected, Message: "The queue can be read again"})
	}
	if o.created > 0 {
		message := fmt.Sprintf("Created %d Jobs for %d items: %d of %d are active", o.created, o.depth, o.active, o.desired)
		told = append(told, adapter.Event{Type: corev1.EventTypeNormal, Reason: v1.ReasonCreatedJobs, Message: message})
	}
	return told
}
