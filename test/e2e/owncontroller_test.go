package e2e

import (
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"

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
	jobs := watchJobs(t, client, "default")
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

	controller := start()
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, folder+"/queue.yaml"))...)
	becomes(func(t *assert.CollectT) {
		require.Equal(t, map[string]int{"example.com/thumbnails:1": 5}, jobs.unfinished())
		require.Greater(t, jobs.created(), 15, "Jobs that finish are followed by others")
	})
	require.Equal(t, 5, jobs.peak(), "max")

	edit(`{"max": "9", "image": "example.com/thumbnails:2"}`)
	becomes(func(t *assert.CollectT) {
		require.Equal(t, map[string]int{"example.com/thumbnails:2": 9}, jobs.unfinished())
	})
	for range 3 {
		controller.Kill()
		before := jobs.created()
		controller = start()
		becomes(func(t *assert.CollectT) { require.Greater(t, jobs.created(), before+9) })
	}
	require.Equal(t, 9, jobs.peak(), "the higher max")

	edit(`{"items": "0"}`)
	becomes(func(t *assert.CollectT) { require.Equal(t, 3, jobs.left(), "the history limit") })
	require.Empty(t, jobs.unfinished())
	require.NoError(t, queues.Delete(t.Context(), "thumbnails", metav1.DeleteOptions{}))
	becomes(func(t *assert.CollectT) { require.Zero(t, jobs.left(), "the garbage collector deletes them") })
	controller.Stop()
	require.NotContains(t, controller.Output(), "forbidden")
}

// A jobWatch follows the Jobs of a namespace, in the order of the API server's events.
type jobWatch struct {
	mu   sync.Mutex
	jobs map[types.UID]*batchv1.Job // nil after the Job was deleted
	most int                        // unfinished Jobs at a time
}

func watchJobs(t *testing.T, client kubernetes.Interface, namespace string) *jobWatch {
	t.Helper()
	w := &jobWatch{jobs: map[types.UID]*batchv1.Job{}}
	informer := batchinformers.NewTypedJobInformer(client, namespace, 0, nil)
	_, err := informer.AddTypedEventHandler(batchinformers.JobHandlerFuncs{
		AddFunc:    func(j *batchv1.Job) { w.set(j.UID, j) },
		UpdateFunc: func(_, j *batchv1.Job) { w.set(j.UID, j) },
		DeleteFunc: func(last batchinformers.DeletedJob) { w.set(last.OptionalObj.UID, nil) },
	})
	require.NoError(t, err)
	go informer.RunWithContext(t.Context())
	require.Eventually(t, informer.HasSynced, time.Minute, 10*time.Millisecond)
	return w
}

func (w *jobWatch) set(uid types.UID, j *batchv1.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[uid] = j
	n := 0
	for _, count := range w.count() {
		n += count
	}
	w.most = max(w.most, n)
}

// count counts the unfinished Jobs by image.
func (w *jobWatch) count() map[string]int {
	count := map[string]int{}
	for _, j := range w.jobs {
		if j != nil && !slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		}) {
			count[j.Spec.Template.Spec.Containers[0].Image]++
		}
	}
	return count
}

func (w *jobWatch) unfinished() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count()
}

// created counts the Jobs that have ever existed, left those that still do.
func (w *jobWatch) created() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.jobs)
}

func (w *jobWatch) left() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		if j != nil {
			n++
		}
	}
	return n
}

func (w *jobWatch) peak() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}
