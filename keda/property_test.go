package keda_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

func TestTotal(t *testing.T)     { rapid.Check(t, propTotal) }
func FuzzTotal(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propTotal)) }
func TestArguments(t *testing.T) { rapid.Check(t, propArguments) }
func FuzzArguments(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propArguments)) }
func TestPruning(t *testing.T)   { rapid.Check(t, propPruning) }
func FuzzPruning(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propPruning)) }
func TestWithin(t *testing.T)    { rapid.Check(t, propWithin) }
func FuzzWithin(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propWithin)) }

var (
	wildFloats = rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 30), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1),
		-1, 0, 1 << 53, 1 << 63, 9.3e18, math.MaxFloat64, math.SmallestNonzeroFloat64}))
	wildInts = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 20), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	counts   = rapid.OneOf(rapid.Int32(), rapid.Int32Range(-2, 20), rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32}))
	words    = rapid.SampledFrom([]string{"", "default", "accurate", "eager", "custom", "max", "min", "avg", "sum", "gradual", "immediate",
		"foreground", "0.5", "NaN", "-Inf", "1e999", "true", "false"})
)

func drawProfile(t *rapid.T) keda.Profile {
	p, err := keda.Release(rapid.SampledFrom(keda.Releases()).Draw(t, "release"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawCount(t *rapid.T, label string) *int32 {
	if rapid.Bool().Draw(t, label+" unset") {
		return nil
	}
	return new(counts.Draw(t, label))
}

func drawScaledJob(t *rapid.T) *keda.ScaledJob {
	j := &keda.ScaledJob{Spec: keda.Spec{
		MinReplicaCount: drawCount(t, "min"), MaxReplicaCount: drawCount(t, "max"), PollingInterval: drawCount(t, "interval"),
		SuccessfulJobsHistoryLimit: drawCount(t, "succeeded"), FailedJobsHistoryLimit: drawCount(t, "failed"),
		RolloutStrategy: words.Draw(t, "rolloutStrategy"), Rollout: keda.RolloutSpec{
			Strategy: words.Draw(t, "rollout"), PropagationPolicy: words.Draw(t, "propagation")},
		ScalingStrategy: keda.ScalingStrategy{
			Strategy: words.Draw(t, "strategy"), CustomScalingQueueLengthDeduction: drawCount(t, "deduction"),
			CustomScalingRunningJobPercentage: words.Draw(t, "percentage"), MultipleScalersCalculation: words.Draw(t, "calculation"),
			PendingPodConditions: rapid.SliceOfN(words, 0, 3).Draw(t, "conditions"),
		},
	}}
	j.Labels = rapid.MapOfN(words, words, 0, 3).Draw(t, "labels")
	if rapid.IntRange(0, 9).Draw(t, "annotated") == 0 {
		j.Annotations = map[string]string{"autoscaling.keda.sh/paused": words.Draw(t, "paused")}
	}
	return j
}

func drawActivity(t *rapid.T) scaling.Activity {
	return rapid.SampledFrom([]scaling.Activity{scaling.ByThreshold, scaling.Active, scaling.Inactive, scaling.Active}).Draw(t, "activity")
}

func drawState(t *rapid.T) keda.State {
	metric := rapid.Custom(func(t *rapid.T) keda.Metric {
		return keda.Metric{
			Name: rapid.SampledFrom([]string{"queueLength", "a", ""}).Draw(t, "name"), Value: wildFloats.Draw(t, "value"),
			AverageValue: wildFloats.Draw(t, "target"), Activity: drawActivity(t),
			Failed: rapid.Bool().Draw(t, "failed"), Resource: rapid.IntRange(0, 9).Draw(t, "resource") == 0,
		}
	})
	scaler := rapid.Custom(func(t *rapid.T) keda.Scaler {
		s := keda.Scaler{
			QueueLength: wildFloats.Draw(t, "queue"), Target: wildFloats.Draw(t, "target"),
			Metrics:             rapid.SliceOfN(metric, 0, 3).Draw(t, "metrics"),
			ActivationThreshold: rapid.SampledFrom([]float64{0, 0, 5, -1, math.NaN(), math.Inf(1)}).Draw(t, "threshold"),
			Activity:            drawActivity(t), Failed: rapid.IntRange(0, 5).Draw(t, "failed") == 0,
		}
		if rapid.IntRange(0, 3).Draw(t, "given") == 0 {
			s.MaxValue = new(wildFloats.Draw(t, "maxValue"))
		}
		return s
	})
	return keda.State{
		Scalers: rapid.SliceOfN(scaler, 0, 4).Draw(t, "scalers"),
		Running: wildInts.Draw(t, "running"), Pending: wildInts.Draw(t, "pending"),
		JobsUnknown: rapid.IntRange(0, 9).Draw(t, "unknown") == 0,
	}
}

func drawJobs(t *rapid.T) []keda.Job {
	condition := rapid.Custom(func(t *rapid.T) keda.Condition {
		return keda.Condition{
			Type:   rapid.SampledFrom([]string{"Complete", "Failed", "Suspended", "default"}).Draw(t, "type"),
			Status: rapid.SampledFrom([]string{"True", "True", "False"}).Draw(t, "status"),
		}
	})
	job := rapid.Custom(func(t *rapid.T) keda.Job {
		j := keda.Job{Conditions: rapid.SliceOfN(condition, 0, 2).Draw(t, "conditions")}
		if n := rapid.IntRange(0, 9).Draw(t, "completed"); n > 0 {
			j.CompletionTime = at(n)
		}
		return j
	})
	return rapid.SliceOfN(job, 0, 30).Draw(t, "jobs")
}

// Nothing panics, no number of Jobs is negative, a panic creates none, and text
// can be made of it all.
func propTotal(t *rapid.T) {
	p, j, s, jobs := drawProfile(t), drawScaledJob(t), drawState(t), drawJobs(t)
	d := p.Decide(j, s)
	if d.Create < 0 || d.Create > 0 && d.Fault.Panics() || d.Fault.Panics() != (d.Reason == keda.ReasonPanic) {
		t.Fatalf("%s", d)
	}
	_ = d.String()
	_ = fmt.Sprint(p.Validate(j, s.Scalers...))
	if c := p.Count(j, jobs); c.Pending > c.Running || c.Running > int64(len(jobs)) {
		t.Fatalf("%+v of %d", c, len(jobs))
	}
	p.Rollout(j, jobs)
	p.Generate(j, "main")
	for i := range s.Scalers {
		p.TargetAverage(&s.Scalers[i])
	}
}

// Asked twice the answer is the same, and the arguments are as they were.
func propArguments(t *rapid.T) {
	p, j, s, jobs := drawProfile(t), drawScaledJob(t), drawState(t), drawJobs(t)
	text := func() string {
		manifest, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s\n%+v\n%+v", manifest, s, jobs)
		for _, scaler := range s.Scalers {
			if scaler.MaxValue != nil {
				text += fmt.Sprint("\n", *scaler.MaxValue)
			}
		}
		return text
	}
	answer := func() string {
		return fmt.Sprint(p.Decide(j, s), p.Count(j, jobs), p.History(j, jobs), p.Rollout(j, jobs), p.Generate(j, "main"), p.Validate(j))
	}
	before, first := text(), answer()
	if again := answer(); again != first {
		t.Fatalf("%s\n\nand then\n\n%s", first, again)
	}
	if after := text(); after != before {
		t.Fatalf("%s\n\nbecame\n\n%s", before, after)
	}
	g := p.Generate(j, "main")
	clear(g.Labels)
	clear(g.Annotations)
	clear(g.PodLabels)
	if after := text(); after != before {
		t.Fatalf("the generated Job shares memory: %s", after)
	}
}

// Of each outcome, as many are deleted as there are above the limit; and where
// all have a time, none that is kept is older.
func propPruning(t *rapid.T) {
	p, jobs := drawProfile(t), drawJobs(t)
	for i := range jobs {
		jobs[i].CompletionTime = at(rapid.IntRange(0, 9).Draw(t, "minute"))
		jobs[i].Conditions = []keda.Condition{{Type: "Complete", Status: "True"}}
	}
	limit := rapid.Int32Range(0, 30).Draw(t, "limit")
	gone := p.History(&keda.ScaledJob{Spec: keda.Spec{SuccessfulJobsHistoryLimit: &limit}}, jobs).Deleted
	if len(gone) != max(0, len(jobs)-int(limit)) {
		t.Fatalf("%d of %d deleted with a limit of %d", len(gone), len(jobs), limit)
	}
	for i := range jobs {
		for _, k := range gone {
			if !slices.Contains(gone, i) && jobs[i].CompletionTime.Before(*jobs[k].CompletionTime) {
				t.Fatalf("%d is kept, %d deleted", i, k)
			}
		}
	}
}

// Under default and accurate, with sensible counts and bounds, KEDA keeps what
// it calls the maximum: what runs above the minimum, and all that is created,
// is at most the queue's Jobs.
func propWithin(t *rapid.T) {
	p, s := drawProfile(t), drawState(t)
	j := &keda.ScaledJob{}
	most := rapid.Int32Range(0, 20).Draw(t, "max")
	j.Spec.MinReplicaCount, j.Spec.MaxReplicaCount = new(rapid.Int32Range(0, most).Draw(t, "min")), &most
	j.Spec.ScalingStrategy.Strategy = rapid.SampledFrom([]string{"default", "accurate"}).Draw(t, "strategy")
	s.Running = rapid.Int64Range(0, 40).Draw(t, "R")
	s.Pending = rapid.Int64Range(0, s.Running).Draw(t, "P")
	s.JobsUnknown = false
	d := p.Decide(j, s)
	accurate20 := p.Rule("accurate").Since == "2.0" && d.Strategy.Name() == "accurate"
	if d.Create > 0 && d.Fault == keda.NoFault && !accurate20 && s.Running+d.Create > int64(most) {
		t.Fatalf("%s", d)
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	s := keda.State{Scalers: []keda.Scaler{{QueueLength: 7, Target: 2}, {Metrics: []keda.Metric{{Name: "a", Value: 3}}}}, Running: 1}
	for _, name := range keda.Releases() {
		p := release(t, name)
		for _, strategy := range []string{"default", "accurate", "eager", "custom"} {
			j := &keda.ScaledJob{Spec: keda.Spec{MaxReplicaCount: new(int32(9)), ScalingStrategy: keda.ScalingStrategy{
				Strategy: strategy, MultipleScalersCalculation: "avg", CustomScalingRunningJobPercentage: "0.5"}}}
			require.Zero(t, testing.AllocsPerRun(10, func() { p.Decide(j, s) }), "%s %s", name, strategy)
		}
	}
}
