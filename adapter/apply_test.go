package adapter

// What the tests hold:
//
//	claim                                                         test
//	two writers with partial views, edits, restarts, wrong clocks TestTwoWriters
//	caches that are late, gates of pruning, the answers to reads  TestModel, TestBrokenRules of package slots
//	each answer of a create and a delete                          TestFailure, TestCreateFaults, TestDeleteFaults, TestUnclear
//	a request ends although its client has no timeout             TestDeadline
//	creates in doubt do not stop the history                      TestHistoryBesideDoubts
//	a running plan stops                                          TestOutdated
//	a standby that becomes leader reads the Jobs anew             TestStandbyLeads, TestTermEnds
//	finished Jobs are deleted by their age                        TestTimeToLive
//	counts are those of a recount                                 TestRecount
//	a wrong UID is not an empty set                               TestMistaken, TestNamesakeOfAnotherGroup
//	objects in other namespaces change no decision                TestForger
//	pending and stuck                                             TestPhase, TestPendingSince
//	a drained Job that changes is kept                            TestDrainIsConditional
//	a poll without work makes no request and allocates nothing    TestNoRequest, TestPlanAllocations
//	a changed pending Job costs a plan at most 1 ms               TestPlanAfterAChange
//	an owner that moves                                           TestMovedOwner
//	Changed after a prune in doubt                                TestChangedAfterPruneInDoubt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

var jobs = batchv1.Resource("jobs")

// failing fails requests of a verb, from the n-th on.
func failing(verb string, n int, err error) func(string, string) error {
	seen := 0
	return func(v, _ string) error {
		if v == verb {
			seen++
		}
		if v == verb && seen >= n {
			return err
		}
		return nil
	}
}

// A create that was answered has no effect and frees its number; one that was not
// holds its capacity.
func TestCreateFaults(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		unknown bool
	}{
		"forbidden": {apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota")), false},
		"throttled": {apierrors.NewTooManyRequests("slow down", 1), false},
		"not sent":  {fmt.Errorf("limit: %w", ErrNotSent), false},
		"timeout":   {context.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			w := newWriter(t, s, newTarget(), Options{})
			s.before = failing("create", 4, test.err)
			result, err := w.poll(10)
			var created *CreateError
			require.ErrorAs(t, err, &created)
			require.Equal(t, CreateError{3, 10, test.err}, *created)
			require.Equal(t, Result{Created: 3}, result)
			require.Equal(t, 7, s.Requests("create", "jobs"), "the batches of 1, 2 and 4; no more after a failure")
			counts, _ := w.Counts(ownerUID, noon)
			want := int64(3)
			if test.unknown {
				want = 7
			}
			require.Equal(t, scaling.JobCounts{InFlight: want}, counts)
			require.ErrorContains(t, err, "created 3 of 10 Jobs: ")
		})
	}
}

// A Job of ours that exists counts as created but is not reported as such; one that
// has finished or is somebody else's is passed over.
func TestExisting(t *testing.T) {
	ctx, target := context.Background(), newTarget()
	foreign := target.NewJob(2)
	foreign.OwnerReferences[0].UID = "another"
	s := newServer()
	for _, j := range []*batchv1.Job{target.NewJob(1), foreign, jobOf(target, 3, complete)} {
		_, err := s.BatchV1().Jobs("shop").Create(ctx, j, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w := newWriter(t, s, target, Options{})
	result, err := w.poll(3)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 2, Existing: 1}, result)
	require.ElementsMatch(t, []int64{1, 2, 3, 4, 5}, w.numbers(t))
	w.catchUpBut(t, 2)
	counts, _ := w.Counts(ownerUID, noon)
	require.Equal(t, scaling.JobCounts{Running: 3, Pending: 3}, counts)
}

// If it cannot be read which Job has the name, the create counts as one that was not
// answered.
func TestUnclear(t *testing.T) {
	s, target := newServer(), newTarget()
	_, err := s.BatchV1().Jobs("shop").Create(context.Background(), target.NewJob(1), metav1.CreateOptions{})
	require.NoError(t, err)
	w := newWriter(t, s, target, Options{})
	s.before = failing("get", 1, errors.New("no answer"))
	result, err := w.poll(1)
	require.ErrorContains(t, err, "no answer")
	require.Zero(t, result)
	counts, _ := w.Counts(ownerUID, noon)
	require.Equal(t, scaling.JobCounts{InFlight: 1}, counts)

	w.clock = noon.Add(late)
	_, err = w.poll(1)
	require.ErrorContains(t, err, "read a Job that was created or deleted before: no answer")
	w.catchUp(t)
	counts, _ = w.Counts(ownerUID, noon)
	require.Equal(t, scaling.JobCounts{Running: 1, Pending: 1}, counts, "it is counted once")
	s.before = nil
	result, err = w.poll(1)
	require.NoError(t, err)
	require.Zero(t, result)
	requireNoDoubt(t, w)

	w = newWriter(t, s, target, Options{})
	s.after = func(verb, _ string) error { return nil }
	s.before = func(verb, name string) error { // deleted between the two requests
		if verb == "get" {
			return apierrors.NewNotFound(jobs, name)
		}
		return nil
	}
	_, err = w.poll(1)
	require.True(t, apierrors.IsAlreadyExists(err), err)
	requireNoDoubt(t, w)
}

// A foreign Job on every name ends the creating.
func TestAllTaken(t *testing.T) {
	s := newServer()
	w := newWriter(t, s, newTarget(), Options{})
	s.before = func(verb, name string) error {
		if verb == "create" {
			return apierrors.NewAlreadyExists(jobs, name)
		}
		return nil
	}
	s.PrependReactor("get", "jobs", func(a ktesting.Action) (bool, runtimeObject, error) {
		return true, &batchv1.Job{}, nil
	})
	_, err := w.poll(2)
	require.ErrorContains(t, err, "the name belongs to a finished Job or to another owner")
	require.Less(t, s.Requests("create", "jobs"), 2*maxOccupied)
}

// A request that failed had no effect if it was never sent, or if the API server rejected
// it. Otherwise it may have its effect still.
func TestFailure(t *testing.T) {
	status := func(code int32) error { return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}} }
	for _, test := range []struct {
		err  error
		want slots.Result
	}{
		{status(400), slots.Refused}, {status(401), slots.NoEffect}, {status(403), slots.Refused}, {status(408), slots.Unanswered}, {status(422), slots.Refused}, {status(429), slots.NoEffect}, {status(499), slots.Refused},
		{status(399), slots.Unanswered}, {status(500), slots.Unanswered}, {status(504), slots.Unanswered},
		{fmt.Errorf("%w: the limit", ErrNotSent), slots.NoEffect},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, slots.NoEffect}, {&net.OpError{Op: "read", Err: errors.New("reset")}, slots.Unanswered},
		{context.DeadlineExceeded, slots.Unanswered}, {errors.New("unexpected end"), slots.Unanswered},
	} {
		require.Equal(t, request.Reply{Result: test.want, Err: test.err}, request.Failure(test.err))
	}
}

func TestDeleteFaults(t *testing.T) {
	target := newTarget()
	target.Rollout, target.Revision.Generation = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, 2
	for name, test := range map[string]struct {
		err     error
		result  Result
		problem string
	}{
		"gone":      {apierrors.NewNotFound(jobs, "x"), Result{Outdated: 1}, ""},
		"forbidden": {apierrors.NewForbidden(jobs, "x", errors.New("no")), Result{}, "delete Job orders-"},
		"no answer": {errors.New("no answer"), Result{}, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s, old := newServer(), newTarget()
			w := newWriter(t, s, old, Options{})
			_, err := w.poll(1)
			require.NoError(t, err)
			w.catchUp(t)
			require.NoError(t, w.Track(target))
			s.before = failing("delete", 1, test.err)
			result, err := w.poll(0)
			require.Equal(t, test.result, result)
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.problem)
			}
		})
	}
}

// A Job that another has replaced under its name is gone, and the other is not deleted.
func TestReplacedUnderItsName(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(1)
	require.NoError(t, err)
	w.show(jobOf(target, 1, func(j *batchv1.Job) { j.UID = "before" }))
	result, err := w.Apply(context.Background(), s, Plan{Owner: ownerUID, Delete: []Deletion{
		{Namespace: "shop", Name: target.NewJob(1).Name, UID: "before", Reason: "mine"},
	}})
	require.NoError(t, err)
	require.Equal(t, Result{Other: 1}, result)
	require.Len(t, s.all(t), 1)

	s.before = failing("get", 1, errors.New("no answer"))
	result, err = w.Apply(context.Background(), s, Plan{Owner: ownerUID, Delete: []Deletion{
		{Namespace: "shop", Name: target.NewJob(1).Name, UID: "before", Reason: "mine"},
	}})
	require.EqualError(t, err, "delete Job "+target.NewJob(1).Name+": it has changed, and could not be read: no answer")
	require.Zero(t, result)
}

// A running plan stops when its owner is edited or untracked, when it gets too old, when
// the process may not act any more, and when its context ends.
func TestOutdated(t *testing.T) {
	var lease *testLease
	edit := func(w *writer, _ context.CancelFunc) {
		target := newTarget()
		target.Policy.Bounds.Max = 3
		_ = w.Track(target)
	}
	for name, test := range map[string]struct {
		stop func(w *writer, cancel context.CancelFunc)
		want string
	}{
		"edit":      {edit, "the plan is outdated: its owner was edited"},
		"own plan":  {edit, "the plan is outdated: its owner was edited"},
		"untracked": {func(w *writer, _ context.CancelFunc) { w.Untrack(ownerUID) }, "the plan is outdated: its owner is not tracked"},
		"age":       {func(w *writer, _ context.CancelFunc) { w.passes(late + time.Second) }, "the plan is outdated: it is 31s old"},
		"lease":     {func(*writer, context.CancelFunc) { lease.lost.Store(true) }, "the plan is outdated: this process is not the leader"},
		"context":   {func(_ *writer, cancel context.CancelFunc) { cancel() }, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			s := newServer()
			lease = newLease(true)
			w := newWriter(t, s, newTarget(), Options{Terms: lease.Terms})
			plan := w.Plan(ownerUID, items(20), noon)
			require.NoError(t, w.Track(newTarget()), "an equal target is no edit")
			if name == "own plan" {
				plan = Plan{Owner: ownerUID, Create: 20}
			}
			creates := 0
			s.after = func(verb, _ string) error {
				if creates++; creates == 3 {
					test.stop(w, cancel)
				}
				return nil
			}
			result, err := w.Apply(ctx, s, plan)
			want := test.want
			if name == "context" {
				want = "created 3 of 20 Jobs: " + want
			}
			require.EqualError(t, err, want)
			require.Equal(t, Result{Created: 3}, result)
			require.Equal(t, name != "context", errors.Is(err, ErrOutdated))
		})
	}
}

// The end of the context after the last create is not an error of a create.
func TestEndAfterCreates(t *testing.T) {
	s, w := pruner(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.after = func(string, string) error { cancel(); return nil }
	plan := w.Plan(ownerUID, items(1), noon)
	require.Len(t, plan.Delete, 1)
	result, err := w.Apply(ctx, s, plan)
	require.Equal(t, Result{Created: 1}, result)
	require.EqualError(t, err, "context canceled")
}

// A plan creates within the maximum, which terminating Jobs and Jobs in flight use up too,
// and nothing while the cache shows a Job that was pruned.
func TestCapacityWhenSent(t *testing.T) {
	for name, test := range map[string]struct {
		jobs    []*batchv1.Job
		pruned  types.UID
		created int64
	}{
		"nothing":     {nil, "", 3},
		"running":     {[]*batchv1.Job{jobOf(newTarget(), 5, ready)}, "", 2},
		"terminating": {[]*batchv1.Job{jobOf(newTarget(), 5, ready), jobOf(newTarget(), 6, deleting)}, "", 1},
		"finished":    {[]*batchv1.Job{jobOf(newTarget(), 5, complete)}, "", 3},
		"pruned":      {[]*batchv1.Job{jobOf(newTarget(), 5, complete)}, "uid-5", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, target := newServer(), newTarget()
			target.Policy.Bounds.Max = 3
			w := newWriter(t, s, target, Options{})
			for _, j := range test.jobs {
				w.show(j)
			}
			if test.pruned != "" {
				w.passes(late)
				_, err := w.Apply(t.Context(), s, Plan{Owner: ownerUID, Delete: []Deletion{{Namespace: "shop", Name: test.jobs[0].Name, UID: test.pruned, Reason: HistoryLimit}}})
				require.NoError(t, err)
			}
			result, err := w.Apply(t.Context(), s, Plan{Owner: ownerUID, Create: 9})
			require.NoError(t, err)
			require.Equal(t, test.created, result.Created)
		})
	}
}

// A finished Job that has changed since it was observed is pruned all the same.
func TestPruneOfAChangedJob(t *testing.T) {
	s, w := pruner(t)
	s.change(t, &s.all(t)[0], func(j *batchv1.Job) { j.Annotations["note"] = "read" })
	result, err := w.poll(0)
	require.NoError(t, err)
	require.Equal(t, Result{Pruned: 1}, result)
}

// A prune that conflicts had no effect, also if it is not known why: it is sent again in the
// next poll.
func TestPruneConflicts(t *testing.T) {
	s, w := pruner(t)
	s.before = func(verb, name string) error {
		switch verb {
		case "delete":
			return apierrors.NewConflict(jobs, name, errors.New("another UID"))
		case "get":
			return errors.New("no answer")
		}
		return nil
	}
	for range 2 {
		_, err := w.poll(0)
		require.ErrorContains(t, err, "it has changed, and could not be read: no answer")
	}
	require.Equal(t, 2, s.Requests("delete", "jobs"))
}

// A plan of the program's own: extra labels, and each Job in flight described.
func TestOwnPlan(t *testing.T) {
	s, target := newServer(), newTarget()
	target.Policy.Bounds.Max = scaling.NoMax
	w := newWriter(t, s, target, Options{hub: hub.Options{Place: hub.Place{Home: "home"}, Labels: []string{"replaces"}}})
	s.before = failing("create", 2, context.DeadlineExceeded)
	_, err := w.Apply(context.Background(), labelling{s, []map[string]string{{"replaces": "a", LabelOwner: "x"}, {"replaces": "b"}}}, Plan{Owner: ownerUID, Create: 2})
	require.Error(t, err)
	created, known := w.Jobs(ownerUID)
	require.True(t, known)
	require.Len(t, created, 2)
	require.Equal(t, Job{
		Namespace: "shop", Name: target.tracked(hub.Place{Home: "home"}).build(2, nil).Name, Number: 2, Phase: InFlight, Created: noon,
		Revision: rollout.Revision{Generation: 1}, labels: map[string]string{"replaces": "b"},
	}, created[1])
	require.Equal(t, s.all(t)[0].UID, created[0].UID)
	w.catchUp(t)
	created, _ = w.Jobs(ownerUID)
	require.Equal(t, "a", created[0].labels["replaces"])
	require.Equal(t, string(ownerUID), s.all(t)[0].Labels[LabelOwner])
	require.Equal(t, Pending, created[0].Phase)
	require.Nil(t, s.all(t)[0].OwnerReferences)
	require.NotEqual(t, target.NewJob(1).Name, created[0].Name)
	_, err = w.Apply(context.Background(), s, Plan{Owner: ownerUID, Delete: []Deletion{created[0].Delete(rollout.Background, "mine")}})
	require.NoError(t, err)
	require.Empty(t, s.all(t))

	_, err = w.Apply(context.Background(), s, Plan{Owner: "another", Create: 1})
	require.ErrorIs(t, err, ErrOutdated)
}

// A poll without work makes no request.
func TestNoRequest(t *testing.T) {
	s, target := newServer(), newTarget()
	target.History = history.DefaultPolicy()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(3)
	require.NoError(t, err)
	w.catchUp(t)
	before := len(s.Actions())
	for range 3 {
		w.clock = w.clock.Add(late)
		_, err = w.poll(3)
		require.NoError(t, err)
	}
	require.Len(t, s.Actions(), before)
	require.Empty(t, w.owners[ownerUID].sent)
}

// A create that waits while its owner is untracked and tracked again still keeps
// finished Jobs from being pruned.
func TestUntrackedMeanwhile(t *testing.T) {
	target := newTarget()
	w := newWriter(t, newServer(), target, Options{})
	a, sent, _ := w.choose(t, 2)
	w.Untrack(ownerUID)
	require.NoError(t, w.Track(target))
	again, second, numbers := w.choose(t, 1)
	require.Equal(t, []int64{2}, numbers)
	a.answered(sent[0], request.Reply{Result: slots.NoEffect})
	w.Untrack(ownerUID)
	require.NotNil(t, w.owners[ownerUID], "a create is under way")
	again.answered(second[0], request.Reply{Result: slots.Done, UID: "x"})
	require.NotNil(t, w.owners[ownerUID], "the cache does not show its Job")
	w.clock = noon.Add(4 * late)
	w.sweep()
	require.Empty(t, w.owners)
}

// A plan of the program's own deletes finished Jobs behind the same gates, and no Job that
// the cache does not show.
func TestOwnDeletions(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	_, err := w.poll(1)
	require.NoError(t, err)
	j := s.all(t)[0]
	w.show(s.change(t, &j, complete))
	jobs, _ := w.Jobs(ownerUID)
	plan := Plan{Owner: ownerUID, Delete: []Deletion{jobs[0].Delete(rollout.Background, Outdated), {Name: "unknown"}}}
	result, err := w.Apply(t.Context(), s, plan)
	require.NoError(t, err)
	require.Zero(t, result, "within L of the start")
	w.clock = noon.Add(late)
	result, err = w.Apply(t.Context(), s, plan)
	require.NoError(t, err)
	require.Equal(t, Result{Outdated: 1}, result)
	require.True(t, w.owners[ownerUID].held(slots.DeletePending))
}

// An outdated plan hides no other error.
func TestWithoutOutdated(t *testing.T) {
	outdated, problem := fmt.Errorf("%w: it is 1h old", ErrOutdated), errors.New("problem")
	for _, err := range []error{nil, outdated, errors.Join(outdated), errors.Join(outdated, outdated)} {
		require.NoError(t, WithoutOutdated(err))
	}
	for _, err := range []error{problem, errors.Join(problem, outdated), errors.Join(outdated, problem)} {
		require.EqualError(t, WithoutOutdated(err), "problem")
	}
}

// A silent client has no timeout, and its requests end with their context.
type silent struct{ Client }

func (c silent) BatchV1() batchclient.BatchV1Interface { return silentBatch{c.Client.BatchV1()} }

type silentBatch struct{ batchclient.BatchV1Interface }

func (b silentBatch) Jobs(namespace string) batchclient.JobInterface {
	return silentJobs{b.BatchV1Interface.Jobs(namespace)}
}

type silentJobs struct{ batchclient.JobInterface }

func (silentJobs) Create(ctx context.Context, _ *batchv1.Job, _ metav1.CreateOptions) (*batchv1.Job, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Apply ends a request after Options.Timeout, also if the client has no timeout. The create is in doubt.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := newServer(), time.Now()
		w := newWriter(t, s, newTarget(), Options{Timeout: 7 * time.Second})
		result, err := w.Apply(t.Context(), silent{s}, w.Plan(ownerUID, items(1), noon))
		require.ErrorIs(t, err, requests.ErrNoAnswer)
		require.Zero(t, result)
		require.Equal(t, 7*time.Second, time.Since(began))
		counts, _ := w.Counts(ownerUID, noon)
		require.EqualValues(t, 1, counts.InFlight)
	})
}
