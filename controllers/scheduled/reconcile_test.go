package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/schedule"
)

// A fixture is a controller with caches that the test fills, and API servers that
// keep what they are given.
type fixture struct {
	*controller
	t      require.TestingT
	ctx    context.Context
	client *fake.Clientset
	custom *dynamicfake.FakeDynamicClient
	said   *events.FakeRecorder
}

func newFixture(t testing.TB, spec string) *fixture { return newFixtureOf(t, t.Context(), spec) }

func newFixtureOf(t require.TestingT, ctx context.Context, spec string) *fixture {
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\n"+
		"metadata: {name: job, namespace: n, uid: u, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z'}\nspec:\n"+spec+
		"  template: {spec: {containers: [{name: c, image: i}]}}\n"), &u.Object))
	w := &fixture{t: t, ctx: ctx, client: fake.NewClientset()}
	w.custom = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{scheduledJobs: "ScheduledJobList", runRequests: "RunRequestList"})
	_, err := w.custom.Resource(scheduledJobs).Namespace("n").Create(ctx, u, metav1.CreateOptions{})
	require.NoError(t, err)
	w.custom.PrependReactor("update", "scheduledjobs", w.updateStatus)
	w.custom.ClearActions()
	w.restart()
	w.sees()
	return w
}

// restart makes a controller that knows nothing.
func (w *fixture) restart() {
	clock := time.Now
	if w.controller != nil {
		clock = w.now
	}
	w.controller = newController(&options{resync: 5 * time.Second, requestTTL: time.Minute, requestTimeout: 15 * time.Second}, process.Clients{
		Clients: cluster.Clients{Clients: loop.Clients{Requests: w.client, Watches: w.client}, Dynamic: w.custom, DynamicWatches: w.custom}, Lease: loop.Lease{Terms: requests.OneShot()},
	}, slog.New(slog.DiscardHandler))
	w.now, w.said = clock, events.NewFakeRecorder(1000)
	w.recorder = w.said
}

// events returns the events since the last call, each as "Type Reason message".
func (w *fixture) told() (all []string) {
	for len(w.said.Events) > 0 {
		all = append(all, <-w.said.Events)
	}
	return all
}

// updateStatus is that of an API server: it stores the status alone, in place of the
// version that was read.
func (w *fixture) updateStatus(a clienttesting.Action) (bool, runtime.Object, error) {
	object, err := w.custom.Tracker().Get(scheduledJobs, "n", "job")
	require.NoError(w.t, err)
	u := object.DeepCopyObject().(*unstructured.Unstructured)
	given := a.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
	if given.GetResourceVersion() != u.GetResourceVersion() || given.GetUID() != u.GetUID() {
		return true, nil, apierrors.NewConflict(scheduledJobs.GroupResource(), "job", errors.New("it was changed"))
	}
	u.Object["status"] = given.Object["status"]
	version, err := strconv.Atoi(u.GetResourceVersion())
	require.NoError(w.t, err)
	u.SetResourceVersion(strconv.Itoa(version + 1))
	return true, u, w.custom.Tracker().Update(scheduledJobs, u, "n")
}

// sees brings the cache of ScheduledJobs up to date.
func (w *fixture) sees() *scheduledJob {
	s := read(w.get(scheduledJobs, "job").DeepCopy())
	require.NoError(w.t, w.scheduled.Add(s))
	return s
}

func (w *fixture) job(tag string) *batchv1.Job {
	s := w.sees()
	config, err := s.Config(scheduledjob.Inputs{})
	require.NoError(w.t, err)
	return config.NewJob(s.Owner(), schedule.Run{Tag: tag})
}

// follows makes the process one that does not hold its lease.
func (w *fixture) follows() {
	w.leads(loop.Lease{Terms: &requests.Terms{}, Client: fake.NewClientset().CoordinationV1(), Namespace: "n", Name: name, Duration: 15 * time.Second, Log: w.log})
}

// leads gives the process a lease.
func (w *fixture) leads(l loop.Lease) { w.Lease, w.tracker.Terms = l, l.Terms }

// did are the verbs and resources that were asked for since.
func (w *fixture) did() (all []string) {
	for _, f := range []*clienttesting.Fake{&w.client.Fake, &w.custom.Fake} {
		for _, a := range f.Actions() {
			if a.GetVerb() != "get" {
				all = append(all, a.GetVerb()+" "+a.GetResource().Resource)
			}
		}
		f.ClearActions()
	}
	return all
}

// When the state cannot be stored, nothing is done.
func TestStoredFirst(t *testing.T) {
	w := newFixture(t, "  schedule: {timeSpec: R1//PT1S}\n")
	end := w.refuses("update scheduledjobs", errors.New("no quorum"))
	wait, err := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "store the status: no quorum")
	require.Equal(t, 5*time.Second, wait)
	require.Equal(t, []string{"update scheduledjobs"}, w.did())
	end()
	wait, err = w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	require.InDelta(t, time.Second, wait, float64(time.Second), "then the Job is looked for")
	require.Equal(t, []string{"create jobs", "update scheduledjobs"}, w.did())
	require.Len(t, w.sees().Status.Pending, 1)
}

// A Job that the state has seen and the cache has not is looked for before its run
// counts as lost.
func TestCacheBehind(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	job := w.job("tag")
	w.give(schedule.Checkpoint{Running: []schedule.Run{{Tag: "tag", OnDemand: true, Status: schedule.Running}}})
	require.NoError(t, w.client.Tracker().Add(job))
	_, err := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "the Job of run tag is not in the cache yet")
	require.Len(t, w.sees().Status.Running, 1)

	require.NoError(t, w.jobs.Add(job))
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	require.Len(t, w.sees().Status.Running, 1)

	second := w.job("zz")
	w.give(schedule.Checkpoint{Running: []schedule.Run{
		{Tag: "tag", OnDemand: true, Status: schedule.Running}, {Tag: "zz", OnDemand: true, Status: schedule.Running},
	}})
	require.NoError(t, w.client.Tracker().Add(second))
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "the Job of run zz is not in the cache yet")
	end := w.refuses("get jobs", errors.New("timeout"))
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "find the Job of run zz: timeout")
	require.Len(t, w.sees().Status.Running, 2)
	end()

	second.OwnerReferences[0].UID = "another"
	require.NoError(t, w.client.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), second, "n"))
	require.NoError(t, w.jobs.Delete(job))
	require.NoError(t, w.client.BatchV1().Jobs("n").Delete(t.Context(), job.Name, metav1.DeleteOptions{}))
	_, err = w.reconcile(t.Context(), w.sees().key())
	require.NoError(t, err)
	for _, run := range w.sees().Status.Completed {
		require.True(t, run.Lost, "its Job is deleted, or another owner's")
	}
	require.Len(t, w.sees().Status.Completed, 2)
}

// give stores a state.
func (w *fixture) give(state schedule.Checkpoint) {
	s := w.sees()
	_, err := w.store(w.ctx, s, s.status(schedule.Decision{Checkpoint: state}, s.ready(nil, nil)))
	require.NoError(w.t, err)
	w.sees()
	w.did()
}

// Pods that cannot be listed leave the run as it is; its exit code would be lost.
func TestPodsUnknown(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	job := w.job("tag")
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True"}}
	require.NoError(t, w.jobs.Add(job))
	w.give(schedule.Checkpoint{Running: []schedule.Run{{Tag: "tag", OnDemand: true, Status: schedule.Running}}})
	w.refuses("list pods", errors.New("forbidden"))
	_, err := w.reconcile(t.Context(), w.sees().key())
	require.ErrorContains(t, err, "list the pods of Job job-tag: forbidden")
	require.Len(t, w.sees().Status.Running, 1)
}

// A look at a ScheduledJob with n completed runs, when nothing is to be done.
func BenchmarkReconcile(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			w := newFixture(b, "  podCount: 3\n")
			for i := range n {
				job := w.job(fmt.Sprint("tag-", i))
				job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
				require.NoError(b, w.jobs.Add(job))
			}
			key := w.sees().key()
			_, err := w.reconcile(b.Context(), key) // which adopts them
			require.NoError(b, err)
			require.Len(b, w.sees().Status.Completed, n)
			w.did()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.reconcile(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
			require.Empty(b, w.did())
		})
	}
}
