package kedametrics

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/externalmetrics"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/scaling"
)

const (
	// slots is the number of owners that are read at the same time.
	slots = 256
	// settle is the time between KEDA's verdict, which it writes first, and its values.
	settle = 100 * time.Millisecond
	// patience is the time for which a new or edited owner is not unreadable: KEDA needs one or two seconds.
	patience = 10 * time.Second
)

// Clients reach the API server.
type Clients struct {
	Requests dynamic.Interface // with a timeout
	Watches  dynamic.Interface // without
	Values   *externalmetrics.Reader
}

// Connect returns clients with connections of their own, so that reads delay no create. A timeout of
// 0 means 5 s.
func Connect(config *rest.Config, timeout time.Duration) (c Clients, err error) {
	timeout = cmp.Or(timeout, 5*time.Second)
	if c.Requests, err = dynamic.NewForConfig(loop.SeparateConfig(config, timeout)); err != nil {
		return c, err
	}
	if c.Watches, err = dynamic.NewForConfig(config); err != nil {
		return c, err
	}
	c.Values, err = externalmetrics.Connect(config, externalmetrics.Options{Timeout: timeout, InFlight: 2 * slots})
	return c, err
}

// Options configure a [Reader]. Clients, Name and Decide are required.
type Options struct {
	Clients
	// Name is the value of [LabelReader], and tells this reader's objects from those of other controllers.
	Name string
	// Namespace is the only namespace of the owners; "" means all.
	Namespace string
	// Decide is called with an owner's namespace and name when there is a reading to take. It must not block.
	Decide func(owner cache.ObjectName)
	// RefuseClusterAuthentication makes owners unreadable that name a ClusterTriggerAuthentication: KEDA lets
	// each namespace use each of them towards any host.
	RefuseClusterAuthentication bool
}

// A Reader reads the triggers of owners, all of one kind. Its methods may be called from several goroutines.
type Reader struct {
	Options
	keys      *loop.Keys
	slots     *requests.Queue
	creating  chan struct{}
	objects   map[schema.GroupVersionResource]cache.SharedIndexInformer
	probing   chan struct{}
	sweeping  chan struct{}
	probeName string

	mu       sync.Mutex
	owners   map[cache.ObjectName]*tracked
	byObject map[cache.ObjectName]cache.ObjectName // owner's key by the objects' name
	health   health
	complete bool
	lastRead time.Time // of a new value of any owner, or of an answer to a probe
	leaving  map[types.UID]time.Time
}

// A tracked owner. Its rounds never overlap.
type tracked struct {
	reader *Reader
	owner  Owner
	form   form
	name   string // of the objects
	fault  Reason // of the owner itself
	pace   *pace  // nil until KEDA has made an HPA
	since  time.Time
	made   bool         // the ScaledObject is this term's
	added  [2]time.Time // when the objects were created last

	hurry bool // guarded by the reader's lock, as the two below
	ready *Reading
	last  time.Time // when a reading without a pace was ready
}

// New returns a reader that tracks nobody.
func New(o Options) *Reader {
	r := &Reader{
		Options: o, slots: requests.NewQueue(slots), creating: make(chan struct{}, creates), objects: map[schema.GroupVersionResource]cache.SharedIndexInformer{},
		probing: make(chan struct{}, 1), sweeping: make(chan struct{}, 1), probeName: newProbeName(),
		owners: map[cache.ObjectName]*tracked{}, byObject: map[cache.ObjectName]cache.ObjectName{}, leaving: map[types.UID]time.Time{},
		health: health{reason: Starting},
	}
	r.keys = loop.NewKeys(r.slots)
	selector := func(l *metav1.ListOptions) { l.LabelSelector = labels.Set{LabelReader: o.Name}.String() }
	for _, resource := range []schema.GroupVersionResource{scaledObjects, readingTargets, hpas} {
		informer := dynamicinformer.NewFilteredDynamicInformer(o.Watches, resource, o.Namespace, 0, cache.Indexers{}, selector).Informer()
		_ = informer.SetTransform(trim)                                                                 // it has not started
		_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}) // the probe says what is missing
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: r.changed, UpdateFunc: func(_, object any) { r.changed(object) }, DeleteFunc: r.changed,
		})
		r.objects[resource] = informer
	}
	return r
}

// trim leaves out what no decision needs.
func trim(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		if u.GetKind() != "HorizontalPodAutoscaler" {
			delete(u.Object, "spec")
		}
	}
	return object, nil
}

// Run reads until the context ends, and returns when the last read has ended.
func (r *Reader) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	r.lastRead = time.Now()
	for _, informer := range r.objects {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Go(func() { r.probe(ctx) })
	running.Go(func() { r.sweep(ctx) })
	defer context.AfterFunc(ctx, r.keys.Stop)()
	r.keys.Run(ctx, func(slot context.Context, turn loop.Turn, ended func()) {
		defer ended()
		if ctx.Err() != nil {
			return
		}
		if next := r.round(slot, turn.Key); next > 0 {
			r.keys.After(turn.Key, next)
		}
	})
}

// Track reads an owner from now on, or as it was edited. If nothing changed that KEDA needs, its objects
// and readings stay.
func (r *Reader) Track(o Owner) error {
	t := &tracked{reader: r, owner: o, form: formOf(&o), since: time.Now()}
	var err error
	if t.name, err = t.form.name(o.Name); err != nil {
		return err
	}
	if r.RefuseClusterAuthentication && slices.ContainsFunc(o.Triggers, usesCluster) {
		t.fault = ClusterAuthentication
	}
	key := cache.NewObjectName(o.Namespace, o.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.owners[key]; old != nil && old.name == t.name {
		return nil
	} else if old != nil {
		delete(r.byObject, cache.NewObjectName(o.Namespace, old.name))
	}
	r.owners[key], r.byObject[cache.NewObjectName(o.Namespace, t.name)] = t, key
	r.keys.Now(key)
	wake(r.sweeping)
	return nil
}

// Untrack stops to read an owner, and deletes its objects.
func (r *Reader) Untrack(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, t := range r.owners {
		if t.owner.UID == uid {
			delete(r.byObject, cache.NewObjectName(key.Namespace, t.name))
			delete(r.owners, key)
		}
	}
	wake(r.sweeping)
}

// Complete says that every owner is tracked by now. Before that, no object of an unknown owner is deleted.
func (r *Reader) Complete() {
	r.mu.Lock()
	r.complete = true
	r.mu.Unlock()
	wake(r.sweeping)
}

// Take returns the reading to decide on, once.
func (r *Reader) Take(key cache.ObjectName) (reading Reading, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.owners[key]
	if t == nil || t.ready == nil {
		return reading, false
	}
	reading, t.ready = *t.ready, nil
	return reading, true
}

// Available returns why KEDA cannot be asked, for any owner, or "".
func (r *Reader) Available() Reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health.reason
}

// Probe asks KEDA again, and [Reader.Available] soon has the answer. It does nothing if KEDA was asked just now.
func (r *Reader) Probe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.health.probed) >= betweenProbes {
		wake(r.probing)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// changed reads an owner soon whose objects have changed: KEDA writes a status only if its verdict is another.
func (r *Reader) changed(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	name := u.GetName()
	if u.GetKind() == "HorizontalPodAutoscaler" && len(name) > len(hpaPrefix) {
		name = name[len(hpaPrefix):]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key, found := r.byObject[cache.NewObjectName(u.GetNamespace(), name)]
	if !found {
		wake(r.sweeping)
		return
	}
	r.owners[key].hurry = true
	r.keys.After(key, settle)
}

// round reads what is due of an owner, and returns the time until the next round.
func (r *Reader) round(ctx context.Context, key cache.ObjectName) time.Duration {
	r.mu.Lock()
	t, health := r.owners[key], r.health.reason
	if t == nil {
		r.mu.Unlock()
		return 0
	}
	hurry := t.hurry
	t.hurry = false
	r.mu.Unlock()
	interval := time.Duration(t.form.Interval) * time.Second
	switch {
	case t.fault != "":
		return t.unreadable(Problem{Reason: t.fault}, interval)
	case health == KEDAMissing, health == DefinitionMissing:
		return t.withoutKEDA(ctx, health, interval)
	case health != "":
		return t.unreadable(Problem{Reason: health}, interval)
	case !r.synced():
		return t.unreadable(Problem{Reason: Starting}, interval)
	}
	if problem := t.prepare(ctx, interval); problem.Reason != "" {
		return t.unreadable(problem, interval)
	}
	now := time.Now()
	decide, next := t.pace.do(round{now: now, hurry: hurry, active: t.activity, read: func(s *series) sample { return t.read(ctx, s) }})
	if t.pace.seen.Equal(now) {
		r.mu.Lock()
		r.lastRead = now
		r.mu.Unlock()
	}
	if decide {
		t.publish(t.reading())
	}
	return next.Sub(now)
}

func (r *Reader) synced() bool {
	for _, informer := range r.objects {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// prepare creates the objects, and learns the metrics. If something is missing, it returns what.
func (t *tracked) prepare(ctx context.Context, interval time.Duration) Problem {
	object, reason := t.ensure(ctx)
	if reason != "" {
		return Problem{Reason: reason}
	}
	hpa := t.hpa(object)
	if hpa == nil {
		return t.verdict(object)
	}
	all := t.seriesOf(hpa)
	if len(all) == 0 {
		return Problem{Reason: NoValue}
	}
	if t.pace == nil {
		polled := len(t.activity()) > 0 // a GET before that makes KEDA read twice
		if !polled && time.Since(t.since) < interval {
			return Problem{Reason: Waiting}
		}
		t.pace = &pace{interval: interval, seen: time.Now(), known: !t.made}
	}
	t.pace.adopt(all)
	return Problem{}
}

// adopt takes over the metrics of the HPA, and keeps what is known of them.
func (p *pace) adopt(all []*series) {
	for i, s := range all {
		for _, old := range p.all {
			if old.name == s.name {
				old.target, all[i] = s.target, old
			}
		}
	}
	p.all = all
}

// read asks for a value.
func (t *tracked) read(ctx context.Context, s *series) sample {
	r := t.reader
	if reason := r.Available(); reason != "" {
		return sample{reason: reason}
	}
	slot, free, err := r.slots.Wait(ctx)
	if err != nil {
		return sample{reason: Unanswered}
	}
	defer free()
	slot.Sends("GET value")
	v := r.Values.Read(externalmetrics.Metric{
		Namespace: t.owner.Namespace, Resource: s.name, Selector: labels.SelectorFromSet(labels.Set{labelObject: t.name}), Target: s.target,
	})
	reason := reasonOf(v.Reason)
	if reason != KEDAUnavailable {
		slot.Answered(requests.Success, 0)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.health.note(time.Now(), reason) {
		wake(r.probing)
	}
	return sample{v.Value, v.Timestamp, reason}
}

var reasons = map[externalmetrics.Reason]Reason{
	"": "", externalmetrics.ServerError: TriggerFailed, externalmetrics.NotServed: MetricsServerMissing, externalmetrics.Forbidden: Forbidden,
	externalmetrics.Unavailable: KEDAUnavailable,
}

func reasonOf(r externalmetrics.Reason) Reason {
	if reason, found := reasons[r]; found {
		return reason
	}
	return NoValue
}

// activity returns KEDA's verdicts by metric.
func (t *tracked) activity() map[string]bool {
	active := map[string]bool{}
	if object := t.cached(scaledObjects, t.name); object != nil {
		all, _, _ := unstructured.NestedMap(object.Object, "status", "triggersActivity")
		for name, value := range all {
			entry, _ := value.(map[string]any)
			active[name], _ = entry["isActive"].(bool)
		}
	}
	return active
}

func (t *tracked) cached(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	object, _, _ := t.reader.objects[resource].GetStore().GetByKey(t.owner.Namespace + "/" + name)
	u, _ := object.(*unstructured.Unstructured)
	return u
}

// hpa returns the HPA of the ScaledObject, or nil.
func (t *tracked) hpa(owner *unstructured.Unstructured) *autoscalingv2.HorizontalPodAutoscaler {
	u := t.cached(hpas, hpaPrefix+t.name)
	if u == nil || !metav1.IsControlledBy(u, owner) {
		return nil
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hpa) != nil {
		return nil
	}
	return hpa
}

// reading returns the pace's present reading.
func (t *tracked) reading() Reading {
	reading := Reading{Metrics: t.pace.metrics(), Slow: t.pace.slow().Round(t.pace.interval), Object: t.name}
	for _, s := range t.pace.all {
		if s.reason != "" {
			reading.Problems = append(reading.Problems, Problem{s.trigger, s.reason})
		}
	}
	return reading.shorten()
}

// shorten states a reason once that is not about a trigger. KEDA's events do not explain it.
func (r Reading) shorten() Reading {
	for _, p := range r.Problems {
		switch p.Reason {
		case TriggerFailed, TriggerNotBuilt, NoValue, Stale, ConfigMapUnreadable:
		default:
			r.Problems, r.Object = []Problem{{Reason: p.Reason}}, ""
			return r
		}
	}
	return r
}

// unreadable publishes a reading in which no trigger is readable, once an interval.
func (t *tracked) unreadable(p Problem, interval time.Duration) time.Duration {
	hold := map[Reason]time.Duration{Starting: interval, Waiting: patience}[p.Reason]
	if wait := hold - time.Since(t.since); wait > 0 {
		return min(wait, interval)
	}
	reading := Reading{Object: t.name, Problems: []Problem{p}}
	for _, name := range manifest.TriggerNames(t.owner.Triggers) {
		reading.Metrics = append(reading.Metrics, scaling.Metric{Name: name, Failed: true})
	}
	return t.once(reading.shorten(), interval)
}

// once publishes a reading, at most once an interval, and returns the time until the next.
func (t *tracked) once(reading Reading, interval time.Duration) time.Duration {
	now := time.Now()
	if wait := interval - now.Sub(t.last); !t.last.IsZero() && wait > nextTry/2 {
		return wait
	}
	t.last = now
	t.publish(reading)
	return interval
}

// publish makes a reading available. Nobody takes it if the owner was edited meanwhile.
func (t *tracked) publish(reading Reading) {
	t.reader.mu.Lock()
	t.ready = &reading
	t.reader.mu.Unlock()
	t.reader.Decide(cache.NewObjectName(t.owner.Namespace, t.owner.Name))
}
