package adapter

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersionKind is that of KEDA's ScaledJob.
var GroupVersionKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledJob"}

// Labels and annotations with a meaning.
const (
	// LabelName is the label of generated Jobs that names their ScaledJob, cut to
	// what a label may hold.
	LabelName = reserved + "name"
	// AnnotationGeneration is the generation of the ScaledJob that a Job was made from.
	AnnotationGeneration = reserved + "generation"
	// AnnotationTemplateHash is the hash of the jobTargetRef that a Job was made from.
	AnnotationTemplateHash = reserved + "template-hash"
	// AnnotationSequence is the number of a Job among those of its ScaledJob, from 1.
	AnnotationSequence = reserved + "sequence"
	// LabelOwner is the label of Jobs on another cluster than their owner's that
	// has its UID: see [Order].
	LabelOwner = reserved + "owner-uid"
	// LabelOwnerNamespace has the namespace of that owner.
	LabelOwnerNamespace = reserved + "owner-namespace"
	// LabelHome names the cluster of that owner.
	LabelHome = reserved + "home"
	// LabelSource is the label of a Job that replaces another with the UID of that.
	LabelSource = reserved + "source-uid"
	// LabelAttempt says which replacement of that Job it is, from 1.
	LabelAttempt = reserved + "attempt"
	// AnnotationExcludedLabels names labels of the ScaledJob that its Jobs do not get.
	AnnotationExcludedLabels = reserved + "job-excluded-labels"
	// AnnotationPaused pauses a ScaledJob.
	AnnotationPaused = "autoscaling.keda.sh/paused"

	reserved = "scaledjob.keda.sh/"
)

// A ScaledJob is KEDA's resource keda.sh/v1alpha1, with every documented field.
// Its status is kept as it was read.
type ScaledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ScaledJobSpec   `json:"spec,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// ScaledJobSpec is the spec of a ScaledJob. [ScaledJob.Config] reads it.
type ScaledJobSpec struct {
	JobTargetRef               *batchv1.JobSpec `json:"jobTargetRef,omitempty"`
	PollingInterval            *int32           `json:"pollingInterval,omitempty"`
	SuccessfulJobsHistoryLimit *int32           `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32           `json:"failedJobsHistoryLimit,omitempty"`
	EnvSourceContainerName     string           `json:"envSourceContainerName,omitempty"`
	MinReplicaCount            *int32           `json:"minReplicaCount,omitempty"`
	MaxReplicaCount            *int32           `json:"maxReplicaCount,omitempty"`
	RolloutStrategy            string           `json:"rolloutStrategy,omitempty"` // Deprecated by KEDA: Rollout.Strategy.
	Rollout                    Rollout          `json:"rollout,omitempty"`
	ScalingStrategy            ScalingStrategy  `json:"scalingStrategy,omitempty"`
	Triggers                   []ScaleTrigger   `json:"triggers,omitempty"`
}

// Rollout says what happens to Jobs of an older spec.
type Rollout struct {
	Strategy          string `json:"strategy,omitempty"`
	PropagationPolicy string `json:"propagationPolicy,omitempty"`
}

// ScalingStrategy names a strategy and its parameters.
type ScalingStrategy struct {
	Strategy                          string   `json:"strategy,omitempty"`
	CustomScalingQueueLengthDeduction *int32   `json:"customScalingQueueLengthDeduction,omitempty"`
	CustomScalingRunningJobPercentage string   `json:"customScalingRunningJobPercentage,omitempty"`
	PendingPodConditions              []string `json:"pendingPodConditions,omitempty"`
	MultipleScalersCalculation        string   `json:"multipleScalersCalculation,omitempty"`
}

// ScaleTrigger is a source of work.
type ScaleTrigger struct {
	Type              string             `json:"type"`
	Name              string             `json:"name,omitempty"`
	UseCachedMetrics  bool               `json:"useCachedMetrics,omitempty"`
	Metadata          map[string]string  `json:"metadata,omitempty"`
	AuthenticationRef *AuthenticationRef `json:"authenticationRef,omitempty"`
	MetricType        string             `json:"metricType,omitempty"`
}

// AuthenticationRef names a TriggerAuthentication.
type AuthenticationRef struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// DeepCopyObject returns a copy that shares no memory with s.
func (s *ScaledJob) DeepCopyObject() runtime.Object {
	// Whatever could be read can be written; what is nil or empty reads back so.
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
