package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged is a DistributedScaledJob with a queue in a ConfigMap, and the UIDs of the members.
const unprivileged = `apiVersion: v1
kind: ConfigMap
metadata: {name: multicluster-members, namespace: %[2]s}
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: consumer, namespace: %[1]s}
spec:
  memberClusters: [{name: member-cluster-1}]
  scaledJobSpec:
    pollingInterval: 1
    minReplicaCount: 1
    jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}
    triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: orders, key: waiting, targetValue: "1"}}]
`

const never = `{type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: "1"}}`

// unprivilegedObject is a DistributedScaledObject.
const unprivilegedObject = `---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: web, namespace: %s}
spec:
  %s
  memberClusters: [{name: member-cluster-1}]
  scaledObjectSpec:
    pollingInterval: 1
    scaleTargetRef: {name: web}
    advanced: {restoreToOriginalReplicaCount: true}
    triggers: [` + never + `]
`

// Permissions for what KEDA reads triggers and scales through, and for members without a UID in their registration.
var (
	kedaPermissions = []string{
		"create scaledobjects", "get scaledobjects", "list scaledobjects", "watch scaledobjects", "update scaledobjects", "delete scaledobjects",
		"create readingtargets", "get readingtargets", "list readingtargets", "watch readingtargets", "delete readingtargets",
		"get horizontalpodautoscalers", "list horizontalpodautoscalers", "watch horizontalpodautoscalers", "list *", "update distributedscaledjobs/finalizers",
	}
	memberPermissions = []string{"get configmaps multicluster-members", "update configmaps multicluster-members"}
	// rare is a finalizer that goes when KEDA has been away for ten minutes: TestDeletionWithoutKEDA of scaledjob-controller
	// takes it away from the same code.
	rare = []string{"patch scaledobjects"}
)

// configMaps is for queues where KEDA cannot be asked.
const configMaps = "get configmaps"

// Without one of the permissions of manifests/tenant in the home cluster, the controller names it in its log, or does
// not need it on this API server. Of KEDA the controller has fixed texts: the API server denies its request.
func (s *fixture) lacks(t *testing.T) {
	_, err := s.home.client.CoreV1().Secrets(registry.Namespace).Patch(t.Context(), registry.Secret, types.MergePatchType,
		secretData(t, map[string][]byte{three + ".registration": []byte(`{}`)}), metav1.PatchOptions{})
	require.NoError(t, err)
	program := permissions.Program{
		Documents: processtest.Permissions(t, "../manifests/tenant"),
		Says: map[string]string{
			"list distributedscaledjobs": "kind=DistributedScaledJob", "list distributedscaledobjects": "kind=DistributedScaledObject",
			"list secrets " + registry.Secret: "member registered",
			"list *":                          `cannot list resource "s0-probe"`, "update distributedscaledjobs/finalizers": `cannot create resource "readingtargets"`,
		},
		Not: slices.Concat(kedaPermissions, memberPermissions, rare, []string{configMaps}),
		Prepare: func(t *testing.T, namespace, leases, permission string) {
			count := ""
			if slices.Contains(kedaPermissions, permission) {
				count = "replicas: 1" // KEDA scales it
			}
			s.apply(t, namespace, fmt.Sprintf(unprivileged, namespace, leases)+fmt.Sprintf(unprivilegedObject, namespace, count))
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			command := exec.Command(s.binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-lease-duration=5s", "-probe-interval=500ms",
				"-sync-period=1s")
			command.Env = append(os.Environ(), "DSJ_ENABLED=true", "DSO_ENABLED=true")
			return process.Start(t, command)
		},
	}
	t.Run("named", func(t *testing.T) { program.TakeEachAway(t, s.home.Cluster) })
	program.Not, program.Audited, program.Edit = nil, true, s.needs
	program.Only = slices.Concat(kedaPermissions, memberPermissions)
	t.Run("denied", func(t *testing.T) { program.TakeEachAway(t, s.home.Cluster) })
	program.Only, program.Edit = []string{configMaps}, nil
	definition, err := kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	u := manifest.Objects(t, string(definition))[0]
	definitions := manifest.Client(t, s.home.config, u)
	require.NoError(t, definitions.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := definitions.Get(t.Context(), u.GetName(), metav1.GetOptions{})
		require.True(c, apierrors.IsNotFound(err), err)
	}, time.Minute, 200*time.Millisecond)
	t.Run("without KEDA", func(t *testing.T) { program.TakeEachAway(t, s.home.Cluster) })
	manifest.Apply(t, s.home.config, u)
}

// needs makes the controller need a permission for what it has made.
func (s *fixture) needs(t *testing.T, namespace, permission string) {
	edit := func(resource schema.GroupVersionResource, name, patch string) {
		_, err := s.dynamic.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	scaled := s.dynamic.Resource(api.ScaledObjects).Namespace(namespace)
	targets := s.dynamic.Resource(schema.GroupVersionResource{Group: "scaledjob.github.io", Version: "v1alpha1", Resource: "readingtargets"}).Namespace(namespace)
	switch permission {
	case "get readingtargets": // the name is another's
		permissions.Unlabel(t, targets, kedametrics.LabelReader)
	case "delete scaledobjects", "delete readingtargets":
		permissions.Wait(t, targets)
		edit(dsj, "consumer", `{"spec": {"scaledJobSpec": {"pollingInterval": 2}}}`)
	case "update scaledobjects":
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := scaled.Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(c, err)
		}, time.Minute, 200*time.Millisecond)
		edit(dso, "web", `{"spec": {"scaledObjectSpec": {"pollingInterval": 2}}}`)
	}
}
