package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

const (
	conditionReady    = "Ready" // reports whether a ScheduledJob does what its spec says
	reasonValid       = "Valid"
	reasonInvalid     = "Invalid"
	reasonJobNotFound = "JobNotFound" // also the reason of an event of a RunRequest

	reasonNotStarted = "RunNotStarted" // an event's
)

// ready returns the condition for a valid spec, with an error for missing dependencies.
func (s *scheduledJob) ready(missing error, warnings []*field.Error) metav1.Condition {
	if missing != nil {
		return s.notReady(reasonJobNotFound, missing)
	}
	c := metav1.Condition{Status: metav1.ConditionTrue, Reason: reasonValid, Message: "The spec is valid"}
	for _, w := range warnings {
		c.Message += "; " + w.Error()
	}
	return c
}

func (s *scheduledJob) notReady(reason string, err error) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: err.Error()}
}

// status returns the status to store.
func (s *scheduledJob) status(state schedule.State, ready metav1.Condition) scheduledjob.Status {
	ready.Type, ready.ObservedGeneration, ready.LastTransitionTime = conditionReady, s.Generation, metav1.NewTime(time.Now())
	ready.Message = cluster.ConditionMessage(ready.Message)
	status := scheduledjob.Status{State: state, ObservedGeneration: s.Generation, Conditions: slices.Clone(s.Status.Conditions)}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// store writes the status if it has changed. It fails if the ScheduledJob has been
// changed since it was read, and if another controller leads. It returns the stored
// ScheduledJob.
func (c *controller) store(ctx context.Context, s *scheduledJob, status scheduledjob.Status) (*scheduledJob, error) {
	was := s.Status
	if status.State.Equal(was.State) && status.ObservedGeneration == was.ObservedGeneration &&
		equality.Semantic.DeepEqual(status.Conditions, was.Conditions) {
		return s, nil
	}
	if !c.lease.MayAct() {
		return nil, errors.New("store the status: this process no longer holds the lease")
	}
	u := &unstructured.Unstructured{Object: fields(map[string]any{ // the part that an update of the status needs
		"apiVersion": s.APIVersion, "kind": s.Kind, "status": s.written(status),
		"metadata": map[string]any{"namespace": s.Namespace, "name": s.Name, "uid": s.UID, "resourceVersion": s.ResourceVersion},
	})}
	u, err := c.dynamic.Resource(scheduledJobs).Namespace(s.Namespace).UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: name})
	if err != nil {
		return nil, fmt.Errorf("store the status: %w", err)
	}
	stored := read(u)
	c.newest.Mutation(stored)
	c.tellReady(stored, meta.FindStatusCondition(was.Conditions, conditionReady), meta.FindStatusCondition(status.Conditions, conditionReady))
	return stored, nil
}

// written returns the status as it is written. Of the status of another release only the
// conditions change.
func (s *scheduledJob) written(status scheduledjob.Status) any {
	if s.foreign == nil {
		return status
	}
	kept := maps.Clone(s.foreign)
	kept["conditions"], kept["observedGeneration"] = status.Conditions, status.ObservedGeneration
	return kept
}

// fields returns the JSON fields of a value of this program, which JSON can express.
func fields(value any) map[string]any {
	data, _ := json.Marshal(value)
	all := map[string]any{}
	_ = utiljson.Unmarshal(data, &all)
	return all
}

// tellReady records an event if a ScheduledJob is not ready for another reason than
// before, or is ready again.
func (c *controller) tellReady(s *scheduledJob, was, is *metav1.Condition) {
	switch {
	case is.Status == metav1.ConditionFalse && (was == nil || was.Message != is.Message):
		c.record(s, corev1.EventTypeWarning, is.Reason, is.Message, "")
	case is.Status == metav1.ConditionTrue && was != nil && was.Status != is.Status:
		c.record(s, corev1.EventTypeNormal, is.Reason, is.Message, "")
	}
}

// tell records the events of a decision.
func (c *controller) tell(s *scheduledJob, all []schedule.Event) {
	for _, e := range all {
		kind := corev1.EventTypeNormal
		if e.Warning() {
			kind = corev1.EventTypeWarning
		}
		c.record(s, kind, string(e.Reason), e.String(), e.Run.Tag)
	}
}

// record records an event in the cluster and in the log. Events of different runs have
// different related objects, because client-go merges events that differ in the message
// only.
func (c *controller) record(s *scheduledJob, kind, reason, message, tag string) {
	var related runtime.Object
	if tag != "" {
		related = &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: s.Namespace, Name: adapter.JobName(s.Name, tag)}
	}
	c.recorder.Eventf(s.ScheduledJob, related, kind, reason, reason, "%s", cluster.EventMessage(message))
	c.log.Info(message, "scheduledJob", s.key().String(), "reason", reason)
}
