package keda

import (
	"time"

	"github.com/scaledjob/scaledjob/strategy"
)

// A ScaledJob holds the fields of a ScaledJob that KEDA's rules read. Package
// adapter/scaledjob reads manifests, and returns this form of them. The zero value
// has no minimum, the default maximum, and the default of everything else.
type ScaledJob struct {
	Name          string            `json:"name"`
	Namespace     string            `json:"namespace"`
	Generation    int64             `json:"generation"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	PodLabels     map[string]string `json:"podLabels"`     // of the Jobs' pod template
	RestartPolicy string            `json:"restartPolicy"` // of the Jobs' pod template
	Spec          Spec              `json:"spec"`
}

// Spec holds fields of the spec of a ScaledJob, with the names that they have in a
// manifest. A nil pointer is a field that is not set.
type Spec struct {
	PollingInterval            *int32          `json:"pollingInterval"` // in seconds
	SuccessfulJobsHistoryLimit *int32          `json:"successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32          `json:"failedJobsHistoryLimit"`
	RolloutStrategy            string          `json:"rolloutStrategy"` // deprecated, and wins over Rollout.Strategy
	Rollout                    RolloutSpec     `json:"rollout"`
	MinReplicaCount            *int32          `json:"minReplicaCount"`
	MaxReplicaCount            *int32          `json:"maxReplicaCount"`
	ScalingStrategy            ScalingStrategy `json:"scalingStrategy"`
}

// RolloutSpec is the part of a Spec about outdated Jobs.
type RolloutSpec struct {
	Strategy          string `json:"strategy"`
	PropagationPolicy string `json:"propagationPolicy"`
}

// ScalingStrategy is the part of a Spec with the strategy and its parameters.
type ScalingStrategy struct {
	Strategy string `json:"strategy"`
	strategy.Parameters
	PendingPodConditions       []string `json:"pendingPodConditions"`
	MultipleScalersCalculation string   `json:"multipleScalersCalculation"`
}

// A Job holds the fields of a Job that KEDA reads. KEDA ignores deletion timestamps,
// spec.suspend and owners. The zero value is unfinished and has no pods.
type Job struct {
	Name           string            `json:"name"`
	Annotations    map[string]string `json:"annotations"`
	CompletionTime *time.Time        `json:"completionTime"` // only successes have it
	Conditions     []Condition       `json:"conditions"`
	Pods           []Pod             `json:"pods"` // nil if they could not be listed
}

// A Pod holds the fields of a pod that KEDA reads.
type Pod struct {
	Phase      string      `json:"phase"`
	Conditions []Condition `json:"conditions"`
}

// A Condition of a Job or a pod.
type Condition struct {
	Type   string `json:"type"`
	Status string `json:"status"` // "True", "False" or "Unknown"
}

// holds reports whether the condition is true.
func (c *Condition) holds() bool { return c.Status == "True" }

// outcome returns the type of the Job's first true condition among "Complete" and
// "Failed", or "" if the Job has not finished.
func (j *Job) outcome() string {
	for i := range j.Conditions {
		if c := &j.Conditions[i]; (c.Type == "Complete" || c.Type == "Failed") && c.holds() {
			return c.Type
		}
	}
	return ""
}
