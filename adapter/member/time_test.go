package member_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/rollout"
)

// client-go's handlers of errors sleep until a time of outside the bubble.
func init() { runtime.ErrorHandlers = nil }

// slow are the options of members in a bubble, where L is 10 s.
var slow = member.Options{Timeout: 5 * time.Second, Interval: time.Second}

// polls polls each second, and calls check before each poll.
func (w *fixture) polls(seconds int, check func()) {
	w.t.Helper()
	for range seconds {
		check()
		w.checkpoint = jobs.Checkpoint{}
		w.poll()
		time.Sleep(time.Second)
	}
}

// By default the health is checked every 10 s, a plan may send requests for 10 s after its
// observation, 200 at once and 100 a second, and each has 5 s.
func TestDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow)
		w.policy.Scaling.Bounds.Max = 1000
		w.sites["a"] = newSite("a")
		var checks atomic.Int64
		w.sites["a"].breaks(func(_ context.Context, _, name string, send func() error) error {
			if name == probe {
				checks.Add(1)
			}
			return send()
		})
		c, err := member.New("a", both(w.sites["a"]), member.Options{Terms: requests.OneShot(), Home: home})
		require.NoError(t, err)
		require.NoError(t, w.all.Add(t.Context(), c))
		w.ready()
		time.Sleep(65 * time.Second)
		require.EqualValues(t, 7, checks.Load())

		w.demand = 210
		w.plan()
		time.Sleep(8 * time.Second)
		begin := time.Now()
		noErrors(t, w.apply())
		require.InDelta(t, 100*time.Millisecond, time.Since(begin), float64(5*time.Millisecond))
		w.shown(210)

		w.demand = 211
		w.plan()
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, w.apply()[0].Err, adapter.ErrNotSent)
		w.plan()
		time.Sleep(10*time.Second - time.Millisecond)
		w.sites["a"].breaks(hangs)
		begin = time.Now()
		require.ErrorIs(t, w.apply()[0].Err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(begin))
	})
}

// A member is asked for a create without an answer after twice its own timeout, which its tracker has.
func TestAskedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := newFixture(t, slow, "a").ready(), 0
		w.demand = 1
		w.sites["a"].breaks(func(ctx context.Context, verb, name string, send func() error) error {
			if asked += map[string]int{"get": 1}[verb]; verb == "create" {
				return hangs(ctx, verb, name, send)
			}
			return send()
		})
		begin := time.Now()
		w.poll()
		require.Equal(t, slow.Timeout, time.Since(begin))
		w.polls(10, func() { require.Zero(t, asked) })
		w.polls(3, func() {})
		require.Equal(t, 1, asked)
	})
}

// A create arrives after its owner was deleted: until it can no longer arrive, the clean-up
// is not over, and then no Job is left.
func TestDeleteJobsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow, "a").ready()
		w.demand = 1
		w.sites["a"].breaks(on("create", func(send func() error) error {
			time.AfterFunc(9*time.Second, func() { _ = send() })
			return context.DeadlineExceeded
		}))
		w.poll()
		w.sites["a"].breaks(nil)
		w.all.Untrack(owner)
		for n := 0; ; n++ {
			c := w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides)[0]
			if c.Found == 0 && c.Err == nil && c.Late.IsZero() {
				require.Positive(t, n)
				break
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		require.Empty(t, w.jobs("a"))
	})
}

// A member that is registered anew, also repeatedly, is not known before the creates of plans
// for the replaced one have arrived.
func TestLateAndAddedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow, "a", "b").ready()
		w.demand = 1
		w.sites["a"].breaks(on("create", func(send func() error) error {
			time.AfterFunc(9*time.Second, func() { _ = send() })
			return context.DeadlineExceeded
		}))
		w.sites["a"].blind.Store(true)
		w.poll()
		begin := time.Now()
		w.all.Remove("a")
		w.add("a", slow)
		w.add("a", slow)
		require.Equal(t, jobs.NeverReached, w.observe()["a"].Reach)
		w.checkpoint = jobs.Checkpoint{}
		w.ready()
		require.Equal(t, 10*time.Second, time.Since(begin).Round(time.Second))
		require.Empty(t, w.poll())
		require.Len(t, append(w.jobs("a"), w.jobs("b")...), 1)
	})
}

// A number recurs, and its new Job is not taken for the one that was to have the
// number before, which another Job replaces.
func TestNumberRecurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow, "a", "b").ready()
		w.policy.Members = []jobs.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 0}}
		w.policy.Failover.Duplication = jobs.PreferFailover
		w.demand = 1
		w.sites["a"].breaks(away)
		w.poll()
		w.eventually("it is away", func() bool { return w.observe()["a"].Reach != jobs.Reachable })
		missing := w.observe()["a"].Jobs[0]
		require.True(t, missing.Unconfirmed)

		w.policy.Failover.GracePeriod, w.policy.Members = time.Millisecond, nil
		w.eventually("it is replaced", func() bool {
			w.polls(1, func() {})
			return len(w.jobs("b")) == 1
		})
		require.Equal(t, missing.UID, w.jobs("b")[0].Labels[member.LabelSource])
		w.change("b", runs)

		w.sites["a"].breaks(nil)
		w.policy.Failover.GracePeriod = time.Hour
		w.eventually("a member knows that there is none", func() bool {
			w.polls(1, func() {})
			return len(w.observe()["a"].Jobs) == 0
		})
		w.demand = 2
		w.policy.Members = []jobs.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 0}}
		w.poll()
		require.Len(t, w.jobs("a"), 1)
		require.Equal(t, missing.Name, w.jobs("a")[0].Name)
		before := append(w.jobs("a"), w.jobs("b")...)
		w.polls(5, func() {
			require.Equal(t, before, append(w.jobs("a"), w.jobs("b")...), "it is not a duplicate")
		})
		require.Equal(t, jobs.Running, w.observe()["b"].Jobs[0].Phase)
	})
}

// The rate limit and the deadline are a member's own, and what was not sent
// is neither in flight nor a failure.
func TestLimit(t *testing.T) { synctest.Test(t, testLimit) }

func testLimit(t *testing.T) {
	w := newFixture(t, member.Options{}, "fast", "slow")
	w.add("slow", member.Options{QPS: 20, Burst: 5, Deadline: 300 * time.Millisecond})
	w.ready()
	w.demand = 100
	reports := w.poll()
	require.Equal(t, int64(50), reports[0].Created)
	require.ErrorIs(t, reports[1].Err, adapter.ErrNotSent)
	require.Empty(t, reports[1].Failures)
	require.Positive(t, reports[1].Created)
	require.Less(t, reports[1].Created, int64(20))
	require.Len(t, w.jobs("slow"), int(reports[1].Created))
	w.shown(50 + int(reports[1].Created))
	_, failures := w.plan()
	require.Empty(t, kinds(failures))
	require.Len(t, w.observe()["slow"].Jobs, int(reports[1].Created))
}

// The hub loses its network again and again, while it creates Jobs: that counts against no
// member, also not for the owner, and he has his Jobs as soon as the network is back. A request
// that was not answered by a member that answers others counts.
func TestNetworkIsLost(t *testing.T) {
	for i, fault := range []fault{hangs, away} {
		for _, every := range []int{5, 30} {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t, member.Options{})
				for _, name := range []string{"a", "b", "c"}[:1+(i+every)%3] {
					w.sites[name] = siteOf(fake.NewSimpleClientset(), name) // few Jobs
					w.add(name, member.Options{Interval: 10 * time.Second})
				}
				w.ready()
				poll := func() {
					w.poll()
					for _, m := range w.decided.Members {
						require.Empty(t, m.OwnerTaint, "every %d s: %s", every, m)
					}
				}
				for range 2 {
					w.demand += 3
					time.Sleep(time.Duration(every) * time.Second)
					for _, s := range w.sites {
						s.breaks(fault)
					}
					back := time.Now().Add(15 * time.Second)
					for time.Now().Before(back) {
						poll()
						time.Sleep(min(time.Duration(every)*time.Second, time.Until(back)))
					}
					for _, s := range w.sites {
						s.breaks(nil)
					}
					for range 60 / every {
						time.Sleep(time.Duration(every) * time.Second)
						poll()
					}
					n := 0
					for name := range w.sites {
						n += len(w.jobs(name))
					}
					require.EqualValues(t, w.demand, n)
				}
				w.sites["a"].breaks(on("create", instead(errReset)))
				w.demand += 3
				for range 4 {
					w.poll()
					time.Sleep(15 * time.Second)
				}
				require.NotEmpty(t, w.decided.Members[0].OwnerTaint)
			})
		}
	}
}

// A while is a lease that is held while the function says so.
type while func() bool

func (w while) Valid() bool              { return w() }
func (while) Mark(context.Context) error { return nil }

// A process that may act no longer sends nothing that has waited for the rate limit.
func TestMayActAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end, terms := time.Now().Add(time.Hour), &requests.Terms{}
		terms.Begin(while(func() bool { return time.Now().Before(end) }), false)
		w := newFixture(t, member.Options{QPS: 1, Burst: 1, Terms: terms}, "a").ready()
		w.demand = 5
		w.plan()
		end = time.Now().Add(1500 * time.Millisecond)
		report := w.apply()[0]
		require.ErrorIs(t, report.Err, adapter.ErrOutdated)
		require.EqualValues(t, 2, report.Created)
		require.Len(t, w.jobs("a"), 2)
		require.Len(t, w.observe()["a"].Jobs, 2, "none is in flight")
	})
}

// After a request that was not answered no other is sent, so that a member that hangs
// holds a plan up for one timeout.
func TestHangsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow, "a").ready()
		w.demand = 10
		noErrors(t, w.poll())
		w.shown(10)
		w.policy.Revision.Generation, w.policy.Rollout = 2, rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
		w.plan()
		sent := 0
		w.sites["a"].breaks(func(ctx context.Context, verb, name string, send func() error) error {
			if verb == "delete" {
				sent++
			}
			return hangs(ctx, verb, name, send)
		})
		begin := time.Now()
		report := w.apply()[0]
		require.ErrorIs(t, report.Err, context.DeadlineExceeded)
		require.ErrorIs(t, report.Undeleted, context.DeadlineExceeded)
		require.Equal(t, jobs.Failures{Call: true}, report.Failures)
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.Equal(t, 1, sent)
	})
}

// A plan makes no more Jobs on a member than it decided, also if no create of several polls had an answer: on
// the member nothing bounds the sum.
func TestUnansweredCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, slow, "a").ready()
		w.policy.Scaling.Bounds.Max = 4
		w.sites["a"].breaks(on("create", after(status(500))))
		for w.demand = 1; w.demand <= 4; w.demand++ {
			w.checkpoint = withoutTaints(w.checkpoint)
			w.poll()
			time.Sleep(5 * time.Second)
			require.Equal(t, int(w.demand), len(w.jobs("a")))
		}
	})
}
