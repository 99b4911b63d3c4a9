package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// A controller watches the ScaledJobs, and acts on them while it leads.
type controller struct {
	*options
	clients
	log     *slog.Logger
	watched cache.SharedIndexInformer // of ScaledJobs
	term    atomic.Pointer[term]      // nil while another controller leads
	totals  *totals
	begin   sync.Map     // the time from which a ScaledJob with the label is polled, by its UID
	warned  atomic.Int64 // when an overload was logged, in Unix seconds
}

type clients struct {
	process.Clients
	keda kedametrics.Clients
}

func newController(o *options, clients clients, log *slog.Logger) (*controller, error) {
	c := &controller{options: o, clients: clients, log: log, totals: newTotals()}
	if clients.Limit != nil {
		clients.Limit.Observe = c.observe
	}
	c.watched = dynamicinformer.NewFilteredDynamicInformer(clients.DynamicWatches, scaledJobs, o.Namespace, 0, cache.Indexers{},
		func(l *metav1.ListOptions) { l.LabelSelector = o.label }).Informer()
	if err := c.watched.SetTransform(store); err != nil || o.label == "" {
		return c, err
	}
	return c, c.watchLabels()
}

// run watches until the context ends, and acts while it leads.
func (c *controller) run(ctx context.Context) error {
	go c.watched.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), c.watched.HasSynced) {
		return nil
	}
	return c.Lease.Keep(ctx, c.act)
}

// act is a term: it polls every ScaledJob until the context ends, and returns when the
// last poll has ended and is reported.
func (c *controller) act(ctx context.Context) error {
	t, err := c.newTerm(ctx)
	if err != nil {
		return err
	}
	c.term.Store(t)
	defer c.term.Store(nil)
	return t.run()
}
