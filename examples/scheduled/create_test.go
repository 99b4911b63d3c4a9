package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

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
