package main

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
)

const once = "  schedule: {timeSpec: R1//PT1S}\n"

// reconciles reconciles without an error, and returns the requests to the API server.
func (w *fixture) reconciles() []string {
	_, err := w.reconcile(w.ctx, cache.NewObjectName("n", "job"))
	require.NoError(w.t, err)
	return w.did()
}

// lists brings the cache of Jobs up to date, as one list of a revision.
func (w *fixture) lists(revision string) {
	var jobs []any
	for _, j := range w.existing() {
		jobs = append(jobs, &j)
	}
	require.NoError(w.t, w.jobs.Replace(jobs, revision))
}

// step brings all caches up to date, reconciles, and returns the requests to the API server.
func (w *fixture) step() []string {
	w.sees()
	w.seesRequests()
	w.lists("")
	return w.reconciles()
}

// refuses lets requests, as did names them, fail until the returned function is called.
func (w *fixture) refuses(request string, err error) (end func()) {
	verb, resource, _ := strings.Cut(request, " ")
	refused := true
	for _, f := range []*clienttesting.Fake{&w.client.Fake, &w.custom.Fake} {
		f.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return refused, nil, err })
	}
	return func() { refused = false }
}

// listsAt sets the resource version of lists of Jobs.
func (w *fixture) listsAt(revision func() int) {
	w.client.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		l, err := w.client.Tracker().List(batchv1.SchemeGroupVersion.WithResource("jobs"), batchv1.SchemeGroupVersion.WithKind("Job"), "n")
		l.(*batchv1.JobList).ResourceVersion = strconv.Itoa(revision())
		return true, l, err
	})
}

// finishes ends all Jobs.
func (w *fixture) finishes(condition batchv1.JobConditionType) {
	for _, j := range w.existing() {
		j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now())}}
		require.NoError(w.t, w.client.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), &j, "n"))
	}
}

// edit changes the spec of the ScheduledJob.
func (w *fixture) edit(path string, value any) {
	u := w.get(scheduledJobs, "job")
	require.NoError(w.t, unstructured.SetNestedField(u.Object, value, strings.Split(path, ".")...))
	u.SetGeneration(u.GetGeneration() + 1)
	version, err := strconv.Atoi(u.GetResourceVersion())
	require.NoError(w.t, err)
	u.SetResourceVersion(strconv.Itoa(version + 1))
	require.NoError(w.t, w.custom.Tracker().Update(scheduledJobs, u, "n"))
	w.sees()
	w.did()
}

// get is an object of the API server.
func (w *fixture) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	u, err := w.custom.Resource(resource).Namespace("n").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return u
}

// another adds a changed copy of the ScheduledJob to the cache.
func (w *fixture) another(change func(*scheduledjob.ScheduledJob)) *scheduledJob {
	s := &scheduledJob{ScheduledJob: w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)}
	change(s.ScheduledJob)
	require.NoError(w.t, w.scheduled.Add(s))
	return s
}

// request makes a RunRequest with some changes, which the cache sees.
func (w *fixture) request(name, job string, changes ...func(*unstructured.Unstructured)) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "RunRequest",
		"metadata": map[string]any{"name": name, "namespace": "n", "uid": "uid-" + name, "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     map[string]any{"job": job},
	}}
	for _, change := range changes {
		change(u)
	}
	_, err := w.custom.Resource(runRequests).Namespace("n").Create(w.ctx, u, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.seesRequests()
}

func backfill(span map[string]any) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { _ = unstructured.SetNestedMap(u.Object, span, "spec", "backfill") }
}

func (w *fixture) seesRequests() {
	l, err := w.custom.Resource(runRequests).Namespace("n").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	var all []any
	for i := range l.Items {
		all = append(all, &l.Items[i])
	}
	require.NoError(w.t, w.requests.Replace(all, ""))
	w.did()
}

// answerTo is the status of a RunRequest, nil if there is no such request.
func (w *fixture) answerTo(name string) map[string]any {
	u, err := w.custom.Resource(runRequests).Namespace("n").Get(w.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	status, _, err := unstructured.NestedMap(u.Object, "status")
	require.NoError(w.t, err)
	if status == nil {
		status = map[string]any{}
	}
	return status
}

// with sets a key and removes another.
func with(m map[string]any, key string, value any, without string) map[string]any {
	m[key] = value
	delete(m, without)
	return m
}
