package horizontal_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	h "github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/test/premise"
)

var windows = rapid.SampledFrom([]time.Duration{0, 15 * time.Second, time.Minute, 5 * time.Minute, time.Hour})

func drawRules(t *rapid.T, name string) h.ScalingRules {
	window := windows.Draw(t, name+" window")
	r := h.ScalingRules{
		Window:       &window,
		SelectPolicy: rapid.SampledFrom([]string{"", h.MaxChange, h.MinChange, h.MaxChange, h.MinChange, h.Disabled}).Draw(t, name+" select"),
		Policies: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) h.ScalingPolicy {
			return h.ScalingPolicy{
				Type:   rapid.SampledFrom([]string{h.PodsPolicy, h.PercentPolicy}).Draw(t, "type"),
				Value:  int32(rapid.IntRange(1, 200).Draw(t, "value")),
				Period: rapid.SampledFrom([]time.Duration{time.Second, 15 * time.Second, time.Minute, 30 * time.Minute}).Draw(t, "period"),
			}
		}), 1, 3).Draw(t, name+" policies"),
	}
	if rapid.Bool().Draw(t, name+" has tolerance") {
		x := rapid.SampledFrom([]float64{0, 0.05, 0.5}).Draw(t, name+" tolerance")
		r.Tolerance = &x
	}
	return r
}

func drawPolicy(t *rapid.T) h.Policy {
	p := h.DefaultPolicy(int32(rapid.IntRange(1, 60).Draw(t, "max")))
	p.Min = int32(rapid.IntRange(0, int(p.Max)).Draw(t, "min"))
	p.Tolerance = rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "tolerance")
	p.DownWindow = windows.Draw(t, "window")
	p.ScaleToZeroGate, p.Bounded = rapid.Bool().Draw(t, "gate"), rapid.Bool().Draw(t, "bounded")
	if rapid.Bool().Draw(t, "behaves") {
		p.Behavior = &h.Behavior{Up: drawRules(t, "up"), Down: drawRules(t, "down")}
	}
	return p
}

func drawMetrics(t *rapid.T) []h.Metric {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) h.Metric {
		m := h.Metric{
			Name:       rapid.StringMatching("[a-c]").Draw(t, "name"),
			TargetType: rapid.SampledFrom([]string{h.AverageValue, h.AverageValue, h.Value}).Draw(t, "target"),
			Target:     rapid.SampledFrom([]int64{1000, 3000, 300}).Draw(t, "amount"),
		}
		m.Values = []int64{m.Target * rapid.Int64Range(0, 70).Draw(t, "value")}
		if m.TargetType == h.Value {
			m.Values[0] = m.Target * rapid.Int64Range(0, 40).Draw(t, "tenths") / 10
		}
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			m.Unreadable = "timeout"
		}
		return m
	}), 1, 3).Draw(t, "metrics")
}

func readyPods(n int32) []h.Pod {
	return slices.Repeat([]h.Pod{{Ready: "True"}}, int(n))
}

// Whatever happened before, under whatever policy, a decision is the current count or
// between the bounds, and a written one is found again in the state.
func propBounds(t *rapid.T, c *premise.Counts) {
	s := scale(drawPolicy(t), int32(rapid.IntRange(0, 80).Draw(t, "current")))
	s.checkpoint.ScaledToZero = rapid.Bool().Draw(t, "scaled to zero")
	edited, limited, stabilized := false, false, false
	for range rapid.IntRange(1, 12).Draw(t, "polls") {
		if rapid.IntRange(0, 5).Draw(t, "edit") == 0 {
			s.policy, edited = drawPolicy(t), true
		}
		s.pods = readyPods(s.count)
		wait := time.Duration(rapid.IntRange(-30, 120).Draw(t, "wait")) * time.Second
		d := s.after(wait, drawMetrics(t)...)
		bounded := d.Replicas >= s.policy.Min && d.Replicas <= s.policy.Max
		if d.Replicas != d.Current && !bounded {
			t.Fatalf("%s, with bounds of %d and %d", d, s.policy.Min, s.policy.Max)
		}
		if d.Current > s.policy.Max && d.Replicas != s.policy.Max {
			t.Fatalf("%s above the maximum of %d", d, s.policy.Max)
		}
		if !d.NextCheck.IsZero() && !d.NextCheck.After(s.now) {
			t.Fatalf("%s is checked at %s", d, d.NextCheck)
		}
		limited = limited || d.Reason == h.ReasonLimited
		stabilized = stabilized || d.Reason == h.ReasonStabilized
	}
	c.Note("policies were edited", edited)
	c.Note("limited", limited)
	c.Note("stabilized", stabilized)
}

func TestBounds(t *testing.T) {
	premise.Check(t, propBounds, premise.Least{"policies were edited": 0.3, "limited": 0.05, "stabilized": 0.05})
}
func FuzzBounds(f *testing.F) { premise.Fuzz(f, propBounds) }

// drawScaler returns a workload with a past.
func drawScaler(t *rapid.T) *scaler {
	s := scale(drawPolicy(t), int32(rapid.IntRange(1, 60).Draw(t, "current")))
	for range rapid.IntRange(0, 4).Draw(t, "polls") {
		s.pods = readyPods(s.count)
		s.after(time.Duration(rapid.IntRange(1, 90).Draw(t, "wait"))*time.Second, drawMetrics(t)...)
	}
	s.pods = readyPods(s.count)
	return s
}

func (s *scaler) look(metrics []h.Metric) h.Decision {
	return h.Decide(s.policy, h.Observation{Now: s.now, Replicas: s.count, StatusReplicas: s.count, Pods: s.pods, Metrics: metrics}, s.checkpoint)
}

// The order of the metrics changes nothing but the order of the proposals.
func propOrder(t *rapid.T, c *premise.Counts) {
	s, metrics := drawScaler(t), drawMetrics(t)
	a := s.look(metrics)
	slices.Reverse(metrics)
	b := s.look(metrics)
	slices.Reverse(b.Proposals)
	if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
		t.Fatalf("%s\n%s", a, b)
	}
	c.Note("several proposals", len(a.Proposals) > 1)
}

func TestOrder(t *testing.T) {
	premise.Check(t, propOrder, premise.Least{"several proposals": 0.3})
}
func FuzzOrder(f *testing.F) { premise.Fuzz(f, propOrder) }

// A larger value of an External metric never leads to fewer replicas, if the status has
// the current count. Otherwise it can: within the tolerance the status counts (trap 4).
func propMonotone(t *rapid.T, c *premise.Counts) {
	s, metrics := drawScaler(t), drawMetrics(t)
	if rapid.Bool().Draw(t, "free") {
		s.policy.Behavior = &h.Behavior{Up: rules(0, free), Down: rules(0, free)}
	}
	less := s.look(metrics)
	i := rapid.IntRange(0, len(metrics)-1).Draw(t, "which")
	metrics[i].Values = []int64{metrics[i].Values[0] + metrics[i].Target*rapid.Int64Range(0, 60).Draw(t, "more")}
	more := s.look(metrics)
	if more.Replicas < less.Replicas {
		t.Fatalf("%s\nwith more: %s", less, more)
	}
	c.Note("grows", more.Replicas > less.Replicas)
}

func TestMonotone(t *testing.T) {
	premise.Check(t, propMonotone, premise.Least{"grows": 0.08})
}
func FuzzMonotone(f *testing.F) { premise.Fuzz(f, propMonotone) }

// Under a constant AverageValue the count settles after the longest window, and then
// stays. Value has no such property: its proposals follow the count that they change.
func propSettles(t *rapid.T, c *premise.Counts) {
	s := drawScaler(t)
	s.count = max(1, s.count)
	metric := wants(rapid.Int64Range(0, 80).Draw(t, "value"))
	var last h.Decision
	moved := false
	for range 300 {
		last = s.after(10*time.Minute, metric)
		moved = moved || last.Replicas != last.Current
	}
	for range 3 {
		if d := s.after(time.Hour, metric); d.Replicas != last.Replicas {
			t.Fatalf("%s\nthen %s", last, d)
		}
	}
	c.Note("moves", moved)
}

func TestSettles(t *testing.T) {
	premise.CheckN(t, 1000, propSettles, premise.Least{"moves": 0.3})
}

// Decide writes to no argument, and a decision shares no memory with one.
func TestArguments(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		p := policy(1000)
		p.Bounded, p.Behavior = bounded, &h.Behavior{Up: rules(0, by(h.PodsPolicy, 1000, time.Minute))}
		full := func() *scaler {
			s := scale(p, 10)
			for i := range 100 {
				s.checkpoint.Recommendations = append(s.checkpoint.Recommendations, h.Recommendation{Replicas: int32(500 - i), At: start.Add(-time.Hour)})
				s.checkpoint.Ups = append(s.checkpoint.Ups, h.ScaleEvent{Change: 1, At: start})
			}
			return s
		}
		s := full()
		d := s.look([]h.Metric{wants(15)})
		written := d.Written()
		require.Equal(t, full().checkpoint, s.checkpoint)
		require.Equal(t, d, s.look([]h.Metric{wants(15)}), "Written changes no decision")
		require.NotEqual(t, d.Checkpoint, written)
		for _, c := range []*h.Checkpoint{&d.Checkpoint, &written} {
			c.Recommendations[0].Replicas, c.Ups[0].Change = -1, -1
		}
		require.Equal(t, full().checkpoint, s.checkpoint)
	}
}

// Half a behavior keeps the default of the other half, and an empty one is the default.
func TestHalfABehavior(t *testing.T) {
	for _, test := range []struct {
		behavior h.Behavior
		up, down int32 // from 10
	}{
		{h.Behavior{}, 20, 10},
		{h.Behavior{Up: rules(0, by(h.PodsPolicy, 1, time.Minute))}, 11, 10},
		{h.Behavior{Down: rules(0, by(h.PodsPolicy, 1, time.Minute))}, 20, 9},
		{h.Behavior{Down: h.ScalingRules{Policies: []h.ScalingPolicy{by(h.PodsPolicy, 1, time.Minute)}}}, 20, 10},
		{h.Behavior{Up: h.ScalingRules{SelectPolicy: h.Disabled}}, 10, 10},
	} {
		p := policy(100)
		p.Behavior = &test.behavior
		assert.Equal(t, test.up, scale(p, 10).after(0, wants(50)).Replicas)
		assert.Equal(t, test.down, scale(p, 10).after(0, wants(1)).Replicas)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("window=%d", n), func(b *testing.B) {
			p := policy(1000)
			p.Behavior = &h.Behavior{}
			s := scale(p, 10)
			for i := range n {
				s.checkpoint.Recommendations = append(s.checkpoint.Recommendations, h.Recommendation{Replicas: int32(500 - i), At: start})
			}
			o := h.Observation{Now: start, Replicas: 10, StatusReplicas: 10, Metrics: []h.Metric{wants(5), wants(6), wants(7)}}
			b.ReportAllocs()
			for b.Loop() {
				h.Decide(p, o, s.checkpoint)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	assert.NoError(t, wants(3).Validate())
	p := h.DefaultPolicy(10)
	p.Behavior = &h.Behavior{}
	assert.NoError(t, p.Validate())
	assert.NoError(t, h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50}.Validate())
	bad := h.Policy{Min: 5, Max: 3, Tolerance: math.NaN(), DownWindow: -1, CPUInitialization: -1, ReadinessDelay: -1, Behavior: &h.Behavior{
		Up: h.ScalingRules{Window: new(2 * time.Hour), SelectPolicy: "max", Policies: []h.ScalingPolicy{{Type: "pods", Period: time.Hour}}},
	}}
	assert.EqualError(t, bad.Validate(), `Min: found 5; use at most Max, 3
Tolerance: found NaN; use a finite number of 0 or more
DownWindow: found -1ns; use 0 or more
CPUInitialization: found -1ns; use 0 or more
ReadinessDelay: found -1ns; use 0 or more
Behavior.Up.Window: found 2h0m0s; use 0 to 1h
Behavior.Up.SelectPolicy: found "max"; use Max, Min or Disabled
Behavior.Up.Policies[0].Type: found "pods"; use Pods or Percent
Behavior.Up.Policies[0].Value: found 0; use 1 or more
Behavior.Up.Policies[0].Period: found 1h0m0s; use more than 0 and at most 30m`)
	assert.EqualError(t, h.Metric{Source: "Node"}.Validate(), `Source: found "Node"; use External, Object, Pods, Resource or ContainerResource
TargetType: found nothing; use Value or AverageValue
Target: found 0; use 1 or more`)
	assert.EqualError(t, h.Metric{Source: "Pods", TargetType: h.Value, Target: 1}.Validate(), `TargetType: found "Value"; use AverageValue`)
	assert.EqualError(t, h.Metric{Source: "Resource", TargetType: h.Value, Target: 1}.Validate(), `TargetType: found "Value"; use AverageValue or Utilization`)
	assert.EqualError(t, h.Metric{TargetType: h.Value, Target: 1, CPU: true, Samples: []h.Sample{{Known: true}}}.Validate(), `CPU: found true; use false: CPU is for Resource and ContainerResource metrics
Samples: found 1; use Values: External and Object have no samples of pods`)
	assert.EqualError(t, h.Metric{Source: "Resource", TargetType: h.AverageValue, Target: 1, Values: []int64{1}}.Validate(), `Values: found 1; use Samples: a metric of pods has one for each pod`)
	assert.EqualError(t, h.Metric{Source: "Object", TargetType: h.Value, Target: 1, Values: []int64{1, 2}}.Validate(), `Values: found 2; use one value: an object has one`)
	assert.EqualError(t, h.Policy{}.Validate(), "Max: found 0; use 1 or more")
}

// The zero policy keeps every count.
func TestZeroPolicy(t *testing.T) {
	d := scale(h.Policy{}, 7).after(0, wants(90))
	assert.Equal(t, h.ReasonInvalid, d.Reason)
	assert.EqualValues(t, 7, d.Replicas)
}
