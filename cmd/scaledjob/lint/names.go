package lint

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
)

func nameTooLong(j *job) {
	if n := len(j.manifest.Name); n > validation.LabelValueMaxLength {
		at := j.at("metadata", "name")
		at.found += ", of " + strconv.Itoa(n) + " characters"
		j.find(at, "63 characters or fewer", effect{text: "it is a label of each Job, which holds 63: no Job can be created"})
	}
}

func nameInvalid(j *job) {
	if name := j.manifest.Name; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		j.find(j.at("metadata", "name"), "small letters, digits and - and . between them", effect{text: refusal})
	}
}

// oldLabelName is the label of Jobs before 2.4.
const oldLabelName = "scaledjob"

func reservedLabel(j *job) {
	for _, key := range []string{adapter.LabelName, oldLabelName} {
		value, ok := j.manifest.Labels[key]
		if !ok {
			continue
		}
		alone := *j.model
		alone.Metadata.Labels = map[string]string{key: value}
		j.find(j.key("metadata", "labels", key), "no such label",
			effect{when: func(p keda.Profile) bool { return !p.Generate(&alone, p.Release()).Tracked },
				text: "it overwrites the label by which KEDA finds its Jobs: none is counted, and each poll creates all of them again"})
	}
}

func reservedAnnotation(j *job) {
	if _, ok := j.manifest.Annotations[adapter.AnnotationGeneration]; !ok {
		return
	}
	// No manifest says its generation: the API server counts it.
	with, without := *j.model, *j.model
	with.Metadata.Generation, without.Metadata.Generation = 1<<40, 1<<40
	without.Metadata.Annotations = maps.Clone(with.Metadata.Annotations)
	delete(without.Metadata.Annotations, adapter.AnnotationGeneration)
	deletesOwn := func(p keda.Profile, m *keda.ScaledJob) bool {
		own := []keda.Job{{Annotations: p.Generate(m, p.Release()).Annotations}}
		return len(p.Rollout(m, own).Deleted) > 0
	}
	j.find(j.key("metadata", "annotations", adapter.AnnotationGeneration), "no such annotation",
		effect{when: func(p keda.Profile) bool { return deletesOwn(p, &with) && !deletesOwn(p, &without) },
			text: "it overwrites that of the Jobs: KEDA takes each for an old one and deletes it when it next looks at the ScaledJob"})
}

func excludedLabelsSpaces(j *job) {
	list := j.manifest.Annotations[adapter.AnnotationExcludedLabels]
	var keys []string
	for key := range strings.SplitSeq(list, ",") {
		keys = append(keys, strings.TrimSpace(key))
	}
	if trimmed := strings.Join(keys, ","); trimmed != list {
		j.find(j.annotation(adapter.AnnotationExcludedLabels), strconv.Quote(trimmed),
			effect{when: supports(keda.ExcludedLabels), text: "a space is part of the label's name: the Jobs get the labels after all"})
	}
}

// trackingKeys are by what deployment tools know what they deployed.
var trackingKeys = []string{"app.kubernetes.io/instance", "argocd.argoproj.io/instance", "argocd.argoproj.io/tracking-id",
	"kubectl.kubernetes.io/last-applied-configuration"}

func trackingCopied(j *job) {
	const text = "KEDA copies it to each Job, and a tool that goes by it takes the Jobs for its own, and may delete them"
	for _, key := range trackingKeys {
		if value, ok := j.manifest.Labels[key]; ok {
			j.find(j.key("metadata", "labels", key), adapter.AnnotationExcludedLabels+" with this label (since 2.18), or no such label",
				effect{when: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Labels[key] == value }, text: text})
		}
		if value, ok := j.manifest.Annotations[key]; ok {
			j.find(j.key("metadata", "annotations", key), "no such annotation",
				effect{when: func(p keda.Profile) bool { return p.Generate(j.model, p.Release()).Annotations[key] == value }, text: text})
		}
	}
}
