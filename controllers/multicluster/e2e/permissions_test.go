package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged is a DistributedScaledJob, and the UIDs of the members.
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
    triggers: [{type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: "1"}}]
`

// unprivilegedObject is a DistributedScaledObject.
const unprivilegedObject = `---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: web, namespace: %s}
spec:
  memberClusters: [{name: member-cluster-1}]
  scaledObjectSpec:
    pollingInterval: 1
    scaleTargetRef: {name: web}
    advanced: {restoreToOriginalReplicaCount: true}
    triggers: [{type: cron, metadata: {timezone: UTC, start: 0 0 1 1 *, end: 1 0 1 1 *, desiredReplicas: "1"}}]
`

// Without one of the permissions of manifests/tenant in the home cluster, the controller names it in its
// log, or does not need it on this API server.
func (s *stand) lacks(t *testing.T) {
	permissions.Program{
		Documents: processtest.Permissions(t, "../manifests/tenant"),
		Says: map[string]string{
			"list distributedscaledjobs": "kind=DistributedScaledJob", "list distributedscaledobjects": "kind=DistributedScaledObject",
			"list secrets": "member registered",
		},
		Not: []string{
			"get configmaps", "update configmaps", // without KEDA, and for a member that is registered without a UID
			"patch events", // for an event that repeats
			// For an edit, and of what KEDA reads: TestFaults in kedametrics.
			"get scaledobjects", "update scaledobjects", "patch scaledobjects", "delete scaledobjects", "create scaledobjects", "watch scaledobjects",
			"list scaledobjects", "get readingtargets", "list readingtargets", "watch readingtargets", "create readingtargets", "delete readingtargets",
			"get horizontalpodautoscalers", "list horizontalpodautoscalers", "watch horizontalpodautoscalers", "list *", "update distributedscaledjobs/finalizers",
		},
		Prepare: func(t *testing.T, namespace, leases, _ string) {
			s.apply(t, namespace, fmt.Sprintf(unprivileged, namespace, leases)+fmt.Sprintf(unprivilegedObject, namespace))
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			command := exec.Command(s.binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-lease-duration=5s", "-probe-interval=500ms",
				"-sync-period=1s")
			command.Env = append(os.Environ(), "DSJ_ENABLED=true", "DSO_ENABLED=true")
			return process.Start(t, command)
		},
	}.TakeEachAway(t, s.home.Cluster)
}
