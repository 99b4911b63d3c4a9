package v1

import (
	"fmt"
	"regexp"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/field"
)

// address is the pattern of the CRD.
var address = regexp.MustCompile(`^([^\s:/@\[\]]+|\[[0-9A-Fa-f:.%]+\]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`)

// Validate returns every problem of the spec that the CRD finds outside the Job
// template, joined, each a [*field.Error]: a ScaledJob may be older than its CRD.
func (s *ScaledJobSpec) Validate() error {
	var problems field.Errors
	length := s.JobTemplate.Annotations[annotationLength]
	problems.Check(length == "", "spec.jobTemplate", length+" bytes", fmt.Sprintf("at most %d", longestTemplate))
	problems.Check(s.QueueName != "", "spec.queueName", s.QueueName, "the key of a Redis list")
	problems.Check(address.MatchString(s.RedisAddress), "spec.redisAddress", s.RedisAddress, "host:port, with a port from 1 to 65535")
	problems.AtLeast("spec.redisDatabase", int64(s.RedisDatabase), 0)
	problems.AtLeast("spec.threshold", s.Threshold, 1)
	problems.AtLeast("spec.minReplicas", int64(s.MinReplicas), 0)
	problems.AtLeast("spec.maxReplicas", int64(s.MaxReplicas), int64(s.MinReplicas))
	if a := s.RedisAuth; a != nil {
		problems.Check(a.SecretKeyRef.Name != "", "spec.redisAuth.secretKeyRef.name", nil, "the name of a Secret")
		problems.Check(a.SecretKeyRef.Key != "", "spec.redisAuth.secretKeyRef.key", nil, "a key of the Secret")
	}
	return problems.Err()
}

const (
	longestTemplate  = 256 << 10
	annotationLength = "batch.miracle.dev/length"
)

// Shorten replaces a long jobTemplate by its length, which Validate reports. In memory it takes dozens of
// times its bytes.
func (s *ScaledJobSpec) Shorten() {
	if n := s.JobTemplate.Size(); n > longestTemplate {
		s.JobTemplate = batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationLength: strconv.Itoa(n)}}}
	}
}
