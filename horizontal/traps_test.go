package horizontal_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	h "github.com/scaledjob/scaledjob/horizontal"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A scaler plays polls of one workload whose status follows at once.
type scaler struct {
	policy     h.Policy
	checkpoint h.Checkpoint
	now        time.Time
	count      int32
	pods       []h.Pod
}

func scale(p h.Policy, count int32) *scaler { return &scaler{policy: p, now: start, count: count} }

// decide decides without writing.
func (s *scaler) decide(metrics ...h.Metric) h.Decision {
	d := h.Decide(s.policy, h.Observation{Now: s.now, Replicas: s.count, StatusReplicas: s.count, Pods: s.pods, Metrics: metrics}, s.checkpoint)
	s.checkpoint = d.Checkpoint
	return d
}

// after decides after a time, and writes the result.
func (s *scaler) after(wait time.Duration, metrics ...h.Metric) h.Decision {
	s.now = s.now.Add(wait)
	d := s.decide(metrics...)
	if d.Replicas != d.Current {
		s.checkpoint, s.count = d.Written(), d.Replicas
	}
	return d
}

// wants is a metric that asks for n replicas.
func wants(n int64) h.Metric {
	return h.Metric{Name: "queue", TargetType: h.AverageValue, Target: 1000, Values: []int64{n * 1000}}
}

var unreadable = h.Metric{Name: "broken", TargetType: h.AverageValue, Target: 1000, Unreadable: "timeout"}

// policy has no minimum, no tolerance, and no behavior.
func policy(most int32) h.Policy {
	p := h.DefaultPolicy(most)
	p.Min, p.Tolerance = 0, 0
	return p
}

func behavior(up, down h.ScalingRules) h.Policy {
	p := policy(1000)
	p.Behavior = &h.Behavior{Up: up, Down: down}
	return p
}

func rules(window time.Duration, limits ...h.ScalingPolicy) h.ScalingRules {
	return h.ScalingRules{Window: &window, Policies: limits}
}

func by(kind string, value int32, period time.Duration) h.ScalingPolicy {
	return h.ScalingPolicy{Type: kind, Value: value, Period: period}
}

var free = by(h.PercentPolicy, 1000, time.Second)

// Each trap of the HorizontalPodAutoscaler that a second implementation is likely to miss.
func TestTraps(t *testing.T) {
	t.Run("1 without a behavior the down window also pulls up", func(t *testing.T) {
		s := scale(policy(100), 10)
		assert.EqualValues(t, 20, s.after(0, wants(30)).Replicas)
		s.count = 8 // edited by hand
		d := s.after(time.Minute, wants(5))
		assert.EqualValues(t, 16, d.Replicas, "30 is still in the window; the limit is 16")
		assert.Equal(t, h.ReasonLimited, d.Reason)
		assert.Equal(t, "ScaleDownStabilized", d.AbleToScale.Reason)
	})
	t.Run("2 the first decision recommends the current count", func(t *testing.T) {
		s := scale(policy(100), 10)
		d := s.after(0, wants(2))
		assert.EqualValues(t, 10, d.Replicas)
		assert.Equal(t, start.Add(5*time.Minute+1), d.NextCheck)
		s.checkpoint = h.Checkpoint{}
		s.after(4*time.Minute, wants(2))
		assert.EqualValues(t, 10, s.after(4*time.Minute, wants(2)).Replicas, "after a restart the window begins anew")
	})
	t.Run("3 edges of windows and periods", func(t *testing.T) {
		s := scale(policy(100), 10)
		s.after(0, wants(2))
		assert.EqualValues(t, 10, s.after(5*time.Minute, wants(2)).Replicas, "without a behavior, the age of the window counts")
		s = scale(behavior(rules(0, free), rules(time.Minute, free)), 10)
		s.after(0, wants(2))
		assert.EqualValues(t, 2, s.after(time.Minute, wants(2)).Replicas, "with one, it does not")
		s = scale(behavior(rules(0, by(h.PodsPolicy, 1, time.Minute)), rules(0, free)), 10)
		s.after(0, wants(20))
		assert.EqualValues(t, 11, s.after(time.Minute-1, wants(20)).Replicas)
		assert.EqualValues(t, 12, s.after(1, wants(20)).Replicas, "nor does an event of the age of its period")
		p := policy(100)
		p.Tolerance = 0.1
		for usage, want := range map[int64]int32{9000: 10, 8999: 9, 11000: 10, 11001: 12} {
			s = scale(p, 10)
			s.checkpoint.Recommendations = []h.Recommendation{{Replicas: 1, At: start.Add(-time.Hour)}}
			d := s.after(0, h.Metric{TargetType: h.AverageValue, Target: 1000, Values: []int64{usage}})
			assert.Equal(t, want, d.Replicas, "usage %d", usage)
		}
	})
	t.Run("4 AverageValue proposes the replicas of the status", func(t *testing.T) {
		o := h.Observation{Now: start, Replicas: 5, StatusReplicas: 10, Metrics: []h.Metric{wants(10)}}
		assert.EqualValues(t, 10, h.Decide(policy(100), o, h.Checkpoint{}).Replicas)
		o.Pods = []h.Pod{{Ready: "True"}, {Ready: "True"}, {Ready: "False"}, {Ready: "True", Phase: "Pending"}}
		o.Metrics = []h.Metric{{TargetType: h.Value, Target: 1000, Values: []int64{3000}}}
		assert.EqualValues(t, 6, h.Decide(policy(100), o, h.Checkpoint{}).Proposed, "Value multiplies by the ready pods")
	})
	t.Run("5 the base of a limit is the count at the start of the period", func(t *testing.T) {
		s := scale(behavior(rules(0, by(h.PercentPolicy, 15, time.Minute)), rules(0, by(h.PercentPolicy, 15, time.Minute))), 10)
		assert.EqualValues(t, 12, s.after(0, wants(50)).Replicas, "11.5 is rounded up")
		assert.EqualValues(t, 12, s.after(time.Second, wants(50)).Replicas, "the base is still 10")
		s.checkpoint, s.count = h.Checkpoint{}, 10
		assert.EqualValues(t, 8, s.after(0, wants(1)).Replicas, "8.5 is truncated")
		assert.EqualValues(t, 8, s.after(time.Second, wants(1)).Replicas)
		d := s.after(time.Second, wants(50))
		assert.EqualValues(t, 12, d.Replicas, "up from a base of 10")
		d = s.after(time.Second, wants(50))
		assert.EqualValues(t, 12, d.Replicas, "2 were removed and 4 added: the base is still 10")
		assert.Equal(t, h.ReasonLimited, d.Reason)
	})
	t.Run("6 above the maximum nothing else counts", func(t *testing.T) {
		p := behavior(h.ScalingRules{SelectPolicy: h.Disabled}, h.ScalingRules{SelectPolicy: h.Disabled})
		p.Min, p.Max = 5, 20
		s := scale(p, 30)
		d := s.after(0, unreadable)
		assert.EqualValues(t, 20, d.Replicas)
		assert.Equal(t, h.ReasonAboveMax, d.Reason)
		assert.Nil(t, d.Proposals)
		assert.Equal(t, []h.ScaleEvent{{Change: 10, At: start}}, s.checkpoint.Downs)
		s.count = 2
		assert.EqualValues(t, 5, s.after(time.Second, unreadable).Replicas)
		assert.Len(t, s.checkpoint.Ups, 1)
		assert.Len(t, s.checkpoint.Recommendations, 1, "only the first count")
	})
	t.Run("7 unreadable metrics hold only a decrease", func(t *testing.T) {
		s := scale(policy(100), 10)
		d := s.after(0, wants(9), unreadable)
		assert.Equal(t, h.ReasonUnreadable, d.Reason)
		assert.EqualValues(t, 10, d.Replicas)
		assert.Len(t, s.checkpoint.Recommendations, 1)
		assert.EqualValues(t, 10, s.after(1, wants(10), unreadable).Replicas)
		assert.Len(t, s.checkpoint.Recommendations, 2, "a recommendation")
		assert.EqualValues(t, 12, s.after(1, wants(12), unreadable).Replicas)
		assert.Equal(t, h.ReasonUnreadable, s.after(1, unreadable).Reason)
		assert.Equal(t, h.ReasonUnreadable, s.after(1).Reason, "no metric at all")
		pods := h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 1}
		for _, test := range []struct {
			metrics []h.Metric
			want    string
		}{
			{[]h.Metric{wants(1), unreadable, pods}, "FailedGetExternalMetric"},
			{[]h.Metric{pods, unreadable}, "FailedGetPodsMetric"},
			{[]h.Metric{{Source: "Object"}}, "FailedGetObjectMetric"},
			{[]h.Metric{{Source: "ContainerResource"}}, "FailedGetContainerResourceMetric"},
			{[]h.Metric{{Source: "Node"}}, "InvalidMetricSourceType"},
			{nil, "InvalidMetricSourceType"},
		} {
			assert.Equal(t, h.Condition{Reason: test.want}, s.after(1, test.metrics...).ScalingActive)
		}
	})
	t.Run("8 leaving zero", func(t *testing.T) {
		s := scale(policy(100), 0)
		assert.Equal(t, h.ReasonDisabled, s.after(0, wants(3)).Reason)
		s.checkpoint.ScaledToZero = true
		assert.EqualValues(t, 3, s.after(0, wants(3)).Replicas)
		assert.False(t, s.checkpoint.ScaledToZero)
		s = scale(behavior(rules(0, by(h.PercentPolicy, 100, time.Minute)), rules(0, free)), 0)
		s.checkpoint.ScaledToZero = true
		assert.EqualValues(t, 0, s.after(0, wants(3)).Replicas, "a percentage of 0 is 0")
		s = scale(s.policy, 2)
		assert.EqualValues(t, 0, s.after(0, wants(0)).Replicas)
		assert.True(t, s.checkpoint.ScaledToZero)
		assert.EqualValues(t, 3, s.after(time.Second, wants(3)).Replicas, "2 were removed in the period: up to 4")
		p := policy(100)
		p.ScaleToZeroGate = false
		assert.EqualValues(t, 3, scale(p, 0).after(0, wants(3)).Replicas, "before 1.37, with a minimum of 0")
		p.Min = 1
		assert.Equal(t, h.ReasonDisabled, scale(p, 0).after(0, wants(3)).Reason)
		p.ScaleToZeroGate, p.Min = true, 8
		s = scale(p, 0)
		s.checkpoint.ScaledToZero = true
		d := s.after(0, wants(30))
		assert.EqualValues(t, 8, d.Replicas, "the limit of 4 is below the minimum")
		assert.Equal(t, "ScaleUpLimit", d.ScalingLimited.Reason, "the metrics were read")
	})
	t.Run("9 without a behavior the count doubles at every poll", func(t *testing.T) {
		s := scale(policy(100), 1)
		for _, want := range []int32{4, 8, 16, 32} {
			assert.Equal(t, want, s.after(1, wants(90)).Replicas)
		}
		p := policy(100)
		p.Behavior = &h.Behavior{}
		s = scale(p, 1)
		assert.EqualValues(t, 5, s.after(0, wants(90)).Replicas)
		assert.EqualValues(t, 5, s.after(1, wants(90)).Replicas, "the default behavior has a period of 15 s")
	})
	t.Run("10 a negative External sum", func(t *testing.T) {
		negative := h.Metric{TargetType: h.AverageValue, Target: 1000, Values: []int64{-1}}
		p := policy(100)
		d := scale(p, 60).after(0, negative)
		assert.EqualValues(t, math.MaxInt32, d.Proposed)
		assert.EqualValues(t, 100, d.Replicas)
		p.Bounded = true
		assert.Equal(t, h.ReasonUnreadable, scale(p, 10).after(0, negative).Reason)
	})
	t.Run("11 large numbers", func(t *testing.T) {
		p := behavior(rules(0, by(h.PodsPolicy, math.MaxInt32, time.Minute)), rules(0, free))
		assert.EqualValues(t, 10, scale(p, 10).after(0, wants(50)).Replicas, "the sum wraps, and blocks")
		p.Bounded = true
		assert.EqualValues(t, 50, scale(p, 10).after(0, wants(50)).Replicas)
		object := h.Metric{Source: "Object", TargetType: h.AverageValue, Target: 1, Values: []int64{math.MaxInt64}}
		p = policy(100)
		assert.EqualValues(t, 0, scale(p, 10).after(0, object).Proposed, "the proposal wraps to a negative number")
		p.Bounded = true
		assert.EqualValues(t, 20, scale(p, 10).after(0, object).Replicas)
	})
	t.Run("12 conditions that metrics do not touch stay", func(t *testing.T) {
		d := scale(policy(100), 101).after(0, wants(1))
		assert.Empty(t, d.ScalingLimited.Reason)
		assert.Empty(t, d.ScalingActive.Reason)
		assert.Empty(t, scale(policy(100), 10).after(0, unreadable).ScalingLimited.Reason)
		assert.Equal(t, h.Condition{Reason: "DesiredWithinRange"}, scale(policy(100), 10).after(0, wants(10)).ScalingLimited)
	})
	t.Run("13 an edit makes the window longer", func(t *testing.T) {
		p := policy(100)
		p.DownWindow = time.Minute
		s := scale(p, 10)
		s.after(0, wants(10))
		s.after(30*time.Second, wants(9))
		s.after(90*time.Second, wants(2)) // both are old: the last one is overwritten
		s.policy.DownWindow = time.Hour
		assert.EqualValues(t, 10, s.after(time.Second, wants(2)).Stabilized)
	})
	t.Run("14 an event is forgotten that the other direction counts", func(t *testing.T) {
		s := scale(behavior(rules(0, by(h.PodsPolicy, 4, time.Second)), rules(0, by(h.PodsPolicy, 1, time.Hour))), 10)
		assert.EqualValues(t, 14, s.after(0, wants(14)).Replicas)
		assert.EqualValues(t, 9, s.after(time.Minute, wants(1)).Replicas, "10 at the start of the hour, less 1")
		assert.EqualValues(t, 13, s.after(time.Minute, wants(16)).Replicas)
		assert.EqualValues(t, 13, s.after(time.Minute, wants(1)).Replicas, "the first 4 are forgotten; otherwise 9")
	})
}

func TestPodMetrics(t *testing.T) {
	ready := h.Pod{Ready: "True", Started: start.Add(-time.Hour), ReadyChanged: start.Add(-time.Hour)}
	pods := func(n int, others ...h.Pod) (all []h.Pod) {
		for range n {
			all = append(all, ready)
		}
		return append(all, others...)
	}
	samples := func(values ...int64) (all []h.Sample) {
		for _, v := range values {
			all = append(all, h.Sample{Known: v >= 0, Value: v, Request: 1000, RequestKnown: true, At: start})
		}
		return all
	}
	const none = -1
	young := h.Pod{Ready: "True", Started: start.Add(-time.Minute), ReadyChanged: start.Add(-10 * time.Second)}
	for name, test := range map[string]struct {
		pods   []h.Pod
		metric h.Metric
		want   int32 // below 0: unreadable
	}{
		"the mean of the samples":              {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(150, 250, 200, 200)}, 8},
		"a missing sample counts 0 upwards":    {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(150, 250, 200, none)}, 6},
		"and the target downwards":             {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(20, 20, 20, none)}, 2},
		"a pending pod counts 0 upwards":       {pods(3, h.Pod{Phase: "Pending"}), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(200, 200, 200)}, 6},
		"and not at all downwards":             {pods(3, h.Pod{Phase: "Pending"}), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(20, 20, 20)}, 1},
		"a failed pod is ignored":              {pods(3, h.Pod{Phase: "Failed"}), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(200, 200, 200, 9000)}, 6},
		"a deleted pod is ignored":             {pods(3, h.Pod{Deleting: true}), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(200, 200, 200, 9000)}, 6},
		"no direction is reversed":             {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(110, none, none, none)}, 4},
		"a missing sample within tolerance":    {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(144, 144, 144, none)}, 4},
		"requests reverse no direction":        {pods(4), h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50, Samples: append(samples(100), h.Sample{Request: 1000, RequestKnown: true}, h.Sample{Request: 1000, RequestKnown: true}, h.Sample{Request: 1000, RequestKnown: true})}, 4},
		"no sample":                            {pods(4), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100}, -1},
		"no pod":                               {nil, h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100}, -1},
		"a percentage of the requests":         {pods(4), h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50, Samples: samples(900, 1100, 1000, 1000)}, 8},
		"the percentage is truncated":          {pods(4), h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50, Samples: samples(509, 509, 509, 509)}, 4},
		"missing counts its request downwards": {pods(4), h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50, Samples: append(samples(100, 100, 100), h.Sample{Request: 1000, RequestKnown: true})}, 3},
		"a container without a request":        {pods(2), h.Metric{Source: "Resource", TargetType: h.Utilization, Target: 50, Samples: []h.Sample{{Known: true, Value: 1, At: start}, {Known: true, Value: 1, At: start}}}, -1},
		"a young pod with a sample of its start": {pods(3, young), h.Metric{Source: "Resource", TargetType: h.AverageValue, CPU: true, Target: 100,
			Samples: append(samples(200, 200, 200), h.Sample{Known: true, Value: 9000, At: start, Window: 30 * time.Second})}, 6},
		"the same of the memory": {pods(3, young), h.Metric{Source: "Resource", TargetType: h.AverageValue, Target: 100,
			Samples: append(samples(200, 200, 200), h.Sample{Known: true, Value: 9000, At: start, Window: 30 * time.Second})}, 96},
		"an unlisted pod counts in the mean":       {pods(2, h.Pod{Phase: "Unlisted"}), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: samples(200, 200, 500)}, 6},
		"a negative sample":                        {pods(1), h.Metric{Source: "Pods", TargetType: h.AverageValue, Target: 100, Samples: []h.Sample{{Known: true, Value: -100}}}, 0},
		"Utilization is not for Pods":              {pods(1), h.Metric{Source: "Pods", TargetType: h.Utilization, Target: 100, Samples: samples(1)}, -1},
		"an unknown source":                        {pods(1), h.Metric{Source: "Node", TargetType: h.Value, Target: 100}, -1},
		"a target of 0":                            {pods(1), h.Metric{TargetType: h.Value, Values: []int64{1}}, -1},
		"no value":                                 {pods(1), h.Metric{TargetType: h.Value, Target: 100}, -1},
		"Value without a pod":                      {nil, h.Metric{TargetType: h.Value, Target: 100, Values: []int64{900}}, -1},
		"the values of an External metric add":     {pods(4), h.Metric{TargetType: h.AverageValue, Target: 100, Values: []int64{300, 401}}, 8},
		"an Object has one value":                  {pods(4), h.Metric{Source: "Object", TargetType: h.AverageValue, Target: 100, Values: []int64{300, 401}}, 3},
		"the sum of External values does not wrap": {pods(4), h.Metric{TargetType: h.AverageValue, Target: 1, Values: []int64{math.MaxInt64, math.MaxInt64}}, math.MaxInt32},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(math.MaxInt32)
			p.Tolerance = 0.1
			d := h.Decide(p, h.Observation{Now: start, Replicas: 4, StatusReplicas: 4, Pods: test.pods, Metrics: []h.Metric{test.metric}}, h.Checkpoint{})
			require.Len(t, d.Proposals, 1)
			if test.want < 0 {
				assert.NotEmpty(t, d.Proposals[0].Unreadable)
				assert.Equal(t, h.ReasonUnreadable, d.Reason)
				return
			}
			assert.Empty(t, d.Proposals[0].Unreadable)
			assert.Equal(t, test.want, max(0, d.Proposals[0].Replicas))
		})
	}
}
