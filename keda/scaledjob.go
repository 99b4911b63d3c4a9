package keda

// A ScaledJob is what of a manifest KEDA's arithmetic reads. Its JSON is that of
// the manifest, so that one can be unmarshaled into it. The zero value has no
// minimum, the default maximum, and the default of everything else.
type ScaledJob struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
}

// Metadata is that of a ScaledJob.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Generation  int64             `json:"generation"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Spec is that of a ScaledJob. A nil pointer is a field that is not set.
type Spec struct {
	JobTargetRef               JobTargetRef    `json:"jobTargetRef"`
	PollingInterval            *int32          `json:"pollingInterval"` // in seconds
	SuccessfulJobsHistoryLimit *int32          `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32          `json:"failedJobsHistoryLimit"`
	RolloutStrategy            string          `json:"rolloutStrategy"` // deprecated, and wins over Rollout.Strategy
	Rollout                    RolloutSpec     `json:"rollout"`
	MinReplicaCount            *int32          `json:"minReplicaCount"`
	MaxReplicaCount            *int32          `json:"maxReplicaCount"`
	ScalingStrategy            ScalingStrategy `json:"scalingStrategy"`
}

// RolloutSpec is what a manifest says about rollout.
type RolloutSpec struct {
	Strategy          string `json:"strategy"`
	PropagationPolicy string `json:"propagationPolicy"`
}

// ScalingStrategy is what a manifest says about the strategy.
type ScalingStrategy struct {
	Strategy                          string   `json:"strategy"`
	CustomScalingQueueLengthDeduction *int32   `json:"customScalingQueueLengthDeduction"`
	CustomScalingRunningJobPercentage string   `json:"customScalingRunningJobPercentage"`
	PendingPodConditions              []string `json:"pendingPodConditions"`
	MultipleScalersCalculation        string   `json:"multipleScalersCalculation"`
}

// JobTargetRef is what of the Jobs' spec KEDA changes.
type JobTargetRef struct {
	Template Template `json:"template"`
}

// Template is that of the Jobs' pods.
type Template struct {
	Metadata TemplateMetadata `json:"metadata"`
	Spec     TemplateSpec     `json:"spec"`
}

// TemplateMetadata is that of the Jobs' pods.
type TemplateMetadata struct {
	Labels map[string]string `json:"labels"`
}

// TemplateSpec is that of the Jobs' pods.
type TemplateSpec struct {
	RestartPolicy string `json:"restartPolicy"`
}
