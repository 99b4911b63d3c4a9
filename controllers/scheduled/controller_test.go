package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/schedule"
)

// keys returns the keys in the queue, and removes them.
func (w *fixture) keys() (all []string) {
	for w.queue.Len() > 0 {
		key, _ := w.queue.Get()
		w.queue.Done(key)
		all = append(all, key.String())
	}
	return all
}

// nextKey reconciles the next ScheduledJob of the queue. It returns false when the queue is shut down.
func (w *fixture) nextKey() bool {
	key, shutdown := w.queue.Get()
	if !shutdown {
		w.next(w.ctx, key)
	}
	return !shutdown
}

// A change leads to a reconciliation of the ScheduledJobs that it is about.
func TestQueued(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	s := w.sees()
	w.another(func(s *scheduledjob.ScheduledJob) {
		s.Name, s.Spec.After = "next", []scheduledjob.Dependency{{Job: "job"}}
	})
	w.updated(s, w.another(func(*scheduledjob.ScheduledJob) {}))
	require.Equal(t, []string{"n/next"}, w.keys(), "a new status of its own")
	w.updated(s, w.another(func(s *scheduledjob.ScheduledJob) { s.Generation++ }))
	require.Equal(t, []string{"n/job", "n/next"}, w.keys())
	w.updated(s, w.another(func(s *scheduledjob.ScheduledJob) { s.UID = "another" }))
	require.Equal(t, []string{"n/job", "n/next"}, w.keys())

	for _, object := range []any{s, cache.DeletedFinalStateUnknown{Key: "n/job", Obj: s}} {
		w.deleted(object)
		require.Equal(t, []string{"n/job", "n/next"}, w.keys())
	}
	w.deleted(7)
	w.enqueueIndexed(byTemplate, 7)
	require.Empty(t, w.keys())

	always(w.enqueueOwner).OnDelete(cache.DeletedFinalStateUnknown{Obj: w.job("tag")})
	require.Equal(t, []string{"n/job"}, w.keys())
	foreign := w.job("tag")
	foreign.OwnerReferences[0].Kind = "CronJob"
	w.enqueueOwner(foreign)
	w.enqueueOwner(&batchv1.Job{})
	w.enqueueOwner("nothing")
	require.Empty(t, w.keys())

	w.enqueueRequested("nothing")
	require.Empty(t, w.keys())
}

// An error is retried, and counts. Otherwise the next check is waited for.
func TestNext(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	w.resync = time.Hour
	var log bytes.Buffer
	w.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.enqueue(w.sees().key())
	require.True(t, w.nextKey())
	require.Zero(t, w.queue.Len())
	require.Contains(t, w.metered(), `scheduledjob_reconcile_errors_total{namespace="n",scheduledjob="job"} 0`)
	w.follows() // so that nothing is stored
	w.edit("spec.maxRestart", int64(1))
	w.enqueue(w.sees().key())
	require.True(t, w.nextKey())
	require.Equal(t, 1, w.queue.NumRequeues(w.sees().key()))
	require.Contains(t, w.metered(), `scheduledjob_reconcile_errors_total{namespace="n",scheduledjob="job"} 1`)
	require.Eventually(t, func() bool { return w.queue.Len() == 1 }, time.Minute, time.Millisecond)
	tracker := w.tracker
	w.tracker = nil
	require.True(t, w.nextKey())
	require.Contains(t, log.String(), `scheduledJob=n/job err="panic: runtime error: invalid memory address`)
	require.Eventually(t, func() bool { return w.queue.Len() == 1 }, time.Minute, time.Millisecond)
	w.tracker = tracker
	w.leads(loop.Lease{Terms: requests.OneShot()})
	require.True(t, w.nextKey())
	require.Zero(t, w.queue.NumRequeues(w.sees().key()))
	w.resync = time.Millisecond
	w.enqueue(w.sees().key())
	require.True(t, w.nextKey())
	require.Eventually(t, func() bool { return w.queue.Len() == 1 }, time.Minute, time.Millisecond, "after the resync time")
	require.True(t, w.nextKey())
	require.Eventually(t, func() bool { return len(w.keys()) == 1 }, time.Minute, time.Millisecond)
	w.resync = time.Hour
	w.enqueue(cache.NewObjectName("n", "none"))
	require.True(t, w.nextKey())
	require.Zero(t, w.queue.Len(), "it waits for a change")
	w.queue.ShutDown()
	require.False(t, w.nextKey())
	require.Contains(t, log.String(), `level=DEBUG msg=decided scheduledJob=n/job decision=`)
	require.Contains(t, log.String(), `level=WARN msg="will try again" scheduledJob=n/job err="store the status: `)
}

// Failures count for ScheduledJobs that exist, and no longer than they do. Those of others count
// together, because users choose the names.
func TestFailuresOfTheUnknown(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	job, metric := w.sees().key(), "scheduledjob_reconcile_errors_total{"
	w.failed(job)
	require.Contains(t, w.metered(), metric+`namespace="n",scheduledjob="job"} 1`)
	require.NoError(t, w.scheduled.Delete(w.sees()))
	w.deleted(cache.DeletedFinalStateUnknown{Key: job.String(), Obj: &scheduledJob{ScheduledJob: &scheduledjob.ScheduledJob{}}})
	require.True(t, w.nextKey())
	require.NotContains(t, w.metered(), metric)
	w.refuses("patch runrequests", errors.New("forbidden"))
	for _, name := range []string{"job", "typo"} {
		w.request("for-"+name, name)
		w.enqueue(cache.NewObjectName("n", name))
		require.True(t, w.nextKey())
	}
	require.Contains(t, w.metered(), metric+`namespace="",scheduledjob=""} 2`)
	require.NotContains(t, w.metered(), metric+`namespace="n"`)
}

// At the end, act waits for the reconciliations under way.
func TestActWaits(t *testing.T) {
	w := newFixture(t, once)
	storing, stored := make(chan struct{}), make(chan struct{})
	w.custom.PrependReactor("update", "scheduledjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		close(storing)
		<-stored
		return true, nil, errors.New("the end")
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w.enqueue(w.sees().key())
	go func() { ended <- w.act(ctx) }()
	<-storing
	stop()
	select {
	case <-ended:
		require.Fail(t, "a reconciliation is under way")
	case <-time.After(50 * time.Millisecond):
	}
	close(stored)
	require.NoError(t, <-ended)
}

// ScheduledJobs whose creates hang, more than there are slots in one namespace and one in another, delay
// no other ScheduledJob of another namespace or beside the one.
func TestSlowDelaysNoOther(t *testing.T) {
	created := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // or the server does not see that the client goes
		if strings.Contains(string(body), "hangs") {
			<-r.Context().Done()
			return
		}
		if r.Method == http.MethodPost {
			created <- r.URL.Path
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "any"}}`))
	}))
	defer server.Close()
	connected, err := cluster.Connect(&rest.Config{Host: server.URL}, cluster.Limits{Timeout: 10 * time.Second, InFlight: 4})
	require.NoError(t, err)
	w := newFixture(t, once)
	w.Requests, w.tracker.Client, w.Clients.Queue = connected.Requests, connected.Requests, connected.Queue
	w.custom.PrependReactor("update", "scheduledjobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.UpdateAction).GetObject(), nil
	})
	add := func(namespace, name string) {
		w.enqueue(w.another(func(s *scheduledjob.ScheduledJob) {
			s.Namespace, s.Name, s.UID = namespace, name, types.UID(namespace+name)
		}).key())
	}
	for i := range 20 {
		add("slow", "hangs"+strconv.Itoa(i))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.act(ctx) }()
	add("mixed", "hangs")
	time.Sleep(100 * time.Millisecond) // the slow ones have the slots
	for _, namespace := range []string{"fast", "mixed"} {
		add(namespace, "job")
		late := time.After(3 * requests.Patience)
		for path := ""; !strings.Contains(path, "/namespaces/"+namespace+"/"); {
			select {
			case path = <-created:
			case <-late:
				require.FailNow(t, "the slow ScheduledJobs delay another", namespace)
			}
		}
	}
	stop()
	require.NoError(t, <-ended)
}

// The watches report each change of each kind of object to the queue.
func TestWatched(t *testing.T) {
	w := newFixture(t, "  templateRef: {name: shared}\n  after: [{job: first}]\n")
	w.restart()
	require.True(t, w.sync(t.Context()))
	queued := func(what string, keys ...string) {
		t.Helper()
		all := map[string]bool{}
		require.Eventually(t, func() bool {
			for _, key := range w.keys() {
				all[key] = true
			}
			return len(all) >= len(keys)
		}, time.Minute, time.Millisecond, what)
		for _, key := range keys {
			require.True(t, all[key], "%s: %s in %v", what, key, all)
		}
	}
	queued("the ScheduledJobs at the start", "n/job")
	templates := w.client.CoreV1().PodTemplates("n")
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	_, err := templates.Create(t.Context(), template, metav1.CreateOptions{})
	require.NoError(t, err)
	queued("a new template", "n/job")
	template.Labels = map[string]string{"changed": "yes"}
	_, err = templates.Update(t.Context(), template, metav1.UpdateOptions{})
	require.NoError(t, err)
	queued("a changed template", "n/job")
	require.NoError(t, templates.Delete(t.Context(), "shared", metav1.DeleteOptions{}))
	queued("a deleted template", "n/job")

	s := w.sees()
	jobs := w.client.BatchV1().Jobs("n")
	job, err := jobs.Create(t.Context(), (&scheduledjob.Config{}).NewJob(s.Owner(), schedule.Run{Tag: "tag"}), metav1.CreateOptions{})
	require.NoError(t, err)
	queued("a new Job", "n/job")
	require.NoError(t, jobs.Delete(t.Context(), job.Name, metav1.DeleteOptions{}))
	queued("a deleted Job", "n/job")

	custom := w.custom.Resource(scheduledJobs).Namespace("n")
	u := w.get(scheduledJobs, "job")
	u.SetName("first")
	u.SetUID("first")
	_, err = custom.Create(t.Context(), u, metav1.CreateOptions{})
	require.NoError(t, err)
	queued("a new upstream", "n/first", "n/job")
	require.NoError(t, custom.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	queued("a deleted upstream", "n/first", "n/job")
	u = w.get(scheduledJobs, "job")
	u.SetGeneration(2)
	require.NoError(t, w.custom.Tracker().Update(scheduledJobs, u, "n"))
	queued("an edit", "n/job")

	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "RunRequest",
		"metadata": map[string]any{"name": "now", "namespace": "n"}, "spec": map[string]any{"job": "job"},
	}}
	_, err = w.custom.Resource(runRequests).Namespace("n").Create(t.Context(), request, metav1.CreateOptions{})
	require.NoError(t, err)
	queued("a request", "n/job")
}

// metered are the metrics.
func (w *fixture) metered() string {
	r := httptest.NewRecorder()
	w.metrics().ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return r.Body.String()
}

// Metrics are those of the status. A controller that does not lead has none of runs.
func TestMetrics(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	run := schedule.Run{Tag: "a", OnDemand: true}
	w.give(schedule.Checkpoint{Due: 9, Missed: 3, MissedBy: schedule.Missed{schedule.CreateRejected: 3}, Dropped: 2, Succeeded: 4, Failed: 1, Blocked: true, Pending: []schedule.Run{run, run}, Running: []schedule.Run{run, run, run}})
	text := w.metered()
	const labels = `namespace="n",`
	for _, want := range []string{
		`scheduledjob_runs{` + labels + `scheduledjob="job",status="waiting"} 2`,
		`scheduledjob_runs{` + labels + `scheduledjob="job",status="active"} 3`,
		`scheduledjob_runs_completed_total{` + labels + `outcome="succeeded",scheduledjob="job"} 4`,
		`scheduledjob_runs_completed_total{` + labels + `outcome="failed",scheduledjob="job"} 1`,
		`scheduledjob_occurrences_due_total{` + labels + `scheduledjob="job"} 9`,
		`scheduledjob_occurrences_lost_total{` + labels + `reason="CreateRejected",scheduledjob="job"} 3`,
		`scheduledjob_occurrences_lost_total{` + labels + `reason="TooManyWaiting",scheduledjob="job"} 2`,
		`scheduledjob_blocked{` + labels + `scheduledjob="job"} 1`,
	} {
		require.Contains(t, text, want)
	}
	w.give(schedule.Checkpoint{})
	text = w.metered()
	require.Contains(t, text, `scheduledjob_blocked{namespace="n",scheduledjob="job"} 0`)
	w.follows()
	text = w.metered()
	require.NotContains(t, text, "scheduledjob_runs{")
	require.Contains(t, text, "go_goroutines")
	require.Contains(t, text, "process_start_time_seconds")
}

// A cron expression is read as a CronJob reads it.
func TestCron(t *testing.T) {
	w := newFixture(t, "  schedule: {cron: '0 6 * * *'}\n")
	require.Contains(t, w.reconciles(), "create jobs")
	require.Equal(t, "0 6 * * *", w.sees().Status.TimeSpec)
}

// Ready has the warnings of a valid spec.
func TestWarnings(t *testing.T) {
	w := newFixture(t, "  selector: {a: b}\n")
	w.reconciles()
	require.Regexp(t, "^True Valid: The spec is valid; spec.selector: ", w.condition("Ready"))
}

// read keeps the name and the status of a ScheduledJob that it cannot read, and no managed fields.
func TestRead(t *testing.T) {
	w := newFixture(t, "  maxRestart: 0\n")
	w.give(schedule.Checkpoint{Requested: []string{"a"}})
	w.edit("spec.unknown", "x")
	s := w.sees()
	require.ErrorContains(t, s.problem, "spec.unknown")
	require.Equal(t, "n/job", s.key().String())
	require.Equal(t, []string{"a"}, s.Status.Requested)
	u := w.get(scheduledJobs, "job")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	require.Empty(t, read(u).ManagedFields)
	w.did()
	require.Equal(t, []string{"update scheduledjobs"}, w.reconciles())
	require.Contains(t, w.condition("Ready"), "False Invalid: spec.unknown")
	object, err := reads("other")
	require.NoError(t, err)
	require.Equal(t, "other", object)
}
