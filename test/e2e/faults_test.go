package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// never looks at the API server all the while, and fails the test if there are
// ever more unfinished Jobs than the maximum.
func never(f *fleet) (stop func()) {
	done, most := make(chan struct{}), 0
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				l, err := f.client.BatchV1().Jobs(f.target.Owner.Namespace).List(f.t.Context(), metav1.ListOptions{})
				if err != nil {
					continue
				}
				n := 0
				for _, j := range l.Items {
					if j.Status.CompletionTime == nil {
						n++
					}
				}
				most = max(most, n)
			}
		}
	})
	return func() {
		close(done)
		group.Wait()
		require.LessOrEqual(f.t, most, int(f.target.Policy.Bounds.Max), "unfinished Jobs at once")
	}
}

// In no case does a Job run that nobody asked for, is one made twice, or do more
// run than the maximum; and each ends with the Jobs that were asked for.
func TestFaults(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: time.Hour} })
	client := c.Client(t)
	for _, tt := range []struct {
		name string
		test func(t *testing.T, c *cluster.Cluster, f *fleet)
	}{
		{"at rest", testAtRest},
		{"scale", testScale},
		{"list-fails", testListFails},
		{"watch-is-cut", testWatchIsCut},
		{"timeout-after-success", testTimeoutAfterSuccess},
		{"server-error", testServerError},
		{"delete-fails", testDeleteFails},
		{"conflict", testConflict},
		{"retry-after", testRetryAfter},
		{"quota", testQuota},
		{"webhook", testWebhook},
		{"overload", testOverload},
		{"stale-cache", testStaleCache},
		{"two-writers", testTwoWriters},
		{"restarted-in-a-burst", testRestarted},
		{"owner-made-anew", testOwnerMadeAnew},
		{"server-killed", testServerKilled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, client, "fault-"+strings.ReplaceAll(tt.name, " ", "-"))
			f.target.Policy.Bounds.Max = 30
			if tt.name != "scale" { // which is to be fast
				defer never(f)()
			}
			tt.test(t, c, f)
			f.createdOnce(c)
		})
	}
}

// createdOnce checks that the API server has agreed to create a Job name again only
// after the Job was deleted. Of requests that it was killed in nothing is known.
func (f *fleet) createdOnce(c *cluster.Cluster) {
	f.t.Helper()
	namespace := f.target.Owner.Namespace
	names := map[string]int{}
	created := c.Count(f.t, func(r cluster.Request) bool {
		is := r.Namespace == namespace && r.Verb == "create" && r.Resource == "jobs" && r.Code == http.StatusCreated
		if is {
			names[r.Name]++
		}
		return is
	})
	require.NotZero(f.t, created)
	deleted := map[string]int{}
	c.Count(f.t, func(r cluster.Request) bool {
		is := r.Namespace == namespace && r.Verb == "delete" && r.Resource == "jobs" && r.Code == http.StatusOK
		if is {
			deleted[r.Name]++
		}
		return is
	})
	there := map[string]int{}
	l, err := f.client.BatchV1().Jobs(namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	for _, j := range l.Items {
		there[j.Name] = 1
	}
	for name, n := range names {
		if !strings.HasPrefix(name, "owner-") { // a dry run
			continue
		}
		require.LessOrEqual(f.t, n, deleted[name]+there[name], "created, never deleted, and not there: %s", name)
	}
}

func testAtRest(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	w.converges(5, 5)
	before := w.wire.sent.Load()
	for range 100 {
		w.plan(5)
	}
	for range 10 {
		require.Zero(t, w.pollOnce(5))
	}
	require.Equal(t, before, w.wire.sent.Load(), "a poll in which nothing is to be done makes no request")
}

func testScale(t *testing.T, c *cluster.Cluster, f *fleet) {
	f.target.Policy.Bounds.Max = 1000
	w := newWriter(f, c, &wire{}).synced()
	for _, to := range []struct {
		jobs   int
		within time.Duration
	}{{100, time.Second}, {1000, 5 * time.Second}} {
		begin := time.Now()
		w.pollOnce(float64(to.jobs))
		took := time.Since(begin)
		t.Logf("%d Jobs after %s", to.jobs, took)
		require.Len(t, w.jobs(), to.jobs)
		if took > to.within { // on a machine that is busy with something else
			require.Less(t, took, 4*bare(t, c, to.jobs), "the same without deciding, and as many at once")
		}
	}
	w.converges(1000, 1000)
	require.Empty(t, w.errs)
}

// bare is how long it takes to create so many Jobs, 64 at once, and nothing else.
func bare(t *testing.T, c *cluster.Cluster, n int) time.Duration {
	f := newFleet(t, c.Client(t), fmt.Sprint("bare-", n))
	begin := time.Now()
	var creators sync.WaitGroup
	for first := range 64 {
		creators.Go(func() {
			for i := first; i < n; i += 64 {
				job := f.target.NewJob(int64(i + 1))
				_, err := f.client.BatchV1().Jobs(job.Namespace).Create(t.Context(), job, metav1.CreateOptions{})
				assert.NoError(t, err)
			}
		})
	}
	creators.Wait()
	return time.Since(begin)
}

func testListFails(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := &wire{}
	w.breaks(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		if lists(r) {
			return status(r, http.StatusInternalServerError), nil
		}
		return nil, nil
	})
	writer := newWriter(f, c, w)
	writer.pollEvery(50*time.Millisecond, time.Second, 10)
	require.Empty(t, f.jobs(), "nothing is known, so nothing is created")
	_, err := adapter.List(t.Context(), writer.client, f.target, adapter.Options{})
	require.True(t, apierrors.IsInternalError(err), "%v", err)
	w.breaks(nil)
	writer.synced().converges(10, 10)
}

func testWatchIsCut(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: 200 * time.Millisecond}).synced()
	for i := range 10 {
		w.pollOnce(float64(2 * i))
		w.wire.cutWatches()
		w.pollOnce(float64(2 * i))
	}
	w.converges(20, 20)

	// What a watch could not tell is listed anew.
	w.eventually("the cache shows them", func() bool {
		jobs, _ := w.tracker.Jobs(w.target.Owner.UID)
		return len(jobs) == 20
	})
	var gone, listed atomic.Int64
	w.wire.breaks(func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		query := r.URL.Query()
		switch {
		case !lists(r):
		case query.Get("watch") == "" || query.Get("sendInitialEvents") == "true":
			listed.Add(1)
		case gone.Add(1) == 1:
			return status(r, http.StatusGone), nil
		}
		return nil, nil
	})
	lost := f.jobs()[0]
	require.NoError(t, f.client.BatchV1().Jobs(lost.Namespace).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}))
	w.wire.cutWatches()
	// After so many cuts the reflector may list first, and go on with the same watch.
	require.Eventually(t, func() bool {
		if gone.Load() == 0 {
			w.wire.cutWatches()
		}
		return gone.Load() > 0 && listed.Load() > 0
	}, 90*time.Second, 3*time.Second, "the Jobs are listed")
	w.wire.breaks(nil)
	w.converges(20, 20)
}

// A delete that fails, or that nobody knows of whether it did, is done in the end, and
// what it holds is not given away before.
func testDeleteFails(t *testing.T, c *cluster.Cluster, f *fleet) {
	f.target.Rollout = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	w := newWriter(f, c, &wire{}).synced()
	w.converges(20, 20)
	old := map[types.UID]bool{}
	for _, j := range f.jobs() {
		old[j.UID] = true
	}
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodDelete {
			return nil, nil
		}
		switch n.Add(1) % 4 {
		case 1:
			return status(r, http.StatusInternalServerError), nil
		case 2:
			return status(r, http.StatusConflict), nil
		case 3:
			answer, err := send()
			if err == nil {
				answer.Body.Close()
			}
			return nil, context.DeadlineExceeded
		}
		return nil, nil
	})
	w.edit(func(t *adapter.Target) { t.Revision.Generation = 2 })
	w.eventually("all are new", func() bool {
		w.pollOnce(20)
		jobs := f.jobs()
		for _, j := range jobs {
			if old[j.UID] {
				return false
			}
		}
		return len(jobs) == 20
	})
	require.NotEmpty(t, w.errs)
	w.wire.breaks(nil)
	w.converges(20, 20)
}

func testTimeoutAfterSuccess(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: time.Second}).synced()
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) || n.Add(1)%4 != 0 {
			return nil, nil
		}
		if answer, err := send(); err == nil {
			answer.Body.Close()
		}
		return nil, errors.New("i/o timeout")
	})
	w.pollEvery(100*time.Millisecond, 3*time.Second, 100)
	w.converges(30, 100)
	require.NotEmpty(t, w.errs)
}

func testServerError(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: time.Second}).synced()
	var n atomic.Int64
	w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) || n.Add(1)%3 != 0 {
			return nil, nil
		}
		if n.Load()%2 == 0 {
			if answer, err := send(); err == nil {
				answer.Body.Close()
			}
		}
		return status(r, http.StatusInternalServerError), nil
	})
	w.pollEvery(100*time.Millisecond, 3*time.Second, 100)
	w.converges(30, 100)
	require.NotEmpty(t, w.errs)
}

func testConflict(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	foreign := f.target.NewJob(1)
	foreign.OwnerReferences = nil
	_, err := f.client.BatchV1().Jobs(foreign.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	w.converges(6, 5)
	require.Empty(t, w.errs)
	there, err := f.client.BatchV1().Jobs(foreign.Namespace).Get(t.Context(), foreign.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, there.OwnerReferences)
}

func testStaleCache(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{late: 3 * time.Second}).synced()
	for i := range 30 {
		w.pollOnce(float64(i))
		time.Sleep(100 * time.Millisecond)
		require.LessOrEqual(t, len(f.jobs()), i)
	}
	w.converges(30, 500)
	require.Empty(t, w.errs)
}

func testTwoWriters(t *testing.T, c *cluster.Cluster, f *fleet) {
	writers := []*writer{newWriter(f, c, &wire{late: 100 * time.Millisecond}).synced(), newWriter(f, c, &wire{late: time.Second}).synced()}
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for i := range 30 {
				w.pollOnce(float64(i))
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, len(f.jobs()), 29)
	writers[0].converges(30, 500)
	writers[1].converges(30, 500)
}

// The process is gone in the middle of a burst: what it sent last was not
// answered, and nobody remembers it.
func testRestarted(t *testing.T, c *cluster.Cluster, f *fleet) {
	for i := range 4 {
		w := newWriter(f, c, &wire{}).synced()
		var n atomic.Int64
		w.wire.breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if creates(r) && n.Add(1) > int64(2*i) {
				if answer, err := send(); err == nil {
					answer.Body.Close()
				}
				return nil, errors.New("killed")
			}
			return nil, nil
		})
		w.pollOnce(500)
	}
	newWriter(f, c, &wire{}).synced().converges(30, 500)
}

func testOwnerMadeAnew(t *testing.T, c *cluster.Cluster, f *fleet) {
	w := newWriter(f, c, &wire{}).synced()
	w.converges(5, 5)
	maps := f.client.CoreV1().ConfigMaps(f.target.Owner.Namespace)
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	f.eventually("the owner is gone", func() bool {
		_, err := maps.Get(t.Context(), "owner", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	old := map[string]bool{}
	for _, j := range f.jobs() {
		old[string(j.UID)] = true
	}
	w.tracker.Untrack(w.target.Owner.UID)
	w.edit(func(t *adapter.Target) {
		t.Owner = adapter.OwnerOf(m, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		t.Policy.Bounds.Max = 4
	})
	w.converges(9, 4)
	kept := 0
	for _, j := range f.jobs() {
		if old[string(j.UID)] {
			kept++
			require.Nil(t, j.DeletionTimestamp)
		}
	}
	require.Equal(t, 5, kept, "the Jobs of the owner before are neither counted nor touched")
}

// The API server is killed in the middle of a burst, and comes back with what it
// had agreed to.
func testServerKilled(t *testing.T, c *cluster.Cluster, f *fleet) {
	const n = 300
	f.target.Policy.Bounds.Max = n
	w := newWriter(f, c, &wire{}).synced()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.pollEvery(50*time.Millisecond, 5*time.Second, 10*n)
	}()
	f.eventually("the burst has begun", func() bool { return len(f.jobs()) > 30 })
	c.KillAPIServer()
	time.Sleep(time.Second)
	require.NoError(t, c.StartAPIServer(t.Context()))
	<-done
	require.NotEmpty(t, w.errs, "the server was away")
	w.converges(n, 10*n)
	answered := c.Count(t, func(r cluster.Request) bool {
		return r.Verb == "create" && r.Resource == "jobs" && r.Namespace == f.target.Owner.Namespace && r.Code == http.StatusCreated
	})
	t.Logf("%d Jobs, of which %d creates were answered", n, answered)
	require.LessOrEqual(t, answered, n)
}
