package controller

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func spec(threshold int64, least, most int32) *v1.ScaledJobSpec {
	return &v1.ScaledJobSpec{QueueName: "orders", RedisAddress: "redis:6379", Threshold: threshold, MinReplicas: least, MaxReplicas: most}
}

// decide decides as a tracker does with the target.
func decide(spec *v1.ScaledJobSpec, depth int64, jobs scaling.JobCounts) (all, create int32) {
	target, _ := read(&v1.ScaledJob{Spec: *spec}) // without a template
	d := scaling.Decide(target.Policy, scaling.Observation{Metrics: waiting(spec, depth), Jobs: &jobs})
	return int32(d.Trace.Load.Target), int32(d.Create)
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name            string
		spec            *v1.ScaledJobSpec
		depth           int64
		jobs            scaling.JobCounts
		desired, create int32
	}{
		{"an empty queue wants no Job", spec(10, 0, 5), 0, scaling.JobCounts{}, 0, 0},
		{"the article's", spec(10, 0, 20), 47, scaling.JobCounts{}, 5, 5},
		{"those that wait for a node count", spec(10, 0, 5), 47, scaling.JobCounts{Running: 3, Pending: 3}, 5, 2},
		{"those on their way out are not active", spec(10, 0, 20), 47, scaling.JobCounts{Running: 3, Terminating: 2}, 5, 2},
		{"a maximum of 0 pauses", spec(10, 0, 0), 47, scaling.JobCounts{}, 0, 0},
		{"the longest queue", spec(1, 0, math.MaxInt32), math.MaxInt64, scaling.JobCounts{}, math.MaxInt32, math.MaxInt32},
		{"a minimum above the maximum is the maximum", spec(10, 9, 5), 0, scaling.JobCounts{}, 5, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			desired, create := decide(c.spec, c.depth, c.jobs)
			require.Equal(t, [2]int32{c.desired, c.create}, [2]int32{desired, create})
		})
	}
}

// The numbers are those of whole-number division.
func isWholeNumberDivision(t *rapid.T) {
	s := spec(rapid.Int64Range(1, 1e6).Draw(t, "threshold"), rapid.Int32Range(0, 1e6).Draw(t, "min"), 0)
	s.MaxReplicas = rapid.Int32Range(s.MinReplicas, 1e6).Draw(t, "max")
	depth := rapid.Int64Range(0, 1e9).Draw(t, "depth")
	jobs := scaling.JobCounts{Running: rapid.Int64Range(0, 1e6).Draw(t, "running"), Terminating: rapid.Int64Range(0, 1e6).Draw(t, "terminating")}

	all := depth / s.Threshold
	if depth%s.Threshold > 0 {
		all++
	}
	all = min(max(all, int64(s.MinReplicas)), int64(s.MaxReplicas))
	create := max(0, min(all-jobs.Running, int64(s.MaxReplicas)-jobs.Running-jobs.Terminating))

	gotAll, gotCreate := decide(s, depth, jobs)
	require.EqualValues(t, all, gotAll, "desired")
	require.EqualValues(t, create, gotCreate, "create")
}

func TestDecideIsWholeNumberDivision(t *testing.T) { rapid.Check(t, isWholeNumberDivision) }
