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
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"

	"github.com/scaledjob/scaledjob/schedule"
)

// A RunRequest for an unknown job has a message and an event, once. When the job exists,
// the request gets its run.
func TestUnknownJob(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	w.another(func(s *scheduledjob.ScheduledJob) { s.Namespace, s.Name, s.UID = "elsewhere", "typo", "e" })
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
	end := w.refuses("patch runrequests", errors.New("forbidden"))
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.ErrorContains(t, err, "answer the RunRequest b: forbidden")
	require.ErrorContains(t, err, "answer the RunRequest c: forbidden")
	require.Empty(t, w.told(), "the event follows the answer")
	end()
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.NoError(t, err)
	require.Len(t, w.told(), 2)

	w.request("later", "job", func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"status": "pending", "message": message}
	})
	w.reconciles()
	require.NotContains(t, w.answerTo("later"), "message")
	require.Equal(t, "uid-later", w.answerTo("later")["request"])
}

// Without history, a RunRequest shows its completed run for the TTL.
func TestRequestWithoutHistory(t *testing.T) {
	w := newFixture(t, "  historyLimit: 0\n")
	w.at(0)
	w.request("now", "job")
	w.reconciles()
	require.Equal(t, "pending", w.answerTo("now")["status"])
	w.step()
	require.Equal(t, "running", w.answerTo("now")["status"])
	require.NotContains(t, w.answerTo("now"), "triedAt")
	w.finishes(batchv1.JobComplete)
	require.NotContains(t, w.step(), "delete jobs", "before the answer")
	require.Equal(t, "completed", w.answerTo("now")["status"])
	require.Equal(t, true, w.answerTo("now")["success"])
	require.Contains(t, w.step(), "delete jobs")
	require.Empty(t, w.sees().Status.Completed)
	w.at(59.999)
	w.step()
	require.NotNil(t, w.answerTo("now"))
	require.Empty(t, w.reconciles(), "nothing is left to do")
	w.at(60)
	require.Equal(t, []string{"delete runrequests"}, w.reconciles())
	require.Nil(t, w.answerTo("now"))
}

// claim takes a request without an owner, keeps its own, and leaves out others.
func TestClaim(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	workflow := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Workflow", Name: "etl", UID: "w", Controller: new(true)}
	own := w.sees().Owner()
	extract, earlier := own, own
	extract.Name, extract.UID, extract.Controller = "extract", "e", nil
	earlier.UID = "before"
	for name, owners := range map[string][]metav1.OwnerReference{
		"free": nil, "own": {own}, "foreign": {earlier}, "of a workflow": {workflow}, "of another job": {extract},
	} {
		w.request(name, "job", func(u *unstructured.Unstructured) { u.SetOwnerReferences(owners) })
	}
	w.request("deleted", "job", func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) })
	claimed, err := w.claim(t.Context(), w.sees())
	require.NoError(t, err)
	names := map[string]bool{}
	for _, r := range claimed {
		names[r.Name] = true
	}
	require.Equal(t, map[string]bool{"free": true, "own": true, "of a workflow": true, "of another job": true}, names)
	require.Equal(t, own.UID, metav1.GetControllerOf(w.get(runRequests, "free")).UID)
	second := own
	second.Controller = nil
	require.Equal(t, []metav1.OwnerReference{workflow, second}, w.get(runRequests, "of a workflow").GetOwnerReferences(), "an object has one controller")

	w.refuses("patch runrequests", errors.New("forbidden"))
	claimed, err = w.claim(t.Context(), w.sees())
	require.ErrorContains(t, err, "take on the RunRequest free: forbidden")
	require.Len(t, claimed, 1)
	require.Equal(t, "own", claimed[0].Name)
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
	end := w.refuses("patch runrequests", errors.New("forbidden"))
	_, err := w.claim(t.Context(), w.sees())
	require.Error(t, err)
	require.Len(t, w.did(), mostClaimed)
	_, err = w.reconcile(t.Context(), cache.NewObjectName("n", "typo"))
	require.Error(t, err)
	require.Len(t, w.did(), mostTold)
	end()
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
	end := w.refuses("delete runrequests", errors.New("no"))
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true))
	require.Equal(t, []string{"patch runrequests"}, w.did())
	require.Equal(t, othersFirst, w.answerTo("now")["message"])
	w.give(schedule.Checkpoint{Requested: []string{schedule.RequestTag("u", "uid-now")}})
	require.ErrorContains(t, w.answer(t.Context(), w.sees(), own, true), "delete the RunRequest now: no")
	end()
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true))
	require.NoError(t, w.answer(t.Context(), w.sees(), own, true), "it is deleted already")
}

// An invalid edit reports the problem, and the active run still completes.
func TestInvalidEdit(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R//PT1S}\n")
	w.reconciles()
	w.step()
	require.Len(t, w.sees().Status.Running, 1)
	w.edit("spec.schedule.timeSpec", "R//PT01")
	w.request("now", "job")
	w.finishes(batchv1.JobComplete)
	did := w.step()
	require.Contains(t, did, "update scheduledjobs")
	require.NotContains(t, did, "create jobs")
	require.NotContains(t, did, "delete runrequests")
	s := w.sees().Status
	require.Empty(t, s.Running)
	require.True(t, s.Completed[0].Success)
	require.Contains(t, w.condition("Ready"), "False Invalid: spec.schedule.timeSpec: ")
	require.Equal(t, invalidJob, w.answerTo("now")["message"])
	require.Empty(t, w.step())
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
	w.request("now", "job", func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"status": "completed", "exitCode": "none"}
	})
	w.reconciles()
	require.Equal(t, "pending", w.answerTo("now")["status"])
	require.NotContains(t, w.answerTo("now"), "exitCode")
}

// A backfill has its runs one after another, or ten at a time, and its status counts them. After
// a restart it goes on.
func TestBackfill(t *testing.T) {
	for _, together := range []bool{false, true} {
		w := newFixture(t, "  schedule: {timeSpec: R/2025-12-01T00:00:00Z/PT1H}\n  suspend: true\n  historyLimit: 1\n")
		w.request("back", "job", backfill(map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-31T00:00:00Z", "limit": int64(12), "together": together}))
		due, most := map[string]int{}, 0
		for range 60 {
			w.step()
			active := 0
			for _, j := range w.existing() {
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
		w.request(name(i), "job", backfill(map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-02T01:00:00Z"}))
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
		w.step()
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
		w.request("back", "job", backfill(map[string]any{"from": "2025-12-02T00:00:00Z", "to": "2025-12-03T00:00:00Z", "limit": int64(4)}))
		steps := func() {
			w.step()
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
