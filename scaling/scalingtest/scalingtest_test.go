package scalingtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/scaling/scalingtest"
)

func decide(p scaling.Policy, o scaling.Observation) int64 { return scaling.Decide(p, o).Create }

func TestScaling(t *testing.T) { scalingtest.Run(t, decide) }

// Each property finds an implementation that breaks it alone, or beside what follows from it.
func TestPropertiesFindTheirBreakers(t *testing.T) {
	calls := int64(0)
	changed := func(change func(p *scaling.Policy, o *scaling.Observation, create int64) int64) scalingtest.Implementation {
		return func(p scaling.Policy, o scaling.Observation) int64 {
			create := decide(p, o)
			return change(&p, &o, create)
		}
	}
	for name, broken := range map[string]scalingtest.Implementation{
		"Pure": changed(func(_ *scaling.Policy, _ *scaling.Observation, create int64) int64 {
			calls++
			return min(create, calls%2)
		}),
		"WithinBounds": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			if o.Jobs != nil {
				o.Jobs.Terminating = 0
			}
			return decide(*p, *o)
		}),
		"KnownJobs": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			if o.Jobs == nil {
				o.Jobs = &scaling.JobCounts{}
			}
			return decide(*p, *o)
		}),
		"AnyOrder": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			if len(o.Metrics) > 0 && !o.Metrics[0].Failed {
				o.Metrics = o.Metrics[:1]
			}
			return decide(*p, *o)
		}),
		"MonotoneInValue": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			if len(o.Metrics) == 1 && o.Metrics[0].Value > 12 {
				return (create + 1) / 2
			}
			return create
		}),
		"NothingWithoutDemand": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			for i := range o.Metrics {
				o.Metrics[i].Activity = scaling.Active
				o.Metrics[i].Value++
			}
			return decide(*p, *o)
		}),
		"ServedInTheEnd": changed(func(p *scaling.Policy, o *scaling.Observation, create int64) int64 {
			if len(o.Metrics) == 1 && o.Metrics[0].Value < 3 {
				return 0
			}
			return create
		}),
	} {
		var found []string
		for _, p := range scalingtest.All() {
			require.NoError(t, scalingtest.Find(decide, p), p.Name)
			if scalingtest.Find(broken, p) != nil {
				found = append(found, p.Name)
			}
		}
		require.Contains(t, found, name)
		if name != "Pure" {
			require.Len(t, found, 1, name)
		}
	}
}

// A whole decision of one's own, without the rule for an inactive metric.
func ExampleFind() {
	mine := func(p scaling.Policy, o scaling.Observation) int64 {
		if p.Paused || o.Jobs == nil || len(o.Metrics) != 1 {
			return 0
		}
		wanted := int64(o.Metrics[0].Value / o.Metrics[0].Target)
		return max(0, min(wanted, p.Bounds.Max-o.Jobs.Terminating)-o.Jobs.Running-o.Jobs.InFlight)
	}
	for _, p := range scalingtest.All() {
		if scalingtest.Find(mine, p) != nil {
			fmt.Println("broken:", p.Name)
		}
	}
	// Output:
	// broken: NothingWithoutDemand
	// broken: ServedInTheEnd
}
