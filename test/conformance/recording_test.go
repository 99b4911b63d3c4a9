//go:build !older

package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/test/recording"
)

// TestRecording compares short sequences of the executor with those of testdata, which the tests of package
// keda replay.
func TestRecording(t *testing.T) {
	draw := rapid.Custom(drawSequence)
	var sequences []recording.KEDASequence
	for seed := range 300 {
		sequences = append(sequences, draw.Example(seed))
	}
	require.NoError(t, recording.Check("keda", sequences))
}

// drawSequence draws a ScaledJob and its queues, and plays polls. An operator that panics has ended.
func drawSequence(t *rapid.T) recording.KEDASequence {
	s := recording.KEDASequence{ScaledJob: *drawScaledJob(t)}
	s.ScaledJob.Spec.SuccessfulJobsHistoryLimit = oneOf(t, "succeeded", nil, new(int32(0)), new(int32(1)), new(int32(3)))
	s.ScaledJob.Spec.FailedJobsHistoryLimit = oneOf(t, "failed", nil, new(int32(0)), new(int32(1)))
	s.ScaledJob.Spec.ScalingStrategy.PendingPodConditions = drawConditions(t)
	var jobs []keda.Job
	created := 0
	for range 8 {
		poll := recording.KEDAPoll{Scalers: drawScalers(t), Jobs: jobs, JobsUnknown: rapid.IntRange(0, 19).Draw(t, "broken") == 0}
		play(&s.ScaledJob, &poll)
		s.Polls = append(s.Polls, poll)
		if poll.Panicked {
			break
		}
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j keda.Job) bool { return slices.Contains(poll.Deleted, j.Name) })
		for range poll.Created {
			created++
			jobs = append(jobs, keda.Job{Name: fmt.Sprintf("orders-%03d", created)})
		}
		for i := range jobs {
			advance(t, &jobs[i])
		}
	}
	return s
}

func play(j *keda.ScaledJob, poll *recording.KEDAPoll) {
	c := clusterOf(j, poll.Jobs)
	c.broken = poll.JobsUnknown
	poll.Panicked = panics(func() {
		operator := operatorOf(j)
		d := demand(operator, poll.Scalers)
		newOperator(c)(operator, d.active, d.queueLength, d.maxScale)
	})
	poll.Created, poll.Deleted = int64(len(c.created)), c.deleted
}

// advance starts a Job's pod, or finishes a Job.
func advance(t *rapid.T, j *keda.Job) {
	finished := len(j.Conditions) > 0
	switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
	case finished || step == 0:
	case len(j.Pods) == 0:
		j.Pods = []keda.Pod{{Phase: "Pending"}}
	case step < 4:
		j.Pods = []keda.Pod{{Phase: "Running", Conditions: []keda.Condition{{Type: "PodScheduled", Status: "True"}, {Type: "Ready", Status: oneOf(t, "ready", "True", "False")}}}}
	case step == 4:
		j.Conditions = []keda.Condition{{Type: "Failed", Status: "True"}}
	default:
		j.Conditions = []keda.Condition{{Type: "Complete", Status: "True"}}
		j.CompletionTime = minute(rapid.IntRange(0, 59).Draw(t, "completed"))
	}
}
