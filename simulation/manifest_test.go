package simulation_test

import (
	"cmp"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/strategy"
)

// A scenario is one whose policy is written as a manifest.
type scenario struct {
	simulation.Scenario
	Policy manifest
}

// A manifest is a spec, and whose rules decide: "spec" (or "" for one cluster), a
// release such as "2.21", or "placement" (or "" for several clusters).
type manifest struct {
	Name            string
	As              string
	Spec            keda.Spec
	SubtractPending bool
	MinAsFloor      bool
	StuckAfter      *simulation.Duration

	Members         []jobs.Member // none is one of weight 1 for each cluster
	Scheduling      jobs.Scheduling
	Class           string
	Size            int32
	Failover        *jobs.Failover
	FailoverOverMax bool
}

// built is the scenario with its policy.
func (s scenario) built() simulation.Scenario {
	s.Scenario.Autoscaler = s.Policy.policy(len(s.Clusters))
	return s.Scenario
}

func (m manifest) policy(clusters int) simulation.Autoscaler {
	if m.As != "" && m.As != "spec" && m.As != "placement" {
		p, err := keda.Release(m.As)
		if err != nil {
			panic(err)
		}
		return simulation.KEDA{Name: m.Name, Profile: p, Spec: m.Spec}
	}
	bounds := simulation.KEDA{Spec: m.Spec}.Settings()
	s := simulation.Scaling{Name: m.Name, Interval: bounds.Interval, StuckAfter: m.StuckAfter}
	s.Policy.Bounds = scaling.Bounds{Min: bounds.Min, Max: bounds.Max}
	if m.MinAsFloor {
		s.Policy.Bounds.Mode = scaling.Floor
	}
	_ = s.Policy.Aggregation.UnmarshalText([]byte(m.Spec.ScalingStrategy.MultipleScalersCalculation))
	s.Policy.Strategy = m.strategy()
	if m.As != "placement" && clusters <= 1 {
		return s
	}
	p := jobs.DefaultPolicy()
	p.Scaling = s.Policy
	p.Scaling.Bounds.Mode = scaling.Floor
	p.Members, p.Scheduling, p.Workload.Class, p.Workload.Size = m.Members, m.Scheduling, m.Class, m.Size
	if m.Failover != nil {
		p.Failover = *m.Failover
	}
	p.FailoverOverMax = m.FailoverOverMax
	return simulation.Placement{Name: m.Name, Policy: p, Interval: s.Interval}
}

func (m manifest) strategy() strategy.Strategy {
	of := m.Spec.ScalingStrategy
	if of.Strategy == "" && m.As == "placement" {
		return nil
	}
	s, err := strategy.FromSpec(cmp.Or(of.Strategy, "default"), of.Parameters)
	if err != nil {
		panic(err)
	}
	if _, ok := s.(strategy.Accurate); ok {
		return strategy.Accurate{SubtractPending: m.SubtractPending}
	}
	return s
}
