package e2e

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
)

var beside = flag.Bool("beside", false, "run TestBesideKEDA, with KEDA's operator, for three minutes")

const ours = "example.com/ours"

// Beside KEDA's operator, which serves the ScaledJobs without the label, no ScaledJob has two
// masters: not when it moves to the controller, and not when it moves back.
func TestBesideKEDA(t *testing.T) {
	if !*beside {
		t.Skip("use -beside")
	}
	if other := os.Getenv("SCALEDJOB_KEDA"); other != "" {
		t.Skipf("KEDA %s is selected: the test is about the newest release, for WATCH_LABEL_SELECTOR", other)
	}
	s := newFixture(t)
	s.install(t)
	t.Setenv("WATCH_LABEL_SELECTOR", "!"+ours)
	s.keda.Restart(t)
	spec := func(namespace string) *queue {
		list := namespace + "-beside"
		require.NoError(t, s.workers.redis.Del(t.Context(), list).Err())
		t.Cleanup(func() { s.workers.redis.Del(t.Context(), list) })
		s.workers.send(t, list, 0, 3)
		s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
		q := &queue{s, t, namespace}
		q.apply(job(map[string]string{works: "1s"}) + "  successfulJobsHistoryLimit: 1000\n" + s.redisTrigger(list, 1))
		return q
	}
	moves, stays, deleted := spec("moves"), spec("stays"), spec("deleted")
	p := s.start(t, "-lease-namespace=scaledjob", "-label="+ours, "-as-keda=2.21")
	for _, q := range []*queue{moves, stays, deleted} {
		q.becomes(time.Minute, func(t *assert.CollectT) {
			keda, own := q.masters(t)
			require.Greater(t, len(keda), 3)
			require.Empty(t, own)
		})
	}
	labelled := time.Now()
	moves.patch("metadata: {labels: {" + ours + ": ''}}")
	deleted.patch("metadata: {labels: {" + ours + ": ''}}")
	moves.becomes(2*time.Minute, func(t *assert.CollectT) {
		_, own := moves.masters(t)
		require.Greater(t, len(own), 3)
	})
	keda, own := moves.masters(t)
	require.False(t, keda[len(keda)-1].After(own[0]), "KEDA's last Job was created at %s, our first at %s", keda[len(keda)-1], own[0])
	require.GreaterOrEqual(t, own[0].Sub(labelled), time.Minute)
	t.Logf("KEDA's last Job was created %s after the label, our first %s after it", keda[len(keda)-1].Sub(labelled), own[0].Sub(labelled))
	before := len(keda)

	// A ScaledJob that KEDA's operator has had, and does not see any more, can be deleted.
	require.NoError(t, s.dynamic.Resource(scaledJobs).Namespace("deleted").Delete(t.Context(), "consumer", metav1.DeleteOptions{}))
	deleted.becomes(30*time.Second, func(t *assert.CollectT) {
		_, err := s.dynamic.Resource(scaledJobs).Namespace("deleted").Get(deleted.t.Context(), "consumer", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})

	moves.patch(`metadata: {annotations: {autoscaling.keda.sh/paused: "true"}}`)
	moves.becomes(30*time.Second, func(t *assert.CollectT) { require.Equal(t, "True ScaledJobPaused", moves.condition(t, "Paused")) })
	time.Sleep(2 * requestTimeout)
	moves.patch("metadata: {labels: {" + ours + ": null}}")
	moves.patch(`metadata: {annotations: {autoscaling.keda.sh/paused: null}}`)
	moves.becomes(time.Minute, func(t *assert.CollectT) {
		keda, _ := moves.masters(t)
		require.Greater(t, len(keda), before+3)
	})
	keda, own = moves.masters(t)
	require.False(t, own[len(own)-1].After(keda[before]), "our last Job was created at %s, KEDA's next at %s", own[len(own)-1], keda[before])
	t.Logf("our last Job was created %s before KEDA's next", keda[before].Sub(own[len(own)-1]))
	_, own = stays.masters(t)
	require.Empty(t, own)
	p.Stop()
}

// masters returns when KEDA's operator and the controller created the Jobs of a ScaledJob.
func (q *queue) masters(t require.TestingT) (keda, own []time.Time) {
	jobs := q.jobs(t)
	slices.SortFunc(jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, j := range jobs {
		if j.Labels[adapter.LabelOwner] == "" {
			keda = append(keda, j.CreationTimestamp.Time)
		} else {
			own = append(own, j.CreationTimestamp.Time)
		}
	}
	return keda, own
}
