package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/rollout"
)

// Owner is a reference that makes s the controller of a Job. The garbage
// collector then deletes the Job when s is gone.
func (s *ScaledJob) Owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(s, GroupVersionKind)
}

// Revision is what a Job would be made from now. A ScaledJob that has not been
// on an API server has no generation.
func (s *ScaledJob) Revision() rollout.Revision {
	return rollout.Revision{Generation: s.Generation, TemplateHash: s.templateHash()}
}

func (s *ScaledJob) templateHash() string {
	data, err := json.Marshal(s.Spec.JobTargetRef)
	if err != nil { // of a type that only holds what JSON can
		panic(err)
	}
	return hash(string(data))
}

// NewJob returns a Job of the ScaledJob with that sequence number. owner is its
// controller: [ScaledJob.Owner], unless another object stands in for it. The Job
// shares no memory with s, and restartPolicy is OnFailure where it is not set.
//
// The name is valid whatever the owner's is, and leaves room for the suffixes of
// pods and indexes. It is the same for the same owner, generation and sequence.
func (s *ScaledJob) NewJob(owner metav1.OwnerReference, sequence int64) *batchv1.Job {
	t := s.template(owner, s.Revision())
	return t.job(sequence)
}

// A jobTemplate is all that the Jobs of one revision have in common.
type jobTemplate struct {
	prototype *batchv1.Job
	revision  string // what makes names differ by owner and generation
}

func (s *ScaledJob) template(owner metav1.OwnerReference, revision rollout.Revision) jobTemplate {
	job := s.Prototype(revision)
	job.OwnerReferences = []metav1.OwnerReference{*owner.DeepCopy()}
	return jobTemplate{job, string(owner.UID) + "/" + strconv.FormatInt(revision.Generation, 10)}
}

// Prototype is what the Jobs of a revision have in common, but for what makes
// them the owner's: its name is that of the ScaledJob. It shares no memory with s.
func (s *ScaledJob) Prototype(revision rollout.Revision) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace:   s.Namespace,
		Name:        s.Name,
		Labels:      s.jobLabels(),
		Annotations: s.jobAnnotations(),
	}}
	job.Labels[LabelName] = LabelValue(s.Name)
	job.Annotations[AnnotationGeneration] = strconv.FormatInt(revision.Generation, 10)
	job.Annotations[AnnotationTemplateHash] = revision.TemplateHash
	if s.Spec.JobTargetRef != nil {
		s.Spec.JobTargetRef.DeepCopyInto(&job.Spec)
	}
	if pod := &job.Spec.Template.Spec; pod.RestartPolicy == "" {
		pod.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	return job
}

func (t *jobTemplate) job(sequence int64) *batchv1.Job {
	job := t.prototype.DeepCopy()
	job.Name = jobName(job.Name, t.revision, sequence)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, AnnotationSequence, strconv.FormatInt(sequence, 10))
	return job
}

func (s *ScaledJob) jobLabels() map[string]string {
	labels := map[string]string{}
	for key, value := range s.Labels {
		labels[key] = value
	}
	for key := range strings.SplitSeq(s.Annotations[AnnotationExcludedLabels], ",") {
		delete(labels, strings.TrimSpace(key))
	}
	return withoutReserved(labels)
}

func (s *ScaledJob) jobAnnotations() map[string]string {
	annotations := map[string]string{}
	for key, value := range s.Annotations {
		annotations[key] = value
	}
	delete(annotations, AnnotationPaused)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	return withoutReserved(annotations)
}

func withoutReserved(m map[string]string) map[string]string {
	for key := range m {
		if strings.HasPrefix(key, reserved) {
			delete(m, key)
		}
	}
	return m
}

const (
	maxLabel = 63
	maxName  = 52 // of a Job: 63 less a hyphen and an index of ten digits
)

// jobName is the owner's name, cut to the room there is, a hash, and a number.
func jobName(owner, revision string, sequence int64) string {
	suffix := fmt.Sprintf("-%s-%d", hash(revision)[:8], sequence)
	prefix := strings.ReplaceAll(owner, ".", "-") // which a pod's host name must not have
	if room := maxName - len(suffix); len(prefix) > room {
		prefix = strings.TrimRight(prefix[:room], "-")
	}
	return prefix + suffix
}

// LabelValue is name where it is a valid label value, else what fits of it and a
// hash of all of it.
func LabelValue(name string) string {
	if len(name) <= maxLabel {
		return name
	}
	suffix := "-" + hash(name)
	return strings.TrimRight(name[:maxLabel-len(suffix)], "-.") + suffix
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:5])
}
