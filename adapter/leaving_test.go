package adapter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// A Job that has been pending for too long makes room at the maximum: it is deleted with a
// reason and a hold, and replaced once it is gone. One that starts meanwhile stays.
func TestDeleteStuckAfter(t *testing.T) {
	s, target := newServer(), newTarget()
	target.Policy.Bounds.Max, target.DeleteStuckAfter = 2, 10*time.Minute
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(9)
	require.NoError(t, err)
	w.catchUp(t)
	created := s.all(t)[0].CreationTimestamp.Time
	w.clock = created.Add(10*time.Minute - 1)
	plan := w.Plan(ownerUID, items(9), w.clock)
	require.Empty(t, plan.Delete)
	require.Equal(t, created.Add(10*time.Minute), plan.NextCheck)

	w.clock = created.Add(10 * time.Minute)
	started := s.all(t)[1]
	s.change(t, &started, ready) // not shown yet
	plan = w.Plan(ownerUID, items(9), w.clock)
	require.Len(t, plan.Delete, 2)
	require.Equal(t, Stuck, plan.Delete[0].Reason)
	require.Equal(t, []slots.Hold{{Reason: StuckJobs, Text: "deleted after pending for 10m0s: 2 Jobs", Count: 2}}, plan.Holds)
	require.Zero(t, plan.Create, "they take up the maximum until they are gone")
	require.Equal(t, scaling.JobCounts{Terminating: 2}, plan.Decision.Trace.Jobs)
	result, err := w.Apply(t.Context(), s, plan)
	require.NoError(t, err)
	require.Equal(t, Result{Stuck: 1}, result)
	w.catchUp(t)
	require.Equal(t, int64(1), w.Plan(ownerUID, items(9), w.clock).Create)

	target.Policy.Paused = true
	require.NoError(t, w.Track(target))
	w.clock = w.clock.Add(time.Hour)
	require.Empty(t, w.Plan(ownerUID, items(9), w.clock).Delete, "paused")
}

// At 0 a Job may be pending for ever.
func TestStuckJobsStay(t *testing.T) {
	w := newWriter(t, newServer(), newTarget(), Options{})
	w.show(jobOf(newTarget(), 1))
	plan := w.Plan(ownerUID, items(1), noon.Add(1000*time.Hour))
	require.Empty(t, plan.Delete)
	require.Empty(t, plan.Holds)
}

// Without pods, drain says that it replaces nothing.
func TestDrainWithoutPods(t *testing.T) {
	old, target := newTarget(), newTarget()
	target.Revision.Generation, target.Rollout = 2, rollout.Policy{Strategy: rollout.Drain, EveryEdit: true}
	for pods, want := range map[bool][]slots.Hold{
		true:  nil,
		false: {{Reason: PodsUnknown, Text: rollout.ReasonPodsUnknown.Text(), Count: 1}},
	} {
		w := newWriter(t, newServer(), target, Options{Pods: pods})
		job := jobOf(old, 1, ready)
		job.CreationTimestamp = metav1.NewTime(noon)
		w.show(job)
		require.ElementsMatch(t, want, w.Plan(ownerUID, items(1), noon).Holds)
	}
}

// Jobs of an older generation that say nothing about their template stay, as KEDA's do, and the plan says so until none is left.
func TestTemplatesUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		edit           func(*Target)
		holds, deletes int
	}{
		"an edit":          {func(*Target) {}, 2, 1},
		"no edit":          {func(t *Target) { t.Revision.Generation = 1 }, 0, 0},
		"gradual":          {func(t *Target) { t.Rollout = rollout.Policy{} }, 0, 0},
		"every edit":       {func(t *Target) { t.Rollout.EveryEdit = true }, 0, 4},
		"no template hash": {func(t *Target) { t.Revision.TemplateHash = "" }, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			old, target := newTarget(), newTarget()
			old.Revision = rollout.Revision{Generation: 1}
			target.Revision, target.Rollout = rollout.Revision{Generation: 2, TemplateHash: "b"}, rollout.Policy{Strategy: rollout.Immediate}
			c.edit(&target)
			w := newWriter(t, newServer(), target, Options{})
			w.show(jobOf(old, 1, ready))
			w.show(jobOf(old, 2))
			w.show(jobOf(old, 3, complete))
			old.Revision.TemplateHash = "b"
			w.show(jobOf(old, 4, ready))
			old.Revision.TemplateHash = "a"
			w.show(jobOf(old, 5, ready))
			require.Len(t, w.Plan(ownerUID, items(1), noon).Delete, c.deletes)
			count := func() (n int) {
				for _, h := range w.Plan(ownerUID, items(1), noon).Holds {
					if h.Reason == TemplatesUnknown {
						n += h.Count
					}
				}
				return n
			}
			require.Equal(t, c.holds, count())
			for number := range int64(5) {
				w.gone(jobOf(old, number+1))
			}
			require.Zero(t, count())
		})
	}
}
