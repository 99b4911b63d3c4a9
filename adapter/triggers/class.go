package triggers

import (
	"context"
	"sync"
	"time"
)

// perWorker is the number of triggers for which a shared worker is meant. Redis triggers need
// some 45 KB each there, so that a quarter of the default memory is enough for them.
const perWorker = 500

// A class holds the shared workers of an identity. Each serves the same owners while they are read.
type class struct {
	name string
	pool *pool
	most int // shards

	mu     sync.Mutex
	shards []*shard
	owners map[string]place
}

// A place is the shard of an owner.
type place struct {
	shard    *shard
	triggers int
}

// A shard is a worker and its replacements.
type shard struct {
	triggers int // of its owners; the class's lock guards it

	mu      sync.Mutex // held while a worker starts
	worker  *workerConn
	started time.Time
}

// of returns the shard of an owner. A new owner gets the first shard with room, or a new shard, or
// if there are enough, the one with the fewest triggers.
func (c *class) of(owner string, triggers int) *shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.owners[owner]
	if !known {
		at.shard = c.room(triggers)
	}
	at.shard.triggers += triggers - at.triggers
	at.triggers = triggers
	c.owners[owner] = at
	return at.shard
}

func (c *class) room(triggers int) *shard {
	var least *shard
	for _, s := range c.shards {
		if s.triggers+triggers <= perWorker {
			return s
		}
		if least == nil || s.triggers < least.triggers {
			least = s
		}
	}
	if least != nil && len(c.shards) >= c.most {
		return least
	}
	c.shards = append(c.shards, &shard{})
	return c.shards[len(c.shards)-1]
}

// forget closes the scalers of an owner. A shard without owners ends its worker, except the first.
func (c *class) forget(owner string) {
	c.mu.Lock()
	at, known := c.owners[owner]
	delete(c.owners, owner)
	if known {
		at.shard.triggers -= at.triggers
	}
	idle := known && at.shard.triggers == 0 && at.shard != c.shards[0]
	var w *workerConn
	if idle {
		w = at.shard.release(nil) // before another owner takes the shard
	}
	c.mu.Unlock()
	switch {
	case w != nil && c.pool.takesTurn():
		w.retire()
	case w != nil: // nobody waits for its reads
		w.close()
	case known && !idle:
		at.shard.use(func(w *workerConn) { w.forget(owner) })
	}
}

func (c *class) all() []*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*shard{}, c.shards...)
}

// use calls do for the shard's worker, if any.
func (s *shard) use(do func(*workerConn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker != nil {
		do(s.worker)
	}
}

// release forgets a worker, so that the next read starts another. It returns the worker that it
// forgot; nil stands for the present one.
func (s *shard) release(w *workerConn) *workerConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w != nil && s.worker != w {
		return nil
	}
	w, s.worker = s.worker, nil
	return w
}

// get returns the shard's worker, and starts it if there is none.
func (s *shard) get(ctx context.Context, c *class) (*workerConn, error) {
	for {
		w, wait, err := s.try(c)
		if wait <= 0 {
			return w, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.pool.done:
			return nil, errClosed
		}
	}
}

// try returns the shard's worker, or the time after which it may be started.
func (s *shard) try(c *class) (w *workerConn, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worker != nil && s.worker.takes() {
		return s.worker, 0, nil
	}
	if wait = time.Until(s.started.Add(betweenStarts)); wait > 0 {
		return nil, wait, nil
	}
	s.started = time.Now()
	s.worker, err = c.pool.open(c.name, func(owners map[string]bool) { c.pool.blame.underWay(owners, time.Now()) })
	return s.worker, 0, err
}
