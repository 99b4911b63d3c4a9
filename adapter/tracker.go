package adapter

import (
	"context"
	"errors"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A Tracker keeps the Fleets of the owners that it follows up to date, from
// shared informers. A plan made by it costs the same at 10 and at 100,000 Jobs and
// makes no request (BenchmarkTracker), and its counts are those of a recount,
// whatever the informers miss or repeat (TestTrackerIsARecount).
//
// Creates and deletes that it carries out are counted before the cache shows
// them: a create holds room for at most a minute, and a Job that the API server
// has agreed to delete is terminating. Where nobody knows whether a create
// succeeded, the next one is of the same name, which finds out.
//
// A Tracker may be used from several goroutines. Two polls of one owner at once are
// the caller's to prevent; if they happen, they choose the same names.
type Tracker struct {
	jobs, pods cache.SharedIndexInformer // pods is nil where none are watched
	ownership  Ownership
	synced     []cache.ResourceEventHandlerRegistration

	mu     sync.Mutex
	owners map[types.UID]*followed
	member map[string]types.UID // the owner in whose Fleet a Job is, by namespace/name
}

type followed struct {
	Observation
	fleet Fleet
}

// NewTracker returns a tracker of what the informers see. pods may be nil where
// no owner needs them. [JobInformer] and [PodInformer] return informers that keep
// no more than is needed; any others of Jobs and pods will do. Both must be of the
// same namespaces.
//
// The error is the informers', that have been stopped.
func NewTracker(jobs, pods cache.SharedIndexInformer) (*Tracker, error) {
	return Controller.NewTracker(jobs, pods)
}

// NewTracker returns a tracker, as the function does, of Jobs that are owned so.
func (o Ownership) NewTracker(jobs, pods cache.SharedIndexInformer) (*Tracker, error) {
	t := &Tracker{jobs: jobs, pods: pods, ownership: o, owners: map[types.UID]*followed{}, member: map[string]types.UID{}}
	if err := t.listen(jobs, o, t.jobChanged); err != nil {
		return nil, err
	}
	if pods == nil {
		return t, nil
	}
	return t, t.listen(pods, Controller, t.podChanged)
}

func (t *Tracker) listen(i cache.SharedIndexInformer, o Ownership, changed func(metav1.Object)) error {
	if _, ok := i.GetIndexer().GetIndexers()[o.index()]; !ok {
		if err := i.AddIndexers(cache.Indexers{o.index(): o.keys}); err != nil {
			return err
		}
	}
	touch := func(object any) {
		if o := accessor(object); o != nil {
			changed(o)
		}
	}
	registration, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: touch,
		UpdateFunc: func(before, after any) {
			if !o.same(before, after) {
				touch(before)
			}
			touch(after)
		},
		DeleteFunc: touch,
	})
	t.synced = append(t.synced, registration)
	return err
}

// accessor is nil where nothing is known of the object.
func accessor(object any) metav1.Object {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	o, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return o
}

// HasSynced reports whether all that existed when the informers started is
// counted. Until then plans do not know the Jobs, and create and delete none.
func (t *Tracker) HasSynced() bool {
	for _, s := range t.synced {
		if !s.HasSynced() {
			return false
		}
	}
	return true
}

// Follow starts to count the Jobs of o.Owner, or from now on counts them as o
// says. It looks at each of them once. It is an error to want pods of a tracker
// that does not watch them.
func (t *Tracker) Follow(o Observation) error {
	if o.PodsKnown && t.pods == nil {
		return errors.New("follow: PodsKnown is true: want a tracker with an informer of pods")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.owners[o.Owner]
	if f == nil {
		f = &followed{}
		t.owners[o.Owner] = f
	}
	f.Observation = o
	// Only now: a Job that comes later waits for the lock, and finds its owner.
	jobs, err := t.jobs.GetIndexer().ByIndex(t.ownership.index(), string(o.Owner))
	if err != nil { // the index is made in NewTracker
		panic(err)
	}
	for _, j := range jobs {
		t.touch(jobKey(j.(*batchv1.Job)))
	}
	return nil
}

// Forget stops counting the Jobs of the owner.
func (t *Tracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.owners[owner]; f != nil {
		for name, m := range f.fleet.jobs {
			delete(t.member, m.Namespace+"/"+name)
		}
		delete(t.owners, owner)
	}
}

// View calls look with the owner's Fleet, and waits for it; the Fleet must not be
// used after that. It reports false, and does not call look, where the Fleet is
// not known: the owner is not followed, or HasSynced is false.
func (t *Tracker) View(owner types.UID, look func(*Fleet)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.known(owner)
	if f != nil {
		look(f)
	}
	return f != nil
}

func (t *Tracker) known(owner types.UID) *Fleet {
	f := t.owners[owner]
	if f == nil || !t.HasSynced() {
		return nil
	}
	return &f.fleet
}

// Plan decides one poll as [NewPlan] does, about the Jobs of p.Owner.
func (t *Tracker) Plan(p Poll) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	return NewPlan(p, t.known(p.Owner.UID))
}

// Apply carries a plan out as the function [Apply] does, and counts what is on
// its way.
func (t *Tracker) Apply(ctx context.Context, c kubernetes.Interface, p Plan) (Result, error) {
	return apply(ctx, c, &p, &noter{t, p.owner})
}

// A noter tells the tracker what happens to an owner's Jobs.
type noter struct {
	tracker *Tracker
	owner   types.UID
}

func (n *noter) sending(number int64, to flight) {
	n.note(func(f *Fleet) { f.sending(number, to) })
}
func (n *noter) answered(number int64, job *batchv1.Job, err error) {
	n.note(func(f *Fleet) { f.answered(number, job, err) })
}
func (n *noter) deleted(name string, uid types.UID) {
	n.note(func(f *Fleet) { f.deleted(name, uid) })
}

func (n *noter) note(what func(*Fleet)) {
	n.tracker.mu.Lock()
	defer n.tracker.mu.Unlock()
	if f := n.tracker.owners[n.owner]; f != nil {
		what(&f.fleet)
	}
}

func (t *Tracker) jobChanged(j metav1.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touch(jobKey(j))
}

func (t *Tracker) podChanged(p metav1.Object) {
	if c := metav1.GetControllerOfNoCopy(p); c != nil && c.Kind == "Job" {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.touch(p.GetNamespace() + "/" + c.Name)
	}
}

func jobKey(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// touch counts a Job as the informers see it now, which may be newer than the
// event that it is called for, and never older.
func (t *Tracker) touch(key string) {
	object, exists, err := t.jobs.GetIndexer().GetByKey(key)
	var (
		job   *batchv1.Job
		owner types.UID
		f     *followed
	)
	if err == nil && exists {
		job = object.(*batchv1.Job)
		if uid, owned := t.ownership.Of(job); owned && t.owners[uid] != nil && t.owners[uid].within(job) {
			owner, f = uid, t.owners[uid]
		}
	}
	if before, ok := t.member[key]; ok && before != owner {
		_, name, _ := strings.Cut(key, "/")
		t.owners[before].fleet.Remove(name)
		delete(t.member, key)
	}
	if f != nil {
		f.fleet.Set(f.classify(job, t.evidence(f, job)))
		t.member[key] = owner
	}
}

func (t *Tracker) evidence(f *followed, job *batchv1.Job) (e evidence) {
	if !f.PodsKnown {
		return 0
	}
	pods, err := t.pods.GetIndexer().ByIndex(Controller.index(), string(job.UID))
	if err != nil { // the index is made in NewTracker
		panic(err)
	}
	for _, p := range pods {
		e |= f.Observation.evidence(p.(*corev1.Pod))
	}
	return e
}

// JobInformer returns an informer of the Jobs in a namespace, or all, that have
// the label [LabelName], without what a [Tracker] does not need of them.
func JobInformer(c kubernetes.Interface, namespace string) cache.SharedIndexInformer {
	return slim(batchinformers.NewFilteredJobInformer(c, namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.LabelSelector = LabelName
	}))
}

// PodInformer returns an informer of the pods of all Jobs in a namespace, or all,
// without what a [Tracker] does not need of them.
func PodInformer(c kubernetes.Interface, namespace string) cache.SharedIndexInformer {
	return slim(coreinformers.NewFilteredPodInformer(c, namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.LabelSelector = batchv1.JobNameLabel
	}))
}

func slim(i cache.SharedIndexInformer) cache.SharedIndexInformer {
	if err := i.SetTransform(Strip); err != nil { // it has not started
		panic(err)
	}
	return i
}

// Strip drops what no rule reads of a Job or a pod. It is a transformation for
// informers, and returns anything else as it is.
func Strip(object any) (any, error) {
	switch o := object.(type) {
	case *batchv1.Job:
		return &batchv1.Job{ObjectMeta: stripMeta(&o.ObjectMeta), Spec: batchv1.JobSpec{Suspend: o.Spec.Suspend}, Status: o.Status}, nil
	case *corev1.Pod:
		return &corev1.Pod{
			ObjectMeta: stripMeta(&o.ObjectMeta),
			Status:     corev1.PodStatus{Phase: o.Status.Phase, Conditions: o.Status.Conditions},
		}, nil
	}
	return object, nil
}

func stripMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, OwnerReferences: m.OwnerReferences,
	}
	kept.Annotations = only(m.Annotations, AnnotationGeneration, AnnotationTemplateHash, AnnotationSequence)
	kept.Labels = only(m.Labels, LabelOwner, LabelHome, LabelSource, LabelAttempt)
	return kept
}

// only is what m has of the keys, nil where that is nothing.
func only(m map[string]string, keys ...string) (kept map[string]string) {
	for _, key := range keys {
		if value, ok := m[key]; ok {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}
