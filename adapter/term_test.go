package adapter

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

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
	var leads atomic.Bool
	s, w := standby(t, Options{MayAct: leads.Load})
	w.clock = noon.Add(time.Hour)
	plan := w.Plan(ownerUID, items(5), w.clock)
	require.Zero(t, plan.Create)
	require.Equal(t, scaling.RuleWaiting, plan.Decision.Rule)
	require.Equal(t, NotLeading, plan.Holds[len(plan.Holds)-1].Rule)

	leads.Store(true)
	for range 2 {
		result, err := w.poll(5)
		require.NoError(t, err)
		require.Zero(t, result)
	}
	require.Equal(t, slots.Unlisted, w.Plan(ownerUID, items(5), w.clock).Holds[0].Rule)
	w.catchUp(t)
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
	var lost atomic.Bool
	s := newServer()
	w := newWriter(t, s, newTarget(), Options{MayAct: func() bool { return !lost.Load() }})
	restart := func() {
		lost.Store(true)
		require.Zero(t, w.Plan(ownerUID, items(1), w.clock).Create)
		lost.Store(false)
		w.passes(time.Second)
		w.Plan(ownerUID, items(1), w.clock)
	}
	a, sent, _ := w.choose(t, 1)
	old := w.Plan(ownerUID, items(3), w.clock)
	restart()
	require.ErrorIs(t, a.send(t.Context(), s.BatchV1(), sent[0]).err, ErrOutdated)
	require.ErrorIs(t, a.create(t.Context(), s.BatchV1(), sent[0].Slot).err, ErrOutdated)
	_, err := w.Apply(t.Context(), s, old)
	require.EqualError(t, err, "the plan is outdated: a term has begun since")
	require.Empty(t, s.all(t))
	w.catchUp(t)
	b, again, numbers := w.choose(t, 1)
	require.Equal(t, []int64{1}, numbers)
	a.answered(sent[0], reply{slots.Refused, "", ErrNotSent})
	counts, _ := w.Counts(ownerUID, w.clock)
	require.Equal(t, scaling.JobCounts{InFlight: 1}, counts, "the reply is to an earlier term")
	b.answered(again[0], b.send(t.Context(), s.BatchV1(), again[0]))
	w.catchUp(t)
	requireNoDoubt(t, w)
}

// A tracker that watched as a standby lists the Jobs anew, and tells when it has.
func TestStandbyLists(t *testing.T) {
	var leads atomic.Bool
	changed := make(chan Owner, 10)
	s := newServer()
	w, err := NewTracker(s, Options{MayAct: leads.Load, Changed: func(o Owner) { changed <- o }})
	require.NoError(t, err)
	require.NoError(t, w.Track(newTarget()))
	go w.Run(t.Context())
	require.Eventually(t, w.HasSynced, 10*time.Second, time.Millisecond)
	require.Empty(t, changed)
	leads.Store(true)
	require.Zero(t, w.Plan(ownerUID, items(3), time.Now()).Create)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("the Jobs are not listed")
	}
	require.Equal(t, int64(3), w.Plan(ownerUID, items(3), time.Now()).Create)
}

// What a source was asked before the term is no list.
func TestListOfEarlierTerm(t *testing.T) {
	var leads atomic.Bool
	target := newTarget()
	target.Keyed = true
	w := newWriter(t, newServer(), target, Options{MayAct: leads.Load})
	list := w.Listing(ownerUID)
	leads.Store(true)
	for range 2 {
		p := w.PlanItems(ownerUID, []Item{{Key: "a"}}, list, w.clock)
		p.Create = 1
		result, err := w.Apply(t.Context(), w.server, p)
		require.NoError(t, err)
		require.Zero(t, result)
		w.clock = w.clock.Add(late)
		w.catchUp(t)
	}
	list = w.Listing(ownerUID)
	result, err := w.Apply(t.Context(), w.server, w.PlanItems(ownerUID, []Item{{Key: "a"}}, list, w.clock))
	require.NoError(t, err)
	require.Equal(t, int64(1), result.Created)
}
