package member

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// Labels of the Jobs on members, beside the labels of package adapter.
const (
	prefix = "scaledjob.github.io/"
	// labelHome has the name of the hub cluster.
	labelHome = hub.LabelHome
	// LabelOwnerNamespace has the namespace of the owner.
	LabelOwnerNamespace = prefix + "owner-namespace"
	// LabelSelector has the name of the owner, as [manifest.LabelValue] returns it. The
	// status of a DistributedScaledJob has this label in its selector.
	LabelSelector = "kedify-agent-distributedscaledjob"
	// labelCreation has a random value of each create. With the name it identifies a
	// Job after an unanswered create, because numbers in names recur.
	labelCreation = prefix + "creation"
	// labelSource has the name and the creation, joined by a dot, of the first Job that
	// the Job replaces.
	labelSource = prefix + "source"
	// labelAttempt counts the replacements of that Job, from 1.
	labelAttempt = prefix + "attempt"

	maxLabel = 63
)

// An Override holds the differences of a member's Jobs. The zero value changes
// nothing.
type Override struct {
	Namespace string // of the Jobs; "" means the owner's
	Pod       PodOverrides
}

// An owner is tracked on every member.
type owner struct {
	target    adapter.Target
	overrides map[string]Override // by member
}

// newOwner keeps the parts of a target that members need: package jobs decides the rest.
func newOwner(target adapter.Target, overrides map[string]Override) (*owner, error) {
	target.Policy = scaling.Policy{Bounds: scaling.Bounds{Max: scaling.NoMax}}
	target.Rollout = rollout.Policy{Propagation: target.Rollout.Propagation}
	target.History, target.StuckAfter = history.Policy{}, 0
	if err := target.Validate(); err != nil {
		return nil, err
	}
	return &owner{target, overrides}, nil
}

// targetOn returns the target of a member.
func (o *owner) targetOn(member string) adapter.Target {
	t, override := o.target, o.overrides[member]
	t.Owner.Namespace = o.namespace(member)
	job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(t.Job.Labels), Annotations: t.Job.Annotations}, Spec: t.Job.Spec}
	maps.DeleteFunc(job.Labels, func(key, _ string) bool { return strings.HasPrefix(key, prefix) })
	metav1.SetMetaDataLabel(&job.ObjectMeta, LabelOwnerNamespace, o.target.Owner.Namespace)
	metav1.SetMetaDataLabel(&job.ObjectMeta, LabelSelector, manifest.LabelValue(t.Owner.Name))
	pod, _ := override.Pod.Merge(&job.Spec.Template.Spec)
	job.Spec.Template.Spec = *pod
	t.Job = &job
	return t
}

// namespace returns where the Jobs are on a member.
func (o *owner) namespace(member string) string {
	return cmp.Or(o.overrides[member].Namespace, o.target.Owner.Namespace)
}

// labels returns the labels of the Jobs to create, replacements first.
func (p *part) labels() []map[string]string {
	labels := make([]map[string]string, p.Jobs())
	for i := range labels {
		labels[i] = map[string]string{labelCreation: rand.String(10)}
		if i < len(p.Replacements) {
			source := p.Replacements[i].Source
			labels[i][labelSource], labels[i][labelAttempt] = source.UID, strconv.Itoa(int(source.Attempt))
		}
	}
	return labels
}

// labelProof proves that this hub created the Job on this member: it has a code that only
// Options.Key makes, of the labels above, the namespace and the name. Its pods have a code of the
// namespace and the owner.
const labelProof = prefix + "proof"

// proof returns the code of a Job or a pod.
func (c *Cluster) proof(object metav1.Object) string {
	code, labels := hmac.New(sha256.New, c.options.Key), object.GetLabels()
	parts := []string{c.name, object.GetNamespace(), labels[labelHome], labels[adapter.LabelOwner]}
	if _, isJob := object.(*batchv1.Job); isJob {
		parts = append(parts, object.GetName(), labels[LabelOwnerNamespace], labels[labelCreation], labels[labelSource], labels[labelAttempt])
	}
	for _, part := range parts {
		fmt.Fprintf(code, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(code.Sum(nil)[:16])
}

// prove returns the Job with its proof, and that of its pods.
func (c *Cluster) prove(j *batchv1.Job) *batchv1.Job {
	if len(c.options.Key) == 0 {
		return j
	}
	proven := *j
	proven.Labels, proven.Spec.Template.Labels = maps.Clone(j.Labels), maps.Clone(j.Spec.Template.Labels)
	proven.Labels[labelProof] = c.proof(j)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Labels: j.Spec.Template.Labels}}
	metav1.SetMetaDataLabel(&proven.Spec.Template.ObjectMeta, labelProof, c.proof(&pod))
	return &proven
}
