package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// scaledJobDefinition defines KEDA's resource without its schema.
const scaledJobDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledjobs.keda.sh}
spec:
  group: keda.sh
  names: {kind: ScaledJob, listKind: ScaledJobList, plural: scaledjobs, singular: scaledjob}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const ordersScaledJob = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: default}
spec:
  maxReplicaCount: 10
  successfulJobsHistoryLimit: 1
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: example.com/worker}]}}}
  triggers: [{type: redis, metadata: {address: "redis:6379", listName: orders, listLength: "1"}}]
`

// reader may read what the command reads, and nothing else.
const reader = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [keda.sh], resources: [scaledjobs], verbs: [get]}
  - {apiGroups: [batch], resources: [jobs], verbs: [list]}
  - {apiGroups: [""], resources: [pods], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]
`

// TestExplainCluster runs the command as a plugin of kubectl against a control plane with
// finished, running and pending Jobs, as a user who may only read.
func TestExplainCluster(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		switch p.Labels["kind"] {
		case "done":
			return cluster.Run{}
		case "pending":
			return cluster.Run{Start: -1}
		}
		return cluster.Run{Work: -1}
	})
	apply := func(text string) { manifest.Apply(t, c.Config(), manifest.Objects(t, text)...) }
	apply(scaledJobDefinition)
	apply(reader)
	apply(ordersScaledJob)
	scaledJob := manifest.Objects(t, ordersScaledJob)[0]
	stored, err := manifest.Client(t, c.Config(), scaledJob).Get(t.Context(), "orders", metav1.GetOptions{})
	require.NoError(t, err)

	client := c.Client(t)
	owner := metav1.NewControllerRef(stored, schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledJob"})
	for name, kind := range map[string]string{"done-1": "done", "done-2": "done", "done-3": "done", "runs": "running", "waits": "pending", "old": "running"} {
		generation := "1"
		if name == "old" {
			generation = "0"
		}
		_, err := client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{"scaledjob.keda.sh/name": "orders"},
				Annotations:     map[string]string{"scaledjob.keda.sh/generation": generation},
				OwnerReferences: []metav1.OwnerReference{*owner},
			},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kind": kind}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker"}},
				},
			}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	ctx := t.Context()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		jobs, err := client.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		phases := map[adapter.Phase]int{}
		for i := range jobs.Items {
			phases[adapter.JobOf(&jobs.Items[i]).Phase]++
		}
		require.Equal(t, map[adapter.Phase]int{adapter.Succeeded: 3, adapter.Running: 2, adapter.Pending: 1}, phases)
	}, 2*time.Minute, 100*time.Millisecond)

	binary := process.Build(t, process.Dir(t, "cmd/scaledjob"))
	plugin := filepath.Join(t.TempDir(), "kubectl-scaledjob")
	require.NoError(t, os.Symlink(binary, plugin))
	command := exec.CommandContext(t.Context(), plugin, "explain", "orders", "--queue", "6", "--release", "2.21,spec", "-o", "json")
	command.Env = append(command.Environ(), "KUBECONFIG="+c.UserKubeconfig(t, "ann"))
	out, err := command.Output()
	require.NoError(t, err, "%s", out)
	type deletions struct {
		Jobs []struct{ Name string }
	}
	var polls [2]struct {
		Release        string
		Create         struct{ Jobs int }
		Rollout, Prune deletions
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for i := range polls {
		require.NoError(t, decoder.Decode(&polls[i]))
		require.Len(t, polls[i].Prune.Jobs, 2, "three succeeded, one is kept")
	}
	require.Equal(t, "2.21.0", polls[0].Release)
	require.Equal(t, 3, polls[0].Create.Jobs, "T - R = 6 - 3")
	require.Equal(t, "spec", polls[1].Release)
	require.NotEmpty(t, polls[0].Rollout.Jobs)
	require.Equal(t, "old", polls[0].Rollout.Jobs[len(polls[0].Rollout.Jobs)-1].Name)
}
