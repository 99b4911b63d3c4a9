package conformance

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

var percentages = []string{"", "0", "1", "0.5", "0.33", "0.29", ".7", "2", "-0.5", "NaN", "Inf", "-Inf", "1e308", "1e-400", "1e999",
	"0x1p-2", "50%", "0,5", " 0.5", "1_0"}

// every lists a ScaledJob of each strategy, with the parameters that make a
// difference.
func every() []*keda.ScaledJob {
	var all []*keda.ScaledJob
	for _, name := range []string{"", "default", "accurate", "eager", "Accurate", "unknown"} {
		all = append(all, &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{Strategy: name}}})
	}
	for _, percentage := range percentages {
		for _, deduction := range []*int32{nil, new(int32(0)), new(int32(2)), new(int32(-3)), new(int32(-1 << 31)), new(int32(1<<31 - 1))} {
			all = append(all, &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{
				Strategy: "custom", Parameters: strategy.Parameters{
					CustomScalingQueueLengthDeduction: deduction, CustomScalingRunningJobPercentage: percentage}}}})
		}
	}
	return all
}

// scale is the answer of KEDA's strategy, in the model's words.
func scale(s executor.ScalingStrategy, l strategy.Load, scaleTo int64) (a keda.Scale) {
	if panics(func() { a.EffectiveMaxScale, a.ScaleTo = effectiveMaxScale(s, l, scaleTo) }) {
		a.Fault = keda.NoDeduction
	}
	return a
}

// sameScale compares the answers, but for wrapping around, of which KEDA does
// not know.
func sameScale(t tb, model keda.Strategy, s executor.ScalingStrategy, l strategy.Load, scaleTo int64) {
	answer := model.Scale(l, scaleTo)
	if answer.Fault == keda.WrapsAround {
		answer.Fault = keda.NoFault
	}
	same(t, answer, scale(s, l, scaleTo), func() string { return fmt.Sprintf("%s at %+v, held to %d", model, l, scaleTo) })
}

func TestStrategies(t *testing.T) {
	for _, j := range every() {
		model, operator := profile.Strategy(j), executor.NewScalingStrategy(logr.Discard(), operatorOf(j))
		for i := range int64(7 * 7 * 7 * 7) {
			l := strategy.Load{Target: i % 7, Running: i / 7 % 7, Pending: i / 49 % 7, Max: i / 343}
			sameScale(t, model, operator, l, 3)
		}
	}
}

func TestRandomStrategies(t *testing.T) {
	jobs := every()
	rapid.Check(t, func(t *rapid.T) {
		j := rapid.SampledFrom(jobs).Draw(t, "scaledjob")
		l := rapid.OneOf(strategytest.Arbitrary(), strategytest.Loads()).Draw(t, "load")
		l.Stuck = 0
		sameScale(t, profile.Strategy(j), executor.NewScalingStrategy(logr.Discard(), operatorOf(j)), l, rapid.Int64().Draw(t, "scaleTo"))
	})
}
