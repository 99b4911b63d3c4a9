package adapter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/rollout"
)

var resource = schema.GroupResource{Group: "batch", Resource: "jobs"}

func forbidden() error { return apierrors.NewForbidden(resource, "", errors.New("exceeded quota")) }

// planOf creates n Jobs.
func planOf(t *testing.T, n int64) (adapter.Poll, adapter.Plan) {
	p := poll(t)
	p.Metrics[0].Value = float64(5 * n)
	plan := adapter.NewPlan(p, adapter.NewFleet(nil))
	require.Equal(t, n, plan.Create)
	return p, plan
}

func list(t *testing.T, c *fake.Clientset) []batchv1.Job {
	t.Helper()
	l, err := c.BatchV1().Jobs("shop").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return l.Items
}

func TestApply(t *testing.T) {
	_, plan := planOf(t, 13)
	c := fake.NewClientset()
	r, err := adapter.Apply(t.Context(), c, plan)
	require.NoError(t, err)
	require.Equal(t, adapter.Result{Created: 13}, r)
	require.Len(t, list(t, c), 13)

	again, err := adapter.Apply(t.Context(), c, plan)
	require.NoError(t, err, "the same plan finds its own Jobs")
	require.Equal(t, r, again)
	require.Len(t, list(t, c), 13)
}

func TestListAndNextPoll(t *testing.T) {
	p, plan := planOf(t, 3)
	c := fake.NewClientset()
	_, err := adapter.Apply(t.Context(), c, plan)
	require.NoError(t, err)
	fleet, err := adapter.List(t.Context(), c, p.ScaledJob, adapter.Observation{Owner: p.Owner.UID, PodsKnown: true})
	require.NoError(t, err)
	require.Equal(t, 3, fleet.Len())
	p.Metrics[0].Value = 25
	next := adapter.NewPlan(p, fleet)
	require.Equal(t, int64(2), next.Create)
	require.Equal(t, "4", next.Job(0).Annotations[adapter.AnnotationSequence])
}

func TestListFails(t *testing.T) {
	for _, what := range []string{"jobs", "pods"} {
		c := fake.NewClientset()
		c.PrependReactor("list", what, func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden() })
		fleet, err := adapter.List(t.Context(), c, read(t, minimal), adapter.Observation{Owner: owner, PodsKnown: true})
		require.ErrorContains(t, err, "list ")
		require.True(t, apierrors.IsForbidden(err))
		require.Nil(t, fleet)
	}
}

// A refusal stops the creating within the batch that it met.
func TestRefusalStopsTheBatch(t *testing.T) {
	_, plan := planOf(t, 50)
	c := fake.NewClientset()
	var calls atomic.Int64
	c.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
		if calls.Add(1) > 5 {
			return true, nil, forbidden()
		}
		return false, nil, nil
	})
	r, err := adapter.Apply(t.Context(), c, plan)
	var refused *adapter.CreateError
	require.ErrorAs(t, err, &refused)
	require.True(t, apierrors.IsForbidden(err))
	require.Equal(t, int64(5), r.Created)
	require.Equal(t, adapter.CreateError{Created: 5, Wanted: 50, Err: refused.Err}, *refused)
	require.Equal(t, int64(7), calls.Load(), "batches of 1, 2 and 4")
	require.ErrorContains(t, err, "created 5 of 50 Jobs: ")
}

// A create that was not answered though it succeeded is recognized.
func TestTimeoutAfterSuccess(t *testing.T) {
	_, plan := planOf(t, 1)
	c := fake.NewClientset()
	answered := false
	c.PrependReactor("create", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
		if answered {
			return false, nil, nil
		}
		answered = true
		require.NoError(t, c.Tracker().Add(a.(ktesting.CreateAction).GetObject()))
		return true, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	r, err := adapter.Apply(t.Context(), c, plan)
	require.True(t, apierrors.IsTimeout(err), "%v", err)
	require.Zero(t, r.Created)
	r, err = adapter.Apply(t.Context(), c, plan)
	require.NoError(t, err)
	require.Equal(t, int64(1), r.Created)
	require.Len(t, list(t, c), 1)
}

// A name that somebody else has taken is not ours: the next one is.
func TestNameIsTaken(t *testing.T) {
	_, plan := planOf(t, 2)
	for _, change := range []func(*batchv1.Job){
		func(j *batchv1.Job) { j.OwnerReferences = nil },
		func(j *batchv1.Job) { j.OwnerReferences[0].UID = "somebody else" },
		func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()); j.Finalizers = []string{"a/b"} },
		func(j *batchv1.Job) { j.Annotations[adapter.AnnotationGeneration] = "77" },
	} {
		there := plan.Job(0)
		change(there)
		c := fake.NewClientset(there)
		r, err := adapter.Apply(t.Context(), c, plan)
		require.NoError(t, err)
		require.Equal(t, int64(2), r.Created)
		require.Len(t, list(t, c), 3)
	}
}

// Where every name is taken, the search for a free one ends.
func TestEveryNameIsTaken(t *testing.T) {
	_, plan := planOf(t, 10)
	c := fake.NewClientset()
	for i := range int64(1000) {
		there := plan.Job(i)
		there.OwnerReferences = nil
		require.NoError(t, c.Tracker().Add(there))
	}
	r, err := adapter.Apply(t.Context(), c, plan)
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	require.Zero(t, r.Created)
	require.Less(t, len(c.Actions()), 200)
}

func TestCancelled(t *testing.T) {
	_, plan := planOf(t, 50)
	ctx, cancel := context.WithCancel(t.Context())
	c := fake.NewClientset()
	c.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	r, err := adapter.Apply(ctx, c, plan)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(1), r.Created)
	require.Len(t, list(t, c), 1)
}

// Every deletion is attempted, and what is gone is done.
func TestDeletes(t *testing.T) {
	p := poll(t)
	p.Metrics[0].Value = 0
	p.Config.Rollout = rollout.Policy{Strategy: rollout.Immediate, Propagation: rollout.Foreground}
	c := fake.NewClientset()
	var fleet adapter.Fleet
	for _, name := range []string{"refused", "gone", "replaced", "there"} {
		fleet.Set(adapter.Job{Name: name, UID: "before", Revision: generation(1)})
		if name != "gone" {
			require.NoError(t, c.Tracker().Add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "after"}}))
		}
	}
	c.PrependReactor("delete", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
		d := a.(ktesting.DeleteActionImpl)
		require.Equal(t, metav1.DeletePropagationForeground, *d.DeleteOptions.PropagationPolicy)
		require.Equal(t, "before", string(*d.DeleteOptions.Preconditions.UID))
		switch d.Name {
		case "refused":
			return true, nil, forbidden()
		case "replaced":
			return true, nil, apierrors.NewConflict(resource, d.Name, errors.New("the UID in the precondition does not match"))
		}
		return false, nil, nil
	})
	r, err := adapter.Apply(t.Context(), c, adapter.NewPlan(p, &fleet))
	require.ErrorContains(t, err, "delete Job refused: ")
	require.True(t, apierrors.IsForbidden(err))
	require.Equal(t, adapter.Result{RolledOut: 3}, r)
	require.Len(t, list(t, c), 2, "refused and replaced are there still")
}
