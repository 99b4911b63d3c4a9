package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
)

// decided is the state of a job without a schedule, created at minute 0.
func decided() schedule.Checkpoint {
	return schedule.Checkpoint{Version: 1, Begin: created, Handled: created.Add(-1)}
}

// Of several Jobs with a tag an unfinished one counts, then the oldest, then the first that
// finished, in any order of the Jobs.
func TestSameTag(t *testing.T) {
	s := minutely(t)
	s.Schedule = nil
	state := decided()
	state.Running = []schedule.Run{{Tag: "r", Status: schedule.Running, Started: minute(1)}}
	j := func(outcome schedule.Outcome, created, finished int, exit int32) schedule.Job {
		return schedule.Job{Tag: "r", Outcome: outcome, Created: minute(created), Finished: minute(finished), ExitCode: exit}
	}
	ordered := []schedule.Job{
		{Tag: "r", Created: minute(3)}, j(schedule.Failed, 1, 7, 9), j(schedule.Failed, 2, 5, 8), j(schedule.Failed, 2, 6, 3), j(schedule.Failed, 2, 6, 4), j(schedule.Succeeded, 2, 6, 0),
	}
	for len(ordered) > 0 {
		first := ordered[0]
		rapid.Check(t, func(t *rapid.T) {
			jobs := rapid.Permutation(ordered).Draw(t, "jobs")
			d := decide(s, state, schedule.Observation{JobsKnown: true, Jobs: jobs}, minute(9))
			last := d.Checkpoint.Last
			require.Equal(t, first.Outcome == schedule.Unfinished, len(d.Checkpoint.Running) == 1)
			if len(d.Checkpoint.Running) == 1 {
				return
			}
			require.Equal(t, first.Finished, last.Completed)
			require.Equal(t, first.ExitCode, last.ExitCode)
			require.Equal(t, first.Outcome, last.Outcome())
		})
		ordered = ordered[1:]
	}
}
