package e2e

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

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
		{"watch-is-cut", testWatchIsCut},
		{"timeout-after-success", testTimeoutAfterSuccess},
		{"quota", testQuota},
		{"overload", testOverload},
		{"stale-cache", testStaleCache},
		{"two-writers", testTwoWriters},
		{"restarted-in-a-burst", testRestarted},
		{"server-killed", testServerKilled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, client, "fault-"+tt.name)
			f.target.Policy.Bounds.Max = 30
			watch := cluster.WatchJobs(t, f.target.Owner.Namespace, c)
			tt.test(t, c, f)
			f.createdOnce(c)
			require.Eventually(t, func() bool { return len(watch().Unfinished) == len(f.jobs()) }, 2*time.Minute, time.Second, "also after an API server was away")
			require.LessOrEqual(t, watch().Peak, int(f.target.Policy.Bounds.Max), "unfinished Jobs at once")
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
