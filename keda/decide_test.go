package keda_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

func active(queue, target float64) keda.Scaler {
	return keda.Scaler{QueueLength: queue, Target: target, Activity: scaling.Active}
}

// spec returns a ScaledJob with bounds.
func spec(least, most int32, strategy string) *keda.ScaledJob {
	return &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: &least, MaxReplicaCount: &most, ScalingStrategy: keda.ScalingStrategy{Strategy: strategy}}}
}

func TestDecisionText(t *testing.T) {
	for _, tt := range []struct {
		j     *keda.ScaledJob
		state keda.State
		want  string
	}{
		{spec(1, 9, "eager"), keda.State{Scalers: []keda.Scaler{active(20, 2), {Failed: true}}, Running: 3, Pending: 1}, `release   KEDA 2.21.0
replicas  min 1, and 8 for the queue
scalers   1 of 2 read, active: queue length 20 asks for 10 Jobs, limited to 8 by the maximum, rounded up to 8
jobs      3 running, 1 of them for the minimum: R=2, P=1 pending
strategy  eager: min(M - R - P, T); at T=8 R=2 P=1 M=8
proposal  5, at most 8 (the maximum for the queue)
create    5: the strategy's answer`},
		{spec(1, 9, ""), keda.State{JobsUnknown: true}, `release   KEDA 2.21.0
replicas  min 1, and 8 for the queue
scalers   0 of 0 read, active: queue length 0 asks for 0 Jobs, rounded up to 0
jobs      could not be listed, so R=0 and P=0
proposal  1, the Jobs below the minimum
create    1: the minimum; the queue is ignored`},
		{spec(0, 9, ""), keda.State{Scalers: []keda.Scaler{{QueueLength: 3, Target: 2, Activity: scaling.Inactive}}}, `release   KEDA 2.21.0
replicas  min 0, and 9 for the queue
scalers   1 of 1 read, not active: queue length 0 asks for 0 Jobs, rounded up to 0
jobs      R=0 running, P=0 of them pending
strategy  default: T - R; at T=0 R=0 P=0 M=9
proposal  0, at most 0 (the queue length)
create    0: no scaler is active`},
		{spec(0, 9, ""), keda.State{Scalers: []keda.Scaler{active(1<<63, 1)}, Running: 2}, `release   KEDA 2.21.0
replicas  min 0, and 9 for the queue
scalers   1 of 1 read, active: queue length 9.223372036854776e+18 asks for 9.223372036854776e+18 Jobs, limited to 9 by the maximum, rounded up to 9
jobs      R=2 running, P=0 of them pending
strategy  default: T - R; at T=9 R=2 P=0 M=9
proposal  7, at most -9223372036854775808 (the queue length)
fault     KEDA panics: a number of Jobs that no slice can have
create    0: the operator panics`},
	} {
		require.Equal(t, tt.want, keda.Newest().Decide(tt.j, tt.state).String())
	}
	noMaximum := &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: new(int32(1))}}
	require.Equal(t, `release   KEDA 2.8.2
replicas  min 0, and 100 for the queue
scalers   0 of 0 read, not active: queue length 0 asks for 0 Jobs, rounded up to 0
jobs      R=0 running, P=0 of them pending
fault     KEDA panics: minReplicaCount without maxReplicaCount
create    0: the operator panics`, release(t, "2.8").Decide(noMaximum, keda.State{}).String())
	require.Equal(t, keda.Demand{Scalers: 2, Failed: 1, Fault: keda.NoMaximum}, release(t, "2.8").Aggregate(noMaximum, []keda.Scaler{active(3, 1), {Failed: true}}))
	j := spec(0, 9, "custom")
	d := release(t, "2.19").Decide(j, keda.State{Scalers: []keda.Scaler{active(3, 1)}})
	require.Equal(t, "default: T - R", d.Strategy.String(), "without a percentage")
	j.Spec.ScalingStrategy.CustomScalingRunningJobPercentage = "0.5"
	d = release(t, "2.19").Decide(j, keda.State{Scalers: []keda.Scaler{active(3, 1)}})
	require.Equal(t, keda.NoDeduction, d.Fault)
	require.Equal(t, "custom: min(M, T - 0 - trunc(R * 0.5))", d.Strategy.String())
}

// A number of Jobs that a slice can have is at most 2^45.
func TestLongestSlice(t *testing.T) {
	j := spec(0, 9, "")
	j.Spec.ScalingStrategy.MultipleScalersCalculation = "sum"
	for queue, panics := range map[float64]bool{1 << 45: false, 1<<45 + 1: true} {
		jobs := math.NaN() // T is the smallest int64, and T - R wraps around
		d := keda.Newest().Decide(j, keda.State{Running: 1, Scalers: []keda.Scaler{{QueueLength: queue, MaxValue: &jobs, Activity: scaling.Active}}})
		require.Equal(t, panics, d.Fault.Panics(), "%s", d)
		if !panics {
			require.Equal(t, int64(queue), d.Create)
			require.Equal(t, keda.WrapsAround, d.Fault)
		}
	}
}

// Before 2.8, a number that is not whole, or that no int64 can hold, is 0.
func TestWholeNumbers(t *testing.T) {
	for x, want := range map[float64]float64{7: 7, 0.5: 0, -3: -3, -1 << 63: -1 << 63, 1 << 63: 0, -1<<63 - 2048: 0, 1<<63 - 1024: 1<<63 - 1024} {
		require.Equal(t, want, release(t, "2.7").TargetAverage(&keda.Scaler{Target: x}), x)
		require.Equal(t, x, release(t, "2.8").TargetAverage(&keda.Scaler{Target: x}))
	}
	require.Zero(t, release(t, "2.7").TargetAverage(&keda.Scaler{Target: math.NaN()}))
	metrics := &keda.Scaler{Metrics: []keda.Metric{{AverageValue: 3}, {AverageValue: 4}}}
	require.Equal(t, 3.0, release(t, "2.7").TargetAverage(metrics))
	require.Equal(t, 3.5, release(t, "2.8").TargetAverage(metrics))
}

// A queue length that an int64 can hold does not wrap around, up to both ends.
func TestEndsOfInt64(t *testing.T) {
	for queue, want := range map[float64]keda.Fault{-1 << 63: keda.NoFault, -1<<63 - 2048: keda.WrapsAround, 1<<63 - 1024: keda.NoFault, 1 << 63: keda.WrapsAround} {
		j := spec(0, 9, "")
		j.Spec.ScalingStrategy.MultipleScalersCalculation = "sum"
		d := keda.Newest().Aggregate(j, []keda.Scaler{active(queue, 1)})
		require.Equal(t, want, d.Fault, queue)
	}
}

// A demand of each era of the aggregation. Before 2.8 numbers are whole, and before 2.5 all
// queues are added up and divided by the last target.
func TestEras(t *testing.T) {
	resource := keda.Scaler{Metrics: []keda.Metric{{Name: "cpu", Resource: true}}}
	failed := keda.Scaler{QueueLength: 9, Target: 9, Failed: true}
	named := keda.Scaler{Activity: scaling.Active, Metrics: []keda.Metric{{Name: "other", Value: 5, AverageValue: 2}, {Name: "queueLength", Value: 7, AverageValue: 4}}}
	for _, tt := range []struct {
		release, calculation string
		scalers              []keda.Scaler
		queue, jobs          float64
	}{
		{"2.4", "avg", []keda.Scaler{active(5, 1), active(8, 2)}, 13, 7},
		{"2.4", "", []keda.Scaler{resource, active(8, 2)}, 8, 4},
		{"2.4", "", []keda.Scaler{active(8, 2), failed, active(4, 3)}, 12, 4},
		{"2.4", "", []keda.Scaler{active(8, 2), failed}, 8, 1}, // the failed scaler's target
		{"2.4", "", []keda.Scaler{active(8, 2), active(4, 0)}, 12, 0},
		{"2.4", "", []keda.Scaler{active(8, 2), named}, 15, 5},
		{"2.7", "avg", []keda.Scaler{active(5, 2), active(8, 2)}, 7, 4},
		{"2.8", "avg", []keda.Scaler{active(5, 2), active(8, 2)}, 6.5, 3.25},
		{"2.7", "sum", []keda.Scaler{active(5, 2), active(8, 2)}, 13, 7},
		{"2.8", "sum", []keda.Scaler{active(5, 2), active(8, 2)}, 13, 6.5},
		{"2.7", "sum", []keda.Scaler{resource, failed, active(8, 2)}, 8, 4},
		{"2.12", "sum", []keda.Scaler{resource, failed, active(8, 2)}, 8, 4},
		{"2.7", "max", []keda.Scaler{{QueueLength: 8, Target: 1, MaxValue: new(3.0), Activity: scaling.Active}}, 8, 3},
		{"2.7", "max", []keda.Scaler{{QueueLength: 8, Target: 1, MaxValue: new(2.5), Activity: scaling.Active}}, 8, 0},
		{"2.8", "max", []keda.Scaler{{QueueLength: 8, Target: 1, MaxValue: new(2.5), Activity: scaling.Active}}, 8, 2.5},
		{"2.7", "max", []keda.Scaler{named}, 7, 3},
		{"2.12", "max", []keda.Scaler{named}, 5, 5.0 / 3},
		{"2.7", "min", []keda.Scaler{active(8, 1), active(5, 1), active(0, 1)}, 0, 0},
		{"2.21", "min", []keda.Scaler{active(0, 1), active(8, 1)}, 8, 8}, // 0 stands for none yet
		{"2.21", "avg", nil, 0, 0},
		{"2.7", "avg", nil, 0, 0},
	} {
		j := spec(0, 100, "")
		j.Spec.ScalingStrategy.MultipleScalersCalculation = tt.calculation
		d := release(t, tt.release).Aggregate(j, tt.scalers)
		require.Equal(t, keda.NoFault, d.Fault, "%+v", tt)
		require.Equal(t, tt.queue, d.Queue, "%+v", tt)
		require.Equal(t, tt.jobs, d.Jobs, "%+v", tt)
		require.Equal(t, len(tt.scalers) > 0, d.Active, "%+v", tt)
	}
}

// What could not be read is left out.
func TestFailed(t *testing.T) {
	metric := func(name string, value float64, failed bool) keda.Metric {
		return keda.Metric{Name: name, Value: value, AverageValue: 1, Failed: failed, Activity: scaling.Active}
	}
	for _, tt := range []struct {
		release string
		scaler  keda.Scaler
		queue   float64
	}{
		{"2.0", keda.Scaler{QueueLength: 7, Target: 1, Activity: scaling.Active, Failed: true}, 0},
		{"2.7", keda.Scaler{QueueLength: 7, Target: 1, Activity: scaling.Active, Failed: true}, 0},
		{"2.12", keda.Scaler{QueueLength: 7, Target: 1, Activity: scaling.Active, Failed: true}, 0},
		{"2.21", keda.Scaler{QueueLength: 7, Target: 1, Activity: scaling.Active, Failed: true}, 0},
		{"2.7", keda.Scaler{QueueLength: 7, MaxValue: new(3.0), Activity: scaling.Active, Failed: true}, 0},
		{"2.21", keda.Scaler{QueueLength: 7, MaxValue: new(3.0), Activity: scaling.Active, Failed: true}, 0},
		{"2.12", keda.Scaler{Metrics: []keda.Metric{metric("queueLength", 7, true)}}, 0},
		{"2.12", keda.Scaler{Metrics: []keda.Metric{metric("queueLength", 7, false), metric("queueLength", 2, true)}}, 9}, // the first decides
		{"2.21", keda.Scaler{Metrics: []keda.Metric{metric("a", 7, false), metric("b", 2, true)}}, 7},
		{"2.21", keda.Scaler{Metrics: []keda.Metric{metric("a", 7, true), metric("b", 2, false)}}, 0}, // not named as the first
		{"2.21", keda.Scaler{Metrics: []keda.Metric{metric("a", 7, true), metric("a", 2, false)}}, 9},
		{"2.21", keda.Scaler{Metrics: []keda.Metric{metric("a", 7, false)}, Failed: true}, 0},
	} {
		d := release(t, tt.release).Aggregate(sum, []keda.Scaler{tt.scaler, {}})
		require.Equal(t, tt.queue, d.Queue, "%+v", tt)
		require.Equal(t, 2, d.Scalers)
		failed := tt.scaler.Failed
		for _, m := range tt.scaler.Metrics {
			failed = failed || m.Failed
		}
		require.Equal(t, failed, d.Failed == 1, "%+v", tt)
	}
}

func TestReplicas(t *testing.T) {
	for _, tt := range []struct {
		release     string
		least, most *int32
		want        keda.Replicas
	}{
		{"2.7", new(int32(3)), new(int32(9)), keda.Replicas{QueueMax: 9}},
		{"2.8", nil, nil, keda.Replicas{QueueMax: 100}},
		{"2.8", new(int32(3)), nil, keda.Replicas{QueueMax: 100, Fault: keda.NoMaximum}},
		{"2.11", new(int32(3)), nil, keda.Replicas{Min: 3, QueueMax: 100}},
		{"2.8", new(int32(3)), new(int32(9)), keda.Replicas{Min: 3, QueueMax: 6}},
		{"2.21", new(int32(9)), new(int32(9)), keda.Replicas{Min: 9}},
		{"2.8", new(int32(10)), new(int32(9)), keda.Replicas{Min: 9}},
		{"2.21", new(int32(10)), new(int32(9)), keda.Replicas{Min: 9, QueueMax: 9}},
	} {
		j := &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: tt.least, MaxReplicaCount: tt.most}}
		require.Equal(t, tt.want, release(t, tt.release).Replicas(j), "%+v", tt)
	}
}

func TestStrategyText(t *testing.T) {
	for _, want := range []string{"default: T - R", "accurate: T + R > M ? M - R : T", "accurate: T + R - P > M ? M - R : T - P",
		"eager: min(M - R - P, T)", "custom: min(M, T - -3 - trunc(R * 0.5))"} {
		var s keda.Strategy
		require.NoError(t, s.UnmarshalText([]byte(want)))
		require.Equal(t, want, s.String())
	}
	require.EqualError(t, new(keda.Strategy).UnmarshalText([]byte("mine")), `keda: found the strategy "mine"; use the text of a Strategy`)
}
