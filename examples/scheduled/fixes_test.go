package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

const once = "  schedule: {timeSpec: R1//PT1S}\n"

// reconciles reconciles without an error, and returns the requests to the API server.
func (w *world) reconciles() []string {
	_, err := w.reconcile(w.ctx, cache.NewObjectName("n", "job"))
	require.NoError(w.t, err)
	return w.did()
}

// lists brings the cache of Jobs up to date, as one list of a revision.
func (w *world) lists(revision string) {
	l, err := w.client.BatchV1().Jobs("n").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	var all []any
	for i := range l.Items {
		all = append(all, &l.Items[i])
	}
	require.NoError(w.t, w.jobs.Replace(all, revision))
	w.did()
}

// finishes ends all Jobs.
func (w *world) finishes(condition batchv1.JobConditionType) {
	l, err := w.client.BatchV1().Jobs("n").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, j := range l.Items {
		j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now())}}
		require.NoError(w.t, w.client.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), &j, "n"))
	}
}

// edit changes the spec of the ScheduledJob.
func (w *world) edit(path string, value any) {
	u, err := w.custom.Resource(scheduledJobs).Namespace("n").Get(w.ctx, "job", metav1.GetOptions{})
	require.NoError(w.t, err)
	require.NoError(w.t, unstructured.SetNestedField(u.Object, value, strings.Split(path, ".")...))
	u.SetGeneration(u.GetGeneration() + 1)
	require.NoError(w.t, w.custom.Tracker().Update(scheduledJobs, u, "n"))
	w.sees()
	w.did()
}

// request makes a RunRequest, which the cache sees.
func (w *world) request(name, job string) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "RunRequest",
		"metadata": map[string]any{"name": name, "namespace": "n", "uid": "uid-" + name, "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec":     map[string]any{"job": job},
	}}
	_, err := w.custom.Resource(runRequests).Namespace("n").Create(w.ctx, u, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.seesRequests()
}

func (w *world) seesRequests() {
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
func (w *world) answerTo(name string) map[string]any {
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

// readyIs is the condition as "Status Reason: Message".
func (w *world) readyIs() string {
	c := w.sees().Status.Conditions[0]
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// A controller whose list of ScheduledJobs is old starts nothing: not even a run that has
// been dropped, with its Job, since.
func TestStaleScheduledJobs(t *testing.T) {
	w := newWorld(t, once+"  historyLimit: 0\n")
	first := w.sees()
	require.Equal(t, []string{"create jobs", "update scheduledjobs"}, w.reconciles())
	w.finishes(batchv1.JobComplete)
	w.lists("2")
	require.Equal(t, []string{"delete jobs", "update scheduledjobs"}, w.reconciles())
	w.lists("3")
	require.Equal(t, []string{"update scheduledjobs"}, w.reconciles())
	require.Equal(t, schedule.Completed, w.sees().Status.Last.Status)

	w.restart()
	require.NoError(t, w.scheduled.Add(first))
	_, err := w.reconcile(t.Context(), first.key())
	require.True(t, apierrors.IsConflict(err), err)
	require.Equal(t, []string{"update scheduledjobs"}, w.did(), "no Job is created")
	w.sees()
	require.Empty(t, w.reconciles())
}

// An old list of Jobs does not bring back a run that history has dropped.
func TestStaleJobs(t *testing.T) {
	w := newWorld(t, once+"  historyLimit: 0\n")
	w.reconciles()
	w.finishes(batchv1.JobComplete)
	w.lists("17")
	old := w.jobs.List()
	w.reconciles()
	w.lists("19")
	w.reconciles()
	before := w.sees().Status
	require.EqualValues(t, 19, before.JobsRevision)
	require.NoError(t, w.jobs.Replace(old, "18"))
	require.Empty(t, w.reconciles())
	require.Equal(t, before, w.sees().Status)
}

// A RunRequest for an unknown job has a message and an event, once. When the job exists,
// the request gets its run.
func TestUnknownJob(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	w.request("now", "typo")
	_, err := w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.NoError(t, err)
	const message = `spec.job: found "typo"; use the name of a ScheduledJob of the namespace; none has this name`
	require.Equal(t, map[string]any{"status": "pending", "message": message, "onDemand": nil}, with(w.answerTo("now"), "onDemand", nil, "success"))
	require.Equal(t, []string{"Warning JobNotFound " + message}, w.told())
	w.seesRequests()
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.NoError(t, err)
	require.Empty(t, w.told())
	require.Empty(t, w.did())
	for _, name := range []string{"b", "c"} {
		w.request(name, "typo")
	}
	fails := errors.New("forbidden")
	w.custom.PrependReactor("patch", "runrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails != nil, nil, fails
	})
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.ErrorContains(t, err, "answer the RunRequest b: forbidden")
	require.ErrorContains(t, err, "answer the RunRequest c: forbidden")
	require.Empty(t, w.told(), "the event follows the answer")
	fails = nil
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.NoError(t, err)
	require.Len(t, w.told(), 2)

	w.request("later", "job")
	u, err := w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), "later", metav1.GetOptions{})
	require.NoError(t, err)
	u.Object["status"] = map[string]any{"status": "pending", "message": message}
	require.NoError(t, w.custom.Tracker().Update(runRequests, u, "n"))
	w.seesRequests()
	w.reconciles()
	require.NotContains(t, w.answerTo("later"), "message")
	require.Equal(t, "uid-later", w.answerTo("later")["request"])
}

// with sets a key and removes another.
func with(m map[string]any, key string, value any, without string) map[string]any {
	m[key] = value
	delete(m, without)
	return m
}

// A ScheduledJob that depends on an unknown one is not ready. Its own schedule runs.
func TestUnknownDependency(t *testing.T) {
	w := newWorld(t, once+"  after: [{job: other}, {job: typo}]\n")
	other := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	other.Name, other.UID, other.Spec.After = "other", "o", nil
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: other}))
	require.Contains(t, w.reconciles(), "create jobs")
	require.Equal(t, `False JobNotFound: spec.after[1].job: found "typo"; use the name of a ScheduledJob of the namespace; none has this name`, w.readyIs())
	require.Contains(t, w.told()[0], "Warning JobNotFound")
	other = other.DeepCopyObject().(*scheduledjob.ScheduledJob)
	other.Name = "typo"
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: other}))
	w.reconciles()
	require.Equal(t, "True Valid: The spec is valid", w.readyIs())
	require.Equal(t, []string{"Normal Valid The spec is valid"}, w.told())
}

// Without history, a RunRequest shows its completed run for the TTL.
func TestRequestWithoutHistory(t *testing.T) {
	w := newWorld(t, "  historyLimit: 0\n")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return now }
	w.request("now", "job")
	w.reconciles()
	require.Equal(t, "pending", w.answerTo("now")["status"])
	w.lists("1")
	w.seesRequests()
	w.reconciles()
	require.Equal(t, "running", w.answerTo("now")["status"])
	require.NotContains(t, w.answerTo("now"), "triedAt")
	w.finishes(batchv1.JobComplete)
	w.lists("2")
	w.seesRequests()
	require.NotContains(t, w.reconciles(), "delete jobs", "before the answer")
	require.Equal(t, "completed", w.answerTo("now")["status"])
	require.Equal(t, true, w.answerTo("now")["success"])
	w.seesRequests()
	require.Contains(t, w.reconciles(), "delete jobs")
	require.Empty(t, w.sees().Status.Completed)
	now = now.Add(time.Minute - 1)
	w.lists("3")
	w.reconciles()
	require.NotNil(t, w.answerTo("now"))
	require.Empty(t, w.reconciles(), "nothing is left to do")
	now = now.Add(1)
	require.Equal(t, []string{"delete runrequests"}, w.reconciles())
	require.Nil(t, w.answerTo("now"))
}

// An answered request runs once, although the status was lost.
func TestAnsweredOnce(t *testing.T) {
	w := newWorld(t, "  historyLimit: 0\n")
	w.request("now", "job")
	u, err := w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), "now", metav1.GetOptions{})
	require.NoError(t, err)
	u.Object["status"] = map[string]any{"status": "completed", "completedAt": time.Now().UTC().Format(time.RFC3339)}
	require.NoError(t, w.custom.Tracker().Update(runRequests, u, "n"))
	w.seesRequests()
	require.NotContains(t, w.reconciles(), "create jobs")
}

// claim takes a request without an owner, keeps its own, and leaves out others.
func TestClaim(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	for _, name := range []string{"free", "own", "foreign", "deleted", "of a workflow", "of another job"} {
		w.request(name, "job")
	}
	workflow := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Workflow", Name: "etl", UID: "w", Controller: new(true)}
	for name, change := range map[string]func(*unstructured.Unstructured){
		"of a workflow": func(u *unstructured.Unstructured) { u.SetOwnerReferences([]metav1.OwnerReference{workflow}) },
		"of another job": func(u *unstructured.Unstructured) {
			r := w.sees().Owner()
			r.Name, r.UID, r.Controller = "extract", "e", nil
			u.SetOwnerReferences([]metav1.OwnerReference{r})
		},
		"own": func(u *unstructured.Unstructured) { u.SetOwnerReferences([]metav1.OwnerReference{w.sees().Owner()}) },
		"foreign": func(u *unstructured.Unstructured) {
			r := w.sees().Owner()
			r.UID = "before"
			u.SetOwnerReferences([]metav1.OwnerReference{r})
		},
		"deleted": func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) },
	} {
		u, err := w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		change(u)
		require.NoError(t, w.custom.Tracker().Update(runRequests, u, "n"))
	}
	w.seesRequests()
	own, err := w.claim(t.Context(), w.sees())
	require.NoError(t, err)
	names := map[string]bool{}
	for _, r := range own {
		names[r.Name] = true
	}
	require.Equal(t, map[string]bool{"free": true, "own": true, "of a workflow": true, "of another job": true}, names)
	u, err := w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), "free", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, w.sees().UID, metav1.GetControllerOf(u).UID)
	u, err = w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), "of a workflow", metav1.GetOptions{})
	require.NoError(t, err)
	second := w.sees().Owner()
	second.Controller = nil
	require.Equal(t, []metav1.OwnerReference{workflow, second}, u.GetOwnerReferences(), "an object has one controller")

	w.custom.PrependReactor("patch", "runrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	own, err = w.claim(t.Context(), w.sees())
	require.ErrorContains(t, err, "take on the RunRequest free: forbidden")
	require.Len(t, own, 1)
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "answer the RunRequest own: forbidden")
}

// A request whose run was dropped before it was answered is deleted, unless the spec is
// invalid. An error is reported.
func TestDroppedBeforeAnswer(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	w.request("now", "job")
	own, err := w.claim(t.Context(), w.sees())
	require.NoError(t, err)
	w.did()
	require.NoError(t, w.answer(t.Context(), w.sees(), own, false))
	require.Equal(t, []string{"patch runrequests"}, w.did())
	require.Equal(t, invalidJob, w.answerTo("now")["message"])
	w.custom.PrependReactor("delete", "runrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no")
	})
	require.ErrorContains(t, w.answer(t.Context(), w.sees(), own, true), "delete the RunRequest now: no")
	w.custom.ReactionChain = w.custom.ReactionChain[1:]
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true))
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true), "it is deleted already")
}

// An invalid edit reports the problem, and the active run still completes.
func TestInvalidEdit(t *testing.T) {
	w := newWorld(t, "  schedule: {timeSpec: R//PT1S}\n")
	w.reconciles()
	w.lists("1")
	w.reconciles()
	running := len(w.sees().Status.Running)
	require.Equal(t, 1, running)
	w.edit("spec.schedule.timeSpec", "R//PT01")
	w.request("now", "job")
	w.finishes(batchv1.JobComplete)
	w.lists("2")
	did := w.reconciles()
	require.Contains(t, did, "update scheduledjobs")
	require.NotContains(t, did, "create jobs")
	require.NotContains(t, did, "delete runrequests")
	s := w.sees().Status
	require.Empty(t, s.Running)
	require.True(t, s.Completed[0].Success)
	require.Contains(t, w.readyIs(), "False Invalid: spec.schedule.timeSpec: ")
	require.Equal(t, invalidJob, w.answerTo("now")["message"])
	w.seesRequests()
	require.Empty(t, w.reconciles())
	w.edit("spec.schedule.timeSpec", "R//PT1S")
	w.reconciles()
	require.Equal(t, "uid-now", w.answerTo("now")["request"])
	require.NotContains(t, w.answerTo("now"), "message")
	require.Equal(t, s.Since, w.sees().Status.Since, "the schedule does not start anew")
	require.GreaterOrEqual(t, w.sees().Status.Due, s.Due)
}

// The status of another release is an error that names its version. It keeps its fields, for
// when that release is back.
func TestStatusOfAnotherRelease(t *testing.T) {
	for more, problem := range map[string]string{
		"":                              "version: found 2; use a state of version 1",
		", future: {a: 1}":              "version: found 2; use a state of version 1",
		", handled: 1767225600, zzz: 1": "Time.UnmarshalJSON",
	} {
		w := newWorld(t, once)
		w.request("now", "job")
		at := func() *unstructured.Unstructured {
			u, err := w.custom.Resource(scheduledJobs).Namespace("n").Get(w.ctx, "job", metav1.GetOptions{})
			require.NoError(t, err)
			return u
		}
		var status map[string]any
		require.NoError(t, yaml.Unmarshal([]byte("{version: 2, since: '2026-01-01T00:00:00Z', scheduleCount: 7"+more+"}"), &status))
		u := at()
		u.Object["status"] = status
		require.NoError(t, w.custom.Tracker().Update(scheduledJobs, u, "n"))
		w.sees()
		w.did()
		require.Equal(t, []string{"patch runrequests", "update scheduledjobs"}, w.reconciles(), "nothing starts, and no request is answered")
		require.Contains(t, w.readyIs(), "False Invalid")
		require.Contains(t, w.readyIs(), problem)
		is := at().Object["status"].(map[string]any)
		require.Len(t, is["conditions"], 1)
		delete(is, "conditions")
		delete(is, "observedGeneration")
		require.Equal(t, fields(status), fields(is))
		w.sees()
		w.seesRequests()
		require.Empty(t, w.reconciles())
	}
}

// A replaced or cancelled run is deleted in the foreground, a dropped one in the
// background, each with the UID of its Job.
func TestPropagation(t *testing.T) {
	w := newWorld(t, once+"  historyLimit: 0\n")
	deleted := func() []clienttesting.DeleteActionImpl {
		var all []clienttesting.DeleteActionImpl
		for _, a := range w.client.Actions() {
			if d, ok := a.(clienttesting.DeleteActionImpl); ok {
				all = append(all, d)
			}
		}
		w.did()
		return all
	}
	w.reconciles()
	w.lists("1")
	w.reconciles()
	w.edit("spec.cancel", []any{w.sees().Status.Running[0].Tag})
	_, err := w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	stopped := deleted()
	require.Len(t, stopped, 1)
	require.Equal(t, metav1.DeletePropagationForeground, *stopped[0].DeleteOptions.PropagationPolicy)
	require.NotNil(t, stopped[0].DeleteOptions.Preconditions.UID)

	w = newWorld(t, once+"  historyLimit: 0\n")
	w.reconciles()
	w.finishes(batchv1.JobFailed)
	w.lists("1")
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	dropped := deleted()
	require.Len(t, dropped, 1)
	require.Equal(t, metav1.DeletePropagationBackground, *dropped[0].DeleteOptions.PropagationPolicy)
	w.client.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no")
	})
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, w.deleteAll(t.Context(), w.sees(), nil, metav1.DeletePropagationBackground))
	require.ErrorContains(t, err, "delete the Job of run ")
}

// After a rejected create nothing is created at once, and the event says why.
func TestRejectedCreate(t *testing.T) {
	for reason, err := range map[string]error{
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("quota")),
		"invalid":   apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "job", nil),
		"too many":  apierrors.NewTooManyRequests("later", 1),
		"conflict":  apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "quota", nil),
		"webhook":   &apierrors.StatusError{ErrStatus: metav1.Status{Code: 400, Message: "admission webhook denied the request"}},
		"policy":    &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Message: "denied", Reason: "PolicyViolation"}},
		"too large": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, once)
			w.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
			_, got := w.reconcile(t.Context(), w.sees().key())
			require.ErrorContains(t, got, "start run ")
			require.Contains(t, w.told()[0], "Warning RunNotStarted start run ")
			w.did()
			w.sees()
			require.Equal(t, []string{"update scheduledjobs"}, w.reconciles())
			require.Zero(t, w.sees().Status.Pending[0].Tried, "it has not started")
			require.Empty(t, w.rejected.of("u"))
			require.Empty(t, w.reconciles())
		})
	}
	for _, err := range []error{
		errors.New("timeout"), apierrors.NewInternalError(errors.New("etcd")), apierrors.NewTimeoutError("slow", 1),
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}},
	} {
		require.False(t, answered(err), "not known: %v", err)
	}
	w := newWorld(t, once)
	for _, err := range []error{fmt.Errorf("limit: %w", adapter.ErrNotSent), apierrors.NewAlreadyExists(schema.GroupResource{}, "job")} {
		require.True(t, answered(err))
		require.False(t, w.failed(t.Context(), w.job("tag"), err), "the run may start at once, or its name is taken: %v", err)
	}
	require.NoError(t, w.client.Tracker().Add(w.job("tag")))
	require.False(t, w.failed(t.Context(), w.job("tag"), apierrors.NewForbidden(schema.GroupResource{}, "", nil)), "it exists")
}

// A process that ends does not report the runs that it leaves to the next one.
func TestStopsWhileStarting(t *testing.T) {
	w := newWorld(t, once)
	ctx, stop := context.WithCancel(t.Context())
	w.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		stop()
		return true, nil, ctx.Err()
	})
	_, err := w.reconcile(ctx, w.sees().key())
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.told())
}

// While a create that was not answered may arrive, the Job of its run is not deleted: the run
// would start twice.
func TestLateCreate(t *testing.T) {
	w := newWorld(t, once+"  historyLimit: 0\n")
	at := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return at }
	var late *batchv1.Job
	w.client.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		first := late == nil
		late = a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		return first, nil, errors.New("no answer within 15s")
	})
	_, err := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "no answer")
	at = at.Add(time.Second)
	w.did()
	require.Contains(t, w.reconciles(), "create jobs")
	w.finishes(batchv1.JobComplete)
	w.lists("1")
	require.NotContains(t, w.reconciles(), "delete jobs")
	require.Empty(t, w.sees().Status.Completed)
	at = at.Add(28 * time.Second)
	require.Empty(t, w.reconciles())
	require.True(t, apierrors.IsAlreadyExists(w.client.Tracker().Create(batchv1.SchemeGroupVersion.WithResource("jobs"), late, "n")), "it arrives")
	at = at.Add(time.Second)
	require.Contains(t, w.reconciles(), "delete jobs")
	w.late.add(cache.NewObjectName("n", "another"), at, at.Add(1))
	require.Len(t, w.late.until, 1, "expired names are forgotten")
}

// A process that starts deletes no Job of which the process before may have sent a create.
func TestLateCreateOfAnotherProcess(t *testing.T) {
	w := newWorld(t, once+"  historyLimit: 0\n")
	at := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return at }
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, w.act(ctx))
	require.Contains(t, w.reconciles(), "create jobs")
	w.finishes(batchv1.JobComplete)
	w.lists("1")
	at = at.Add(30*time.Second - 1)
	require.NotContains(t, w.reconciles(), "delete jobs")
	at = at.Add(1)
	require.Contains(t, w.reconciles(), "delete jobs")
}

// A ScheduledJob with nothing to do is reconciled after the resync time, and a deleted one
// is not.
func TestResync(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	wait, err := w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	require.Equal(t, w.resync, wait)
	wait, err = w.reconcile(t.Context(), cache.NewObjectName("n", "none"))
	require.NoError(t, err)
	require.Negative(t, wait)
}

// The types of events: a warning asks for attention.
func TestEventTypes(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	run := schedule.Run{Tag: "tag", Stopped: "cancelled"}
	for reason, kind := range map[schedule.Reason]string{
		schedule.RunStarted: "Normal", schedule.RunSucceeded: "Normal", schedule.RunStopped: "Normal", schedule.Unblocked: "Normal",
		schedule.RunFailed: "Warning", schedule.RunsMissed: "Warning", schedule.RunsDropped: "Warning", schedule.Blocked: "Warning",
	} {
		w.tell(w.sees(), []schedule.Event{{Reason: reason, Run: run, Count: 1}})
		require.True(t, strings.HasPrefix(w.told()[0], kind+" "+string(reason)+" "), reason)
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
	w := newWorld(t, once)
	r := &relatedRecorder{}
	w.recorder = r
	w.record(w.sees(), corev1.EventTypeNormal, "Reason", "message", "tag")
	require.Equal(t, &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "n", Name: "job-tag"}, r.related)
	w.record(w.sees(), corev1.EventTypeNormal, "Reason", "message", "")
	require.Nil(t, r.related)

	rejected := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("quota"))
	w.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, rejected })
	config, err := w.config(w.sees())
	require.NoError(t, err)
	for _, tag := range []string{"a", "b"} {
		require.Error(t, w.startAll(t.Context(), w.sees(), config, []schedule.Run{{Tag: tag}}))
		require.Equal(t, "job-"+tag, r.related.(*corev1.ObjectReference).Name)
	}
}

// The API server rejects longer messages.
func TestLongMessage(t *testing.T) {
	s := newWorld(t, once).sees()
	status := s.status(schedule.State{}, s.notReady(reasonInvalid, errors.New(strings.Repeat("x", 40_000))))
	require.LessOrEqual(t, len(status.Conditions[0].Message), 32_768)
}

// Each completion of another job starts a run, also if history has dropped it before the
// first decision.
func TestAfter(t *testing.T) {
	w := newWorld(t, "  after: [{job: typo}, {job: other}]\n")
	other := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	other.Name, other.UID, other.Spec.After, other.Status.Succeeded = "other", "o", nil, 3
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: other}))
	require.Equal(t, []string{"create jobs", "create jobs", "create jobs", "update scheduledjobs"}, w.reconciles())

	w = newWorld(t, "  after: [{job: typo}, {job: other}]\n")
	other.CreationTimestamp.Time = other.CreationTimestamp.Add(-time.Second)
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: other}))
	require.NotContains(t, w.reconciles(), "create jobs", "earlier completions do not count")
	other = other.DeepCopyObject().(*scheduledjob.ScheduledJob)
	other.Status.Succeeded += 2
	require.NoError(t, w.scheduled.Update(&scheduledJob{ScheduledJob: other}))
	require.Equal(t, []string{"create jobs", "create jobs", "update scheduledjobs"}, w.reconciles())
}

// A create of a Job that exists succeeds if the Job is the run's own.
func TestStart(t *testing.T) {
	w := newWorld(t, once)
	own, foreign := w.job("own"), w.job("foreign")
	foreign.OwnerReferences[0].UID = "another"
	for _, job := range []*batchv1.Job{own, foreign} {
		require.NoError(t, w.client.Tracker().Add(job))
	}
	require.NoError(t, w.start(t.Context(), w.sees(), w.job("new")))
	require.NoError(t, w.start(t.Context(), w.sees(), own))
	require.ErrorContains(t, w.start(t.Context(), w.sees(), foreign), "already exists, and has another owner")
	w.client.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("timeout")
	})
	err := w.start(t.Context(), w.sees(), own)
	require.ErrorContains(t, err, "already exists")
	require.ErrorContains(t, err, "timeout")
}

// Only the Jobs of the runs that a decision names are deleted.
func TestDeleteAll(t *testing.T) {
	w := newWorld(t, once)
	for _, tag := range []string{"a", "b", "c"} {
		require.NoError(t, w.jobs.Add(w.job(tag)))
		require.NoError(t, w.client.Tracker().Add(w.job(tag)))
	}
	require.NoError(t, w.deleteAll(t.Context(), w.sees(), []string{"a", "c"}, metav1.DeletePropagationBackground))
	l, err := w.client.BatchV1().Jobs("n").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, l.Items, 1)
	require.Equal(t, "job-b", l.Items[0].Name)
	require.NoError(t, w.deleteAll(t.Context(), w.sees(), []string{"a"}, metav1.DeletePropagationBackground), "it is deleted already")
}

// A process without the lease stores nothing, and so starts nothing.
func TestNotLeading(t *testing.T) {
	w := newWorld(t, once)
	w.follows()
	_, err := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "no longer holds the lease")
	require.Empty(t, w.did())
}

// A ScheduledJob that is being deleted is left alone.
func TestDeletedScheduledJob(t *testing.T) {
	w := newWorld(t, once)
	s := w.sees()
	deleted := &scheduledJob{ScheduledJob: s.DeepCopyObject().(*scheduledjob.ScheduledJob)}
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	require.NoError(t, w.scheduled.Update(deleted))
	wait, err := w.reconcile(context.Background(), s.key())
	require.NoError(t, err)
	require.Negative(t, wait)
	require.Empty(t, w.did())
}

// A dependency cycle is an error of each of its jobs.
func TestCycle(t *testing.T) {
	w := newWorld(t, "  after: [{job: b}]\n")
	b := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	b.Name, b.UID, b.Spec.After = "b", "b", []scheduledjob.Dependency{{Job: "job"}}
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: b}))
	w.reconciles()
	require.Contains(t, w.readyIs(), "False Invalid: spec.after: ")
	outside := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	outside.Name = "outside"
	outside.Spec.After = []scheduledjob.Dependency{{Job: "b"}}
	require.NoError(t, w.cycle(&scheduledJob{ScheduledJob: outside}))
	require.Error(t, w.cycle(w.sees()))
}

// A PodTemplate that does not exist is a problem, and its pods are used once it exists.
func TestPodTemplate(t *testing.T) {
	w := newWorld(t, once)
	s := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	s.Spec.Template, s.Spec.TemplateRef = nil, &scheduledjob.TemplateRef{Name: "shared"}
	_, err := w.config(&scheduledJob{ScheduledJob: s})
	require.EqualError(t, err, `spec.templateRef.name: found "shared"; use the name of a PodTemplate that exists`)
	template := &corev1.PodTemplate{}
	template.Namespace, template.Name = "n", "shared"
	template.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	require.NoError(t, w.watched.templates.GetIndexer().Add(template))
	config, err := w.config(&scheduledJob{ScheduledJob: s})
	require.NoError(t, err)
	require.Equal(t, "i", config.Template.Spec.Containers[0].Image)
	_, err = w.config(&scheduledJob{ScheduledJob: s, problem: errors.New("unreadable")})
	require.EqualError(t, err, "unreadable")
}

// An error of a spec has one event for each message, and one when it is mended.
func TestReadyEvents(t *testing.T) {
	w := newWorld(t, once)
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

// The status of a RunRequest that cannot be read is written anew.
func TestUnreadableAnswer(t *testing.T) {
	w := newWorld(t, "  maxRestart: 0\n")
	w.request("now", "job")
	u, err := w.custom.Resource(runRequests).Namespace("n").Get(t.Context(), "now", metav1.GetOptions{})
	require.NoError(t, err)
	u.Object["status"] = map[string]any{"status": "completed", "exitCode": "none"}
	require.NoError(t, w.custom.Tracker().Update(runRequests, u, "n"))
	w.seesRequests()
	w.reconciles()
	require.Equal(t, "pending", w.answerTo("now")["status"])
	require.NotContains(t, w.answerTo("now"), "exitCode")
}

// The pods of a Job are listed once, when the Job has failed: not for a Job that is active
// or has succeeded, nor when the state has the exit code or has dropped the run.
func TestPodsOfNewFailures(t *testing.T) {
	w := newWorld(t, "  historyLimit: 0\n")
	for tag, condition := range map[string]batchv1.JobConditionType{
		"active": "", "succeeded": batchv1.JobComplete, "new": batchv1.JobFailed, "known": batchv1.JobFailed, "dropped": batchv1.JobFailed,
	} {
		job := w.job(tag)
		if condition != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
		}
		require.NoError(t, w.jobs.Add(job))
	}
	s := w.sees()
	s.Status.Completed, s.Status.PendingDeletion = []schedule.Run{{Tag: "known"}}, []string{"dropped"}
	w.did()
	require.NoError(t, w.client.Tracker().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: map[string]string{batchv1.JobNameLabel: "job-new"}}}))
	var selected []string
	w.client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.ListAction).GetListRestrictions()
		selected = append(selected, r.Labels.String()+" "+r.Fields.String())
		return false, nil, nil
	})
	pods, err := w.failedPods(t.Context(), s, w.jobsOf(s))
	require.NoError(t, err)
	require.Len(t, pods, 1)
	require.Equal(t, []string{"batch.kubernetes.io/job-name=job-new status.phase=Failed"}, selected)
}
