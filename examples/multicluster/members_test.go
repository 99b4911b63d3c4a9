package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The UIDs of members that meet the hub at the same time are all stored, and the first of each counts.
func TestContacts(t *testing.T) {
	client := kube.NewClientset()
	which, resource, left := "create", corev1.Resource("configmaps"), 3
	client.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetVerb() != which || left == 0 {
			return false, nil, nil
		}
		if left--; which == "create" {
			return true, nil, apierrors.NewAlreadyExists(resource, contactsName)
		}
		return true, nil, apierrors.NewConflict(resource, contactsName, nil)
	})
	store := func(member, uid string) string {
		was, err := contact{client, "keda", member}.store(t.Context(), uid)
		require.NoError(t, err)
		require.Zero(t, left)
		return was
	}
	left = 0
	require.Empty(t, store("a", ""), "which creates nothing")
	left = 3
	require.Equal(t, "1", store("a", "1"))
	which, left = "update", 3
	require.Equal(t, "2", store("b", "2"))
	require.Equal(t, "1", store("a", "3"))
	require.Equal(t, "1", store("a", ""))
	require.Empty(t, store("c", ""))
	all, err := client.CoreV1().ConfigMaps("keda").Get(t.Context(), contactsName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, all.Data)
	which, left = "get", 0
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(resource, contactsName, nil)
	})
	_, err = contact{client, "keda", "c"}.store(t.Context(), "4")
	require.True(t, apierrors.IsForbidden(err), err)
}
