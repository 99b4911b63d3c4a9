package member_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

func TestJobsOfMembers(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b").ready()
	w.policy.Members = []jobs.Member{{Name: "a", Weight: 2}, {Name: "b", Weight: 3}}
	w.demand = 10
	w.overrides = map[string]member.Override{"b": {Namespace: "elsewhere", Pod: member.PodOverrides{
		ContainerOverrides: map[string]member.ContainerOverride{"processor": {Image: "own:1"}},
	}}}
	w.target.Job.Labels[member.LabelSource] = "reserved"
	w.track()
	reports := w.poll()
	noErrors(t, reports)
	require.Equal(t, []member.Report{
		{Cluster: "a", Result: adapter.Result{Created: 4}}, {Cluster: "b", Result: adapter.Result{Created: 6}},
	}, reports)
	names, creations := map[string]bool{}, map[string]bool{}
	for name, want := range map[string]struct {
		jobs             int
		namespace, image string
	}{"a": {4, "shop", "myapp:latest"}, "b": {6, "elsewhere", "own:1"}} {
		jobs := w.jobs(name)
		require.Len(t, jobs, want.jobs)
		for _, j := range jobs {
			names[j.Name] = true
			require.Empty(t, j.OwnerReferences)
			require.Equal(t, want.namespace, j.Namespace)
			require.Equal(t, want.image, j.Spec.Template.Spec.Containers[0].Image)
			require.Equal(t, "template-1", j.Annotations[adapter.AnnotationTemplateHash], "an override is no revision")
			creations[j.Labels[member.LabelCreation]] = true
			delete(j.Labels, member.LabelCreation)
			require.Equal(t, map[string]string{
				"team": "a", adapter.LabelOwner: string(owner), member.LabelHome: home,
				member.LabelOwnerNamespace: "shop", member.LabelSelector: "processor",
			}, j.Labels)
		}
	}
	require.Len(t, names, 10, "no two clusters have Jobs of one name")
	require.Len(t, creations, 10)
	require.Equal(t, "myapp:latest", w.target.Job.Spec.Template.Spec.Containers[0].Image)

	w.shown(10)
	require.Empty(t, w.poll(), "nothing more is to be done")
	w.demand = 15
	noErrors(t, w.poll())
	require.Len(t, w.jobs("a"), 6)
	require.Len(t, w.jobs("b"), 9)
}

// A replacement says what it replaces, in flight and after.
func TestReplacements(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b").ready()
	w.policy.Members = []jobs.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 0}}
	w.demand = 2
	w.sites["a"].SetClock(func() time.Time { return time.Now().Add(-time.Hour) })
	noErrors(t, w.poll())
	w.policy.Failover.GracePeriod, w.policy.Members = time.Minute, nil
	w.sites["b"].blind.Store(true)
	w.add("b", member.Options{})
	w.ready()
	w.eventually("both Jobs are stuck", func() bool {
		plan, _ := w.plan()
		return plan.Members[0].Jobs.Stuck == 2
	})
	noErrors(t, w.apply())
	sources := map[string]bool{}
	for _, j := range w.jobs("a") {
		sources[jobID(&j)] = true
	}
	replacements := w.jobs("b")
	require.Len(t, replacements, 2)
	for _, j := range replacements {
		require.Equal(t, "1", j.Labels[member.LabelAttempt])
		require.True(t, sources[j.Labels[member.LabelSource]])
		delete(sources, j.Labels[member.LabelSource])
	}
	check := func(flies bool) {
		all := w.observe()["b"].Jobs
		slices.SortFunc(all, func(a, b jobs.Job) int { return cmp.Compare(a.Name, b.Name) })
		for i, j := range all {
			require.Equal(t, jobs.Pending, j.Phase)
			require.Equal(t, flies, inFlight(&j))
			require.Equal(t, jobID(&replacements[i]), j.UID)
			require.Equal(t, jobs.Source{UID: replacements[i].Labels[member.LabelSource], Attempt: 1}, j.Replaces)
		}
	}
	check(true)
	require.Empty(t, w.poll(), "each has its replacement")
	w.sites["b"].blind.Store(false)
	w.add("b", member.Options{})
	w.ready()
	check(false)
	require.Empty(t, w.poll())

	w.policy.Failover.Duplication = jobs.PreferFailover
	w.change("b", runs)
	w.eventually("the sources are duplicates", func() bool { plan, _ := w.plan(); return len(plan.Duplicates) == 2 })
	reports := w.apply()
	noErrors(t, reports)
	require.Equal(t, 2, reports[0].Duplicates)
	require.Empty(t, w.jobs("a"))
	require.Len(t, w.jobs("b"), 2)
}

// A stuck Job is not deleted for a replacement that may not exist, and is for one
// that does.
func TestReplacementThatFails(t *testing.T) {
	for name, fault := range map[string]func(func() error) error{
		"reset": instead(errReset), "reset after success": after(errReset),
		"500": instead(status(500)), "500 after success": after(status(500)),
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testReplacementThatFails(t, fault) }) })
	}
}

func testReplacementThatFails(t *testing.T, fault func(func() error) error) {
	w := newFixture(t, member.Options{}, "a")
	w.sites["b"] = newSite("b")
	w.sites["b"].blind.Store(true)
	b := w.add("b", unchecked)
	w.ready()
	synctest.Wait() // its watch would fail below, so that it gets no Job before the next health check
	w.policy.Members = []jobs.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 0}}
	w.demand = 1
	w.sites["a"].SetClock(func() time.Time { return time.Now().Add(-time.Hour) })
	noErrors(t, w.poll())
	w.shown(1)
	w.policy.Failover = jobs.Failover{GracePeriod: time.Minute, Duplication: jobs.ImmediateSourceCleanup}
	w.policy.Members = nil
	w.sites["b"].breaks(func(_ context.Context, verb, _ string, send func() error) error {
		if verb == "create" {
			return fault(send)
		}
		return errReset
	})
	w.poll()
	require.Len(t, w.observe()["b"].Jobs, 1, "it is replaced")
	require.True(t, w.observe()["b"].Jobs[0].Unconfirmed)
	for range 5 {
		w.poll()
		require.Len(t, w.jobs("a"), 1)
	}
	w.sites["b"].breaks(nil)
	require.NoError(t, b.Probe(t.Context()))
	w.eventually("it has moved", func() bool {
		w.checkpoint = jobs.Checkpoint{}
		w.poll()
		return len(w.jobs("a")) == 0 && len(w.jobs("b")) == 1
	})
}

// A Job that may exist on a member that is away is replaced elsewhere after the
// grace period; when it turns out to exist, the two are a pair.
func TestReplacedBeforeItWasKnown(t *testing.T) {
	w := newFixture(t, member.Options{}, "b")
	w.sites["a"] = newSite("a")
	w.sites["a"].blind.Store(true)
	w.add("a", quick)
	w.ready()
	w.policy.Members = []jobs.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 0}}
	w.demand = 1
	w.sites["a"].breaks(on("create", after(errReset)))
	w.poll()
	w.sites["a"].breaks(away)
	w.eventually("it is away", func() bool { return !w.observe()["a"].Since.IsZero() })
	w.policy.Failover.GracePeriod, w.policy.Members = time.Millisecond, nil
	time.Sleep(2 * time.Millisecond)
	noErrors(t, w.poll())
	source, replacement := w.jobs("a"), w.jobs("b")
	require.Len(t, source, 1)
	require.Len(t, replacement, 1)
	require.Equal(t, jobID(&source[0]), replacement[0].Labels[member.LabelSource])
	w.sites["c"] = newSite("c")
	w.add("c", member.Options{})

	w.policy.Failover.GracePeriod = time.Hour
	w.sites["a"].breaks(nil)
	w.ready()
	w.eventually("it is known to exist", func() bool {
		w.poll()
		seen := w.observe()
		return !seen["a"].Jobs[0].Unconfirmed && seen["b"].Jobs[0].Replaces.UID == seen["a"].Jobs[0].UID
	})
	w.sites["a"].blind.Store(false)
	w.add("a", member.Options{})
	w.ready()
	w.policy.Failover.GracePeriod = time.Millisecond
	w.policy.Members = []jobs.Member{{Name: "a", Weight: 0}, {Name: "b", Weight: 0}, {Name: "c", Weight: 1}}
	w.eventually("it is replaced once more", func() bool { w.poll(); return len(w.jobs("c")) == 1 })
	require.Equal(t, jobID(&source[0]), w.jobs("c")[0].Labels[member.LabelSource], "all of the chain name it alike")
	require.Equal(t, "2", w.jobs("c")[0].Labels[member.LabelAttempt])

	w.policy.Failover.GracePeriod = time.Hour
	w.policy.Failover.Duplication = jobs.PreferFailover
	w.change("b", runs)
	w.eventually("the pair is resolved", func() bool { w.poll(); return len(w.jobs("a")) == 0 })
	require.Len(t, w.jobs("b"), 1)
}

// What a failed request means, and that it is told to one plan only.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		verb string
		err  error
		want string
	}{
		{"no answer", "create", errReset, "a:create"},
		{"time-out", "create", context.DeadlineExceeded, "a:create"},
		{"408", "create", status(408), "a:create"},
		{"429", "create", status(429), "a:create"},
		{"500", "create", status(500), "a:create"},
		{"503", "create", status(503), "a:create"},
		{"time-out of the server", "create", apierrors.NewTimeoutError("no answer", 1), "a:create"},
		{"quota", "create", errForbidden, "a:rejected"},
		{"conflict", "create", apierrors.NewConflict(jobResource, "quota", errors.New("try again")), "a:rejected"},
		{"401", "create", status(401), "a:rejected"},
		{"422", "create", status(422), "a:rejected"},
		{"not sent", "create", fmt.Errorf("%w: no token", adapter.ErrNotSent), ""},
		{"no answer to delete", "delete", errReset, "a:call"},
		{"500 to delete", "delete", status(500), "a:call"},
		{"delete is forbidden", "delete", errForbidden, "a:call"},
		{"gone", "delete", apierrors.NewNotFound(jobResource, "x"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t, member.Options{}, "a", "b").ready()
			w.demand = 4
			if tt.verb == "delete" {
				noErrors(t, w.poll())
				w.shown(4)
				w.demand, w.policy.Revision = 0, rollout.Revision{Generation: 2, TemplateHash: "template-2"}
			}
			w.sites["a"].breaks(on(tt.verb, instead(tt.err)))
			reports := w.poll()
			noErrors(t, reports[1:])
			require.Equal(t, "a", reports[0].Cluster)
			var told []jobs.Cluster
			w.eventually("a health check has passed", func() bool { _, told = w.plan(); return kinds(told) == tt.want })
			require.Equal(t, told[0].Failures, reports[0].Failures)
			_, told = w.plan()
			require.Empty(t, kinds(told))
		})
	}
}

// A cancelled context ends the requests and is no failure of a member.
func TestCancelled(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b").ready()
	w.demand = 50
	ctx, cancel := context.WithCancel(t.Context())
	w.sites["a"].breaks(func(of context.Context, verb, _ string, send func() error) error {
		if verb == "create" {
			cancel()
			<-of.Done()
			return of.Err()
		}
		return send()
	})
	w.plan()
	reports := w.all.Apply(ctx, w.seen, w.decided)
	require.ErrorIs(t, reports[0].Err, context.Canceled)
	require.Empty(t, reports[0].Failures)
	require.Zero(t, reports[0].Created)
	_, failures := w.plan()
	require.Empty(t, kinds(failures))
}

// A member whose health check fails is tainted for all owners, and is no failure of theirs.
func TestHealth(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b")
	w.all.Taints = nil
	w.add("b", member.Options{})
	w.ready()
	const other = "another owner"
	require.NoError(t, w.all.Track(anOwner(other), nil))
	w.demand = 4
	noErrors(t, w.poll())
	w.shown(4)
	w.sites["a"].breaks(away)
	w.eventually("it does not answer", func() bool { return w.observe()["a"].Reach != jobs.Reachable })
	seen := w.observe()["a"]
	require.Equal(t, jobs.Unreachable, seen.Reach, "its Jobs are those that were last seen")
	require.Len(t, seen.Jobs, 2)
	w.eventually("it counts for all", func() bool {
		c := w.all.Observe(other).Clusters[0]
		return c.Taint.Level != taint.None && !c.Since.IsZero()
	})
	_, failures := w.plan()
	require.Empty(t, kinds(failures))
	w.decided = jobs.Decision{Create: []jobs.Placement{{Cluster: "a", Additional: 9}}}
	report := w.apply()[0]
	require.ErrorContains(t, report.Err, "member a is unreachable: health check: ")
	require.Empty(t, report.Failures)
	require.Len(t, w.observe()["a"].Jobs, 2, "nothing was sent")
	w.eventually("the taint is hard", func() bool {
		plan, _ := w.plan()
		return plan.Members[0].Excluded != "" && plan.Members[0].Taint.Level == taint.Hard
	})
	w.sites["a"].breaks(nil)
	w.ready()
	require.Zero(t, w.observe()["a"].Since)
	require.NoError(t, w.all.CutOff())
}

// While no member answers nothing counts against one, and the error says why.
func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		fault error
		want  string
	}{
		{errReset, "none of 2 members answers, so that the hub may be cut off"},
		{status(502), "none of 2 members answers"},
		{status(401), "all 2 members answer 401 (Unauthorized): the hub's tokens have expired or were revoked; run setup-member again"},
	} {
		w := newFixture(t, member.Options{}, "a", "b").ready()
		fails := func(context.Context, string, string, func() error) error { return c.fault }
		var at time.Time
		for _, s := range w.sites {
			s.breaks(fails)
		}
		w.eventually("neither answers", func() bool { at = time.Now(); return w.all.CutOff() != nil })
		require.ErrorContains(t, w.all.CutOff(), c.want)
		for time.Since(at) < 50*time.Millisecond { // some health checks
			for name, c := range w.observe() {
				require.NotEqual(t, taint.Hard, c.Taint.Level, name)
				require.Zero(t, c.Since, name)
			}
			time.Sleep(time.Millisecond)
		}
		w.sites["b"].breaks(nil)
		w.eventually("a counts from the return of b", func() bool { return w.observe()["a"].Since.After(at) })
		require.NoError(t, w.all.CutOff())
	}
}

// The end of the caller's context is no failure of the member.
func TestProbeIsCancelled(t *testing.T) {
	w := newFixture(t, unchecked, "a")
	c := w.add("a", unchecked)
	w.ready()
	w.sites["a"].breaks(hangs)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Probe(ctx), context.Canceled)
	require.Equal(t, jobs.Reachable, w.observe()["a"].Reach)
	require.Empty(t, w.all.Problems())
}

// While a member is away only its health is checked, and its Jobs are watched again
// as soon as it is back, however long it was away.
func TestBackAtOnce(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 2
	noErrors(t, w.poll())
	w.shown(2)
	var checks, others atomic.Int64
	w.sites["a"].breaks(func(_ context.Context, _, name string, _ func() error) error {
		if name == probe {
			checks.Add(1)
		} else {
			others.Add(1)
		}
		return errReset
	})
	w.add("a", member.Options{})
	w.eventually("its health is checked again and again", func() bool { return checks.Load() > 20 })
	require.Zero(t, others.Load())
	require.Equal(t, jobs.NeverReached, w.observe()["a"].Reach)
	require.Empty(t, w.poll())
	plan, _ := w.plan()
	require.Equal(t, scaling.ReasonJobsUnknown, plan.Scaling.Reason)
	w.sites["a"].breaks(nil)
	w.shown(2)
}

// Nothing can be watched, though the health check passes.
func TestWatchFails(t *testing.T) {
	w := newFixture(t, member.Options{}, "a")
	w.ready()
	w.sites["a"].breaks(on("watch", instead(errForbidden)))
	w.add("a", member.Options{})
	w.eventually("it does not count as answering", func() bool {
		return w.observe()["a"].Reach != jobs.Reachable
	})
	w.eventually("it says why", func() bool {
		err := w.all.Problems()["a"]
		return err != nil && strings.HasPrefix(err.Error(), "watch of Jobs: ")
	})
	w.sites["a"].breaks(nil)
	w.ready()
	require.Empty(t, w.all.Problems())
}

// Jobs of others are neither counted nor touched.
func TestOthersJobs(t *testing.T) {
	w := newFixture(t, member.Options{}, "a").ready()
	w.demand = 1
	noErrors(t, w.poll())
	mine := w.jobs("a")[0]
	for name, change := range map[string]func(*batchv1.Job){
		"another-home":  func(j *batchv1.Job) { j.Labels[member.LabelHome] = "home-2" },
		"another-owner": func(j *batchv1.Job) { j.Labels[adapter.LabelOwner] = "somebody" },
		"no-owner":      func(j *batchv1.Job) { delete(j.Labels, adapter.LabelOwner) },
		"controlled": func(j *batchv1.Job) {
			j.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		},
	} {
		j := mine.DeepCopy()
		j.Name, j.UID = name, ""
		change(j)
		_, err := w.sites["a"].Clientset.BatchV1().Jobs("shop").Create(t.Context(), j, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w.shown(1)
	w.policy.Revision.Generation, w.policy.Rollout, w.demand = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, 0
	noErrors(t, w.poll())
	require.Len(t, w.jobs("a"), 4)
	for _, c := range w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides) {
		require.Equal(t, member.Cleanup{Cluster: "a"}, c)
	}
	require.Len(t, w.jobs("a"), 4)
}

func TestDeleteJobs(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b", "c").ready()
	w.demand = 60
	noErrors(t, w.poll())
	w.shown(60)
	w.sites["b"].breaks(away)
	w.sites["c"].breaks(on("delete", instead(errForbidden)))
	w.eventually("it is away", func() bool { return w.observe()["b"].Reach != jobs.Reachable })
	calls := w.sites["b"].calls.Load()
	found := w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides)
	require.Equal(t, member.Cleanup{Cluster: "a", Found: 20}, found[0])
	require.ErrorContains(t, found[1].Err, "member b is unreachable: health check: read tcp: connection reset")
	require.Equal(t, 20, found[2].Found)
	require.ErrorContains(t, found[2].Err, "delete Job shop/processor-")
	require.Less(t, w.sites["b"].calls.Load(), calls+20, "only the health check asks")
	w.sites["b"].breaks(nil)
	w.sites["c"].breaks(nil)
	w.ready()
	w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides)
	require.Equal(t, []member.Cleanup{{Cluster: "a"}, {Cluster: "b"}, {Cluster: "c"}}, w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides))
}

// History and rollout go over the members.
func TestDeletions(t *testing.T) { synctest.Test(t, testDeletions) }

func testDeletions(t *testing.T) {
	w := newFixture(t, slow, "a", "b").ready()
	w.demand = 8
	noErrors(t, w.poll())
	w.shown(8)
	for i, name := range []string{"a", "b"} {
		w.change(name, func(j *batchv1.Job) {
			at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Hour))
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
			j.Status.CompletionTime = &at
		})
	}
	w.demand, w.policy.History = 0, history.Policy{Succeeded: history.Keep(5)}
	time.Sleep(2 * slow.Timeout) // creates of a predecessor would have arrived
	w.eventually("three are too many", func() bool { plan, _ := w.plan(); return len(plan.Finished) == 3 })
	reports := w.apply()
	noErrors(t, reports)
	require.Equal(t, []member.Report{{Cluster: "a", Result: adapter.Result{Pruned: 3}}}, reports)
	require.Equal(t, metav1.DeletePropagationBackground, w.sites["a"].propagation.Load())
	require.Len(t, w.jobs("a"), 1)
}

// A Job in flight is not rolled out before it is shown: it may have finished, and finished Jobs
// are deleted under the gates of pruning only.
func TestNotDeletedInFlight(t *testing.T) {
	w := newFixture(t, member.Options{})
	w.sites["a"] = newSite("a")
	w.sites["a"].blind.Store(true)
	w.add("a", member.Options{})
	w.ready()
	w.demand = 2
	noErrors(t, w.poll())
	w.policy.Revision.Generation, w.policy.Rollout, w.demand = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, 0
	noErrors(t, w.poll())
	require.Len(t, w.jobs("a"), 2)
	for _, j := range w.observe()["a"].Jobs {
		require.False(t, j.Deleting)
	}
}

// Names of somebody else's Jobs are passed over, but not for ever.
func TestNamesAreTaken(t *testing.T) {
	w := newFixture(t, member.Options{Deadline: time.Minute}, "a").ready()
	w.demand = 1
	noErrors(t, w.poll())
	mine := w.jobs("a")[0]
	take := func(from, to int) {
		for i := from; i <= to; i++ {
			j := mine.DeepCopy()
			j.Name, j.UID, j.Labels[adapter.LabelOwner] = fmt.Sprint(strings.TrimSuffix(mine.Name, "1"), i), "", "somebody"
			_, err := w.sites["a"].Clientset.BatchV1().Jobs("shop").Create(t.Context(), j, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	take(2, 3)
	w.shown(1)
	w.demand = 2
	noErrors(t, w.poll())
	w.shown(2)
	take(5, 90)
	w.demand = 3
	reports := w.poll()
	require.Equal(t, jobs.Failures{Rejected: true}, reports[0].Failures)
	require.True(t, apierrors.IsAlreadyExists(reports[0].Err))
}

func TestRegistration(t *testing.T) {
	w := newFixture(t, member.Options{}, "b", "a").ready()
	require.Equal(t, []string{"a", "b"}, w.all.Names())
	w.demand = 2
	w.plan()
	w.all.Remove("b")
	w.all.Remove("b")
	require.Equal(t, []string{"a"}, w.all.Names())
	reports := w.apply()
	require.NoError(t, reports[0].Err)
	require.EqualError(t, reports[1].Err, "it is not registered")

	w.all.Untrack(owner)
	require.ErrorIs(t, w.apply()[0].Err, adapter.ErrOutdated)
	w.seen = w.all.Observe(owner)
	require.Equal(t, jobs.NeverReached, w.seen.Clusters[0].Reach)
	require.EqualError(t, w.apply()[0].Err, "its Jobs are not known")
	require.ErrorContains(t, w.all.Track(adapter.Target{}, nil), "Owner.UID: found nothing")
	w.target.PendingPodConditions = []string{"example.com/Consumed"}
	require.ErrorContains(t, w.all.Track(w.target, nil), "member a: ")
	w.sites["c"] = newSite("c")
	other := w.target
	other.Owner.UID, other.PendingPodConditions = "other", nil
	require.NoError(t, w.all.Track(other, nil))
	require.ErrorContains(t, w.all.Add(t.Context(), w.member("c", member.Options{})), "member c: ")
	require.Equal(t, []string{"a", "c"}, w.all.Names())
	w.eventually("the other owner is tracked on it", func() bool { return w.all.Observe("other").Clusters[1].Reach == jobs.Reachable })
	require.Equal(t, jobs.NeverReached, w.all.Observe(owner).Clusters[1].Reach)

	for _, o := range []member.Options{{}, {Home: "not a label"}} {
		_, err := member.New("a", both(w.sites["a"]), o)
		require.ErrorContains(t, err, "member a: Options.Home: found ")
	}
	_, err := member.New("", both(w.sites["a"]), member.Options{Terms: requests.OneShot(), Home: home})
	require.Error(t, err)
}
