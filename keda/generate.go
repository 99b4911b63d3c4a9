package keda

import (
	"maps"
	"strconv"
	"strings"
)

const (
	nameLabel       = "scaledjob.keda.sh/name"
	oldNameLabel    = "scaledjob" // before 2.4
	excludedLabels  = "scaledjob.keda.sh/job-excluded-labels"
	onFailure       = "OnFailure"
	managedByLabel  = "app.kubernetes.io/managed-by"
	partOfLabel     = "app.kubernetes.io/part-of"
	versionLabel    = "app.kubernetes.io/version"
	applicationName = "app.kubernetes.io/name"
)

// A GeneratedJob is what KEDA sets of each Job that it creates; the rest is the
// manifest's.
type GeneratedJob struct {
	GenerateName  string
	Namespace     string
	Labels        map[string]string
	Annotations   map[string]string // nil where there are none
	PodLabels     map[string]string // those of the template, and the tracking label
	RestartPolicy string            // of the pods

	// Tracked is whether KEDA finds the Job again. A label of the ScaledJob that
	// overwrites the tracking label makes it false: the Job is never counted, and
	// another is created in each poll.
	Tracked bool
}

// Generate returns the Jobs' metadata by [PartLabels] and [PartAnnotations].
// build is the version that the operator's binary was built as, which it puts
// into a label: that of the release in its images, and "main" where nobody set
// one.
func (p Profile) Generate(j *ScaledJob, build string) GeneratedJob {
	name, tracking := j.Metadata.Name, p.TrackingLabel()
	g := GeneratedJob{
		GenerateName:  name + "-",
		Namespace:     j.Metadata.Namespace,
		Labels:        p.labels(j, build),
		Annotations:   p.annotations(j),
		PodLabels:     map[string]string{},
		RestartPolicy: j.Spec.JobTargetRef.Template.Spec.RestartPolicy,
	}
	maps.Copy(g.PodLabels, j.Spec.JobTargetRef.Template.Metadata.Labels)
	g.PodLabels[tracking] = name
	if g.RestartPolicy == "" {
		g.RestartPolicy = onFailure
	}
	g.Tracked = g.Labels[tracking] == name
	return g
}

// TrackingLabel returns the label by whose value, the ScaledJob's name, KEDA finds
// the Jobs of a ScaledJob in its namespace, by [PartLabels]. It looks at nothing
// else, the owner neither.
func (p Profile) TrackingLabel() string {
	if p.forms[PartLabels] < labels24 {
		return oldNameLabel
	}
	return nameLabel
}

// labels are KEDA's own, overwritten by those of the ScaledJob.
func (p Profile) labels(j *ScaledJob, build string) map[string]string {
	name, form := j.Metadata.Name, p.forms[PartLabels]
	labels := map[string]string{
		applicationName:   name,
		versionLabel:      build,
		partOfLabel:       name,
		managedByLabel:    "keda-operator",
		p.TrackingLabel(): name,
	}
	if form == labels20 {
		return labels
	}
	excluded := map[string]bool{}
	if list, found := j.Metadata.Annotations[excludedLabels]; found && form >= labels218 {
		for key := range strings.SplitSeq(list, ",") { // spaces are part of a key
			excluded[key] = true
		}
	}
	for key, value := range j.Metadata.Labels {
		if !excluded[key] {
			labels[key] = value
		}
	}
	return labels
}

// annotations are those of the ScaledJob, which overwrite the generation.
func (p Profile) annotations(j *ScaledJob) map[string]string {
	switch p.forms[PartAnnotations] {
	case annotations20:
		return nil
	case annotations213:
		return maps.Clone(j.Metadata.Annotations)
	}
	annotations := map[string]string{generation: strconv.FormatInt(j.Metadata.Generation, 10)}
	maps.Copy(annotations, j.Metadata.Annotations)
	return annotations
}
