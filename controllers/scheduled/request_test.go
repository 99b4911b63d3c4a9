package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"

	"github.com/scaledjob/scaledjob/schedule"
)

// A RunRequest for an unknown job has a message and an event, once. When the job exists,
// the request gets its run.
func TestUnknownJob(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	elsewhere := w.sees().DeepCopyObject().(*scheduledjob.ScheduledJob)
	elsewhere.Namespace, elsewhere.Name, elsewhere.UID = "elsewhere", "typo", "e"
	require.NoError(t, w.scheduled.Add(&scheduledJob{ScheduledJob: elsewhere}))
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

// Without history, a RunRequest shows its completed run for the TTL.
func TestRequestWithoutHistory(t *testing.T) {
	w := newFixture(t, "  historyLimit: 0\n")
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

// claim takes a request without an owner, keeps its own, and leaves out others.
func TestClaim(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
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
	require.Equal(t, "own", own[0].Name)
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "answer the RunRequest own: forbidden")
}

// Many requests without an owner are taken on a hundred at a time, the oldest first, and many for an unknown
// job are told twenty at a time; also if all fail.
func TestManyUnowned(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	for i := range mostClaimed + 1 {
		w.request(fmt.Sprintf("r%03d", i), "job")
		w.request(fmt.Sprintf("typo%03d", i), "typo")
	}
	w.seesRequests()
	w.did()
	w.custom.PrependReactor("patch", "runrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	_, err := w.claim(t.Context(), w.sees())
	require.Error(t, err)
	require.Len(t, w.did(), mostClaimed)
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.Error(t, err)
	require.Len(t, w.did(), mostTold)
	w.custom.ReactionChain = w.custom.ReactionChain[1:]
	own, err := w.claim(t.Context(), w.sees())
	require.NoError(t, err)
	require.Len(t, own, mostClaimed)
	require.Equal(t, "r000", own[0].Name)
	w.seesRequests()
	own, err = w.claim(t.Context(), w.sees())
	require.NoError(t, err)
	require.Len(t, own, mostClaimed+1)
	for n := mostTold; n <= 2*mostTold; n += mostTold {
		w.seesRequests()
		_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
		require.NoError(t, err)
		require.Len(t, w.told(), mostTold)
	}
}

// A request whose run was dropped before it was answered is deleted, unless the spec is
// invalid. An error is reported.
func TestDroppedBeforeAnswer(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
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
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true))
	require.Equal(t, []string{"patch runrequests"}, w.did())
	require.Equal(t, othersFirst, w.answerTo("now")["message"])
	w.give(schedule.Checkpoint{Requested: []string{schedule.RequestTag("u", "uid-now")}})
	require.ErrorContains(t, w.answer(t.Context(), w.sees(), own, true), "delete the RunRequest now: no")
	w.custom.ReactionChain = w.custom.ReactionChain[1:]
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true))
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true), "it is deleted already")
}

// An invalid edit reports the problem, and the active run still completes.
func TestInvalidEdit(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R//PT1S}\n")
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
	require.Equal(t, s.Begin, w.sees().Status.Begin, "the schedule does not start anew")
	require.GreaterOrEqual(t, w.sees().Status.Due, s.Due)
}

// The status of a RunRequest that cannot be read is written anew.
func TestUnreadableAnswer(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
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

// A backfill has its runs one after another, or ten at a time, and its status counts them. After
// a restart it goes on.
func TestBackfill(t *testing.T) {
	for _, together := range []bool{false, true} {
		w := newFixture(t, "  schedule: {timeSpec: R/2025-12-01T00:00:00Z/PT1H}\n  suspend: true\n  historyLimit: 1\n")
		w.request("back", "job", map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-31T00:00:00Z", "limit": int64(12), "together": together})
		due, most := map[string]int{}, 0
		for range 60 {
			w.sees()
			w.seesRequests()
			w.lists("")
			w.reconciles()
			active := 0
			l, err := w.client.BatchV1().Jobs("n").List(w.ctx, metav1.ListOptions{})
			require.NoError(t, err)
			for _, j := range l.Items {
				if len(j.Status.Conditions) == 0 {
					active++
					for _, e := range j.Spec.Template.Spec.Containers[0].Env {
						if e.Name == "JOB_DUE_AT" {
							due[e.Value] = due[e.Value] | 1
						}
					}
				}
			}
			most = max(most, active)
			w.lists("")
			w.reconciles()
			w.finishes(batchv1.JobComplete)
		}
		require.Len(t, due, 12)
		require.Contains(t, due, "2025-12-02T11:00:00Z")
		require.Equal(t, map[bool]int{false: 1, true: 10}[together], most)
		is := w.answerTo("back")
		require.Equal(t, []any{"completed", true, int64(12), int64(12)}, []any{is["status"], is["success"], is["done"], is["runs"]})
	}
}

// Of many backfills twenty are looked at, the others say that they wait, and all have their runs.
func TestManyBackfills(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R/2025-12-01T00:00:00Z/PT1H}\n  suspend: true\n")
	name := func(i int) string { return fmt.Sprintf("back-%02d", i) }
	const n = 22
	for i := range n {
		w.request(name(i), "job", map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-02T01:00:00Z"})
	}
	waited := map[int]bool{}
	looked := func() (all int) {
		for i := range n {
			switch is := w.answerTo(name(i)); {
			case is["message"] == othersFirst:
				require.Equal(t, "pending", is["status"])
				waited[i] = true
			case is["status"] == "pending" || is["status"] == "running":
				all++
			}
		}
		return all
	}
	for range 8 {
		w.sees()
		w.seesRequests()
		w.lists("")
		w.reconciles()
		require.LessOrEqual(t, looked(), maxBackfills)
		w.finishes(batchv1.JobComplete)
	}
	require.Equal(t, map[int]bool{20: true, 21: true}, waited)
	for i := range n {
		is := w.answerTo(name(i))
		require.Equal(t, []any{"completed", true, int64(1)}, []any{is["status"], is["success"], is["done"]}, i)
	}
}

// A backfill goes on where it was after an invalid edit, and ends if the schedule has fewer
// occurrences than have run, or if there is no schedule any more.
func TestEditedBackfill(t *testing.T) {
	for edit, want := range map[string][]any{
		"R/2025-12-01T00:00:00Z/PT1H": {"completed", int64(4), int64(4), nil},
		"R/2025-12-02T00:00:00Z/P1D":  {"completed", int64(2), int64(1), nil},
		"":                            {"completed", int64(2), nil, "the schedule has no occurrence in the span"},
	} {
		w := newFixture(t, "  schedule: {timeSpec: R/2025-12-01T00:00:00Z/PT1H}\n  suspend: true\n  historyLimit: 0\n")
		w.request("back", "job", map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-03T00:00:00Z", "limit": int64(4)})
		steps := func() {
			w.seesRequests()
			w.lists("")
			w.reconciles()
			w.finishes(batchv1.JobComplete)
		}
		for w.answerTo("back")["done"] != int64(2) {
			steps()
		}
		w.edit("spec.schedule.timeSpec", "R//PT01")
		steps()
		require.Equal(t, []any{"pending", int64(2), invalidJob}, []any{w.answerTo("back")["status"], w.answerTo("back")["done"], w.answerTo("back")["message"]})
		w.edit("spec.schedule.timeSpec", edit)
		for range 20 {
			steps()
		}
		is := w.answerTo("back")
		require.Equal(t, want, []any{is["status"], is["done"], is["runs"], is["message"]}, edit)
		require.Equal(t, want[1], w.object()["succeededCount"], "each occurrence runs once")
	}
}
