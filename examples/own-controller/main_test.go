package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/adaptertest"
)

// A bench runs the controller on a fake API server, in virtual time.
type bench struct {
	*testing.T
	client kubernetes.Interface
}

func onBench(t *testing.T, test func(b bench)) {
	synctest.Test(t, func(t *testing.T) {
		settings := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", UID: "settings"}, // and no label
			Data:       map[string]string{"items": "3", "max": "3", "image": "example.com/settings:1"},
		}
		c := fake.NewClientset(settings)
		adaptertest.Serve(&c.Fake, c.Tracker())
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { run(ctx, c) })
		test(bench{t, c})
		stop()
		running.Wait()
	})
}

// create creates the queue of queue.yaml, with other data.
func (b bench) create(data ...string) *corev1.ConfigMap {
	b.Helper()
	text, err := os.ReadFile("queue.yaml")
	require.NoError(b, err)
	var queue corev1.ConfigMap
	require.NoError(b, yaml.UnmarshalStrict(text, &queue))
	for i := 0; i < len(data); i += 2 {
		queue.Data[data[i]] = data[i+1]
	}
	created, err := b.client.CoreV1().ConfigMaps(queue.Namespace).Create(b.Context(), &queue, metav1.CreateOptions{})
	require.NoError(b, err)
	return created
}

func (b bench) edit(queue *corev1.ConfigMap, key, value string) {
	b.Helper()
	queue.Data[key] = value
	b.update(queue)
}

func (b bench) update(queue *corev1.ConfigMap) {
	b.Helper()
	updated, err := b.client.CoreV1().ConfigMaps(queue.Namespace).Update(b.Context(), queue, metav1.UpdateOptions{})
	require.NoError(b, err)
	*queue = *updated
}

// jobs returns the Jobs as they are some polls later.
func (b bench) jobs() []batchv1.Job {
	b.Helper()
	time.Sleep(10*time.Second + 123*time.Millisecond) // no poll begins at the same instant
	jobs, err := b.client.BatchV1().Jobs("default").List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	return jobs.Items
}

// finish completes the Jobs.
func (b bench) finish(jobs []batchv1.Job) {
	b.Helper()
	for _, j := range jobs {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		j.Status.CompletionTime = new(metav1.Now())
		_, err := b.client.BatchV1().Jobs(j.Namespace).UpdateStatus(b.Context(), &j, metav1.UpdateOptions{})
		require.NoError(b, err)
	}
}

func images(jobs []batchv1.Job) map[string]int {
	count := map[string]int{}
	for _, j := range jobs {
		count[j.Spec.Template.Spec.Containers[0].Image]++
	}
	return count
}

func TestCreatesUpToMax(t *testing.T) {
	onBench(t, func(b bench) {
		queue := b.create()
		jobs := b.jobs()
		require.Len(b, jobs, 5)
		require.Equal(b, []string{"/bin/work", "--once"}, jobs[0].Spec.Template.Spec.Containers[0].Command)
		require.Equal(b, queue.UID, metav1.GetControllerOf(&jobs[0]).UID)
		require.Len(b, b.jobs(), 5, "further polls create nothing")
	})
}

func TestFollowsEdits(t *testing.T) {
	onBench(t, func(b bench) {
		queue := b.create()
		require.Equal(b, map[string]int{"example.com/thumbnails:1": 5}, images(b.jobs()))
		b.edit(queue, "image", "example.com/thumbnails:2")
		b.edit(queue, "max", "8")
		edited := map[string]int{"example.com/thumbnails:1": 5, "example.com/thumbnails:2": 3}
		require.Equal(b, edited, images(b.jobs()))
		b.edit(queue, "max", "many")
		require.Equal(b, edited, images(b.jobs()), "the edit is ignored")
		b.edit(queue, "items", strings.Repeat("9", 30))
		b.edit(queue, "max", "20")
		require.Equal(b, edited, images(b.jobs()), "the queue length is unknown")
		b.edit(queue, "items", "9")
		require.Len(b, b.jobs(), 9)
	})
}

func TestDeletesFinishedJobs(t *testing.T) {
	onBench(t, func(b bench) {
		queue := b.create()
		b.finish(b.jobs())
		b.edit(queue, "items", "0")
		require.Len(b, b.jobs(), 3)
	})
}

// removals are the ways in which a queue ends.
var removals = map[string]func(b bench, queue *corev1.ConfigMap){
	"deleted": func(b bench, queue *corev1.ConfigMap) {
		require.NoError(b, b.client.CoreV1().ConfigMaps("default").Delete(b.Context(), queue.Name, metav1.DeleteOptions{}))
	},
	"being deleted": func(b bench, queue *corev1.ConfigMap) {
		queue.DeletionTimestamp = new(metav1.Now())
		b.update(queue)
	},
}

func TestDeletedQueueGetsNoJobs(t *testing.T) {
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			onBench(t, func(b bench) {
				queue := b.create()
				jobs := b.jobs()
				require.Len(b, jobs, 5)
				remove(b, queue)
				b.finish(jobs)
				require.Len(b, b.jobs(), 5)
			})
		})
	}
}
