package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of a ScaledJob.
const (
	ConditionReady          = "Ready"          // it does what its spec says
	ConditionQueueConnected = "QueueConnected" // the queue can be read
)

// Reasons of conditions and events.
const (
	ReasonReconciled       = "Reconciled"       // of Ready, where it is True
	ReasonConnected        = "Connected"        // of QueueConnected, where it is True
	ReasonRedisUnreachable = "RedisUnreachable" // of both, where the queue cannot be read; and an event's
	ReasonCreateFailed     = "JobCreateFailed"  // of Ready, where not every missing Job could be created
	ReasonQueueConnected   = "QueueConnected"   // an event's, when the queue can be read again
	ReasonCreatedJobs      = "CreatedJobs"      // an event's
)

// A ScaledJob has Jobs created while items wait in a Redis list.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=`.spec.queueName`
// +kubebuilder:printcolumn:name="Depth",type=integer,JSONPath=`.status.queueDepth`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeJobs`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desiredJobs`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Last scale",type=date,JSONPath=`.status.lastScaleTime`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ScaledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ScaledJobSpec `json:"spec"`
	// +optional
	Status ScaledJobStatus `json:"status,omitzero"`
}

// ScaledJobSpec is what a user asks for.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not be above maxReplicas"
type ScaledJobSpec struct {
	// QueueName is the key of a Redis list. One that does not exist is empty.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	QueueName string `json:"queueName"`

	// RedisAddress is host:port.
	//
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^([^\s:/@\[\]]+|\[[0-9A-Fa-f:.%]+\]):[1-9][0-9]{0,4}$`
	RedisAddress string `json:"redisAddress"`

	// Threshold is how many items one Job serves.
	//
	// +kubebuilder:validation:Minimum=1
	Threshold int64 `json:"threshold"`

	// MinReplicas are the Jobs kept while the queue is empty, and a floor while it is not.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	MinReplicas int32 `json:"minReplicas"`

	// MaxReplicas are the Jobs never exceeded; with 0 none is created.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=100
	MaxReplicas int32 `json:"maxReplicas"`

	// JobTemplate is what the Jobs are made from: labels, annotations and spec.
	//
	// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.template.spec) && has(self.spec.template.spec.restartPolicy) && self.spec.template.spec.restartPolicy in ['Never', 'OnFailure']",message="spec.template.spec.restartPolicy must be Never or OnFailure"
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// ScaledJobStatus is what the operator saw and did last.
type ScaledJobStatus struct {
	// QueueDepth is how many items waited when the queue was last read; nothing
	// until it has been.
	//
	// +optional
	QueueDepth *int64 `json:"queueDepth,omitempty"`

	// ActiveJobs are the Jobs that have not finished and are not on their way out,
	// those just created included.
	//
	// +optional
	ActiveJobs int32 `json:"activeJobs"`

	// DesiredJobs is how many there should be for QueueDepth.
	//
	// +optional
	DesiredJobs *int32 `json:"desiredJobs,omitempty"`

	// LastScaleTime is when Jobs were last created.
	//
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ScaledJobList is a list of ScaledJobs.
//
// +kubebuilder:object:root=true
type ScaledJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScaledJob `json:"items"`
}
