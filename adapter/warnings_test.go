package adapter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A setting without effect is in the plan, also if the Jobs are not known.
func TestWarnings(t *testing.T) {
	target := newTarget()
	target.Policy = scaling.DefaultPolicy()
	target.Policy.Bounds.Min, target.Policy.Bounds.Max = 7, 5
	metrics := []scaling.Metric{{Value: 1, Target: 1, WaitingOnly: true}}
	tracker, err := Observe(target, Options{}, nil, nil)
	require.NoError(t, err)
	plan := tracker.Plan(target.Owner.UID, metrics, time.Now())
	require.Len(t, plan.Warnings, 2)
	require.Equal(t, []string{"Bounds.Min", "Metrics[0].WaitingOnly"}, []string{plan.Warnings[0].Path, plan.Warnings[1].Path})
	require.Contains(t, plan.String(), "\nwarning   Bounds.Min: found 7; use at most Max, 5; it counts as Max")

	target.Policy.Bounds.Min = 2
	target.Policy.Strategy, target.Rollout = strategy.PendingAware{}, rollout.Policy{EveryEdit: true, Propagation: rollout.Orphan}
	paths := func() (paths []string) {
		tracker, err := Observe(target, Options{}, nil, nil)
		require.NoError(t, err)
		for _, w := range tracker.Plan(target.Owner.UID, nil, time.Now()).Warnings {
			paths = append(paths, w.Path)
		}
		return paths
	}
	require.Equal(t, []string{"StuckAfter", "Rollout.EveryEdit", "Rollout.Propagation"}, paths())
	target.StuckAfter, target.DeleteStuckAfter = time.Minute, time.Hour
	require.Equal(t, []string{"Rollout.EveryEdit"}, paths(), "stuck Jobs are deleted by that propagation")

	target.Policy.Strategy, target.Rollout = nil, rollout.Policy{}
	tracker, err = Observe(target, Options{}, nil, nil)
	require.NoError(t, err)
	require.Empty(t, tracker.Plan(target.Owner.UID, []scaling.Metric{{Value: 1, Target: 1}}, time.Now()).Warnings)
}
