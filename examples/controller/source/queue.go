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

	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/scaling"
)

// A Queue is what a trigger measures.
type Queue interface {
	// Length reads the queue now. It ends when ctx does, with ctx's error among
	// those that it wraps. After an error the next call starts afresh: whatever
	// connection was broken is opened again. It may be called concurrently.
	Length(ctx context.Context) (Reading, error)
}

// A Reading is what a queue said. The zero Reading is an empty queue.
type Reading struct {
	// Value is the work items in the queue, or whatever else the trigger's mode
	// measures: messages a second, a ratio, seconds. It is finite and at least 0.
	Value float64
	// Activity is [scaling.ByThreshold], unless the trigger's mode has another
	// rule than value > activation threshold.
	Activity scaling.Activity
}

// Close closes what q keeps open, if anything. q is not to be read after.
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
// problems are returned at once, joined, each an [*adapter.FieldError]. client
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

// ended is err with ctx's own error, where that is what ended the read.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
