package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/rollout"
)

// Labels and annotations of the Jobs that a [Tracker] creates.
const (
	// LabelOwner is the label of Jobs with the UID of their owner.
	LabelOwner = "scaledjob.github.io/owner-uid"
	// AnnotationGeneration has the generation of the owner that the Job was made from.
	AnnotationGeneration = "scaledjob.github.io/generation"
	// AnnotationTemplateHash has the TemplateHash of the template that the Job was made from.
	AnnotationTemplateHash = "scaledjob.github.io/job-hash" // of before: template-hash, which depended on Go types
)

// NewJob returns the Job with that number, from 1. The Job shares no memory with t.
//
// The name depends on the owner's name and UID and on the number, and on nothing
// else. It is valid for any owner and leaves room for the suffixes of pods.
func (t *Target) NewJob(number int64) *batchv1.Job { return t.tracked(hub.Place{}).build(number, nil) }

// build returns the Job with a number, with more labels. The owner is its controller, so that the
// garbage collector deletes the Job after the owner.
func (t *Target) build(number int64, labels map[string]string) *batchv1.Job {
	o, template, spec := &t.Owner, t.Job, t.Job.Spec.DeepCopy()
	job := &batchv1.Job{Spec: *spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: t.jobName(number), Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
	}}
	job.Spec.TTLSecondsAfterFinished = nil // History.Age has it: others that delete finished Jobs break the rules of package slots
	for key, value := range labels {
		metav1.SetMetaDataLabel(&job.ObjectMeta, key, value)
	}
	metav1.SetMetaDataLabel(&job.ObjectMeta, LabelOwner, string(o.UID))
	if t.place == (hub.Place{}) {
		job.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	} else {
		metav1.SetMetaDataLabel(&job.ObjectMeta, hub.LabelHome, t.place.Home)
		metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, hub.LabelHome, t.place.Home)
		metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, LabelOwner, string(o.UID))
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, AnnotationGeneration, strconv.FormatInt(t.Revision.Generation, 10))
	if hash := t.Revision.TemplateHash; hash != "" {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, AnnotationTemplateHash, hash)
	} else {
		delete(job.Annotations, AnnotationTemplateHash)
	}
	pod := &job.Spec.Template.Spec
	pod.RestartPolicy = cmp.Or(pod.RestartPolicy, corev1.RestartPolicyOnFailure)
	return job
}

// JobName returns the owner's name, cut to the room that the suffix leaves, a
// hyphen and the suffix. Dots become hyphens. The result has at most 52 bytes if the
// suffix has at most 51. If the owner's name is valid, so is the result, for a Job and for
// its pods' hosts.
func JobName(owner, suffix string) string {
	const limit = 52                              // 63 without a hyphen and the index of a pod
	prefix := strings.ReplaceAll(owner, ".", "-") // a host name has no dots
	room := max(0, limit-len(suffix)-1)
	prefix = strings.TrimRight(prefix[:min(len(prefix), room)], "-")
	return strings.TrimLeft(prefix+"-"+suffix, "-")
}

// jobName returns the name of the Job with a number.
func (t *Target) jobName(number int64) string {
	const digits = "0000000000"
	id := string(t.Owner.UID)
	if t.place != (hub.Place{}) {
		id += "/" + t.place.Home + "/" + t.place.Cluster
	}
	base := JobName(t.Owner.Name, digest(id, 8)+"-"+digits) // equal for all numbers
	return strings.TrimSuffix(base, digits) + strconv.FormatInt(number, 10)
}

// number returns the number in the name of a Job, or 0 if the owner's Jobs are not named so.
func (t *Target) number(name string) int64 {
	i := strings.LastIndexByte(name, '-') + 1
	n, err := strconv.ParseInt(name[i:], 10, 64)
	if err != nil || n <= 0 || name != t.jobName(n) {
		return 0
	}
	return n
}

// digest returns the first digits of a hash of s.
func digest(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// TemplateHash returns a hash of a Job's template, for [rollout.Revision]: of the JSON as the API server
// serves it in the owner, such as spec.jobTargetRef of an unstructured ScaledJob. The order of keys, empty fields of objects
// and ttlSecondsAfterFinished at the top do not change it, nor does a version of k8s.io/api, whose types may
// have other fields and defaults.
func TemplateHash(template map[string]any) string {
	template = maps.Clone(template)
	delete(template, "ttlSecondsAfterFinished")
	data, err := json.Marshal(canonical(template)) // with sorted keys
	if err != nil {                                // the value came from JSON
		panic(err)
	}
	return digest(string(data), 10)
}

// canonical returns a JSON value without the fields of objects that are null or empty, innermost first.
// Elements of lists stay.
func canonical(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range v {
			if field = canonical(field); !empty(field) {
				kept[key] = field
			}
		}
		return kept
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = canonical(v[i])
		}
		return list
	}
	return value
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// revisionOf returns the revision that a Job was made from, also by KEDA.
func revisionOf(object *batchv1.Job) rollout.Revision {
	generation, err := strconv.ParseInt(cmp.Or(object.Annotations[AnnotationGeneration], object.Annotations["scaledjob.keda.sh/generation"]), 10, 64)
	if err != nil {
		generation = 0
	}
	return rollout.Revision{Generation: max(0, generation), TemplateHash: pods.Brief(object.Annotations[AnnotationTemplateHash])}
}

// A claim is the owner of a Job.
type claim struct {
	uid    types.UID // "" if the Job has no owner that the tracker knows of
	called string    // by the controller reference; "" if there is none
}

// claimOf returns the owner of a Job: its controller, or an owner in another cluster if home is set.
func claimOf(j *batchv1.Job, home string) claim {
	controller := metav1.GetControllerOfNoCopy(j)
	switch {
	case home == "" && controller != nil:
		called := (&Owner{controller.APIVersion, controller.Kind, j.Namespace, controller.Name, ""}).called()
		return claim{types.UID(pods.Brief(string(controller.UID))), pods.Brief(called)}
	case home != "" && controller == nil && j.Labels[hub.LabelHome] == home:
		return claim{uid: types.UID(j.Labels[LabelOwner])}
	}
	return claim{}
}
