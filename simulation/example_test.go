package simulation_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/strategy"
)

// scaled is a policy of package scaling with a strategy and a maximum.
func scaled(name string, most int64) simulation.Scaling {
	of, err := strategy.FromSpec(cmp.Or(name, "default"), strategy.Parameters{})
	if err != nil {
		panic(err)
	}
	return simulation.NewScaling(of, most)
}

// load is a queue for the examples: an item every ten seconds for half an hour, which
// takes two minutes, so that twelve Jobs are busy all the time.
func load(metric string, name string) simulation.Scenario {
	return simulation.Scenario{
		Duration:   simulation.Duration(30 * time.Minute),
		Autoscaler: scaled(name, 40),
		Queues: []simulation.Queue{{
			Arrivals: simulation.Constant(0.1),
			Service:  simulation.Fixed(2 * time.Minute),
			Metric:   metric,
		}},
		Jobs: simulation.JobBehavior{Startup: simulation.Fixed(20 * time.Second)},
	}
}

// burst is the same, but for so many items at once.
func burst(metric string, name string, items int64) simulation.Scenario {
	s := load(metric, name)
	s.Queues[0].Arrivals = simulation.Arrivals{}
	s.Queues[0].Trace = []simulation.Arrival{{Items: items}}
	return s
}

func mustRun(s simulation.Scenario) *simulation.Result {
	r, err := simulation.Run(s, simulation.Options{})
	if err != nil {
		panic(err)
	}
	return r
}

// show prints a poll a line, up to a time.
func show(r *simulation.Result, until float64) {
	fmt.Println("time metric created running waiting")
	for _, t := range r.Ticks {
		if t.Seconds <= until {
			fmt.Printf("%4g %6g %7d %7d %7d\n", t.Seconds, t.Metric, t.Created, t.Running, t.Queued)
		}
	}
}

// A scenario as a file, under the rules of a release of KEDA.
func ExampleRun() {
	file := `{
  "duration": "1h",
  "seed": 1,
  "queues": [{"arrivals": "poisson:6/m", "service": "lognormal:1m,30s", "metric": "waiting"}],
  "jobs": {"startup": "20s", "failureProbability": 0.05}
}`
	var s simulation.Scenario
	if err := json.Unmarshal([]byte(file), &s); err != nil {
		panic(err)
	}
	release, err := keda.Release("2.18")
	if err != nil {
		panic(err)
	}
	s.Autoscaler = simulation.KEDA{Profile: release, Spec: keda.Spec{
		PollingInterval: new(int32(10)), MaxReplicaCount: new(int32(12)), ScalingStrategy: keda.ScalingStrategy{Strategy: "accurate"},
	}}
	r, err := simulation.Run(s, simulation.Options{})
	if err != nil {
		panic(err)
	}
	of := r.Summary
	fmt.Printf("%s: %d items, 95 %% wait at most %.0f s\n", of.Policy, of.Arrived, of.Wait.P95)
	fmt.Printf("%d Jobs, at most %d at once, %d without an item", of.JobsCreated, of.PeakJobs, of.IdleJobs)
	// Output:
	// KEDA 2.18.3 accurate, max 12, every 10s: 346 items, 95 % wait at most 42 s
	// 353 Jobs, at most 12 at once, 6 without an item
}

// A strategy of one's own: half of the missing Jobs in each poll.
func Example() {
	half := strategy.Func(func(l strategy.Load) int64 { return (l.Target - l.Running + 1) / 2 })
	r, err := simulation.Run(simulation.Scenario{
		Duration:   simulation.Duration(30 * time.Minute),
		Autoscaler: simulation.NewScaling(half, 40),
		Queues:     []simulation.Queue{{Arrivals: simulation.Poisson(0.2), Service: simulation.Exp(30 * time.Second)}},
	}, simulation.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d items, wait p95 %.0fs, %d Jobs", r.Summary.Arrived, r.Summary.Wait.P95, r.Summary.JobsCreated)
	// Output: 350 items, wait p95 60s, 350 Jobs
}

// The same load, whose metric counts the items in progress, under three strategies.
func ExampleScaling() {
	s := load("all", "")
	for _, name := range []string{"default", "accurate", "eager"} {
		s.Autoscaler = scaled(name, 40)
		r := mustRun(s).Summary
		fmt.Printf("%-16s wait p95 %2gs, %4d Jobs created, %4d found nothing, %5gs idle\n",
			r.Policy, r.Wait.P95, r.JobsCreated, r.IdleJobs, r.IdleSeconds)
	}
	// Output:
	// default, max 40  wait p95 40s,  180 Jobs created,    0 found nothing,  3600s idle
	// accurate, max 40 wait p95 20s,  783 Jobs created,  603 found nothing, 15660s idle
	// eager, max 40    wait p95 20s,  783 Jobs created,  603 found nothing, 15660s idle
}

// default subtracts the Jobs that run from the items that wait. Where the metric leaves
// the items in work out, the queue starves: as many have to wait as are being worked on,
// though there is room for forty Jobs.
func ExampleRun_starves() {
	show(mustRun(load("waiting", "default")), 300)
	fmt.Println()
	for _, name := range []string{"default", "accurate"} {
		r := mustRun(load("waiting", name))
		fmt.Printf("%s: wait p95 %gs, %d of %d polls starved the queue\n", name, r.Summary.Wait.P95, r.Summary.StarvedPolls, r.Summary.Polls)
	}
	// Output:
	// time metric created running waiting
	//    0      1       1       1       1
	//   30      3       2       3       3
	//   60      4       1       4       4
	//   90      6       2       6       6
	//  120      7       1       7       7
	//  150      9       3       9       9
	//  180      9       2       9       9
	//  210     10       2      10      10
	//  240     11       3      11      11
	//  270     11       1      11      11
	//  300     13       5      13      13
	//
	// default: wait p95 170s, 59 of 66 polls starved the queue
	// accurate: wait p95 40s, 0 of 66 polls starved the queue
}

// accurate subtracts only pending Jobs. Where the metric includes the items in work, it
// creates Jobs for them once more in every poll, up to the maximum.
func ExampleRun_doubles() {
	show(mustRun(load("all", "accurate")), 240)
	fmt.Println()
	for _, name := range []string{"accurate", "default"} {
		r := mustRun(load("all", name))
		fmt.Printf("%s: %d items, %d Jobs, %d of them found nothing to do\n", name, r.Summary.Arrived, r.Summary.JobsCreated, r.Summary.IdleJobs)
	}
	// Output:
	// time metric created running waiting
	//    0      1       1       1       1
	//   30      4       4       5       3
	//   60      7       7      12       2
	//   90     10      10      19       1
	//  120     13      13      25       1
	//  150     15      15      29       1
	//  180     14      14      27       1
	//  210     13      13      25       1
	//  240     13      13      25       1
	//
	// accurate: 180 items, 783 Jobs, 603 of them found nothing to do
	// default: 180 items, 180 Jobs, 0 of them found nothing to do
}

// eager creates a Job for each item in every poll, also for those that are not
// acknowledged because a Job works on them.
func ExampleRun_reissues() {
	r := mustRun(burst("all", "eager", 6))
	show(r, 150)
	fmt.Printf("%d Jobs for %d items\n", r.Summary.JobsCreated, r.Summary.Arrived)
	// Output:
	// time metric created running waiting
	//    0      6       6       6       6
	//   30      6       6      12       0
	//   60      6       6      12       0
	//   90      6       6      12       0
	//  120      6       6      12       0
	//  150      0       0       0       0
	// 30 Jobs for 6 items
}

// Jobs take four minutes to start. Where every pending Job counts as stuck, as
// pendingAware's formula says when it is read literally, as many are created in every
// poll. Where only those do that have been pending for a minute, as many are every minute.
func ExampleRun_runsAway() {
	s := burst("all", "pendingAware", 10)
	s.Jobs.Startup = simulation.Fixed(4 * time.Minute)
	for _, grace := range []simulation.Duration{0, simulation.Duration(time.Minute), simulation.Duration(5 * time.Minute)} {
		p := scaled("pendingAware", 40)
		p.StuckAfter = &grace
		s.Autoscaler = p
		r := mustRun(s)
		fmt.Printf("stuck after %s:", grace)
		for _, t := range r.Ticks[:5] {
			fmt.Printf(" %d", t.Running)
		}
		fmt.Printf(" Jobs; %d found nothing to do\n", r.Summary.IdleJobs)
	}
	// Output:
	// stuck after 0s: 10 20 30 40 40 Jobs; 30 found nothing to do
	// stuck after 1m: 10 10 20 20 30 Jobs; 30 found nothing to do
	// stuck after 5m: 10 10 10 10 10 Jobs; 0 found nothing to do
}

// A metric that is a minute and a half old: after a burst nothing happens at first, and
// then Jobs are created for items that are being worked on, or done.
func ExampleRun_overshoots() {
	s := burst("waiting", "accurate", 10)
	s.Queues[0].Service = simulation.Fixed(30 * time.Second)
	s.Queues[0].Staleness = simulation.Duration(90 * time.Second)
	r := mustRun(s)
	show(r, 210)
	fmt.Printf("%d Jobs for %d items\n", r.Summary.JobsCreated, r.Summary.Arrived)
	// Output:
	// time metric created running waiting
	//    0      0       0       0      10
	//   30      0       0       0      10
	//   60      0       0       0      10
	//   90     10      10      10      10
	//  120     10      10      20       0
	//  150     10      10      10       0
	//  180     10      10      10       0
	//  210      0       0       0       0
	// 40 Jobs for 10 items
}

// Two clusters, of which one is down for ten minutes.
func ExampleRun_outage() {
	s := load("all", "")
	p := jobs.DefaultPolicy()
	p.Scaling.Bounds.Max = 40
	s.Autoscaler = simulation.Placement{Policy: p}
	s.Clusters = []simulation.Cluster{
		{Name: "east", Outages: []simulation.Outage{{
			From: simulation.Duration(10 * time.Minute), Until: simulation.Duration(20 * time.Minute), Kind: "down",
		}}},
		{Name: "west"},
	}
	for _, t := range mustRun(s).Ticks[18:23] {
		fmt.Printf("%4g: %2d created, %2d running, %2d waiting\n", t.Seconds, t.Created, t.Running, t.Queued)
	}
	// Output:
	//  540:  3 created, 15 running,  3 waiting
	//  570:  3 created, 15 running,  3 waiting
	//  600:  2 created, 14 running,  9 waiting
	//  630:  3 created, 16 running, 10 waiting
	//  660:  3 created, 17 running, 10 waiting
}

// Every event of a run: one item, for which the second poll creates a Job.
func ExampleOptions_observe() {
	s := burst("all", "default", 1)
	s.Queues[0].Trace[0].At = simulation.Duration(5 * time.Second)
	_, err := simulation.Run(s, simulation.Options{Observe: func(e simulation.Event) { fmt.Println(e) }})
	if err != nil {
		panic(err)
	}
	// Output:
	// 0s polled: 0
	// 5s item 1 arrived
	// 30s Job 1 created
	// 30s Job 1 scheduled
	// 30s polled: 1
	// 50s Job 1 started
	// 50s item 1 delivered to Job 1
	// 1m polled: 0
	// 1m30s polled: 0
	// 2m polled: 0
	// 2m30s polled: 0
	// 2m50s item 1 done by Job 1
	// 2m50s Job 1 succeeded
	// 3m polled: 0
}

// All that is wrong with a scenario, at once.
func ExampleScenario_Validate() {
	s := load("some", "")
	s.Autoscaler = simulation.KEDA{Profile: keda.Newest(), Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{Strategy: "acurate"}}}
	s.Jobs.FailureProbability = 2
	fmt.Println(s.Validate())
	// Output:
	// queues[0].metric: found "some"; use all, waiting or active
	// jobs.failureProbability: found 2; use 0 to 1
	// policy.spec.scalingStrategy.strategy: found "acurate"; use one of default, accurate, eager, custom
}
