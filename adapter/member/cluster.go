package member

import (
	"context"
	"errors"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/scaledjob/scaledjob/adapter"
)

// A Cluster is a member: a cluster in which there are Jobs, or objects to scale,
// whose owners are in the home cluster. [Clusters.Add] makes it one of those that are
// observed and acted on.
type Cluster struct {
	name    string
	clients Clients
	options Options
	limiter flowcontrol.RateLimiter // nil where there is no limit

	jobs, pods cache.SharedIndexInformer // pods is nil where none are watched
	tracker    *adapter.Tracker
	health     health
	hurry      chan struct{} // that the next health check is to be at once

	mu     sync.Mutex
	owners map[types.UID]*owner
}

// New returns a member that is reached with the clients. It makes no request.
// [Dial] makes the clients as well.
func New(name string, clients Clients, o Options) (*Cluster, error) {
	if err := o.check(name); err != nil {
		return nil, err
	}
	c := &Cluster{name: name, clients: clients, options: o.withDefaults(), hurry: make(chan struct{}, 1), owners: map[types.UID]*owner{}}
	if c.options.QPS > 0 {
		c.limiter = flowcontrol.NewTokenBucketRateLimiter(c.options.QPS, c.options.Burst)
	}
	c.jobs = c.jobInformer()
	if o.Pods {
		c.pods = c.podInformer()
	}
	var err error
	c.tracker, err = adapter.Ownership{Home: o.Home}.NewTracker(c.jobs, c.pods)
	return c, err
}

// Name is the member's name.
func (c *Cluster) Name() string { return c.name }

// Run watches the member and checks its health, until the context ends. It is
// called once, by [Clusters.Add].
func (c *Cluster) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { c.jobs.RunWithContext(ctx) })
	if c.pods != nil {
		group.Go(func() { c.pods.RunWithContext(ctx) })
	}
	ticker := time.NewTicker(c.options.Interval)
	defer ticker.Stop()
	for {
		_ = c.Probe(ctx) // which notes it
		select {
		case <-ctx.Done():
			return
		case <-c.hurry:
		case <-ticker.C:
		}
	}
}

// soon makes the next health check at once.
func (c *Cluster) soon() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
}

// Probe checks the member's health. If it passes, Jobs that may have been created
// are looked for. Its error is what Options.Probe returned, or the list of Jobs.
func (c *Cluster) Probe(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	err := c.check(bounded)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.health.note(healthCheck, err); err == nil {
		c.settle(ctx)
	}
	return err
}

func (c *Cluster) check(ctx context.Context) error {
	if c.options.Probe != nil {
		return c.options.Probe(ctx)
	}
	_, err := c.clients.Kubernetes.BatchV1().Jobs(c.options.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{adapter.LabelHome: c.options.Home}.String(), Limit: 1,
	})
	return err
}

// settle finds out whether Jobs exist whose creates were not answered, or that
// the cache does not show. Where that fails, it is tried after the next health check.
func (c *Cluster) settle(ctx context.Context) {
	send := c.sender(ctx)
	for _, owner := range c.following() {
		var doubtful []adapter.Job
		now := time.Now()
		c.tracker.View(owner, func(f *adapter.Fleet) { doubtful = f.Unsettled(now) })
		for _, j := range doubtful {
			there, err := send.BatchV1().Jobs(j.Namespace).Get(ctx, j.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				there = nil
			case err != nil:
				return
			case !c.owns(owner, there):
				there = nil
			}
			c.tracker.View(owner, func(f *adapter.Fleet) { f.Settle(j, there, now) })
		}
	}
}

// owns reports whether the Job is that owner's.
func (c *Cluster) owns(uid types.UID, j *batchv1.Job) bool {
	of, owned := adapter.Ownership{Home: c.options.Home}.Of(j)
	return owned && of == uid
}

// follow starts to observe the owner's Jobs, or from now on observes them as o says.
func (c *Cluster) follow(o adapter.Observation) error {
	if err := c.tracker.Follow(o); err != nil {
		return errors.Join(errors.New("member "+c.name), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners[o.Owner] == nil {
		c.owners[o.Owner] = &owner{told: c.health.failures(), ran: map[types.UID]time.Time{}}
	}
	return nil
}

func (c *Cluster) forget(uid types.UID) {
	c.tracker.Forget(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owners, uid)
}

func (c *Cluster) following() []types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	uids := make([]types.UID, 0, len(c.owners))
	for uid := range c.owners {
		uids = append(uids, uid)
	}
	return uids
}
