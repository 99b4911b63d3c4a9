package adapter

import (
	"context"
	"errors"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Run watches until the context ends, and is called once. While a list fails, HasSynced is
// false, Problem has the reason, and nothing is created or deleted.
func (t *Tracker) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, watch := range t.watches {
		group.Go(func() { watch(ctx) })
	}
	group.Wait()
}

// HasSynced reports whether everything that existed when Run was called is counted.
// Until then the Jobs are not known.
func (t *Tracker) HasSynced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unsynced == 0
}

func (t *Tracker) watch(client Client) {
	t.began = t.now()
	reflect := func(kind runtime.Object, f *feed, calls *cache.ListWatch) {
		t.unsynced++
		f.Tracker, f.unsynced = t, true
		t.watches = append(t.watches, func(ctx context.Context) {
			for ctx.Err() == nil {
				running, stop := context.WithCancel(ctx)
				if !f.ofPods {
					t.mu.Lock()
					t.again = stop
					t.mu.Unlock()
				}
				cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(calls, client), kind, f, cache.ReflectorOptions{}).RunWithContext(running)
				stop()
			}
		})
	}
	reflect(&batchv1.Job{}, &feed{}, source(client.BatchV1().Jobs(t.options.Namespace), t.selector.String(), t.lists, t.failed(0)))
	if t.options.Pods {
		reflect(&corev1.Pod{}, &feed{ofPods: true}, source(client.CoreV1().Pods(t.options.Namespace), batchv1.JobNameLabel, func() {}, t.failed(1)))
	}
}

// Heard returns when the watch of Jobs last delivered an event or a bookmark, which the API server
// sends about every minute; it is the zero time before.
func (t *Tracker) Heard() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard
}

// lists notes that a consistent read of the Jobs begins.
func (t *Tracker) lists() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listing = t.now()
}

// failed returns a function that notes why the last list or watch of a kind failed.
func (t *Tracker) failed(kind int) func(error) {
	return func(err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.problems[kind] = err
	}
}

// Problem returns why the last list or watch of Jobs, or of pods, failed, such as for lack of a
// permission, or nil.
func (t *Tracker) Problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.problems[:]...)
}

// relist reads all Jobs anew, unless that began since. It reports whether it can.
func (t *Tracker) relist() bool {
	if t.again != nil && !t.listing.After(t.read) {
		t.again()
		t.again = nil
	}
	return len(t.watches) > 0
}

// source returns the calls of a client with a selector. Each list is a consistent
// read: a list from the API server's cache may be older than the creates of another leader.
func source[L runtime.Object](client interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}, selector string, begins func(), failed func(error)) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue == "" {
				begins()
			}
			o.LabelSelector, o.ResourceVersion, o.ResourceVersionMatch = selector, "", ""
			list, err := client.List(ctx, o)
			failed(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.LabelSelector = selector; o.SendInitialEvents != nil && *o.SendInitialEvents {
				begins()
				o.ResourceVersion = ""
			}
			watch, err := client.Watch(ctx, o)
			failed(err)
			return watch, err
		},
	}
}

// A feed is the store of a reflector of a kind. It takes over a whole list. An informer
// would first deliver that a Job is deleted, then that an older Job exists, and the Job's
// number would be free in between.
type feed struct {
	*Tracker
	ofPods   bool
	unsynced bool // has not listed yet; counted in the tracker
}

// known returns the tracker's objects of the kind.
func (f *feed) known() (all []any) {
	if !f.ofPods {
		for _, j := range f.jobs {
			all = append(all, j)
		}
		return all
	}
	for _, pods := range f.pods {
		for _, p := range pods {
			all = append(all, p)
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
		} else if j := t.jobs[o.key()]; j != nil {
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
		if f.unsynced {
			f.unsynced = false
			f.Tracker.unsynced--
		}
		if !f.ofPods {
			f.heard = f.now()
			f.listed()
		}
	})
	return nil
}

// listed takes over that the cache shows everything that the last consistent read of Jobs
// showed.
func (t *Tracker) listed() {
	if t.read = t.listing; t.read.IsZero() {
		t.read = t.now()
	}
	first := t.renewed && !t.read.Before(t.began)
	for _, o := range t.owners {
		if o.set == nil {
			continue
		}
		if o.set.Listed(t.read); first && t.changing != nil {
			t.changing[o] = counted{pruning: -1} // creating may begin
		}
	}
	t.renewed = t.renewed && !first
}

func (f *feed) Resync() error { return nil }

// UpdateResourceVersion is called after each event and bookmark.
func (f *feed) UpdateResourceVersion(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ofPods {
		f.heard = f.now()
	}
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
		t.changing = map[*owned]counted{}
	}
	do()
	for o, before := range t.changing {
		now := &o.counted
		if o.target != nil && (now.running() != before.running() || now.phases[Terminating] != before.phases[Terminating] || now.pruning != before.pruning) {
			owners = append(owners, o.target.Owner)
		}
	}
	t.changing = nil
	t.mu.Unlock()
	for _, owner := range owners {
		t.options.Changed(owner)
	}
}

// Handler returns the event handler of an informer of owners. It calls Track with the
// result of target for an added or updated owner, and Untrack for an owner that is
// deleted or being deleted. If target or Track returns an error, failed gets it. An owner
// that was tracked then stays so, with the Target of before; an owner that was not is not
// tracked.
func Handler[T metav1.Object](t *Tracker, target func(T) (Target, error), failed func(T, error)) cache.ResourceEventHandler {
	track := func(object any) {
		owner := object.(T)
		if owner.GetDeletionTimestamp() != nil { // each Job would delay the deletion
			t.Untrack(owner.GetUID())
			return
		}
		is, err := target(owner)
		if err == nil {
			err = t.Track(is)
		}
		if err != nil {
			failed(owner, err)
		}
	}
	untrack := func(object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if owner, ok := object.(T); ok {
			t.Untrack(owner.GetUID())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: track,
		UpdateFunc: func(old, object any) {
			if old.(T).GetUID() != object.(T).GetUID() { // recreated while nothing was watched
				untrack(old)
			}
			track(object)
		},
		DeleteFunc: untrack,
	}
}
