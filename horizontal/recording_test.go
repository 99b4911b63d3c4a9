package horizontal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/test/recording"
)

// 300 sequences of the controller of Kubernetes: each poll decides as it did, with its reasons.
func TestRecording(t *testing.T) {
	sequences, err := recording.Read[recording.HorizontalSequence]("horizontal")
	require.NoError(t, err)
	require.Len(t, sequences, 300)
	for i, polls := range sequences {
		require.GreaterOrEqual(t, len(polls), 5)
		var checkpoint horizontal.Checkpoint
		reasons := map[string]string{}
		for n, poll := range polls {
			if poll.Started {
				checkpoint = horizontal.Checkpoint{ScaledToZero: checkpoint.ScaledToZero}
			}
			d := horizontal.Decide(poll.Policy, poll.Observation, checkpoint)
			checkpoint = d.Checkpoint
			if d.Replicas != d.Current {
				checkpoint = d.Written()
			}
			for name, reason := range map[string]string{"AbleToScale": d.AbleToScale.Reason, "ScalingActive": d.ScalingActive.Reason, "ScalingLimited": d.ScalingLimited.Reason} {
				if reason != "" {
					reasons[name] = reason
				}
			}
			if poll.Wrote {
				reasons["AbleToScale"] = poll.Reasons["AbleToScale"] // of the write
			}
			delete(poll.Reasons, "ScaledToZero") // its effect is in the replicas
			require.Equal(t, poll.Replicas, d.Replicas, "sequence %d, poll %d: %s", i, n, d)
			require.Equal(t, poll.Wrote, d.Replicas != d.Current, "sequence %d, poll %d: %s", i, n, d)
			require.Equal(t, poll.Reasons, reasons, "sequence %d, poll %d: %s", i, n, d)
		}
	}
}
