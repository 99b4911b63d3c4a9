package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

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
	require.ErrorContains(t, err, "delete the Job of run ")
}

// After a rejected create nothing is created at once, and the event says why.
func TestRejectedCreate(t *testing.T) {
	w := newWorld(t, once)
	w.client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("quota"))
	})
	_, got := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, got, "start run ")
	w.did()
	w.sees()
	require.Equal(t, []string{"update scheduledjobs"}, w.reconciles())
	require.Contains(t, w.told()[0], "Warning CreateRejected ")
	require.Zero(t, w.sees().Status.Pending[0].Tried, "it has not started")
	require.Empty(t, w.reconciles())
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
