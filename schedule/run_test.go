package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// decided is the state of a job without a schedule, created at minute 0.
func decided() schedule.Checkpoint {
	return schedule.Checkpoint{Version: 1, Begin: created, Handled: created.Add(-1)}
}

func tagsOf(runs []schedule.Run) (tags []string) {
	for _, r := range runs {
		tags = append(tags, r.Tag)
	}
	return tags
}

// Each outcome has its own limit. Lost, stopped and cancelled runs count as failed. The
// oldest runs are dropped, in any order of the state.
func TestHistoryOfEachOutcome(t *testing.T) {
	lost, stopped := ran("lost", 3, false), ran("stopped", 4, false)
	lost.Lost, stopped.Stopped = true, "replaced"
	cancelled := schedule.Run{Tag: "cancelled", Status: schedule.Completed, Completed: minute(5), Stopped: "cancelled"}
	state := decided()
	state.Completed = []schedule.Run{ran("ok 6", 6, true), lost, ran("ok 1", 1, true), stopped, ran("failed", 2, false), cancelled}
	seen := completed(state)
	for _, tt := range []struct {
		succeeded, failed *int64
		keep, drop        []string
	}{
		{history.Keep(1), history.Keep(2), []string{"stopped", "cancelled", "ok 6"}, []string{"ok 1", "failed", "lost"}},
		{history.Keep(2), history.Keep(3), []string{"ok 1", "lost", "stopped", "cancelled", "ok 6"}, []string{"failed"}},
		{history.Keep(2), history.Keep(4), []string{"ok 1", "failed", "lost", "stopped", "cancelled", "ok 6"}, nil},
		{nil, history.Keep(0), []string{"ok 1", "ok 6"}, []string{"failed", "lost", "stopped", "cancelled"}},
		{history.Keep(0), nil, []string{"failed", "lost", "stopped", "cancelled"}, []string{"ok 1", "ok 6"}},
	} {
		s := schedule.DefaultPolicy()
		s.UID, s.Created, s.History = "2f6a", created, history.Policy{Succeeded: tt.succeeded, Failed: tt.failed}
		d := decide(s, state, seen, minute(9))
		require.Equal(t, tt.keep, tagsOf(d.Checkpoint.Completed))
		require.Equal(t, tt.drop, d.Checkpoint.PendingDeletion)
		require.Equal(t, tt.drop, d.Delete)
	}
}
