package triggers

import (
	"context"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

const (
	inAll     = 128 // reads at the same time
	perOwner  = 8   // of an owner
	aloneAtOn = 2   // workers for owners that are read alone
	// maxBuilds is the number of scalers that a worker builds again before it is replaced, and
	// maxGrowth the bytes by which it grows beyond perScaler bytes for each scaler.
	maxBuilds = 1000
	maxGrowth = 50 << 20
	perScaler = 64 << 10
	// betweenStarts is the least time between two workers of a class.
	betweenStarts = time.Second
	// grace is the time that a worker has to report the end of a read.
	grace = time.Second
)

// A pool starts, replaces and ends workers.
type pool struct {
	start   Starter
	setup   func(class string) wire.Setup
	timeout time.Duration
	wake    func(key string)
	blame   blame
	done    chan struct{} // closed at the end
	end     func()        // closes it, once
	slots   chan struct{} // of reads
	alone   chan struct{} // of workers for a single owner

	mu      sync.Mutex
	classes map[string]*class
}

// A class holds the shared worker of an identity.
type class struct {
	mu      sync.Mutex // held while a worker starts
	worker  *workerConn
	started time.Time
}

func newPool(start Starter, timeout time.Duration) *pool {
	p := &pool{
		start: start, timeout: timeout, done: make(chan struct{}), slots: make(chan struct{}, inAll), alone: make(chan struct{}, aloneAtOn),
		classes: map[string]*class{},
	}
	p.end = sync.OnceFunc(func() { close(p.done) })
	return p
}

func (p *pool) class(name string) *class {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[name]
	if c == nil {
		c = &class{}
		p.classes[name] = c
	}
	return c
}

// shared returns the worker of a class, and starts it if there is none.
func (p *pool) shared(ctx context.Context, name string) (*workerConn, error) {
	c := p.class(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker != nil {
		c.worker.mu.Lock()
		gone := c.worker.retired || c.worker.closed
		c.worker.mu.Unlock()
		if !gone {
			return c.worker, nil
		}
	}
	if wait := time.Until(c.started.Add(betweenStarts)); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.done:
			return nil, errClosed
		}
	}
	c.started = time.Now()
	var err error
	c.worker, err = p.open(name, func(owners map[string]bool) { p.blame.underWay(owners, time.Now()) })
	return c.worker, err
}

func (p *pool) open(class string, onEnd func(map[string]bool)) (*workerConn, error) {
	conn, err := p.start(class)
	if err != nil {
		return nil, err
	}
	w, err := newWorkerConn(conn, p.setup(class), p.wake, onEnd)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
		w.close()
		return nil, errClosed
	default:
		return w, nil
	}
}

// read sends a read to a worker, and returns its result.
func (p *pool) read(ctx context.Context, w *workerConn, read wire.Read, s *stream) (wire.Result, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return wire.Result{}, ctx.Err()
	}
	defer func() { <-p.slots }()
	if w.hangs(s.key) {
		return wire.Result{}, errHangs
	}
	read.Timeout = p.timeout.Milliseconds()
	if err := w.begin(read, s); err != nil {
		return wire.Result{}, err
	}
	return w.wait(s, ctx.Done(), p.timeout+grace)
}

// check replaces the worker of a class that has built, grown or hung too much.
func (p *pool) check(name string, w *workerConn) {
	w.mu.Lock()
	load := w.load
	w.mu.Unlock()
	hanging := w.hanging()
	hangs := len(hanging) >= inAll/2
	if !hangs && load.Builds-load.Scalers <= maxBuilds && load.Memory-load.Start <= maxGrowth+perScaler*load.Scalers {
		return
	}
	c := p.class(name)
	c.mu.Lock()
	if c.worker == w {
		c.worker = nil
	}
	c.mu.Unlock()
	if hangs {
		for _, s := range hanging {
			p.blame.hangs(s.owner, time.Now())
		}
	}
	w.retire(p.timeout + 2*grace)
}

// all calls do for each shared worker.
func (p *pool) all(do func(*workerConn)) {
	p.mu.Lock()
	var all []*class
	for _, c := range p.classes {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.mu.Lock()
		if c.worker != nil {
			do(c.worker)
		}
		c.mu.Unlock()
	}
}

func (p *pool) close() {
	p.end()
	p.all((*workerConn).close)
}
