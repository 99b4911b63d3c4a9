package member

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
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
type bound struct {
	cluster *Cluster
	kind    string

	mu    sync.Mutex
	there map[uint64]*Owned // by the hash of namespace and name
	owned map[types.UID]*Owned
	read  int // objects of the present list, and empty pages
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

func (c *Cluster) bound(kind string) *bound {
	b := &bound{cluster: c, kind: kind}
	b.begin()
	return b
}

// begin begins a list.
func (b *bound) begin() {
	b.there, b.owned, b.read, b.empty = map[uint64]*Owned{}, map[types.UID]*Owned{}, 0, 0
}

// page takes over a page of a list.
func page[T any, P interface {
	*T
	metav1.Object
}](b *bound, o metav1.ListOptions, all int, items []T) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Continue == "" {
		b.begin()
	}
	for i := range items {
		b.show(P(&items[i]))
	}
	if b.read += max(1, all); len(items) == 0 {
		b.empty++
	}
	return b.check()
}

// show takes over an object.
func (b *bound) show(object metav1.Object) {
	key, labels := keyOf(object), object.GetLabels()
	b.hide(key)
	uid := types.UID(labels[adapter.LabelOwner])
	of := b.owned[uid]
	if of == nil {
		of = &Owned{Owner: uid, Namespace: labels[LabelOwnerNamespace]}
		b.owned[uid] = of
	}
	of.Jobs++
	b.there[key] = of
}

// hide takes over that an object is gone, and reports whether it was there.
func (b *bound) hide(key uint64) bool {
	of := b.there[key]
	if of == nil {
		return false
	}
	if of.Jobs--; of.Jobs == 0 {
		delete(b.owned, of.Owner)
	}
	delete(b.there, key)
	return true
}

func keyOf(object metav1.Object) uint64 {
	return maphash.Comparable(seed, [2]string{object.GetNamespace(), object.GetName()})
}

// foreign is how many times its bound a list may have objects that are not ours.
const foreign = 4

func (b *bound) check() error {
	most := b.cluster.options.MaxJobs
	if len(b.there)+b.empty <= most && b.read <= foreign*most {
		return nil
	}
	err := fmt.Errorf("the member has more than %d %s of this hub; if it should, raise maxJobs of its registration", most, b.kind)
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
			b.mu.Lock()
			b.begin()
			b.mu.Unlock()
		}
		bounded := &boundedWatch{Interface: w, of: b, events: make(chan watch.Event), stopped: make(chan struct{})}
		bounded.stop = sync.OnceFunc(func() { close(bounded.stopped); w.Stop() })
		go bounded.run()
		return bounded, nil
	}
}

// A boundedWatch shows the objects that are ours, and ends with an error when the bound is
// exceeded.
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
		if !w.of.take(&e) {
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
func (b *bound) take(e *watch.Event) bool {
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
		return b.hide(keyOf(object))
	}
	b.show(object)
	if err := b.check(); err != nil {
		*e = watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Message: err.Error()}}
	}
	return true
}

// size returns the number of objects, and of those of the owner.
func (b *bound) size(owner types.UID) (all, owned int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of := b.owned[owner]; of != nil {
		owned = int64(of.Jobs)
	}
	return int64(len(b.there)), owned
}

// room returns how many Jobs of the owner may be added, each with as many pods. An owner may
// have as many as remain free, so that no owner uses up what the others have, and a new one
// always finds room.
func (c *Cluster) room(owner types.UID, pods int64) int64 {
	all, owned := c.jobs.size(owner)
	if c.options.Pods {
		n, _ := c.pods.size("")
		all, owned = max(all, n), owned*pods
	} else {
		pods = 1
	}
	c.mu.Lock()
	owners := int64(len(c.failures))
	c.mu.Unlock()
	return max(0, int64(c.options.MaxJobs)-all-owned) / ((1 + owners) * pods)
}

// Owners returns the owners of the Jobs on each member that this hub created, by the name of
// the member, tracked or not. Jobs of an owner that does not exist any more are orphans.
func (all *Clusters) Owners() map[string][]Owned {
	owners := map[string][]Owned{}
	for _, c := range all.list() {
		c.jobs.mu.Lock()
		for _, of := range c.jobs.owned {
			owners[c.name] = append(owners[c.name], *of)
		}
		c.jobs.mu.Unlock()
		slices.SortFunc(owners[c.name], func(a, b Owned) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Owner), string(b.Owner)))
		})
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
