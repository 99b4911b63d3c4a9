package lint

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
)

func nameTooLong(j *job) {
	n, position := len(j.manifest.Name), j.place("metadata", "name")
	position.found += ", which has " + strconv.Itoa(n) + " characters"
	j.check(n > validation.LabelValueMaxLength, position, "Write at most 63 characters", "the name becomes a label of each Job, and the value of a label has at most 63 characters, so KEDA cannot create Jobs")
}

func nameInvalid(j *job) {
	name := j.manifest.Name
	j.check(name != "" && len(validation.IsDNS1123Subdomain(name)) > 0, j.place("metadata", "name"), "Write lower-case letters and digits, with - and . between them", refusal)
}

// oldLabelName is the label of Jobs before 2.4.
const oldLabelName = "scaledjob"

func reservedLabel(j *job) {
	for _, key := range []string{manifest.LabelName, oldLabelName} {
		value, ok := j.manifest.Labels[key]
		if !ok {
			continue
		}
		alone := *j.model
		alone.Labels = map[string]string{key: value}
		j.find(j.key("metadata", "labels", key), "Delete the label while none of its Jobs runs: KEDA counts Jobs that have it neither before nor after",
			effect{affected: func(p keda.Profile) bool { return !p.Generate(&alone, p.Release()).Tracked },
				text: "it overwrites the label by which KEDA finds its Jobs. KEDA then counts none, and each poll creates all Jobs again"})
	}
}

func reservedAnnotation(j *job) {
	if _, ok := j.manifest.Annotations[manifest.AnnotationGeneration]; !ok {
		return
	}
	// A manifest does not hold its generation: the API server counts it.
	marked, plain := *j.model, *j.model
	marked.Generation, plain.Generation = 1<<40, 1<<40
	plain.Annotations = maps.Clone(marked.Annotations)
	delete(plain.Annotations, manifest.AnnotationGeneration)
	deletesOwn := func(p keda.Profile, m *keda.ScaledJob) bool {
		jobs := []keda.Job{{Annotations: p.Generate(m, p.Release()).Annotations}}
		return len(p.Rollout(m, jobs).Deleted) > 0
	}
	j.find(j.key("metadata", "annotations", manifest.AnnotationGeneration), "Delete the annotation",
		effect{affected: func(p keda.Profile) bool { return deletesOwn(p, &marked) && !deletesOwn(p, &plain) },
			text: "it overwrites KEDA's annotation on the Jobs. KEDA then sees each Job as outdated and deletes it at the next reconciliation"})
}

func excludedLabelsSpaces(j *job) {
	list := j.manifest.Annotations[manifest.AnnotationExcludedLabels]
	var keys []string
	for key := range strings.SplitSeq(list, ",") {
		keys = append(keys, strings.TrimSpace(key))
	}
	if trimmed := strings.Join(keys, ","); trimmed != list {
		j.find(j.annotation(manifest.AnnotationExcludedLabels), "Write "+strconv.Quote(trimmed),
			effect{affected: supports(keda.ExcludedLabels), text: "a space becomes part of the label's name, so KEDA still copies the labels to the Jobs"})
	}
}

// trackingKeys mark the objects that a deployment tool created and looks for, whether or not they have an owner. Argo CD looks only
// for objects without one.
var trackingKeys = []string{"tanka.dev/environment", "kubectl.kubernetes.io/last-applied-configuration"}

func trackingCopied(j *job) {
	const text = "KEDA copies it to each Job, so the deployment tool takes the Jobs for its own and may delete them"
	for _, key := range trackingKeys {
		if value, ok := j.manifest.Labels[key]; ok {
			j.find(j.key("metadata", "labels", key), "Add the label to the annotation "+manifest.AnnotationExcludedLabels+" (since 2.18), or delete the label",
				effect{affected: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Labels[key] == value }, text: text})
		}
		if value, ok := j.manifest.Annotations[key]; ok {
			j.find(j.key("metadata", "annotations", key), "Delete the annotation",
				effect{affected: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Annotations[key] == value }, text: text})
		}
	}
}

// podMarks are labels and annotations that their readers look for on pods.
var podMarks = []string{"aadpodidbinding", "azure.workload.identity/use", "cluster-autoscaler.kubernetes.io/safe-to-evict", "dapr.io/enabled",
	"karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict", "linkerd.io/inject", "sidecar.istio.io/inject", "vault.hashicorp.com/agent-inject"}

func podMarkMisplaced(j *job) {
	pod := &j.template.Template.ObjectMeta
	for field, marks := range map[string][2]map[string]string{"labels": {j.manifest.Labels, pod.Labels}, "annotations": {j.manifest.Annotations, pod.Annotations}} {
		for _, key := range podMarks {
			_, present := marks[0][key]
			_, onPods := marks[1][key]
			j.check(present && !onPods && !j.isPatch(), j.key("metadata", field, key), "Move it to spec.jobTargetRef.template.metadata."+field, "it is read on pods, to which KEDA does not copy it")
		}
	}
}

// helmHook finds a hook of upgrades that Helm deletes before it creates it anew, or as soon as it exists.
func helmHook(j *job) {
	const key = "helm.sh/hook"
	hook, policy := j.manifest.Annotations[key], j.manifest.Annotations[key+"-delete-policy"]
	again := strings.Contains(hook, "-upgrade") || strings.Contains(hook, "-rollback")
	replaced := again && (policy == "" || strings.Contains(policy, "before-hook-creation"))
	j.check(replaced || strings.Contains(policy, "hook-succeeded"), j.key("metadata", "annotations", key),
		"Delete the annotation, so that Helm updates the ScaledJob like other objects", "Helm deletes the ScaledJob each time the hook runs, and with it all Jobs, even running ones")
}

func (j *job) annotation(key string) place { return j.place("metadata", "annotations", key) }

// pausedBy is met by the releases that the annotation pauses.
func (j *job) pausedBy() condition {
	return func(p keda.Profile) bool { return p.Paused(j.model) }
}

func pausedUnparseable(j *job) {
	text, ok := j.manifest.Annotations[manifest.AnnotationPaused]
	if _, err := strconv.ParseBool(text); ok && err != nil {
		j.find(j.annotation(manifest.AnnotationPaused), `Write "true" or "false"`,
			effect{affected: j.pausedBy(), text: "a text that is not a boolean pauses the ScaledJob. KEDA then does not poll and deletes no finished Jobs"})
	}
}

func pausedFalse(j *job) {
	text, ok := j.manifest.Annotations[manifest.AnnotationPaused]
	if paused, err := strconv.ParseBool(text); ok && err == nil && !paused {
		j.find(j.annotation(manifest.AnnotationPaused), "Delete the annotation", effect{affected: j.pausedBy(), text: "any value pauses the ScaledJob", fatal: true})
	}
}

// ofScaledObjects are annotations that KEDA reads from ScaledObjects.
var ofScaledObjects = []string{"autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused-scale-in", "autoscaling.keda.sh/paused-scale-out", "autoscaling.keda.sh/force-activation"}

func pausedIgnored(j *job) {
	for _, key := range ofScaledObjects {
		_, ok := j.manifest.Annotations[key]
		j.check(ok, j.key("metadata", "annotations", key), "Write "+manifest.AnnotationPaused+`: "true" to pause`, "KEDA reads this annotation on ScaledObjects only")
	}
}

// annotationUnknown finds annotations of KEDA's domain that KEDA does not read.
func annotationUnknown(j *job) {
	names := []string{manifest.AnnotationPaused, manifest.AnnotationExcludedLabels}
	others := append([]string{manifest.AnnotationGeneration}, ofScaledObjects...) // with rules of their own
	for key := range j.manifest.Annotations {
		domain, _, _ := strings.Cut(key, "/")
		if (domain != "keda.sh" && !strings.HasSuffix(domain, ".keda.sh")) || slices.Contains(names, key) || slices.Contains(others, key) {
			continue
		}
		fix := "Delete it"
		_, part, _ := strings.Cut(key, "/")
		for _, name := range names {
			if _, candidate, _ := strings.Cut(name, "/"); nearest(part, []string{candidate}) != "" {
				fix = "Write " + name
			}
		}
		j.find(j.key("metadata", "annotations", key), fix, effect{text: "KEDA does not read this annotation on a ScaledJob"})
	}
}
