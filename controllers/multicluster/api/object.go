package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
	"github.com/scaledjob/scaledjob/placement/replicas"
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

// RebalancingPolicy configures when and how fast replicas move to other members.
type RebalancingPolicy struct {
	GracePeriod      *metav1.Duration `json:"gracePeriod,omitempty"`      // 1m if unset
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"` // 5m if unset; none if 0s
	MaxSurge         *int32           `json:"maxSurge,omitempty"`         // a quarter of maxReplicaCount if unset
}

// ScaledObjectSpec is the spec of a ScaledObject.
type ScaledObjectSpec struct {
	ScaleTargetRef        ScaleTarget             `json:"scaleTargetRef"`
	PollingInterval       *int32                  `json:"pollingInterval,omitempty"`       // in seconds; 30 if unset
	InitialCooldownPeriod *int32                  `json:"initialCooldownPeriod,omitempty"` // in seconds; 0 if unset
	CooldownPeriod        *int32                  `json:"cooldownPeriod,omitempty"`        // in seconds; 300 if unset
	IdleReplicaCount      *int32                  `json:"idleReplicaCount,omitempty"`
	MinReplicaCount       *int32                  `json:"minReplicaCount,omitempty"` // 0 if unset
	MaxReplicaCount       *int32                  `json:"maxReplicaCount,omitempty"` // 100 if unset
	Fallback              *Fallback               `json:"fallback,omitempty"`
	Advanced              AdvancedConfig          `json:"advanced,omitzero"`
	Triggers              []manifest.ScaleTrigger `json:"triggers,omitempty"`
}

// A ScaleTarget names the workload: a Deployment if no kind is given.
type ScaleTarget struct {
	APIVersion             string `json:"apiVersion,omitempty"`
	Kind                   string `json:"kind,omitempty"`
	Name                   string `json:"name"`
	EnvSourceContainerName string `json:"envSourceContainerName,omitempty"`
}

// An ObjectConfig is a DistributedScaledObject with its defaults filled in.
type ObjectConfig struct {
	Policy          replicas.Policy     // shares the number; its Min is 0
	Scaling         scaledobject.Policy // decides the number, without the formula's function
	Formula         string
	Restore         bool   // write the original counts when the object is deleted
	Container       string // of the hub's workload, whose environment triggers refer to; "" for none
	Workload        member.Workload
	PollingInterval time.Duration
	Paused          bool
	Source          *manifest.ScaledJob // has the triggers, to be read
	Triggers        []manifest.Trigger
	Warnings        []*field.Error // valid fields that may surprise
}

const objectField = "spec.scaledObjectSpec"

// Config reads the DistributedScaledObject. All problems are returned at once, joined,
// each a [*field.Error]; the ObjectConfig is then of no use but for Paused.
func (d *DistributedScaledObject) Config() (ObjectConfig, error) {
	spec := &d.Spec.ScaledObjectSpec
	c := ObjectConfig{
		Policy: d.policy(), PollingInterval: 30 * time.Second,
		Source: &manifest.ScaledJob{ObjectMeta: d.ObjectMeta, Spec: manifest.Spec{Triggers: spec.Triggers}},
	}
	if n := spec.PollingInterval; n != nil {
		c.PollingInterval = time.Duration(*n) * time.Second
	}
	var problems field.Errors
	triggers, err := c.Source.Triggers(spec.given())
	c.Triggers = triggers
	for _, err := range within(objectField, err) {
		problems.Join("", err)
	}
	spec.check(&problems)
	c.Scaling = d.scaling(&problems)
	c.Formula, c.Restore, c.Container = spec.Advanced.ScalingModifiers.Formula, spec.Advanced.RestoreToOriginalReplicaCount, spec.ScaleTargetRef.EnvSourceContainerName
	c.Workload = spec.ScaleTargetRef.workload(d.Namespace, &problems)
	for i := range d.Spec.MemberClusters {
		if m := &d.Spec.MemberClusters[i]; m.TargetNamespace != "" {
			c.Workload.Namespaces[m.Name] = m.TargetNamespace
		}
	}
	_, err = paused(d.Annotations)
	problems.Join("", err)
	for _, e := range field.All(c.Policy.Validate()) {
		problems.Add(field.Error{Path: manifestPaths.Replace(e.Path), Found: e.Found, Fix: e.Fix})
	}
	c.Paused = c.Scaling.Paused || c.Scaling.PausedReplicas != nil
	if n := c.Scaling.PausedReplicas; n != nil {
		c.Policy.Max = max(c.Policy.Max, *n)
	}
	c.Policy.Min = 0 // an idle count is below it
	c.Warnings = c.warnings()
	return c, problems.Err()
}

func (d *DistributedScaledObject) policy() replicas.Policy {
	most := int32(100)
	spec := &d.Spec.ScaledObjectSpec
	number(&most, spec.MaxReplicaCount)
	p := replicas.NewPolicy(most)
	p.Seed = d.Namespace + "/" + d.Name
	for i := range d.Spec.MemberClusters {
		m := replicas.NewMember(d.Spec.MemberClusters[i].Name)
		number(&m.Weight, d.Spec.MemberClusters[i].Weight)
		p.Members = append(p.Members, m)
	}
	in := &d.Spec.RebalancingPolicy
	duration(&p.GracePeriod, in.GracePeriod)
	duration(&p.ProgressDeadline, in.ProgressDeadline)
	number(&p.MaxSurge, in.MaxSurge)
	number(&p.Min, spec.MinReplicaCount)
	return p
}

// manifestPaths maps fields of a policy to fields of a DistributedScaledObject.
var manifestPaths = strings.NewReplacer(
	"Members", "spec.memberClusters", ".Name", ".name", ".Weight", ".weight",
	"GracePeriod", rebalancing+"gracePeriod", "ProgressDeadline", rebalancing+"progressDeadline",
	"MaxSurge", rebalancing+"maxSurge", "Min", objectField+".minReplicaCount", "Max", objectField+".maxReplicaCount",
)

const rebalancing = "spec.rebalancingPolicy."

// Held returns the number to share, or nil if a pause leaves every member as it is.
func (c *ObjectConfig) Held(number *int32) *int32 {
	if c.Scaling.Paused && c.Scaling.PausedReplicas == nil {
		return nil
	}
	return number
}

// warnings returns the durations that are shorter than they seem.
func (c *ObjectConfig) warnings() (all []*field.Error) {
	if d := c.Policy.GracePeriod; d >= 0 && d < c.PollingInterval {
		all = append(all, &field.Error{
			Path: rebalancing + "gracePeriod", Found: d.String(), Fix: fmt.Sprintf("the polling interval of %v or more", c.PollingInterval),
		})
	}
	return all
}

// workload returns the target as package member knows it.
func (t *ScaleTarget) workload(namespace string, problems *field.Errors) member.Workload {
	w := member.Workload{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: namespace, Name: t.Name, Namespaces: map[string]string{}}
	const path = objectField + ".scaleTargetRef."
	problems.Check(t.Name != "", path+"name", t.Name, "the name of the workload to scale")
	if t.Kind != "" {
		w.Kind.Kind = t.Kind
	}
	if t.APIVersion != "" {
		version, err := schema.ParseGroupVersion(t.APIVersion)
		problems.Check(err == nil, path+"apiVersion", t.APIVersion, "a group and a version, such as apps/v1")
		w.Kind = version.WithKind(w.Kind.Kind)
	}
	return w
}
