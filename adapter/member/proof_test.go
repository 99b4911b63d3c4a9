package member_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// forge creates a copy of a Job on a member, as a tenant of the member may.
func (w *fixture) forge(name string, j batchv1.Job, change func(*batchv1.Job)) {
	w.t.Helper()
	j.UID, j.ResourceVersion = "", ""
	change(&j)
	_, err := w.sites[name].Clientset.BatchV1().Jobs(j.Namespace).Create(context.Background(), &j, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// A Job with copied labels that this hub did not create changes no count, no place and no
// deletion: not in another namespace, under another name, under the next number, as the
// replacement of a Job, on another member, or for another owner.
func TestForger(t *testing.T) {
	forgeries := map[string]func(*batchv1.Job){
		"namespace": func(j *batchv1.Job) { j.Namespace = "mail" },
		"name":      func(j *batchv1.Job) { j.Name = "processor" },
		"number":    func(j *batchv1.Job) { j.Name = j.Name[:len(j.Name)-1] + "7" },
		"source": func(j *batchv1.Job) {
			j.Name, j.Labels[member.LabelSource] = "x", j.Name+"."+j.Labels[member.LabelCreation]
		},
		"owner": func(j *batchv1.Job) {
			j.Name, j.Labels[adapter.LabelOwner] = "y", "00000000-0000-4000-8000-0000000000ff"
		},
		"no owner":   func(j *batchv1.Job) { j.Name, j.Labels[adapter.LabelOwner] = "z", "" },
		"no proof":   func(j *batchv1.Job) { j.Name = "w"; delete(j.Labels, member.LabelProof) },
		"short code": func(j *batchv1.Job) { j.Name, j.Labels[member.LabelProof] = "v", "" },
	}
	o := member.Options{Key: []byte("the hub's")}
	w := newFixture(t, o, "a", "b").ready()
	w.policy.Failover.Duplication = jobs.PreferFailover
	w.demand = 2
	noErrors(t, w.poll())
	w.shown(2)
	w.change("a", runs)
	original := w.jobs("a")[0]
	require.Len(t, original.Labels[member.LabelProof], 32)
	for _, on := range []string{"a", "b"} {
		for _, change := range forgeries {
			w.forge(on, original, func(j *batchv1.Job) { change(j); runs(j) })
		}
	}
	w.forge("b", original, runs) // the same name, on another member
	for n := range 5 {           // the numbers that are next
		w.forge("a", original, func(j *batchv1.Job) { j.Name = fmt.Sprint(j.Name[:len(j.Name)-1], n+2); runs(j) })
	}
	w.add("a", o) // as after a restart
	w.add("b", o)
	w.ready()
	for range 3 {
		noErrors(t, w.poll())
		seen := w.observe()
		require.Len(t, seen["a"].Jobs, 1)
		require.Len(t, seen["b"].Jobs, 1)
	}
	require.Len(t, w.jobs("a"), 1+len(forgeries)+5)
	require.Equal(t, map[string][]member.Owned{"a": {{Owner: owner, Namespace: "shop", Jobs: 1}}, "b": {{Owner: owner, Namespace: "shop", Jobs: 1}}}, w.all.Owners())

	w.demand = 4 // the forged numbers are taken
	noErrors(t, w.poll())
	w.shown(4)
	w.all.Untrack(owner)
	left := 0
	for _, c := range w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides) {
		require.NoError(t, c.Err)
		left += c.Found
	}
	require.Equal(t, 4, left)
	require.Len(t, w.jobs("a"), len(forgeries)+5)
	require.Len(t, w.jobs("b"), len(forgeries)+1)
}

// A Job that loses its proof is not ours any more.
func TestLostProof(t *testing.T) {
	w := newFixture(t, member.Options{Key: []byte("the hub's")}, "a").ready()
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	w.change("a", func(j *batchv1.Job) { delete(j.Labels, member.LabelProof) })
	w.shown(0)
	require.Empty(t, w.all.Owners())
}
