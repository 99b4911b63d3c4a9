package adapter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/internal/feed"
	"github.com/scaledjob/scaledjob/adapter/internal/pods"
)

// Run watches until the context ends, and is called once. While a list fails, HasSynced is
// false, Problem has the reason, and nothing is created or deleted.
func (t *Tracker) Run(ctx context.Context) { slices.Concat(t.jobFeeds, t.podFeeds).Run(ctx) }

// HasSynced reports whether everything that existed when Run was called is counted, and, from the first
// [Tracker.Plan] of a term on, what existed when the term began. Until then the Jobs are not known.
func (t *Tracker) HasSynced() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobFeeds.Synced() && t.podFeeds.Synced()
}

// Heard returns when the watch of Jobs last delivered an event or a bookmark, which the API server
// sends about every minute; it is the zero time before.
func (t *Tracker) Heard() (heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobFeeds.LastEvent()
}

// Problem returns why the last list or watch of Jobs, or of pods, failed, such as for lack of a
// permission, or nil.
func (t *Tracker) Problem() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.jobFeeds.Problem(), t.podFeeds.Problem())
}

// watch makes the feeds: for each kind, or for each kind in each of the hub's namespaces.
func (t *Tracker) watch(client Client) {
	t.termStart = t.now()
	for _, n := range t.options.hub.Watched(t.options.Namespace) {
		t.jobFeeds = append(t.jobFeeds, feed.New(client, &batchv1.Job{}, client.BatchV1().Jobs(n), n, t.selector.String(), t.sink(t.knownJobs)))
		if t.options.Pods {
			t.podFeeds = append(t.podFeeds, feed.New(client, &corev1.Pod{}, client.CoreV1().Pods(n), n, t.options.hub.PodSelector(), t.sink(t.pods.In)))
		}
	}
}

func (t *Tracker) sink(cached func(string) []any) feed.Sink {
	return feed.Sink{Now: func() time.Time { return t.now() }, Lock: t.change, Compact: t.compact, Show: t.show, Cached: cached, Viewed: t.view}
}

// unlisted returns an error if what concerns the owner has not been listed.
func (t *Tracker) unlisted(o *owned) error {
	return cmp.Or(t.jobFeeds.Lacks(o.namespace), t.podFeeds.Lacks(o.namespace))
}

// viewed passes the start of the owner's oldest view on to its set, unless a view is missing.
func (t *Tracker) viewed(o *owned) {
	if t.jobFeeds.Lacks(o.namespace) == nil {
		o.set.Synced(t.jobFeeds.Oldest(o.namespace, t.now()))
	}
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

func (t *Tracker) knownJobs(namespace string) (found []any) {
	for _, j := range t.jobs {
		if namespace == "" || namespace == j.Namespace {
			found = append(found, j)
		}
	}
	return found
}

// compact returns the tracker's form of an object.
func (t *Tracker) compact(object any) any {
	switch o := object.(type) {
	case *batchv1.Job:
		return newJob(o, &t.options)
	case *corev1.Pod:
		p := pods.New(o)
		p.Foreign = !t.options.hub.Counts(o)
		return p
	}
	return object
}

// show takes over a compact object as the cache shows it, or that it is gone.
func (t *Tracker) show(object any, gone bool) {
	switch o := object.(type) {
	case *pods.Pod:
		t.pods.Show(o, gone || o.Foreign)
		if j := t.jobs[o.Job.UID]; j != nil {
			t.recount(j, *j)
		}
	case *job:
		if !gone {
			t.jobShown(o)
		} else if j := t.jobs[o.UID]; j != nil {
			t.jobGone(j)
		}
	}
}

// change takes over changes of the cache at once. Then it calls Options.Changed.
func (t *Tracker) change(do func()) {
	var owners []Owner
	t.mu.Lock()
	if t.options.Changed != nil {
		t.changing = map[*owned]bool{}
	}
	do()
	t.sweep()
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
