package adapter

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// An Owner identifies the object whose Jobs are scaled. Every field is needed.
type Owner struct {
	APIVersion string // such as apps.example.com/v1
	Kind       string
	Namespace  string // of the object, and of its Jobs
	Name       string
	UID        types.UID
}

// OwnerOf returns the Owner that stands for an object of the kind.
func OwnerOf(object metav1.Object, kind schema.GroupVersionKind) Owner {
	return Owner{kind.GroupVersion().String(), kind.Kind, object.GetNamespace(), object.GetName(), object.GetUID()}
}

// called returns a name that no other owner has at the same time, in any version of the API.
func (o *Owner) called() string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name
}

// A Target holds everything about an owner. It is given once, to [Tracker.Track],
// [List] or [Observe]. The Owner's fields, a container in Job and, with a Rollout, a
// Revision.Generation are required. The other zero values are safe: no Job is created or
// deleted.
type Target struct {
	Owner Owner
	// Job is the prototype of the Jobs: labels, annotations and spec. A namespace, if set, is the
	// owner's; finalizers are an error, and other metadata and the status are ignored. An empty
	// restartPolicy becomes OnFailure.
	Job *batchv1.Job
	// Revision is the version of the spec that new Jobs are made from. It is needed
	// if Rollout deletes outdated Jobs. Unless Rollout.EveryEdit is set, no Job of an empty TemplateHash is
	// outdated, before or after an edit: see the function TemplateHash.
	Revision rollout.Revision
	Policy   scaling.Policy
	History  history.Policy
	Rollout  rollout.Policy
	// PendingPodConditions are the types of the pod conditions that must all be True
	// before a Job stops being pending. They need a tracker of pods. Without them a
	// Job is pending until one of its pods is Running or Succeeded.
	PendingPodConditions []string
	// StuckAfter is the grace period of pending Jobs. At 0 no Job is stuck.
	StuckAfter time.Duration
	// DeleteStuckAfter deletes Jobs that have been pending for so long, so that others can take
	// their place below the maximum. A Job that starts meanwhile stays. The time should exceed
	// the delays between the retries of a Job's pods, up to 6 min. At 0 no Job is deleted for it.
	DeleteStuckAfter time.Duration
	// FailureBackoff slows down creates while every Job fails; the zero value does not.
	FailureBackoff FailureBackoff

	place hub.Place // of the Jobs of a tracked target
}

// Validate returns every problem of the target, joined, each a [*field.Error]. What only the API server
// knows, such as the rules for the fields of a pod, shows at the first create.
func (t *Target) Validate() error {
	var problems field.Errors
	o := &t.Owner
	for _, f := range [...][2]string{{"APIVersion", o.APIVersion}, {"Kind", o.Kind}, {"Namespace", o.Namespace}, {"Name", o.Name}, {"UID", string(o.UID)}} {
		problems.Check(f[1] != "", "Owner."+f[0], f[1], "the value that the owner has on the API server")
	}
	problems.Check(t.Job != nil, "Job", nil, "a prototype with a pod template")
	if j := t.Job; j != nil {
		problems.Check(j.Namespace == "" || j.Namespace == o.Namespace, "Job.Namespace", j.Namespace, strconv.Quote(o.Namespace)+", the namespace of the owner")
		if len(j.Finalizers) > 0 {
			problems.Add(field.Error{Path: "Job.Finalizers", Found: strings.Join(j.Finalizers, ", "), Fix: "none; Jobs are created without finalizers"})
		}
		if ttl := j.Spec.TTLSecondsAfterFinished; ttl != nil {
			problems.AtLeast("Job.Spec.TTLSecondsAfterFinished", int64(*ttl), 0)
		}
		if len(j.Spec.Template.Spec.Containers) == 0 {
			problems.Add(field.Error{Path: "Job.Spec.Template.Spec.Containers", Found: "none", Fix: "at least one container"})
		}
		for _, key := range slices.Sorted(maps.Keys(j.Labels)) {
			problems.Check(len(validation.IsValidLabelValue(j.Labels[key])) == 0, "Job.Labels["+key+"]", j.Labels[key], "a valid label value")
		}
	}
	problems.Join("Policy", t.Policy.Validate())
	problems.Join("History", t.History.Validate())
	problems.Join("Rollout", t.Rollout.Validate())
	problems.Check(t.StuckAfter >= 0, "StuckAfter", t.StuckAfter, "a duration of 0 or more")
	problems.Check(t.DeleteStuckAfter >= 0, "DeleteStuckAfter", t.DeleteStuckAfter, "a duration of 0 or more")
	t.FailureBackoff.validate(&problems)
	problems.Check(t.Rollout.Strategy == rollout.Gradual || t.Revision.Generation > 0, "Revision.Generation", t.Revision.Generation,
		"the owner's generation, without which no outdated Job is found, or Rollout.Strategy Gradual")
	return problems.Err()
}

// warnings returns the settings that have no effect or are probably a mistake.
func (t *Target) warnings(metrics []scaling.Metric) []*field.Error {
	var problems field.Errors
	problems.Join("", t.Policy.Warnings(metrics...))
	if _, isPendingAware := t.Policy.Strategy.(strategy.PendingAware); isPendingAware && t.StuckAfter == 0 {
		problems.Check(false, "StuckAfter", t.StuckAfter, "a grace period: at 0 no Job is stuck, and pendingAware decides as default")
	}
	outdated := t.Rollout
	if t.DeleteStuckAfter > 0 {
		outdated.Propagation = rollout.Background // stuck Jobs are deleted by it
	}
	problems.Join("Rollout", outdated.Warnings())
	return field.All(problems.Err())
}

// tracked returns a copy of the target as it is tracked: with the hash of the prototype, and with its
// time to live as a limit of the history. Of the prototype's metadata it has only what its Jobs get.
func (t Target) tracked(in hub.Place) *Target {
	t.place = in
	t.Job = (&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: t.Job.Labels, Annotations: t.Job.Annotations}, Spec: t.Job.Spec}).DeepCopy()
	t.PendingPodConditions = slices.Clone(t.PendingPodConditions)
	t.History = history.Policy{Succeeded: clone(t.History.Succeeded), Failed: clone(t.History.Failed), Age: clone(t.History.Age)}
	t.Revision.TemplateHash = pods.Brief(t.Revision.TemplateHash)
	if t.Job.Spec.TTLSecondsAfterFinished != nil && t.History.Age == nil {
		t.History.Age = history.After(time.Duration(*t.Job.Spec.TTLSecondsAfterFinished) * time.Second)
	}
	return &t
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
