package conformance

import (
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

// strategytest finds by itself what is wrong with KEDA's strategies, and the model breaks
// the same properties at the same loads.
func TestProperties(t *testing.T) {
	halves := strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5"}
	more := strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(-2)), CustomScalingRunningJobPercentage: "0"}
	found := 0
	for _, spec := range []keda.ScalingStrategy{
		{Strategy: "default"},
		{Strategy: "accurate"},
		{Strategy: "eager"},
		{Strategy: "custom", Parameters: halves},
		{Strategy: "custom", Parameters: more},
	} {
		j := &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: spec}}
		operator := operatorStrategy{executor.NewScalingStrategy(logr.Discard(), operatorOf(j))}
		model := profile.Strategy(j)
		for _, p := range strategytest.All() {
			smallest := strategytest.Smallest(operator, p)
			require.Equal(t, smallest, strategytest.Smallest(model, p), "%s: %s", model, p.Name)
			if smallest != nil {
				t.Logf("%s: %v", model, smallest)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 5, "both of custom break some")
}
