package member_test

// What the tests hold:
//
//	nothing exceeds the maximum, and nothing is created twice             TestNothingTwice
//	a create that was not answered holds its capacity                     TestNothingTwice
//	no Jobs are left while an unanswered create may arrive                TestDeleteJobsLate
//	it is never sent again                                                TestModel in slots
//	it is asked for after twice the member's timeout, and not before      TestAskedLate
//	an unanswered create has no second one beside it in its poll          TestUnansweredCreates
//	a recurring number is not taken for the Job that had it               TestNumberRecurs
//	a Job that was replaced before it was known is half of a pair         TestReplacedBeforeItWasKnown
//	a source is not deleted for a replacement that may not exist          TestReplacementThatFails
//	a Job that has changed since the observation is not deleted           TestChangedSince
//	an edit stops a plan; Jobs in another namespace stay the owner's      TestEditedSince, TestNamespaceIsEdited
//	a member that hangs delays no other; an unreachable member is not asked TestSlowMember, TestHangsOnce, TestNotAsked
//	a copy of a Job is not ours, wherever it is                           TestForger, TestLostProof
//	a lying member has no effect on Jobs of other members and owners      TestLyingMember
//	a kind is read again when it changes on the member                    TestKindsChange
//	an answer has a bound; large objects are read in smaller pages        TestLargeAnswer, TestPages, TestLargeObjectOfATenant
//	pods of others' Jobs do not count                                     TestPods, TestForgedPods
//	a poll does not wait for a slow member                                TestSlowMember
//	one owner's failures change no other owner's Jobs                     TestIndependence
//	a forbidden namespace concerns its owners only                        TestForbiddenNamespace
//	orphans are deleted only on request; causes are worded                TestOrphans, TestOrphansOfOthers, TestCauses
//	nothing counts while no member answers, and 401 everywhere is shown  TestCutOff, TestNetworkIsLost
//	pods that never start cost no healthy member a replica                TestPodsThatNeverStart
//	a merge of overrides changes neither argument, and nothing if again   TestMerge

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// What a create may come to.
var faults = map[string]func(func() error) error{
	"none": func(send func() error) error { return send() }, "reset": instead(errReset), "reset after success": after(errReset),
	"500": instead(status(500)), "500 after success": after(status(500)), "429": instead(status(429)), "quota": instead(errForbidden),
	"time-out after success": after(context.DeadlineExceeded), "late": func(send func() error) error {
		time.AfterFunc(9*time.Second, func() { _ = send() })
		return context.DeadlineExceeded
	},
}

// There are never more Jobs than the maximum if the plans' memory is kept: whatever
// becomes of creates, whichever members are away, however late their caches are, and
// whenever Jobs finish and members are registered anew. Each loss of a member's Jobs allows as
// many again, but not on members that were never lost, and not to another owner. Once all is
// well there are as many Jobs as are asked for. The results report whether a Job was ever in
// doubt, and whether there were more Jobs than the maximum.
func propNothingTwice(t *rapid.T, outer *testing.T) (doubt, above bool) {
	w := newFixture(outer, slow)
	names := []string{"a", "b", "c"}
	if rapid.Bool().Draw(t, "patience") {
		w.all.Patience = 500 * time.Millisecond
	}
	if rapid.Bool().Draw(t, "taints") {
		w.all.Taints = nil
	}
	defer func() {
		for _, name := range names {
			w.all.Remove(name)
		}
	}()
	total := func(but map[string]bool) (n, others int) {
		for _, name := range names {
			for _, j := range w.jobs(name) {
				switch first := j.Labels[adapter.LabelOwner] == string(owner); {
				case len(j.Status.Conditions) > 0:
				case !first:
					others++
				case !but[name]:
					n++
				}
			}
		}
		return n, others
	}
	since, lost, losses := map[string]time.Time{}, map[string]bool{}, 0
	name, fault := rapid.SampledFrom(names), rapid.SampledFrom(append(slices.Sorted(maps.Keys(faults)), "none", "none", "none"))
	for _, name := range names {
		w.sites[name] = siteOf(fake.NewSimpleClientset(), name) // at most 60 Jobs
		w.sites[name].blind.Store(rapid.Bool().Draw(t, "blind"))
		w.sites[name].breaks(on("create", faults[fault.Draw(t, "fault of "+name)]))
		w.add(name, slow)
	}
	w.ready()
	w.policy.Scaling.Bounds.Max = int64(rapid.IntRange(1, 12).Draw(t, "max"))
	w.policy.History = history.Policy{Succeeded: history.Keep(1)}
	w.policy.Failover.Duplication = rapid.SampledFrom([]jobs.Duplication{jobs.KeepAll, jobs.PreferFailover, jobs.PreferSource, jobs.ImmediateSourceCleanup}).Draw(t, "duplication")
	w.policy.Failover.LostAfter = rapid.SampledFrom([]time.Duration{0, 5 * time.Second, 5 * time.Second}).Draw(t, "lost after")
	w.demand = rapid.Int64Range(1, 20).Draw(t, "demand")
	second, calm, checkpoint := anOwner("00000000-0000-4000-9000-000000000002"), w.policy, jobs.Checkpoint{}
	second.Owner.Name, calm.Scaling.Bounds.Max, calm.Failover.LostAfter = "second", 3, 0
	require.NoError(outer, w.all.Track(second, nil))
	poll := func(t *rapid.T) {
		if rapid.Bool().Draw(t, "no taints") {
			w.checkpoint = withoutTaints(w.checkpoint)
		}
		w.poll()
		seen := w.all.Observe(second.Owner.UID)
		decided := jobs.Decide(calm, jobs.Observation{Metrics: demand(20), Clusters: seen.Clusters, Now: time.Now()}, checkpoint)
		checkpoint = decided.Checkpoint
		w.all.Apply(outer.Context(), seen, decided)
	}
	goes := func(t *rapid.T) {
		n := name.Draw(t, "of")
		if since[n].IsZero() {
			since[n] = time.Now()
		}
		w.sites[n].breaks(away)
		w.eventually("it is away", func() bool { return w.observe()[n].Reach != jobs.Reachable })
	}
	t.Repeat(map[string]func(*rapid.T){
		"demand": func(t *rapid.T) { w.demand = rapid.Int64Range(0, 20).Draw(t, "demand") },
		"fault": func(t *rapid.T) {
			n := name.Draw(t, "of")
			delete(since, n)
			w.sites[n].breaks(on("create", faults[fault.Draw(t, "fault")]))
		},
		"away": goes,
		"lose": func(t *rapid.T) {
			for _, n := range names {
				w.sites[n].breaks(nil)
			}
			clear(since)
			w.demand = 20
			w.ready()
			poll(t)
			goes(t)
			time.Sleep(8 * time.Second)
			poll(t)
		},
		"restart": func(t *rapid.T) { w.add(name.Draw(t, "of"), slow) },
		"poll":    poll,
		"again":   poll,
		"finish":  func(t *rapid.T) { w.change(name.Draw(t, "of"), finishes) },
		"run":     func(t *rapid.T) { w.change(name.Draw(t, "of"), runs) },
		"wait":    func(t *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 10).Draw(t, "seconds")) * time.Second) },
		"": func(t *rapid.T) {
			for n, began := range since {
				if after := w.policy.Failover.LostAfter; after > 0 && time.Since(began) >= after {
					since[n], lost[n], losses = time.Now().Add(time.Hour), true, losses+1 // once
				}
			}
			most := int(w.policy.Scaling.Bounds.Max)
			n, others := total(nil)
			above = above || n > most
			if never, _ := total(lost); n > most*(1+losses) || never > most || others > 3 {
				t.Fatalf("%d Jobs, %d of them on members that were never lost, with a maximum of %d and %d losses; of another owner %d with a maximum of 3", n, never, most, losses, others)
			}
			for _, c := range w.observe() {
				doubt = doubt || slices.ContainsFunc(c.Jobs, func(j jobs.Job) bool { return j.Unconfirmed })
			}
		},
	})
	w.policy.Failover.Duplication = jobs.KeepAll
	time.Sleep(9 * time.Second) // until all creates have arrived
	w.all.Taints = &taint.Durations{}
	for _, n := range names {
		w.sites[n].breaks(nil)
		w.sites[n].blind.Store(false)
		w.add(n, slow)
	}
	w.checkpoint = jobs.Checkpoint{}
	w.ready()
	n, _ := total(nil)
	want := max(n, int(min(w.demand, w.policy.Scaling.Bounds.Max)))
	for range 25 {
		w.poll()
		w.checkpoint = jobs.Checkpoint{}
		time.Sleep(time.Second)
	}
	if n, _ := total(nil); n != want {
		t.Fatalf("%d Jobs, not %d: %+v %+v", n, want, w.observe(), w.decided)
	}
	return doubt, above
}

func TestNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doubts, aboves, runs := 0, 0, 0
		rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // a bubble has no Deadline
			runs++
			doubt, above := propNothingTwice(rt, t)
			if doubt {
				doubts++
			}
			if above {
				aboves++
			}
		})
		t.Logf("Jobs in doubt in %d of %d runs, above the maximum because of losses in %d", doubts, runs, aboves)
		require.Greater(t, 10*doubts, runs)
		require.Greater(t, 25*aboves, runs)
	})
}
