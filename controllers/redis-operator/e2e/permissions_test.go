package e2e

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/alicebob/miniredis/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged has a minimum and keeps no Job.
const unprivileged = `apiVersion: batch.miracle.dev/v1
kind: ScaledJob
metadata: {name: consumer, namespace: %s}
spec:
  queueName: orders
  redisAddress: %s
  threshold: 1
  minReplicas: 1
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}
`

// Without one of the permissions of config/tenant, the operator names it in its log, or does not need it
// on this API server.
func TestWithoutPermission(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{} })
	apply := func(t *testing.T, text string) { manifest.Apply(t, c.Config(), manifest.Objects(t, text)...) }
	apply(t, manifest.Read(t, "../config/crd/batch.miracle.dev_scaledjobs.yaml"))
	binary, queue := process.Build(t, ".."), miniredis.RunT(t)
	permissions.Program{
		Documents: processtest.Permissions(t, "../config/tenant"),
		Says:      map[string]string{"list scaledjobs": "Created 1 Job", "list jobs": "Created 1 Job"},
		Not: []string{
			"get scaledjobs", "get jobs", // after a conflict, and for a Job whose name exists
			"delete jobs",  // at the age in a template
			"patch events", // for an event that repeats
		},
		Prepare: func(t *testing.T, namespace, _, _ string) {
			apply(t, fmt.Sprintf(unprivileged, namespace, queue.Addr()))
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			return process.Start(t, exec.Command(binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-poll=1s", "-retry=1s", "-lease-duration=5s"))
		},
	}.TakeEachAway(t, c)
}
