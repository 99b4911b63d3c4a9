package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is whose rules decide, and with what parameters. The zero value is the
// core's with the defaults of a ScaledJob: strategy default, no minimum, at most 100
// Jobs, a poll every 30 s, 100 succeeded and 100 failed Jobs kept.
type Policy struct {
	// Name stands for the policy in results; "" is String.
	Name string `json:"name,omitempty"`
	// As says whose rules: "core" for package scaling, "keda@2.18" or "keda@2.18.1" for a
	// release of KEDA, "placement" for Jobs in several clusters. "" is placement where
	// there are several clusters, else core.
	As string `json:"as,omitempty"`
	// Spec is that of a ScaledJob, in a manifest's words. Of it the simulation reads the
	// polling interval, the replica counts, the history limits and the scaling strategy.
	// For Jobs in several clusters an unset strategy is pendingAware.
	Spec keda.Spec `json:"spec,omitzero"`

	// What a ScaledJob cannot say, and a release of KEDA does not know:

	// SubtractPending is strategy.Accurate's, of the core and of placement.
	SubtractPending bool `json:"subtractPending,omitempty"`
	// MinAsFloor is scaling.Floor, of the core.
	MinAsFloor bool `json:"minAsFloor,omitempty"`
	// StuckAfter is how long a Job may be pending before it is stuck, for the core. Unset
	// is for ever; at 0s every pending Job is stuck.
	StuckAfter *Duration `json:"stuckAfter,omitempty"`

	Placement Placement `json:"placement,omitzero"`
}

// Placement is what only a policy for several clusters knows, each field as in a
// DistributedScaledJob. The zero value is what a manifest means that says nothing.
type Placement struct {
	Strategy          jobs.Scheduling  `json:"strategy,omitempty"`
	Class             string           `json:"class,omitempty"` // of workloadAffinity
	Size              *int32           `json:"size,omitempty"`
	GracePeriod       *Duration        `json:"gracePeriod,omitempty"`       // unset is 1m
	HardTaintDuration *Duration        `json:"hardTaintDuration,omitempty"` // unset is 5m
	SoftTaintDuration *Duration        `json:"softTaintDuration,omitempty"` // unset is 3m
	DuplicationPolicy jobs.Duplication `json:"duplicationPolicy,omitempty"`
	FailoverOverMax   bool             `json:"failoverOverMax,omitempty"` // see jobs.Policy
}

const (
	second = Duration(time.Second)
	hour   = Duration(time.Hour)

	asCore      = "core"
	asKEDA      = "keda@"
	asPlacement = "placement"
)

// String names the policy by its rules, its strategy and what of its parameters is
// not the default, or by its Name if it has one.
func (p Policy) String() string {
	if p.Name != "" {
		return p.Name
	}
	s := p.Spec.ScalingStrategy
	words := []string{s.Strategy}
	if s.Strategy == "" {
		words[0] = "default"
		if p.As == asPlacement {
			words[0] = "pendingAware"
		}
	}
	if s.Strategy == "custom" {
		deduction := int32(0)
		if s.CustomScalingQueueLengthDeduction != nil {
			deduction = *s.CustomScalingQueueLengthDeduction
		}
		words = append(words, fmt.Sprintf("%d %s", deduction, s.CustomScalingRunningJobPercentage))
	}
	if p.SubtractPending {
		words = append(words, "subtracting pending")
	}
	for _, n := range []struct {
		name  string
		value *int32
	}{{"min", p.Spec.MinReplicaCount}, {"max", p.Spec.MaxReplicaCount}} {
		if n.value != nil {
			words = append(words, n.name+" "+strconv.Itoa(int(*n.value)))
		}
	}
	if p.Spec.PollingInterval != nil {
		words = append(words, "every "+p.interval().String())
	}
	if p.As != "" && p.As != asCore {
		words[0] = p.As + " " + words[0]
	}
	return strings.Join(words, ", ")
}

// interval is the time from poll to poll.
func (p *Policy) interval() Duration {
	if p.Spec.PollingInterval == nil {
		return 30 * second
	}
	return Duration(*p.Spec.PollingInterval) * second
}

// bounds are the minimum and the maximum as they are documented.
func (p *Policy) bounds() scaling.Bounds {
	b := scaling.DefaultPolicy().Bounds
	if n := p.Spec.MaxReplicaCount; n != nil {
		b.Max = int64(*n)
	}
	if n := p.Spec.MinReplicaCount; n != nil {
		b.Min = min(int64(*n), b.Max)
	}
	if p.MinAsFloor {
		b.Mode = scaling.Floor
	}
	return b
}

func (p *Policy) limits() history.Limits {
	limits := history.DefaultLimits()
	if n := p.Spec.SuccessfulJobsHistoryLimit; n != nil {
		limits.Succeeded = history.Keep(int(*n))
	}
	if n := p.Spec.FailedJobsHistoryLimit; n != nil {
		limits.Failed = history.Keep(int(*n))
	}
	return limits
}

// scaling is the policy of the core, for a policy without problems.
func (p *Policy) scaling() scaling.Policy {
	chosen, _ := p.strategy()
	aggregation, _ := p.aggregation()
	return scaling.Policy{Bounds: p.bounds(), Aggregation: aggregation, Strategy: chosen}
}

func (p *Policy) aggregation() (scaling.Aggregation, error) {
	name := p.Spec.ScalingStrategy.MultipleScalersCalculation
	if name == "" {
		return scaling.Max, nil
	}
	return scaling.ParseAggregation(name)
}

// strategy is that of the core. Custom without a percentage is default, as it is
// documented.
func (p *Policy) strategy() (strategy.Strategy, error) {
	s := p.Spec.ScalingStrategy
	switch {
	case s.Strategy == "" || s.Strategy == "custom" && s.CustomScalingRunningJobPercentage == "":
		return strategy.Default{}, nil
	case s.Strategy == "accurate":
		return strategy.Accurate{SubtractPending: p.SubtractPending}, nil
	case s.Strategy != "custom":
		return strategy.Parse(s.Strategy)
	}
	percentage, err := strategy.ParsePercentage(s.CustomScalingRunningJobPercentage)
	if err != nil {
		return nil, err
	}
	deduction := int64(0)
	if n := s.CustomScalingQueueLengthDeduction; n != nil {
		deduction = int64(*n)
	}
	return strategy.NewCustom(deduction, percentage), nil
}

// jobs is the policy of package placement/jobs. The minimum is a floor.
func (p *Policy) jobs(clusters []Cluster) jobs.Policy {
	policy := jobs.DefaultPolicy()
	for i, c := range clusters {
		m := jobs.NewMember(clusterName(clusters, i))
		if c.Weight != nil {
			m.Weight = *c.Weight
		}
		m.Priority, m.MaxJobs = c.Priority, c.MaxJobs
		policy.Members = append(policy.Members, m)
	}
	policy.History = p.limits()
	policy.Scheduling = p.Placement.Strategy
	policy.Workload.Class = p.Placement.Class
	if n := p.Placement.Size; n != nil {
		policy.Workload.Size = *n
	}
	f := &policy.Failover
	f.Duplication = p.Placement.DuplicationPolicy
	for _, d := range []struct {
		to   *time.Duration
		from *Duration
	}{
		{&f.GracePeriod, p.Placement.GracePeriod},
		{&f.HardTaint, p.Placement.HardTaintDuration},
		{&f.SoftTaint, p.Placement.SoftTaintDuration},
	} {
		if d.from != nil {
			*d.to = time.Duration(*d.from)
		}
	}
	policy.FailoverOverMax = p.Placement.FailoverOverMax
	policy.Scaling = p.scaling()
	policy.Scaling.Bounds.Mode = scaling.Floor
	if p.Spec.ScalingStrategy.Strategy == "" {
		policy.Scaling.Strategy = strategy.PendingAware{}
	}
	return policy
}

// clusterName is a name for the cluster at i, its own if it has one.
func clusterName(clusters []Cluster, i int) string {
	if clusters[i].Name == "" {
		return fmt.Sprintf("cluster-%d", i+1)
	}
	return clusters[i].Name
}

// as is whose rules decide where there are so many clusters.
func (p *Policy) as(clusters int) string {
	switch {
	case p.As != "":
		return p.As
	case clusters > 1:
		return asPlacement
	}
	return asCore
}

// clone is the policy in memory of its own.
func (p Policy) clone() Policy {
	s := &p.Spec
	for _, n := range []**int32{
		&s.PollingInterval, &s.SuccessfulJobsHistoryLimit, &s.FailedJobsHistoryLimit, &s.MinReplicaCount, &s.MaxReplicaCount,
		&s.ScalingStrategy.CustomScalingQueueLengthDeduction, &p.Placement.Size,
	} {
		*n = copied(*n)
	}
	for _, d := range []**Duration{
		&p.StuckAfter, &p.Placement.GracePeriod, &p.Placement.HardTaintDuration, &p.Placement.SoftTaintDuration,
	} {
		*d = copied(*d)
	}
	s.ScalingStrategy.PendingPodConditions = slices.Clone(s.ScalingStrategy.PendingPodConditions)
	return p
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
