package member

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
)

// LabelProof proves that this hub created the Job on this member: it has a code that only
// Options.Key makes, of the labels above, the namespace and the name.
const LabelProof = prefix + "proof"

// proof returns the code of a Job.
func (c *Cluster) proof(j *batchv1.Job) string {
	code := hmac.New(sha256.New, c.options.Key)
	for _, part := range []string{c.name, j.Namespace, j.Name, j.Labels[LabelHome], j.Labels[adapter.LabelOwner],
		j.Labels[LabelOwnerNamespace], j.Labels[LabelCreation], j.Labels[LabelSource], j.Labels[LabelAttempt]} {
		fmt.Fprintf(code, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(code.Sum(nil)[:16])
}

// ours reports whether this hub created the Job. Anybody who may create Jobs on the member
// can copy the labels to another name or namespace.
func (c *Cluster) ours(j *batchv1.Job) bool {
	return len(c.options.Key) == 0 || hmac.Equal([]byte(j.Labels[LabelProof]), []byte(c.proof(j)))
}

// prove returns the Job with its proof.
func (c *Cluster) prove(j *batchv1.Job) *batchv1.Job {
	if len(c.options.Key) == 0 {
		return j
	}
	proven := *j
	proven.Labels = maps.Clone(j.Labels)
	proven.Labels[LabelProof] = c.proof(j)
	return &proven
}

// disown returns the Job without the labels that name an owner, unless it is ours.
func (c *Cluster) disown(j *batchv1.Job) *batchv1.Job {
	if c.ours(j) {
		return j
	}
	foreign := *j
	foreign.Labels = nil
	return &foreign
}
