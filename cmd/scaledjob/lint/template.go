package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/keda"
)

// target is the place of a field of spec.jobTargetRef.
func (j *job) target(field string) place { return j.at("spec", "jobTargetRef", field) }

// numbers returns the numbers of spec.jobTargetRef by their field.
func (j *job) numbers() map[string]int64 {
	all := map[string]int64{}
	for _, field := range []string{"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes", "parallelism", "ttlSecondsAfterFinished"} {
		if n := j.node("spec", "jobTargetRef", field); n != nil {
			if number, ok := numberOf(n).(int64); ok {
				all[field] = number
			}
		}
	}
	return all
}

func jobFieldNegative(j *job) {
	for field, n := range j.numbers() {
		want := "Write 0 or more"
		if field == "activeDeadlineSeconds" {
			want = "Write 1 or more (seconds)"
		}
		if n < 0 {
			j.find(j.target(field), want, effect{text: rejected})
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
	for field, n := range j.numbers() {
		if text := zeros[field]; text != "" && n == 0 {
			j.find(j.target(field), "Write 1 or more", effect{text: text})
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
