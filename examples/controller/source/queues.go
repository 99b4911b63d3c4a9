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

// queues are what the triggers of one ScaledJob measure.
type queues struct {
	resolver  *source.Resolver
	scaledJob *adapter.ScaledJob
	triggers  []adapter.Trigger
	timeout   time.Duration
	open      []source.Queue // nil where one is to be opened at the next read
}

func newQueues(r *source.Resolver, s *adapter.ScaledJob, triggers []adapter.Trigger, timeout time.Duration) *queues {
	return &queues{resolver: r, scaledJob: s, triggers: triggers, timeout: timeout, open: make([]source.Queue, len(triggers))}
}

// read reads all queues at once. Those that could not be read are metrics that
// have failed, and the error says why.
func (q *queues) read(ctx context.Context) ([]scaling.Metric, error) {
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

func (q *queues) metric(ctx context.Context, i int) (scaling.Metric, error) {
	reading, err := q.length(ctx, i)
	if err != nil {
		return scaling.Metric{Name: q.triggers[i].Name, Failed: true}, fmt.Errorf("trigger %s: %w", q.triggers[i].Name, err)
	}
	metric := q.triggers[i].Metric(reading.Value)
	metric.Activity = reading.Activity
	return metric, nil
}

func (q *queues) length(ctx context.Context, i int) (source.Reading, error) {
	if q.open[i] == nil {
		params, err := q.resolver.Resolve(ctx, q.scaledJob, i)
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
