package manifest

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/strategy"
)

// GroupVersionKind identifies KEDA's ScaledJob.
var GroupVersionKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledJob"}

// A ScaledJob is KEDA's resource keda.sh/v1alpha1, with every documented field.
// Its status is kept as it was read.
type ScaledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec            `json:"spec,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// Spec is the spec of a ScaledJob. [ScaledJob.Config] checks it and fills in the
// defaults of unset fields.
type Spec struct {
	JobTargetRef               *batchv1.JobSpec `json:"jobTargetRef,omitempty"`
	PollingInterval            *int32           `json:"pollingInterval,omitempty"` // seconds
	SuccessfulJobsHistoryLimit *int32           `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32           `json:"failedJobsHistoryLimit,omitempty"`
	EnvSourceContainerName     string           `json:"envSourceContainerName,omitempty"`
	MinReplicaCount            *int32           `json:"minReplicaCount,omitempty"`
	MaxReplicaCount            *int32           `json:"maxReplicaCount,omitempty"`
	RolloutStrategy            string           `json:"rolloutStrategy,omitempty"` // KEDA has deprecated it for Rollout.Strategy
	Rollout                    Rollout          `json:"rollout,omitempty"`
	ScalingStrategy            ScalingStrategy  `json:"scalingStrategy,omitempty"`
	Triggers                   []ScaleTrigger   `json:"triggers,omitempty"`
}

// Rollout is the part of a Spec about outdated Jobs.
type Rollout struct {
	Strategy          string `json:"strategy,omitempty"`
	PropagationPolicy string `json:"propagationPolicy,omitempty"`
}

// ScalingStrategy is the part of a Spec with the strategy and its parameters.
type ScalingStrategy struct {
	Strategy                   string `json:"strategy,omitempty"`
	strategy.Parameters        `json:",inline"`
	PendingPodConditions       []string `json:"pendingPodConditions,omitempty"`
	MultipleScalersCalculation string   `json:"multipleScalersCalculation,omitempty"`
}

// ScaleTrigger is the part of a Spec with a source of work. [Trigger] holds its numbers.
type ScaleTrigger struct {
	Type              string             `json:"type"`
	Name              string             `json:"name,omitempty"`
	UseCachedMetrics  bool               `json:"useCachedMetrics,omitempty"`
	Metadata          map[string]string  `json:"metadata,omitempty"`
	AuthenticationRef *AuthenticationRef `json:"authenticationRef,omitempty"`
	MetricType        string             `json:"metricType,omitempty"`
}

// AuthenticationRef is a reference to a TriggerAuthentication.
type AuthenticationRef struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// DeepCopyObject returns a copy that shares no memory with s.
func (s *ScaledJob) DeepCopyObject() runtime.Object {
	// Every ScaledJob can be written as JSON; nil and empty fields read back as nil.
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := new(ScaledJob)
	if err := json.Unmarshal(data, c); err != nil {
		panic(err)
	}
	return c
}
