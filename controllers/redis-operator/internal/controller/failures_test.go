package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// fail ends every unfinished Job as failed.
func (b *bench) fail() (failed int) {
	b.Helper()
	for _, job := range b.jobs() {
		if len(job.Status.Conditions) > 0 {
			continue
		}
		failed++
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_, err := b.kube.BatchV1().Jobs(job.Namespace).Update(b.Context(), &job, metav1.UpdateOptions{})
		require.NoError(b, err)
	}
	return failed
}

// Depth 1, maxReplicas 1, and each Job fails a second after its creation, which brings a
// reconcile: within half an hour there are few Jobs, the status says why, and a success ends it.
func TestJobsFail(t *testing.T) {
	sj := scaledJob()
	sj.Spec.MaxReplicas, sj.Spec.Threshold = 1, 1
	benched(t, func(b *bench) {
		b.depth = 1
		for start := time.Now(); time.Since(start) < 30*time.Minute; {
			next := b.reconciles()
			if b.fail() == 0 {
				time.Sleep(next)
			}
		}
		require.Less(t, len(b.jobs()), 12)
		require.Greater(t, len(b.jobs()), 5)
		status := b.stored().Status
		ready := condition(&status, v1.ConditionReady)
		require.Equal(t, string(adapter.FailingJobs), ready.Reason)
		require.Contains(t, ready.Message, "Jobs fail and none has succeeded since")
		require.Greater(t, status.Failures.Count, int32(5))
		require.NotNil(t, status.Failures.NextJob)
		for len(b.jobs()) == 0 || len(b.jobs()[len(b.jobs())-1].Status.Conditions) > 0 {
			time.Sleep(b.reconciles())
			for _, job := range b.jobs() {
				if len(job.Status.Conditions) == 0 {
					job.Status.CompletionTime = new(metav1.Now())
					b.finish(job)
					b.reconciles()
					require.Nil(t, b.stored().Status.Failures)
					require.Equal(t, "Reconciled", condition(&b.stored().Status, v1.ConditionReady).Reason)
					return
				}
			}
		}
	}, sj)
}

// A depth of 0 is said with the key and the database: a wrong name looks the same.
func TestEmptyOrMissing(t *testing.T) {
	benched(t, func(b *bench) {
		b.edit(func(sj *v1.ScaledJob) { sj.Spec.QueueName, sj.Spec.RedisDatabase = "bull:mail", 2 })
		b.reconciles()
		require.EqualValues(t, 2, b.reads[0].Database)
		for _, kind := range []string{v1.ConditionReady, v1.ConditionQueueConnected} {
			require.Contains(t, condition(&b.stored().Status, kind).Message, `List "bull:mail" of database 2 is empty or does not exist`)
		}
		b.depth = 3
		b.reconciles()
		require.Contains(t, condition(&b.stored().Status, v1.ConditionReady).Message, `Items wait in list "bull:mail"`)
	}, scaledJob())
}
