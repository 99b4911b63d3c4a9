package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/keda"
)

// target is the place of a field of spec.jobTargetRef.
func (j *job) target(field string) place { return j.at("spec", "jobTargetRef", field) }

// A jobNumber is a number of spec.jobTargetRef; nil if it is not set.
type jobNumber struct {
	field string
	value *int64
}

func (j *job) numbers() []jobNumber {
	ref := j.spec.JobTargetRef
	if ref == nil {
		return nil
	}
	return []jobNumber{
		{"activeDeadlineSeconds", ref.ActiveDeadlineSeconds},
		{"backoffLimit", wide(ref.BackoffLimit)},
		{"backoffLimitPerIndex", wide(ref.BackoffLimitPerIndex)},
		{"completions", wide(ref.Completions)},
		{"maxFailedIndexes", wide(ref.MaxFailedIndexes)},
		{"parallelism", wide(ref.Parallelism)},
		{"ttlSecondsAfterFinished", wide(ref.TTLSecondsAfterFinished)},
	}
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	x := int64(*n)
	return &x
}

func jobFieldNegative(j *job) {
	for _, n := range j.numbers() {
		if n.value != nil && *n.value < 0 {
			want := "Write 0 or more"
			if n.field == "activeDeadlineSeconds" {
				want = "Write 1 or more (seconds)"
			}
			j.find(j.target(n.field), want, effect{text: rejected})
		}
	}
}

// zeros holds the effect of a 0.
var zeros = map[string]string{
	"activeDeadlineSeconds": "each Job fails at its deadline as soon as it starts",
	"completions":           "each Job is complete without a pod",
	"parallelism":           "a Job has no pods, never finishes and counts as running",
}

func jobNeverRuns(j *job) {
	for _, n := range j.numbers() {
		if text := zeros[n.field]; text != "" && n.value != nil && *n.value == 0 {
			j.find(j.target(n.field), "Write 1 or more", effect{text: text})
		}
	}
}

func jobSelector(j *job) {
	if ref := j.spec.JobTargetRef; ref != nil && ref.Selector != nil &&
		len(ref.Selector.MatchLabels)+len(ref.Selector.MatchExpressions) > 0 && (ref.ManualSelector == nil || !*ref.ManualSelector) {
		j.find(j.target("selector"), "Delete it: Kubernetes adds a selector to each Job", effect{text: rejected})
	}
}

// kueueLabel marks the Jobs that Kueue suspends.
const kueueLabel = "kueue.x-k8s.io/queue-name"

func jobSuspended(j *job) {
	const text = "Jobs are created suspended, and KEDA counts them as running and pending: they use up the maximum while none works"
	if ref := j.spec.JobTargetRef; ref != nil && ref.Suspend != nil && *ref.Suspend {
		j.find(j.target("suspend"), "Write false", effect{text: text})
	}
	if _, ok := j.manifest.Labels[kueueLabel]; ok {
		j.find(j.key("metadata", "labels", kueueLabel), "Write a maxReplicaCount that the Kueue queue can admit",
			effect{when: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Labels[kueueLabel] != "" }, text: text})
	}
}

func restartPolicyAlways(j *job) {
	if ref := j.spec.JobTargetRef; ref != nil && ref.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		j.find(j.at("spec", "jobTargetRef", "template", "spec", "restartPolicy"), "Write Never or OnFailure",
			effect{text: rejected})
	}
}

func parallelismNotCounted(j *job) {
	if ref := j.spec.JobTargetRef; ref != nil && ref.Parallelism != nil && *ref.Parallelism > 1 {
		j.find(j.target("parallelism"), "Write a maxReplicaCount in Jobs, each with this many pods",
			effect{text: "maxReplicaCount and the target count Jobs and not pods"})
	}
}

func envContainerUnknown(j *job) {
	for _, problem := range j.problems {
		if problem.Path == "spec.envSourceContainerName" {
			j.find(j.at("spec", "envSourceContainerName"), "Write "+problem.Fix,
				effect{text: "the template has no container of this name: KEDA never polls"})
		}
	}
	for _, a := range j.authentications() {
		for i := range a.length() {
			name := a.document.text("spec", "env", i, "containerName")
			if name != "" && !slices.ContainsFunc(j.containers(), func(c container) bool { return c.list == "containers" && c.Name == name }) {
				j.find(a.document.at("spec", "env", i, "containerName"), "Write the name of a container in spec.jobTargetRef.template",
					effect{text: "the template has no container of this name: KEDA reads an empty value"})
			}
		}
	}
}
