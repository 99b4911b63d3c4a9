package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/schedule"
)

const (
	conditionReady = "Ready" // tells whether a ScheduledJob does what its spec says
	reasonValid    = "Valid"
	reasonInvalid  = "Invalid"

	reasonNotStarted = "RunNotStarted" // an event's
)

// status is what there is to store.
func (s *scheduledJob) status(state schedule.State, invalid error, warnings []*adapter.FieldError) run.Status {
	ready := metav1.Condition{
		Type: conditionReady, Status: metav1.ConditionTrue, Reason: reasonValid, Message: "The spec is valid",
		ObservedGeneration: s.Generation, LastTransitionTime: metav1.NewTime(time.Now()),
	}
	for _, w := range warnings {
		ready.Message += "; " + w.Error()
	}
	if invalid != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reasonInvalid, invalid.Error()
	}
	ready.Message = cluster.ConditionMessage(ready.Message)
	status := run.Status{State: state, ObservedGeneration: s.Generation, Conditions: slices.Clone(s.Status.Conditions)}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// store writes the status where it has changed, if the ScheduledJob is still as it was
// read: whoever else has stored something in between has decided on it too. It returns
// what is stored.
func (c *controller) store(ctx context.Context, s *scheduledJob, status run.Status) (*scheduledJob, error) {
	was := s.Status
	if status.State.Equal(was.State) && status.ObservedGeneration == was.ObservedGeneration &&
		equality.Semantic.DeepEqual(status.Conditions, was.Conditions) {
		return s, nil
	}
	u, err := statusOnly(s, status)
	if err != nil {
		return nil, err
	}
	u, err = c.dynamic.Resource(scheduledJobs).Namespace(s.Namespace).UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: name})
	if err != nil {
		return nil, fmt.Errorf("store the status: %w", err)
	}
	stored := read(u)
	c.newest.Mutation(stored)
	c.tellReady(stored, meta.FindStatusCondition(was.Conditions, conditionReady), meta.FindStatusCondition(status.Conditions, conditionReady))
	return stored, nil
}

// statusOnly is the object as far as an update of its status needs it.
func statusOnly(s *scheduledJob, status run.Status) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(map[string]any{
		"apiVersion": s.APIVersion, "kind": s.Kind, "status": status,
		"metadata": map[string]any{"namespace": s.Namespace, "name": s.Name, "uid": s.UID, "resourceVersion": s.ResourceVersion},
	})
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, utiljson.Unmarshal(data, &u.Object)
}

// tellReady tells an event when a spec turns out to be invalid, and when it is
// valid again.
func (c *controller) tellReady(s *scheduledJob, was, is *metav1.Condition) {
	switch {
	case is.Status == metav1.ConditionFalse && (was == nil || was.Message != is.Message):
		c.record(s, corev1.EventTypeWarning, is.Reason, is.Message, "")
	case is.Status == metav1.ConditionTrue && was != nil && was.Status != is.Status:
		c.record(s, corev1.EventTypeNormal, is.Reason, is.Message, "")
	}
}

// tell tells what has come about, as events and in the log.
func (c *controller) tell(s *scheduledJob, all []schedule.Event) {
	for _, e := range all {
		kind := corev1.EventTypeWarning
		if e.Reason == schedule.RunSucceeded || e.Reason == schedule.Unblocked {
			kind = corev1.EventTypeNormal
		}
		c.record(s, kind, string(e.Reason), e.String(), e.Run.Tag)
	}
}

// record tells an event, of one run if it has a tag: client-go counts events that have
// all but the message in common as one, and their messages are lost.
func (c *controller) record(s *scheduledJob, kind, reason, message, tag string) {
	var related runtime.Object
	if tag != "" {
		related = &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: s.Namespace, Name: run.JobName(s.Name, tag)}
	}
	c.recorder.Eventf(s.ScheduledJob, related, kind, reason, reason, "%s", cluster.EventMessage(message))
	c.log.Info(message, "scheduledJob", s.key().String(), "reason", reason)
}
