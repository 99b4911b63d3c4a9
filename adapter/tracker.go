package adapter

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/scaledjob/scaledjob/adapter/internal/feed"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// DefaultTimeout is the timeout of requests if Options.Timeout is 0.
const DefaultTimeout = 15 * time.Second

// A Client is the part of a client-go Clientset that this package calls. A program that
// passes batch and core clients of its own does not link the clients of all other groups. It must not be nil.
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
	// Timeout is the request timeout of the client that Apply gets, as adapter/loop sets
	// it; 0 means DefaultTimeout. With a client that waits longer, a create may arrive
	// later than the rules expect, and the maximum may be exceeded.
	Timeout time.Duration
	MaxAge  time.Duration // of a plan that Apply carries out; 0 means twice Timeout
	// Terms decide whether this process may act, such as those of its lease; NewTracker needs
	// them. Plan and Apply ask, Apply before each batch and request. When a term begins, the
	// Jobs are read anew before one is created or a finished one is deleted, and plans of
	// before stop. For List and Observe, nil is [requests.OneShot].
	Terms *requests.Terms
	// Changed, if set, is called after the number of a tracked owner's unfinished or
	// terminating Jobs has changed in the cache, and when creating may go on after a prune, also
	// one that was not answered, or begin in a term. It may be called from several goroutines at
	// once, and must not block.
	Changed func(Owner)

	hub hub.Options // of a hub.Client: the owners are in another cluster
}

// A Tracker counts the Jobs of owners from watch events, plans polls and carries
// them out. A plan makes no request, and its cost depends on the number of Jobs only if
// some have changed or are to be deleted. A Tracker may be used from several goroutines.
//
// A Tracker acts in the terms of Options.Terms only, and may watch before the first.
type Tracker struct {
	options   Options
	selector  labels.Selector
	now       func() time.Time // of requests; tests replace it
	termStart time.Time        // when the term began

	jobFeeds, podFeeds feed.Group // none if nothing is watched

	mu     sync.Mutex
	term   *requests.Term // when it was last asked for; nil is none
	swept  time.Time      // when owners without anything were last forgotten
	owners map[types.UID]*owned
	jobs   map[types.UID]*job
	// unfinished counts Jobs by the names of owners in their controller references.
	unfinished map[string]int32
	pods       pods.Table
	changing   map[*owned]bool // for which Options.Changed is to be called; nil outside of changes
}

// NewTracker returns a tracker that [Tracker.Run] starts. The client watches:
// it must not have a timeout, which would end a watch, and must not be nil. An error has
// every problem of the options.
func NewTracker(client Client, o Options) (*Tracker, error) {
	var problems field.Errors
	problems.Check(o.Terms != nil, "Options.Terms", o.Terms, "the terms of a lease, or requests.OneShot()")
	o.hub = hub.OptionsOf(client)
	t, err := newTracker(o)
	problems.Join("", err)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	t.join()
	t.watch(client)
	return t, nil
}

func newTracker(o Options) (*Tracker, error) {
	var problems field.Errors
	selector, err := labels.Parse(cmp.Or(o.Selector, LabelOwner))
	problems.Join("Options.Selector", err)
	problems.Check(o.Timeout >= 0, "Options.Timeout", o.Timeout, "a duration of 0 or more")
	problems.Check(o.MaxAge >= 0, "Options.MaxAge", o.MaxAge, "a duration of 0 or more")
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxAge = cmp.Or(o.MaxAge, 2*o.Timeout)
	if o.Terms == nil {
		o.Terms = requests.OneShot()
	}
	t := &Tracker{
		options: o, selector: selector, now: time.Now, term: o.Terms.Term(),
		owners: map[types.UID]*owned{}, jobs: map[types.UID]*job{}, unfinished: map[string]int32{}, pods: pods.Table{},
	}
	return t, problems.Err()
}

// List reads the Jobs of an owner, and their pods if Options.Pods is set, for a program
// that polls once. It returns a tracker that no event changes.
//
// List cannot detect a wrong namespace, because Jobs elsewhere are not listed. It does not
// know the creates that an earlier process or tracker sent in the last 2 Timeouts. Until
// they have arrived, each finished Job that Apply deletes may cost a Job above the maximum.
func List(ctx context.Context, client Client, target Target, o Options) (*Tracker, error) {
	t, err := Observe(target, o, nil, nil)
	if err != nil {
		return nil, err
	}
	namespace := target.Owner.Namespace
	jobs, err := client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{LabelSelector: t.selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list Jobs in %s: %w", namespace, err)
	}
	pods := &corev1.PodList{}
	if o.Pods {
		if pods, err = client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel}); err != nil {
			return nil, fmt.Errorf("list pods in %s: %w", namespace, err)
		}
	}
	t.observe(jobs.Items, pods.Items)
	return t, nil
}

// Observe returns a tracker of an owner that knows these Jobs and pods, and that no event
// changes. Jobs of other owners are ignored. It sends no request.
func Observe(target Target, o Options, jobs []batchv1.Job, ofJobs []corev1.Pod) (*Tracker, error) {
	t, err := newTracker(o)
	if err == nil {
		err = t.Track(target)
	}
	if err != nil {
		return nil, err
	}
	t.observe(jobs, ofJobs)
	return t, nil
}

func (t *Tracker) observe(jobs []batchv1.Job, ofJobs []corev1.Pod) {
	for i := range ofJobs {
		t.show(t.compact(&ofJobs[i]), false)
	}
	for i := range jobs {
		t.show(t.compact(&jobs[i]), false)
	}
}

// join makes the tracker's creates part of the mark that the term leaves on the lease.
func (t *Tracker) join() {
	if t.term != nil {
		t.term.Join(t.late(), t.settled)
	}
}

// settled reports whether the outcome of each create is known.
func (t *Tracker) settled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.owners {
		if o.set != nil && !o.set.Settled(t.now()) {
			return false
		}
	}
	return true
}

// Track starts to track an owner, or replaces its Target, which is an edit: plans
// that were made before stop. Equal targets are no edit; a strategy that holds a func
// is never equal. The error has every problem of the target. An owner that was tracked
// then stays so, with the Target of before; an owner that was not is not tracked.
func (t *Tracker) Track(target Target) error {
	if err := t.check(&target); err != nil {
		return fmt.Errorf("target %s/%s: %w", target.Owner.Namespace, target.Owner.Name, err)
	}
	tracked := target.tracked(t.options.hub.Place)
	stored := tracked.FailureBackoff.Checkpoint
	tracked.FailureBackoff.Checkpoint = FailureCheckpoint{} // which is no edit
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owner(tracked.Owner.UID)
	if o.target == nil || stored.Counted.After(o.failures.Counted) {
		o.failures = stored
	}
	switch {
	case reflect.DeepEqual(o.target, tracked):
		return nil
	}
	moved := o.namespace != tracked.Owner.Namespace
	o.target, o.namespace = tracked, tracked.Owner.Namespace
	switch {
	case o.set == nil:
		t.begin(o)
	case moved: // the view of the other namespace may be of before this term
		o.set.Synced(time.Time{})
		t.viewed(o)
	}
	o.finishedChanged, o.expiry = true, time.Time{}
	o.set.Stop()
	for _, j := range o.jobs {
		t.recount(j, *j)
	}
	return nil
}

// begin gives an owner the set of a term, which knows of no request. The caller shows it the Jobs.
func (t *Tracker) begin(o *owned) {
	start, marked := t.now().Add(-t.late()), false // of Observe, which knows of no request
	if len(t.jobFeeds) > 0 {
		start, marked = t.termStart, t.term.Marked()
	}
	o.set, o.plan, o.sent = slots.New(slots.Options{RequestLifetime: t.late(), Start: start, Marked: marked}), nil, nil
	t.viewed(o)
}

// leads returns nil if this process may act. A term begins when its lease has been taken. The Jobs
// are then read anew: a view of before is none, because another process may have acted since.
func (t *Tracker) leads() error {
	now := t.options.Terms.Term()
	if now == t.term {
		return now.Err()
	}
	t.term, t.termStart = now, t.now()
	if len(t.jobFeeds) > 0 {
		t.join()
	}
	t.jobFeeds.Reset(t.termStart)
	for _, o := range t.owners {
		switch {
		case o.target != nil:
			t.begin(o)
			for _, j := range o.jobs {
				t.recount(j, *j)
			}
		case o.set != nil:
			o.set, o.plan, o.sent = nil, nil, nil
			t.drop(o)
		}
	}
	return now.Err()
}

// sweep forgets owners that are no longer tracked, and from which no create is expected.
func (t *Tracker) sweep() {
	if now := t.now(); now.Sub(t.swept) > t.late() {
		t.swept = now
		for _, o := range t.owners {
			t.drop(o)
		}
	}
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
		job := target.tracked(t.options.hub.Place).build(1, nil)
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
		if o.target = nil; o.set != nil {
			o.set.Stop()
		}
		t.drop(o)
	}
}

// Plan decides one poll: which outdated and finished Jobs to delete, and how many to
// create. It makes no request. If the Jobs are not known, nothing is created or
// deleted: the owner is not tracked, the cache has not synced in this term, or the Jobs belong to
// an owner with another UID or namespace.
func (t *Tracker) Plan(owner types.UID, metrics []scaling.Metric, now time.Time) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	leads := t.leads()
	o := t.owners[owner]
	if o == nil || o.target == nil {
		return unknown(Plan{Owner: owner, Decision: scaling.Decide(scaling.Policy{}, scaling.Observation{Metrics: metrics})}, "the owner is not tracked")
	}
	unlisted := t.unlisted(o)
	plan := o.decide(metrics, unlisted == nil, now)
	switch {
	case unlisted != nil:
		plan = unknown(plan, unlisted.Error())
	case plan.Create > 0 && t.mistaken(o):
		plan = unknown(o.decide(metrics, false, now), "unfinished Jobs have the owner's name and another UID")
	}
	if leads != nil {
		plan.hold(append(plan.Holds, slots.Hold{Reason: NotLeading, Text: leads.Error(), Count: 1, StopsCreates: true}))
	}
	plan.created, plan.term = t.now(), t.term
	return plan
}

// unknown returns a plan with the reason why the Jobs are not known.
func unknown(p Plan, text string) Plan {
	p.Holds = []slots.Hold{{Reason: JobsUnknown, Text: text, Count: 1, StopsCreates: true}}
	return p
}

// Reasons of Plan.Holds beside those of package slots.
const (
	JobsUnknown slots.Reason = "JobsUnknown" // the owner's Jobs are not known
	NotLeading  slots.Reason = "NotLeading"  // this process is in no term
)

// Jobs returns the owner's Jobs in no order, Jobs in flight last, and reports whether they
// are known. It returns no Jobs for an owner that is not tracked.
func (t *Tracker) Jobs(owner types.UID) (jobs []Job, listed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.listedOwner(owner); o != nil {
		return o.describe(), true
	}
	return nil, false
}

// Counts returns the counts of the owner's unfinished Jobs, and whether they are known.
func (t *Tracker) Counts(owner types.UID, now time.Time) (counts scaling.JobCounts, listed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.listedOwner(owner); o != nil {
		return o.counts(now, nil), true
	}
	return counts, false
}

// listedOwner returns the tracked owner, or nil if its Jobs are not known.
func (t *Tracker) listedOwner(owner types.UID) *owned {
	_ = t.leads() // a term may have begun
	o := t.owners[owner]
	if o == nil || o.target == nil || t.unlisted(o) != nil || t.mistaken(o) {
		return nil
	}
	return o
}

// mistaken reports whether an owner seems to have no Jobs only because its UID is wrong:
// unfinished Jobs in its namespace have its name and another UID. Jobs in other namespaces
// do not matter, because anybody may have made them.
func (t *Tracker) mistaken(o *owned) bool {
	if o.phases != [InFlight]int32{} || o.flying() > 0 {
		return false
	}
	return t.unfinished[o.target.Owner.called()] > 0
}

// late is L, the time after which a request can no longer arrive.
func (t *Tracker) late() time.Duration { return 2 * t.options.Timeout }
