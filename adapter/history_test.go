package adapter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
)

// A tracker shares no limit with its caller, who may reuse his.
func TestTrackCopiesTheHistory(t *testing.T) {
	target := target()
	target.History = history.Policy{Succeeded: history.Keep(5), Failed: history.Keep(5), Age: history.After(time.Hour)}
	done := *target.NewJob(1)
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	tracker, err := adapter.Observe(target, adapter.Options{}, []batchv1.Job{done}, nil)
	require.NoError(t, err)
	*target.History.Succeeded, *target.History.Failed = 0, 0
	require.Empty(t, tracker.Plan(queue.UID, nil, time.Time{}).Delete)
	require.NoError(t, tracker.Track(target), "an edit")
	require.Len(t, tracker.Plan(queue.UID, nil, time.Time{}).Delete, 1)
}
