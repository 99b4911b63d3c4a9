package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged has a ScaledJob, whose Job needs no queue, and one that KEDA's finalizer keeps.
const unprivileged = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer, namespace: %[1]s}
spec:
  minReplicaCount: 1
  pollingInterval: 1
  successfulJobsHistoryLimit: 0
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}
  triggers:
  - {type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: orders, key: waiting, targetValue: '1'}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: deleted, namespace: %[1]s, finalizers: [finalizer.keda.sh]}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}
  triggers: [{type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: '1'}}]
`

// kedaPermissions are for what KEDA reads triggers through.
var kedaPermissions = []string{
	"create scaledobjects", "get scaledobjects", "list scaledobjects", "watch scaledobjects", "delete scaledobjects",
	"create readingtargets", "get readingtargets", "list readingtargets", "watch readingtargets", "delete readingtargets",
	"list horizontalpodautoscalers", "watch horizontalpodautoscalers", "list *",
}

// afterKEDA removes a finalizer when KEDA has been away for ten minutes: TestDeletionWithoutKEDA takes it away.
const afterKEDA = "patch scaledobjects"

// keeps starts a controller without afterKEDA in a namespace that has a ScaledObject, and returns what it is denied.
func (s *fixture) keeps(t *testing.T) (namespace string, denied func() string) {
	namespace = "keeps"
	access, leases, user := permissions.Place(t, s.cluster, namespace, permissions.Without(t, processtest.Permissions(t, "../manifests/tenant"), afterKEDA))
	s.apply(t, fmt.Sprintf(unprivileged, namespace))
	startIn(t, s.binary, access, namespace, leases)
	objects := s.dynamic.Resource(scaledObjects).Namespace(namespace)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // KEDA adds it
		l, err := objects.List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.True(c, slices.ContainsFunc(l.Items, func(u unstructured.Unstructured) bool { return len(u.GetFinalizers()) > 0 }))
	}, time.Minute, 200*time.Millisecond)
	return namespace, func() string { return permissions.Denied(s.cluster.Requests(t), user) }
}

// Without one of the permissions for KEDA, the controller sends a request that the API server denies.
func (s *fixture) lacks(t *testing.T) {
	permissions.Program{
		Documents: processtest.Permissions(t, "../manifests/tenant"),
		Only:      kedaPermissions, Audited: true,
		Says:    map[string]string{"list *": `cannot list resource "s0-probe"`},
		Prepare: func(t *testing.T, namespace, _, _ string) { s.apply(t, fmt.Sprintf(unprivileged, namespace)) },
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			return startIn(t, s.binary, kubeconfig, namespace, leases)
		},
		Edit: func(t *testing.T, namespace, permission string) {
			verb, resource, _ := strings.Cut(permission, " ")
			objects := s.dynamic.Resource(schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: resource})
			if resource == "readingtargets" {
				objects = s.dynamic.Resource(schema.GroupVersionResource{Group: "scaledjob.github.io", Version: "v1alpha1", Resource: resource})
			}
			q := &queue{s, t, namespace}
			switch verb {
			case "get": // needed if the name is another's
				permissions.Unlabel(t, objects.Namespace(namespace), kedametrics.LabelReader)
			case "delete":
				permissions.Wait(t, objects.Namespace(namespace))
				q.patch(`spec: {triggers: [{type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: "1"}}]}`)
			}
		},
	}.TakeEachAway(t, s.cluster)
}

// Without one of the other permissions of manifests/tenant, the controller names it in its log or in a
// condition, or does not need it on this API server.
func TestWithoutPermission(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{} })
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))...)
	binary := process.Build(t, "..")
	permissions.Program{
		Documents: processtest.Permissions(t, "../manifests/tenant"),
		Not:       append(slices.Clone(kedaPermissions), afterKEDA),
		Says:      map[string]string{"list scaledjobs": "created=1", "list jobs": "created=1", "list pods": "created=1", "get configmaps": "or ConfigMaps is forbidden"},
		Prepare: func(t *testing.T, namespace, _, permission string) {
			prepare(t, c, namespace)
			if permission == "get jobs" { // needed if the name of a Job is another's
				u, err := scaledJobsOf(t, c, namespace).Get(t.Context(), "consumer", metav1.GetOptions{})
				require.NoError(t, err)
				id := sha256.Sum256([]byte(u.GetUID()))
				manifest.Apply(t, c.Config(), manifest.Objects(t, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: consumer-%x-1, namespace: %s}, spec: {suspend: true,
template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`, id[:4], namespace))...)
			}
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			return startIn(t, binary, kubeconfig, namespace, leases)
		},
		Status: func(t require.TestingT, namespace string) string {
			l, err := scaledJobsOf(t, c, namespace).List(context.Background(), metav1.ListOptions{})
			require.NoError(t, err)
			var statuses []any
			for _, u := range l.Items {
				statuses = append(statuses, u.Object["status"])
			}
			return fmt.Sprint(statuses)
		},
	}.TakeEachAway(t, c)
}

// prepare makes the ScaledJobs, one of which is being deleted.
func prepare(t *testing.T, c *cluster.Cluster, namespace string) {
	manifest.Apply(t, c.Config(), manifest.Objects(t, fmt.Sprintf(unprivileged, namespace))...)
	require.NoError(t, scaledJobsOf(t, c, namespace).Delete(t.Context(), "deleted", metav1.DeleteOptions{}))
}

// startIn starts the controller for a namespace.
func startIn(t *testing.T, binary, kubeconfig, namespace, leases string) *process.Process {
	return process.Start(t, exec.Command(binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
		"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-request-timeout=1s", "-lease-duration=5s"))
}

func scaledJobsOf(t require.TestingT, c *cluster.Cluster, namespace string) dynamic.ResourceInterface {
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	return client.Resource(scaledJobs).Namespace(namespace)
}
