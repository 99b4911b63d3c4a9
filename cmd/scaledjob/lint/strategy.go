package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
)

const strategyField = "spec.scalingStrategy.strategy"

func (j *job) scaling(field string) place { return j.place("spec", "scalingStrategy", field) }

// oneOf returns a fix with the likely choice, or with all choices.
func oneOf(got string, choices []string) string {
	if name := nearest(strings.TrimSpace(got), choices); name != "" {
		return "Write " + name
	}
	if len(choices) == 1 {
		return "Write " + choices[0]
	}
	return "Write one of " + strings.Join(choices, ", ")
}

func strategyUnknown(j *job) {
	j.misnamed(strategyField, j.spec.ScalingStrategy.Strategy, keda.Strategies(), nil, "KEDA silently uses default instead")
}

func strategyDefaultRefused(j *job) {
	if j.spec.ScalingStrategy.Strategy == "default" {
		j.find(j.scaling("strategy"), "Delete the field; every release uses default without it",
			effect{affected: j.refused(strategyField), text: refusal, fatal: true})
	}
}

func calculationUnknown(j *job) {
	j.misnamed("spec.scalingStrategy.multipleScalersCalculation", j.spec.ScalingStrategy.MultipleScalersCalculation, keda.Calculations(),
		supports(keda.Calculation), "KEDA silently uses max instead")
}

const percentageField = "customScalingRunningJobPercentage"

// percentage returns the percentage of the strategy custom, if KEDA can read it.
func (j *job) percentage() (x float64, ok bool) {
	in := &j.spec.ScalingStrategy
	x, err := strconv.ParseFloat(in.CustomScalingRunningJobPercentage, 64)
	return x, in.Strategy == "custom" && err == nil
}

func customWithoutPercentage(j *job) {
	in := &j.spec.ScalingStrategy
	if in.Strategy != "custom" || in.CustomScalingRunningJobPercentage != "" {
		return
	}
	position, text := j.scaling("strategy"), "without "+percentageField+", KEDA uses the strategy default"
	if d := in.CustomScalingQueueLengthDeduction; d != nil {
		position, text = j.scaling("customScalingQueueLengthDeduction"), "without "+percentageField+", KEDA uses the strategy default and ignores the deduction"
	}
	j.find(position, "Add "+percentageField+`, such as "0.5", or use the strategy default`, effect{text: text})
}

func customWithoutDeduction(j *job) {
	if _, ok := j.percentage(); ok && j.spec.ScalingStrategy.CustomScalingQueueLengthDeduction == nil {
		j.find(j.scaling("strategy"), "Add customScalingQueueLengthDeduction: 0",
			effect{affected: func(p keda.Profile) bool { return p.Strategy(j.model).Scale(strategy.Load{}, 0).Fault.Panics() },
				text: "without customScalingQueueLengthDeduction, " + panics})
	}
}

// deductionStarves finds a deduction of more than nothing: it is taken from the Jobs for the queue in each poll.
func deductionStarves(j *job) {
	in := &j.spec.ScalingStrategy
	if in.Strategy == "custom" && in.CustomScalingQueueLengthDeduction != nil && *in.CustomScalingQueueLengthDeduction > 0 {
		j.find(j.scaling("customScalingQueueLengthDeduction"), "Write 0", effect{affected: j.selects(),
			text: fmt.Sprintf("custom subtracts it in each poll, so a queue that needs %s gets none", field.Plural(int(*in.CustomScalingQueueLengthDeduction), "Job"))})
	}
}

func customParametersUnused(j *job) {
	in := &j.spec.ScalingStrategy
	for field, used := range map[string]bool{
		percentageField:                     in.CustomScalingRunningJobPercentage != "",
		"customScalingQueueLengthDeduction": in.CustomScalingQueueLengthDeduction != nil,
	} {
		j.check(used && in.Strategy != "custom", j.scaling(field), "Delete the field, or use the strategy custom", "only the strategy custom reads it")
	}
}

func percentageUnparseable(j *job) {
	in := &j.spec.ScalingStrategy
	_, ok := j.percentage()
	j.check(!ok && in.Strategy == "custom" && in.CustomScalingRunningJobPercentage != "", j.scaling(percentageField),
		decimal(in.CustomScalingRunningJobPercentage), "it is not a decimal, so KEDA silently uses the strategy default")
}

// decimal returns a fix for values such as 50% or 0,5, or else a fix with an example.
func decimal(text string) string {
	text = strings.Replace(strings.TrimSpace(text), ",", ".", 1)
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return `Write a decimal in quotes, such as "0.5"`
	}
	if percent {
		x /= 100
	}
	return fmt.Sprintf("Write %q", strconv.FormatFloat(x, 'f', -1, 64))
}

func percentageOutOfRange(j *job) {
	x, ok := j.percentage()
	var text string
	switch {
	case !ok || (x >= 0 && x <= 1):
		return
	case math.IsNaN(x) || math.IsInf(x, 0):
		text = "the deduction depends on the CPU architecture of KEDA's operator"
	case x < 0:
		text = "each running Job makes KEDA create more Jobs"
	default:
		text = fmt.Sprintf("KEDA deducts %v Jobs for each running Job", x)
	}
	j.find(j.scaling(percentageField), `Write a number from 0 to 1, such as "0.5" for half`, effect{text: text})
}

func (j *job) limit() int64 {
	if n := j.spec.MaxReplicaCount; n != nil {
		return int64(*n)
	}
	return 100
}

func percentageNoEffect(j *job) {
	x, ok := j.percentage()
	if !ok || !(x >= 0 && x*float64(j.limit()) < 1) {
		return
	}
	text := "KEDA deducts no running Jobs"
	if x > 0 {
		text = fmt.Sprintf("KEDA deducts no running Jobs until %.0f run, more than the maximum of %d", math.Ceil(1/x), j.limit())
	}
	j.find(j.scaling(percentageField), "Use the strategy default if the queue length counts items in progress, or accurate if it does not",
		effect{text: text + ", so each poll creates Jobs for the whole queue again, even above the maximum"})
}

func customExceedsMax(j *job) {
	x, ok := j.percentage()
	limit := j.limit()
	if !ok || !(x <= 1 && x*float64(limit) >= 1) {
		return // other rules find these values
	}
	reach := map[keda.Profile]int64{}
	var numbers []int64 // in the order of the releases
	for _, p := range j.scope.profiles {
		n := j.reach(p)
		if reach[p] = n; n > limit && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	var effects []effect
	for _, n := range numbers {
		effects = append(effects, effect{affected: func(p keda.Profile) bool { return reach[p] == n },
			text: fmt.Sprintf("up to %d Jobs run, because maxReplicaCount (%d) limits each poll, not the total", n, limit)})
	}
	j.find(j.scaling("strategy"), fmt.Sprintf(`Write %s: "1" with a deduction of 0 or more, or use another strategy`, percentageField), effects...)
}

// reach plays polls of a queue without end, and returns how many Jobs run when
// a poll creates none, or after a great many polls.
func (j *job) reach(p keda.Profile) int64 {
	unpaused := *j.model
	unpaused.Annotations = nil
	state := keda.State{Scalers: []keda.Scaler{{QueueLength: 1e15, Target: 1}}}
	for range 10_000 {
		created := p.Decide(&unpaused, state).Create
		if created <= 0 {
			break
		}
		state.Running += created
	}
	return state.Running
}

func deductionNegative(j *job) {
	_, ok := j.percentage()
	d := j.spec.ScalingStrategy.CustomScalingQueueLengthDeduction
	j.check(ok && d != nil && *d < 0, j.scaling("customScalingQueueLengthDeduction"), "Write 0 or more; to keep spare Jobs, set minReplicaCount",
		"a poll still creates no more Jobs than the queue length")
}

// selects returns the condition that the release knows the strategy.
func (j *job) selects() condition {
	return func(p keda.Profile) bool { return p.Strategy(j.model).Name() == j.spec.ScalingStrategy.Strategy }
}

func accurateIgnoresPending(j *job) {
	if j.spec.ScalingStrategy.Strategy != "accurate" {
		return
	}
	// The queue asks for three Jobs, and two are pending: one Job is missing.
	near := strategy.Load{Target: 3, Running: 2, Pending: 2, Max: 4}
	j.find(j.scaling("strategy"), "Use KEDA 2.19 or later",
		effect{affected: func(p keda.Profile) bool { return p.Strategy(j.model).Scale(near, 3).EffectiveMaxScale > 1 },
			text: "near the maximum, KEDA does not deduct pending Jobs, so it creates Jobs that find no item"})
}

func eagerSubtractsPendingTwice(j *job) {
	if j.spec.ScalingStrategy.Strategy != "eager" {
		return
	}
	half := strategy.Load{Target: 10, Running: 5, Pending: 5, Max: 10}
	j.find(j.scaling("strategy"), "Use eager only if Jobs start quickly",
		effect{affected: conjunction(j.selects(), func(p keda.Profile) bool { return p.Strategy(j.model).Scale(half, 10).EffectiveMaxScale <= 0 }),
			text: "KEDA deducts pending Jobs twice, so it creates no Job while half of the maximum is pending"})
}

func minHidesDemand(j *job) {
	n, name := j.spec.MinReplicaCount, j.spec.ScalingStrategy.Strategy
	if n == nil || *n <= 0 || (name != "accurate" && name != "eager") {
		return
	}
	j.find(j.place("spec", "minReplicaCount"), "Write 0",
		effect{affected: conjunction(supports(keda.MinReplicaCount), j.selects()),
			text: "KEDA deducts pending Jobs of the minimum from the Jobs for the queue"})
}
