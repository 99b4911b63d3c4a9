package scaledobject_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	h "github.com/scaledjob/scaledjob/horizontal"
	so "github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/test/premise"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A workload plays ticks of 15 s, the triggers read at each.
type workload struct {
	policy     so.Policy
	checkpoint so.Checkpoint
	now        time.Time
	count      int32
	writes     int
}

func play(p so.Policy, count int32) *workload {
	p.Created = start.Add(-time.Hour)
	p.Autoscaler.DownWindow = 0
	return &workload{policy: p, now: start, count: count}
}

func (w *workload) after(wait time.Duration, triggers ...so.Trigger) so.Decision {
	w.now = w.now.Add(wait)
	pods := slices.Repeat([]h.Pod{{Ready: "True"}}, int(min(w.count, 1000)))
	d := so.Decide(w.policy, so.Observation{
		Now: w.now, Replicas: w.count, StatusReplicas: w.count, Pods: pods, Triggers: triggers, Fresh: true,
	}, w.checkpoint)
	w.checkpoint = d.Checkpoint
	if d.Replicas != d.Current {
		w.checkpoint, w.count = d.Written(), d.Replicas
		w.writes++
	}
	return d
}

// queue is a trigger that asks for n replicas and is active above 0.
func queue(n int64) so.Trigger {
	return so.Trigger{Name: "queue", Active: n > 0, Metric: h.Metric{TargetType: h.AverageValue, Target: 1000, Values: []int64{n * 1000}}}
}

func broken(name string) so.Trigger {
	return so.Trigger{Name: name, Metric: h.Metric{TargetType: h.AverageValue, Target: 1000, Unreadable: "timeout"}}
}

func count(n int32) *int32 { return &n }

const tick = 15 * time.Second

// Each trap of KEDA's layer.
func TestTraps(t *testing.T) {
	t.Run("1 a fallback of 0 lowers, no fallback holds", func(t *testing.T) {
		p := so.DefaultPolicy()
		p.Cooldown = time.Minute
		w := play(p, 5)
		w.after(0, queue(5))
		assert.EqualValues(t, 5, w.after(time.Hour, broken("queue")).Replicas)
		w.policy.Fallback = &so.Fallback{FailureThreshold: 3}
		assert.EqualValues(t, 0, w.after(time.Hour, broken("queue")).Replicas)
		w = play(p, 5)
		w.policy.Fallback = &so.Fallback{FailureThreshold: 3, Replicas: 7}
		for range 3 {
			assert.EqualValues(t, 5, w.after(tick, broken("queue")).Replicas)
		}
		assert.EqualValues(t, 7, w.after(tick, broken("queue")).Replicas)
	})
	t.Run("2 paused", func(t *testing.T) {
		w := play(so.DefaultPolicy(), 5)
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused": ""}))
		assert.Equal(t, so.ReasonPaused, w.after(tick, queue(9)).Reason, "an empty value means true")
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused": "false"}))
		assert.EqualValues(t, 9, w.after(tick, queue(9)).Replicas)
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused-replicas": "3"}))
		assert.EqualValues(t, 3, w.after(tick, queue(9)).Replicas)
		err := w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused-replicas": "three"})
		assert.EqualError(t, err, `metadata.annotations[autoscaling.keda.sh/paused-replicas]: found "three"; use a number of replicas, 0 or more`)
		assert.True(t, w.policy.Paused)
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused-scale-in": "true"}))
		w.count = 9
		assert.EqualValues(t, 9, w.after(tick, queue(2)).Replicas)
		assert.Equal(t, so.ReasonPausedIn, w.after(time.Hour, queue(0)).Reason)
		assert.EqualValues(t, 12, w.after(tick, queue(12)).Replicas)
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/paused-scale-out": "yes"}))
		assert.EqualValues(t, 12, w.after(tick, queue(20)).Replicas)
		w.count = 0
		assert.Equal(t, so.ReasonPausedOut, w.after(tick, queue(20)).Reason)
		require.NoError(t, w.policy.Annotate(map[string]string{"autoscaling.keda.sh/force-activation": "true"}))
		assert.Equal(t, so.ReasonActivated, w.after(tick, queue(0)).Reason)
	})
	t.Run("3 activity beside an error", func(t *testing.T) {
		w := play(so.DefaultPolicy(), 5)
		w.after(0, queue(5))
		w.after(time.Minute, queue(5), broken("other"))
		assert.Equal(t, start, w.checkpoint.LastActive)
		w.after(time.Minute, queue(5))
		assert.Equal(t, start.Add(2*time.Minute), w.checkpoint.LastActive)
		w.policy.Min = 8
		d := w.after(tick, queue(5))
		assert.Equal(t, so.ReasonAutoscaler, d.Reason)
		assert.Equal(t, h.ReasonBelowMin, d.Autoscaler.Reason, "the autoscaler raises it")
		w.policy.Idle, w.count = count(2), 5
		assert.Equal(t, so.ReasonActivated, w.after(tick, queue(5)).Reason)
	})
	t.Run("4 the cooldown", func(t *testing.T) {
		p := so.DefaultPolicy()
		p.Cooldown = time.Minute
		w := play(p, 5)
		w.after(500*time.Millisecond, queue(5))
		assert.Equal(t, start, w.checkpoint.LastActive, "whole seconds")
		d := w.after(59500*time.Millisecond, queue(0))
		assert.EqualValues(t, 1, d.Replicas, "not after a minute, only the autoscaler")
		assert.Equal(t, "ScalerCooldown", d.ActiveCondition.Reason)
		assert.Equal(t, start.Add(time.Minute+1), d.NextCheck)
		assert.EqualValues(t, 0, w.after(1, queue(0)).Replicas, "strictly after")
		w = play(p, 5)
		w.policy.InitialCooldown = 2 * time.Hour
		assert.EqualValues(t, 5, w.after(0, queue(0)).Replicas, "the first recommendation")
		assert.EqualValues(t, 1, w.after(tick, queue(0)).Replicas)
		assert.EqualValues(t, 0, w.after(time.Hour+1, queue(0)).Replicas, "an hour passed before")
	})
	t.Run("5 the threshold", func(t *testing.T) {
		w := play(so.DefaultPolicy(), 5)
		w.policy.Fallback = &so.Fallback{Replicas: 9}
		d := w.after(0, broken("queue"))
		assert.EqualValues(t, 9, d.Replicas, "0 is the first error")
		assert.True(t, d.Fallback)
		assert.Equal(t, h.Condition{True: true, Reason: "FallbackExists"}, d.FallbackCondition)
		d = so.Decide(w.policy, so.Observation{Now: w.now, Replicas: 9, StatusReplicas: 9, Triggers: []so.Trigger{broken("queue")}}, w.checkpoint)
		w.checkpoint = d.Checkpoint
		assert.EqualValues(t, 1, w.checkpoint.Failures["queue"], "the same reading is not counted again")
		assert.Equal(t, h.Condition{Reason: "NoFallbackFound"}, w.after(0, queue(3)).FallbackCondition)
		assert.Empty(t, w.checkpoint.Failures)
	})
}

func TestFallbacks(t *testing.T) {
	for behavior, want := range map[string]int32{
		"": 6, "static": 6, "currentReplicas": 4, "currentReplicasIfHigher": 6, "currentReplicasIfLower": 4,
	} {
		for _, kind := range []string{h.AverageValue, h.Value} {
			w := play(so.DefaultPolicy(), 4)
			w.policy.Fallback = &so.Fallback{Replicas: 6, Behavior: behavior}
			trigger := broken("queue")
			trigger.Metric.TargetType = kind
			assert.Equal(t, want, w.after(tick, trigger).Replicas, "%s %s", behavior, kind)
		}
	}
	w := play(so.DefaultPolicy(), 4)
	w.policy.Fallback = &so.Fallback{Replicas: 6, Behavior: "highest"}
	assert.EqualValues(t, 4, w.after(tick, broken("queue")).Replicas, "an unknown behavior is no fallback")
	o := so.Observation{Now: start, Replicas: 4, StatusReplicas: 4, Fresh: true, Triggers: []so.Trigger{broken("queue")}}
	o.Triggers[0].Metric.TargetType = h.Value
	w.policy.Fallback.Behavior = ""
	assert.EqualValues(t, 4, so.Decide(w.policy, o, so.Checkpoint{}).Replicas, "Value without a ready pod")
}

func TestModifiers(t *testing.T) {
	p := so.DefaultPolicy()
	p.Modifiers = &so.Modifiers{Target: 2, Activation: 3, Formula: func(v map[string]*float64) (*float64, error) {
		if v["a"] == nil {
			return nil, nil
		}
		if v["b"] == nil || *v["b"] == 99 {
			return nil, errors.New("b is not usable")
		}
		sum := *v["a"] + *v["b"]
		return &sum, nil
	}}
	named := func(name string, n int64) so.Trigger {
		trigger := queue(n)
		trigger.Name = name
		return trigger
	}
	w := play(p, 0)
	assert.EqualValues(t, 0, w.after(tick, named("a", 1), named("b", 2)).Replicas, "3 is not above 3")
	assert.EqualValues(t, 1, w.after(tick, named("a", 5), named("b", 6)).Replicas)
	assert.EqualValues(t, 4, w.after(tick, named("a", 5), named("b", 6)).Replicas, "6, limited to 4")
	assert.EqualValues(t, 6, w.after(tick, named("a", 5), named("b", 6)).Replicas)
	d := w.after(time.Hour, named("a", 5), named("b", 99))
	assert.EqualValues(t, 6, d.Replicas)
	assert.True(t, d.Unreadable)
	assert.EqualValues(t, 6, w.after(time.Hour, broken("a"), named("b", 1)).Replicas)
	w.policy.Fallback = &so.Fallback{Replicas: 3, Behavior: "scalingModifiers"}
	assert.EqualValues(t, 3, w.after(tick, broken("a"), named("b", 1)).Replicas, "no value: the fallback")
	w.policy.Fallback.Behavior = "static"
	w.policy.Fallback.Replicas = 5
	w.policy.Modifiers.Target = 2.5
	assert.EqualValues(t, 5, w.after(tick, broken("a"), named("b", 1)).Replicas, "with a target that is not whole, too")
	w.policy.Modifiers.Formula = nil
	assert.True(t, w.after(tick, named("a", 1), named("b", 1)).Unreadable)
}

func TestIdle(t *testing.T) {
	p := so.DefaultPolicy()
	p.Min, p.Idle, p.Cooldown = 5, count(2), time.Minute
	w := play(p, 5)
	w.after(0, queue(5))
	d := w.after(2*time.Minute, queue(0))
	assert.EqualValues(t, 2, d.Replicas)
	assert.Equal(t, so.ReasonDeactivated, d.Reason)
	assert.Equal(t, so.ReasonIdle, w.after(tick, queue(0)).Reason)
	assert.EqualValues(t, 5, w.after(tick, queue(1)).Replicas)
	w.policy.Idle, w.count = nil, 2
	assert.Equal(t, so.ReasonRaised, w.after(tick, queue(0)).Reason)
}

// cpu alone is always active, and nothing can activate it from 0 but KEDA's step.
func TestResources(t *testing.T) {
	cpu := so.Trigger{Name: "cpu", Metric: h.Metric{Source: "Resource", CPU: true, TargetType: h.Utilization, Target: 50, Samples: []h.Sample{{Known: true, Value: 900, Request: 1000, RequestKnown: true, At: start}}}}
	w := play(so.DefaultPolicy(), 0)
	assert.True(t, w.after(tick, cpu).Active)
	assert.EqualValues(t, 1, w.count)
}

func drawPolicy(t *rapid.T) so.Policy {
	p := so.DefaultPolicy()
	p.Max = rapid.Int32Range(1, 30).Draw(t, "max")
	p.Min = rapid.Int32Range(0, p.Max).Draw(t, "min")
	p.Cooldown = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "cooldown")
	p.PausedIn, p.PausedOut = rapid.IntRange(0, 9).Draw(t, "in") == 0, rapid.IntRange(0, 9).Draw(t, "out") == 0
	if p.Min > 0 && rapid.Bool().Draw(t, "idles") {
		p.Idle = count(rapid.Int32Range(0, p.Min-1).Draw(t, "idle"))
	}
	if rapid.Bool().Draw(t, "falls back") {
		p.Fallback = &so.Fallback{
			FailureThreshold: rapid.Int32Range(0, 3).Draw(t, "threshold"), Replicas: rapid.Int32Range(0, 40).Draw(t, "fallback"),
			Behavior: rapid.SampledFrom([]string{"", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"}).Draw(t, "behavior"),
		}
	}
	return p
}

func drawTriggers(t *rapid.T) []so.Trigger {
	var all []so.Trigger
	for i := range rapid.IntRange(1, 3).Draw(t, "triggers") {
		trigger := queue(rapid.SampledFrom([]int64{0, 0, 1, 5, 20, 60}).Draw(t, "queue"))
		if rapid.IntRange(0, 3).Draw(t, "breaks") == 0 {
			trigger = broken("")
		}
		trigger.Name = fmt.Sprint(i)
		all = append(all, trigger)
	}
	return all
}

// A change leads to the idle count, to 0 if the minimum is 0, or between the bounds. It
// never lowers a workload while a trigger is unreadable without a fallback, and never in a
// direction that is paused, except from outside of the bounds.
func propBounds(t *rapid.T, c *premise.Counts) {
	w := play(drawPolicy(t), rapid.Int32Range(0, 40).Draw(t, "current"))
	seen, unreadable := map[so.Reason]bool{}, false
	for range rapid.IntRange(1, 12).Draw(t, "ticks") {
		d := w.after(rapid.SampledFrom([]time.Duration{tick, time.Minute, time.Hour}).Draw(t, "wait"), drawTriggers(t)...)
		p := w.policy
		idle := p.Idle != nil && d.Replicas == *p.Idle || p.Min == 0 && d.Replicas == 0
		if d.Replicas != d.Current && !idle && (d.Replicas < p.Min || d.Replicas > p.Max) {
			t.Fatalf("%s outside of %d to %d", d, p.Min, p.Max)
		}
		within := d.Current >= p.Min && d.Current <= p.Max
		if d.Unreadable && p.Fallback == nil && d.Replicas < d.Current && within {
			t.Fatalf("%s although a trigger is unreadable", d)
		}
		if within && (p.PausedIn && d.Replicas < d.Current || p.PausedOut && d.Replicas > d.Current) {
			t.Fatalf("%s although it is paused", d)
		}
		seen[d.Reason] = true
		unreadable = unreadable || d.Unreadable
	}
	c.Note("unreadable", unreadable)
	c.Note("activated", seen[so.ReasonActivated])
	c.Note("deactivated", seen[so.ReasonDeactivated])
	c.Note("idle", seen[so.ReasonIdle])
	text, err := json.Marshal(w.checkpoint)
	require.NoError(t, err)
	var again so.Checkpoint
	require.NoError(t, json.Unmarshal(text, &again))
}

func TestBounds(t *testing.T) {
	premise.CheckN(t, 5000, propBounds, premise.Least{"unreadable": 0.3, "activated": 0.2, "deactivated": 0.05, "idle": 0.03})
}
func FuzzBounds(f *testing.F) { premise.Fuzz(f, propBounds) }

func propOrder(t *rapid.T, c *premise.Counts) {
	p, triggers := drawPolicy(t), drawTriggers(t)
	o := so.Observation{Now: start, Replicas: rapid.Int32Range(0, 40).Draw(t, "current"), Fresh: true, Triggers: triggers}
	o.StatusReplicas = o.Replicas
	s := so.Checkpoint{Failures: map[string]int32{"0": 2, "1": 5}}
	a := so.Decide(p, o, s)
	slices.Reverse(o.Triggers)
	b := so.Decide(p, o, s)
	if a.Replicas != b.Replicas || a.Reason != b.Reason {
		t.Fatalf("%s\n%s", a, b)
	}
	assert.Equal(t, map[string]int32{"0": 2, "1": 5}, s.Failures)
	c.Note("several triggers", len(triggers) > 1)
}

func TestOrder(t *testing.T) {
	premise.CheckN(t, 5000, propOrder, premise.Least{"several triggers": 0.3})
}

// A demand that alternates between 20 and 0 each 15 s: the workload is raised once, and
// stays, as with the autoscaler's window of five minutes. Following it at once writes 240
// times an hour.
func TestAlternating(t *testing.T) {
	w := play(so.DefaultPolicy(), 0)
	w.policy.Autoscaler.DownWindow = 5 * time.Minute
	for i := range 240 {
		w.after(tick, queue(int64(20*(i%2))))
	}
	assert.EqualValues(t, 20, w.count)
	assert.Equal(t, 5, w.writes, "1, 4, 8, 16, 20")
}

func TestValidate(t *testing.T) {
	assert.NoError(t, so.DefaultPolicy().Validate())
	err := so.Policy{Min: 3, Max: 2, Idle: count(4), PausedReplicas: count(-1), Cooldown: -1, InitialCooldown: -1, Modifiers: &so.Modifiers{Type: "Utilization"},
		Fallback: &so.Fallback{FailureThreshold: -1, Replicas: -1, Behavior: "highest"}, Autoscaler: h.Policy{DownWindow: -1}}.Validate()
	assert.EqualError(t, err, `Min: found 3; use at most Max, 2
Idle: found 4; use 0 or more, and less than Min, 3
PausedReplicas: found -1; use 0 or more
Cooldown: found -1ns; use 0 or more
InitialCooldown: found -1ns; use 0 or more
Fallback.FailureThreshold: found -1; use 0 or more
Fallback.Replicas: found -1; use 0 or more
Fallback.Behavior: found "highest"; use static, currentReplicas, currentReplicasIfHigher, currentReplicasIfLower or scalingModifiers
Modifiers.Formula: found nothing; use a function
Modifiers.Target: found 0; use a positive, finite number
Modifiers.Type: found "Utilization"; use AverageValue or Value
Autoscaler.DownWindow: found -1ns; use 0 or more`)
	assert.Equal(t, so.ReasonPaused, play(so.Policy{}, 7).after(tick, queue(9)).Reason, "the zero policy keeps the count")
}

// Between two decisions of the autoscaler only activation decides, and a trigger that was
// read alone counts its failures.
func TestBetween(t *testing.T) {
	p := so.DefaultPolicy()
	decide := func(s so.Checkpoint, replicas int32, fresh, between bool, triggers ...so.Trigger) so.Decision {
		return so.Decide(p, so.Observation{Now: start, Replicas: replicas, StatusReplicas: replicas, Triggers: triggers, Fresh: fresh, Between: between}, s)
	}
	assert.Equal(t, so.ReasonActivated, decide(so.Checkpoint{}, 0, true, true, queue(9)).Reason)
	d := decide(so.Checkpoint{}, 5, true, true, queue(9))
	assert.Equal(t, so.ReasonBetween, d.Reason)
	assert.EqualValues(t, 5, d.Replicas)
	assert.EqualValues(t, 9, decide(so.Checkpoint{}, 5, true, false, queue(9)).Replicas)
	p.Fallback = &so.Fallback{FailureThreshold: 1, Replicas: 8}
	var s so.Checkpoint
	for _, want := range []bool{false, true} {
		alone := broken("queue")
		alone.Fresh = true
		d := decide(s, 5, false, false, alone)
		s = d.Checkpoint
		assert.Equal(t, want, d.Fallback)
		d = decide(s, 5, false, false, broken("queue"))
		assert.Equal(t, want, d.Fallback, "not read again")
	}
	assert.Equal(t, map[string]int32{"queue": 2}, s.Failures)
}

// Thousandths are those of KEDA's quantities: 1.001 exceeds an activation of 1, and is no 1.000 in a fallback.
func TestThousandths(t *testing.T) {
	p := so.DefaultPolicy()
	p.Modifiers = &so.Modifiers{Target: 1, Activation: 1, Formula: func(values map[string]*float64) (*float64, error) { return values["a"], nil }}
	read := so.Trigger{Name: "a", Metric: h.Metric{TargetType: h.AverageValue, Target: 1001, Values: []int64{1001}}}
	require.True(t, so.Decide(p, so.Observation{Fresh: true, Triggers: []so.Trigger{read}}, so.Checkpoint{}).Active)
	p.Modifiers, p.Fallback = nil, &so.Fallback{Replicas: 3}
	read.Metric.Values, read.Metric.Unreadable = nil, "no answer"
	d := so.Decide(p, so.Observation{Fresh: true, Replicas: 3, StatusReplicas: 3, Triggers: []so.Trigger{read}}, so.Checkpoint{})
	require.Equal(t, int32(3), d.Replicas)
	require.True(t, d.Fallback)
}
