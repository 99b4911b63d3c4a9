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
