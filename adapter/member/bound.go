package member

import (
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/scaledjob/scaledjob/adapter"
)

// A bound knows the objects of a kind that a member's lists and watches have shown, each once.
// Its API server is not trusted: lists may be endless. A nil bound knows none.
//
// The pods of an owner are not shown beyond as many as remain free: how many a Job has is up to its
// completions and its failures, so that one owner would make the member unreachable for all.
type bound struct {
	cluster *Cluster
	kind    string // Jobs or pods

	mu sync.Mutex
	in map[string]*shown // by the namespace that is listed
}

// A shown holds what the present list of a namespace, and its watch, have shown.
type shown struct {
	there map[uint64]*Owned // by the hash of namespace and name
	owned map[types.UID]*Owned
	read  int // objects of the list, and empty pages
	empty int // pages without an object of ours
}

// An Owned holds the number of Jobs on a member that this hub created for an owner, with
// finished ones.
type Owned struct {
	Owner     types.UID
	Namespace string // of the owner
	Jobs      int
}

var seed = maphash.MakeSeed()

// begin begins a list of a namespace.
func (b *bound) begin(namespace string) {
	b.in[namespace] = &shown{there: map[uint64]*Owned{}, owned: map[types.UID]*Owned{}}
}

// of returns what is shown of a namespace.
func (b *bound) of(namespace string) *shown {
	if b.in[namespace] == nil {
		b.begin(namespace)
	}
	return b.in[namespace]
}

// page takes over a page of a list, of all objects those that are ours, and returns what it shows.
func page[T any, P interface {
	*T
	metav1.Object
}](b *bound, namespace string, o metav1.ListOptions, all int, items []T) ([]T, error) {
	if b == nil {
		return items, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Continue == "" {
		b.begin(namespace)
	}
	s := b.of(namespace)
	if s.read += max(1, all); len(items) == 0 {
		s.empty++
	}
	items = slices.DeleteFunc(items, func(item T) bool { return !b.show(namespace, P(&item)) })
	return items, b.check()
}

// show takes over an object, and reports whether it is shown.
func (b *bound) show(namespace string, object metav1.Object) bool {
	s, key, labels := b.of(namespace), keyOf(object), object.GetLabels()
	uid := b.share(object.GetNamespace(), types.UID(labels[adapter.LabelOwner]))
	if !s.hide(key) && b.kind == pods && uid != "" && b.free(uid) <= 0 {
		return false
	}
	of := s.owned[uid]
	if of == nil {
		of = &Owned{Owner: uid, Namespace: labels[LabelOwnerNamespace]}
		s.owned[uid] = of
	}
	of.Jobs++
	s.there[key] = of
	return true
}

// share returns for whom an object counts. Who writes an owner's label on pods in another namespace takes
// nothing from that owner.
func (b *bound) share(namespace string, owner types.UID) types.UID {
	if b.kind == pods && owner != "" {
		owner += types.UID("/" + namespace)
	}
	return owner
}

// hide takes over that an object is gone, and reports whether it was there.
func (s *shown) hide(key uint64) bool {
	of := s.there[key]
	if of == nil {
		return false
	}
	if of.Jobs--; of.Jobs == 0 {
		delete(s.owned, of.Owner)
	}
	delete(s.there, key)
	return true
}

func keyOf(object metav1.Object) uint64 {
	return maphash.Comparable(seed, [2]string{object.GetNamespace(), object.GetName()})
}

// foreign is how many times its bound a list may have objects that are not shown, and allPods how
// many pods it may have in any case: an API server cannot store more.
const (
	pods    = "pods"
	foreign = 4
	allPods = 2_000_000
)

func (b *bound) check() error {
	most, there, read := b.cluster.options.MaxJobs, 0, 0
	for _, s := range b.in {
		there, read = there+len(s.there)+s.empty, read+s.read
	}
	if there <= most && (read <= foreign*most || b.kind == pods && read <= allPods) {
		return nil
	}
	err := fmt.Errorf("the member has more than %d %s of this hub; if it should, raise maxJobs of its registration", most, b.kind)
	b.cluster.exceed(err)
	return err
}

// watch returns a function that bounds a watch.
func (b *bound) watch(namespace string, o metav1.ListOptions) func(watch.Interface, error) (watch.Interface, error) {
	return func(w watch.Interface, err error) (watch.Interface, error) {
		if err != nil || b == nil {
			return w, err
		}
		if o.SendInitialEvents != nil && *o.SendInitialEvents {
			b.mu.Lock()
			b.begin(namespace)
			b.mu.Unlock()
		}
		bounded := &boundedWatch{Interface: w, of: b, namespace: namespace, events: make(chan watch.Event), stopped: make(chan struct{})}
		bounded.stop = sync.OnceFunc(func() { close(bounded.stopped); w.Stop() })
		go bounded.run()
		return bounded, nil
	}
}

// A boundedWatch shows the objects that are ours, and ends with an error when the bound is
// exceeded.
type boundedWatch struct {
	watch.Interface
	of        *bound
	namespace string
	events    chan watch.Event
	stopped   chan struct{}
	stop      func()
}

func (w *boundedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *boundedWatch) Stop() { w.stop() }

func (w *boundedWatch) run() {
	defer close(w.events)
	defer w.stop()
	for e := range w.Interface.ResultChan() {
		if !w.of.take(w.namespace, &e) {
			continue
		}
		select {
		case w.events <- e:
		case <-w.stopped:
			return
		}
		if e.Type == watch.Error {
			return
		}
	}
}

// take takes over an event, and reports whether it shows anything. An object that is not ours
// any more is gone.
func (b *bound) take(namespace string, e *watch.Event) bool {
	object, ok := e.Object.(metav1.Object)
	if !ok || e.Type != watch.Added && e.Type != watch.Modified && e.Type != watch.Deleted {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if j, is := object.(*batchv1.Job); is && !b.cluster.ours(j) {
		e.Type = watch.Deleted
	}
	if e.Type == watch.Deleted {
		return b.of(namespace).hide(keyOf(object))
	}
	shows := b.show(namespace, object)
	if err := b.check(); err != nil {
		*e = watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Message: err.Error()}}
		return true
	}
	return shows
}

// free returns how many objects of the owner may be added, so that as many remain free as he has.
func (b *bound) free(owner types.UID) int {
	free := b.cluster.options.MaxJobs
	for _, s := range b.in {
		free -= len(s.there)
		if of := s.owned[owner]; of != nil {
			free -= of.Jobs
		}
	}
	return free
}

// has reports whether the last view of a namespace has objects of the owner.
func (b *bound) has(namespace string, owner types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in[namespace] != nil && b.in[namespace].owned[owner] != nil
}

// room returns how many Jobs of the owner may be added in a namespace, each with some pods at once: as many Jobs and
// pods as remain free, so that no owner uses up what the others have, and a new one always finds
// room. Jobs without so many pods yet have them soon.
func (c *Cluster) room(owner types.UID, namespace string, each int) int64 {
	free, jobs := c.jobs.room(owner)
	if c.options.Pods {
		room, shown := c.pods.room(c.pods.share(namespace, owner))
		free = min(free, (room-2*max(0, jobs*each-shown))/each)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(max(0, free) / (1 + len(c.failures)))
}

// room returns free, and how many objects the owner has.
func (b *bound) room(owner types.UID) (free, owned int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.in {
		if of := s.owned[owner]; of != nil {
			owned += of.Jobs
		}
	}
	return b.free(owner), owned
}

// Owners returns the owners of the Jobs on each member that this hub created, by the name of
// the member, in no order, tracked or not. Jobs of an owner that does not exist any more are orphans.
func (all *Clusters) Owners() map[string][]Owned {
	owners := map[string][]Owned{}
	for _, c := range all.list() {
		sums := map[types.UID]Owned{}
		c.jobs.mu.Lock()
		for _, s := range c.jobs.in {
			for uid, of := range s.owned {
				sums[uid] = Owned{uid, of.Namespace, sums[uid].Jobs + of.Jobs}
			}
		}
		c.jobs.mu.Unlock()
		if len(sums) == 0 {
			continue
		}
		owners[c.name] = slices.Collect(maps.Values(sums))
	}
	return owners
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
