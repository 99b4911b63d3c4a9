package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"
)

// Queues are what the triggers of one object measure. A nil one has no queues, and may
// be closed.
type Queues struct {
	resolver *Resolver
	from     *adapter.ScaledJob
	triggers []adapter.Trigger
	timeout  time.Duration
	open     []Queue // nil where one is to be opened at the next read
}

// Queues are those of the triggers, which are from's: it has the environment that they
// refer to. All of them together must answer within the timeout. Nothing is resolved
// or opened before the first read.
func (r *Resolver) Queues(from *adapter.ScaledJob, triggers []adapter.Trigger, timeout time.Duration) *Queues {
	return &Queues{resolver: r, from: from, triggers: triggers, timeout: timeout, open: make([]Queue, len(triggers))}
}

// Read reads all queues at once. Those that could not be read are metrics that have
// failed, and the error says why. Only one goroutine may call it.
func (q *Queues) Read(ctx context.Context) ([]scaling.Metric, error) {
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
		params, err := q.resolver.Resolve(ctx, q.from, i)
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

// Close closes what is open, and no more is to be read.
func (q *Queues) Close() {
	if q == nil {
		return
	}
	for i, queue := range q.open {
		if queue != nil {
			_ = Close(queue) // nothing is read from it any more
			q.open[i] = nil
		}
	}
}
