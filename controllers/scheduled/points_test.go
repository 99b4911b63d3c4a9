package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// A copy of a run's Job under another name stays, and its original too. An event tells once of each, of
// at most twenty in an hour, and names the way to run again.
func TestForeignJobs(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R/2026-01-01T00:00:00Z/P1D}\n")
	w.at(0)
	w.restart()
	w.step()
	w.finishes(batchv1.JobFailed)
	w.at(60)
	w.step()
	jobs := w.existing()
	require.Len(t, jobs, 1)
	for i := range 25 {
		again := jobs[0].DeepCopy()
		again.Name, again.UID, again.Status = fmt.Sprintf("again-%02d", i), types.UID(fmt.Sprint(i)), batchv1.JobStatus{}
		require.NoError(t, w.client.Tracker().Add(again))
	}
	told := map[string]bool{}
	foreign := func() (events []string) {
		require.NotContains(t, w.step(), "delete jobs")
		l, err := w.client.EventsV1().Events("n").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, e := range l.Items {
			require.Equal(t, "job", e.Regarding.Name)
			if !told[e.Name] {
				events = append(events, e.Type+" "+e.Reason+" "+e.Note)
			}
			told[e.Name] = true
		}
		return events
	}
	first := foreign()
	require.Len(t, first, 20)
	tag := jobs[0].Labels[scheduledjob.LabelTag]
	require.Contains(t, strings.Join(first, "\n"), "Warning ForeignJob Job again-00 has the labels and the owner of run "+tag+
		", whose Job has another name: it is not counted and not deleted. To run again, create a RunRequest with spec.job job and spec.tag "+tag)
	require.Empty(t, foreign(), "each is told once")
	w.restart()
	require.Empty(t, foreign(), "also by the next process")
	w.at(3660)
	require.Len(t, foreign(), 5)
	require.Empty(t, foreign())
	require.EqualValues(t, 1, w.sees().Status.Failed)
}

// A RunRequest with the tag of a run stands for the same occurrence. One with another tag says that it
// stands for none.
func TestRunAgain(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R1/2026-01-01T00:00:00Z/P1D, timeZone: Europe/Berlin}\n")
	w.reconciles()
	w.finishes(batchv1.JobFailed)
	w.step()
	for name, tag := range map[string]string{"again": w.sees().Status.Completed[0].Tag, "other": "other"} {
		w.request(name, "job", func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["tag"] = tag })
	}
	w.step()
	require.Equal(t, "2026-01-01T01:00:00+01:00", w.answerTo("again")["occurrence"])
	require.Contains(t, w.answerTo("other")["message"], `spec.tag: "other" is not the tag of an occurrence`)
	w.step() // they run
	require.Empty(t, w.step())
}

// A backfill around now runs its part up to now, and its status names the rest.
func TestBackfillAroundNow(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R/2025-12-30T00:00:00Z/P1D}\n  suspend: true\n")
	w.at(12 * 3600)
	w.request("back", "job", backfill(map[string]any{"from": "2026-01-02T00:00:00Z", "to": "2026-01-06T00:00:00Z", "together": true}))
	w.reconciles()
	require.Empty(t, w.sees().Status.Running)
	is := w.answerTo("back")
	require.Equal(t, []any{"completed", int64(4)}, []any{is["status"], is["later"]})
	require.Equal(t, "4 occurrences of the span were due after the request, at 2026-01-01T00:00:00Z; the schedule runs them", is["message"])
}

// The annotations act when they are set, once for each value.
func TestAnnotations(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R/2026-01-01T00:00:00Z/P1D, blockOnFailure: true}\n")
	const day = 24 * 3600
	w.at(365 * day)
	w.restart()
	reconciles := func() scheduledjob.Status {
		w.step()
		return w.sees().Status
	}
	reconciles()
	w.finishes(batchv1.JobFailed)
	require.Equal(t, "Blocked", reconciles().Reason)
	w.edit("metadata.annotations", map[string]any{schedule.AnnotationUnblock: "1"})
	require.Empty(t, reconciles().Reason)

	w.at(day)
	status := reconciles()
	require.Equal(t, "ClockAhead", status.Reason)
	require.Equal(t, metav1.ConditionFalse, status.Conditions[1].Status)
	require.Contains(t, status.Conditions[1].Message, "the clock reads 2026-01-02T00:00:00Z, and occurrences up to 2027-01-01T00:00:00Z were handled")
	w.edit("metadata.annotations", map[string]any{schedule.AnnotationUnblock: "1", schedule.AnnotationRewind: "1"})
	require.Empty(t, reconciles().Reason)
	w.at(2 * day)
	require.EqualValues(t, 1, reconciles().ActiveRuns)
	old, edited := &scheduledJob{ScheduledJob: &scheduledjob.ScheduledJob{}}, w.sees()
	old.UID, old.Generation = edited.UID, edited.Generation
	w.updated(old, edited)
	require.Equal(t, 1, w.queue.Len(), "an annotation reaches the queue")
}
