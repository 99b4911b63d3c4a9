// Package build names and builds the Jobs of an owner, and reads the owner of a Job.
package build

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
	"github.com/scaledjob/scaledjob/rollout"
)

// Labels and annotations of the Jobs. Package adapter describes them.
const (
	prefix                 = "scaledjob.github.io/"
	LabelOwner             = prefix + "owner-uid"
	AnnotationGeneration   = prefix + "generation"
	AnnotationTemplateHash = prefix + "job-hash" // of before: template-hash, which depended on Go types
)

// An Owner is an adapter.Owner.
type Owner struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
}

// Called returns a name that no other owner has at the same time, in any version of the API.
func (o *Owner) Called() string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name
}

// A Claim is the owner of a Job.
type Claim struct {
	UID    types.UID // "" if the Job has no owner that the tracker knows of
	Called string    // by the controller reference; "" if there is none
}

// ClaimOf returns the owner of a Job: its controller, or an owner in another cluster if home is set.
func ClaimOf(j *batchv1.Job, home string) Claim {
	controller := metav1.GetControllerOfNoCopy(j)
	switch {
	case home == "" && controller != nil:
		called := (&Owner{controller.APIVersion, controller.Kind, j.Namespace, controller.Name, ""}).Called()
		return Claim{types.UID(Brief(string(controller.UID))), Brief(called)}
	case home != "" && controller == nil && j.Labels[hub.LabelHome] == home:
		return Claim{UID: types.UID(j.Labels[LabelOwner])}
	}
	return Claim{}
}

// Condition returns the condition of a Job if it is True, else nil.
func Condition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// Value returns *p, or the zero value if p is nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Jobs are the source of an owner's Jobs.
type Jobs struct {
	Owner     Owner
	Place     hub.Place
	Prototype *batchv1.Job
	Revision  rollout.Revision
}

// Hash returns the first digits of a hash.
func Hash(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// Brief returns a text that the API server does not bound, such as an annotation, or its hash if it
// is long: whoever creates Jobs has no control of the tracker's memory.
func Brief(text string) string {
	const limit = 1 << 10
	if len(text) <= limit {
		return text
	}
	return "sha256:" + Hash(text, 64)
}

// TemplateHash is adapter.TemplateHash.
func TemplateHash(template map[string]any) string {
	template = maps.Clone(template)
	delete(template, "ttlSecondsAfterFinished")
	data, err := json.Marshal(canonical(template)) // with sorted keys
	if err != nil {                                // the value came from JSON
		panic(err)
	}
	return Hash(string(data), 10)
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

// JobName is adapter.JobName.
func JobName(owner, suffix string) string {
	const limit = 52                              // 63 without a hyphen and the index of a pod
	prefix := strings.ReplaceAll(owner, ".", "-") // a host name has no dots
	room := max(0, limit-len(suffix)-1)
	prefix = strings.TrimRight(prefix[:min(len(prefix), room)], "-")
	return strings.TrimLeft(prefix+"-"+suffix, "-")
}

// Name returns the name of the Job with a number.
func (j *Jobs) Name(number int64) string {
	const digits = "0000000000"
	id := string(j.Owner.UID)
	if j.Place != (hub.Place{}) {
		id += "/" + j.Place.Home + "/" + j.Place.Cluster
	}
	base := JobName(j.Owner.Name, Hash(id, 8)+"-"+digits) // equal for all numbers
	return strings.TrimSuffix(base, digits) + strconv.FormatInt(number, 10)
}

// Number returns the number in the name of a Job, or 0 if the owner's Jobs are not named so.
func (j *Jobs) Number(name string) int64 {
	i := strings.LastIndexByte(name, '-') + 1
	n, err := strconv.ParseInt(name[i:], 10, 64)
	if err != nil || n <= 0 || name != j.Name(n) {
		return 0
	}
	return n
}

// RevisionOf returns the revision that a Job was made from, also by KEDA.
func RevisionOf(object *batchv1.Job) rollout.Revision {
	generation, err := strconv.ParseInt(cmp.Or(object.Annotations[AnnotationGeneration], object.Annotations["scaledjob.keda.sh/generation"]), 10, 64)
	if err != nil {
		generation = 0
	}
	return rollout.Revision{Generation: max(0, generation), TemplateHash: Brief(object.Annotations[AnnotationTemplateHash])}
}

// Job returns the Job with a number, with more labels. The owner is its controller, so that the
// garbage collector deletes the Job after the owner.
func (j *Jobs) Job(number int64, labels map[string]string) *batchv1.Job {
	o, template, spec := &j.Owner, j.Prototype, j.Prototype.Spec.DeepCopy()
	job := &batchv1.Job{Spec: *spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: j.Name(number), Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
	}}
	job.Spec.TTLSecondsAfterFinished = nil // History.Age has it: others that delete finished Jobs break the rules of package slots
	for key, value := range labels {
		metav1.SetMetaDataLabel(&job.ObjectMeta, key, value)
	}
	metav1.SetMetaDataLabel(&job.ObjectMeta, LabelOwner, string(o.UID))
	if j.Place == (hub.Place{}) {
		job.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID, Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	} else {
		metav1.SetMetaDataLabel(&job.ObjectMeta, hub.LabelHome, j.Place.Home)
		metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, hub.LabelHome, j.Place.Home)
		metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, LabelOwner, string(o.UID))
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, AnnotationGeneration, strconv.FormatInt(j.Revision.Generation, 10))
	if hash := j.Revision.TemplateHash; hash != "" {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, AnnotationTemplateHash, hash)
	} else {
		delete(job.Annotations, AnnotationTemplateHash)
	}
	pod := &job.Spec.Template.Spec
	pod.RestartPolicy = cmp.Or(pod.RestartPolicy, corev1.RestartPolicyOnFailure)
	return job
}
