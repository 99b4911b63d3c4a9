package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// The status of another release is an error that names its version. It keeps its fields, for
// when that release is back.
func TestStatusOfAnotherRelease(t *testing.T) {
	for more, problem := range map[string]string{
		"":                              "version: found 2; use a checkpoint of version 1",
		", future: {a: 1}":              "version: found 2; use a checkpoint of version 1",
		", handled: 1767225600, zzz: 1": "Time.UnmarshalJSON",
	} {
		w := newFixture(t, once)
		w.request("now", "job")
		var status map[string]any
		require.NoError(t, yaml.Unmarshal([]byte("{version: 2, since: '2026-01-01T00:00:00Z', scheduleCount: 7"+more+"}"), &status))
		u := w.get(scheduledJobs, "job")
		u.Object["status"] = status
		require.NoError(t, w.custom.Tracker().Update(scheduledJobs, u, "n"))
		w.sees()
		w.did()
		require.Equal(t, []string{"patch runrequests", "update scheduledjobs"}, w.reconciles(), "nothing starts, and no request is answered")
		require.Contains(t, w.condition("Ready"), "False Invalid")
		require.Contains(t, w.condition("Ready"), problem)
		is := w.object()
		require.Len(t, is["conditions"], 2)
		delete(is, "conditions")
		delete(is, "observedGeneration")
		require.Equal(t, fields(status), fields(is))
		require.Empty(t, w.step())
	}
}

// A relatedRecorder keeps the related object of the last event.
type relatedRecorder struct{ related runtime.Object }

func (r *relatedRecorder) Eventf(_, related runtime.Object, _, _, _, _ string, _ ...any) {
	r.related = related
}

// An event of a run is related to the Job of the run, since client-go merges events that
// differ in the message only.
func TestRelated(t *testing.T) {
	w := newFixture(t, once)
	r := &relatedRecorder{}
	w.recorder = r
	w.record(w.sees(), corev1.EventTypeNormal, "Reason", "message", "tag")
	require.Equal(t, &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "n", Name: "job-tag"}, r.related)
	w.record(w.sees(), corev1.EventTypeNormal, "Reason", "message", "")
	require.Nil(t, r.related)
}

// The API server rejects longer messages.
func TestLongMessage(t *testing.T) {
	s := newFixture(t, once).sees()
	status := s.status(schedule.Decision{}, s.notReady(reasonInvalid, errors.New(strings.Repeat("x", 40_000))))
	require.LessOrEqual(t, len(status.Conditions[0].Message), 32_768)
}

// An error of a spec has one event for each message, and one when it is mended.
func TestReadyEvents(t *testing.T) {
	w := newFixture(t, once)
	for _, step := range []struct{ timeSpec, event string }{
		{"R//PT1S", ""},
		{"R//PT01", "Warning Invalid spec.schedule.timeSpec: "},
		{"R//PT01", ""},
		{"R//PT02", "Warning Invalid spec.schedule.timeSpec: "},
		{"R//PT2S", "Normal Valid "},
		{"R//PT2S", ""},
	} {
		w.edit("spec.schedule.timeSpec", step.timeSpec)
		w.reconciles()
		told := slices.DeleteFunc(w.told(), func(event string) bool { return !strings.Contains(event, "alid ") })
		require.Equal(t, step.event != "", len(told) == 1, told)
		require.Contains(t, strings.Join(told, ""), step.event)
	}
}

// A ScheduledJob that takes long to read is not read, and its status stays.
func TestLongSpec(t *testing.T) {
	s := read(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "ScheduledJob", "metadata": map[string]any{"name": "job", "namespace": "n"},
		"spec": map[string]any{"long": strings.Repeat("a", longestSpec)}, "status": map[string]any{"active": int64(3)},
	}})
	require.ErrorContains(t, s.problem, "use at most 262144")
	require.EqualValues(t, 3, s.Status.ActiveRuns)
	require.Equal(t, "job", s.Name)
}

// A status that somebody made long is not decoded. It stays as it is, with the conditions of now.
func TestLongStatus(t *testing.T) {
	w := newFixture(t, once)
	s := w.sees()
	u := &unstructured.Unstructured{Object: fields(s.ScheduledJob)}
	runs := slices.Repeat([]any{map[string]any{}}, longestStatus/3)
	u.Object["status"] = map[string]any{"completedExecution": runs, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}, "observedGeneration": int64(5)}
	long := read(u)
	require.ErrorContains(t, long.problem, "the status has 131")
	require.ErrorContains(t, long.problem, "at most 131072 are read: suspend the ScheduledJob, and empty completedExecution")
	require.Empty(t, long.Status.Completed)
	require.EqualValues(t, 5, long.Status.ObservedGeneration)
	require.Equal(t, metav1.ConditionTrue, long.Status.Conditions[0].Status)
	kept := fields(map[string]any{"status": long.written(scheduledjob.Status{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}})})
	found, _, err := unstructured.NestedSlice(kept, "status", "completedExecution")
	require.NoError(t, err)
	require.Equal(t, runs, found)
	require.Contains(t, fmt.Sprint(kept["status"].(map[string]any)["conditions"]), "False")
}

// Of long Jobs and RunRequests of a tenant little is kept, which is all that is read. Long PodTemplates are not.
func TestLongObjects(t *testing.T) {
	long := map[string]string{"a": strings.Repeat("a", 1<<20), scheduledjob.AnnotationDeletedBy: "x", scheduledjob.AnnotationTTL: strings.Repeat("1", 1<<18)}
	meta := metav1.ObjectMeta{
		Namespace: "n", Name: "job-tag", UID: "u", ResourceVersion: "5", Labels: map[string]string{scheduledjob.LabelTag: "tag"}, Annotations: long,
		DeletionTimestamp: new(metav1.Now()), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: long["a"]}}, Finalizers: []string{long["a"], metav1.FinalizerDeleteDependents},
		OwnerReferences: []metav1.OwnerReference{{Name: long["a"]}, {Name: "job", UID: "owner", Controller: new(true)}},
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Args: []string{long["a"]}}}}}
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{BackoffLimit: new(int32(3)), Template: template}, Status: batchv1.JobStatus{
		Failed: 4, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}},
	}}
	s := &scheduledjob.ScheduledJob{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "job", UID: "owner"}}
	before := s.Observe([]batchv1.Job{*job.DeepCopy()}, nil)
	require.Len(t, before, 1)
	require.True(t, before[0].Foreground)
	for _, object := range []interface {
		runtime.Object
		metav1.Object
	}{job, &corev1.PodTemplate{ObjectMeta: meta, Template: template}, &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "annotations": map[string]any{"a": long["a"]}, "managedFields": []any{map[string]any{"manager": long["a"]}}},
	}}} {
		kept, err := slim(object)
		require.NoError(t, err)
		data, err := json.Marshal(kept)
		require.NoError(t, err)
		require.Less(t, len(data), 2<<10, "%T", object)
	}
	require.Equal(t, before, s.Observe([]batchv1.Job{*job}, nil))
	require.Equal(t, "x", job.Annotations[scheduledjob.AnnotationDeletedBy])
}
