package study_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/strategy"
)

// orders arrive every ten seconds and take a minute. The metric counts those that wait.
var orders = simulation.Scenario{
	Seed: 7, Duration: simulation.Duration(20 * time.Minute),
	Queues: []simulation.Queue{{Arrivals: simulation.Poisson(0.1), Service: simulation.Exp(time.Minute), Metric: "waiting"}},
	Jobs:   simulation.JobBehavior{Startup: simulation.Fixed(10 * time.Second)},
}

// candidates are two strategies under the same maximum.
var candidates = []simulation.Autoscaler{simulation.NewScaling(strategy.Default{}, 20), simulation.NewScaling(strategy.Accurate{}, 20)}

// waited is the time that 95 % of the items wait at most, in seconds.
func waited(s *simulation.Summary) float64 { return s.Wait.P95 }

// Two strategies receive the same items, in as many runs as are needed to tell how they differ.
func ExampleReplicate() {
	of, err := study.Replicate(orders, candidates, study.Options{SummaryOnly: true})
	if err != nil {
		panic(err)
	}
	for i, s := range of.Samples {
		e := of.Estimate(i, waited)
		fmt.Printf("%s: %.0f to %.0f s\n", s.Policy, e.Low, e.High)
	}
	d := of.Difference(0, 1, waited)
	fmt.Printf("%s, %.0f s in %d runs\n", d.Word, d.Mean, of.Seeds)
	// Output:
	// default, max 20: 118 to 129 s
	// accurate, max 20: 38 to 39 s
	// different, 85 s in 33 runs
}

// The load at which the queue begins to grow.
func ExampleCapacity_Measure() {
	all, err := study.Capacities(orders, candidates[:1], study.Options{})
	if err != nil {
		panic(err)
	}
	for _, c := range all {
		if err := c.Measure(study.Options{}); err != nil {
			panic(err)
		}
		fmt.Printf("%s sustains %.2f items per second\n", c.Policy, c.Sustained)
	}
	// Output:
	// default, max 20 sustains 0.24 items per second
}

// The smallest of several maxima that lets 95 % of the items wait at most a minute.
func ExampleSearch() {
	var tried []simulation.Autoscaler
	for most := int64(4); most <= 20; most += 4 {
		tried = append(tried, simulation.NewScaling(strategy.Accurate{}, most))
	}
	minute := study.Condition{Value: waited, Limit: 60}
	found, err := study.Search(orders, tried, []study.Condition{minute}, study.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Study.Samples[0].Policy, "is the first of", found.Tried)
	// Output:
	// accurate, max 12 is the first of 3
}
