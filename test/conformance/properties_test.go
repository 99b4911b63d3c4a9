package conformance

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

// An operatorStrategy is KEDA's own as one that strategytest can check.
type operatorStrategy struct{ executor.ScalingStrategy }

func (s operatorStrategy) Propose(l strategy.Load) int64 {
	proposal, _ := effectiveMaxScale(s.ScalingStrategy, l, l.Target)
	return proposal
}

// fillsHeadroom: a queue that still asks for all the room when the running Jobs,
// or the pending ones, have been subtracted from it gets all the room.
var fillsHeadroom = strategytest.Property{
	Name: "FillsHeadroom", Meaning: "a target of at least R + max(0, M - R) gets max(0, M - R)",
	Check: func(s strategy.Strategy, l strategy.Load, _ int64) error {
		room := max(0, l.Max-l.Running)
		if l.Target-l.Running < room {
			return nil
		}
		if n := max(0, s.Propose(l)); n < room {
			return fmt.Errorf("it proposes %d where there is room for %d", n, room)
		}
		return nil
	},
}

var properties = append(strategytest.All(), fillsHeadroom)

// strategytest finds by itself what is wrong with KEDA's strategies: custom
// proposes more than the maximum leaves room for; eager subtracts pending Jobs
// twice, so that it leaves room unused while they start, and asks for the same
// Jobs again in the next poll; accurate before 2.19 creates more Jobs when more
// run or when fewer may, and more in the next poll. The model breaks the same properties at the same loads.
func TestProperties(t *testing.T) {
	halves := keda.ScalingStrategy{
		Strategy: "custom", Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5"},
	}
	more := keda.ScalingStrategy{
		Strategy: "custom", Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(-2)), CustomScalingRunningJobPercentage: "0"},
	}
	for _, tt := range []struct {
		spec   keda.ScalingStrategy
		broken []strategytest.Property
	}{
		{keda.ScalingStrategy{Strategy: "default"}, nil},
		{keda.ScalingStrategy{Strategy: "accurate"}, brokenByAccurate()},
		{keda.ScalingStrategy{Strategy: "eager"}, brokenByEager()},
		{halves, []strategytest.Property{strategytest.WithinHeadroom, strategytest.SettlesInOnePoll, fillsHeadroom}},
		{more, []strategytest.Property{strategytest.EmptyQueueCreatesNothing, strategytest.WithinHeadroom, strategytest.SettlesInOnePoll}},
	} {
		j := &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: tt.spec}}
		operator := operatorStrategy{executor.NewScalingStrategy(logr.Discard(), operatorOf(j))}
		model := profile.Strategy(j)
		broken := []string{}
		for _, p := range properties {
			found := strategytest.Smallest(operator, p)
			require.Equal(t, found, strategytest.Smallest(model, p), "%s: %s", model, p.Name)
			if found != nil {
				t.Logf("%s: %v", model, found)
				broken = append(broken, p.Name)
			}
		}
		require.Equal(t, names(tt.broken), broken, "%s", model)
	}
}

func brokenByAccurate() []strategytest.Property {
	if profile.Rule("accurate").Since == "2.19" {
		return nil
	}
	return []strategytest.Property{strategytest.MonotoneInRunning, strategytest.MonotoneInMax, strategytest.SettlesInOnePoll}
}

func brokenByEager() []strategytest.Property {
	if profile.Supports(keda.EagerStrategy) != nil {
		return nil // its name selects default
	}
	return []strategytest.Property{strategytest.SettlesInOnePoll, fillsHeadroom}
}

func names(of []strategytest.Property) []string {
	names := []string{}
	for _, p := range of {
		names = append(names, p.Name)
	}
	return names
}
