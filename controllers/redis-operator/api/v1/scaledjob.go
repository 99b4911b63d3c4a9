package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of a ScaledJob, beside JobsCreated and JobsDeleted of package adapter/scaledjob, which also has
// their reasons.
const (
	ConditionReady          = "Ready"          // the spec is valid, and the three other conditions are True
	ConditionQueueConnected = "QueueConnected" // the queue can be read
)

// Reasons of conditions and events.
const (
	ReasonReconciled       = "Reconciled"       // of Ready if True
	ReasonConnected        = "Connected"        // of QueueConnected if True
	ReasonInvalidSpec      = "InvalidSpec"      // of both conditions and of an event: see Validate
	ReasonSecretUnreadable = "SecretUnreadable" // of both conditions and of an event: a Secret that the spec names
	ReasonRedisUnreachable = "RedisUnreachable" // of both conditions and of an event: the queue cannot be read
	ReasonQueueConnected   = "QueueConnected"   // of an event: the queue can be read again
	ReasonCreatedJobs      = "CreatedJobs"      // of an event
)

// ScaledJob creates Jobs while items wait in a Redis list.
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

	// Spec describes the queue and the Jobs.
	//
	// +required
	Spec ScaledJobSpec `json:"spec"`
	// Status is the result of the last reconcile.
	//
	// +optional
	Status ScaledJobStatus `json:"status,omitzero"`
}

// ScaledJobSpec describes a queue and the Jobs that work on it.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas must not be above maxReplicas"
type ScaledJobSpec struct {
	// QueueName is the key of a Redis list. A list that does not exist is empty: Redis keeps
	// no empty list.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	QueueName string `json:"queueName"`

	// RedisAddress is the address of the Redis server, as host:port.
	//
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^([^\s:/@\[\]]+|\[[0-9A-Fa-f:.%]+\]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`
	RedisAddress string `json:"redisAddress"`

	// RedisDatabase is the number of the database with the list. Most servers have 0 to 15.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	RedisDatabase int32 `json:"redisDatabase,omitempty"`

	// RedisAuth is the login of the Redis server. Without it no password is sent.
	//
	// +optional
	RedisAuth *RedisAuth `json:"redisAuth,omitempty"`

	// RedisTLS encrypts the connection. Without it the connection is not encrypted.
	//
	// +optional
	RedisTLS *RedisTLS `json:"redisTLS,omitempty"`

	// Threshold is the number of items for one Job.
	//
	// +kubebuilder:validation:Minimum=1
	Threshold int64 `json:"threshold"`

	// MinReplicas is the least number of active Jobs, also while the queue is empty.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	MinReplicas int32 `json:"minReplicas"`

	// MaxReplicas is the greatest number of active Jobs. At 0 no Job is created.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=100
	MaxReplicas int32 `json:"maxReplicas"`

	// JobTemplate is the template of the Jobs: labels, annotations and spec. Its
	// fields are those of a CronJob: kubectl explain cronjob.spec.jobTemplate.
	//
	// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.template.spec) && has(self.spec.template.spec.restartPolicy) && self.spec.template.spec.restartPolicy in ['Never', 'OnFailure']",message="spec.template.spec.restartPolicy must be Never or OnFailure"
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// RedisAuth is the login of a Redis server.
type RedisAuth struct {
	// Username is a user of Redis's access control lists. Without it Redis takes
	// its default user.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Username string `json:"username,omitempty"`

	// SecretKeyRef names the password, in a Secret of the ScaledJob's namespace.
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// SecretKeyRef names a value in a Secret of the ScaledJob's namespace.
type SecretKeyRef struct {
	// Name is the name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key is the key in the Secret's data. Newlines at the end of its value are
	// ignored.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// RedisTLS describes an encrypted connection. An empty one trusts the authorities
// of the operator's image.
type RedisTLS struct {
	// SecretName is the name of a Secret of the ScaledJob's namespace. It may have
	// the keys ca.crt, with authorities to trust too, and tls.crt with tls.key,
	// the certificate of the client.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName string `json:"secretName,omitempty"`
}

// ScaledJobStatus is the result of the last reconcile.
type ScaledJobStatus struct {
	// QueueDepth is the number of items that waited when the queue was last read.
	// It is unset until then.
	//
	// +optional
	QueueDepth *int64 `json:"queueDepth,omitempty"`

	// ActiveJobs is the number of Jobs that have neither finished nor begun to be
	// deleted, including those just created.
	//
	// +optional
	ActiveJobs int32 `json:"activeJobs"`

	// DesiredJobs is the number of Jobs that QueueDepth asks for.
	//
	// +optional
	DesiredJobs *int32 `json:"desiredJobs,omitempty"`

	// LastScaleTime is the time at which Jobs were last created.
	//
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`

	// Failures is present while Jobs fail, and slows down their creation.
	//
	// +optional
	Failures *FailureStatus `json:"failures,omitempty"`

	// Conditions are Ready, QueueConnected, JobsCreated and JobsDeleted.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailureStatus is what the operator remembers of Jobs that have finished. While every Job has
// failed since one succeeded, a single Job is created at a time, after growing delays.
type FailureStatus struct {
	// Count is the number of polls with failed Jobs since a Job succeeded.
	//
	// +optional
	Count int32 `json:"count,omitempty"`

	// LastFinished is the time at which the last Job finished that counts.
	//
	// +optional
	LastFinished *metav1.Time `json:"lastFinished,omitempty"`

	// NextJob is the time before which no Job is created.
	//
	// +optional
	NextJob *metav1.Time `json:"nextJob,omitempty"`

	// Longest is the longest time that a failed Job has taken since a Job succeeded.
	//
	// +optional
	Longest metav1.Duration `json:"longest,omitempty"`

	// QueueDepth is the number of items that waited when a Job was last created.
	//
	// +optional
	QueueDepth int64 `json:"queueDepth,omitempty"`

	// Revision is the version of the spec.
	//
	// +optional
	Revision string `json:"revision,omitempty"`
}

// ScaledJobList is a list of ScaledJobs.
//
// +kubebuilder:object:root=true
type ScaledJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScaledJob `json:"items"`
}
