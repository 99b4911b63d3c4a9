package keda_test

// What the tests hold:
//
// The tests of cmd/scaledjob/oracle run testdata/keda.json at each release that a case names. The
// module conformance compares the model with KEDA's own code, release by release; its README
// has the table. For 2.0 to 2.3 the model follows the source, which was not compiled.

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
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestTotal(t *testing.T) {
	premise.Check(t, propTotal, premise.Least{"creates": 0.05, "KEDA panics": 0.04, "a number wraps around": 0.04, "several scalers are active": 0.1,
		"pending Jobs beside others": 0.05})
}
func FuzzTotal(f *testing.F) { premise.Fuzz(f, propTotal) }

func TestArguments(t *testing.T) {
	premise.Check(t, propArguments, premise.Least{"creates": 0.05, "prunes": 0.05, "rolls out": 0.05, "labels": 0.05})
}
func FuzzArguments(f *testing.F) { premise.Fuzz(f, propArguments) }

func TestPruning(t *testing.T) {
	premise.Check(t, propPruning, premise.Least{"some are deleted, some kept": 0.1, "more than 12 of equal times": 0.05})
}
func FuzzPruning(f *testing.F) { premise.Fuzz(f, propPruning) }

func TestWithin(t *testing.T) {
	premise.Check(t, propWithin, premise.Least{"creates": 0.05, "creates up to the maximum": 0.05, "creates beside running Jobs": 0.05})
}
func FuzzWithin(f *testing.F) { premise.Fuzz(f, propWithin) }

var (
	wildFloats = rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 30), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1),
		-1, 0, 1 << 53, 1 << 63, 9.3e18, math.MaxFloat64, math.SmallestNonzeroFloat64}))
	wildInts = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 20), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	counts   = rapid.OneOf(rapid.Int32(), rapid.Int32Range(-2, 20), rapid.SampledFrom([]int32{math.MinInt32, math.MaxInt32}))
	words    = rapid.SampledFrom([]string{"", "default", "accurate", "eager", "custom", "max", "min", "avg", "sum", "gradual", "immediate",
		"foreground", "0.5", "NaN", "-Inf", "1e999", "true", "false"})
)

// pick draws one of the values, each almost equally often: rapid.SampledFrom prefers the
// first.
func pick[T any](t *rapid.T, label string, from ...T) T {
	return from[rapid.IntRange(0, 1<<10*len(from)-1).Draw(t, label)%len(from)]
}

func drawProfile(t *rapid.T) keda.Profile {
	p, err := keda.Release(rapid.SampledFrom(keda.Releases()).Draw(t, "release"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawCount(t *rapid.T, label string) *int32 {
	return pick(t, label, nil, new(int32(0)), new(int32(3)), new(int32(20)), new(counts.Draw(t, label)))
}

func drawScaledJob(t *rapid.T) *keda.ScaledJob {
	j := &keda.ScaledJob{Spec: keda.Spec{
		MinReplicaCount: drawCount(t, "min"), MaxReplicaCount: drawCount(t, "max"), PollingInterval: drawCount(t, "interval"),
		SuccessfulJobsHistoryLimit: drawCount(t, "succeeded"), FailedJobsHistoryLimit: drawCount(t, "failed"),
		RolloutStrategy: words.Draw(t, "rolloutStrategy"), Rollout: keda.RolloutSpec{
			Strategy: words.Draw(t, "rollout"), PropagationPolicy: words.Draw(t, "propagation")},
		ScalingStrategy: keda.ScalingStrategy{
			Strategy:                   pick(t, "strategy", "default", "accurate", "eager", "custom", words.Draw(t, "word")),
			Parameters:                 strategy.Parameters{CustomScalingQueueLengthDeduction: drawCount(t, "deduction"), CustomScalingRunningJobPercentage: words.Draw(t, "percentage")},
			MultipleScalersCalculation: pick(t, "calculation", "sum", "max", "avg", "min", words.Draw(t, "word")),
			PendingPodConditions:       rapid.SliceOfN(words, 0, 3).Draw(t, "conditions"),
		},
	}}
	j.Labels = rapid.MapOfN(words, words, 0, 3).Draw(t, "labels")
	if pick(t, "annotated", true, false, false, false, false, false) {
		j.Annotations = map[string]string{"autoscaling.keda.sh/paused": words.Draw(t, "paused")}
	}
	return j
}

func drawActivity(t *rapid.T) scaling.Activity {
	return pick(t, "activity", scaling.ByThreshold, scaling.Active, scaling.Inactive, scaling.Active)
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
			QueueLength:         pick(t, "queue", 7, math.NaN(), 12.5, math.Inf(1), 9.3e18, wildFloats.Draw(t, "wild queue"), 100, 8),
			Target:              pick(t, "target", 1, 2, 1, wildFloats.Draw(t, "wild target")),
			ActivationThreshold: pick(t, "threshold", 0, 0, 0, 5, -1, math.NaN(), math.Inf(1)),
			Activity:            drawActivity(t), Failed: pick(t, "failed", false, false, true, false, false),
		}
		switch pick(t, "numbers", "", "metrics", "maxValue", "") {
		case "metrics":
			s.Metrics = rapid.SliceOfN(metric, 1, 3).Draw(t, "metrics")
		case "maxValue":
			s.MaxValue = new(pick(t, "maxValue", 3, wildFloats.Draw(t, "wild")))
		}
		return s
	})
	scalers := pick(t, "scalers", 1, 2, 3, 0)
	return keda.State{
		Scalers: rapid.SliceOfN(scaler, scalers, scalers).Draw(t, "scalers"),
		Running: wildInts.Draw(t, "running"), Pending: wildInts.Draw(t, "pending"),
		JobsUnknown: pick(t, "unknown", false, false, true, false, false, false, false),
	}
}

func drawJobs(t *rapid.T) []keda.Job {
	condition := rapid.Custom(func(t *rapid.T) keda.Condition {
		return keda.Condition{
			Type:   pick(t, "type", "Complete", "Failed", "Suspended", "default"),
			Status: pick(t, "status", "True", "True", "False"),
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
func propTotal(t *rapid.T, counts *premise.Counts) {
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
	counts.Note("creates", d.Create > 0)
	counts.Note("KEDA panics", d.Fault.Panics())
	counts.Note("a number wraps around", d.Fault == keda.WrapsAround)
	counts.Note("several scalers are active", d.Demand.Active && len(s.Scalers)-d.Demand.Failed > 1)
	pending := p.Count(j, jobs)
	counts.Note("pending Jobs beside others", pending.Pending > 0 && pending.Pending < int64(len(jobs)))
}

// Asked twice the answer is the same, and the arguments are as they were.
func propArguments(t *rapid.T, c *premise.Counts) {
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
	c.Note("creates", p.Decide(j, s).Create > 0)
	c.Note("prunes", len(p.History(j, jobs).Deleted) > 0)
	c.Note("rolls out", len(p.Rollout(j, jobs).Deleted) > 0)
	c.Note("labels", len(j.Labels) > 0)
}

// Of each outcome, as many are deleted as there are above the limit; and where
// all have a time, none that is kept is older.
func propPruning(t *rapid.T, c *premise.Counts) {
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
	c.Note("some are deleted, some kept", len(gone) > 0 && len(gone) < len(jobs))
	c.Note("more than 12 of equal times", len(gone) > 0 && len(jobs) > 12)
}

// Under default and accurate, with sensible counts and bounds, KEDA keeps what
// it calls the maximum: what runs above the minimum, and all that is created,
// is at most the queue's Jobs.
func propWithin(t *rapid.T, c *premise.Counts) {
	p, s := drawProfile(t), drawState(t)
	j := &keda.ScaledJob{}
	most := pick[int32](t, "max", 20, 5, 1, 0, 12)
	j.Spec.MinReplicaCount, j.Spec.MaxReplicaCount = new(min(most, pick[int32](t, "min", 0, 2, 20))), &most
	j.Spec.ScalingStrategy.Strategy = pick(t, "strategy", "default", "accurate")
	s.Running = pick[int64](t, "R", 0, 3, 1, 8, 25)
	s.Pending = min(s.Running, pick[int64](t, "P", 0, 2, 25))
	s.JobsUnknown = false
	d := p.Decide(j, s)
	accurate20 := p.Rule("accurate").Since == "2.0" && d.Strategy.Name() == "accurate"
	creates := d.Create > 0 && d.Fault == keda.NoFault && !accurate20
	if creates && s.Running+d.Create > int64(most) {
		t.Fatalf("%s", d)
	}
	c.Note("creates", creates)
	c.Note("creates up to the maximum", creates && s.Running+d.Create == int64(most))
	c.Note("creates beside running Jobs", creates && s.Running > 0)
}

func TestDecideAllocatesNothing(t *testing.T) {
	s := keda.State{Scalers: []keda.Scaler{{QueueLength: 7, Target: 2}, {Metrics: []keda.Metric{{Name: "a", Value: 3}}}}, Running: 1}
	for _, of := range keda.Releases() {
		p := release(t, of)
		for _, name := range []string{"default", "accurate", "eager", "custom"} {
			j := &keda.ScaledJob{Spec: keda.Spec{MaxReplicaCount: new(int32(9)), ScalingStrategy: keda.ScalingStrategy{
				Strategy: name, MultipleScalersCalculation: "avg", Parameters: strategy.Parameters{CustomScalingRunningJobPercentage: "0.5"}}}}
			require.Zero(t, testing.AllocsPerRun(10, func() { p.Decide(j, s) }), "%s %s", of, name)
		}
	}
}
