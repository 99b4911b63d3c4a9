package simulation_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/simulation"
)

// A text is written as it was read.
func TestText(t *testing.T) {
	for _, text := range []string{"constant:2/s", "poisson:0.5/m", "bursts:100/10m", "daily:1/s,5/s,2/s", "poisson:1e+06/720h", "constant:3/1m30s"} {
		var a simulation.Arrivals
		require.NoError(t, a.UnmarshalText([]byte(text)))
		require.Equal(t, text, a.String())
	}
	for _, text := range []string{"30s", "constant:1m", "exp:30s", "lognormal:30s,1m", "recorded:12s,30s,500ms", "0s"} {
		var d simulation.Distribution
		require.NoError(t, d.UnmarshalText([]byte(text)))
		require.Equal(t, text, d.String())
	}
	require.Equal(t, "[constant:2/s poisson:0.3333333333333333/s bursts:5/1m30s daily:1/s,2.5/s]",
		fmt.Sprint([]simulation.Arrivals{simulation.Constant(2), simulation.Poisson(1. / 3), simulation.Bursts(5, 90*time.Second), simulation.Daily(1, 2.5)}))
	require.Equal(t, "[0s 30s exp:1ns lognormal:1h30m,1m recorded:1s,2m]", fmt.Sprint([]simulation.Distribution{
		{}, simulation.Fixed(30 * time.Second), simulation.Exp(1), simulation.LogNormal(90*time.Minute, time.Minute), simulation.Recorded(time.Second, 2*time.Minute),
	}))
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"daily:1/s,5/s,2/s", "poisson:NaN/s", "constant:-0/1m30s", "lognormal:30s,1m", "recorded:12s, 30s,500ms", "-1ns", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := simulation.Queue{}
		_, _ = q.Arrivals.UnmarshalText([]byte(text)), q.Service.UnmarshalText([]byte(text))
		s := simulation.Scenario{Queues: []simulation.Queue{q}}
		_ = s.Validate()
	})
}

func TestTextThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"2/s":             `"2/s" is not a pattern of arrivals; use constant, poisson, bursts or daily and a rate, such as poisson:2/s`,
		"gauss:2/s":       `"gauss:2/s" is not a pattern of arrivals; use constant, poisson, bursts or daily and a rate, such as poisson:2/s`,
		"poisson:2":       `"2" is not a rate; use items and a time, such as 2/s or 100/10m`,
		"poisson:x/s":     `"x/s" is not a rate; use items and a time, such as 2/s or 100/10m`,
		"daily:1/s,2/day": `"2/day" is not a rate; use items and a time, such as 2/s or 100/10m`,
		"":                `"" is not a pattern of arrivals; use constant, poisson, bursts or daily and a rate, such as poisson:2/s`,
	} {
		var a simulation.Arrivals
		require.EqualError(t, a.UnmarshalText([]byte(text)), want)
	}
	for text, want := range map[string]string{
		"30":               `"30" is not a duration; use a number and a unit, such as 30s or 1h30m`,
		"exp:1s,2s":        `"exp:1s,2s" is not a distribution; use a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s`,
		"lognormal:1s":     `"lognormal:1s" is not a distribution; use a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s`,
		"weibull:1s":       `"weibull:1s" is not a distribution; use a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s`,
		"recorded:1s,soon": `"soon" is not a duration; use a number and a unit, such as 30s or 1h30m`,
	} {
		var d simulation.Distribution
		require.EqualError(t, d.UnmarshalText([]byte(text)), want)
	}
}

// Every problem at once, with paths as in a file.
func TestValidate(t *testing.T) {
	var s simulation.Scenario
	require.NoError(t, json.Unmarshal([]byte(`{
		"drain": "-1s",
		"queues": [
			{"name": "a", "arrivals": "constant:0/s", "service": "lognormal:0s,1s", "target": -1, "activationThreshold": -1, "staleness": "-1s"},
			{"name": "a", "trace": [{"at": "-1s", "items": -1, "service": "-1s"}], "arrivals": "bursts:1.5/s", "metric": "x",
			 "visibilityTimeout": "-1s", "maxDeliveries": -1}
		],
		"jobs": {"acknowledge": "x", "itemsPerJob": 2, "drainQueue": true, "wait": "-1s", "failureProbability": -1, "backoffLimit": -1,
			"backoff": "-1s", "termination": "-1s", "startup": "-1s", "completion": "-1s"},
		"clusters": [{"capacity": -1, "outages": [{"from": "2s", "until": "1s", "kind": "x"}]}]
	}`), &s))
	s.Queues[0].Outages = []simulation.Outage{{Kind: "down"}}
	s.Clusters[0].ListAge = -1
	s.Autoscaler = simulation.KEDA{Spec: keda.Spec{
		PollingInterval: new(int32(0)), MinReplicaCount: new(int32(-1)), MaxReplicaCount: new(int32(-2)),
		ScalingStrategy: keda.ScalingStrategy{Strategy: "pendingAware", MultipleScalersCalculation: "median"},
	}}
	var fields []string
	for _, problem := range field.All(s.Validate()) {
		fields = append(fields, problem.Path)
	}
	require.Equal(t, []string{
		"drain", "duration",
		"queues[0].arrivals", "queues[0].service", "queues[0].target", "queues[0].activationThreshold", "queues[0].staleness",
		"queues[0].outages[0].until", "queues[0].outages[0].kind",
		"queues[1].arrivals", "queues[1].arrivals", "queues[1].trace[0].at", "queues[1].trace[0].service", "queues[1].trace[0].items",
		"queues[1].metric", "queues[1].visibilityTimeout", "queues[1].maxDeliveries", "queues[1].name",
		"jobs.startup", "jobs.completion", "jobs.acknowledge", "jobs.itemsPerJob", "jobs.wait", "jobs.failureProbability", "jobs.backoffLimit",
		"jobs.backoff", "jobs.termination",
		"clusters[0].capacity", "clusters[0].listAge", "clusters[0].outages[0].until", "clusters[0].outages[0].kind",
		"policy.spec.pollingInterval", "policy.spec.minReplicaCount", "policy.spec.maxReplicaCount",
		"policy.spec.scalingStrategy.strategy", "policy.spec.scalingStrategy.multipleScalersCalculation",
	}, fields)
	_, err := simulation.Run(s, simulation.Options{})
	require.Error(t, err)
}

func TestValidateClusters(t *testing.T) {
	s := load("", "")
	s.Clusters = []simulation.Cluster{{Name: "a"}, {Name: "a"}}
	require.EqualError(t, s.Validate(), `clusters[1].name: found "a"; use a name that no other has`+"\n"+
		`policy: found "default, max 40"; use Placement, or another autoscaler that reads Observation.Clusters, for 2 clusters`)
	s.Clusters[1].Name = ""
	p := jobs.DefaultPolicy()
	p.Failover.GracePeriod = -1
	p.Members = []jobs.Member{jobs.NewMember("a"), jobs.NewMember("cluster-2"), jobs.NewMember("b")}
	s.Autoscaler = simulation.Placement{Policy: p}
	require.EqualError(t, s.Validate(), `policy.Failover.GracePeriod: found -1ns; use 0 or more
policy.Members[2].Name: found "b"; use the name of a cluster of the scenario`)
	s.Autoscaler = nil
	require.EqualError(t, s.Validate(), "policy: found nothing; use Scaling, KEDA, Placement or a type of your own")
	s.Clusters = nil
	s.Autoscaler = simulation.Scaling{Policy: scaling.Policy{Bounds: scaling.Bounds{Max: -1}}, StuckAfter: new(-second)}
	require.EqualError(t, s.Validate(), `policy.stuckAfter: found -1s; use 0s or more, and less than 20 years
policy.Bounds.Max: found -1; use 0 or more`)
}

// What a scenario could not come to an end with is refused.
func TestValidateSize(t *testing.T) {
	s := load("", "")
	s.Duration = 19 * 365 * 24 * hour
	s.Autoscaler = simulation.Scaling{Interval: second}
	s.Queues = append(s.Queues, s.Queues[0])
	s.Queues[0].Arrivals = simulation.Poisson(6e7 / time.Duration(s.Duration).Seconds()) // each queue is small enough
	s.Queues[1].Arrivals = s.Queues[0].Arrivals
	require.EqualError(t, s.Validate(), `queues: found 1.2e+08 items in the run; use at most 1e8, of all queues together
policy.interval: found 1s; use a longer one, for at most 1e7 polls in the run`)
}

// The arrivals of each pattern in an hour.
func TestPatterns(t *testing.T) {
	arrivals := func(text string, duration simulation.Duration) (at []time.Duration) {
		s := load("", "")
		s.Duration = duration
		require.NoError(t, s.Queues[0].Arrivals.UnmarshalText([]byte(text)))
		run(t, s, simulation.Options{SummaryOnly: true, Observe: func(e simulation.Event) {
			if e.Kind == "arrived" {
				at = append(at, e.At)
			}
		}})
		return at
	}
	require.Equal(t, []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}, arrivals("constant:2/s", 2*second))
	require.Equal(t, []time.Duration{0, 0, 0, time.Minute, time.Minute, time.Minute}, arrivals("bursts:3/1m", 2*minute))
	require.InDelta(t, 10_000, len(arrivals("poisson:10000/h", hour)), 400) // four standard deviations

	byHour := make([]int, 24)
	for _, at := range arrivals("daily:1000/h,7000/h,1000/h,1000/h", 48*hour) {
		byHour[int(at.Hours())%24]++
	}
	for i, want := range []int{1500, 2500, 3500, 4500, 5500, 6500, 6500, 5500, 4500, 3500, 2500, 1500, 1000, 1000} {
		require.InDelta(t, 2*want, byHour[i], 5*90, "hour %d", i)
	}
}

// A burst comes whole, the first at once.
func TestBurstsAreBounded(t *testing.T) {
	a := simulation.Arrivals{}
	require.NoError(t, a.UnmarshalText([]byte("bursts:2000000000/10000h")))
	s := simulation.Scenario{Duration: simulation.Duration(time.Hour), Queues: []simulation.Queue{{Arrivals: a}}}
	require.ErrorContains(t, s.Validate(), "use at most 1e8")
}
