package run

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/schedule"
)

// GroupVersionKind is that of a ScheduledJob.
var GroupVersionKind = schema.GroupVersionKind{Group: "scaledjob.github.io", Version: "v1alpha1", Kind: "ScheduledJob"}

// A ScheduledJob is a job that runs on a schedule, on demand, or after runs of
// others.
type ScheduledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitzero"`
}

// A Spec is the spec of a ScheduledJob. [ScheduledJob.Config] reads it. Some fields
// have two spellings; what both say must not differ.
type Spec struct {
	Schedule           *Schedule               `json:"schedule,omitempty"`
	ScheduleSpec       *Schedule               `json:"scheduleSpec,omitempty"`       // Schedule
	AllowConcurrentRun *bool                   `json:"allowConcurrentRun,omitempty"` // true if unset
	AllowConcurrent    *bool                   `json:"allowConcurrent,omitempty"`    // AllowConcurrentRun
	MaxRestart         *int32                  `json:"maxRestart,omitempty"`         // of a failing pod; 1 if unset
	ExecTimeout        *int64                  `json:"execTimeout,omitempty"`        // seconds that a pod may be active; no limit if unset
	PodCount           *int32                  `json:"podCount,omitempty"`           // pods of a run; 1 if unset
	CapitalPodCount    *int32                  `json:"PodCount,omitempty"`           // PodCount
	Selector           map[string]string       `json:"selector,omitempty"`           // ignored, as a Job makes its own
	Template           *corev1.PodTemplateSpec `json:"template,omitempty"`           // this or TemplateRef
	TemplateRef        *TemplateRef            `json:"templateRef,omitempty"`
	HistoryLimit       *int32                  `json:"historyLimit,omitempty"` // completed runs kept of each outcome; 100 if unset
	After              []Dependency            `json:"after,omitempty"`
}

// A Schedule says when runs are due.
type Schedule struct {
	TimeSpec         string `json:"timeSpec,omitempty"`         // see [schedule.Parse]; on demand only if unset
	TimeZone         string `json:"timeZone,omitempty"`         // IANA name; UTC if unset
	SkipOutdated     *bool  `json:"skipOutdated,omitempty"`     // true if unset
	BlockOnFailure   *bool  `json:"blockOnFailure,omitempty"`   // false if unset
	SuspendOnFailure *bool  `json:"suspendOnFailure,omitempty"` // BlockOnFailure
}

// A TemplateRef names a core/v1 PodTemplate in the namespace of the ScheduledJob.
type TemplateRef struct {
	APIVersion string `json:"apiVersion,omitempty"` // v1 if unset
	Kind       string `json:"kind,omitempty"`       // PodTemplate if unset
	Namespace  string `json:"namespace,omitempty"`  // the ScheduledJob's
	Name       string `json:"name,omitempty"`
}

// A Dependency asks for a run each time a run of another ScheduledJob of the
// namespace completes so.
type Dependency struct {
	Job     string           `json:"job,omitempty"`
	Outcome schedule.Outcome `json:"outcome,omitempty"` // succeeded, failed or any; succeeded if unset
}

// A Status is the status of a ScheduledJob: the state of its runs, and how it fares.
type Status struct {
	schedule.State     `json:",inline"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Owner is a reference that makes s the controller of a Job. The garbage collector
// then deletes the Job when s is gone.
func (s *ScheduledJob) Owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(s, GroupVersionKind)
}

// DeepCopyObject returns a copy that shares no memory with s.
func (s *ScheduledJob) DeepCopyObject() runtime.Object {
	// Whatever could be read can be written; what is nil or empty reads back so.
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := new(ScheduledJob)
	if err := json.Unmarshal(data, c); err != nil {
		panic(err)
	}
	return c
}
