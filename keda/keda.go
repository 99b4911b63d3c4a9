// Package keda computes the decisions of each release of KEDA about a ScaledJob: the
// number of Jobs to create in a poll, the finished and the outdated Jobs to delete, and
// the metadata of a new Job. It includes KEDA's faults. Package scaling computes the
// documented decisions.
//
//	release, err := keda.Release("2.18")
//	decision := release.Decide(&scaledJob, keda.State{Scalers: scalers, Running: 3, Pending: 1})
//
// [Release] reads "2.18", the last patch of that minor, or "2.18.1". [Releases] lists
// the known releases, from 2.0.0 on. A [Profile] has a [Rule] for each behavior in
// which releases differ:
//
//	aggregation  2.0  2.5   2.8     2.13         how several scalers become a demand
//	cap          2.0  2.8   2.12                 how a quotient is held to the maximum
//	replicas     2.0  2.8   2.11                 what the minimum and the maximum mean
//	accurate     2.0  2.1   2.19                 the strategy accurate
//	eager        2.0  2.15                       the strategy eager
//	custom       2.0  2.20.2                     the strategy custom
//	creation     2.0  2.13  2.14.1               how a number of Jobs is created
//	pending      2.0  2.1   2.4     2.18         which Jobs are pending
//	history      2.0                             which finished Jobs are deleted
//	rollout      2.0  2.4   2.5     2.8  2.14.1  which outdated Jobs are deleted
//	pause        2.0  2.11  2.13                 what pauses a ScaledJob
//	labels       2.0  2.1   2.4     2.18         the labels of a Job
//	annotations  2.0  2.13  2.14.1               the annotations of a Job
//	admission    2.0  2.20  2.20.2               what the API server rejects
//
// [Rules] returns the sentence of each. [Changes] lists the differences of two releases.
// [Profile.With] replaces a rule, to find the rule that a decision depends on.
//
// No field value panics here; a *ScaledJob must not be nil. If KEDA panics, or if a number of KEDA's wraps around, the result
// has a [Fault]. If a manifest uses a feature that a release lacks, Decide ignores the
// feature, as KEDA does. [Profile.Validate] reports such features, with the first
// release that has them, and the fields that the API server rejects.
//
// Numbers are as on amd64, on every machine: a float64 that no int64 can hold
// becomes the smallest int64. Queue lengths and targets are what float64 makes of
// the quantities that scalers report.
//
// # Tests
//
// The tests of cmd/scaledjob/oracle run testdata/keda.json at each release that a case names. The
// module conformance compares the model with KEDA's own code, release by release; its README
// has the table. For 2.0 to 2.3 the model follows the source, which was not compiled.
package keda

import "time"

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
	Strategy                          string   `json:"strategy"`
	CustomScalingQueueLengthDeduction *int32   `json:"customScalingQueueLengthDeduction"`
	CustomScalingRunningJobPercentage string   `json:"customScalingRunningJobPercentage"`
	PendingPodConditions              []string `json:"pendingPodConditions"`
	MultipleScalersCalculation        string   `json:"multipleScalersCalculation"`
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
