package e2e

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/e2e/cluster"
	"github.com/scaledjob/scaledjob/e2e/manifest"
	"github.com/scaledjob/scaledjob/e2e/permissions"
	"github.com/scaledjob/scaledjob/e2e/process"
	"github.com/scaledjob/scaledjob/examples/internal/processtest"
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

// Without one of the permissions of manifests/tenant, the controller names it in its log or in a
// condition, or does not need it on this API server.
func TestWithoutPermission(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{} })
	apply := func(text string) { manifest.Apply(t, c.Config(), manifest.Objects(t, text)...) }
	apply(manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))
	binary, tenant := process.Build(t, ".."), processtest.Permissions(t, "../manifests/tenant")
	without := permissions.Without(t, tenant)
	require.Len(t, without, 18)
	for _, asked := range []string{"get configmaps", "get triggerauthentications"} {
		delete(without, asked) // asked for by a worker, which this test does without: see TestPolicy in adapter/triggers
	}
	// A watch returns the objects that exist first, so that no list is needed.
	quiet := map[string]bool{"list scaledjobs": true, "list jobs": true, "list pods": true}
	i := 0
	for permission, objects := range without {
		i++
		namespace := fmt.Sprint("tenant-", i)
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			p := &place{t, c, namespace}
			p.prepare(permission, objects)
			access := c.UserKubeconfig(t, fmt.Sprintf("system:serviceaccount:scaledjob-%s:scaledjob-controller", namespace))
			run := process.Start(t, exec.Command(binary, "-kubeconfig", access, "-namespace", namespace, "-lease-namespace", "scaledjob-"+namespace,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-request-timeout=1s", "-lease-duration=5s",
				"-trigger-worker=/bin/false"))
			verb, resource, _ := strings.Cut(permission, " ")
			want := fmt.Sprintf("cannot %s resource %q", verb, resource)
			if permission == "update scaledjobs/finalizers" {
				want = "cannot set blockOwnerDeletion"
			}
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				if quiet[permission] && strings.Contains(run.Output(), "created=1") {
					return
				}
				require.Contains(t, strings.ReplaceAll(run.Output(), `\"`, `"`)+p.statuses(t), want)
			}, time.Minute, 200*time.Millisecond)
		})
	}
}

// A place is a namespace with a controller.
type place struct {
	*testing.T
	*cluster.Cluster
	namespace string
}

func (p *place) apply(text string) {
	p.Helper()
	manifest.Apply(p, p.Config(), manifest.Objects(p, text)...)
}

func (p *place) prepare(permission string, objects []*unstructured.Unstructured) {
	p.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + p.namespace + "}")
	for _, u := range objects {
		text, err := u.MarshalJSON()
		require.NoError(p, err)
		p.apply(strings.ReplaceAll(strings.ReplaceAll(string(text), "scaledjob-tenant", "scaledjob-"+p.namespace), `"namespace":"tenant"`, `"namespace":"`+p.namespace+`"`))
	}
	p.apply(fmt.Sprintf(unprivileged, p.namespace))
	all := p.scaledJobs()
	require.NoError(p, all.Delete(p.Context(), "deleted", metav1.DeleteOptions{}))
	if permission == "get jobs" { // needed if the name of a Job is another's
		u, err := all.Get(p.Context(), "consumer", metav1.GetOptions{})
		require.NoError(p, err)
		id := sha256.Sum256([]byte(u.GetUID()))
		p.apply(fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: consumer-%x-1, namespace: %s}, spec: {suspend: true,
template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`, id[:4], p.namespace))
	}
}

func (p *place) scaledJobs() dynamic.ResourceInterface {
	client, err := dynamic.NewForConfig(p.Config())
	require.NoError(p, err)
	return client.Resource(scaledJobs).Namespace(p.namespace)
}

// statuses are the conditions of the ScaledJobs, as text.
func (p *place) statuses(t require.TestingT) string {
	l, err := p.scaledJobs().List(p.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var all []any
	for _, u := range l.Items {
		all = append(all, u.Object["status"])
	}
	return fmt.Sprint(all)
}
