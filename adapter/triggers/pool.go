package triggers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/redact"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

const (
	inAll    = 128 // reads at the same time, and as many again that hang
	perOwner = 8   // of an owner
	inAlone  = 1   // owners read alone at the same time, and one more that hangs
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
	most    int // shared workers of a class
	wake    func(key string)
	blame   blame
	done    chan struct{}   // closed at the end
	end     func()          // closes it, once
	slots   *requests.Queue // of reads
	alone   *requests.Queue // of owners that are read alone

	mu      sync.Mutex
	classes map[string]*class
	retired time.Time // when a worker was retired last
}

func newPool(o *Options) *pool {
	p := &pool{
		start: o.Start, timeout: o.Timeout, most: o.Workers, done: make(chan struct{}), slots: requests.NewQueue(inAll), alone: requests.NewQueue(inAlone),
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
		c = &class{name: name, pool: p, most: p.most, owners: map[string]place{}}
		p.classes[name] = c
	}
	return c
}

// shared returns the worker of a class that reads an owner, and starts it if there is none.
func (p *pool) shared(ctx context.Context, name string, o *Owner) (*workerConn, error) {
	c := p.class(name)
	return c.of(o.prefix(), len(o.Triggers)).get(ctx, c)
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
func (p *pool) read(ctx context.Context, w *workerConn, read wire.Read, s *stream) (result wire.Result, err error) {
	do := func() error {
		if w.hangs(s.key) {
			return errHangs
		}
		read.Timeout = p.timeout.Milliseconds()
		if err := w.begin(read, s); err != nil {
			return err
		}
		result, err = w.wait(s, ctx.Done(), p.timeout+grace)
		result.Error, result.Warning = redact.Line(result.Error), redact.Line(result.Warning)
		return err
	}
	if w.alone { // the owner has had its turn
		err = do()
	} else {
		err = turn(ctx, p.slots, s.owner, s.key, do)
	}
	return result, err
}

// turn calls do in a slot of the owner, whose slow calls of a kind leave most slots to others.
func turn(ctx context.Context, q *requests.Queue, owner, kind string, do func() error) error {
	namespace, name, _ := strings.Cut(owner, "/")
	slot, free, err := q.Wait(requests.WithOwner(ctx, requests.Owner{Namespace: namespace, Name: name}))
	if err != nil {
		return err
	}
	defer free()
	slot.Sends(kind)
	if err = do(); err == nil {
		slot.Answered(requests.Success, 0)
	}
	return err
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
	if !p.takesTurn() {
		return
	}
	if hangs {
		for _, s := range hanging {
			p.blame.hangs(s.owner, time.Now())
		}
	}
	for _, s := range p.class(name).all() {
		s.release(w)
	}
	w.retire()
}

// takesTurn takes the turn to retire a worker, and reports whether it was free: the one that was retired
// before has ended. A tenant may want to replace them in a row, which costs all owners their scalers, and memory.
func (p *pool) takesTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.retired) < p.timeout+2*grace {
		return false
	}
	p.retired = time.Now()
	return true
}

// all calls do for each class.
func (p *pool) all(do func(*class)) {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.classes))
	p.mu.Unlock()
	for _, c := range all {
		do(c)
	}
}

func (p *pool) close() {
	p.end()
	p.all(func(c *class) {
		for _, s := range c.all() {
			s.use((*workerConn).close)
		}
	})
}
