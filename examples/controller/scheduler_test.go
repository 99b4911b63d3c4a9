package main

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func key(i int) cache.ObjectName { return cache.NewObjectName("n", strconv.Itoa(i)) }

// scheduling runs do with a scheduler of n workers that calls call, and stops it then.
func scheduling(t *testing.T, n int, call func(key cache.ObjectName, aside func(func())), do func(s *scheduler)) {
	synctest.Test(t, func(*testing.T) {
		s := newScheduler(n)
		var running sync.WaitGroup
		running.Go(func() { s.run(call) })
		do(s)
		s.stop()
		running.Wait()
	})
}

// Each key is called at its time, by no more workers than there are, and never twice at
// once.
func TestSchedule(t *testing.T) {
	var mu sync.Mutex
	calling, most := map[cache.ObjectName]bool{}, 0
	var calls []cache.ObjectName
	var late []time.Duration
	begin := time.Time{}
	scheduling(t, 3, func(key cache.ObjectName, _ func(func())) {
		mu.Lock()
		if begin.IsZero() {
			begin = time.Now()
		}
		require.False(t, calling[key], "twice at once")
		calling[key] = true
		most = max(most, len(calling))
		calls, late = append(calls, key), append(late, time.Since(begin))
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		delete(calling, key)
	}, func(s *scheduler) {
		s.now(key(1))
		s.after(key(2), 5*time.Second)
		s.after(key(2), 3*time.Second)
		s.after(key(2), 4*time.Second)
		time.Sleep(500 * time.Millisecond)
		s.now(key(1)) // while it is called
		s.now(key(1))
		time.Sleep(10 * time.Second)
		for i := range 9 {
			s.now(key(i))
		}
		time.Sleep(10 * time.Second)
	})
	require.Equal(t, []cache.ObjectName{key(1), key(1), key(2)}, calls[:3])
	require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second}, late[:3])
	require.Len(t, calls, 12)
	require.Equal(t, 3, most)
}

// Calls that wait, as for a queue that does not answer, delay no others by more than
// their patience. After waiting they are bounded again.
func TestAside(t *testing.T) {
	var mu sync.Mutex
	var began, called time.Time
	most, working := 0, 0
	work := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		working += n
		most = max(most, working)
	}
	scheduling(t, 2, func(k cache.ObjectName, aside func(func())) {
		if k == key(1000) {
			called = time.Now()
			return
		}
		aside(func() { time.Sleep(time.Minute) })
		work(1)
		time.Sleep(time.Second)
		work(-1)
	}, func(s *scheduler) {
		began = time.Now()
		for i := range 100 {
			s.now(key(i))
		}
		s.now(key(1000))
	})
	require.LessOrEqual(t, called.Sub(began), 50*patience)
	require.Equal(t, 2, most)
	require.Zero(t, working)
}

// A scheduler that stops waits for the calls under way, and makes none whose time has
// not come.
func TestStop(t *testing.T) {
	var mu sync.Mutex
	ended := 0
	scheduling(t, 2, func(cache.ObjectName, func(func())) {
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		ended++
	}, func(s *scheduler) {
		s.now(key(1))
		s.after(key(2), time.Minute)
		synctest.Wait()
	})
	require.Equal(t, 1, ended)
}
