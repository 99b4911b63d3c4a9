package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/scaling"
)

// Events of owners track and untrack them, also if an owner was recreated or its deletion
// was missed.
func TestHandler(t *testing.T) {
	target := func(owner adapter.Owner) adapter.Target {
		job := &batchv1.Job{}
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "work"}}
		return adapter.Target{Owner: owner, Job: job, Policy: scaling.DefaultPolicy()}
	}
	tracker, err := adapter.Observe(target(adapter.Owner{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "other", UID: "other"}), adapter.Options{}, nil, nil)
	require.NoError(t, err)
	polls := loop.New(loop.Options{Tracker: tracker})
	owner := func(uid types.UID) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: uid}}
	}
	var problem error
	var failures []error
	panics := false
	handler := loop.Handler(polls, func(queue *corev1.ConfigMap) (adapter.Target, error) {
		if panics {
			panic("a target")
		}
		return target(adapter.OwnerOf(queue, corev1.SchemeGroupVersion.WithKind("ConfigMap"))), problem
	}, func(queue *corev1.ConfigMap, err error) {
		require.Equal(t, "orders", queue.Name)
		failures = append(failures, err)
	})
	known := func(uid types.UID) bool {
		_, known := tracker.Jobs(uid)
		return known
	}
	handler.OnAdd(owner("a"), true)
	require.True(t, known("a"))
	handler.OnUpdate(owner("a"), owner("b"))
	require.False(t, known("a"))
	require.True(t, known("b"))
	problem = errors.New("no maximum")
	handler.OnUpdate(owner("b"), owner("b"))
	require.Equal(t, []error{problem}, failures)
	require.True(t, known("b"), "tracked as before")
	problem = nil
	handler.OnAdd(owner(""), false)
	require.ErrorContains(t, failures[1], "Owner.UID: found nothing")
	panics = true
	handler.OnUpdate(owner("b"), owner("b"))
	require.ErrorContains(t, failures[2], "panic: a target")
	panics = false
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/orders"})
	require.True(t, known("b"), "its UID is not known")
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/orders", Obj: owner("b")})
	require.False(t, known("b"))
	handler.OnAdd(owner("c"), false)
	handler.OnDelete(owner("c"))
	problem = errors.New("no maximum")
	handler.OnAdd(owner("d"), false)
	require.Len(t, failures, 4)
	require.False(t, known("d"), "it was not tracked before")
	problem = nil
	handler.OnAdd(owner("d"), false)
	deleting := owner("d")
	deleting.DeletionTimestamp = new(metav1.Now())
	handler.OnUpdate(owner("d"), deleting)
	require.False(t, known("d"), "its finalizers may take long")
	handler.OnAdd(deleting, true)
	require.False(t, known("d"))

	polled := map[string]bool{}
	polls.Stop()
	polls.Run(t.Context(), func(_ context.Context, turn loop.Turn) (adapter.Plan, loop.Done) {
		polled[turn.Key.String()] = true
		return adapter.Plan{}, nil
	})
	require.Equal(t, map[string]bool{"shop/orders": true}, polled)
}
