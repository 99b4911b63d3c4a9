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

// A GeneratedJob holds the fields that KEDA sets in each Job that it creates. The
// manifest determines the others.
type GeneratedJob struct {
	GenerateName  string
	Namespace     string
	Labels        map[string]string
	Annotations   map[string]string // nil if there are none
	PodLabels     map[string]string // the template's labels and the tracking label
	RestartPolicy string            // of the pods

	// Tracked reports whether KEDA finds the Job again. It is false if a label of the
	// ScaledJob overwrites the tracking label: the Job is never counted, and each poll
	// creates another.
	Tracked bool
}

// Generate returns the Jobs' metadata by the behaviors labels and annotations. build is
// the version of the operator's binary, which becomes a label: the release in KEDA's
// images, and "main" in a binary that was built without a version.
func (p Profile) Generate(j *ScaledJob, build string) GeneratedJob {
	name, tracking := j.Name, p.TrackingLabel()
	g := GeneratedJob{
		GenerateName:  name + "-",
		Namespace:     j.Namespace,
		Labels:        p.labels(j, build),
		Annotations:   p.annotations(j),
		PodLabels:     map[string]string{},
		RestartPolicy: j.RestartPolicy,
	}
	maps.Copy(g.PodLabels, j.PodLabels)
	g.PodLabels[tracking] = name
	if g.RestartPolicy == "" {
		g.RestartPolicy = onFailure
	}
	g.Tracked = g.Labels[tracking] == name
	return g
}

// TrackingLabel returns the label by which KEDA finds the Jobs of a ScaledJob in its
// namespace, by the behavior labels. Its value is the ScaledJob's name. KEDA does not
// check the Jobs' owner.
func (p Profile) TrackingLabel() string {
	if p.has(behaviorLabels, version{4, 0}) {
		return nameLabel
	}
	return oldNameLabel
}

// labels returns KEDA's labels, overwritten by the ScaledJob's.
func (p Profile) labels(j *ScaledJob, build string) map[string]string {
	name := j.Name
	labels := map[string]string{
		applicationName:   name,
		versionLabel:      build,
		partOfLabel:       name,
		managedByLabel:    "keda-operator",
		p.TrackingLabel(): name,
	}
	if !p.has(behaviorLabels, version{1, 0}) {
		return labels
	}
	excluded := map[string]bool{}
	if p.has(behaviorLabels, version{18, 0}) {
		for key := range strings.SplitSeq(j.Annotations[excludedLabels], ",") { // spaces are part of a key
			excluded[key] = true
		}
	}
	for key, value := range j.Labels {
		if !excluded[key] {
			labels[key] = value
		}
	}
	return labels
}

// annotations returns the generation, overwritten by the ScaledJob's annotations.
func (p Profile) annotations(j *ScaledJob) map[string]string {
	switch {
	case !p.has(behaviorAnnotations, version{13, 0}):
		return nil
	case !p.has(behaviorAnnotations, version{14, 1}):
		return maps.Clone(j.Annotations)
	}
	annotations := map[string]string{generation: strconv.FormatInt(j.Generation, 10)}
	maps.Copy(annotations, j.Annotations)
	return annotations
}
