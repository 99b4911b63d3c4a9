package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/reference"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

const (
	conditionReady       = "Ready"       // reports whether the spec is valid
	conditionProgressing = "Progressing" // reports whether runs that are due start, or wait as the spec says
	conditionRestored    = "Restored"    // reports that the status was older than the cluster once, or from another

	reasonValid       = "Valid"
	reasonInvalid     = "Invalid"
	reasonJobNotFound = "JobNotFound" // also the reason of an event of a RunRequest
	reasonProgressing = "Progressing"
	reasonForeignJob  = "ForeignJob"
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
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: adapter.ErrorText(err)}
}

// status returns the status to store.
func (s *scheduledJob) status(d schedule.Decision, ready metav1.Condition) scheduledjob.Status {
	status := scheduledjob.StatusOf(d)
	status.ObservedGeneration, status.Conditions = s.Generation, slices.Clone(s.Status.Conditions)
	set := func(kind string, c metav1.Condition) {
		c.Type, c.ObservedGeneration, c.LastTransitionTime = kind, s.Generation, metav1.NewTime(time.Now())
		c.Message = cluster.EventMessage(c.Message)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	set(conditionReady, ready)
	set(conditionProgressing, progressing(d, ready))
	for _, e := range d.Events {
		if e.Reason == schedule.Restored {
			set(conditionRestored, metav1.Condition{Status: metav1.ConditionTrue, Reason: string(schedule.Restored),
				Message: fmt.Sprintf("%s (the status was of resource version %d, the Jobs are of %d)", e, s.Status.JobsRevision, d.Checkpoint.JobsRevision)})
		}
	}
	return status
}

// progressing returns the condition of the same name. It is false if an operator must act: runs
// that are due do not start, for a reason that the spec does not want.
func progressing(d schedule.Decision, ready metav1.Condition) metav1.Condition {
	reason, message := d.Waits()
	switch {
	case ready.Reason == reasonInvalid:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonInvalid, Message: "The spec is invalid: see Ready"}
	case slices.Contains(needsAction, reason):
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: string(reason), Message: message}
	case reason == "":
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: reasonProgressing, Message: "Runs start when they are due"}
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: string(reason), Message: message}
}

// needsAction are the reasons for which Progressing is False.
var needsAction = []schedule.Reason{schedule.CreateRejected, schedule.CreateUnanswered, schedule.Blocked, schedule.JobsUnknown, schedule.StateFull, schedule.ClockAhead}

// store writes the status if it has changed. It fails if the ScheduledJob has been
// changed since it was read, and if another controller leads. It returns the stored
// ScheduledJob.
func (c *controller) store(ctx context.Context, s *scheduledJob, status scheduledjob.Status) (*scheduledJob, error) {
	before := s.Status
	if s.foreign != nil { // only the conditions are written
		observed, conditions := status.ObservedGeneration, status.Conditions
		status = before
		status.ObservedGeneration, status.Conditions = observed, conditions
	}
	if status.Equal(before) {
		return s, nil
	}
	if !c.Lease.MayAct() {
		return nil, errors.New("store the status: this process no longer holds the lease")
	}
	u := &unstructured.Unstructured{Object: fields(map[string]any{ // the part that an update of the status needs
		"apiVersion": s.APIVersion, "kind": s.Kind, "status": s.written(status),
		"metadata": map[string]any{"namespace": s.Namespace, "name": s.Name, "uid": s.UID, "resourceVersion": s.ResourceVersion},
	})}
	u, err := c.Dynamic.Resource(scheduledJobs).Namespace(s.Namespace).UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: name})
	if err != nil {
		return nil, fmt.Errorf("store the status: %w", err)
	}
	stored := read(u)
	c.newest.Mutation(stored)
	for _, condition := range status.Conditions {
		c.tellCondition(stored, meta.FindStatusCondition(before.Conditions, condition.Type), condition)
	}
	return stored, nil
}

// written returns the status as it is written. Of the status of another release only the
// conditions change.
func (s *scheduledJob) written(status scheduledjob.Status) any {
	if s.foreign == nil {
		return status
	}
	kept := map[string]any{}
	for key, value := range s.foreign {
		kept[key] = value
	}
	kept["conditions"], kept["observedGeneration"] = status.Conditions, status.ObservedGeneration
	return kept
}

// fields returns the JSON fields of a value of this program, which JSON can express.
func fields(value any) map[string]any {
	data, _ := json.Marshal(value)
	object := map[string]any{}
	_ = utiljson.Unmarshal(data, &object)
	return object
}

// tellCondition records an event if a condition is False for another reason than before, or True again.
// Other events have the changes of Progressing because of an invalid spec or a block.
func (c *controller) tellCondition(s *scheduledJob, before *metav1.Condition, after metav1.Condition) {
	if before == nil {
		before = &metav1.Condition{Status: metav1.ConditionTrue}
	}
	reasons := []string{reasonInvalid, string(schedule.Blocked)}
	switch {
	case after.Type == conditionProgressing && (slices.Contains(reasons, after.Reason) || (slices.Contains(reasons, before.Reason) && after.Status == metav1.ConditionTrue)):
	case after.Status == metav1.ConditionFalse && (before.Reason != after.Reason || (before.Message != after.Message && after.Type == conditionReady)):
		c.record(s, corev1.EventTypeWarning, after.Reason, after.Message, "")
	case after.Status == metav1.ConditionTrue && before.Status == metav1.ConditionFalse:
		c.record(s, corev1.EventTypeNormal, after.Reason, after.Message, "")
	}
}

// tell records the events of a decision.
func (c *controller) tell(s *scheduledJob, events []schedule.Event) {
	for _, e := range events {
		kind := corev1.EventTypeNormal
		if e.Warning() {
			kind = corev1.EventTypeWarning
		}
		c.record(s, kind, string(e.Reason), e.String(), e.Run.Tag)
	}
}

// foreignPerHour is the number of Jobs of a ScheduledJob in an hour of which events tell that they are no runs.
const foreignPerHour = 20

// foreignJobs are the Jobs of which events have told that they are no runs, and when.
type foreignJobs map[types.UID]time.Time

// tellForeign tells once of each Job that the ScheduledJob controls and that is not the Job of a run. What it
// could not tell, the next reconciliation tells.
func (c *controller) tellForeign(ctx context.Context, s *scheduledJob, jobs []batchv1.Job) {
	c.mutex.Lock()
	reported := c.foreign[s.key()]
	c.mutex.Unlock()
	present, recent := foreignJobs{}, 0
	for _, reportTime := range reported {
		if c.now().Sub(reportTime) < time.Hour {
			recent++
		}
	}
	for _, j := range jobs {
		if reportTime, isTold := reported[j.UID]; isTold {
			present[j.UID] = reportTime
		}
	}
	slices.SortFunc(jobs, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	for _, j := range jobs {
		if _, isTold := present[j.UID]; isTold || recent >= foreignPerHour {
			continue
		}
		if err := c.createForeignEvent(ctx, s, &j); err != nil {
			c.log.Warn("will tell later of a Job that is no run", "scheduledJob", s.key().String(), "job", j.Name, "err", err)
			break
		}
		present[j.UID] = c.now()
		recent++
	}
	c.setForeign(s.key(), present)
}

func (c *controller) setForeign(key cache.ObjectName, jobs foreignJobs) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.foreign[key] = jobs; len(jobs) == 0 {
		delete(c.foreign, key)
	}
}

// createForeignEvent creates the event of a Job that is no run. Its name has the Job's UID: another process
// does not repeat it.
func (c *controller) createForeignEvent(ctx context.Context, s *scheduledJob, j *batchv1.Job) error {
	regarding, err := reference.GetReference(scheme.Scheme, s.ScheduledJob)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("Job %s has the labels and the owner of run %s, whose Job has another name: it is not counted and not deleted. "+
		"To run again, create a RunRequest with spec.job %s and spec.tag %[2]s", j.Name, j.Labels[scheduledjob.LabelTag], s.Name)
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: j.Name + "." + string(j.UID)},
		EventTime:  metav1.NowMicro(), ReportingController: name, ReportingInstance: name,
		Type: corev1.EventTypeWarning, Reason: reasonForeignJob, Action: reasonForeignJob, Note: cluster.EventMessage(message),
		Regarding: *regarding, Related: jobReference(s, j.Name),
	}
	_, err = c.Requests.EventsV1().Events(s.Namespace).Create(ctx, event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	c.log.Info(message, "scheduledJob", s.key().String(), "reason", reasonForeignJob)
	return err
}

func jobReference(s *scheduledJob, job string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: s.Namespace, Name: job}
}

// record records an event in the cluster and in the log. Events of different runs have
// different related objects, because client-go takes events that differ in the message
// only for one.
func (c *controller) record(s *scheduledJob, kind, reason, message, tag string) {
	var related runtime.Object
	if tag != "" {
		related = jobReference(s, adapter.JobName(s.Name, tag))
	}
	c.recorder.Eventf(s.ScheduledJob, related, kind, reason, reason, "%s", cluster.EventMessage(message))
	c.log.Info(message, "scheduledJob", s.key().String(), "reason", reason)
}
