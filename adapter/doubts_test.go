package adapter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/history"
)

// A writer with one finished Job that is to be deleted, long after its start.
func pruner(t *testing.T) (*server, *writer) {
	s, target := newServer(), newTarget()
	target.History = keepNone
	_, err := s.BatchV1().Jobs("shop").Create(context.Background(), jobOf(target, 1, complete), metav1.CreateOptions{})
	require.NoError(t, err)
	w := newWriter(t, s, target, Options{})
	w.catchUp(t)
	w.clock = w.clock.Add(late)
	return s, w
}

// Creates do not wait for a pruned Job that a finalizer holds, even if the cache shows
// that it is being deleted before the delete is answered.
func TestPrunedJobHeld(t *testing.T) {
	s, w := pruner(t)
	held := s.all(t)[0]
	s.after = func(verb, _ string) error {
		if verb == "delete" {
			deleting(&held)
			w.show(&held)
		}
		return nil
	}
	result, err := w.poll(0)
	require.NoError(t, err)
	require.Equal(t, Result{Pruned: 1}, result)
	result, err = w.poll(1)
	require.NoError(t, err)
	require.Equal(t, Result{Created: 1}, result)
}

// An owner that is untracked and tracked again still waits for the Jobs that it pruned.
func TestPrunedJobTrackedAgain(t *testing.T) {
	_, w := pruner(t)
	_, err := w.poll(0)
	require.NoError(t, err)
	target := newTarget()
	target.History = keepNone
	w.Untrack(ownerUID)
	require.NoError(t, w.Track(target))
	require.Zero(t, w.Plan(ownerUID, items(1), noon).Create, "the cache shows a pruned Job")
	w.catchUp(t)
	require.Equal(t, int64(1), w.Plan(ownerUID, items(1), noon).Create)
}

// A prune that was not answered is asked for after L, and not sent again before.
func TestUnansweredPruneSentOnce(t *testing.T) {
	s, w := pruner(t)
	s.after = failing("delete", 1, errors.New("no answer"))
	_, err := w.poll(0)
	require.ErrorContains(t, err, "no answer")
	result, err := w.poll(1)
	require.NoError(t, err)
	require.Zero(t, result)
	require.Equal(t, 1, s.requests["delete"])
}

// A number that is taken is asked for after L: its Job may have been deleted unseen.
func TestTakenNumberIsFreed(t *testing.T) {
	s, target := newServer(), newTarget()
	w := newWriter(t, s, target, Options{})
	finished, err := s.BatchV1().Jobs("shop").Create(context.Background(), jobOf(target, 1, complete), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.poll(1)
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{1, 2}, w.numbers(t), "number 1 is taken")
	require.NoError(t, s.BatchV1().Jobs("shop").Delete(context.Background(), finished.Name, metav1.DeleteOptions{}))
	w.catchUp(t)
	w.clock = w.clock.Add(late)
	_, err = w.poll(2)
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{1, 2}, w.numbers(t))
}

// Creates in doubt do not stop the history: while every tenth create is lost, the finished Jobs
// stay below what is created in a few L, and the creates go on.
func TestHistoryBesideDoubts(t *testing.T) {
	s, target := newServer(), newTarget()
	target.History.Succeeded, target.Policy.Bounds.Max = history.Keep(3), 20
	w := newWriter(t, s, target, Options{})
	n, created, most := 0, int64(0), 0
	s.before = func(verb, _ string) error {
		if verb == "create" {
			if n++; n%10 == 0 {
				return errors.New("no answer")
			}
		}
		return nil
	}
	const every = 5 * time.Second
	for range 60 {
		w.clock = w.clock.Add(every)
		s.clock = w.clock
		result, _ := w.poll(5)
		created += result.Created
		for _, j := range s.all(t) {
			if end(&j) == Running {
				s.change(t, &j, complete)
			}
		}
		w.catchUp(t)
		most = max(most, len(s.all(t)))
	}
	t.Log("Jobs created:", created, "; finished at once:", most)
	require.Less(t, most, 4*5*int(late/every))
	require.Greater(t, created, int64(60))
}
