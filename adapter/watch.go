package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
)

// Run watches until the context ends, and is called once. While a list fails, HasSynced is
// false, Problem has the reason, and nothing is created or deleted.
func (t *Tracker) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, f := range t.feeds {
		group.Go(func() { f.run(ctx) })
	}
	group.Wait()
}

// HasSynced reports whether everything that existed when Run was called is counted, and, from the first
// [Tracker.Plan] of a term on, what existed when the term began. Until then the Jobs are not known.
func (t *Tracker) HasSynced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(t.feeds, func(f *feed) bool { return f.read.IsZero() })
}

// Heard returns when the watch of Jobs last delivered an event or a bookmark, which the API server
// sends about every minute; it is the zero time before.
func (t *Tracker) Heard() (heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.feeds {
		if !f.ofPods && f.heard.After(heard) {
			heard = f.heard
		}
	}
	return heard
}

// Problem returns why the last list or watch of Jobs, or of pods, failed, such as for lack of a
// permission, or nil.
func (t *Tracker) Problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []error
	for _, f := range t.feeds {
		all = append(all, f.problem)
	}
	return errors.Join(all...)
}

// watch makes the feeds: for each kind, or for each kind in each of the hub's namespaces.
func (t *Tracker) watch(client Client) {
	t.began = t.now()
	namespaces := t.options.hub.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{t.options.Namespace}
	}
	pods := batchv1.JobNameLabel
	if home := t.options.hub.Home; home != "" { // others may have many pods there
		pods = labels.Set{hub.LabelHome: home}.String()
	}
	for _, n := range namespaces {
		f := &feed{Tracker: t, namespace: n}
		f.reflect(client, &batchv1.Job{}, source(f, client.BatchV1().Jobs(n), t.selector.String()))
		if t.options.Pods {
			f = &feed{Tracker: t, namespace: n, ofPods: true}
			f.reflect(client, &corev1.Pod{}, source(f, client.CoreV1().Pods(n), pods))
		}
	}
}

// A feed is the store of a reflector of a kind. It takes over a whole list. An informer
// would first deliver that a Job is deleted, then that an older Job exists, and the Job's
// number would be free in between.
type feed struct {
	*Tracker
	namespace string                // "" is all of them
	ofPods    bool                  // and not of Jobs
	run       func(context.Context) // watches

	problem error     // why the last list or watch failed; nil if it did not
	listing time.Time // when the newest consistent read began
	read    time.Time // when the read that the cache shows began; of Jobs, in this term
	heard   time.Time // when the watch last delivered something
	again   func()    // reads anew; nil if that has begun
}

// source returns the calls of a client with a selector. Each list is a consistent
// read: a list from the API server's cache may be older than the creates of another leader.
func source[L runtime.Object](f *feed, client interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			f.begins(o.Continue == "")
			o.LabelSelector, o.ResourceVersion, o.ResourceVersionMatch = selector, "", ""
			list, err := client.List(ctx, o)
			f.failed(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.LabelSelector = selector; o.SendInitialEvents != nil && *o.SendInitialEvents {
				f.begins(true)
				o.ResourceVersion = ""
			}
			watch, err := client.Watch(ctx, o)
			f.failed(err)
			return watch, err
		},
	}
}

// reflect adds the feed to its tracker.
func (f *feed) reflect(client Client, kind runtime.Object, calls *cache.ListWatch) {
	f.run = func(ctx context.Context) {
		for ctx.Err() == nil {
			running, stop := context.WithCancel(ctx)
			f.mu.Lock()
			f.again = stop
			f.mu.Unlock()
			cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(calls, client), kind, f, cache.ReflectorOptions{}).RunWithContext(running)
			stop()
		}
	}
	f.feeds = append(f.feeds, f)
}

// restart reads anew.
func (f *feed) restart() {
	if f.again != nil {
		f.again()
		f.again = nil
	}
}

// relist reads all Jobs anew, unless that began since. It reports whether it can.
func (t *Tracker) relist() (can bool) {
	for _, f := range t.feeds {
		if f.ofPods {
			continue
		}
		if can = can || f.run != nil; !f.listing.After(f.read) {
			f.restart()
		}
	}
	return can
}

// begins notes that a consistent read begins, unless it is only continued.
func (f *feed) begins(is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is {
		f.listing = f.now()
	}
}

// failed notes why the last list or watch failed. Owners elsewhere do not wait for a namespace
// that is refused.
func (f *feed) failed(err error) {
	f.change(func() {
		if f.problem = err; apierrors.IsForbidden(err) {
			f.view(false)
		}
	})
}

// concerns reports whether the owner waits for the feed. His Jobs of before an edit may be in
// other namespaces, so that he waits for these too, unless they are refused.
func (f *feed) concerns(o *owned) bool {
	return f.namespace == "" || f.namespace == o.namespace || !apierrors.IsForbidden(f.problem)
}

// unlisted returns an error if what concerns the owner has not been listed.
func (t *Tracker) unlisted(o *owned) error {
	for _, f := range t.feeds {
		switch {
		case !f.read.IsZero() || !f.concerns(o):
		case f.problem != nil:
			return fmt.Errorf("the Jobs have not been listed: %w", f.problem)
		default:
			return errors.New("the Jobs have not been listed")
		}
	}
	return nil
}

// viewed passes the start of the owner's oldest view on to its set, unless a view is missing.
func (t *Tracker) viewed(o *owned) {
	oldest := t.now() // of Observe
	for _, f := range t.feeds {
		if f.ofPods || !f.concerns(o) {
			continue
		}
		if f.read.IsZero() {
			return
		}
		if f.read.Before(oldest) {
			oldest = f.read
		}
	}
	o.set.Listed(oldest)
}

// view tells all owners what has been read. The first view lets creating begin.
func (t *Tracker) view(first bool) {
	for _, o := range t.owners {
		if o.set == nil {
			continue
		}
		if t.viewed(o); first && t.term != nil {
			t.touch(o)
		}
	}
}

// known returns the tracker's objects of the feed.
func (f *feed) known() (all []any) {
	in := func(namespace string) bool { return f.namespace == "" || f.namespace == namespace }
	if !f.ofPods {
		for _, j := range f.jobs {
			if in(j.Namespace) {
				all = append(all, j)
			}
		}
		return all
	}
	for of, pods := range f.pods {
		for _, p := range pods {
			if in(of.namespace) {
				all = append(all, p)
			}
		}
	}
	return all
}

// compact returns the tracker's form of an object.
func (t *Tracker) compact(object any) any {
	switch o := object.(type) {
	case *batchv1.Job:
		return newJob(o, &t.options)
	case *corev1.Pod:
		return newPod(o)
	}
	return object
}

// show takes over a compact object as the cache shows it, or that it is gone.
func (t *Tracker) show(object any, gone bool) {
	switch o := object.(type) {
	case *pod:
		t.podShown(o, gone)
	case *job:
		if !gone {
			t.jobShown(o)
		} else if j := t.jobs[o.UID]; j != nil {
			t.jobGone(j)
		}
	}
}

func (f *feed) Add(object any) error {
	shown := f.compact(object)
	f.change(func() { f.show(shown, false) })
	return nil
}

func (f *feed) Update(object any) error { return f.Add(object) }

// Delete takes over the last state of an object, and then that it is gone.
func (f *feed) Delete(object any) error {
	last := f.compact(object)
	f.change(func() { f.show(last, false); f.show(last, true) })
	return nil
}

func (f *feed) Replace(list []any, _ string) error {
	listed := make(map[any]bool, len(list))
	f.change(func() {
		for _, object := range list {
			shown := f.compact(object)
			f.show(shown, false)
			listed[shown] = true
		}
		for _, known := range f.known() {
			if !listed[known] {
				f.show(known, true)
			}
		}
		f.heard = f.now()
		began := f.listing
		if began.IsZero() {
			began = f.heard
		}
		if first := f.read.IsZero(); f.ofPods || !began.Before(f.began) { // else it is of before the term
			f.read = began
			f.view(first)
		}
	})
	return nil
}

func (f *feed) Resync() error { return nil }

// UpdateResourceVersion is called after each event and bookmark.
func (f *feed) UpdateResourceVersion(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = f.now()
	f.sweep()
}

// Transformer lets the reflector keep compact objects while it reads a list.
func (f *feed) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return f.compact(object), nil }
}

// change takes over changes of the cache at once. Then it calls Options.Changed.
func (t *Tracker) change(do func()) {
	var owners []Owner
	t.mu.Lock()
	if t.options.Changed != nil {
		t.changing = map[*owned]bool{}
	}
	do()
	for o := range t.changing {
		if o.target != nil {
			owners = append(owners, o.target.Owner)
		}
	}
	t.changing = nil
	t.mu.Unlock()
	for _, owner := range owners {
		t.options.Changed(owner)
	}
}
