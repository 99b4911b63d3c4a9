package lint

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/keda"
)

func (j *job) target(field string) place { return j.place("spec", "jobTargetRef", field) }

// numbers returns the numbers of spec.jobTargetRef by their field.
func (j *job) numbers() map[string]int64 {
	numbers := map[string]int64{}
	for _, field := range []string{"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes", "parallelism", "ttlSecondsAfterFinished"} {
		if n := j.node("spec", "jobTargetRef", field); n != nil {
			if number, ok := numberOf(n).(int64); ok {
				numbers[field] = number
			}
		}
	}
	return numbers
}

func jobFieldNegative(j *job) {
	for field, n := range j.numbers() {
		want := "Write 0 or more"
		if field == "activeDeadlineSeconds" {
			want = "Write 1 or more (seconds)"
		}
		j.check(n < 0, j.target(field), want, rejected)
	}
}

// zeros holds the effect of a 0.
var zeros = map[string]string{
	"activeDeadlineSeconds": "each Job fails at its deadline as soon as it starts",
	"completions":           "each Job completes without a pod",
	"parallelism":           "a Job has no pods, never finishes and counts as running",
}

func jobNeverRuns(j *job) {
	for field, n := range j.numbers() {
		j.check(zeros[field] != "" && n == 0, j.target(field), "Write 1 or more", zeros[field])
	}
}

func jobSelector(j *job) {
	selector, manual := j.template.Selector, j.template.ManualSelector
	j.check(selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 && (manual == nil || !*manual),
		j.target("selector"), "Delete it; Kubernetes adds a selector to each Job", rejected)
}

const kueueLabel = "kueue.x-k8s.io/queue-name"

func jobSuspended(j *job) {
	const text = "Jobs are created suspended, but KEDA counts them as running and pending, so they use up the maximum while none works"
	suspend := j.template.Suspend
	j.check(suspend != nil && *suspend, j.target("suspend"), "Write false", text)
	if _, ok := j.manifest.Labels[kueueLabel]; ok {
		j.find(j.key("metadata", "labels", kueueLabel), "Write a maxReplicaCount that the Kueue queue can admit",
			effect{affected: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Labels[kueueLabel] != "" }, text: text})
	}
}

func restartPolicyAlways(j *job) {
	j.check(j.template.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways, j.place(j.pod("restartPolicy")...), "Write Never or OnFailure", rejected)
}

// podsAtOnce returns how many pods a Job runs at a time: completions limit parallelism.
func (j *job) podsAtOnce() int32 {
	n, completions := j.template.Parallelism, j.template.Completions
	if n == nil {
		return 1
	}
	if completions != nil {
		return min(*n, *completions)
	}
	return *n
}

func parallelismNotCounted(j *job) {
	n := j.podsAtOnce()
	j.check(n > 1, j.target("parallelism"), "Set maxReplicaCount to a number of Jobs, each with this many pods",
		"maxReplicaCount and the target count Jobs, not pods")
}

func envContainerUnknown(j *job) {
	var choices []string
	for _, c := range j.template.Template.Spec.Containers {
		choices = append(choices, c.Name)
	}
	for _, problem := range j.problems {
		j.checkPolls(problem.Path == "spec.envSourceContainerName", j.place("spec", "envSourceContainerName"), oneOf(j.spec.EnvSourceContainerName, choices),
			"the template has no container of this name, so KEDA never polls")
	}
	for _, a := range j.authentications() {
		if !j.objects.first(a, "containers "+strings.Join(choices, " ")) {
			continue
		}
		for i := range a.document.length("spec", "env") {
			name := a.document.text("spec", "env", i, "containerName")
			j.check(name != "" && !slices.Contains(choices, name), a.document.place("spec", "env", i, "containerName"),
				"Write the name of a container in spec.jobTargetRef.template", "the template has no container of this name, so KEDA reads an empty value")
		}
	}
}
