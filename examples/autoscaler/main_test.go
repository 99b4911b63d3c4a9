package main

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/horizontal"
)

// The replicas follow the items by the HPA's steps; a write that fails is not remembered.
func TestAutoscaler(t *testing.T) {
	c, replicas, refused := fake.NewClientset(), int32(1), error(nil)
	scale := func() *autoscalingv1.Scale {
		return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}, Status: autoscalingv1.ScaleStatus{Replicas: replicas}}
	}
	c.PrependReactor("get", "deployments", func(ktesting.Action) (bool, runtime.Object, error) { return true, scale(), nil })
	c.PrependReactor("update", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if refused == nil {
			replicas = a.(ktesting.UpdateAction).GetObject().(*autoscalingv1.Scale).Spec.Replicas
		}
		return true, scale(), refused
	})
	a := autoscaler{client: c, namespace: "shop", deployment: "web", configmap: "queue", policy: horizontal.DefaultPolicy(20)}
	behavior := horizontal.DefaultBehavior()
	a.policy.Behavior = &behavior
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	step := func(items int) (int32, error) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "queue"}, Data: map[string]string{"items": strconv.Itoa(items)}}
		_ = c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), "shop", "queue")
		if items >= 0 {
			require.NoError(t, c.Tracker().Add(m))
		}
		_, err := a.step(t.Context(), now)
		now = now.Add(15 * time.Second)
		return replicas, err
	}
	for _, want := range []struct {
		items    int
		replicas int32
	}{{50, 5}, {50, 10}, {0, 10}, {-1, 10}} {
		got, err := step(want.items)
		require.NoError(t, err)
		require.Equal(t, want.replicas, got)
	}
	refused = errors.New("conflict")
	_, err := step(90)
	require.ErrorIs(t, err, refused)
	require.Len(t, a.state.Ups, 2)
	refused = nil
	got, err := step(90)
	require.NoError(t, err)
	require.EqualValues(t, 18, got)
}
