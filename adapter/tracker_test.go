package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// An informer is a shared informer whose events come when the test says so. What
// it does not have, a tracker does not use.
type informer struct {
	cache.SharedIndexInformer
	cache.Indexer
	handlers []cache.ResourceEventHandler
	unsynced bool
}

func newInformer() *informer {
	return &informer{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
}

func (i *informer) GetIndexer() cache.Indexer                 { return i.Indexer }
func (i *informer) AddIndexers(indexers cache.Indexers) error { return i.Indexer.AddIndexers(indexers) }
func (i *informer) HasSynced() bool                           { return !i.unsynced }
func (i *informer) HasSyncedChecker() cache.DoneChecker       { panic("not used") }
func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return i, nil
}

// put stores an object, and returns the event that tells of it.
func (i *informer) put(o metav1.Object) func() {
	before, exists, _ := i.Get(o)
	if err := i.Update(o); err != nil {
		panic(err)
	}
	return func() {
		for _, h := range i.handlers {
			if exists {
				h.OnUpdate(before, o)
			} else {
				h.OnAdd(o, false)
			}
		}
	}
}

// drop deletes an object; where the deletion was missed, the event knows the
// object's last known state only.
func (i *informer) drop(o metav1.Object, missed bool) func() {
	if err := i.Indexer.Delete(o); err != nil {
		panic(err)
	}
	return func() {
		var object any = o
		if missed {
			key, _ := cache.MetaNamespaceKeyFunc(o)
			object = cache.DeletedFinalStateUnknown{Key: key, Obj: o}
		}
		for _, h := range i.handlers {
			h.OnDelete(object)
		}
	}
}

func newTracker(t require.TestingT) (*adapter.Tracker, *informer, *informer) {
	jobs, pods := newInformer(), newInformer()
	tracker, err := adapter.NewTracker(jobs, pods)
	require.NoError(t, err)
	return tracker, jobs, pods
}

// recount is the Fleet of an owner from what the informers have.
func recount(o adapter.Observation, jobs, pods *informer) (all []adapter.Job) {
	var js []batchv1.Job
	var ps []corev1.Pod
	for _, j := range jobs.List() {
		js = append(js, *j.(*batchv1.Job))
	}
	for _, p := range pods.List() {
		ps = append(ps, *p.(*corev1.Pod))
	}
	return o.Classify(js, ps)
}

// Whatever happens to Jobs and pods, however late their events are told and how
// often, once all are told the counts are those of a recount.
func propTracker(t *rapid.T) {
	tracker, jobs, pods := newTracker(t)
	owners := []types.UID{"a", "b", "c"}
	seen := map[types.UID]adapter.Observation{}
	follow := func(t *rapid.T) {
		o := adapter.Observation{Owner: rapid.SampledFrom(owners[:2]).Draw(t, "owner"), Namespace: "n", PodsKnown: rapid.IntRange(0, 3).Draw(t, "pods known") > 0}
		if rapid.Bool().Draw(t, "by condition") {
			o.PendingPodConditions = []string{"Ready"}
		}
		require.NoError(t, tracker.Follow(o))
		seen[o.Owner] = o
	}
	var late []func()
	tell := func(event func()) {
		if late = append(late, event); len(late) > 3 {
			late[0]()
			late = late[1:]
		}
	}
	ids, uid := rapid.IntRange(0, 3), 0
	space := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"n", "n", "n", "copies"}).Draw(t, "namespace")
	}
	anyJob := func(t *rapid.T) *batchv1.Job {
		name := fmt.Sprint("job-", ids.Draw(t, "job"))
		uid++
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space(t), UID: types.UID(fmt.Sprint(uid))}}
		if before, ok, _ := jobs.GetByKey(j.Namespace + "/" + name); ok && rapid.IntRange(0, 3).Draw(t, "same") > 0 {
			j.UID = before.(*batchv1.Job).UID
		}
		if rapid.IntRange(0, 9).Draw(t, "owned") > 0 {
			j.OwnerReferences = []metav1.OwnerReference{{UID: rapid.SampledFrom(owners).Draw(t, "of"), Controller: new(true)}}
		}
		j.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "minute")) * time.Minute))
		j.Annotations = map[string]string{adapter.AnnotationGeneration: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "generation"))}
		for _, change := range []func(*batchv1.Job){deleting, suspended, having(batchv1.JobComplete), having(batchv1.JobFailed), having(batchv1.JobFailureTarget)} {
			if rapid.IntRange(0, 9).Draw(t, "changed") == 0 {
				change(j)
			}
		}
		if rapid.Bool().Draw(t, "ready") {
			j.Status.Ready = new(int32(1))
		}
		return j
	}
	anyPod := func(t *rapid.T) *corev1.Pod {
		name := fmt.Sprint("job-", ids.Draw(t, "job"))
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", ids.Draw(t, "pod")), Namespace: "n"}}
		if j, ok, _ := jobs.GetByKey("n/" + name); ok {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: name, UID: j.(*batchv1.Job).UID, Controller: new(true)}}
		}
		p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase")
		if rapid.Bool().Draw(t, "ready") {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return p
	}
	follow(t)
	t.Repeat(map[string]func(*rapid.T){
		"job": func(t *rapid.T) { tell(jobs.put(anyJob(t))) },
		"pod": func(t *rapid.T) { tell(pods.put(anyPod(t))) },
		"job goes": func(t *rapid.T) {
			if o, ok, _ := jobs.GetByKey(fmt.Sprint(space(t), "/job-", ids.Draw(t, "job"))); ok {
				tell(jobs.drop(o.(*batchv1.Job), rapid.Bool().Draw(t, "missed")))
			}
		},
		"pod goes": func(t *rapid.T) {
			if o, ok, _ := pods.GetByKey(fmt.Sprint("n/pod-", ids.Draw(t, "pod"))); ok {
				tell(pods.drop(o.(*corev1.Pod), rapid.Bool().Draw(t, "missed")))
			}
		},
		"resync": func(t *rapid.T) {
			for _, o := range jobs.List() {
				tell(jobs.put(o.(*batchv1.Job)))
			}
		},
		"follow": follow,
		"forget": func(t *rapid.T) {
			o := rapid.SampledFrom(owners).Draw(t, "owner")
			tracker.Forget(o)
			delete(seen, o)
		},
		"": func(t *rapid.T) {
			for len(late) > 0 {
				late[0]()
				late = late[1:]
			}
			before := noon.Add(time.Duration(rapid.IntRange(-1, 10).Draw(t, "stuck before")) * time.Minute)
			for _, owner := range owners {
				o, followed := seen[owner]
				known := tracker.View(owner, func(f *adapter.Fleet) {
					want := recount(o, jobs, pods)
					require.Equal(t, adapter.Count(want, before), f.Count(before))
					var got []adapter.Job
					for j := range f.All() {
						got = append(got, j)
					}
					require.ElementsMatch(t, want, got)
				})
				require.Equal(t, followed, known)
			}
		},
	})
}

func TestTrackerIsARecount(t *testing.T) { rapid.Check(t, propTracker) }

func FuzzTrackerIsARecount(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propTracker)) }

// A Fleet that has changed in any way plans what one made from scratch does.
func propFleet(t *rapid.T) {
	var f adapter.Fleet
	p := adapter.Poll{ScaledJob: &adapter.ScaledJob{}, Now: noon.Add(time.Hour)}
	p.Config.Revision = generation(2)
	p.Config.StuckAfter = time.Hour
	t.Repeat(map[string]func(*rapid.T){
		"set": func(t *rapid.T) {
			f.Set(adapter.Job{
				Name: fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "name")), UID: types.UID(fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "uid"))),
				Phase: adapter.Phase(rapid.IntRange(0, int(adapter.Failed)).Draw(t, "phase")), NeverRan: rapid.Bool().Draw(t, "never ran"),
				Since:    noon.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "since")) * time.Minute),
				Deleting: rapid.Bool().Draw(t, "deleting"), Revision: generation(rapid.Int64Range(0, 3).Draw(t, "generation")),
				Finished: noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "finished"))),
			})
		},
		"remove": func(t *rapid.T) { f.Remove(fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "name"))) },
		"": func(t *rapid.T) {
			p.Config.Rollout = rollout.Policy{Strategy: rapid.SampledFrom([]rollout.Strategy{rollout.Gradual, rollout.Immediate, rollout.Drain}).Draw(t, "rollout")}
			p.Config.History.Succeeded, p.Config.History.Failed = anyLimit(t), anyLimit(t)
			p.Now = noon.Add(time.Hour + time.Duration(rapid.IntRange(-2, 2).Draw(t, "now"))*time.Minute)
			var jobs []adapter.Job
			for j := range f.All() {
				jobs = append(jobs, j)
			}
			want, got := adapter.NewPlan(p, adapter.NewFleet(jobs)), adapter.NewPlan(p, &f)
			require.Equal(t, want.Delete, got.Delete)
			require.Equal(t, want.Decision, got.Decision)
		},
	})
}

func TestFleetIsARecount(t *testing.T) { rapid.Check(t, propFleet) }

func FuzzFleetIsARecount(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propFleet)) }

func TestNotSynced(t *testing.T) {
	for _, which := range []string{"jobs", "pods"} {
		tracker, jobs, pods := newTracker(t)
		jobs.unsynced, pods.unsynced = which == "jobs", which == "pods"
		p := poll(t)
		require.NoError(t, tracker.Follow(adapter.Observation{Owner: p.Owner.UID}))
		require.False(t, tracker.HasSynced())
		plan := tracker.Plan(p)
		require.Zero(t, plan.Create)
		require.Equal(t, scaling.RuleJobsUnknown, plan.Decision.Rule)
		jobs.unsynced, pods.unsynced = false, false
		require.Equal(t, int64(4), tracker.Plan(p).Create)
	}
	tracker, _, _ := newTracker(t)
	require.Equal(t, scaling.RuleJobsUnknown, tracker.Plan(poll(t)).Decision.Rule, "an owner that is not followed")
}

func TestPodsMustBeWatched(t *testing.T) {
	tracker, err := adapter.NewTracker(newInformer(), nil)
	require.NoError(t, err)
	require.ErrorContains(t, tracker.Follow(adapter.Observation{Owner: owner, PodsKnown: true}), "PodsKnown")
	require.NoError(t, tracker.Follow(adapter.Observation{Owner: owner}))
}

// A bench is a tracker whose cache shows nothing until it is told to.
type bench struct {
	*adapter.Tracker
	jobs   *informer
	client *fake.Clientset
	poll   adapter.Poll
}

func newBench(t *testing.T, queue float64) *bench {
	tracker, jobs, _ := newTracker(t)
	p := poll(t)
	p.Metrics[0].Value = 5 * queue
	p.Config.Policy.Bounds.Max = 20
	require.NoError(t, tracker.Follow(adapter.Observation{Owner: p.Owner.UID}))
	return &bench{tracker, jobs, fake.NewClientset(), p}
}

// show lets the cache see the Jobs of the API server whose number ok allows.
func (b *bench) show(t *testing.T, ok func(string) bool) {
	for _, j := range list(t, b.client) {
		if ok(j.Annotations[adapter.AnnotationSequence]) {
			j.CreationTimestamp = metav1.NewTime(b.poll.Now)
			j.UID = types.UID(j.Name)
			b.jobs.put(&j)()
		}
	}
}

func everyone(string) bool { return true }

// apply makes a poll's plan and carries it out.
func (b *bench) apply(t *testing.T) (adapter.Result, error) {
	return b.Tracker.Apply(t.Context(), b.client, b.Tracker.Plan(b.poll))
}

// However late the cache is, polls create what is asked for once.
func TestStaleCache(t *testing.T) {
	b := newBench(t, 10)
	for range 5 {
		_, err := b.apply(t)
		require.NoError(t, err)
		require.Len(t, list(t, b.client), 10)
		b.poll.Now = b.poll.Now.Add(time.Second)
	}
	plan := b.Tracker.Plan(b.poll)
	require.Equal(t, int64(10), plan.Decision.Trace.Jobs.InFlight)
	b.show(t, everyone)
	plan = b.Tracker.Plan(b.poll)
	require.Zero(t, plan.Decision.Trace.Jobs.InFlight)
	require.Zero(t, plan.Create)
}

// Even a cache that is later than creates hold room for doubles nothing.
func TestExpiry(t *testing.T) {
	b := newBench(t, 100)
	for range 3 {
		r, err := b.apply(t)
		require.NoError(t, err)
		require.Equal(t, int64(20), r.Created)
		require.Len(t, list(t, b.client), 20)
		b.poll.Now = b.poll.Now.Add(2 * time.Minute)
	}
}

// A create that was not answered is tried again under its name, whether the
// process knows of it or has been restarted.
func TestUnanswered(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, succeeded := range []bool{false, true} {
			b := newBench(t, 7)
			lost := 0
			b.client.PrependReactor("create", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
				j := a.(ktesting.CreateAction).GetObject().(*batchv1.Job)
				if n := j.Annotations[adapter.AnnotationSequence]; lost > 0 || n != "5" {
					return false, nil, nil
				}
				lost++
				if succeeded {
					if err := b.client.Tracker().Add(j); err != nil {
						return true, nil, err
					}
				}
				return true, nil, errors.New("connection reset by peer")
			})
			r, err := b.apply(t)
			var failed *adapter.CreateError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, int64(6), r.Created)
			b.show(t, func(n string) bool { return n != "5" })
			if restart {
				b.Forget(b.poll.Owner.UID)
				require.NoError(t, b.Follow(adapter.Observation{Owner: b.poll.Owner.UID}))
			}
			r, err = b.apply(t)
			require.NoError(t, err)
			require.Equal(t, int64(1), r.Created)
			require.Len(t, list(t, b.client), 7, "restart %v, succeeded %v", restart, succeeded)
		}
	}
}

// What the API server has refused holds no room.
func TestRefusedHoldsNoRoom(t *testing.T) {
	b := newBench(t, 7)
	refuse := true
	b.client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) { return refuse, nil, forbidden() })
	_, err := b.apply(t)
	require.True(t, apierrors.IsForbidden(err))
	require.Zero(t, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
	refuse = false
	r, err := b.apply(t)
	require.NoError(t, err)
	require.Equal(t, int64(7), r.Created)
}

// A create that was not answered under an older generation holds room: its name
// will not be tried again.
func TestUnansweredUnderAnOlderGeneration(t *testing.T) {
	b := newBench(t, 1)
	fail := true
	b.client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
		return fail, nil, apierrors.NewTimeoutError("no answer", 1)
	})
	_, err := b.apply(t)
	require.Error(t, err)
	require.Zero(t, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
	b.poll.Config.Revision.Generation++
	require.Equal(t, int64(1), b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
	b.poll.Now = b.poll.Now.Add(time.Hour)
	require.Zero(t, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
}

// Two writers, the second of which has seen any part of what the first has
// created, together create no more than one would have.
func propTwoWriters(t *rapid.T, outer *testing.T) {
	first, second := newBench(outer, 30), newBench(outer, 30)
	second.client = first.client
	ready := rapid.Int64Range(0, 20).Draw(t, "max of the first")
	first.poll.Config.Policy.Bounds.Max = ready
	_, err := first.apply(outer)
	require.NoError(t, err)
	shown := rapid.SliceOfN(rapid.Bool(), 21, 21).Draw(t, "shown")
	second.show(outer, func(n string) bool {
		var i int
		fmt.Sscan(n, &i)
		return shown[i]
	})
	_, err = second.apply(outer)
	require.NoError(t, err)
	require.LessOrEqual(t, len(list(outer, first.client)), 20)
	second.show(outer, everyone)
	_, err = second.apply(outer)
	require.NoError(t, err)
	require.Len(t, list(outer, first.client), 20)
}

func TestTwoWriters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { propTwoWriters(rt, t) })
}

// A Job that was deleted is terminating before the cache shows it, and is not
// deleted twice.
func TestDeletedIsTerminating(t *testing.T) {
	b := newBench(t, 3)
	_, err := b.apply(t)
	require.NoError(t, err)
	b.show(t, everyone)
	b.poll.Config.Revision.Generation++
	b.poll.Config.Rollout = rollout.DefaultPolicy()
	r, err := b.apply(t)
	require.NoError(t, err)
	require.Equal(t, 3, r.RolledOut)
	look := func() scaling.Jobs {
		plan := b.Tracker.Plan(b.poll)
		require.Empty(t, plan.Delete)
		return plan.Decision.Trace.Jobs
	}
	require.Equal(t, int64(3), look().Terminating)
	stale := b.jobs.List()[0].(*batchv1.Job).DeepCopy()
	b.jobs.put(stale)()
	require.Equal(t, int64(3), look().Terminating, "an event from before the deletion")
	stale = stale.DeepCopy()
	stale.UID, stale.Annotations[adapter.AnnotationGeneration] = "another", "3"
	b.jobs.put(stale)()
	require.Equal(t, int64(2), look().Terminating, "another Job under the name")
}

func TestForgottenWhileApplying(t *testing.T) {
	b := newBench(t, 3)
	plan := b.Tracker.Plan(b.poll)
	b.Forget(b.poll.Owner.UID)
	_, err := b.Tracker.Apply(t.Context(), b.client, plan)
	require.NoError(t, err)
}

func TestCancelledCreatesAreNotInFlight(t *testing.T) {
	b := newBench(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Tracker.Apply(ctx, b.client, b.Tracker.Plan(b.poll))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, b.client.Actions())
	require.Zero(t, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight)
}

// Real informers, with what the tracker does not need stripped.
func TestInformers(t *testing.T) {
	b := newBench(t, 3)
	jobs, pods := adapter.JobInformer(b.client, ""), adapter.PodInformer(b.client, "shop")
	tracker, err := adapter.NewTracker(jobs, pods)
	require.NoError(t, err)
	again, err := adapter.NewTracker(jobs, pods)
	require.NoError(t, err, "two trackers of the same informers")
	b.Tracker = tracker
	for _, tr := range []*adapter.Tracker{tracker, again} {
		require.NoError(t, tr.Follow(adapter.Observation{Owner: b.poll.Owner.UID, PodsKnown: true}))
	}
	require.False(t, tracker.HasSynced())
	go jobs.RunWithContext(t.Context())
	go pods.RunWithContext(t.Context())
	require.Eventually(t, tracker.HasSynced, 10*time.Second, time.Millisecond)
	_, err = b.apply(t)
	require.NoError(t, err)
	for _, tr := range []*adapter.Tracker{tracker, again} {
		require.Eventually(t, func() bool {
			n := 0
			tr.View(b.poll.Owner.UID, func(f *adapter.Fleet) { n = f.Len() })
			return n == 3
		}, 10*time.Second, time.Millisecond)
	}
	stored := jobs.GetStore().List()[0].(*batchv1.Job)
	require.Empty(t, stored.Spec.Template.Spec.Containers)
	require.Len(t, stored.Annotations, 3)
}

func TestErrorCodes(t *testing.T) {
	for code, holds := range map[int]int64{
		http.StatusBadRequest: 0, http.StatusTooManyRequests: 0, http.StatusRequestTimeout: 1,
		http.StatusInternalServerError: 1, http.StatusServiceUnavailable: 1, http.StatusGatewayTimeout: 1,
	} {
		b := newBench(t, 1)
		b.client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(code)}}
		})
		_, err := b.apply(t)
		require.Error(t, err)
		b.poll.Config.Revision.Generation++
		require.Equal(t, holds, b.Tracker.Plan(b.poll).Decision.Trace.Jobs.InFlight, "%d", code)
	}
}
