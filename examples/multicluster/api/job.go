package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/scaling"
)

// A DistributedScaledJob creates Jobs in several clusters. Its status is kept as it
// was read.
type DistributedScaledJob struct {
	Meta   `json:",inline"`
	Spec   DistributedScaledJobSpec `json:"spec"`
	Status json.RawMessage          `json:"status,omitempty"`
}

// DistributedScaledJobSpec is the spec of a DistributedScaledJob.
type DistributedScaledJobSpec struct {
	MemberClusters    []JobMember       `json:"memberClusters,omitempty"`
	ClusterScheduling ClusterScheduling `json:"clusterScheduling,omitzero"`
	ScaledJobSpec     ScaledJobSpec     `json:"scaledJobSpec"`
}

// ScaledJobSpec is the spec of a ScaledJob.
type ScaledJobSpec struct {
	adapter.ScaledJobSpec `json:",inline"`
	FailoverOverMax       bool `json:"failoverOverMax,omitempty"`
}

// ClusterScheduling says which cluster a Job goes to.
type ClusterScheduling struct {
	Strategy         string            `json:"strategy,omitempty"`
	WorkloadAffinity *WorkloadAffinity `json:"workloadAffinity,omitempty"`
	FailoverPolicy   FailoverPolicy    `json:"failoverPolicy,omitzero"`
}

// WorkloadAffinity says what kind of Jobs these are.
type WorkloadAffinity struct {
	Class string `json:"class,omitempty"`
	Size  *int32 `json:"size,omitempty"`
}

// FailoverPolicy says when a cluster has failed, and what then.
type FailoverPolicy struct {
	GracePeriod       *metav1.Duration `json:"gracePeriod,omitempty"`       // 1m if unset
	HardTaintDuration *metav1.Duration `json:"hardTaintDuration,omitempty"` // 5m if unset
	SoftTaintDuration *metav1.Duration `json:"softTaintDuration,omitempty"` // 3m if unset
	DuplicationPolicy string           `json:"duplicationPolicy,omitempty"`
}

// A JobConfig is what a DistributedScaledJob says, with its defaults filled in.
type JobConfig struct {
	Policy      placement.JobPolicy
	ScaledJob   *adapter.ScaledJob // what the Jobs are made of
	Targets     map[string]member.Target
	Triggers    []adapter.Trigger
	Aggregation scaling.Aggregation
	Observation adapter.Observation // whose Jobs to look at; PodsKnown is the caller's
	// Warnings are what is not wrong, but not what it seems either.
	Warnings []*placement.FieldError
}

const jobField = "spec.scaledJobSpec"

// Config reads the DistributedScaledJob. All problems are returned at once, joined,
// each a [*placement.FieldError]; the JobConfig is then of no use but for
// Policy.Paused.
func (d *DistributedScaledJob) Config() (JobConfig, error) {
	spec := &d.Spec.ScaledJobSpec
	c := JobConfig{
		Policy:    d.policy(),
		ScaledJob: &adapter.ScaledJob{ObjectMeta: d.ObjectMeta, Spec: spec.ScaledJobSpec},
		Targets:   map[string]member.Target{},
		Observation: adapter.Observation{
			Owner: d.UID, PendingPodConditions: spec.ScalingStrategy.PendingPodConditions,
		},
	}
	standard, err := d.standard().Config(nil)
	problems := within(jobField, err)
	for _, w := range standard.Warnings {
		c.Warnings = append(c.Warnings, moved(jobField, w))
	}
	c.Warnings = append(c.Warnings, spec.warnings()...)
	c.Triggers, c.Aggregation = standard.Triggers, standard.Policy.Aggregation
	c.Policy.PollingInterval = standard.PollingInterval
	c.Policy.History, c.Policy.Rollout, c.Policy.Revision = standard.History, standard.Rollout, standard.Revision
	c.Policy.Rollout.TemplateOnly = true

	paused, warnings, err := placement.JobPause(d.Annotations)
	c.Policy.Paused = paused
	c.Warnings = append(c.Warnings, warnings...)
	problems = append(problems, err)

	warnings, err = c.Policy.Validate()
	c.Warnings = append(append(c.Warnings, warnings...), d.targets(c.Targets)...)
	return c, errors.Join(append(problems, err)...)
}

// warnings tells what has no effect here.
func (s *ScaledJobSpec) warnings() []*placement.FieldError {
	all := cached(jobField, s.Triggers)
	for i, t := range s.Triggers {
		if t.MetricType != "" && t.MetricType != "AverageValue" {
			all = append(all, noEffect(fmt.Sprintf("%s.triggers[%d].metricType", jobField, i), strconv.Quote(t.MetricType)))
		}
	}
	return all
}

// standard is the ScaledJob in d without what package placement reads: strategies and
// bounds mean something else there.
func (d *DistributedScaledJob) standard() *adapter.ScaledJob {
	s := &adapter.ScaledJob{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Generation: d.Generation}, Spec: d.Spec.ScaledJobSpec.ScaledJobSpec}
	s.Spec.MinReplicaCount, s.Spec.MaxReplicaCount = nil, nil
	s.Spec.ScalingStrategy = adapter.ScalingStrategy{MultipleScalersCalculation: s.Spec.ScalingStrategy.MultipleScalersCalculation}
	return s
}

func (d *DistributedScaledJob) policy() placement.JobPolicy {
	p := placement.DefaultJobPolicy()
	p.Seed = d.Namespace + "/" + d.Name
	for i := range d.Spec.MemberClusters {
		in := &d.Spec.MemberClusters[i]
		m := in.policy()
		m.Priority, m.MaxJobs = in.Scheduling.Priority, in.MaxJobs
		p.Members = append(p.Members, m)
	}
	in := &d.Spec.ClusterScheduling
	p.Scheduling = placement.Scheduling(in.Strategy)
	if a := in.WorkloadAffinity; a != nil {
		p.Affinity = &placement.WorkloadAffinity{Class: a.Class, Size: a.Size}
	}
	f := &in.FailoverPolicy
	p.Failover.Duplication = placement.Duplication(f.DuplicationPolicy)
	duration(&p.Failover.GracePeriod, f.GracePeriod)
	duration(&p.Failover.HardTaint, f.HardTaintDuration)
	duration(&p.Failover.SoftTaint, f.SoftTaintDuration)
	d.Spec.ScaledJobSpec.scaling(&p.Scaling)
	return p
}

func (s *ScaledJobSpec) scaling(p *placement.Scaling) {
	number(&p.Min, s.MinReplicaCount)
	number(&p.Max, s.MaxReplicaCount)
	number(&p.QueueLengthDeduction, s.ScalingStrategy.CustomScalingQueueLengthDeduction)
	p.Strategy = s.ScalingStrategy.Strategy
	p.RunningJobPercentage = s.ScalingStrategy.CustomScalingRunningJobPercentage
	p.FailoverOverMax = s.FailoverOverMax
}

// targets notes what is different about each member's Jobs, and returns what seems
// wrong with it.
func (d *DistributedScaledJob) targets(all map[string]member.Target) (warnings []*placement.FieldError) {
	job := d.Spec.ScaledJobSpec.JobTargetRef
	for i := range d.Spec.MemberClusters {
		m := &d.Spec.MemberClusters[i]
		all[m.Name] = member.Target{Namespace: m.TargetNamespace, Overrides: m.PodOverrides}
		if job == nil {
			continue
		}
		_, found := m.PodOverrides.Merge(&job.Template.Spec)
		for _, w := range found {
			warnings = append(warnings, &placement.FieldError{
				Field: fmt.Sprintf("spec.memberClusters[%d].podOverrides.%s", i, w.Field), Found: w.Found, Want: w.Want,
			})
		}
	}
	return warnings
}

// Demand is what the metrics ask for, and in how far they could be read.
func (c *JobConfig) Demand(metrics []scaling.Metric) (placement.Demand, scaling.Demand) {
	d := scaling.Aggregate(c.Aggregation, metrics, false)
	return placement.Demand{Jobs: d.Jobs, Active: d.Active > 0}, d
}
