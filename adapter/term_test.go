package adapter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter/internal/feed"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// A standby has watched a finished Job. The leader deletes it, and creates Job 2.
func standby(t *testing.T, o Options) (*server, *writer) {
	s, target := newServer(), newTarget()
	target.Policy.Bounds.Max, target.History = 1, keepNone
	w := newWriter(t, s, target, o)
	w.show(jobOf(target, 3, complete))
	for _, j := range []*batchv1.Job{jobOf(target, 2), jobOf(target, 3, complete)} {
		_, err := s.BatchV1().Jobs("shop").Create(context.Background(), j, metav1CreateOptions)
		require.NoError(t, err)
	}
	return s, w
}

// A standby that becomes leader creates and prunes nothing from the view that it had. It
// prunes nothing within L.
func TestStandbyLeads(t *testing.T) {
	lease := newLease(false)
	s, w := standby(t, Options{Terms: lease.Terms})
	w.clock = noon.Add(time.Hour)
	plan := w.Plan(ownerUID, items(5), w.clock)
	require.Zero(t, plan.Create)
	require.Equal(t, scaling.ReasonWaiting, plan.Decision.Reason)
	require.Equal(t, NotLeading, plan.Holds[len(plan.Holds)-1].Reason)
	known := func() bool {
		_, jobs := w.Jobs(ownerUID)
		_, counts := w.Counts(ownerUID, w.clock)
		require.Equal(t, jobs, counts)
		return jobs
	}
	require.True(t, known(), "by the view of the standby")

	lease.take(false)
	require.False(t, known(), "before a poll")
	for range 2 {
		result, err := w.poll(5)
		require.NoError(t, err)
		require.Zero(t, result)
	}
	require.Equal(t, JobsUnknown, w.Plan(ownerUID, items(5), w.clock).Holds[0].Reason)
	require.False(t, known(), "before the Jobs have been read")
	w.catchUp(t)
	require.True(t, known())
	for _, at := range []time.Duration{0, late - 1, late} {
		w.clock = noon.Add(time.Hour + at)
		result, err := w.poll(5)
		require.NoError(t, err)
		require.Zero(t, result.Created)
		require.Equal(t, at == late, result.Pruned == 1, at)
	}
	require.Equal(t, int64(1), s.unfinished(t))
}

// The end of a term ends its plans, also if a term begins before they go on. Creates of
// before are forgotten, and their replies change nothing.
func TestTermEnds(t *testing.T) {
	for _, noticed := range []bool{false, true} {
		testTermEnds(t, noticed)
	}
}

// testTermEnds ends a term. The tracker is asked in between, or not.
func testTermEnds(t *testing.T, noticed bool) {
	lease, s := newLease(true), newServer()
	w := newWriter(t, s, newTarget(), Options{Terms: lease.Terms})
	restart := func() {
		lease.lost.Store(true)
		if noticed {
			require.Zero(t, w.Plan(ownerUID, items(1), w.clock).Create)
		}
		lease.take(false)
		if noticed {
			w.passes(time.Second)
			w.Plan(ownerUID, items(1), w.clock)
		}
	}
	a, sent, _ := w.choose(t, 1)
	old := w.Plan(ownerUID, items(3), w.clock)
	restart()
	require.ErrorIs(t, a.send(t.Context(), sent[0]).Err, ErrOutdated)
	_, err := w.Apply(t.Context(), s, old)
	require.EqualError(t, err, "the plan is outdated: this process is not the leader; another has begun")
	require.Empty(t, s.all(t))
	w.catchUp(t)
	b, again, numbers := w.choose(t, 1)
	require.Equal(t, []int64{1}, numbers)
	a.answered(sent[0], request.Reply{Result: slots.Refused, Err: ErrNotSent})
	counts, _ := w.Counts(ownerUID, w.clock)
	require.Equal(t, scaling.JobCounts{InFlight: 1}, counts, "the reply is to an earlier term")
	b.answered(again[0], b.send(t.Context(), again[0]))
	w.catchUp(t)
	requireNoDoubt(t, w)
}

// A tracker that watched as a standby lists the Jobs anew, and tells when it has.
func TestStandbyLists(t *testing.T) {
	lease := newLease(false)
	changed := make(chan Owner, 10)
	s := newServer()
	w, err := NewTracker(s, Options{Terms: lease.Terms, Changed: func(o Owner) { changed <- o }})
	require.NoError(t, err)
	require.NoError(t, w.Track(newTarget()))
	go w.Run(t.Context())
	require.Eventually(t, w.HasSynced, 10*time.Second, time.Millisecond)
	require.Empty(t, changed)
	lease.take(false)
	require.Zero(t, w.Plan(ownerUID, items(3), time.Now()).Create)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("the Jobs are not listed")
	}
	require.Equal(t, int64(3), w.Plan(ownerUID, items(3), time.Now()).Create)
}

// A number whose creates are refused for ever blocks the higher numbers, until the lease has
// the mark.
func TestSkippedNumber(t *testing.T) {
	lease, s := newLease(true), newServer()
	w := newWriter(t, s, newTarget(), Options{Terms: lease.Terms})
	refused := w.Plan(ownerUID, items(1), w.clock).target.jobName(1)
	s.before = func(verb, name string) error {
		if verb == "create" && name == refused {
			return apierrors.NewForbidden(batchv1.Resource("jobs"), name, errors.New("a policy"))
		}
		return nil
	}
	poll := func(after time.Duration) (int64, error) {
		w.clock = w.clock.Add(after)
		w.catchUp(t)
		result, err := w.poll(3)
		return result.Created, err
	}
	_, err := w.poll(3)
	require.Error(t, err)
	lease.fails = errors.New("no lease")
	created, err := poll(late)
	require.ErrorContains(t, err, "write to the lease")
	require.Zero(t, created)
	lease.fails = nil
	for range 120 { // which try the number again now and then
		more, _ := poll(time.Second)
		created += more
	}
	require.Equal(t, int64(3), created)
	require.Equal(t, 2, lease.marks)

	lease.take(true)
	w.clock = w.clock.Add(time.Second)
	s.before = nil
	require.Equal(t, JobsUnknown, w.Plan(ownerUID, items(9), w.clock).Holds[0].Reason)
	w.catchUp(t)
	result, err := w.poll(9)
	require.NoError(t, err)
	require.Zero(t, result.Created, "the number may arrive")
	w.clock = w.clock.Add(late)
	w.catchUp(t)
	result, err = w.poll(9)
	require.NoError(t, err)
	require.Positive(t, result.Created)
}

// Without a lease a refused number blocks nobody either, unless the program runs once: it then creates at once.
func TestWithoutLease(t *testing.T) {
	for name, test := range map[string]struct {
		terms          *requests.Terms
		first, created int64
	}{"runs once": {requests.OneShot(), 2, 2}, "starts again": {requests.WithoutLease(), 0, 3}} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			w := newWriter(t, s, newTarget(), Options{Terms: test.terms})
			refused := w.Plan(ownerUID, items(1), w.clock).target.jobName(3)
			s.before = func(verb, name string) error {
				if verb == "create" && name == refused {
					return apierrors.NewForbidden(batchv1.Resource("jobs"), name, errors.New("a policy"))
				}
				return nil
			}
			result, _ := w.poll(3)
			require.Equal(t, test.first, result.Created)
			w.clock = w.clock.Add(late)
			for range 20 {
				w.catchUp(t)
				_, _ = w.poll(3)
				w.clock = w.clock.Add(10 * time.Second)
			}
			require.Equal(t, test.created, s.unfinished(t))
		})
	}
}

// A tracker for one poll leaves nothing in its term.
func TestObserveJoinsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLease(true)
		_, err := Observe(newTarget(), Options{Terms: h.Terms}, nil, nil)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, h.Term().Mark(t.Context()))
		require.True(t, h.End(), "no work speaks for its end")
	})
}

// An owner that moves to another namespace within a term waits until the Jobs there are read in
// this term, and an owner waits for each namespace that is not refused.
func TestMovedOwner(t *testing.T) {
	lease, s, target := newLease(true), newServer(), newTarget()
	w := newWriter(t, s, target, Options{Terms: lease.Terms, hub: inHub("home")})
	sink := w.sink(w.knownJobs)
	shop, mail := &feed.Feed{Sink: sink, Namespace: "shop", Read: noon}, &feed.Feed{Sink: sink, Namespace: "mail", Read: noon}
	w.jobFeeds = feed.Group{shop, mail} // which a process before has watched
	lease.take(false)
	held := func() bool {
		p := w.Plan(ownerUID, items(3), w.clock)
		return slices.ContainsFunc(p.Holds, func(h slots.Hold) bool { return h.Reason == JobsUnknown || h.Reason == slots.NotListed })
	}
	require.True(t, held())
	w.passes(time.Second)
	require.NoError(t, shop.Replace(nil, ""))
	require.True(t, held(), "Jobs of before an edit may be in mail")
	mail.Failed(apierrors.NewForbidden(jobs, "", nil))
	require.False(t, held())
	w.edit(t, target, func(t *Target) { t.Owner.Namespace = "mail" })
	require.True(t, held(), "the view of mail is of before the term")
	mail.Failed(nil)
	require.NoError(t, mail.Replace(nil, ""))
	require.False(t, held())
}

// After a prune that was not answered, Changed is called when creates may go on: when the Job is
// gone or held by a finalizer, or when it is read and there.
func TestChangedAfterPruneInDoubt(t *testing.T) {
	for name, then := range map[string]func(*writer, *batchv1.Job){
		"gone":      func(w *writer, j *batchv1.Job) { w.gone(j) },
		"finalizer": func(w *writer, j *batchv1.Job) { deleting(j); w.show(j) },
		"there": func(w *writer, _ *batchv1.Job) {
			w.server.before = nil
			w.clock = w.clock.Add(late)
			_, _ = w.poll(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := pruner(t)
			calls := make(chan Owner, 9)
			w.options.Changed = func(o Owner) { calls <- o }
			s.before = failing("delete", 1, errors.New("no answer"))
			_, err := w.poll(0)
			require.Error(t, err)
			require.Zero(t, w.Plan(ownerUID, items(1), w.clock).Create)
			require.Empty(t, calls)
			j := s.all(t)[0]
			then(w, &j)
			require.Equal(t, int64(1), w.Plan(ownerUID, items(1), w.clock).Create)
			select {
			case o := <-calls:
				require.Equal(t, ownerUID, o.UID)
			case <-time.After(10 * time.Second):
				t.Fatal("Changed is not called")
			}
		})
	}
}
