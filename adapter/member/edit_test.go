package member_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/rollout"
)

// A Job that has changed since the observation is left to the next plan.
func TestChangedSince(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	w.policy.Revision.Generation, w.policy.Rollout = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	w.policy.Scaling.Bounds.Max = 1
	w.plan()
	w.change("a", runs)
	reports := w.apply()
	noErrors(t, reports)
	require.Zero(t, reports[0].Outdated)
	require.Len(t, w.jobs("a"), 1)
	w.eventually("it is deleted", func() bool { w.poll(); return len(w.jobs("a")) == 0 })
}

// Jobs in a namespace that the target had before are the owner's still.
func TestNamespaceIsEdited(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 2
	noErrors(t, w.poll())
	w.shown(2)
	w.overrides = map[string]member.Override{"a": {Namespace: "elsewhere"}}
	w.track()
	require.Empty(t, w.poll())
	w.demand = 3
	noErrors(t, w.poll())
	w.shown(3)
	namespaces := map[string]int{}
	for _, j := range w.jobs("a") {
		namespaces[j.Namespace]++
	}
	require.Equal(t, map[string]int{"shop": 2, "elsewhere": 1}, namespaces)
	w.policy.Revision.Generation, w.policy.Rollout, w.demand = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, 0
	require.Equal(t, 3, w.poll()[0].Outdated)
	require.Empty(t, w.jobs("a"))
}

// A plan that was made before an edit sends nothing.
func TestEditedSince(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b").ready()
	w.demand = 4
	w.plan()
	w.target.Revision.Generation = 2
	w.track()
	for _, r := range w.apply() {
		require.ErrorIs(t, r.Err, adapter.ErrOutdated)
	}
	require.Empty(t, w.jobs("a"))
	noErrors(t, w.poll())
	require.Len(t, w.jobs("a"), 2)
	require.Equal(t, "2", w.jobs("a")[0].Annotations[adapter.AnnotationGeneration])
}

// An equal target is no edit, such as that of an informer which lists anew.
func TestEqualTarget(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 1
	w.plan()
	w.target.Job = w.target.Job.DeepCopy()
	w.target.Policy.Bounds.Max++ // members do not use it
	w.track()
	noErrors(t, w.apply())
	require.Len(t, w.jobs("a"), 1)
}

// An edit of overrides changes new Jobs only.
func TestOverrideIsEdited(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.policy.Rollout = rollout.Policy{Strategy: rollout.Immediate}
	w.overrides = map[string]member.Override{"a": {Pod: member.PodOverrides{NodeSelector: map[string]string{"disk": "hdd"}}}}
	w.track()
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	w.overrides = map[string]member.Override{"a": {Pod: member.PodOverrides{NodeSelector: map[string]string{"disk": "ssd"}}}}
	w.target.Revision.Generation, w.policy.Revision.Generation = 2, 2
	w.track()
	require.Empty(t, w.poll())
	w.demand = 2
	noErrors(t, w.poll())
	jobs := w.jobs("a")
	require.Equal(t, []string{"hdd", "ssd"}, []string{jobs[0].Spec.Template.Spec.NodeSelector["disk"], jobs[1].Spec.Template.Spec.NodeSelector["disk"]})
}

// A process that may not act sends nothing.
func TestMayAct(t *testing.T) {
	terms := &requests.Terms{}
	w := newFixture(t, member.Options{Terms: terms}, "a").ready()
	w.demand = 1
	reports := w.poll()
	require.ErrorIs(t, reports[0].Err, requests.ErrEnded)
	require.Empty(t, reports[0].Failures)
	require.Error(t, w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides)[0].Err)
	require.Empty(t, w.jobs("a"))
	terms.Begin(while(func() bool { return true }), false)
	w.eventually("the Jobs are read in the term", func() bool {
		noErrors(t, w.poll())
		return len(w.jobs("a")) == 1
	})
}

// An observation from before a member was registered anew is not acted on there.
func TestAddedAnewSince(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 1
	w.plan()
	w.add("a", member.Options{})
	require.EqualError(t, w.apply()[0].Err, "its Jobs are not known")
	require.Empty(t, w.jobs("a"))
}

// A Job that somebody else created for the owner is known by its UID if its creation
// does not fit into a label.
func TestLongName(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	j := w.target.NewJob(1)
	j.OwnerReferences, j.Name = nil, strings.Repeat("a", 53)
	j.Labels[member.LabelHome], j.Labels[member.LabelCreation] = home, "0123456789"
	j, err := w.sites["a"].Clientset.BatchV1().Jobs("shop").Create(t.Context(), j, metav1.CreateOptions{})
	require.NoError(t, err)
	w.shown(1)
	require.Equal(t, string(j.UID), w.observe()["a"].Jobs[0].UID)
}

// Outdated Jobs are deleted with the propagation of the target, but neither on a member
// that is unreachable nor as long as nobody knows whether they exist.
func TestRollout(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b").ready()
	w.demand = 2
	w.sites["b"].breaks(on("create", instead(errReset)))
	w.poll()
	w.shown(1)
	w.target.Rollout.Propagation = rollout.Foreground
	w.target.Revision.Generation, w.policy.Revision.Generation = 2, 2
	w.policy.Rollout = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	w.track()
	w.demand = 0
	w.sites["a"].breaks(away)
	w.eventually("it is away", func() bool { return w.observe()["a"].Reach != jobs.Reachable })
	require.Empty(t, w.poll())
	require.Len(t, w.decided.Outdated, 2)

	w.sites["a"].breaks(nil)
	w.ready()
	require.Equal(t, []member.Report{{Cluster: "a", Result: adapter.Result{Outdated: 1}}}, w.poll())
	require.Equal(t, metav1.DeletePropagationForeground, w.sites["a"].propagation.Load())
	require.Nil(t, w.sites["b"].propagation.Load())
}
