package adapter

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/test/premise"
)

func having(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)})
	}
}

func deleting(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.NewTime(noon)) }

// jobOf returns a Job of the target with a UID and these changes.
func jobOf(target Target, n int64, changes ...func(*batchv1.Job)) *batchv1.Job {
	j := target.NewJob(n)
	j.UID, j.CreationTimestamp = types.UID(fmt.Sprint("uid-", n)), metav1.NewTime(noon)
	for _, change := range changes {
		change(j)
	}
	return j
}

func podOf(j *batchv1.Job, phase corev1.PodPhase, conditions ...corev1.PodConditionType) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace, Name: j.Name + "-pod", UID: "pod-" + j.UID,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, c := range conditions {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue})
	}
	return p
}

// Each problem of a target is reported, all at once, and nothing is tracked.
func TestValidate(t *testing.T) {
	w, err := newTracker(Options{})
	require.NoError(t, err)
	err = w.Track(Target{StuckAfter: -1, Rollout: rollout.Policy{Strategy: 9}, History: history.Policy{Succeeded: history.Keep(-3)},
		FailureBackoff: FailureBackoff{Max: time.Minute}, Policy: scaling.Policy{Bounds: scaling.Bounds{Min: -1}}})
	var paths []string
	for _, p := range field.All(err) {
		paths = append(paths, p.Path)
	}
	require.Equal(t, []string{
		"Owner.APIVersion", "Owner.Kind", "Owner.Namespace", "Owner.Name", "Owner.UID", "Job", "Policy.Bounds.Min", "History.Succeeded", "Rollout.Strategy", "StuckAfter",
		"FailureBackoff.Initial", "Revision.Generation",
	}, paths)
	require.Empty(t, w.owners)

	target := newTarget()
	target.Job.Finalizers = []string{"example.com/a"}
	target.Job.Spec.TTLSecondsAfterFinished = new(int32(-1))
	target.Job.Namespace, target.Job.Labels, target.Job.Spec.Template.Spec.Containers = "mail", map[string]string{"a": "b c"}, nil
	err = w.Track(target)
	require.EqualError(t, err, `target shop/orders: Job.Namespace: found "mail"; use "shop", the namespace of the owner
Job.Finalizers: found example.com/a; use none; Jobs are created without finalizers
Job.Spec.TTLSecondsAfterFinished: found -1; use 0 or more
Job.Spec.Template.Spec.Containers: found none; use at least one container
Job.Labels[a]: found "b c"; use a valid label value`)

	for options, want := range map[*Options]string{
		{Namespace: "mail"}: `target shop/orders: Owner.Namespace: found "shop"; use "mail", the only namespace that the tracker watches`,
		{Selector: "app=x"}: `target shop/orders: Job.Labels: found map[scaledjob.github.io/owner-uid:0f8fad5b-d9cb-469f-a165-70867728950e]; use labels that the tracker selects (app=x)`,
	} {
		w, err := newTracker(*options)
		require.NoError(t, err)
		require.EqualError(t, w.Track(newTarget()), want)
	}
	w, err = newTracker(Options{})
	require.NoError(t, err)
	target = newTarget()
	target.PendingPodConditions = []string{"Ready"}
	require.EqualError(t, w.Track(target), `target shop/orders: PendingPodConditions: found [Ready]; use none, or a tracker with Options.Pods`)
	_, err = newTracker(Options{Selector: "a in"})
	require.ErrorContains(t, err, "Options.Selector")
	_, err = newTracker(Options{Timeout: -1})
	require.EqualError(t, err, "Options.Timeout: found -1ns; use a duration of 0 or more")
}

// A wrong UID that hides the owner's Jobs is not an empty set of Jobs.
func TestMistaken(t *testing.T) {
	s, target, wrong := newServer(), newTarget(), newTarget()
	newWriter(t, s, target, Options{}).poll(1)
	wrong.Owner.UID = "another"
	w := newWriter(t, s, wrong, Options{})
	w.catchUp(t)
	plan := w.Plan(wrong.Owner.UID, items(3), noon)
	require.Zero(t, plan.Create)
	require.Equal(t, scaling.ReasonJobsUnknown, plan.Decision.Reason)
	require.Equal(t, scaling.ReasonInactive, w.Plan(wrong.Owner.UID, items(0), noon).Decision.Reason, "it is looked for before a create")
	_, known := w.Counts(wrong.Owner.UID, noon)
	require.False(t, known)
	for _, j := range s.all(t) { // such as the garbage collector of an owner that was created anew
		w.show(s.change(t, &j, deleting))
	}
	require.Equal(t, int64(3), w.Plan(wrong.Owner.UID, items(3), noon).Create)
}

// Whoever may create objects in another namespace changes no decision about an owner.
func propForger(t *rapid.T) {
	target := newTarget()
	target.StuckAfter, target.History, target.Rollout = time.Minute, keepNone, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	o := Options{Terms: requests.OneShot(), Pods: true}
	a, b := newWriter(t, newServer(), target, o), newWriter(t, newServer(), target, o)
	if rapid.Bool().Draw(t, "tracked after the Jobs are listed") {
		for _, w := range []*writer{a, b} {
			w.Untrack(ownerUID)
		}
	}
	rename := func(j *batchv1.Job, uid string) {
		j.OwnerReferences[0].UID, j.Labels[LabelOwner] = types.UID(uid), uid
	}
	genuine := func() {
		before := rapid.Bool().Draw(t, "of the owner before")
		for n := range rapid.Int64Range(0, 4).Draw(t, "Jobs") {
			j := jobOf(target, n+1, rapid.SampledFrom([]func(*batchv1.Job){ready, complete, func(*batchv1.Job) {}}).Draw(t, "state"))
			if before {
				rename(j, "before")
			}
			a.show(j)
			b.show(j)
		}
	}
	first := rapid.Bool().Draw(t, "genuine Jobs first")
	if first {
		genuine()
	}
	for n := range rapid.Int64Range(1, 4).Draw(t, "forged") {
		change := rapid.SampledFrom([]func(*batchv1.Job){ready, complete, deleting, func(j *batchv1.Job) { j.Spec.Suspend = new(true) }}).Draw(t, "forged state")
		j := jobOf(target, rapid.Int64Range(1, 4).Draw(t, "number"), change)
		rename(j, rapid.SampledFrom([]string{string(ownerUID), "another", "before"}).Draw(t, "forged UID"))
		j.Namespace, j.UID = "mail", types.UID(fmt.Sprint("forged-", n))
		b.show(j)
		p := podOf(jobOf(target, n+1), corev1.PodRunning)
		p.Namespace = "mail"
		p.Labels = map[string]string{batchv1.ControllerUidLabel: fmt.Sprint("uid-", n+1), batchv1.JobNameLabel: target.NewJob(n + 1).Name}
		b.showPod(p)
	}
	if !first {
		genuine()
	}
	target.Revision.Generation = 2
	require.NoError(t, a.Track(target))
	require.NoError(t, b.Track(target))
	require.Equal(t, a.owners[ownerUID].set.Unfinished(), b.owners[ownerUID].set.Unfinished())
	counts, _ := a.Counts(ownerUID, noon.Add(time.Hour))
	beside, _ := b.Counts(ownerUID, noon.Add(time.Hour))
	require.Equal(t, counts, beside)
	for _, demand := range []float64{0, 3, 30} {
		x, y := a.Plan(ownerUID, items(demand), noon.Add(time.Hour)), b.Plan(ownerUID, items(demand), noon.Add(time.Hour))
		x.target, y.target = nil, nil
		require.Equal(t, x, y)
	}
}

func TestForger(t *testing.T) { rapid.Check(t, propForger) }

// The Jobs of an owner of another API group, with the same kind and name, are no mistake; those of
// another version of the API are.
func TestNamesakeOfAnotherGroup(t *testing.T) {
	for version, create := range map[string]int64{"another.org/v1": 3, "example.com/v1beta1": 0, "example.com/v1": 0, "v1": 3} {
		s, other := newServer(), newTarget()
		w := newWriter(t, s, newTarget(), Options{})
		_, err := w.poll(1)
		require.NoError(t, err)
		w.catchUp(t)
		other.Owner.APIVersion, other.Owner.UID = version, "another"
		require.NoError(t, w.Track(other))
		require.Equal(t, create, w.Plan("another", items(3), noon).Create, version)
	}
}

// An owner that was created anew creates its first Jobs after those of the owner before
// are gone. From then on Jobs of the name do not make its own Jobs unknown, before the cache
// shows one either.
func TestMistakenNoMore(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(2)
	require.NoError(t, err)
	before := newTarget()
	before.Owner.UID = "another"
	w.show(jobOf(before, 1, ready))
	counts, known := w.Counts(ownerUID, noon)
	require.True(t, known)
	require.Equal(t, scaling.JobCounts{InFlight: 2}, counts)
}

func TestNotKnown(t *testing.T) {
	s := newServer()
	w := newWriter(t, s, newTarget(), Options{})
	plan := w.Plan("another", items(3), noon)
	require.Equal(t, scaling.ReasonJobsUnknown, plan.Decision.Reason)
	w.jobFeed().Read = time.Time{}
	require.False(t, w.HasSynced())
	plan = w.Plan(ownerUID, items(3), noon)
	require.Equal(t, scaling.ReasonJobsUnknown, plan.Decision.Reason)
	_, known := w.Jobs(ownerUID)
	require.False(t, known)
	result, err := w.Apply(t.Context(), s, Plan{Owner: ownerUID, Create: 3})
	require.EqualError(t, err, "the plan is outdated: its Jobs are not known yet", "a plan of the caller's own")
	require.Zero(t, result)
	require.Empty(t, s.all(t))
	w.jobFeed().Read = noon
	require.Equal(t, int64(3), w.Plan(ownerUID, items(3), noon).Create)
	w.Untrack(ownerUID)
	require.Equal(t, scaling.ReasonJobsUnknown, w.Plan(ownerUID, items(3), noon).Decision.Reason)
	require.Empty(t, w.owners)
}

// Jobs of one name in two namespaces are two Jobs.
func TestTwoNamespaces(t *testing.T) {
	target := newTarget()
	w := newWriter(t, newServer(), target, Options{hub: inHub("home")})
	for i, namespace := range []string{"shop", "mail"} {
		j := target.tracked(hub.Place{Home: "home"}).build(1, nil)
		j.Namespace, j.UID = namespace, types.UID(fmt.Sprint(i))
		w.show(j)
	}
	counts, known := w.Counts(ownerUID, noon)
	require.True(t, known)
	require.Equal(t, scaling.JobCounts{Running: 2, Pending: 2}, counts)
}

// An owner that is not tracked is forgotten with its last Job.
func TestForgotten(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	w.show(jobOf(target, 1))
	w.Untrack(ownerUID)
	require.Len(t, w.owners, 1)
	w.gone(jobOf(target, 1))
	require.Empty(t, w.owners)
	require.Empty(t, w.jobs)
	require.Equal(t, scaling.ReasonJobsUnknown, w.Plan(ownerUID, items(1), noon).Decision.Reason)
}

// List asks for nothing if the target or the options are invalid, and for pods if they are
// needed.
func TestListAsks(t *testing.T) {
	invalid := newTarget()
	invalid.Owner.UID = ""
	for _, test := range []struct {
		target  Target
		options Options
		problem string
		asked   []string
	}{
		{invalid, Options{}, "Owner.UID", nil},
		{newTarget(), Options{Timeout: -1}, "Options.Timeout", nil},
		{newTarget(), Options{}, "", []string{"jobs"}},
		{newTarget(), Options{Pods: true}, "", []string{"jobs", "pods"}},
	} {
		s := newServer()
		w, err := List(t.Context(), s, test.target, test.options)
		var asked []string
		for _, a := range s.Actions() {
			asked = append(asked, a.GetResource().Resource)
		}
		require.Equal(t, test.asked, asked)
		if require.Equal(t, test.problem == "", w != nil); w == nil {
			require.ErrorContains(t, err, test.problem)
		}
	}
}

// An owner may be untracked, and another term begin, while a plan is carried out.
func TestUntrackedInNewTerm(t *testing.T) {
	lease := newLease(true)
	w := newWriter(t, newServer(), newTarget(), Options{Terms: lease.Terms})
	a, sent, _ := w.choose(t, 1)
	require.Len(t, sent, 1)
	w.show(jobOf(newTarget(), 5, ready))
	w.Untrack(ownerUID)
	lease.take(false)
	require.Empty(t, a.next(context.Background()))
}

// A label that somebody removes hides a running Job from the cache. Its name is taken
// still, so that the maximum holds.
func TestLabelRemoved(t *testing.T) {
	s, target := newServer(), newTarget()
	target.Policy.Bounds.Max = 2
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(5)
	require.NoError(t, err)
	w.catchUp(t)
	w.gone(&s.all(t)[0])
	for range 3 {
		result, _ := w.poll(5)
		require.Zero(t, result.Created)
		w.clock = w.clock.Add(late)
	}
	require.Equal(t, int64(2), s.unfinished(t))
}

func TestChanged(t *testing.T) {
	var calls int
	target := newTarget()
	w := newWriter(t, newServer(), target, Options{Changed: func(owner Owner) {
		require.Equal(t, target.Owner, owner)
		calls++
	}})
	j := jobOf(target, 1)
	for i, step := range []struct {
		event func()
		calls int
	}{
		{func() { w.show(j) }, 1},
		{func() { w.show(jobOf(target, 1, func(j *batchv1.Job) { j.Status.Ready = new(int32(1)) })) }, 1},
		{func() { w.show(jobOf(target, 1, deleting)) }, 2},
		{func() { w.show(jobOf(target, 1, complete)) }, 3},
		{func() { w.gone(j) }, 3},
		{func() { w.show(j) }, 4},
		{func() { w.gone(j) }, 5},
	} {
		step.event()
		require.Equal(t, step.calls, calls, i)
	}
}

// The counts are those of a tracker that has seen only the last state of each Job and
// pod, whatever happened before and in which order it was tracked.
func propRecount(t *rapid.T, c *premise.Counts) {
	target, other := newTarget(), newTarget()
	other.Owner.UID, other.Owner.Name = "other", "other"
	w := newWriter(t, newServer(), target, Options{Pods: true})
	jobs, pods := map[int64]*batchv1.Job{}, map[int64]*corev1.Pod{}
	n := rapid.Int64Range(1, 4)
	changes := map[string]func(*batchv1.Job){
		"nothing": func(*batchv1.Job) {}, "deleting": deleting, "complete": complete, "failed": having(batchv1.JobFailed),
		"failing": having(batchv1.JobFailureTarget), "suspended": func(j *batchv1.Job) { j.Spec.Suspend = new(true) },
		"active":   func(j *batchv1.Job) { j.Status.Active = 1 },
		"outdated": func(j *batchv1.Job) { j.Annotations[AnnotationGeneration] = "1" },
	}
	names := []string{"nothing", "deleting", "complete", "failed", "failing", "suspended", "active", "outdated"}
	incarnation, withPods, older := 0, false, false
	t.Repeat(map[string]func(*rapid.T){
		"job": func(t *rapid.T) {
			i := n.Draw(t, "number")
			of := target
			if rapid.IntRange(0, 4).Draw(t, "owner") == 0 {
				of = other
			}
			j := jobOf(of, i, changes[rapid.SampledFrom(names).Draw(t, "change")])
			j.Name = target.NewJob(i).Name
			if rapid.IntRange(0, 4).Draw(t, "recreated") == 0 {
				incarnation++
				j.UID = types.UID(fmt.Sprint("incarnation-", incarnation))
			}
			if before := jobs[i]; before != nil && before.UID != j.UID {
				w.gone(before) // a watch shows the end of an object before another of its name
			}
			w.show(j)
			jobs[i] = j
		},
		"job gone": func(t *rapid.T) {
			i := n.Draw(t, "number")
			if j := jobs[i]; j != nil {
				if rapid.Bool().Draw(t, "missed") {
					w.gone(j)
				} else {
					_ = w.jobFeed().Delete(j)
				}
				delete(jobs, i)
			}
		},
		"pod": func(t *rapid.T) {
			i := n.Draw(t, "number")
			j := jobs[i]
			if j == nil {
				return
			}
			p := podOf(j, rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}).Draw(t, "phase"))
			if before := pods[i]; before != nil && before.UID != p.UID {
				_ = w.podFeed().Delete(before)
			}
			w.showPod(p)
			pods[i] = p
		},
		"pod gone": func(t *rapid.T) {
			i := n.Draw(t, "number")
			if p := pods[i]; p != nil {
				if rapid.Bool().Draw(t, "missed") {
					w.change(func() { w.Tracker.show(w.compact(p), true) })
				} else {
					_ = w.podFeed().Delete(p)
				}
				delete(pods, i)
			}
		},
		"edit": func(t *rapid.T) {
			target.Revision.Generation++
			target.Rollout.Strategy = rapid.SampledFrom([]rollout.Strategy{rollout.Gradual, rollout.Immediate, rollout.Drain}).Draw(t, "rollout")
			require.NoError(t, w.Track(target))
		},
		"untrack": func(t *rapid.T) {
			w.Untrack(ownerUID)
			require.NoError(t, w.Track(target))
		},
		"": func(t *rapid.T) {
			var js []batchv1.Job
			var ps []corev1.Pod
			for _, j := range jobs {
				js = append(js, *j)
			}
			for _, p := range pods {
				ps = append(ps, *p)
			}
			want, err := Observe(target, Options{Pods: true}, js, ps)
			require.NoError(t, err)
			a, b := want.owners[ownerUID], w.owners[ownerUID]
			require.Equal(t, len(a.jobs), len(b.jobs))
			a.outdated, b.outdated = 0, 0 // a Job that ran does not drain
			require.Equal(t, a.phases, b.phases)
			require.Equal(t, a.foreign, b.foreign)
			withPods = withPods || len(jobs) > 0 && len(pods) > 0
			older = older || slices.ContainsFunc(js, func(j batchv1.Job) bool { return j.Annotations[AnnotationGeneration] == "1" })
		},
	})
	c.Note("Jobs with pods", withPods)
	c.Note("outdated Jobs", older)
}

func TestRecount(t *testing.T) {
	premise.CheckN(t, 300, propRecount, premise.Least{"Jobs with pods": 0.3, "outdated Jobs": 0.1})
}

func FuzzRecount(f *testing.F) { premise.Fuzz(f, propRecount) }

// Observe and List know the same.
func TestList(t *testing.T) {
	ctx, client, target := context.Background(), newServer(), newTarget()
	target.History.Succeeded = history.Keep(0)
	for i, change := range []func(*batchv1.Job){func(*batchv1.Job) {}, complete} {
		_, err := client.BatchV1().Jobs("shop").Create(ctx, jobOf(target, int64(i+1), change), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w, err := List(ctx, client, target, Options{Pods: true})
	require.NoError(t, err)
	plan := w.Plan(ownerUID, items(3), noon)
	require.Equal(t, int64(2), plan.Create)
	require.Len(t, plan.Delete, 1)
	result, err := w.Apply(ctx, client, plan)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 2, Pruned: 1}, result)

	for _, resource := range []string{"jobs", "pods"} {
		failing := newServer()
		failing.PrependReactor("list", resource, failed)
		_, err = List(ctx, failing, target, Options{Pods: true})
		require.ErrorContains(t, err, "in shop: failed")
	}
}

// A list is taken over at once: nobody sees a part of it, in which the number of a Job
// that is gone would be free, and an older Job unknown.
func TestListAtOnce(t *testing.T) {
	target := newTarget()
	w := newWriter(t, newServer(), target, Options{})
	feed := w.jobFeed()
	require.NoError(t, feed.Replace([]any{jobOf(target, 2)}, ""))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			counts, _ := w.Counts(ownerUID, noon)
			if !assert.Equal(t, int64(1), counts.Running) {
				return
			}
		}
	}()
	for i := range int64(3000) {
		require.NoError(t, feed.Replace([]any{jobOf(target, i%2+1)}, ""))
	}
	stop.Store(true)
	<-done
}

// Metadata of the prototype that is in no Job is no edit.
func TestPrototypesOwnMetadata(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	plan := w.Plan(ownerUID, items(1), w.clock)
	target.Job = target.Job.DeepCopy()
	target.Job.ResourceVersion, target.Job.UID = "2", "x"
	require.NoError(t, w.Track(target))
	result, err := w.Apply(t.Context(), s, plan)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
}
