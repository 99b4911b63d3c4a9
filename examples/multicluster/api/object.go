package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/scaling"
)

// A DistributedScaledObject shares the replicas of a workload among several clusters.
// Its status is kept as it was read.
type DistributedScaledObject struct {
	Meta   `json:",inline"`
	Spec   DistributedScaledObjectSpec `json:"spec"`
	Status json.RawMessage             `json:"status,omitempty"`
}

// DistributedScaledObjectSpec is the spec of a DistributedScaledObject.
type DistributedScaledObjectSpec struct {
	MemberClusters    []Member          `json:"memberClusters,omitempty"`
	RebalancingPolicy RebalancingPolicy `json:"rebalancingPolicy,omitzero"`
	ScaledObjectSpec  ScaledObjectSpec  `json:"scaledObjectSpec"`
}

// RebalancingPolicy says when and how fast replicas move to other members.
type RebalancingPolicy struct {
	GracePeriod            *metav1.Duration `json:"gracePeriod,omitempty"`            // 1m if unset
	RecoveryDelay          *metav1.Duration `json:"recoveryDelay,omitempty"`          // 0s if unset
	MaxRebalancePercentage *int32           `json:"maxRebalancePercentage,omitempty"` // no limit if unset
}

// ScaledObjectSpec is the spec of a ScaledObject. What is kept as it was read has no
// effect.
type ScaledObjectSpec struct {
	ScaleTargetRef        ScaleTarget            `json:"scaleTargetRef"`
	PollingInterval       *int32                 `json:"pollingInterval,omitempty"` // in seconds; 30 if unset
	InitialCooldownPeriod json.RawMessage        `json:"initialCooldownPeriod,omitempty"`
	CooldownPeriod        json.RawMessage        `json:"cooldownPeriod,omitempty"`
	IdleReplicaCount      json.RawMessage        `json:"idleReplicaCount,omitempty"`
	MinReplicaCount       *int32                 `json:"minReplicaCount,omitempty"` // 0 if unset
	MaxReplicaCount       *int32                 `json:"maxReplicaCount,omitempty"` // 100 if unset
	Fallback              json.RawMessage        `json:"fallback,omitempty"`
	Advanced              json.RawMessage        `json:"advanced,omitempty"`
	Triggers              []adapter.ScaleTrigger `json:"triggers,omitempty"`
}

// A ScaleTarget names what is scaled: a Deployment if no kind is given.
type ScaleTarget struct {
	APIVersion             string `json:"apiVersion,omitempty"`
	Kind                   string `json:"kind,omitempty"`
	Name                   string `json:"name"`
	EnvSourceContainerName string `json:"envSourceContainerName,omitempty"`
}

// An ObjectConfig is what a DistributedScaledObject says, with its defaults filled in.
type ObjectConfig struct {
	Policy   placement.ObjectPolicy
	Object   member.Object
	Listed   []string           // the members in the list; nil where there is none
	Source   *adapter.ScaledJob // has the triggers, to be read
	Triggers []adapter.Trigger
	// Warnings are what is not wrong, but not what it seems either.
	Warnings []*placement.FieldError
}

const objectField = "spec.scaledObjectSpec"

// Config reads the DistributedScaledObject. All problems are returned at once, joined,
// each a [*placement.FieldError]; the ObjectConfig is then of no use but for
// Policy.Pause.
func (d *DistributedScaledObject) Config() (ObjectConfig, error) {
	spec := &d.Spec.ScaledObjectSpec
	c := ObjectConfig{
		Policy: d.policy(),
		Source: &adapter.ScaledJob{ObjectMeta: d.ObjectMeta, Spec: adapter.ScaledJobSpec{Triggers: spec.Triggers}},
	}
	triggers, err := c.Source.Triggers(nil)
	c.Triggers = triggers
	problems := append(within(objectField, err), spec.check()...)
	object, err := spec.ScaleTargetRef.object(d.Namespace)
	c.Object = object
	problems = append(problems, err)
	for i := range d.Spec.MemberClusters {
		m := &d.Spec.MemberClusters[i]
		c.Listed = append(c.Listed, m.Name)
		if m.TargetNamespace != "" {
			c.Object.Namespaces[m.Name] = m.TargetNamespace
		}
	}
	c.Policy.Pause, err = placement.ObjectPause(d.Annotations)
	problems = append(problems, err)
	warnings, err := c.Policy.Validate()
	c.Warnings = append(warnings, spec.warnings()...)
	return c, errors.Join(append(problems, err)...)
}

func (d *DistributedScaledObject) policy() placement.ObjectPolicy {
	p := placement.DefaultObjectPolicy()
	p.Seed, p.PollingInterval = d.Namespace+"/"+d.Name, 30*time.Second
	for i := range d.Spec.MemberClusters {
		p.Members = append(p.Members, d.Spec.MemberClusters[i].policy())
	}
	in := &d.Spec.RebalancingPolicy
	duration(&p.Rebalancing.GracePeriod, in.GracePeriod)
	duration(&p.Rebalancing.RecoveryDelay, in.RecoveryDelay)
	p.Rebalancing.MaxPercentage = in.MaxRebalancePercentage
	spec := &d.Spec.ScaledObjectSpec
	number(&p.Min, spec.MinReplicaCount)
	number(&p.Max, spec.MaxReplicaCount)
	if n := spec.PollingInterval; n != nil {
		p.PollingInterval = time.Duration(*n) * time.Second
	}
	return p
}

// object is the target as package member knows it.
func (t *ScaleTarget) object(namespace string) (member.Object, error) {
	o := member.Object{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: namespace, Name: t.Name, Namespaces: map[string]string{}}
	const path = objectField + ".scaleTargetRef."
	if t.Name == "" {
		return o, &placement.FieldError{Field: path + "name", Found: "nothing", Want: "the name of what is scaled"}
	}
	if t.Kind != "" {
		o.Kind.Kind = t.Kind
	}
	if t.APIVersion != "" {
		version, err := schema.ParseGroupVersion(t.APIVersion)
		if err != nil {
			return o, &placement.FieldError{Field: path + "apiVersion", Found: strconv.Quote(t.APIVersion), Want: "a group and a version, such as apps/v1"}
		}
		o.Kind = version.WithKind(o.Kind.Kind)
	}
	return o, nil
}

func (s *ScaledObjectSpec) check() (problems []error) {
	if n := s.PollingInterval; n != nil && *n < 1 {
		problems = append(problems, &placement.FieldError{Field: objectField + ".pollingInterval", Found: strconv.Itoa(int(*n)), Want: "1 or more (seconds)"})
	}
	for i, t := range s.Triggers {
		if t.MetricType != "" && t.MetricType != "AverageValue" {
			problems = append(problems, &placement.FieldError{
				Field: fmt.Sprintf("%s.triggers[%d].metricType", objectField, i), Found: strconv.Quote(t.MetricType), Want: "AverageValue, which it is if unset",
			})
		}
	}
	return problems
}

// warnings tells what has no effect here.
func (s *ScaledObjectSpec) warnings() (all []*placement.FieldError) {
	for _, f := range []struct {
		name  string
		value json.RawMessage
	}{
		{"advanced", s.Advanced}, {"cooldownPeriod", s.CooldownPeriod}, {"fallback", s.Fallback},
		{"idleReplicaCount", s.IdleReplicaCount}, {"initialCooldownPeriod", s.InitialCooldownPeriod},
	} {
		if len(f.value) > 0 {
			all = append(all, noEffect(objectField+"."+f.name, string(f.value)))
		}
	}
	all = append(all, cached(objectField, s.Triggers)...)
	if name := s.ScaleTargetRef.EnvSourceContainerName; name != "" {
		all = append(all, noEffect(objectField+".scaleTargetRef.envSourceContainerName", strconv.Quote(name)))
	}
	return all
}

// Replicas is what the metrics ask for, before the bounds: the most that one of them
// does, each its value by its target, rounded up. While none is active that is 0,
// unless there is a minimum. It is nil where none could be read, and where some could
// not and the others ask for fewer than the current ones.
func (c *ObjectConfig) Replicas(metrics []scaling.Metric, current int64) *int32 {
	var most int64
	all := scaling.Aggregate(scaling.Max, metrics, false)
	for _, m := range metrics {
		m.Activity = scaling.Active
		most = max(most, scaling.Aggregate(scaling.Max, []scaling.Metric{m}, false).Jobs)
	}
	switch {
	case all.Active == 0 && c.Policy.Min <= 0:
		most = 0
	case all.Active > 0:
		most = max(1, most)
	}
	if all.Read == 0 || all.Read < all.Metrics && most < current {
		return nil
	}
	return new(int32(min(most, math.MaxInt32)))
}
