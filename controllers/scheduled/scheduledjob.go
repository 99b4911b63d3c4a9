package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
)

// A scheduledJob is a ScheduledJob of the API server. If it could not be read, it has no
// spec, and problem is the reason. A scheduledJob in a cache never changes.
type scheduledJob struct {
	*scheduledjob.ScheduledJob
	problem error
	// foreign is the status of another release, with fields that this release does not know. It is
	// nil if this release can read the status.
	foreign map[string]json.RawMessage
}

func (s *scheduledJob) key() cache.ObjectName { return cache.MetaObjectToName(s) }

// reads turns an object of an informer into a scheduledJob, so that it is read once.
func reads(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return read(u), nil
	}
	return object, nil
}

// slim leaves of the other objects of informers what is read, because a tenant may create many that
// are long. Of a Job that is some kilobytes, whatever is in it.
func slim(object any) (any, error) {
	switch o := object.(type) {
	case *batchv1.Job:
		m := metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, CreationTimestamp: o.CreationTimestamp, DeletionTimestamp: o.DeletionTimestamp,
			Finalizers: slices.DeleteFunc(o.Finalizers, func(f string) bool { return f != metav1.FinalizerDeleteDependents }),
			Labels:     only(o.Labels, scheduledjob.LabelTag), Annotations: only(o.Annotations, scheduledjob.AnnotationTTL, scheduledjob.AnnotationDeletedBy),
		}
		if c := metav1.GetControllerOf(o); c != nil {
			m.OwnerReferences = []metav1.OwnerReference{*c}
		}
		o.ObjectMeta, o.Spec.Template = m, corev1.PodTemplateSpec{}
	case *corev1.PodTemplate:
		o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
		if o.Size() > longestSpec {
			o.Template = corev1.PodTemplateSpec{} // which is invalid
		}
	case *unstructured.Unstructured:
		o.SetManagedFields(nil)
		o.SetAnnotations(nil)
	}
	return object, nil
}

// only returns the entries with short values of these keys.
func only(values map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, found := values[key]; found && len(value) <= 1<<10 {
			kept[key] = value
		}
	}
	return kept
}

// read rejects unknown fields, in the pod template too: the API server does not check the
// pod template of a custom resource.
func read(u *unstructured.Unstructured) *scheduledJob {
	s := readKnown(u)
	if err := s.Status.Checkpoint.Validate(); err != nil {
		s.problem = errors.Join(err, s.problem)
		s.keep(u)
	}
	return s
}

// keep keeps the status, because it was not read as a whole.
func (s *scheduledJob) keep(u *unstructured.Unstructured) {
	status, _ := json.Marshal(u.Object["status"]) // came as JSON
	_ = json.Unmarshal(status, &s.foreign)        // which stays nil of what is no object
}

// longestSpec and longestStatus bound the time of an edit, for which the edits of others wait: a megabyte
// takes seconds. A status is shorter by itself: see package schedule.
const (
	longestSpec   = 256 << 10
	longestStatus = 128 << 10
)

func readKnown(u *unstructured.Unstructured) *scheduledJob {
	u.SetManagedFields(nil)
	data, err := json.Marshal(u.Object)
	spec, _ := json.Marshal(u.Object["spec"]) // came as JSON
	status, _ := json.Marshal(u.Object["status"])
	switch n := len(spec); {
	case len(status) > longestStatus:
		err = fmt.Errorf("the status has %d bytes, and at most %d are read: suspend the ScheduledJob, and empty completedExecution with kubectl edit --subresource=status", len(status), longestStatus)
	case n > longestSpec:
		err = fmt.Errorf("the spec has %d bytes; use at most %d", n, longestSpec)
	case err == nil:
		var found []*scheduledjob.ScheduledJob
		if found, err = scheduledjob.Read(data); err == nil {
			return &scheduledJob{ScheduledJob: found[0]}
		}
	}
	s := &scheduledjob.ScheduledJob{TypeMeta: metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if problem := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &s.ObjectMeta); problem != nil {
		err = problem
	}
	read := &scheduledJob{ScheduledJob: s, problem: err}
	if len(status) > longestStatus {
		if read.keep(u); len(read.foreign["conditions"]) < longestStatus {
			_ = json.Unmarshal(read.foreign["conditions"], &s.Status.Conditions) // which are written anew
			_ = json.Unmarshal(read.foreign["observedGeneration"], &s.Status.ObservedGeneration)
		}
	} else if problem := json.Unmarshal(status, &s.Status); problem != nil {
		read.problem = problem
		read.keep(u)
	}
	return read
}
