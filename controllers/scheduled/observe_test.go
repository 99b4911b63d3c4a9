package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// A controller whose list of ScheduledJobs is old starts nothing: not even a run that has
// been dropped, with its Job, since.
func TestStaleScheduledJobs(t *testing.T) {
	w := newFixture(t, once+"  historyLimit: 0\n")
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

// A ScheduledJob that depends on an unknown one is not ready. Its own schedule runs.
func TestUnknownDependency(t *testing.T) {
	w := newFixture(t, once+"  after: [{job: other}, {job: typo}]\n")
	w.another(func(s *scheduledjob.ScheduledJob) { s.Name, s.UID, s.Spec.After = "other", "o", nil })
	w.another(func(s *scheduledjob.ScheduledJob) {
		s.Namespace, s.Name, s.UID, s.Spec.After = "elsewhere", "typo", "e", nil
	})
	require.Contains(t, w.reconciles(), "create jobs")
	require.Equal(t, `False JobNotFound: spec.after[1].job: found "typo"; use the name of a ScheduledJob of the namespace; none has this name`, w.condition("Ready"))
	require.Contains(t, w.told()[0], "Warning JobNotFound")
	w.another(func(s *scheduledjob.ScheduledJob) { s.Name, s.UID, s.Spec.After = "typo", "o", nil })
	w.reconciles()
	require.Equal(t, "True Valid: The spec is valid", w.condition("Ready"))
	require.Equal(t, []string{"Normal Valid The spec is valid"}, w.told())
}

// A ScheduledJob with very many dependencies, its own and those of others, is not ready: they are
// followed in each reconciliation.
func TestManyDependencies(t *testing.T) {
	w := newFixture(t, once+"  after: [{job: j0}, {job: j1}]\n")
	for i := range 200 { // each after all others
		w.another(func(s *scheduledjob.ScheduledJob) {
			s.Name, s.UID, s.Spec.After = fmt.Sprint("j", i), types.UID(fmt.Sprint(i)), nil
			for k := range 200 {
				s.Spec.After = append(s.Spec.After, scheduledjob.Dependency{Job: fmt.Sprint("j", k)})
			}
		})
	}
	begin := time.Now()
	w.reconciles()
	require.Less(t, time.Since(begin), 10*time.Second)
	require.Contains(t, w.condition("Ready"), "False Invalid: spec.after: found more than 2000 dependencies")
}

// A Job in another namespace is not of the ScheduledJob whose UID its author has written into it: the
// run starts nevertheless.
func TestForgedJobElsewhere(t *testing.T) {
	w := newFixture(t, once)
	require.Contains(t, w.reconciles(), "create jobs")
	forged := w.existing()[0] // the tag follows from the UID and the time
	forged.Namespace, forged.UID = "elsewhere", "forged"
	w = newFixture(t, once)
	require.NoError(t, w.jobs.Add(&forged))
	require.Contains(t, w.reconciles(), "create jobs")
}

// Each completion of another job starts a run, also if history has dropped it before the
// first decision.
func TestAfter(t *testing.T) {
	other := func(succeeded int64, older time.Duration) func(*scheduledjob.ScheduledJob) {
		return func(s *scheduledjob.ScheduledJob) {
			s.Name, s.UID, s.Spec.After, s.Status.Succeeded = "other", "o", nil, succeeded
			s.CreationTimestamp.Time = s.CreationTimestamp.Add(-older)
		}
	}
	w := newFixture(t, "  after: [{job: typo}, {job: other}]\n")
	w.another(other(3, 0))
	require.Equal(t, []string{"create jobs", "create jobs", "create jobs", "update scheduledjobs"}, w.reconciles())

	w = newFixture(t, "  after: [{job: typo}, {job: other}]\n")
	w.another(other(3, time.Second))
	require.NotContains(t, w.reconciles(), "create jobs", "earlier completions do not count")
	w.another(other(5, time.Second))
	require.Equal(t, []string{"create jobs", "create jobs", "update scheduledjobs"}, w.reconciles())
}

// A ScheduledJob that is being deleted is left alone.
func TestDeletedScheduledJob(t *testing.T) {
	w := newFixture(t, once)
	deleted := w.another(func(s *scheduledjob.ScheduledJob) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	wait, err := w.reconcile(t.Context(), deleted.key())
	require.NoError(t, err)
	require.Negative(t, wait)
	require.Empty(t, w.did())
}

// A dependency cycle is an error of each of its jobs.
func TestCycle(t *testing.T) {
	w := newFixture(t, "  after: [{job: b}]\n")
	w.another(func(s *scheduledjob.ScheduledJob) { s.Name, s.UID, s.Spec.After[0].Job = "b", "b", "job" })
	w.reconciles()
	require.Contains(t, w.condition("Ready"), "False Invalid: spec.after: ")
	require.NoError(t, w.cycle(w.another(func(s *scheduledjob.ScheduledJob) { s.Name = "outside" })))
	require.Error(t, w.cycle(w.sees()))
}

// A PodTemplate that does not exist is a problem, and its pods are used once it exists.
func TestPodTemplate(t *testing.T) {
	w := newFixture(t, once)
	s := w.another(func(s *scheduledjob.ScheduledJob) {
		s.Spec.Template, s.Spec.TemplateRef = nil, &corev1.ObjectReference{Name: "shared"}
	})
	_, err := w.config(s)
	require.EqualError(t, err, `spec.templateRef.name: found "shared"; use the name of a PodTemplate that exists`)
	template := &corev1.PodTemplate{}
	template.Namespace, template.Name = "n", "shared"
	template.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	require.NoError(t, w.watched.templates.GetIndexer().Add(template))
	config, err := w.config(s)
	require.NoError(t, err)
	require.Equal(t, "i", config.Template.Spec.Containers[0].Image)
	s.problem = errors.New("unreadable")
	_, err = w.config(s)
	require.EqualError(t, err, "unreadable")
}
