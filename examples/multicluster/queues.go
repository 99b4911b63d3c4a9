package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/scaling"
)

// queues are what the triggers of one object measure.
type queues struct {
	resolver *source.Resolver
	from     *adapter.ScaledJob // has the triggers, and the environment they refer to
	triggers []adapter.Trigger
	timeout  time.Duration
	open     []source.Queue // nil where one is to be opened at the next read
}

func (c *controller) newQueues(from *adapter.ScaledJob, triggers []adapter.Trigger) *queues {
	return &queues{resolver: c.resolver, from: from, triggers: triggers, timeout: c.sourceTimeout, open: make([]source.Queue, len(triggers))}
}

// read reads all queues at once. Those that could not be read are metrics that have
// failed, and the error says why.
func (q *queues) read(ctx context.Context) ([]scaling.Metric, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	metrics, problems := make([]scaling.Metric, len(q.triggers)), make([]error, len(q.triggers))
	var reads sync.WaitGroup
	for i, t := range q.triggers {
		reads.Go(func() {
			reading, err := q.length(ctx, i)
			if err != nil {
				metrics[i], problems[i] = scaling.Metric{Name: t.Name, Failed: true}, fmt.Errorf("trigger %s: %w", t.Name, err)
				return
			}
			metrics[i] = t.Metric(reading.Value)
			metrics[i].Activity = reading.Activity
		})
	}
	reads.Wait()
	return metrics, errors.Join(problems...)
}

func (q *queues) length(ctx context.Context, i int) (source.Reading, error) {
	if q.open[i] == nil {
		params, err := q.resolver.Resolve(ctx, q.from, i)
		if err != nil {
			return source.Reading{}, err
		}
		if q.open[i], err = source.Open(params, q.resolver.Client); err != nil {
			return source.Reading{}, err
		}
	}
	reading, err := q.open[i].Length(ctx)
	if err != nil {
		// A password may be another by now: the next read resolves it again.
		err = errors.Join(err, source.Close(q.open[i]))
		q.open[i] = nil
	}
	return reading, err
}

func (q *queues) close() {
	if q == nil {
		return
	}
	for i, queue := range q.open {
		if queue != nil {
			source.Close(queue) // nothing is read from it any more
			q.open[i] = nil
		}
	}
}
