package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	typedv1 "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
)

// lag is the longest time in which the operator's cache and the watch of the test differ.
const lag = 2 * time.Second

// deletions compares the Jobs that KEDA's operator deletes with package keda. The times are those
// at which the test saw the objects.
type deletions struct {
	profile                   keda.Profile
	mu                        sync.Mutex
	jobs                      map[string]*watchedJob // by name
	edits                     map[string][]edit      // by ScaledJob
	specs                     map[string]keda.Spec
	hand                      map[string]bool // Jobs that the test deletes
	history, rollouts, byTest int
	differences               []string
}

type watchedJob struct {
	keda.Job
	owner                               string
	created, finished, deleted, removed time.Time
}

type edit struct {
	at         time.Time
	generation int64
	paused     bool
}

func watchDeletions(t *testing.T, c *cluster.Cluster, scaledJobs []*unstructured.Unstructured) *deletions {
	t.Helper()
	profile, err := keda.Release(operator.Release(t))
	require.NoError(t, err)
	d := &deletions{profile: profile, jobs: map[string]*watchedJob{}, edits: map[string][]edit{}, specs: map[string]keda.Spec{}, hand: map[string]bool{}}
	for _, s := range scaledJobs {
		data, err := json.Marshal(s.Object["spec"])
		require.NoError(t, err)
		var spec keda.Spec
		require.NoError(t, json.Unmarshal(data, &spec))
		d.specs[s.GetName()], d.edits[s.GetName()] = spec, []edit{{at: time.Now(), generation: 1}}
	}
	w, err := c.Client(t).BatchV1().Jobs("default").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if job, ok := e.Object.(*batchv1.Job); ok {
				d.see(e.Type, job)
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-done })
	return d
}

// edit changes a ScaledJob, and sets or removes the annotation for a pause.
func (d *deletions) edit(t *testing.T, c *cluster.Cluster, name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edits := d.edits[name]
	e := edit{generation: patch(t, c, name, text), at: time.Now(), paused: edits[len(edits)-1].paused}
	if text == pausedBy(`"true"`) || text == pausedBy("null") {
		e.paused = text == pausedBy(`"true"`)
	}
	d.edits[name] = append(edits, e)
}

func (d *deletions) byHand(t *testing.T, jobs typedv1.JobInterface, name string) {
	d.mu.Lock()
	d.hand[name] = true
	d.mu.Unlock()
	policy := metav1.DeletePropagationBackground
	_ = jobs.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}) // it may be gone
}

func (d *deletions) see(kind watch.EventType, job *batchv1.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	w := d.jobs[job.Name]
	if w == nil {
		w = &watchedJob{created: now, owner: job.Labels["scaledjob.keda.sh/name"]}
		d.jobs[job.Name] = w
	}
	w.Job = keda.Job{Name: job.Name, Annotations: job.Annotations}
	if job.Status.CompletionTime != nil {
		w.CompletionTime = &job.Status.CompletionTime.Time
	}
	for _, c := range job.Status.Conditions {
		w.Conditions = append(w.Conditions, keda.Condition{Type: string(c.Type), Status: string(c.Status)})
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && w.finished.IsZero() {
			w.finished = now
		}
	}
	if gone := kind == watch.Deleted; w.deleted.IsZero() && (gone || job.DeletionTimestamp != nil) {
		d.deletes(w, now)
		w.deleted = now
	}
	if kind == watch.Deleted {
		w.removed = now
	}
}

// deletes explains a deletion.
func (d *deletions) deletes(w *watchedJob, now time.Time) {
	edits := d.edits[w.owner]
	last := edits[len(edits)-1]
	s := &keda.ScaledJob{Generation: last.generation, Spec: d.specs[w.owner]}
	switch {
	case d.hand[w.Name]:
		d.byTest++
	case last.generation > 1 && len(d.profile.Rollout(s, []keda.Job{w.Job}).Deleted) > 0:
		d.rollouts++
	case d.prunes(s, w, now):
		d.history++
	default:
		d.differences = append(d.differences, fmt.Sprintf("%s: the Job %s was deleted, by no rule of KEDA %s (finished: %t)", w.owner, w.Name, d.profile.Release(), !w.finished.IsZero()))
	}
}

// prunes reports whether the history limits delete the Job: among as many as they delete, it is
// none of the newest.
func (d *deletions) prunes(s *keda.ScaledJob, w *watchedJob, now time.Time) bool {
	all := d.present(w.owner, now.Add(-lag))
	for _, i := range d.profile.History(s, all).Deleted {
		failed := w.CompletionTime == nil && all[i].CompletionTime == nil
		if failed || w.CompletionTime != nil && all[i].CompletionTime != nil && !w.CompletionTime.After(*all[i].CompletionTime) {
			return !w.finished.IsZero()
		}
	}
	return false
}

// present returns the finished Jobs that were not removed before a time.
func (d *deletions) present(owner string, removed time.Time) (finished []keda.Job) {
	for _, w := range d.jobs {
		if w.owner == owner && !w.finished.IsZero() && (w.removed.IsZero() || w.removed.After(removed)) {
			finished = append(finished, w.Job)
		}
	}
	return finished
}

// deleting is the longest time in which an edit deletes Jobs.
const deleting = 8 * time.Second

// compare reports the deletions that no rule of KEDA explains, and the outdated Jobs that were not deleted.
func (d *deletions) compare(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	outdated := d.compareRollouts(time.Now().Add(-deleting))
	t.Logf("deletions by history limits: %d; by rollouts: %d, with %d due; by the test: %d; %d differences",
		d.history, d.rollouts, outdated, d.byTest, len(d.differences))
	require.NotZero(t, d.history)
	if *besideFor >= 20*time.Minute {
		require.NotZero(t, outdated)
	}
	require.Empty(t, d.differences)
}

// compareRollouts finds the Jobs that an edit should have deleted, unless another edit follows soon.
func (d *deletions) compareRollouts(end time.Time) (due int) {
	for owner, edits := range d.edits {
		for k, e := range edits {
			if k == 0 || e.generation == edits[k-1].generation || e.paused || e.at.After(end) || k+1 < len(edits) && edits[k+1].at.Sub(e.at) < deleting {
				continue
			}
			s := &keda.ScaledJob{Generation: e.generation, Spec: d.specs[owner]}
			for _, w := range d.jobs {
				if w.owner != owner || w.created.After(e.at.Add(-lag)) || !w.removed.IsZero() && w.removed.Before(e.at) || len(d.profile.Rollout(s, []keda.Job{w.Job}).Deleted) == 0 {
					continue
				}
				due++
				if w.deleted.IsZero() || w.deleted.After(e.at.Add(deleting)) {
					d.differences = append(d.differences, fmt.Sprintf("%s: the outdated Job %s was not deleted", owner, w.Name))
				}
			}
		}
	}
	return due
}

// rabbitQueue declares a queue of RabbitMQ, and returns a function that sets its length.
func rabbitQueue(t *testing.T, name string) func(n int) {
	t.Helper()
	at := cmp.Or(os.Getenv("SCALEDJOB_RABBITMQ_HTTP"), "http://guest:guest@127.0.0.1:15672") + "/api"
	send := func(method, path, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, at+path, bytes.NewBufferString(body))
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		answer.Body.Close()
		require.Less(t, answer.StatusCode, 300, method+" "+path)
	}
	send("PUT", "/queues/%2f/"+name, `{"durable": true, "auto_delete": false, "arguments": {"x-expires": 3600000}}`)
	return func(n int) {
		send("DELETE", "/queues/%2f/"+name+"/contents", "")
		for i := range n {
			send("POST", "/exchanges/%2f/amq.default/publish", `{"properties": {}, "routing_key": "`+name+`", "payload": "`+strconv.Itoa(i)+`", "payload_encoding": "string"}`)
		}
	}
}
