package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/results"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
)

// The verdict begins with the answer; the details name the troubles that occurred.
func TestVerdict(t *testing.T) {
	for flags, want := range map[string][]string{
		"--metric all --compare default,accurate": {
			"Use accurate: 95 % of the items wait at most 30 s (default: 48 s for 6.4 pod-h). ", "accurate runs up to ", "(maximum 100) and costs ", "default: 18 items/min arrive and keep 13.5 Jobs busy.",
			"accurate creates too many Jobs: ", "Idle: default "},
		"--metric waiting --compare default,accurate": {"Use accurate: ", "default starts too few Jobs: ", "95 % wait at most: accurate "},
		"--metric all --compare accurate,accurate":    {"accurate and accurate do the same: "},
		"--metric all": {"plain keeps up: 95 % of the items wait at most "},
		"--metric all --arrivals poisson:30/s --duration 2m": {"more patterns than triggers"},
	} {
		_, out, said := call(t, workload+flags+" --details", "")
		for _, text := range want {
			require.Contains(t, strings.Join(strings.Fields(out+said), " "), text, flags)
		}
	}
}

// A recording is played as it was: its burst is in the picture, and no seed changes its items.
func TestRecording(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("time,items\n")
	for minute := range 240 {
		if burst := minute >= 20 && minute < 35; burst {
			fmt.Fprintf(&rows, "%d,30\n", minute*60)
		} else if minute%3 == 0 {
			fmt.Fprintf(&rows, "%d,1\n", minute*60)
		}
	}
	trace := written(t, "burst.csv", rows.String())
	for _, flags := range []string{"", "--service exp:30s", "--seeds 1", "--resample"} {
		r := findings(t, "simulate -f testdata/manifest.yaml --trace "+trace+" "+flags)
		sample := &r.Study.Samples[0]
		for _, run := range sample.Runs {
			require.EqualValues(t, 15*30+75, run.Arrived, flags)
		}
		mean := func(from, to float64) (sum float64) {
			for i := int(from / sample.Step); i < int(to/sample.Step); i++ {
				sum += sample.Jobs.Mean[i] * sample.Step / (to - from)
			}
			return sum
		}
		require.Greater(t, mean(20*60, 35*60), 10*mean(60*60, 200*60), "the burst is where it was: %s", flags)
		require.True(t, r.Study.Recorded)
		require.Equal(t, flags == "--resample", len(sample.Resampled) > 0)
	}
	shorter := findings(t, "simulate -f testdata/manifest.yaml --duration 25m --trace "+trace)
	require.EqualValues(t, 7+5*30, shorter.Study.Samples[0].Runs[0].Arrived, "the duration ends the trace")
	_, out, _ := call(t, "simulate -f testdata/manifest.yaml --trace "+trace, "")
	require.Contains(t, out, "Numbers: the recorded arrivals as they were; one run, in which nothing is random")
	_, _, said := call(t, "simulate -f testdata/manifest.yaml --resample --trace "+written(t, "few.csv", "time\n0\n700\n1400\n"), "")
	require.Contains(t, said, "the recording has 2 blocks of 20 polls, and a shuffle needs 10; use a longer recording, or do not shuffle it")
}

// Rates in CSV are read as rates, and fractions that may be rates get a warning.
func TestRates(t *testing.T) {
	rows := "time,items\n"
	for i := range 121 {
		rows += fmt.Sprintf("%d,0.12\n", i*30)
	}
	trace := written(t, "rate.csv", rows)
	_, out, said := call(t, "simulate -f testdata/manifest.yaml --details --trace "+trace+" --trace-as rate", "")
	require.Contains(t, strings.Join(strings.Fields(out), " "), " Jobs: 432,", "7.2 items a minute for an hour")
	require.Empty(t, said)
	_, _, said = call(t, "simulate -f testdata/manifest.yaml --trace "+trace, "")
	require.Contains(t, said, "if they are items per second, use --trace-as rate")
	_, _, said = call(t, "simulate -f testdata/manifest.yaml --trace "+trace+" --trace-as items", "")
	require.Empty(t, said)
}

// An objective that is missed for certain is a failure, and what is too close to call a warning.
func TestObjectiveStatus(t *testing.T) {
	for flags, want := range map[string]int{
		"--objective p95<1s": found, "--objective p95<10m": success, "--objective p95<10m --strict": success,
		"--compare default,max=2 --objective p95<10m": found, "--search --objective p95<1s": found, "--search --objective p95<5m": success,
		"--objective p95<10m --seeds 1": success, "--objective p95<10m --seeds 1 --strict": found,
	} {
		status, out, said := call(t, workload+"--metric all "+flags, "")
		require.Equal(t, want, status, "%s\n%s%s", flags, out, said)
		require.Contains(t, strings.Join(strings.Fields(out), " "), "every item is done", flags)
		require.Equal(t, strings.Contains(flags, "--seeds 1"), strings.Contains(said, "too close to call"), flags)
	}
}

// A search ends with the lines to copy, which are a manifest's.
func TestPatch(t *testing.T) {
	_, out, _ := call(t, workload+"--search --objective p95<5m --price 2", "")
	_, text, found := strings.Cut(out, "--patch-file patch.yaml\n")
	require.True(t, found, out)
	var p struct {
		Spec struct {
			PollingInterval, MinReplicaCount, MaxReplicaCount *int32
			ScalingStrategy                                   struct{ Strategy string }
		}
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &p))
	require.NotNil(t, p.Spec.PollingInterval)
	require.NotNil(t, p.Spec.MinReplicaCount)
	require.Less(t, *p.Spec.MaxReplicaCount, int32(100))
	require.NotEmpty(t, p.Spec.ScalingStrategy.Strategy)
	said := strings.Join(strings.Fields(out), " ")
	require.Regexp(t, `, instead of today's \(default, min 0, max 100, every 30s\): the smallest maximum that meets .* With it, 95 % of the items wait at most [0-9.]+ s \(today [0-9.]+ s\); with max [0-9]+, 95 % of the items wait at most [0-9.]+ s(, too close to the limit)?\. In [0-9hms]+ it costs [0-9.]+ \([0-9.]+ pod-h at 2 an hour\), of which [0-9.]+ pod-h are idle \(pods that are still starting\); today's policy costs (the same|[0-9.]+ \([0-9.]+ pod-h at 2 an hour\), which is [0-9]+ % (less|more))\.`, said)
	require.Contains(t, said, " today: default, min 0, max 100, every 30s ")
}

// Settings and files are compared with today's policy.
func TestCompare(t *testing.T) {
	names := func(flags string) (names []string) {
		for _, s := range findings(t, workload+flags).Study.Samples {
			names = append(names, fmt.Sprintf("%s:%d", s.Policy, s.Runs[0].PeakJobs))
		}
		return names
	}
	many := names("--seeds 1 --compare default,accurate")
	require.Len(t, many, 2)
	require.Equal(t, []string{"today", "max=3"}, policyNames(names("--seeds 1 --compare max=3")))
	require.Equal(t, "max=3:3", names("--seeds 1 --compare max=3")[1])
	require.Equal(t, []string{"today", "eager+max=5+interval=10s", "min=2"}, policyNames(names("--seeds 1 --compare eager+max=5+interval=10s,min=2")))
	require.Equal(t, []string{"accurate", "today"}, policyNames(names("--seeds 1 --compare accurate,today")))
	other := written(t, "other.yaml", strings.Replace(trigger("redis", `listName: a, listLength: "1"`, ""), "  triggers", "  maxReplicaCount: 2\n  triggers", 1))
	require.Equal(t, other+":2", names("--seeds 1 --compare " + other)[1])
	status, out, said := call(t, "simulate testdata/manifest.yaml "+other+" --arrivals constant:1/m --duration 3m", "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, "today")
	for flag, want := range map[string]string{"max=x": `max "x": use a whole number of 0 or more`, "interval=1500ms": "use whole seconds", "size=3": `"size" is no setting; use min, max or interval`, "best": `"best" is no policy; use a strategy (default, accurate, eager, custom)`} {
		_, _, said := call(t, workload+"--compare "+flag, "")
		require.Contains(t, said, want)
	}
}

func policyNames(all []string) (names []string) {
	for _, name := range all {
		names = append(names, name[:strings.LastIndex(name, ":")])
	}
	return names
}

// BullMQ's list of active items counts the items in progress of the list that waits.
func TestActiveItems(t *testing.T) {
	manifest := written(t, "bull.yaml", strings.Replace(trigger("redis", `listName: "bull:mail:wait", listLength: "1"`, ""), `"1"}}]`,
		`"1"}}, {type: redis, metadata: {listName: "bull:mail:active", listLength: "1"}}]`+"\n  scalingStrategy: {multipleScalersCalculation: sum}", 1))
	read := func(flags string) results.Findings {
		return findings(t, "simulate "+manifest+" --arrivals poisson:6/m --duration 10m --service 1m "+flags)
	}
	r := read("")
	require.Equal(t, []string{"waiting", "active", "redis"}, []string{r.Scenario.Queues[0].Metric, r.Scenario.Queues[1].Metric, r.Scenario.Queues[1].Watches})
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "redis-2 counts", Value: "items in progress", Source: "BullMQ's list of active items", Flag: "--metric"})
	both, alone := r.Study.Samples[0].Runs[0], read("--metric redis-2=waiting").Study.Samples[0].Runs[0]
	require.Less(t, both.Wait.P95, alone.Wait.P95, "waiting and active items together are what default expects")
	_, _, said := call(t, "simulate "+manifest+" --arrivals poisson:6/m --metric rediss=all", "")
	require.Contains(t, said, `--metric: no trigger is called "rediss"; use redis, redis-2`)
}

// Partitions limit the Jobs that kafka asks for: its metric, in a simulation and in a unit test.
func TestPartitions(t *testing.T) {
	manifest := written(t, "kafka.yaml", trigger("kafka", `topic: mail, bootstrapServers: "k:9092", consumerGroup: mail, lagThreshold: "5"`, ""))
	read := func(flags string) results.Findings {
		return findings(t, "simulate "+manifest+" --arrivals bursts:100/1h --duration 10m --service 1m --items-per-job 1 "+flags)
	}
	require.Equal(t, int64(20), read("").Study.Samples[0].Runs[0].PeakJobs)
	r := read("--partitions 3")
	require.Equal(t, int64(4), r.Study.Samples[0].Runs[0].PeakJobs, "KEDA divides whole numbers: less than the items of one more Job come on top")
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "kafka asks for Jobs", Value: "one for each of 3 partitions", Source: "given", Flag: "--partitions"})

	tests := "manifests: [" + manifest + "]\ntests: [{name: a, partitions: 3, simulate: {arrivals: bursts:100/1h, duration: 10m, itemsPerJob: 1}, expect: {minPeakJobs: 4, maxPeakJobs: 4}}]\n"
	status, out, said := call(t, "test "+written(t, "kafka.test.yaml", tests), "")
	require.Equal(t, success, status, out+said)
}

// A queue that is not worked off is not kept up with, and Jobs of the minimum are told from those for the queue.
func TestFirstSentence(t *testing.T) {
	manifest := written(t, "m.yaml", trigger("redis", `listName: mail, listLength: "1", address: "redis.a.svc:6379"`, "")+"  minReplicaCount: 1\n  maxReplicaCount: 2\n")
	_, out, said := call(t, "simulate "+manifest+" --arrivals bursts:1000/1h --duration 10m --service 1m", "")
	require.Contains(t, strings.Join(strings.Fields(out), " "), "orders leaves 9", said)
	require.NotContains(t, out, "keeps up")
	_, out, said = call(t, "explain "+manifest+" --queue 5 --running 3 --release 2.14", "")
	require.Contains(t, out, "KEDA 2.14.1 creates no Job: queue length 5 / 1 per Job = 5 Jobs, the maximum is 2, 3 unfinished Jobs; 1 counts for the minimum.", said)
}

// While pods warm up they are not pending, and their items wait: accurate creates as many again. An agent that
// waits for an item holds a place of the maximum.
func TestWarmUpAndWait(t *testing.T) {
	read := func(flags string) results.Findings {
		return findings(t, "simulate -f testdata/manifest.yaml --arrivals bursts:10/1h --duration 1m --service 5m --startup 5s --seeds 1 --compare accurate,default "+flags)
	}
	created := func(flags string) int64 { return read(flags).Study.Samples[0].Runs[0].JobsCreated }
	require.EqualValues(t, 10, created(""))
	require.EqualValues(t, 20, created("--warm-up 40s"), "waiting 10, running 10, none taken yet: 10 more")
	r := read("--warm-up 40s --wait 10m")
	require.InEpsilon(t, 6000, r.Study.Samples[0].Runs[0].WaitingSeconds, 0.2)
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "warm-up", Value: "40s", Source: "given", Flag: "--warm-up"})
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "wait without an item", Value: "10m", Source: "given", Flag: "--wait"})
	_, out, _ := call(t, "simulate -f testdata/manifest.yaml --arrivals bursts:10/1h --duration 1m --compare accurate,default --wait 10m --warm-up 40s", "")
	require.Contains(t, out, "waiting agents")
}
