package adapter

import (
	"context"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Run watches until the context ends, and is called once. It has no error: while a list
// fails, HasSynced is false, and nothing is created or deleted.
func (t *Tracker) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, r := range t.reflectors {
		group.Go(func() { r.RunWithContext(ctx) })
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
	reflect := func(kind runtime.Object, ofPods bool, calls *cache.ListWatch) {
		t.unsynced++
		t.reflectors = append(t.reflectors, cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(calls, client),
			kind, &feed{t, ofPods, true}, cache.ReflectorOptions{}))
	}
	reflect(&batchv1.Job{}, false, source(client.BatchV1().Jobs(t.options.Namespace), t.selector.String()))
	if t.options.Pods {
		reflect(&corev1.Pod{}, true, source(client.CoreV1().Pods(t.options.Namespace), batchv1.JobNameLabel))
	}
}

// source returns the calls of a client with a selector. The first list is a consistent
// read: a list from the API server's cache may be older than the creates of another leader.
func source[L runtime.Object](client interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.LabelSelector = selector; o.ResourceVersion == "0" {
				o.ResourceVersion = ""
			}
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return client.Watch(ctx, o)
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
	})
	return nil
}

func (f *feed) Resync() error { return nil }

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
// deleted or being deleted. If target or Track returns an error, failed gets it, and the
// owner is tracked as before.
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
