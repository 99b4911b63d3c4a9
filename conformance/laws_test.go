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

// fillsTheRoom: a queue that still asks for all the room when the running Jobs,
// or the pending ones, have been subtracted from it gets all the room.
var fillsTheRoom = strategytest.Law{
	Name: "a queue that asks for all the room gets it",
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

var laws = []strategytest.Law{
	strategytest.Pure, strategytest.MoreTargetNeverFewer, strategytest.MoreRunningNeverMore, strategytest.MorePendingNeverMore,
	strategytest.MoreStuckNeverFewer, strategytest.SmallerMaxNeverMore, strategytest.EmptyQueueCreatesNothing,
	strategytest.WithinRoom, strategytest.Settles, fillsTheRoom,
}

// strategytest finds by itself what is wrong with KEDA's strategies: custom
// proposes more than the maximum leaves room for; eager subtracts pending Jobs
// twice, so that it leaves room unused while they start, and asks for the same
// Jobs again in the next poll; accurate before 2.19 creates more Jobs when more
// run or when fewer may, and more in the next poll. The model breaks the same laws at the same loads.
func TestLaws(t *testing.T) {
	halves := keda.ScalingStrategy{
		Strategy: "custom", CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5",
	}
	more := keda.ScalingStrategy{
		Strategy: "custom", CustomScalingQueueLengthDeduction: new(int32(-2)), CustomScalingRunningJobPercentage: "0",
	}
	for _, tt := range []struct {
		spec   keda.ScalingStrategy
		broken []strategytest.Law
	}{
		{keda.ScalingStrategy{Strategy: "default"}, nil},
		{keda.ScalingStrategy{Strategy: "accurate"}, brokenByAccurate()},
		{keda.ScalingStrategy{Strategy: "eager"}, brokenByEager()},
		{halves, []strategytest.Law{strategytest.WithinRoom, strategytest.Settles, fillsTheRoom}},
		{more, []strategytest.Law{strategytest.EmptyQueueCreatesNothing, strategytest.WithinRoom, strategytest.Settles}},
	} {
		j := &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: tt.spec}}
		operator := operatorStrategy{executor.NewScalingStrategy(logr.Discard(), manifest(j))}
		model := profile.Strategy(j)
		broken := []string{}
		for _, law := range laws {
			found := strategytest.Smallest(operator, law)
			require.Equal(t, found, strategytest.Smallest(model, law), "%s: %s", model, law.Name)
			if found != nil {
				t.Logf("%s: %v", model, found)
				broken = append(broken, law.Name)
			}
		}
		require.Equal(t, lawNames(tt.broken), broken, "%s", model)
	}
}

func brokenByAccurate() []strategytest.Law {
	if profile.Rule(keda.PartAccurate).Since == "2.19" {
		return nil
	}
	return []strategytest.Law{strategytest.MoreRunningNeverMore, strategytest.SmallerMaxNeverMore, strategytest.Settles}
}

func brokenByEager() []strategytest.Law {
	if profile.Supports(keda.EagerStrategy) != nil {
		return nil // its name selects default
	}
	return []strategytest.Law{strategytest.Settles, fillsTheRoom}
}

func lawNames(of []strategytest.Law) []string {
	names := []string{}
	for _, law := range of {
		names = append(names, law.Name)
	}
	return names
}
