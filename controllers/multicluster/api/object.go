package api

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// A DistributedScaledObject shares the replicas of a workload among several clusters. Its status is an ObjectStatus.
type DistributedScaledObject struct {
	Meta `json:",inline"`
	Spec DistributedScaledObjectSpec `json:"spec"`
}

// DistributedScaledObjectSpec is the spec of a DistributedScaledObject.
type DistributedScaledObjectSpec struct {
	// Replicas is the number over all clusters. It belongs to KEDA and to the HorizontalPodAutoscaler that KEDA makes.
	Replicas          *int32            `json:"replicas,omitempty"`
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

// ScaledObjectSpec is the spec of a ScaledObject. KEDA reads it; what it says about a single cluster is read here.
type ScaledObjectSpec struct {
	ScaleTargetRef        ScaleTarget             `json:"scaleTargetRef"`
	PollingInterval       *int32                  `json:"pollingInterval,omitempty"`
	InitialCooldownPeriod *int32                  `json:"initialCooldownPeriod,omitempty"`
	CooldownPeriod        *int32                  `json:"cooldownPeriod,omitempty"`
	IdleReplicaCount      *int32                  `json:"idleReplicaCount,omitempty"`
	MinReplicaCount       *int32                  `json:"minReplicaCount,omitempty"`
	MaxReplicaCount       *int32                  `json:"maxReplicaCount,omitempty"` // 100 if unset
	Fallback              json.RawMessage         `json:"fallback,omitempty"`
	Advanced              AdvancedConfig          `json:"advanced,omitzero"`
	Triggers              []manifest.ScaleTrigger `json:"triggers,omitempty"`
}

// AdvancedConfig configures the HorizontalPodAutoscaler, and what happens at the end.
type AdvancedConfig struct {
	HorizontalPodAutoscalerConfig AutoscalerConfig `json:"horizontalPodAutoscalerConfig,omitzero"`
	RestoreToOriginalReplicaCount bool             `json:"restoreToOriginalReplicaCount,omitempty"`
	ScalingModifiers              ScalingModifiers `json:"scalingModifiers,omitzero"`
}

// AutoscalerConfig is the behavior of the HorizontalPodAutoscaler. A name is rejected.
type AutoscalerConfig struct {
	Behavior json.RawMessage `json:"behavior,omitempty"`
	Name     string          `json:"name,omitempty"`
}

// ScalingModifiers combine the triggers to a single metric.
type ScalingModifiers struct {
	Formula          string `json:"formula,omitempty"`
	Target           string `json:"target,omitempty"`
	ActivationTarget string `json:"activationTarget,omitempty"`
	MetricType       string `json:"metricType,omitempty"`
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
	Policy   replicas.Policy // divides Replicas
	Replicas *int32          // of all clusters; nil before the first number
	Paused   bool            // by an annotation
	Frozen   bool            // which leaves every member as it is
	Restore  bool            // write the original counts when the object is deleted
	Workload member.Workload
}

const objectField = "spec.scaledObjectSpec"

// Config reads the DistributedScaledObject. All problems are returned at once, joined, each a [*field.Error];
// the ObjectConfig is then of no use but for Paused and Frozen.
func (d *DistributedScaledObject) Config() (ObjectConfig, error) {
	spec := &d.Spec.ScaledObjectSpec
	c := ObjectConfig{Policy: d.policy(), Replicas: d.Spec.Replicas, Restore: spec.Advanced.RestoreToOriginalReplicaCount}
	var problems field.Errors
	problems.Check(len(d.Name) <= validation.LabelValueMaxLength, "metadata.name", d.Name, "at most 63 characters: KEDA labels the ScaledObject with its name")
	spec.check(&problems)
	c.Workload = spec.ScaleTargetRef.workload(d.Namespace, &problems)
	for i := range d.Spec.MemberClusters {
		if m := &d.Spec.MemberClusters[i]; m.TargetNamespace != "" {
			c.Workload.Namespaces[m.Name] = m.TargetNamespace
		}
	}
	var err error
	c.Frozen, err = frozen(d.Annotations)
	_, numbered := d.Annotations[annotationPausedReplicas]
	c.Paused = c.Frozen || numbered
	problems.Join("", err)
	for _, e := range field.All(c.Policy.Validate()) {
		problems.Add(field.Error{Path: manifestPaths.Replace(e.Path), Found: e.Found, Fix: e.Fix})
	}
	if n := c.Replicas; n != nil { // paused-replicas and kubectl scale may exceed maxReplicaCount
		c.Policy.Max = max(c.Policy.Max, *n)
	}
	return c, problems.Err()
}

func (d *DistributedScaledObject) policy() replicas.Policy {
	limit := int32(100)
	spec := &d.Spec.ScaledObjectSpec
	number(&limit, spec.MaxReplicaCount)
	p := replicas.NewPolicy(limit)
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
	return p
}

// manifestPaths maps fields of a policy to fields of a DistributedScaledObject.
var manifestPaths = strings.NewReplacer(
	"Members", "spec.memberClusters", ".Name", ".name", ".Weight", ".weight",
	"GracePeriod", rebalancing+"gracePeriod", "ProgressDeadline", rebalancing+"progressDeadline",
	"MaxSurge", rebalancing+"maxSurge", "Max", objectField+".maxReplicaCount",
)

const rebalancing = "spec.rebalancingPolicy."

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
