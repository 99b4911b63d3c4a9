package poll_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fakecache "k8s.io/client-go/tools/cache/testing"

	"github.com/scaledjob/scaledjob/controllers/internal/poll"
)

// What has not been looked at is replaced by what is newer.
func TestLatest(t *testing.T) {
	l := poll.NewLatest[int]()
	for i := range 3 {
		l.Send(i)
	}
	require.Equal(t, 2, <-l)
	require.Empty(t, l)
}

// A restart with many objects does not poll them all at once; a new one does not wait.
func TestSpread(t *testing.T) {
	var s poll.Spread
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := s.Delay(true)
		require.Less(t, d, 30*time.Second)
		seen[d] = true
	}
	require.Len(t, seen, 1000)
	require.Zero(t, s.Delay(false))
}

// After the end no event is handled, and the call that was under way has ended.
func TestHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := fakecache.NewFakeControllerSource()
		defer source.Shutdown()
		informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		go informer.RunWithContext(t.Context())
		ctx, end := context.WithCancel(t.Context())
		var started sync.WaitGroup
		var seen []string
		_, remove, err := poll.Handle(ctx, informer, cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(object any, _ bool) {
				time.Sleep(time.Second)
				seen = append(seen, "added "+object.(*corev1.ConfigMap).Name)
				started.Go(func() { time.Sleep(time.Second) })
			},
			UpdateFunc: func(_, object any) { seen = append(seen, "updated "+object.(*corev1.ConfigMap).Name) },
			DeleteFunc: func(object any) { seen = append(seen, "deleted "+object.(*corev1.ConfigMap).Name) },
		})
		require.NoError(t, err)
		named := func(name string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		source.Add(named("a"))
		time.Sleep(2 * time.Second)
		source.Modify(named("a"))
		source.Delete(named("a"))
		time.Sleep(time.Second)
		source.Add(named("b"))
		source.Modify(named("b"))
		time.Sleep(time.Second / 2)
		end()
		require.NoError(t, remove())
		require.Equal(t, []string{"added a", "updated a", "deleted a", "added b"}, seen)
		started.Wait()
		source.Add(named("c"))
		time.Sleep(time.Second)
		require.Len(t, seen, 4)
	})
}

// The informer ends, also if events are on their way when the handlers are removed.
func TestHandleEnds(t *testing.T) {
	for range 50 {
		source := fakecache.NewFakeControllerSource()
		for i := range 100 {
			source.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
		}
		informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		running, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { informer.RunWithContext(running) })
		ctx, end := context.WithCancel(t.Context())
		first := make(chan struct{}, 100)
		_, remove, err := poll.Handle(ctx, informer, cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(any, bool) { first <- struct{}{} }})
		require.NoError(t, err)
		<-first
		end()
		require.NoError(t, remove())
		stop()
		ended.Wait()
		source.Shutdown()
	}
}

// What is wrong is told once, and again when it has been right, or is something else.
func TestWarnings(t *testing.T) {
	var log bytes.Buffer
	w := poll.Warnings{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, text := range []string{"a", "a", "", "a", "b", "b"} {
		err := errors.New(text)
		if text == "" {
			err = nil
		}
		w.Warn("unread", err)
		w.Warn("failed", nil)
	}
	require.Equal(t, 2, strings.Count(log.String(), "msg=unread err=a"))
	require.Equal(t, 1, strings.Count(log.String(), "msg=unread err=b"))
	require.NotContains(t, log.String(), "failed")
	w.Warn("long", errors.New(strings.Repeat("x", 1<<20)))
	require.Less(t, log.Len(), 2000)
}

// A program that is stopped as it starts ends without an error.
func TestHandleAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := fakecache.NewFakeControllerSource()
		defer source.Shutdown()
		informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		ctx, end := context.WithCancel(t.Context())
		end()
		informer.RunWithContext(ctx)
		require.True(t, informer.IsStopped())
		handled, remove, err := poll.Handle(ctx, informer, cache.ResourceEventHandlerDetailedFuncs{})
		require.NoError(t, err)
		require.False(t, handled())
		require.NoError(t, remove())
		_, _, err = poll.Handle(t.Context(), informer, cache.ResourceEventHandlerDetailedFuncs{})
		require.Error(t, err, "an informer that ended by itself")
	})
}
