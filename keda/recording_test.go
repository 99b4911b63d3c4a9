package keda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/test/recording"
)

// 300 sequences of KEDA's executor: each poll creates and deletes the same Jobs, and panics where it did.
func TestRecording(t *testing.T) {
	sequences, err := recording.Read[recording.KEDASequence]("keda")
	require.NoError(t, err)
	require.Len(t, sequences, 300)
	profile := keda.Newest()
	for i, s := range sequences {
		for n, poll := range s.Polls {
			counts := profile.Count(&s.ScaledJob, poll.Jobs)
			d := profile.Decide(&s.ScaledJob, keda.State{Scalers: poll.Scalers, Running: counts.Running, Pending: counts.Pending, JobsUnknown: poll.JobsUnknown})
			require.Equal(t, poll.Panicked, d.Fault.Panics(), "sequence %d, poll %d: %s", i, n, d)
			if poll.Panicked {
				continue
			}
			require.Equal(t, poll.Created, d.Create, "sequence %d, poll %d: %s", i, n, d)
			var deleted []string
			for _, index := range profile.History(&s.ScaledJob, poll.Jobs).Deleted {
				deleted = append(deleted, poll.Jobs[index].Name)
			}
			if poll.JobsUnknown {
				deleted = nil
			}
			require.Equal(t, poll.Deleted, deleted, "sequence %d, poll %d", i, n)
		}
	}
}
