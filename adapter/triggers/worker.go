package triggers

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

var (
	errEnded  = errors.New("the worker ended while it read the trigger")
	errGone   = errors.New("the worker ended before it read the trigger")
	errHangs  = errors.New("the trigger did not answer in time")
	errClosed = errors.New("the reader of triggers is closed")
)

const (
	maxAsks   = 256     // of a read
	asksAtOn  = 8       // of a read at the same time
	answersAt = 4       // of a worker at the same time: each takes some megabytes
	maxServed = 8 << 20 // bytes served to a read
	// betweenWakes is the least time between two wakes of an owner. A worker lets a second pass between
	// those of a trigger.
	betweenWakes = time.Second / 2
)

// A workerConn is a worker, as its reader has it.
type workerConn struct {
	conn   *wire.Conn
	closer io.Closer
	onWake func(owner string)           // with the prefix of its keys
	onEnd  func(owners map[string]bool) // with the owners under way, unless this process has ended it
	alone  bool                         // it serves one owner

	answers chan struct{} // as many as are under way

	mu       sync.Mutex
	streams  map[uint64]*stream
	last     uint64
	received time.Time // of the last message
	load     wire.Load
	retired  bool // takes no new reads, and ends after the last
	closing  bool // by this process
	probing  bool
	closed   bool
	woken    map[string]time.Time // when the owners that it reads were woken last, or are next
	wakes    map[string]bool      // owners to be woken
	waking   bool                 // a goroutine wakes them
}

// A stream is a read. The reader has bound it to an owner.
type stream struct {
	owner  string
	key    string
	serve  func(wire.Ask) wire.Answer
	asks   int
	atOnce chan struct{}
	result chan wire.Result // closed if the worker has ended
	late   bool             // nobody waits any more
	begun  time.Time
}

func newWorkerConn(c io.ReadWriteCloser, setup wire.Setup, onWake func(string), onEnd func(map[string]bool)) (*workerConn, error) {
	w := &workerConn{
		conn: wire.NewConn(c, wire.FromWorker), closer: c, onWake: onWake, onEnd: onEnd,
		answers: make(chan struct{}, answersAt), received: time.Now(), streams: map[uint64]*stream{}, woken: map[string]time.Time{}, wakes: map[string]bool{},
	}
	late := time.AfterFunc(takesWithin, func() { c.Close() })
	defer late.Stop()
	if err := w.conn.Send(wire.Message{Setup: &setup}); err != nil {
		c.Close()
		return nil, fmt.Errorf("worker of triggers: %w", err)
	}
	go w.receive()
	return w, nil
}

// takesWithin is the time within which a worker takes a message.
const takesWithin = 10 * time.Second

// send sends a message, and ends a worker that does not take it.
func (w *workerConn) send(m wire.Message) error {
	late := time.AfterFunc(takesWithin, w.end)
	defer late.Stop()
	err := w.conn.Send(m)
	if err != nil {
		w.end()
	}
	return err
}

// receive returns when the worker has ended.
func (w *workerConn) receive() {
	for {
		m, err := w.conn.Receive()
		if err != nil {
			w.end()
			return
		}
		w.mu.Lock()
		w.received = time.Now()
		s := w.streams[m.ID]
		switch {
		case m.Result != nil && s != nil:
			delete(w.streams, m.ID)
			w.load = m.Result.Load
			s.result <- *m.Result
		case m.Wake != "":
			w.wakesUp(prefixOf(m.Wake))
		}
		idle := w.idle()
		refused := ""
		if m.Ask != nil {
			refused = s.refuses()
		}
		w.mu.Unlock()
		switch {
		case idle:
			w.close()
		case refused != "": // a worker that asks too much waits
			_ = w.send(wire.Message{ID: m.ID, Answer: &wire.Answer{N: m.Ask.N, Refused: refused}})
		case m.Ask != nil:
			go w.answer(m.ID, *m.Ask, s)
		}
	}
}

// wakesUp lets an owner be woken that the worker has read: later if it was woken a moment ago, and once
// until then.
func (w *workerConn) wakesUp(owner string) {
	last, reads := w.woken[owner]
	now := time.Now()
	if !reads || last.After(now) {
		return
	}
	wait := max(0, betweenWakes-now.Sub(last))
	w.woken[owner] = now.Add(wait)
	time.AfterFunc(wait, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wakes[owner] = true
		if !w.waking {
			w.waking = true
			go w.wake()
		}
	})
}

// wake reports owners with active triggers, one after another.
func (w *workerConn) wake() {
	for {
		w.mu.Lock()
		owner, any := "", false
		for owner = range w.wakes {
			any = true
			break
		}
		delete(w.wakes, owner)
		w.waking = any
		w.mu.Unlock()
		if !any {
			return
		}
		w.onWake(owner)
	}
}

// refuses returns the reason for which a request is not served, or "".
func (s *stream) refuses() string {
	switch {
	case s == nil || s.late:
		return "the read has ended"
	case s.asks >= maxAsks:
		return "more than 256 requests in one read"
	}
	s.asks++
	select {
	case s.atOnce <- struct{}{}:
		return ""
	default:
		return "too many requests at the same time"
	}
}

// answer answers a request of a read.
func (w *workerConn) answer(id uint64, ask wire.Ask, s *stream) {
	w.answers <- struct{}{}
	defer func() { <-w.answers; <-s.atOnce }()
	answer := s.serve(ask)
	answer.N = ask.N
	_ = w.send(wire.Message{ID: id, Answer: &answer}) // receive sees that the worker has ended
}

// begin sends a read. If the worker has ended or takes no reads, the error is errGone.
func (w *workerConn) begin(read wire.Read, s *stream) error {
	s.result, s.atOnce, s.begun = make(chan wire.Result, 1), make(chan struct{}, asksAtOn), time.Now()
	w.mu.Lock()
	if w.closed || w.retired {
		w.mu.Unlock()
		return errGone
	}
	owner := prefixOf(s.key)
	if _, reads := w.woken[owner]; !reads {
		w.woken[owner] = time.Time{} // from now on the worker may wake it
	}
	w.last++
	id := w.last
	w.streams[id] = s
	w.mu.Unlock()
	if w.send(wire.Message{ID: id, Read: &read}) != nil {
		return errEnded
	}
	return nil
}

// wait returns the result of a read. If the worker has ended, the error is errEnded. If the read
// takes too long, the worker must show that it is alive.
func (w *workerConn) wait(s *stream, done <-chan struct{}, timeout time.Duration) (wire.Result, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var cause error
	select {
	case r, ok := <-s.result:
		if !ok {
			return r, errEnded
		}
		return r, nil
	case <-timer.C:
		cause = errHangs
	case <-done:
		cause = errClosed
	}
	w.mu.Lock()
	s.late = true
	probe := cause == errHangs && !w.received.After(s.begun) && !w.probing
	w.probing = w.probing || probe
	idle := w.idle()
	w.mu.Unlock()
	if idle {
		w.close()
	} else if probe {
		go w.probe()
	}
	return wire.Result{}, cause
}

// alive is the time within which a worker answers a ping.
const alive = 5 * time.Second

// probe ends a worker that does not answer.
func (w *workerConn) probe() {
	asked := time.Now()
	late := time.AfterFunc(alive, func() {
		w.mu.Lock()
		dead := !w.received.After(asked)
		w.probing = false
		w.mu.Unlock()
		if dead {
			w.end()
		}
	})
	if w.send(wire.Message{Ping: true}) != nil {
		late.Stop()
	}
}

// takes reports whether the worker takes new reads.
func (w *workerConn) takes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.closed && !w.retired
}

// hanging returns the streams that nobody waits for, and that have not ended.
func (w *workerConn) hanging() (all []*stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		if s.late {
			all = append(all, s)
		}
	}
	return all
}

// hangs reports whether a read of the trigger has not ended.
func (w *workerConn) hangs(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		if s.key == key {
			return true
		}
	}
	return false
}

// idle reports whether the worker takes no new reads, and nobody waits for one.
func (w *workerConn) idle() bool {
	if !w.retired {
		return false
	}
	for _, s := range w.streams {
		if !s.late {
			return false
		}
	}
	return true
}

// retire lets the reads that are waited for end, and closes the worker then.
func (w *workerConn) retire() {
	w.mu.Lock()
	w.retired = true
	idle := w.idle()
	w.mu.Unlock()
	if idle {
		w.close()
	}
}

func (w *workerConn) forget(prefix string) {
	w.mu.Lock()
	delete(w.woken, prefix)
	w.mu.Unlock()
	_ = w.send(wire.Message{Forget: prefix})
}

// close ends a worker that is not needed any more.
func (w *workerConn) close() {
	w.mu.Lock()
	w.retired, w.closing = true, true
	w.mu.Unlock()
	w.closer.Close()
}

// end ends the streams when the connection has ended, whatever the reason.
func (w *workerConn) end() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	streams, closing := w.streams, w.closing
	w.streams = nil
	w.mu.Unlock()
	w.closer.Close()
	if owners := map[string]bool{}; !closing {
		for _, s := range streams {
			owners[s.owner] = true
		}
		w.onEnd(owners)
	}
	for _, s := range streams {
		close(s.result)
	}
}
