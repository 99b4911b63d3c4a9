package main

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// workers is how many polls work at once.
	workers = 64
	// patience is the time for which a poll may wait for its queue and keep its worker.
	patience = 50 * time.Millisecond
	// mostWaiting is the most polls at the same time, including polls that wait for their
	// queue without a worker. Each takes some 20 KB.
	mostWaiting = 2000
)

// A scheduler calls a function for each key at its time. Calls follow the order of the
// times, never run at the same time for the same key, and are bounded in number. A waiting
// key has no goroutine.
type scheduler struct {
	keys    workqueue.TypedDelayingInterface[cache.ObjectName]
	workers chan struct{} // has a token for each worker that is busy
	waiting chan struct{} // has a token for each call
}

func newScheduler(n int) *scheduler {
	return &scheduler{workqueue.NewTypedDelayingQueue[cache.ObjectName](), make(chan struct{}, n), make(chan struct{}, mostWaiting)}
}

// now schedules the key at once. If a call for it is running, another call follows.
func (s *scheduler) now(key cache.ObjectName) { s.keys.Add(key) }

// after schedules the key, unless it is scheduled earlier already.
func (s *scheduler) after(key cache.ObjectName, d time.Duration) { s.keys.AddAfter(key, d) }

// run calls do until stop is called, and returns after the last call. do gets a function
// that runs another function without keeping a worker busy.
func (s *scheduler) run(do func(key cache.ObjectName, aside func(wait func()))) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		key, ended := s.keys.Get()
		if ended {
			return
		}
		s.waiting <- struct{}{}
		s.workers <- struct{}{}
		calls.Go(func() {
			defer func() { <-s.workers; <-s.waiting; s.keys.Done(key) }()
			do(key, s.aside)
		})
	}
}

// stop ends run after the keys that are due.
func (s *scheduler) stop() { s.keys.ShutDown() }

// aside gives the worker to another call while wait takes longer than it has patience.
func (s *scheduler) aside(wait func()) {
	given := time.AfterFunc(patience, func() { <-s.workers })
	wait()
	if !given.Stop() {
		s.workers <- struct{}{}
	}
}
