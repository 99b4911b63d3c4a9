package adapter

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// DefaultTimeout is the timeout of requests if Options.Timeout is 0.
const DefaultTimeout = 15 * time.Second

// A Client is the part of a client-go Clientset that this package calls. A program that
// passes batch and core clients of its own does not link the clients of all other groups.
type Client interface {
	BatchV1() batchclient.BatchV1Interface
	CoreV1() coreclient.CoreV1Interface // called only with Options.Pods
}

// Options configure a [Tracker]. The zero value tracks the Jobs of all namespaces
// that have [LabelOwner], without their pods.
type Options struct {
	Namespace string // the only namespace; "" means all
	Selector  string // label selector of the Jobs; "" means those with [LabelOwner]
	// Pods makes pending exact: by the pods instead of the Job's status, which
	// counts ready pods. It needs every pod of the Jobs in memory.
	Pods bool
	// Timeout is the request timeout of the client that Apply gets, as adapter/client sets
	// it; 0 means DefaultTimeout. With a client that waits longer, a create may arrive
	// later than the rules expect, and the maximum may be exceeded.
	Timeout time.Duration
	MaxAge  time.Duration // of a plan that Apply carries out; 0 means twice Timeout
	// MayAct reports whether this process may act, such as whether its lease is
	// valid. Apply asks before each batch. nil means always.
	MayAct func() bool
	// Changed, if set, is called after the number of a tracked owner's unfinished or
	// terminating Jobs has changed in the cache, and when creating may go on after a prune.
	// It may be called from two goroutines at once, and must not block.
	Changed func(Owner)
	// Home is the name of the owners' cluster if it is another cluster. Jobs then have
	// labels instead of an owner reference, which the garbage collector would act on.
	Home       string
	Cluster    string   // makes the names of an owner's Jobs differ between clusters; needs Home
	KeepLabels []string // keys of the labels that Job.Labels has
}

// A Tracker counts the Jobs of owners from watch events, plans polls and carries
// them out. A plan makes no request, and its cost depends on the number of Jobs only if
// some have changed or are to be deleted. A Tracker may be used from several goroutines.
//
// A program that elects a leader makes and runs its Tracker after it has become
// leader, and drops it afterwards: a cache from before is not a fresh view.
type Tracker struct {
	options  Options
	selector labels.Selector
	now      func() time.Time // of requests; tests replace it
	unshown  time.Duration    // an answered create is not shown for this time: it is asked for

	reflectors []*cache.Reflector

	mu       sync.Mutex
	unsynced int // feeds that have not listed yet
	owners   map[types.UID]*owned
	jobs     map[types.NamespacedName]*job
	pods     map[types.UID][]*pod // by Job
	changing map[*owned]counted   // before the change that is being taken over; nil if there is none
	encoded  string               // prototype of the last owner; shared with the next owner if it is equal
}

// NewTracker returns a tracker that [Tracker.Run] starts. The client watches:
// it must not have a timeout, which would end a watch, and must not be nil. An error has
// every problem of the options.
func NewTracker(client Client, o Options) (*Tracker, error) {
	t, err := newTracker(o)
	if err != nil {
		return nil, err
	}
	t.watch(client)
	return t, nil
}

func newTracker(o Options) (*Tracker, error) {
	var problems field.Errors
	selector, err := labels.Parse(cmp.Or(o.Selector, LabelOwner))
	problems.Join("Options.Selector", err)
	problems.Check(o.Cluster == "" || o.Home != "", "Options.Home", o.Home, "the name of the owners' cluster, which Cluster needs")
	problems.Check(o.Timeout >= 0, "Options.Timeout", o.Timeout, "a duration of 0 or more")
	problems.Check(o.MaxAge >= 0, "Options.MaxAge", o.MaxAge, "a duration of 0 or more")
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxAge = cmp.Or(o.MaxAge, 2*o.Timeout)
	return &Tracker{
		options: o, selector: selector, now: time.Now, unshown: 8 * o.Timeout,
		owners: map[types.UID]*owned{}, jobs: map[types.NamespacedName]*job{}, pods: map[types.UID][]*pod{},
	}, problems.Err()
}

// Track starts to track an owner, or replaces its Target, which is an edit: plans
// that were made before stop. Equal targets are no edit; a strategy that holds a func
// is never equal. The error has every problem of the target; the owner is then tracked
// as before.
func (t *Tracker) Track(target Target) error {
	if err := t.check(&target); err != nil {
		return fmt.Errorf("target %s/%s: %w", target.Owner.Namespace, target.Owner.Name, err)
	}
	tracked := target.compile()
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owner(tracked.Owner.UID)
	if reflect.DeepEqual(o.target, tracked) {
		return nil
	}
	if tracked.encoded == t.encoded {
		tracked.encoded = t.encoded
	}
	if o.target == nil {
		o.start = new(t.now())
	}
	o.target, t.encoded = tracked, tracked.encoded
	for _, j := range o.jobs {
		t.recount(j, *j)
	}
	return nil
}

// check returns every problem of a target for this tracker.
func (t *Tracker) check(target *Target) error {
	var problems field.Errors
	problems.Join("", target.Validate())
	n := target.Owner.Namespace
	problems.Check(n == "" || t.options.Namespace == "" || n == t.options.Namespace, "Owner.Namespace", n,
		strconv.Quote(t.options.Namespace)+", the only namespace that the tracker watches")
	problems.Check(len(target.PendingPodConditions) == 0 || t.options.Pods, "PendingPodConditions", target.PendingPodConditions,
		"none, or a tracker with Options.Pods")
	if target.Job != nil {
		job := target.newJob(t.options.place(), 1)
		problems.Check(t.selector.Matches(labels.Set(job.Labels)), "Job.Labels", job.Labels,
			"labels that the tracker selects ("+t.selector.String()+")")
	}
	return problems.Err()
}

// Untrack stops tracking the owner. Its Jobs stay.
func (t *Tracker) Untrack(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owners[owner]; o != nil {
		o.target = nil
		o.forget()
		t.drop(o)
	}
}

// Plan decides one poll: which outdated and finished Jobs to delete, and how many to
// create. It makes no request. If the Jobs are not known, nothing is created or
// deleted: the owner is not tracked, the cache has not synced, or the Jobs belong to
// an owner with another UID or namespace.
func (t *Tracker) Plan(owner types.UID, metrics []scaling.Metric, now time.Time) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owners[owner]
	if o == nil || o.target == nil {
		return Plan{Owner: owner, Decision: scaling.Decide(scaling.Policy{}, scaling.State{Metrics: metrics})}
	}
	plan := o.plan(metrics, t.unsynced == 0, now)
	if plan.Create > 0 && t.mistaken(o) {
		plan = o.plan(metrics, false, now)
	}
	plan.made = t.now()
	return plan
}

// Jobs returns the owner's Jobs in no order, Jobs in flight last, and reports whether they
// are known. It returns no Jobs for an owner that is not tracked.
func (t *Tracker) Jobs(owner types.UID) (jobs []Job, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.known(owner); o != nil {
		return o.describe(t.options.place()), true
	}
	return nil, false
}

// Counts returns the counts of the owner's unfinished Jobs, and whether they are known.
func (t *Tracker) Counts(owner types.UID, now time.Time) (counts scaling.JobCounts, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.known(owner); o != nil {
		return o.counts(now, false), true
	}
	return counts, false
}

// known returns the tracked owner, or nil if its Jobs are not known.
func (t *Tracker) known(owner types.UID) *owned {
	o := t.owners[owner]
	if o == nil || o.target == nil || t.unsynced > 0 || t.mistaken(o) {
		return nil
	}
	return o
}

// mistaken reports whether an owner seems to have no Jobs only because its UID or
// namespace is wrong: unfinished Jobs have its UID in another namespace, or its name
// and another UID.
func (t *Tracker) mistaken(o *owned) bool {
	if o.phases != [InFlight]int32{} {
		return false
	}
	for _, j := range o.jobs {
		if !j.ended() {
			return true
		}
	}
	if o.inFlight() > 0 {
		return false
	}
	called := o.target.Owner.called()
	for _, other := range t.owners {
		if other != o && other.called == called && other.running() > 0 {
			return true
		}
	}
	return false
}

func (o *Options) place() place { return place{o.Home, o.Cluster} }

// late is L, the time after which a request can no longer arrive.
func (t *Tracker) late() time.Duration { return 2 * t.options.Timeout }

// ownerOf returns the UID of the owner, or "" if the Job has none that the tracker knows
// of, and the rest of the controller reference.
func (o *Options) ownerOf(j *batchv1.Job) (uid types.UID, called string) {
	controller := metav1.GetControllerOfNoCopy(j)
	switch {
	case o.Home == "" && controller != nil:
		return controller.UID, (&Owner{controller.APIVersion, controller.Kind, j.Namespace, controller.Name, ""}).called()
	case o.Home != "" && controller == nil && j.Labels[LabelHome] == o.Home:
		return types.UID(j.Labels[LabelOwner]), ""
	}
	return "", ""
}

// owner returns the state of an owner, tracked or not.
func (t *Tracker) owner(uid types.UID) *owned {
	o := t.owners[uid]
	if o == nil {
		o = &owned{uid: uid}
		t.owners[uid] = o
	}
	return o
}

// drop frees empty state, and the owner if it has none left.
func (t *Tracker) drop(o *owned) {
	if len(o.jobs) == 0 {
		o.jobs = nil
	}
	if len(o.flights) == 0 {
		o.flights = nil
	}
	if o.target == nil && o.jobs == nil && o.flights == nil {
		delete(t.owners, o.uid)
	}
}

// jobShown takes over a Job as the cache shows it now.
func (t *Tracker) jobShown(j *job) {
	uid, before := j.of, t.jobs[j.key()]
	if before != nil && (before.UID != j.UID || before.owner.uid != uid) {
		t.jobGone(before)
		before = nil
	}
	if uid == "" {
		return
	}
	o := t.owner(uid)
	o.called = cmp.Or(o.called, j.called)
	j.owner, j.of, j.called = o, "", ""
	if o.jobs == nil {
		o.jobs = map[types.UID]*job{}
	}
	t.jobs[j.key()], o.jobs[j.UID] = j, j
	if before != nil {
		t.tally(before, -1)
	}
	t.classify(j, value(before))
	t.tally(j, 1)
	o.shows(j)
	t.drop(o)
}

// jobGone forgets a Job that the cache no longer shows.
func (t *Tracker) jobGone(j *job) {
	t.tally(j, -1)
	delete(t.jobs, j.key())
	delete(j.owner.jobs, j.UID)
	t.drop(j.owner)
}

// podShown takes over a pod, or that it is gone.
func (t *Tracker) podShown(p *pod, gone bool) {
	pods := slices.DeleteFunc(t.pods[p.job], func(other *pod) bool { return other.uid == p.uid })
	if !gone {
		pods = append(pods, p)
	}
	if t.pods[p.job] = pods; len(pods) == 0 {
		delete(t.pods, p.job)
	}
	if j := t.jobs[types.NamespacedName{Namespace: p.namespace, Name: p.jobName}]; j != nil && j.UID == p.job {
		t.recount(j, *j)
	}
}

// recount classifies a Job in the cache anew; before is its earlier state.
func (t *Tracker) recount(j *job, before job) {
	t.tally(j, -1)
	t.classify(j, before)
	t.tally(j, 1)
}

// tally adds n Jobs such as j to the counts of its owner.
func (t *Tracker) tally(j *job, n int32) {
	if _, noted := t.changing[j.owner]; t.changing != nil && !noted {
		t.changing[j.owner] = j.owner.counted
	}
	if j.owner.tally(j, n); j.Phase == Pending {
		j.owner.stuck = nil
	}
}

func (t *Tracker) classify(j *job, before job) {
	var conditions []string
	target := j.owner.target
	if j.Number, j.stray = 0, false; target != nil {
		conditions = target.PendingPodConditions
		if j.stray = t.options.Home == "" && j.Namespace != target.Owner.Namespace; !j.stray {
			j.Number = target.Owner.number(t.options.place(), j.Name)
		}
	}
	j.classify(before, t.pods[j.UID], t.options.Pods, conditions, t.now())
	r := rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted, Finished: j.ended(), Deleting: j.Deleting}
	j.outdated = target != nil && !j.stray && target.Rollout.Deletes(r, target.Revision)
}
