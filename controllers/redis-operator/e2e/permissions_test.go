package e2e

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged has a minimum, and its Jobs are deleted soon.
const unprivileged = `apiVersion: batch.miracle.dev/v1
kind: ScaledJob
metadata: {name: consumer, namespace: %s}
spec:
  queueName: orders
  redisAddress: %s
  threshold: 1
  minReplicas: 1
  jobTemplate: {spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}
`

// Without one of the permissions of config/tenant, the operator names it in its log, or does not need it
// on this API server.
func TestWithoutPermission(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{} })
	apply := func(t *testing.T, text string) { manifest.Apply(t, c.Config(), manifest.Objects(t, text)...) }
	apply(t, manifest.Read(t, "../config/crd/batch.miracle.dev_scaledjobs.yaml"))
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	scaledJobs := client.Resource(v1.GroupVersion.WithResource("scaledjobs"))
	binary, queue := process.Build(t, ".."), miniredis.RunT(t)
	permissions.Program{
		Documents: processtest.Permissions(t, "../config/tenant"),
		Says:      map[string]string{"list scaledjobs": "Created 1 Job", "list jobs": "Created 1 Job"},
		Prepare: func(t *testing.T, namespace, _, permission string) {
			apply(t, fmt.Sprintf(unprivileged, namespace, queue.Addr()))
			if permission == "get jobs" { // needed if the name of a Job is another's
				sj, err := scaledJobs.Namespace(namespace).Get(t.Context(), "consumer", metav1.GetOptions{})
				require.NoError(t, err)
				id := sha256.Sum256([]byte(sj.GetUID()))
				apply(t, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: consumer-%x-1, namespace: %s}, spec: {suspend: true,
template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`, id[:4], namespace))
			}
		},
		Edit: func(t *testing.T, namespace, permission string) {
			for i := 0; permission == "get scaledjobs" && i < 300; i++ { // needed if the status was read before an edit
				_, err := scaledJobs.Namespace(namespace).Patch(t.Context(), "consumer", types.MergePatchType,
					[]byte(fmt.Sprintf(`{"spec": {"minReplicas": %d}}`, 1+i%2)), metav1.PatchOptions{})
				require.NoError(t, err)
			}
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			return process.Start(t, exec.Command(binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-poll=1s", "-retry=1s", "-lease-duration=5s"))
		},
	}.TakeEachAway(t, c)
}
