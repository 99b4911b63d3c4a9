package e2e

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// unprivileged has a ScheduledJob that keeps a run, and a request for a run of it, whose pod fails.
const unprivileged = `apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: job, namespace: %[1]s}
spec:
  schedule: {timeSpec: R//PT2S}
  historyLimit: 1
  maxRestart: 0
  ttlSecondsAfterFinished: 3600
  template:
    metadata: {annotations: {test/exits: "3"}}
    spec: {containers: [{name: c, image: example.com/c:1}]}
---
apiVersion: scaledjob.github.io/v1alpha1
kind: RunRequest
metadata: {name: now, namespace: %[1]s}
spec: {job: job}
`

// Without one of the permissions of manifests/tenant, the controller names it in its log, or does not
// need it on this API server.
func TestWithoutPermission(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, (&pods{}).run)
	apply := func(t *testing.T, text string) { manifest.Apply(t, c.Config(), manifest.Objects(t, text)...) }
	for _, name := range []string{"scheduledjobs", "runrequests"} {
		apply(t, manifest.Read(t, "../manifests/crds/"+name+".yaml"))
	}
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	binary := process.Build(t, "..")
	permissions.Program{
		Documents: processtest.Permissions(t, "../manifests/tenant"),
		Says: map[string]string{
			"list scheduledjobs": "RunStarted", "list runrequests": "RunStarted", "list jobs": "RunStarted", "list podtemplates": "RunStarted",
			"delete runrequests": "cannot set an ownerRef on a resource you can't delete",
		},
		Prepare: func(t *testing.T, namespace, _, permission string) {
			apply(t, fmt.Sprintf(unprivileged, namespace))
			job, err := client.Resource(scheduledJobs).Namespace(namespace).Get(t.Context(), "job", metav1.GetOptions{})
			require.NoError(t, err)
			switch permission {
			case "get namespaces": // needed if a Job has no pod
				apply(t, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: job-waits, namespace: %s, labels: {jobName: job, jobTag: waits},
ownerReferences: [{apiVersion: %s, kind: ScheduledJob, name: job, uid: %s, controller: true}]},
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`, namespace, job.GetAPIVersion(), job.GetUID()))
			case "list events", "delete pods": // needed if others delete a Job, here without its pods
				apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: left, namespace: %s, labels: {jobName: job, jobTag: gone, batch.kubernetes.io/job-name: job-gone},
annotations: {test/pends: "yes"}}, spec: {containers: [{name: c, image: example.com/c}]}}`, namespace))
				job.Object["status"] = map[string]any{"version": int64(1), "since": "2026-01-01T00:00:00Z", "handled": "2026-01-01T00:00:00Z", "runningExecutions": []any{
					map[string]any{"tag": "gone", "onDemand": true, "status": "running", "dueAt": "2026-01-01T00:00:00Z", "createdAt": "2026-01-01T00:00:00Z", "success": false},
				}, "scheduleCount": int64(0), "startedCount": int64(0), "missedCount": int64(0), "droppedCount": int64(0)}
				_, err := client.Resource(scheduledJobs).Namespace(namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
				require.NoError(t, err)
			case "get jobs": // needed if the name of a Job is another's
				request, err := client.Resource(runRequests).Namespace(namespace).Get(t.Context(), "now", metav1.GetOptions{})
				require.NoError(t, err)
				apply(t, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: job-%s, namespace: %s}, spec: {suspend: true,
template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`, schedule.RequestTag(string(job.GetUID()), string(request.GetUID())), namespace))
			}
		},
		Start: func(t *testing.T, kubeconfig, namespace, leases string) *process.Process {
			return process.Start(t, exec.Command(binary, "-kubeconfig", kubeconfig, "-namespace", namespace, "-lease-namespace", leases,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-request-timeout=1s", "-lease-duration=5s", "-request-ttl=0s"))
		},
	}.TakeEachAway(t, c)
}
