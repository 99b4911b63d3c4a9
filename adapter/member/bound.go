package member

import (
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/scaledjob/scaledjob/adapter"
)

// A bound knows the objects of a kind that a member's lists and watches have shown, each once.
// Its API server is not trusted: lists may be endless. A nil bound knows none.
//
// How many pods a Job has is up to its completions and its failures. Too many make no member
// unreachable: for each that is too many, the owner with the most pods loses a pod.
type bound struct {
	cluster *Cluster
	kind    string // Jobs or pods

	mu    sync.Mutex
	in    map[string]*shown // by the namespace that is listed
	total int               // objects that are shown
	ranks [][]*share        // shares by their number of objects
}

// A shown holds what the present list of a namespace, and its watch, have shown.
type shown struct {
	there map[uint64]entry // by the hash of namespace and name
	owned map[types.UID]*share
	read  int     // objects of the list; an empty page counts as a hundredth of the bound
	lost  []entry // pods that are shown no longer, without an event yet
}

// A share holds the objects of an owner that are shown of a namespace.
type share struct {
	in        *shown
	owner     types.UID
	namespace string // of the owner
	keys      []uint64
	at        int // in its rank
}

// An entry is an object that is shown.
type entry struct {
	of              *share
	at              int    // in the keys of its share
	namespace, name string // of a pod, as the rest
	uid, job        types.UID
}

// deleted returns the event that the pod is gone.
func (e entry) deleted() watch.Event {
	return watch.Event{Type: watch.Deleted, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.namespace, Name: e.name, UID: e.uid, Labels: map[string]string{batchv1.ControllerUidLabel: string(e.job)},
	}}}
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
	if was := b.in[namespace]; was != nil {
		for _, of := range was.owned {
			b.total -= len(of.keys)
			b.leave(of)
		}
	}
	b.in[namespace] = &shown{there: map[uint64]entry{}, owned: map[types.UID]*share{}}
}

// of returns what is shown of a namespace.
func (b *bound) of(namespace string) *shown {
	if b.in[namespace] == nil {
		b.begin(namespace)
	}
	return b.in[namespace]
}

// page takes over a page of a list, and returns the objects that it shows: of those that are ours.
func page[T any, P interface {
	*T
	metav1.Object
}](b *bound, c *Cluster, namespace string, o metav1.ListOptions, next string, items []T) ([]T, error) {
	if b == nil {
		return slices.DeleteFunc(items, func(item T) bool { return !c.ours(P(&item)) }), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Continue == "" {
		b.begin(namespace)
	}
	s := b.of(namespace)
	if s.read += len(items); len(items) == 0 {
		s.read += max(1, c.options.MaxJobs/100)
	}
	items = slices.DeleteFunc(items, func(item T) bool { return !c.ours(P(&item)) || !b.show(namespace, P(&item)) })
	if next == "" {
		b.complete(namespace)
	}
	return items, b.check()
}

// show takes over an object, and reports whether it is shown.
func (b *bound) show(namespace string, object metav1.Object) bool {
	s, key, labels := b.of(namespace), keyOf(object), object.GetLabels()
	b.hide(s, key)
	uid := types.UID(labels[adapter.LabelOwner])
	of := s.owned[uid]
	if of == nil {
		of = &share{in: s, owner: uid, namespace: labels[LabelOwnerNamespace]}
		s.owned[uid] = of
	}
	e := entry{of: of, at: len(of.keys)}
	if b.kind == pods {
		e.namespace, e.name, e.uid, e.job = object.GetNamespace(), object.GetName(), object.GetUID(), types.UID(labels[batchv1.ControllerUidLabel])
	}
	s.there[key] = e
	b.change(of, append(of.keys, key))
	return b.kind != pods || b.total <= b.cluster.options.MaxJobs || b.drop(s, key)
}

// drop takes a pod from the owner with the most, and reports whether the new pod is still shown.
func (b *bound) drop(s *shown, added uint64) bool {
	for len(b.ranks[len(b.ranks)-1]) == 0 {
		b.ranks = b.ranks[:len(b.ranks)-1] // once for each time that it grew
	}
	most := b.ranks[len(b.ranks)-1][0]
	if own := s.there[added].of; len(own.keys) == len(most.keys) {
		b.hide(s, added)
		return false
	}
	key := most.keys[0]
	most.in.lost = append(most.in.lost, most.in.there[key])
	b.hide(most.in, key)
	return true
}

// hide takes over that an object is gone, and reports whether it was there.
func (b *bound) hide(s *shown, key uint64) bool {
	e, is := s.there[key]
	if !is {
		return false
	}
	last := len(e.of.keys) - 1
	moved := s.there[e.of.keys[last]]
	moved.at = e.at
	s.there[e.of.keys[last]], e.of.keys[e.at] = moved, e.of.keys[last]
	delete(s.there, key)
	if b.change(e.of, e.of.keys[:last]); last == 0 {
		delete(s.owned, e.of.owner)
	}
	return true
}

// change gives a share other keys, and thereby another rank.
func (b *bound) change(of *share, keys []uint64) {
	b.leave(of)
	b.total += len(keys) - len(of.keys)
	of.keys = keys
	for len(b.ranks) <= len(keys) {
		b.ranks = append(b.ranks, nil)
	}
	of.at = len(b.ranks[len(keys)])
	if len(keys) > 0 {
		b.ranks[len(keys)] = append(b.ranks[len(keys)], of)
	}
}

// leave takes a share from its rank.
func (b *bound) leave(of *share) {
	if len(of.keys) > 0 {
		rank := b.ranks[len(of.keys)]
		last := rank[len(rank)-1]
		rank[of.at], last.at = last, of.at
		rank[len(rank)-1] = nil
		b.ranks[len(of.keys)] = rank[:len(rank)-1]
	}
}

// isLong reports whether an object has a name, a UID, a version or a label that no API server accepts. A
// tracker keeps these.
func isLong(object metav1.Object) bool {
	if len(object.GetNamespace()) > maxLabel || len(object.GetName()) > 253 || len(object.GetUID()) > maxUID || len(object.GetResourceVersion()) > maxUID {
		return true
	}
	for _, value := range object.GetLabels() {
		if len(value) > maxLabel {
			return true
		}
	}
	return false
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
	most, read := b.cluster.options.MaxJobs, 0
	for _, s := range b.in {
		read += s.read
	}
	if b.total <= most && (read/foreign <= most || (b.kind == pods && read <= allPods)) {
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
		w.of.failed(w.namespace, e)
		for _, e := range w.of.take(w.namespace, e) {
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
}

// take takes over an event, and returns what it shows, after the pods that their owners have lost.
func (b *bound) take(namespace string, e watch.Event) (events []watch.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shows, s := b.takes(namespace, &e), b.of(namespace)
	for _, lost := range s.lost {
		events = append(events, lost.deleted())
	}
	if s.lost = nil; shows {
		events = append(events, e)
	}
	return events
}

// takes takes over an event, and reports whether it shows anything. An object that is not ours
// any more is gone.
func (b *bound) takes(namespace string, e *watch.Event) bool {
	object, ok := e.Object.(metav1.Object)
	if ok && e.Type == watch.Bookmark && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		b.complete(namespace)
	}
	if !ok || (e.Type != watch.Added && e.Type != watch.Modified && e.Type != watch.Deleted) {
		return true
	}
	if !b.cluster.ours(object) {
		e.Type = watch.Deleted
	}
	if e.Type == watch.Deleted {
		return b.hide(b.of(namespace), keyOf(object))
	}
	shows := b.show(namespace, object)
	if err := b.check(); err != nil {
		*e = watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Message: err.Error()}}
		return true
	}
	return shows
}

// complete takes over that a list or watch has shown all objects of a namespace. Until then a refusal of
// before holds: it may come again at each object.
func (b *bound) complete(namespace string) {
	what, _ := b.cluster.watchOf(b.kind, namespace)
	b.cluster.health.shown(what)
}

// failed takes over that an event was too large to read. client-go keeps only the text of the error.
func (b *bound) failed(namespace string, e watch.Event) {
	var why string
	status, is := e.Object.(*metav1.Status)
	if is {
		_, why, is = strings.Cut(status.Message, errTooLarge.Error())
	}
	if !is {
		return
	}
	err := fmt.Errorf("%w%s", errTooLarge, why)
	if what, one := b.cluster.watchOf(b.kind, namespace); !one || !b.cluster.health.refuse(what, namespace, notRead(err)) {
		b.cluster.exceed(err)
	}
}

// has reports whether the last view of a namespace has objects of the owner.
func (b *bound) has(namespace string, owner types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in[namespace] != nil && b.in[namespace].owned[owner] != nil
}

// room returns how many Jobs of the owner may be added, each with some pods at once: as many Jobs and
// pods as remain free, so that no owner uses up what the others have, and a new one always finds
// room. Jobs without so many pods yet have them soon.
func (c *Cluster) room(owner types.UID, each int) int64 {
	c.mu.Lock()
	owners := 1 + len(c.failures)
	c.mu.Unlock()
	free, jobs := c.jobs.room(owner, owners, 0)
	if c.options.Pods {
		room, _ := c.pods.room(owner, owners, jobs*each)
		free = min(free, room/each)
	}
	return int64(max(0, free))
}

// room returns how many objects of the owner may be added, so that as many remain free as he has or expects,
// and how many he has. All owners may add as many at once. Of pods, an equal share of all is his.
func (b *bound) room(owner types.UID, owners, expected int) (free, own int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most, sharing := b.cluster.options.MaxJobs, 0
	for _, s := range b.in {
		sharing += len(s.owned)
		if of := s.owned[owner]; of != nil {
			own += len(of.keys)
		}
	}
	if own == 0 {
		sharing++
	}
	expected = max(own, expected)
	if free = (most - b.total + own - 2*expected) / owners; b.kind == pods {
		free = max(free, most/sharing-2*expected)
	}
	return free, own
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
				sums[uid] = Owned{uid, of.namespace, sums[uid].Jobs + len(of.keys)}
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
