package member

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A bound counts the objects of a kind that a member's lists and watches show. Its API
// server is not trusted: lists may be endless. A nil bound does not count.
type bound struct {
	cluster *Cluster
	kind    string
	n       atomic.Int64
}

func (c *Cluster) bound(kind string) *bound { return &bound{cluster: c, kind: kind} }

// page counts a page of a list, which is an object at least.
func (b *bound) page(o metav1.ListOptions, items int) error {
	if b == nil {
		return nil
	}
	if o.Continue == "" {
		b.n.Store(0)
	}
	return b.add(max(1, items))
}

func (b *bound) add(n int) error {
	if b.n.Add(int64(n)) <= int64(b.cluster.options.MaxJobs) {
		return nil
	}
	err := fmt.Errorf("the member has more than %d %s of this hub; if it should, raise maxJobs of its registration", b.cluster.options.MaxJobs, b.kind)
	b.cluster.exceed(err)
	return err
}

// watch returns a function that bounds a watch.
func (b *bound) watch(o metav1.ListOptions) func(watch.Interface, error) (watch.Interface, error) {
	return func(w watch.Interface, err error) (watch.Interface, error) {
		if err != nil || b == nil {
			return w, err
		}
		if o.SendInitialEvents != nil && *o.SendInitialEvents {
			b.n.Store(0)
		}
		bounded := &boundedWatch{Interface: w, of: b, events: make(chan watch.Event), stopped: make(chan struct{})}
		bounded.stop = sync.OnceFunc(func() { close(bounded.stopped); w.Stop() })
		go bounded.run()
		return bounded, nil
	}
}

// A boundedWatch ends with an error when the bound is exceeded.
type boundedWatch struct {
	watch.Interface
	of      *bound
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func (w *boundedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *boundedWatch) Stop() { w.stop() }

func (w *boundedWatch) run() {
	defer close(w.events)
	defer w.stop()
	for e := range w.Interface.ResultChan() {
		var err error
		switch e.Type {
		case watch.Added:
			err = w.of.add(1)
		case watch.Deleted:
			w.of.n.Add(-1)
		}
		if err != nil {
			e = watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Message: err.Error()}}
		}
		select {
		case w.events <- e:
		case <-w.stopped:
			return
		}
		if err != nil {
			return
		}
	}
}

// exceed makes the member unreachable for a minute.
func (c *Cluster) exceed(err error) {
	c.mu.Lock()
	c.breach, c.until = err, time.Now().Add(time.Minute)
	c.mu.Unlock()
	c.health.note(healthCheck, time.Now(), err)
}

func (c *Cluster) breached() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !time.Now().Before(c.until) {
		c.breach = nil
	}
	return c.breach
}

// identify returns an error if the member is another cluster than at its registration or, without
// a UID there, at the first contact, or if it is one that another member is.
func (c *Cluster) identify(ctx context.Context) error {
	system, err := c.clients.Requests.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if c.options.UID == "" && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) && c.known("") == "" {
		return nil // no registration asks for it, and the member has never shown it
	}
	if err != nil {
		return err
	}
	uid := string(system.UID)
	if was := c.known(uid); uid != was {
		of := "its registration"
		if c.options.UID == "" {
			of = "the first contact"
		}
		return fmt.Errorf("it is another cluster: its namespace kube-system has UID %q, and %s has %q; register it anew", short(uid), of, was)
	}
	c.health.mu.Lock()
	jury := c.health.jury
	c.health.mu.Unlock()
	if jury == nil || uid == "" {
		return nil
	}
	jury.mu.Lock()
	defer jury.mu.Unlock()
	other := jury.owners[uid]
	if other != nil && other != c && !c.before(other) {
		return fmt.Errorf("it is the same cluster as member %s, which was registered before; delete one of them", other.name)
	}
	if jury.owners == nil {
		jury.owners = map[string]*Cluster{}
	}
	jury.owners[uid] = c
	return nil
}

// known returns the UID of the member, which is this one if there is none yet.
func (c *Cluster) known(uid string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid = cmp.Or(c.uid, uid)
	return c.uid
}

// before reports whether the member was registered before the other, or has the first name.
func (c *Cluster) before(other *Cluster) bool {
	if n := c.options.Registered.Compare(other.options.Registered); n != 0 {
		return n < 0
	}
	return c.name < other.name
}
