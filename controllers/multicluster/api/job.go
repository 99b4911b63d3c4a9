package api

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A DistributedScaledJob creates Jobs in several clusters. Its status is a JobStatus.
type DistributedScaledJob struct {
	Meta `json:",inline"`
	Spec DistributedScaledJobSpec `json:"spec"`
	// TemplateHash is adapter.TemplateHash of spec.scaledJobSpec.jobTargetRef as the API server serves it.
	TemplateHash string `json:"-"`
}

// DistributedScaledJobSpec is the spec of a DistributedScaledJob.
type DistributedScaledJobSpec struct {
	MemberClusters    []JobMember       `json:"memberClusters,omitempty"`
	ClusterScheduling ClusterScheduling `json:"clusterScheduling,omitzero"`
	ScaledJobSpec     ScaledJobSpec     `json:"scaledJobSpec"`
}

// ScaledJobSpec is the spec of a ScaledJob.
type ScaledJobSpec struct {
	manifest.Spec   `json:",inline"`
	FailoverOverMax bool `json:"failoverOverMax,omitempty"`
}

// ClusterScheduling is the rule that chooses the cluster of a Job.
type ClusterScheduling struct {
	Strategy         string            `json:"strategy,omitempty"`
	WorkloadAffinity *WorkloadAffinity `json:"workloadAffinity,omitempty"`
	FailoverPolicy   FailoverPolicy    `json:"failoverPolicy,omitzero"`
}

// WorkloadAffinity is the class and size of the Jobs.
type WorkloadAffinity struct {
	Class string `json:"class,omitempty"`
	Size  *int32 `json:"size,omitempty"`
}

// FailoverPolicy configures when a cluster has failed, and for how long it is excluded.
type FailoverPolicy struct {
	GracePeriod       *metav1.Duration `json:"gracePeriod,omitempty"`       // 1m if unset
	HardTaintDuration *metav1.Duration `json:"hardTaintDuration,omitempty"` // 5m if unset
	SoftTaintDuration *metav1.Duration `json:"softTaintDuration,omitempty"` // 3m if unset
	LostAfter         *metav1.Duration `json:"lostAfter,omitempty"`         // never if unset
	DuplicationPolicy string           `json:"duplicationPolicy,omitempty"`
}

// A JobConfig holds the contents of a DistributedScaledJob, with defaults.
type JobConfig struct {
	Policy          jobs.Policy
	PollingInterval time.Duration
	Target          adapter.Target             // the Jobs' template and owner
	Overrides       map[string]member.Override // by member
	Source          *manifest.ScaledJob        // has the triggers, to be read
	Warnings        []*field.Error             // valid fields that may surprise
}

const jobField = "spec.scaledJobSpec"

// Config reads the DistributedScaledJob. All problems are returned at once, joined,
// each a [*field.Error]; of the JobConfig only Policy.Scaling.Paused is then valid.
func (d *DistributedScaledJob) Config() (JobConfig, error) {
	spec := &d.Spec.ScaledJobSpec
	c := JobConfig{
		Policy:    d.policy(),
		Source:    &manifest.ScaledJob{ObjectMeta: d.ObjectMeta, Spec: spec.Spec},
		Overrides: map[string]member.Override{},
	}
	standard, err := scaledjob.Configure(d.standard(), nil)
	problems := within(jobField, err)
	for _, w := range standard.Warnings {
		c.Warnings = append(c.Warnings, moved(jobField, w))
	}
	c.Warnings = append(c.Warnings, spec.warnings()...)
	c.PollingInterval = standard.PollingInterval
	c.Policy.Scaling.Aggregation = standard.Target.Policy.Aggregation
	c.Target = d.target(standard.Target)
	c.Policy.History, c.Policy.Rollout, c.Policy.Revision = c.Target.History, c.Target.Rollout, c.Target.Revision

	var e field.Errors
	c.Policy.Scaling.Paused = d.paused(&c, &e)
	c.Policy.Scaling.Strategy = d.strategy(&c, &e)
	d.check(&c, &e)
	for _, w := range field.All(c.Policy.Warnings()) {
		c.Warnings = append(c.Warnings, inManifest(w))
	}
	for _, problem := range field.All(c.Policy.Validate()) {
		e.Add(*inManifest(problem))
	}
	c.Warnings = append(c.Warnings, d.overrides(c.Overrides)...)
	return c, errors.Join(append(problems, e.Err())...)
}

// warnings returns the fields without effect.
func (s *ScaledJobSpec) warnings() (warnings []*field.Error) {
	for i, t := range s.Triggers {
		if t.UseCachedMetrics {
			warnings = append(warnings, noEffect(fmt.Sprintf("%s.triggers[%d].useCachedMetrics", jobField, i), "true"))
		}
		if t.MetricType != "" && t.MetricType != "AverageValue" {
			warnings = append(warnings, noEffect(fmt.Sprintf("%s.triggers[%d].metricType", jobField, i), strconv.Quote(t.MetricType)))
		}
	}
	return warnings
}

// standard is the ScaledJob in d without the fields that package jobs reads: strategies and
// bounds mean something else there.
func (d *DistributedScaledJob) standard() *manifest.ScaledJob {
	s := &manifest.ScaledJob{ObjectMeta: *d.ObjectMeta.DeepCopy(), Spec: d.Spec.ScaledJobSpec.Spec}
	delete(s.Annotations, manifest.AnnotationPaused)
	s.Spec.MinReplicaCount, s.Spec.MaxReplicaCount = nil, nil
	s.Spec.ScalingStrategy = manifest.ScalingStrategy{
		MultipleScalersCalculation: s.Spec.ScalingStrategy.MultipleScalersCalculation,
		PendingPodConditions:       s.Spec.ScalingStrategy.PendingPodConditions,
	}
	return s
}

// target turns the target of the ScaledJob in d into the target of d. KEDA on a member must
// not count the Jobs. The hash is that of the template without overrides.
func (d *DistributedScaledJob) target(t adapter.Target) adapter.Target {
	t.Owner = adapter.OwnerOf(&d.ObjectMeta, GroupVersion.WithKind("DistributedScaledJob"))
	if t.Job != nil {
		delete(t.Job.Labels, manifest.LabelName)
		delete(t.Job.Annotations, manifest.AnnotationGeneration)
		t.Revision.TemplateHash = d.TemplateHash
	}
	return t
}

func (d *DistributedScaledJob) policy() jobs.Policy {
	p := jobs.DefaultPolicy()
	p.Seed = d.Namespace + "/" + d.Name
	for i := range d.Spec.MemberClusters {
		in := &d.Spec.MemberClusters[i]
		m := jobs.NewMember(in.Name)
		number(&m.Weight, in.Weight)
		m.Priority, m.MaxJobs = in.Scheduling.Priority, in.MaxJobs
		p.Members = append(p.Members, m)
	}
	in := &d.Spec.ClusterScheduling
	p.Scheduling = jobs.Scheduling(in.Strategy)
	if a := in.WorkloadAffinity; a != nil {
		p.Workload.Class = a.Class
		number(&p.Workload.Size, a.Size)
	}
	f := &in.FailoverPolicy
	p.Failover.Duplication = jobs.Duplication(f.DuplicationPolicy)
	duration(&p.Failover.GracePeriod, f.GracePeriod)
	duration(&p.Failover.HardTaint, f.HardTaintDuration)
	duration(&p.Failover.SoftTaint, f.SoftTaintDuration)
	duration(&p.Failover.LostAfter, f.LostAfter)
	spec := &d.Spec.ScaledJobSpec
	p.FailoverOverMax = spec.FailoverOverMax
	number(&p.Scaling.Bounds.Min, spec.MinReplicaCount)
	number(&p.Scaling.Bounds.Max, spec.MaxReplicaCount)
	return p
}

// overrides notes the differences of each member's Jobs, and returns warnings about
// them.
func (d *DistributedScaledJob) overrides(overrides map[string]member.Override) (warnings []*field.Error) {
	job := d.Spec.ScaledJobSpec.JobTargetRef
	for i := range d.Spec.MemberClusters {
		m := &d.Spec.MemberClusters[i]
		overrides[m.Name] = member.Override{Namespace: m.TargetNamespace, Pod: m.PodOverrides}
		if job == nil {
			continue
		}
		_, found := m.PodOverrides.Merge(&job.Template.Spec)
		for _, w := range found {
			warnings = append(warnings, &field.Error{
				Path: fmt.Sprintf("spec.memberClusters[%d].podOverrides.%s", i, w.Path), Found: w.Found, Fix: w.Fix,
			})
		}
	}
	return warnings
}
