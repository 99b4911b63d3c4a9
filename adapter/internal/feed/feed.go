// Package feed reads all objects of a kind and then watches them, in one order.
//
// A [Feed] is the store of a reflector, and takes over a whole list. An informer would first
// deliver that an object is deleted, then that an older one exists, and the object's name
// would be free in between. Each list is a consistent read.
package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// A Sink takes over the objects that a feed reads. A compact object is the sink's form of it.
type Sink struct {
	Now     func() time.Time
	Lock    func(do func())             // calls do with the sink's lock
	Compact func(object any) any        // returns a compact object; called without the lock
	Show    func(object any, gone bool) // takes over a compact object as it is, or that it is gone
	Cached  func(namespace string) []any
	Viewed  func(first bool) // the sink shows a whole list, or a namespace is refused
}

// A Feed reads and watches a kind. The sink's lock guards its fields.
type Feed struct {
	Sink
	Namespace string    // "" is all of them
	Read      time.Time // when the read that the sink shows began; zero before
	LastEvent time.Time // when the watch last delivered something
	Problem   error     // why the last list or watch failed; nil if it did not

	watch   func(context.Context)
	listing time.Time // when the newest consistent read began
	after   time.Time // older reads do not count
	stop    func()    // ends the watch, so that it lists anew; nil if that has begun
}

// New returns a feed that has read nothing. The client makes the calls; client-go asks it
// whether a watch may begin with the objects that there are.
func New[L runtime.Object](client any, kind runtime.Object, calls interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}, namespace, selector string, sink Sink) *Feed {
	f := &Feed{Sink: sink, Namespace: namespace}
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			f.noteRead(o.Continue == "")
			o.LabelSelector, o.ResourceVersion, o.ResourceVersionMatch = selector, "", ""
			list, err := calls.List(ctx, o)
			f.Failed(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.LabelSelector = selector; o.SendInitialEvents != nil && *o.SendInitialEvents {
				f.noteRead(true)
				o.ResourceVersion = "" // the API server's cache may be older than the creates of another leader
			}
			watch, err := calls.Watch(ctx, o)
			f.Failed(err)
			return watch, err
		},
	}, client)
	f.watch = func(ctx context.Context) {
		cache.NewReflectorWithOptions(source, kind, f, cache.ReflectorOptions{}).RunWithContext(ctx)
	}
	return f
}

// Run watches until the context ends.
func (f *Feed) Run(ctx context.Context) {
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		f.Lock(func() { f.stop = stop })
		f.watch(running)
		stop()
	}
}

func (f *Feed) restart() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// noteRead notes that a consistent read begins, unless it is only continued.
func (f *Feed) noteRead(consistent bool) {
	if consistent {
		f.Lock(func() { f.listing = f.Now() })
	}
}

// Failed notes why the last list or watch failed.
func (f *Feed) Failed(err error) {
	f.Lock(func() {
		if f.Problem = err; apierrors.IsForbidden(err) {
			f.Viewed(false)
		}
	})
}

// concerns reports whether the objects of a namespace wait for the feed. Objects of before an edit may
// be in another namespace, unless that is refused.
func (f *Feed) concerns(namespace string) bool {
	return f.Namespace == "" || f.Namespace == namespace || !apierrors.IsForbidden(f.Problem)
}

// Add takes over an object.
func (f *Feed) Add(object any) error {
	compact := f.Compact(object)
	f.Lock(func() { f.Show(compact, false) })
	return nil
}

// Update takes over an object.
func (f *Feed) Update(object any) error { return f.Add(object) }

// Delete takes over the last state of an object, and then that it is gone.
func (f *Feed) Delete(object any) error {
	last := f.Compact(object)
	f.Lock(func() { f.Show(last, false); f.Show(last, true) })
	return nil
}

// Replace takes over a whole list.
func (f *Feed) Replace(list []any, _ string) error {
	listed := make(map[any]bool, len(list))
	f.Lock(func() {
		for _, object := range list {
			compact := f.Compact(object)
			f.Show(compact, false)
			listed[compact] = true
		}
		for _, cached := range f.Cached(f.Namespace) {
			if !listed[cached] {
				f.Show(cached, true)
			}
		}
		f.LastEvent = f.Now()
		start := f.listing
		if start.IsZero() {
			start = f.LastEvent
		}
		if first := f.Read.IsZero(); !start.Before(f.after) {
			f.Read = start
			f.Viewed(first)
		}
	})
	return nil
}

// Resync does nothing.
func (f *Feed) Resync() error { return nil }

// UpdateResourceVersion is called after each event and bookmark.
func (f *Feed) UpdateResourceVersion(string) { f.Lock(func() { f.LastEvent = f.Now() }) }

// Transformer lets the reflector keep compact objects while it reads a list.
func (f *Feed) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return f.Compact(object), nil }
}

// A Group has the feeds of a kind. The caller of its methods other than Run holds the lock.
type Group []*Feed

// Run watches until the context ends.
func (g Group) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, f := range g {
		group.Go(func() { f.Run(ctx) })
	}
	group.Wait()
}

// Synced reports whether all feeds have read.
func (g Group) Synced() bool {
	return !slices.ContainsFunc(g, func(f *Feed) bool { return f.Read.IsZero() })
}

// LastEvent returns when a watch last delivered something.
func (g Group) LastEvent() (last time.Time) {
	for _, f := range g {
		if f.LastEvent.After(last) {
			last = f.LastEvent
		}
	}
	return last
}

// Problem returns why lists and watches failed.
func (g Group) Problem() error {
	var problems []error
	for _, f := range g {
		problems = append(problems, f.Problem)
	}
	return errors.Join(problems...)
}

// Reset forgets all objects, and reads anew.
func (g Group) Reset(now time.Time) {
	for _, f := range g {
		f.Read, f.after = time.Time{}, now
		f.restart()
	}
}

// Relist reads anew, unless that began since the last read. It reports whether it can.
func (g Group) Relist() (watches bool) {
	for _, f := range g {
		if watches = watches || f.watch != nil; !f.listing.After(f.Read) {
			f.restart()
		}
	}
	return watches
}

// Lacks returns an error if objects of a namespace have not been read.
func (g Group) Lacks(namespace string) error {
	for _, f := range g {
		switch {
		case !f.Read.IsZero() || !f.concerns(namespace):
		case f.Problem != nil:
			return fmt.Errorf("%w: %w", errUnread, f.Problem)
		default:
			return errUnread
		}
	}
	return nil
}

var errUnread = errors.New("the Jobs have not been listed")

// Oldest returns when the oldest read began that concerns the namespace, or now if there is none.
func (g Group) Oldest(namespace string, now time.Time) time.Time {
	for _, f := range g {
		if f.concerns(namespace) && f.Read.Before(now) {
			now = f.Read
		}
	}
	return now
}
