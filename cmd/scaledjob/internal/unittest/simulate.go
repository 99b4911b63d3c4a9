package unittest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/trace"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/simulation"
)

// simulated runs the workload under each seed, and compares the worst results.
func (c *testCase) simulated(m *input.ScaledJob, r input.Release, flags *input.QueueFlags) (*Result, error) {
	scenario, err := c.scenario(m, r, flags)
	if err != nil {
		return nil, err
	}
	seeds := 1
	if scenario.Load().Random {
		seeds = *cmp.Or(c.Simulate.Seeds, new(5))
	}
	t := &Result{}
	var wait float64
	var peak, undone int64
	lower := int64(math.MaxInt64)
	for range seeds {
		run, err := simulation.Run(*scenario, simulation.Options{SummaryOnly: true})
		if err != nil {
			return nil, err
		}
		scenario.Seed++
		s := &run.Summary
		wait, peak, lower = max(wait, s.Wait.P95), max(peak, s.PeakJobs), min(lower, s.PeakJobs)
		undone = max(undone, s.Arrived-s.Done)
		t.Trace += fmt.Sprintf("run: %d items, %d undone, p95 of the wait %s, %d Jobs created, at most %d at once\n",
			s.Arrived, s.Arrived-s.Done, report.Span(s.Wait.P95), s.JobsCreated, s.PeakJobs)
	}
	t.Trace = strings.TrimSuffix(t.Trace, "\n")
	if d := c.Expect.MaxWaitP95; d != nil {
		t.compare("maxWaitP95", wait <= time.Duration(*d).Seconds(), report.Span(wait), "at most "+time.Duration(*d).String())
	}
	atMost := func(name string, bound *int64, n int64) {
		if bound != nil {
			t.compare(name, n <= *bound, n, fmt.Sprintf("at most %d", *bound))
		}
	}
	atMost("maxPeakJobs", c.Expect.MaxPeakJobs, peak)
	atMost("maxUndone", c.Expect.MaxUndone, undone)
	if n := c.Expect.MinPeakJobs; n != nil {
		t.compare("minPeakJobs", lower >= *n, lower, fmt.Sprintf("at least %d", *n))
	}
	return t, nil
}

// scenario is the workload with the ScaledJob as its policy.
func (c *testCase) scenario(m *input.ScaledJob, r input.Release, flags *input.QueueFlags) (*simulation.Scenario, error) {
	w := c.Simulate
	configured, _, err := flags.Triggers(m)
	if err != nil {
		return nil, err
	}
	s := &simulation.Scenario{Name: c.Name, Seed: *cmp.Or(w.Seed, new(uint64(1))), Duration: simulation.Duration(time.Hour)}
	if w.Trace != "" {
		s.Duration = 0
	}
	if w.Duration != nil {
		s.Duration = *w.Duration
	}
	p := scenario.Policy{Release: r, Spec: m.KEDA.Spec}
	if s.Autoscaler, err = p.Build(1); err != nil {
		return nil, err
	}
	s.Jobs.Acknowledge = cmp.Or(w.Acknowledge, "end")
	s.Jobs.ItemsPerJob, _ = scenario.ItemsPerJob(configured)
	if w.ItemsPerJob != nil {
		s.Jobs.ItemsPerJob, s.Jobs.DrainQueue = *w.ItemsPerJob, *w.ItemsPerJob == 0
	}
	texts := scenario.Workload{Arrivals: w.Arrivals, Service: cmp.Or(w.Service, "30s"), Startup: cmp.Or(w.Startup, "5s"),
		Metrics: scenario.Counts(m, configured, r)}
	if w.Metric != "" {
		texts.Metrics = slices.Repeat([]string{w.Metric}, len(configured))
	}
	err = texts.Set(s, configured, "simulate.")
	for i := range s.Queues {
		if triggers.LimitOf(configured[i].Type, r.Version(), m.Spec.Spec.Triggers[i].Metadata) != nil {
			s.Queues[i].Partitions = c.Partitions
		}
	}
	if err == nil && w.Trace != "" {
		s.Queues[0].Trace, _, err = trace.Read(w.Trace, "")
	}
	if err != nil {
		return nil, err
	}
	return s, s.Validate()
}
