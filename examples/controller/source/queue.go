package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Queue is the queue of a trigger.
type Queue interface {
	// Length reads the queue. If ctx ends, it returns an error that wraps ctx's error.
	// After an error, the next call opens a broken connection again. It may be called
	// concurrently.
	Length(ctx context.Context) (Reading, error)
}

// A Reading is the result of reading a queue. The zero Reading is an empty queue.
type Reading struct {
	// Value is the work items in the queue, or whatever else the trigger's mode
	// measures: messages a second, a ratio, seconds. It is finite and at least 0.
	Value float64
	// Activity is [scaling.ByThreshold], unless the trigger's mode has another
	// rule than value > activation threshold.
	Activity scaling.Activity
}

// Close closes the connections of q. Do not read q afterwards.
func Close(q Queue) error {
	if c, ok := q.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var openers = map[string]func(*fields, kubernetes.Interface) Queue{
	"redis":               openRedis,
	"rabbitmq":            openRabbitMQ,
	"metrics-api":         openMetricsAPI,
	"kubernetes-resource": openResource,
}

// Types are the types of trigger that [Open] knows, sorted.
func Types() []string {
	return slices.Sorted(maps.Keys(openers))
}

// Open checks p and returns the queue it names, without connecting to it. All
// problems are returned at once, joined, each an [*field.Error]. client
// reads the object of a kubernetes-resource, and is not used by other types.
func Open(p Params, client kubernetes.Interface) (Queue, error) {
	f := &fields{Params: p}
	open, ok := openers[p.Type]
	if !ok {
		f.problem(f.path()+".type", fmt.Sprintf("%q", p.Type), "one of "+strings.Join(Types(), ", "))
		return nil, f.err()
	}
	q := open(f, client)
	if err := f.err(); err != nil {
		return nil, err
	}
	return q, nil
}

// count is n as a reading.
func count(n float64) (Reading, error) {
	if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return Reading{}, fmt.Errorf("found %v: want a finite number of 0 or more", n)
	}
	return Reading{Value: n}, nil
}

// ended adds ctx's error to err if the end of ctx ended the read.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// Queues are the queues of an object's triggers. A nil *Queues has no queues, and may be
// closed.
type Queues struct {
	resolver *Resolver
	from     func() (*scaledjob.ScaledJob, error)
	triggers []scaledjob.Trigger
	timeout  time.Duration

	mu     sync.Mutex // held while they are read
	open   []Queue    // nil for a queue that the next read opens
	closed bool
}

var errClosed = errors.New("the queues are closed")

// Queues returns the queues of the triggers. from returns their ScaledJob with its
// environment; it is called to open a queue, so that the ScaledJob need not be kept. All
// queues together must answer within the timeout. Nothing is resolved or opened before the
// first read.
func (r *Resolver) Queues(from func() (*scaledjob.ScaledJob, error), triggers []scaledjob.Trigger, timeout time.Duration) *Queues {
	return &Queues{resolver: r, from: from, triggers: triggers, timeout: timeout, open: make([]Queue, len(triggers))}
}

// Read reads all queues in parallel. An unreadable queue is a failed metric, and the error
// has the reason.
func (q *Queues) Read(ctx context.Context) ([]scaling.Metric, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	metrics, problems := make([]scaling.Metric, len(q.triggers)), make([]error, len(q.triggers))
	var reads sync.WaitGroup
	for i := range q.triggers {
		reads.Go(func() { metrics[i], problems[i] = q.metric(ctx, i) })
	}
	reads.Wait()
	return metrics, errors.Join(problems...)
}

func (q *Queues) metric(ctx context.Context, i int) (scaling.Metric, error) {
	reading, err := q.length(ctx, i)
	if err != nil {
		return scaling.Metric{Name: q.triggers[i].Name, Failed: true}, fmt.Errorf("trigger %s: %w", q.triggers[i].Name, err)
	}
	metric := q.triggers[i].Metric(reading.Value)
	metric.Activity = reading.Activity
	return metric, nil
}

func (q *Queues) length(ctx context.Context, i int) (Reading, error) {
	if q.open[i] == nil {
		from, err := q.from()
		if err != nil {
			return Reading{}, err
		}
		params, err := q.resolver.Resolve(ctx, from, i)
		if err != nil {
			return Reading{}, err
		}
		if q.open[i], err = Open(params, q.resolver.Client); err != nil {
			return Reading{}, err
		}
	}
	reading, err := q.open[i].Length(ctx)
	if err != nil {
		// A password may be another by now: the next read resolves it again.
		err = errors.Join(err, Close(q.open[i]))
		q.open[i] = nil
	}
	return reading, err
}

// Close closes all connections after a running read. A later read fails.
func (q *Queues) Close() {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for i, queue := range q.open {
		if queue != nil {
			_ = Close(queue) // nothing is read from it any more
			q.open[i] = nil
		}
	}
}
