package cluster_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
)

var (
	group       = schema.GroupVersion{Group: "example.com", Version: "v1"}
	things      = group.WithResource("things")
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func server(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{things: "ThingList", definitions: "CustomResourceDefinitionList"}, objects...)
}

func definition(name string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\n"
}

// What is there stays as it is, what is not is created, and waited for until the API
// server serves it.
func TestInstall(t *testing.T) {
	there := &unstructured.Unstructured{}
	there.SetAPIVersion("apiextensions.k8s.io/v1")
	there.SetKind("CustomResourceDefinition")
	there.SetName("a")
	there.SetLabels(map[string]string{"of": "somebody else"})
	client := server(there)
	asked := 0
	client.PrependReactor("get", "customresourcedefinitions", func(a clienttesting.Action) (bool, runtime.Object, error) {
		got, err := client.Tracker().Get(definitions, "", a.(clienttesting.GetAction).GetName())
		require.NoError(t, err)
		status := "False"
		if asked++; asked > 2 {
			status = "True"
		}
		u := got.DeepCopyObject().(*unstructured.Unstructured)
		u.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": status},
		}}
		return true, u, nil
	})
	var log bytes.Buffer
	files := fstest.MapFS{"crds/a.yaml": {Data: []byte(definition("a"))}, "crds/b.yaml": {Data: []byte(definition("b"))}}
	require.NoError(t, cluster.Install(t.Context(), client, files, slog.New(slog.NewTextHandler(&log, nil))))
	require.Equal(t, 3, asked)
	require.Contains(t, log.String(), "installed already\" resource=a")
	require.Contains(t, log.String(), "installed resource=b")
	got, err := client.Tracker().Get(definitions, "", "a")
	require.NoError(t, err)
	require.Equal(t, there, got)

	files = fstest.MapFS{"crds/c.yaml": {Data: []byte("{")}}
	require.ErrorContains(t, cluster.Install(t.Context(), client, files, slog.New(slog.DiscardHandler)), "install c.yaml: ")
}

// All that is missing is told at once.
func TestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		others := group.WithResource("others")
		err := cluster.Served(t.Context(), client.Discovery(), things, others)
		require.ErrorContains(t, err, "the cluster has no things.example.com")
		require.ErrorContains(t, err, "the cluster has no others.example.com")
		client.Resources = []*metav1.APIResourceList{{
			GroupVersion: group.String(), APIResources: []metav1.APIResource{{Name: "things/status"}, {Name: "things"}},
		}}
		require.NoError(t, cluster.Served(t.Context(), client.Discovery(), things))
		require.EqualError(t, cluster.Served(t.Context(), client.Discovery(), things, others),
			"the cluster has no others.example.com: install the custom resources with -install, or from manifests/crds")
	})
}

// An overloaded API server is waited for, and then what has just been installed.
func TestServedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, begin := fake.NewClientset(), time.Now()
		client.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch late := time.Since(begin); {
			case late < time.Minute:
				return true, nil, apierrors.NewTooManyRequests("too many requests", 1)
			case late > time.Minute+3*time.Second:
				client.Resources = []*metav1.APIResourceList{{GroupVersion: group.String(), APIResources: []metav1.APIResource{{Name: "things"}}}}
			}
			return false, nil, nil
		})
		require.NoError(t, cluster.Served(t.Context(), client.Discovery(), things))
		require.InDelta(t, 63, time.Since(begin).Seconds(), 0.2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		require.ErrorIs(t, cluster.Served(ctx, client.Discovery(), things), context.DeadlineExceeded)
	})
}
