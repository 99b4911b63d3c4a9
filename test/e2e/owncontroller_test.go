package e2e

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// TestOwnController runs examples/own-controller on its queue.yaml, with no other
// permissions than those of its rbac.yaml. Each pod works for two seconds.
func TestOwnController(t *testing.T) {
	folder := process.Dir(t, "examples/own-controller")
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: 2 * time.Second} })
	client := c.Client(t)
	jobs := cluster.WatchJobs(t, "default", c)
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, folder+"/rbac.yaml"))...)
	binary := process.Build(t, folder)
	kubeconfig := c.UserKubeconfig(t, "system:serviceaccount:default:own-controller")
	start := func() *process.Process {
		command := exec.Command(binary)
		command.Env = append(command.Environ(), "KUBECONFIG="+kubeconfig)
		return process.Start(t, command)
	}
	queues := client.CoreV1().ConfigMaps("default")
	edit := func(data string) {
		t.Helper()
		_, err := queues.Patch(t.Context(), "thumbnails", types.MergePatchType, []byte(`{"data": `+data+`}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	becomes := func(holds func(t *assert.CollectT)) {
		t.Helper()
		require.EventuallyWithT(t, holds, time.Minute, 20*time.Millisecond)
	}

	existing := func() int { return len(jobs().Created) - jobs().Deleted }

	controller := start()
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, folder+"/queue.yaml"))...)
	becomes(func(t *assert.CollectT) {
		require.Equal(t, map[string]int{"example.com/thumbnails:1": 5}, images(jobs().Unfinished))
		require.Greater(t, len(jobs().Created), 15, "Jobs that finish are followed by others")
	})
	require.Equal(t, 5, jobs().Peak, "max")

	edit(`{"max": "9", "image": "example.com/thumbnails:2"}`)
	becomes(func(t *assert.CollectT) {
		require.Equal(t, map[string]int{"example.com/thumbnails:2": 9}, images(jobs().Unfinished))
	})
	for range 3 {
		controller.Kill()
		before := len(jobs().Created)
		controller = start()
		becomes(func(t *assert.CollectT) { require.Greater(t, len(jobs().Created), before+9) })
	}
	require.Equal(t, 9, jobs().Peak, "the higher max")

	edit(`{"items": "0"}`)
	becomes(func(t *assert.CollectT) { require.Equal(t, 3, existing(), "the history limit") })
	require.Empty(t, jobs().Unfinished)
	require.NoError(t, queues.Delete(t.Context(), "thumbnails", metav1.DeleteOptions{}))
	becomes(func(t *assert.CollectT) { require.Zero(t, existing(), "the garbage collector deletes them") })
	controller.Stop()
	require.NotContains(t, controller.Output(), "forbidden")
}

// images counts Jobs by their image.
func images(jobs []*batchv1.Job) map[string]int {
	count := map[string]int{}
	for _, j := range jobs {
		count[j.Spec.Template.Spec.Containers[0].Image]++
	}
	return count
}
