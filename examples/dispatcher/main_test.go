package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/term"
)

// A ci is a queue and a cluster whose Jobs take 20 seconds. A CI job leaves the queue when its
// Job has succeeded.
type ci struct {
	mu      sync.Mutex
	api     *fake.Clientset
	waiting []job
	runs    map[string]int // creates by key and attempt
	running int
	most    int
	unread  error
}

func (c *ci) list() ([]job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]job(nil), c.waiting...), c.unread
}

func (c *ci) created(a ktesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := a.(ktesting.CreateAction).GetObject().(*batchv1.Job)
	key := j.Annotations[adapter.AnnotationKey] + "/" + j.Annotations[adapter.AnnotationAttempt]
	c.runs[key]++
	c.running++
	c.most = max(c.most, c.running)
	j.UID, j.CreationTimestamp = types.UID(fmt.Sprint(j.Name, len(c.runs))), metav1.Now()
	j = j.DeepCopy()
	time.AfterFunc(20*time.Second, func() { c.finish(j) })
	return false, nil, nil
}

func (c *ci) finish(j *batchv1.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := metav1.Now()
	j.Status.CompletionTime = &now
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	_ = c.api.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), j, j.Namespace)
	c.running--
	for i := range c.waiting {
		if c.waiting[i].ID == j.Annotations[adapter.AnnotationKey] {
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			break
		}
	}
}

// dispatched runs 30 CI jobs with at most 5 Jobs, from a queue that lists so.
func dispatched(t *testing.T, list func(c *ci) ([]job, error), after func(c *ci)) {
	synctest.Test(t, func(t *testing.T) {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "ci", UID: "u"}}
		c := &ci{api: fake.NewClientset(owner), runs: map[string]int{}}
		for i := range 30 {
			c.waiting = append(c.waiting, job{ID: fmt.Sprint("job-", i), Image: "golang", Script: "go test ./..."})
		}
		c.api.PrependReactor("create", "jobs", c.created)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			run(ctx, client.Clients{Requests: c.api, Watches: c.api}, term.Alone(), owner, 5, time.Hour, func() ([]job, error) { return list(c) })
		})
		time.Sleep(10 * time.Minute)
		if after != nil {
			after(c)
			time.Sleep(10 * time.Minute)
		}
		stop()
		running.Wait()
		time.Sleep(time.Hour)
		require.Empty(t, c.waiting)
		for key, n := range c.runs {
			require.Equal(t, 1, n, key)
		}
		require.Equal(t, 5, c.most)
	})
}

func TestDispatch(t *testing.T) {
	dispatched(t, (*ci).list, func(c *ci) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.runs) != 30 {
			panic(len(c.runs))
		}
		c.waiting = []job{{ID: "job-3", Attempt: 1, Image: "golang"}} // it is to run again
	})
}

// A stale queue lists CI jobs that have ended in the minute before.
func TestStaleQueue(t *testing.T) {
	var lists [][]job
	dispatched(t, func(c *ci) ([]job, error) {
		now, err := c.list()
		lists = append(lists, now)
		return lists[max(0, len(lists)-12)], err
	}, nil)
}

// A lying queue fails with a part of the list, repeats CI jobs, and lists them when they have
// ended.
func TestLyingQueue(t *testing.T) {
	polls := 0
	dispatched(t, func(c *ci) ([]job, error) {
		jobs, err := c.list()
		switch polls++; polls % 3 {
		case 0:
			return jobs[:len(jobs)/2], errors.New("the rest is missing")
		case 1:
			return append(jobs, append(jobs, job{ID: "job-0"}, job{ID: "job-7"})...), err
		}
		return jobs, err
	}, nil)
}

func TestGet(t *testing.T) {
	answer, code := `[{"id": "1", "attempt": 2, "image": "golang", "script": "go vet"}]`, 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	jobs, err := get(s.URL)
	require.NoError(t, err)
	require.Equal(t, []job{{"1", 2, "golang", "go vet"}}, jobs)
	for _, answer = range []string{`[{"id": "1"}`, `{}`, "", "null", "[] x"} {
		_, err = get(s.URL)
		require.Error(t, err, answer)
	}
	answer, code = "[]", 503
	_, err = get(s.URL)
	require.ErrorContains(t, err, "503")
}
