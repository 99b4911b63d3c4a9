package scheduledjob

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

// GroupVersionKind identifies a ScheduledJob.
var GroupVersionKind = schema.GroupVersionKind{Group: "scaledjob.github.io", Version: "v1alpha1", Kind: "ScheduledJob"}

// A ScheduledJob is a job that runs on a schedule, on demand, or after runs of others.
type ScheduledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitzero"`

	renamed []*field.Error // other spellings that Read has found
}

// A Spec is the spec of a ScheduledJob. [ScheduledJob.Config] reads it.
type Spec struct {
	Schedule           *Schedule               `json:"schedule,omitempty"`
	AllowConcurrentRun *bool                   `json:"allowConcurrentRun,omitempty"` // true if unset
	MaxRestart         *int32                  `json:"maxRestart,omitempty"`         // of a failing pod; 1 if unset
	ExecTimeout        *int64                  `json:"execTimeout,omitempty"`        // seconds that a pod may be active; no limit if unset
	PodCount           *int32                  `json:"podCount,omitempty"`           // pods of a run; 1 if unset
	Selector           map[string]string       `json:"selector,omitempty"`           // ignored: a Job makes its own
	Template           *corev1.PodTemplateSpec `json:"template,omitempty"`           // either this or TemplateRef
	TemplateRef        *corev1.ObjectReference `json:"templateRef,omitempty"`        // of a core/v1 PodTemplate in the namespace
	HistoryLimit       *int32                  `json:"historyLimit,omitempty"`       // completed runs kept of each outcome; 100 if unset
	After              []Dependency            `json:"after,omitempty"`

	// Of a CronJob, with the same meaning except as the package comment says.
	Suspend                    *bool                     `json:"suspend,omitempty"`                    // scheduled runs do not start; false if unset
	StartingDeadlineSeconds    *int64                    `json:"startingDeadlineSeconds,omitempty"`    // a scheduled run that waits longer is missed; no limit if unset
	ConcurrencyPolicy          schedule.Concurrency      `json:"concurrencyPolicy,omitempty"`          // Allow, Wait, Forbid or Replace; if unset, AllowConcurrentRun decides
	SuccessfulJobsHistoryLimit *int32                    `json:"successfulJobsHistoryLimit,omitempty"` // HistoryLimit if unset
	FailedJobsHistoryLimit     *int32                    `json:"failedJobsHistoryLimit,omitempty"`     // HistoryLimit if unset
	TTLSecondsAfterFinished    *int32                    `json:"ttlSecondsAfterFinished,omitempty"`    // of each Job, and begins when its outcome is stored
	ActiveDeadlineSeconds      *int64                    `json:"activeDeadlineSeconds,omitempty"`      // of each Job; ExecTimeout applies to a pod
	PodFailurePolicy           *batchv1.PodFailurePolicy `json:"podFailurePolicy,omitempty"`           // of each Job

	Cancel []string `json:"cancel,omitempty"` // tags of runs to cancel
}

// A Schedule describes when runs are due.
type Schedule struct {
	TimeSpec       string `json:"timeSpec,omitempty"`       // see package interval
	Cron           string `json:"cron,omitempty"`           // a cron expression instead; on demand only if both are unset
	TimeZone       string `json:"timeZone,omitempty"`       // IANA name; UTC if unset
	SkipOutdated   *bool  `json:"skipOutdated,omitempty"`   // true if unset
	BlockOnFailure *bool  `json:"blockOnFailure,omitempty"` // false if unset
	// EndTime is the time after which no run is due. nil means none.
	EndTime       *metav1.Time `json:"endTime,omitempty"`
	JitterSeconds *int64       `json:"jitterSeconds,omitempty"` // each run is due later by less than this; 0 if unset
	// MaxCatchUp is the greatest number of unfinished runs that started while a later run was due;
	// further late runs wait. 10 if unset.
	MaxCatchUp *int32 `json:"maxCatchUp,omitempty"`
}

// A Dependency requests a run each time a run of another ScheduledJob of the namespace
// completes with the outcome.
type Dependency struct {
	Job     string           `json:"job,omitempty"`
	Outcome schedule.Outcome `json:"outcome,omitempty"` // succeeded, failed or any; succeeded if unset
}

// A Status is the status of a ScheduledJob: its checkpoint, and conditions.
type Status struct {
	schedule.Checkpoint `json:",inline"`
	// NextScheduleTime is the next occurrence in RFC 3339, in the zone of the schedule. It is "" if there is
	// none. NextScheduleDelay is the time after it at which the run is due, by jitterSeconds.
	NextScheduleTime  string            `json:"nextScheduleTime,omitempty"`
	NextScheduleDelay schedule.Duration `json:"nextScheduleDelay,omitzero"`
	// Reason is why the schedule does not progress, such as Blocked or CreateRejected. It is empty if the
	// run that was due last has started.
	Reason             string             `json:"reason,omitempty"`
	ActiveRuns         int32              `json:"active,omitempty"`  // runs with a Job, or that may have one
	WaitingRuns        int32              `json:"waiting,omitempty"` // runs of which no create is decided
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// StatusOf returns the status after a decision, without generation and conditions.
func StatusOf(d schedule.Decision) Status {
	reason, _ := d.Waits()
	status := Status{Checkpoint: d.Checkpoint, Reason: string(reason), ActiveRuns: int32(len(d.Checkpoint.Running))}
	for _, r := range d.Checkpoint.Pending {
		if r.Tried.IsZero() {
			status.WaitingRuns++
		} else {
			status.ActiveRuns++
		}
	}
	if !d.NextRun.Time.IsZero() {
		status.NextScheduleTime, status.NextScheduleDelay = d.NextRun.Time.Format(time.RFC3339), d.NextRun.Delay
	}
	return status
}

// Equal reports whether the statuses are the same, so that nothing need be stored.
func (s Status) Equal(other Status) bool {
	equal := s.Checkpoint.Equal(other.Checkpoint) && equality.Semantic.DeepEqual(s.Conditions, other.Conditions)
	s.Checkpoint, other.Checkpoint = schedule.Checkpoint{}, schedule.Checkpoint{}
	s.Conditions, other.Conditions = nil, nil
	return equal && reflect.DeepEqual(s, other)
}

// Owner returns a reference that makes s the controller of a Job, so that the garbage
// collector deletes the Job after s.
func (s *ScheduledJob) Owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(s, GroupVersionKind)
}

// DeepCopyObject returns a copy that shares no memory with s.
func (s *ScheduledJob) DeepCopyObject() runtime.Object {
	data, _ := json.Marshal(s)
	c := new(ScheduledJob)
	if err := json.Unmarshal(data, c); err != nil {
		panic(err) // a value that JSON cannot express, such as a time in the year 10000
	}
	return c
}

// Read reads the ScheduledJobs in a text of YAML or JSON: its documents, and the items
// of its lists. Objects of other kinds are ignored.
//
// It is an error if there is no ScheduledJob. It is also an error if one has an unknown
// field, a value of another type, or a key twice. All problems are joined, each a
// [*field.Error] if it is about one field. [ScheduledJob.Config] checks the values.
func Read(data []byte) ([]*ScheduledJob, error) {
	var renamed [][]*field.Error // of each object
	kind := manifest.Kind{GroupVersionKind: GroupVersionKind, Instead: instead, Mend: func(tree map[string]any, problems *field.Errors) {
		renamed = append(renamed, rename(tree, problems))
	}}
	found, err := manifest.ReadAs[ScheduledJob](kind, data)
	if err == nil {
		for i := range found {
			found[i].renamed = renamed[i]
		}
		return found, nil
	}
	for _, f := range manifest.ObjectsAs[ScheduledJob](kind, data) {
		if f.Kind == "Job" || f.Kind == "CronJob" {
			wrong := &field.Error{Path: "kind", Found: f.Kind, Fix: GroupVersionKind.Kind + ", with apiVersion " + GroupVersionKind.GroupVersion().String()}
			err = errors.Join(err, wrong)
		}
	}
	return nil, err
}

// instead has the fixes of fields that do not exist.
var instead = map[string]string{
	"spec.jobTemplate":                      "spec.template, of the pods (jobTemplate is a CronJob's)",
	"spec.timeZone":                         "spec.schedule.timeZone",
	"spec.timeSpec":                         "spec.schedule.timeSpec",
	"spec.cron":                             "spec.schedule.cron",
	"spec.skipOutdated":                     "spec.schedule.skipOutdated",
	"spec.schedule.suspend":                 "spec.suspend",
	"spec.schedule.concurrencyPolicy":       "spec.concurrencyPolicy",
	"spec.schedule.startingDeadlineSeconds": "spec.startingDeadlineSeconds",
	"spec.backoffLimit":                     "spec.maxRestart",
	"spec.backoffLimitPerIndex":             "spec.maxRestart",
	"spec.parallelism":                      "spec.podCount",
	"spec.completions":                      "spec.podCount",
}

// spellings are the other spellings of fields in the proposal: the object, the spelling and the
// field.
var spellings = [][3]string{
	{"spec.schedule", "suspendOnFailure", "blockOnFailure"},
	{"spec.scheduleSpec", "suspendOnFailure", "blockOnFailure"},
	{"spec", "scheduleSpec", "schedule"},
	{"spec", "allowConcurrent", "allowConcurrentRun"},
	{"spec", "PodCount", "podCount"},
}

// rename replaces other spellings, and returns a warning of each. Two spellings with different
// values are a problem.
func rename(tree map[string]any, problems *field.Errors) (warnings []*field.Error) {
	spec, _ := tree["spec"].(map[string]any)
	if text, ok := spec["schedule"].(string); ok { // as in a CronJob
		fix := "spec.schedule.timeSpec for an interval"
		if len(strings.Fields(text)) == 5 || strings.HasPrefix(text, "@") {
			fix = "spec.schedule.cron for a cron expression"
		}
		problems.Add(field.Error{Path: "spec.schedule", Found: strconv.Quote(text), Fix: fix})
		delete(spec, "schedule")
	}
	for _, s := range spellings {
		path, object := s[0], tree
		for name := range strings.SplitSeq(path, ".") {
			object, _ = object[name].(map[string]any)
		}
		found, ok := object[s[1]]
		if !ok {
			continue
		}
		if value, exists := object[s[2]]; exists && !reflect.DeepEqual(found, value) {
			problems.Add(field.Error{Path: path + "." + s[1], Found: "another value than in " + s[2], Fix: "only one of the two"})
		}
		delete(object, s[1])
		object[s[2]] = found
		warnings = append(warnings, &field.Error{Path: path + "." + s[1], Found: "another spelling, which a cluster does not know", Fix: s[2]})
	}
	return warnings
}
