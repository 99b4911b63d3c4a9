package adaptertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/scaling"
)

var target = adapter.Target{
	Owner: adapter.Owner{APIVersion: "example.com/v1", Kind: "Queue", Namespace: "shop", Name: "orders", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"},
	Job: &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}},
	}}}},
	Policy: scaling.Policy{Bounds: scaling.Bounds{Max: 5}},
}

// The answer to a create is lost: the poll ends, and the next ones create nothing twice.
func Example() {
	ctx, cluster := context.Background(), adaptertest.NewCluster()
	for poll := range 3 {
		cluster.Break(func(r adaptertest.Request, do func() error) error {
			err := do()
			if r.Verb == "create" && poll == 0 {
				return context.DeadlineExceeded
			}
			return err
		})
		jobs, _ := adapter.List(ctx, cluster, target, adapter.Options{})
		plan := jobs.Plan(target.Owner.UID, []scaling.Metric{{Value: 5, Target: 1}}, time.Now())
		_, err := jobs.Apply(ctx, cluster, plan)
		list, _ := cluster.BatchV1().Jobs("shop").List(ctx, metav1.ListOptions{})
		fmt.Println("poll", poll, "creates", plan.Create, "Jobs:", len(list.Items), "lost:", err != nil)
	}
	// Output:
	// poll 0 creates 5 Jobs: 1 lost: true
	// poll 1 creates 4 Jobs: 5 lost: false
	// poll 2 creates 0 Jobs: 5 lost: false
}

func job(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

func TestCreatedObject(t *testing.T) {
	cluster := adaptertest.NewCluster(job("before"))
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	cluster.SetClock(func() time.Time { return noon })
	jobs := cluster.BatchV1().Jobs("shop")
	first, err := jobs.Create(t.Context(), job("a"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.True(t, first.CreationTimestamp.Time.Equal(noon))
	second, err := jobs.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Regexp(t, "^b-.", second.Name)
	require.NotEqual(t, first.UID, second.UID)
	require.NotEqual(t, first.ResourceVersion, second.ResourceVersion)
	_, err = jobs.Create(t.Context(), job("a"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), err)
	before, err := jobs.Get(t.Context(), "before", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, before.UID, "it is as it was given")
	require.Equal(t, 3, cluster.Requests("create", "jobs"))
	require.Zero(t, cluster.Requests("create", "pods"))
}

func TestConflicts(t *testing.T) {
	cluster := adaptertest.NewCluster()
	jobs := cluster.BatchV1().Jobs("shop")
	created, err := jobs.Create(t.Context(), job("a"), metav1.CreateOptions{})
	require.NoError(t, err)
	updated := created.DeepCopy()
	updated.Labels = map[string]string{"a": "b"}
	updated, err = jobs.Update(t.Context(), updated, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NotEqual(t, created.ResourceVersion, updated.ResourceVersion)
	_, err = jobs.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), err)

	for _, wrong := range []metav1.Preconditions{{UID: new(types.UID("another"))}, {UID: &created.UID, ResourceVersion: &created.ResourceVersion}} {
		err = jobs.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &wrong})
		require.True(t, apierrors.IsConflict(err), err)
	}
	require.NoError(t, jobs.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID, ResourceVersion: &updated.ResourceVersion}}))
	err = jobs.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID}})
	require.True(t, apierrors.IsNotFound(err), err)
}

// A request may be refused, lost after its effect, or late.
func TestFaults(t *testing.T) {
	cluster := adaptertest.NewCluster()
	jobs := cluster.BatchV1().Jobs("shop")
	names := func() (names []string) {
		list, err := jobs.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, j := range list.Items {
			names = append(names, j.Name)
		}
		return names
	}
	var late func() error
	refused := errors.New("refused")
	cluster.Break(func(r adaptertest.Request, do func() error) error {
		if r.Verb != "create" {
			return do()
		}
		switch r.Name {
		case "refused":
			return refused
		case "late":
			late = do
		default:
			require.NoError(t, do())
		}
		return context.DeadlineExceeded
	})
	for name, want := range map[string]error{"refused": refused, "late": context.DeadlineExceeded, "lost": context.DeadlineExceeded} {
		_, err := jobs.Create(t.Context(), job(name), metav1.CreateOptions{})
		require.ErrorIs(t, err, want)
	}
	require.Equal(t, []string{"lost"}, names())
	require.NoError(t, late())
	require.Equal(t, []string{"late", "lost"}, names())
	cluster.Break(nil)
	_, err := jobs.Create(t.Context(), job("refused"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Len(t, names(), 3)
}

func TestWatch(t *testing.T) {
	cluster := adaptertest.NewCluster()
	events, err := cluster.BatchV1().Jobs("shop").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer events.Stop()
	_, err = cluster.BatchV1().Jobs("shop").Create(t.Context(), job("a"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", (<-events.ResultChan()).Object.(*batchv1.Job).Name)
}

func TestTracker(t *testing.T) {
	tracker, err := adapter.NewTracker(adaptertest.NewCluster(), adapter.Options{Terms: requests.OneShot()})
	require.NoError(t, err)
	go tracker.Run(t.Context())
	require.Eventually(t, tracker.HasSynced, 10*time.Second, time.Millisecond)
}

// The same behavior on a whole clientset.
func TestServe(t *testing.T) {
	client := fake.NewClientset()
	server := adaptertest.Serve(&client.Fake, client.Tracker())
	pod, err := client.CoreV1().Pods("shop").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, pod.UID)
	require.Equal(t, 1, server.Requests("create", "pods"))
}
