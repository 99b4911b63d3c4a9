package adapter

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/internal/feed"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const ownerUID = types.UID("0f8fad5b-d9cb-469f-a165-70867728950e")

// newTarget returns a target with a maximum of 20 Jobs.
func newTarget() Target {
	policy := scaling.DefaultPolicy()
	policy.Bounds.Max = 20
	return Target{
		Owner: Owner{"example.com/v1", "Queue", "shop", "orders", ownerUID},
		Job: &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}},
		}}}},
		Revision: rollout.Revision{Generation: 1},
		Policy:   policy,
	}
}

func items(n float64) []scaling.Metric {
	return []scaling.Metric{{Name: "orders", Value: n, Target: 1}}
}

// A server is an API server whose requests for Jobs may fail. Its clock is its own.
type server struct {
	*fake.Clientset
	*adaptertest.Server
	clock  time.Time
	before func(verb, name string) error // a request that fails has no effect
	after  func(verb, name string) error // a request that fails has had its effect
}

func newServer() *server {
	s := &server{Clientset: fake.NewClientset(), clock: noon}
	s.Server = adaptertest.Serve(&s.Fake, s.Tracker())
	s.SetClock(func() time.Time { return s.clock })
	s.Break(func(r adaptertest.Request, do func() error) error {
		if r.Resource != "jobs" {
			return do()
		}
		if s.before != nil {
			if err := s.before(r.Verb, r.Name); err != nil {
				return err
			}
		}
		err := do()
		if err == nil && s.after != nil {
			err = s.after(r.Verb, r.Name)
		}
		return err
	})
	return s
}

// all returns the Jobs of the API server.
func (s *server) all(t require.TestingT) []batchv1.Job {
	list, err := s.BatchV1().Jobs("").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// change updates a Job.
func (s *server) change(t require.TestingT, j *batchv1.Job, change func(*batchv1.Job)) *batchv1.Job {
	changed := j.DeepCopy()
	change(changed)
	changed.ResourceVersion = "" // whatever came before
	changed, err := s.BatchV1().Jobs(j.Namespace).Update(context.Background(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	return changed
}

// unfinished counts the Jobs of the API server that have not finished.
func (s *server) unfinished(t require.TestingT) (n int64) {
	for _, j := range s.all(t) {
		if phase := end(&j); phase != Succeeded && phase != Failed {
			n++
		}
	}
	return n
}

// A writer is a tracker whose cache shows what the test lets it show.
type writer struct {
	*Tracker
	server *server
	clock  time.Time
	mu     sync.Mutex // guards clock while a plan is carried out
}

func newWriter(t require.TestingT, s *server, target Target, o Options) *writer {
	tracker, err := newTracker(o)
	require.NoError(t, err)
	tracker.fed()
	w := &writer{Tracker: tracker, server: s, clock: noon}
	tracker.now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.clock
	}
	require.NoError(t, tracker.Track(target))
	return w
}

// passes lets time pass while a plan is carried out.
func (w *writer) passes(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// show lets the cache show a Job as it is.
func (w *writer) show(j *batchv1.Job) { _ = w.jobFeed().Add(j) }

// gone lets the cache drop a Job.
func (w *writer) gone(j *batchv1.Job) {
	w.change(func() { w.Tracker.show(newJob(j, &Options{}), true) })
}

func (w *writer) showPod(p *corev1.Pod) { _ = w.podFeed().Add(p) }

// catchUp lets the cache show all that the API server has, and nothing else.
func (w *writer) catchUp(t require.TestingT) {
	var list []any
	for _, j := range w.server.all(t) {
		list = append(list, &j)
	}
	require.NoError(t, w.jobFeed().Replace(list, ""))
}

// poll plans and applies.
func (w *writer) poll(queue float64) (Result, error) {
	return w.Apply(context.Background(), w.server, w.Plan(ownerUID, items(queue), w.clock))
}

func (w *writer) edit(t require.TestingT, target Target, change func(*Target)) Target {
	change(&target)
	require.NoError(t, w.Track(target))
	return target
}

// L is the time after which a create can no longer arrive.
const late = 2 * DefaultTimeout

func complete(j *batchv1.Job) {
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
	j.Status.CompletionTime = new(metav1.NewTime(noon))
}

func (w *writer) numbers(t require.TestingT) (numbers []int64) {
	for _, j := range w.server.all(t) {
		numbers = append(numbers, numberOf(j.Name))
	}
	return numbers
}

var metav1CreateOptions metav1.CreateOptions

type runtimeObject = runtime.Object

func failed(ktesting.Action) (bool, runtime.Object, error) { return true, nil, fmt.Errorf("failed") }

// numberOf returns the number of a Job of newTarget.
func numberOf(name string) int64 {
	target := newTarget()
	return target.number(name)
}

// requireNoDoubt checks that every request of newTarget's owner has shown its effect.
func requireNoDoubt(t require.TestingT, w *writer) {
	o := w.owners[ownerUID]
	require.True(t, o.set.Settled(w.now().Add(late)))
	require.False(t, o.held(slots.DeletePending))
	require.Zero(t, o.flying())
	o.land()
	require.Empty(t, o.sent)
}

// choose begins a plan that creates, and returns its first batch of each size and the numbers.
func (w *writer) choose(t require.TestingT, n int64) (a *application, sent []*call, numbers []int64) {
	a = &application{account: account{plan: &Plan{Owner: ownerUID, Create: n}}, tracker: w.Tracker, client: w.server}
	sent = a.next(context.Background())
	for _, q := range sent {
		numbers = append(numbers, q.Number)
	}
	return a, sent, numbers
}

// held reports whether a reason holds creates.
func (o *owned) held(reason slots.Reason) bool {
	return slices.ContainsFunc(o.set.Holds(noon), func(h slots.Hold) bool { return h.Reason == reason })
}

var keepNone = history.Policy{Succeeded: history.Keep(0), Failed: history.Keep(0)}

// fed gives a tracker feeds that have listed.
func (t *Tracker) fed() {
	t.termStart = noon
	t.jobFeeds, t.podFeeds = feed.Group{{Sink: t.sink(t.knownJobs), Read: noon}}, feed.Group{{Sink: t.sink(t.pods.In), Read: noon}}
}

func (t *Tracker) jobFeed() *feed.Feed { return t.jobFeeds[0] }

func (t *Tracker) podFeed() *feed.Feed { return t.podFeeds[0] }
