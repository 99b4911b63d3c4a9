package member

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
)

// A Cluster is a member: a cluster with Jobs, or objects to scale, for owners in the hub
// cluster. [Clusters.Add] registers it.
type Cluster struct {
	name    string
	clients Clients
	options Options
	limiter flowcontrol.RateLimiter // nil if there is no limit
	tracker *adapter.Tracker
	health  health
	hurry   chan struct{} // asks for a health check at once

	mu       sync.Mutex
	failures map[types.UID]*failures // of tracked owners, that have not been returned yet
	uid      string                  // of its namespace kube-system: of Options, or else of the first contact
}

// New returns a member that the clients reach. Requests and Watches must not be nil. New
// makes no request. [Dial] makes the clients as well.
func New(name string, clients Clients, o Options) (*Cluster, error) {
	if err := o.check(name); err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	c := &Cluster{
		name: name, clients: clients, options: o.withDefaults(),
		uid: o.UID, health: health{name: name}, hurry: make(chan struct{}, 1), failures: map[types.UID]*failures{},
	}
	if o = c.options; o.QPS > 0 {
		c.limiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	}
	var err error
	c.tracker, err = adapter.NewTracker(via{Interface: clients.Watches, cluster: c, send: c.watching}, adapter.Options{
		Pods: o.Pods, Timeout: o.Timeout, MaxAge: o.Deadline, Terms: o.Terms,
		Selector: labels.Set{labelHome: o.Home}.String(),
	})
	return c, err
}

// namespaces returns those to list, each by itself; "" is all.
func (c *Cluster) namespaces() []string {
	if n := c.options.Namespaces; len(n) > 0 {
		return n
	}
	return []string{""}
}

// hasJobs reports whether the last view of a namespace has Jobs of the owner.
func (c *Cluster) hasJobs(namespace string, owner types.UID) (found bool) {
	hub.Visit(c.tracker, func(uid types.UID, in string, _ map[string]string) {
		found = found || (uid == owner && in == namespace)
	})
	return found
}

// Run watches the member and checks its health until the context ends. [Clusters.Add]
// calls it, once.
func (c *Cluster) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { c.tracker.Run(ctx) })
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

// soon asks for the next health check at once.
func (c *Cluster) soon() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
}

// Probe checks the member's health by a list of a single Job, which needs an API server, its
// storage and the permission.
func (c *Cluster) Probe(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	sent := time.Now()
	err := c.check(bounded)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.health.note(healthCheck, sent, err)
	return err
}

func (c *Cluster) check(ctx context.Context) error {
	if err := c.identify(ctx); err != nil {
		return err
	}
	var err error
	for _, n := range c.namespaces() {
		if _, err = c.clients.Requests.BatchV1().Jobs(n).List(ctx, metav1.ListOptions{
			LabelSelector: labels.Set{labelHome: c.options.Home}.String(), Limit: 1,
		}); !apierrors.IsForbidden(err) {
			return err
		}
	}
	return err // all are refused
}

// watchOf returns the name of the watch of a kind in a namespace, and whether it is one of several.
func (c *Cluster) watchOf(kind, namespace string) (operation string, several bool) {
	if len(c.options.Namespaces) > 1 {
		return "watch of " + kind + " in " + namespace, true
	}
	return "watch of " + kind, false
}

// watching returns a function that lists and watches for the tracker. It waits while
// the member is unreachable, so that the tracker goes on at once afterwards instead of
// backing off. An answer that asks for another form of request is no failure. The refusal of
// one of several namespaces is no failure of the member.
func (c *Cluster) watching(kind, namespace string) do {
	operation, several := c.watchOf(kind, namespace)
	return func(ctx context.Context, verb string, call func(context.Context) error) error {
		if err := c.health.wait(ctx); err != nil {
			return err
		}
		sent := time.Now()
		err := call(ctx)
		failed := failure(verb, err).Call
		if several && ctx.Err() == nil && err != nil && c.health.refuse(operation, namespace, err) {
			return err
		}
		if ctx.Err() == nil && (err == nil || (failed && !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err))) {
			c.health.note(operation, sent, err)
			if err != nil {
				c.soon()
			}
		}
		return err
	}
}

// track starts to track an owner, or replaces its target. An owner whose namespace the member does
// not serve is not tracked.
func (c *Cluster) track(o *owner) error {
	target := o.targetOn(c.name)
	if n := c.options.Namespaces; len(n) > 0 && !slices.Contains(n, target.Owner.Namespace) {
		c.untrack(target.Owner.UID)
		return nil
	}
	if err := c.tracker.Track(target); err != nil {
		return fmt.Errorf("member %s: %w", c.name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, tracked := c.failures[o.target.Owner.UID]; !tracked {
		c.failures[o.target.Owner.UID] = &failures{}
	}
	return nil
}

func (c *Cluster) untrack(uid types.UID) {
	c.tracker.Untrack(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.failures, uid)
}
