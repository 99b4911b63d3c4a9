package keda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/field"
)

// A Feature is a field or an ability that a release may lack.
type Feature string

const (
	PendingCount      Feature = "pendingCount"      // pending Jobs are counted
	PendingConditions Feature = "pendingConditions" // pendingPodConditions
	Calculation       Feature = "calculation"       // multipleScalersCalculation, and MaxValue of a Scaler
	DeprecatedRollout Feature = "deprecatedRollout" // rolloutStrategy
	MinReplicaCount   Feature = "minReplicaCount"   // minReplicaCount
	RolloutFields     Feature = "rolloutFields"     // rollout.strategy and rollout.propagationPolicy
	PauseAnnotation   Feature = "pauseAnnotation"   // the paused annotation
	EagerStrategy     Feature = "eagerStrategy"     // the strategy eager
	ExcludedLabels    Feature = "excludedLabels"    // the annotation that excludes labels
)

// features holds the rule with which each feature begins.
var features = [...]struct {
	Feature
	field    string
	behavior behavior
	first    version
}{
	{PendingCount, "counting pending Jobs", behaviorPending, version{1, 0}},
	{PendingConditions, "spec.scalingStrategy.pendingPodConditions", behaviorPending, version{4, 0}},
	{Calculation, "spec.scalingStrategy.multipleScalersCalculation", behaviorAggregation, version{5, 0}},
	{DeprecatedRollout, "spec.rolloutStrategy", behaviorRollout, version{5, 0}},
	{MinReplicaCount, "spec.minReplicaCount", behaviorReplicas, version{8, 0}},
	{RolloutFields, "spec.rollout", behaviorRollout, version{8, 0}},
	{PauseAnnotation, "metadata.annotations[" + paused + "]", behaviorPause, version{11, 0}},
	{EagerStrategy, "spec.scalingStrategy.strategy eager", behaviorEager, version{15, 0}},
	{ExcludedLabels, "metadata.annotations[" + excludedLabels + "]", behaviorLabels, version{18, 0}},
}

// String returns the field of the feature.
func (f Feature) String() string {
	for i := range features {
		if features[i].Feature == f {
			return features[i].field
		}
	}
	return string(f)
}

// Supports returns an [*UnsupportedError] if the release lacks the feature.
func (p Profile) Supports(f Feature) error {
	for i := range features {
		if r := &features[i]; r.Feature == f && !p.has(r.behavior, r.first) {
			return &UnsupportedError{Feature: f, Release: p.Release(), Since: r.first.firstRelease()}
		}
	}
	return nil
}

// An UnsupportedError describes a feature that a release lacks. KEDA ignores such a
// feature silently.
type UnsupportedError struct {
	Feature Feature `json:"feature"`
	Release string  `json:"release"` // the release that lacks it
	Since   string  `json:"since"`   // the first release that has it: "2.15"
}

// Error returns the feature and both releases.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: KEDA %s does not have it; use KEDA %s or later", e.Feature, e.Release, e.Since)
}

// Validate returns an [*UnsupportedError] for every feature that the manifest, or
// one of the scalers, uses and the release lacks. Then it returns a
// [*field.Error] for every field that the API server rejects under the custom
// resource definition of the release. All are joined. A field with its default
// value does not use a feature. Validate does not check triggers.
func (p Profile) Validate(j *ScaledJob, scalers ...Scaler) error {
	var problems field.Errors
	used := uses(j, scalers)
	for i := range features {
		if f := features[i].Feature; used[f] {
			problems.Join("", p.Supports(f))
		}
	}
	p.rejected(j, &problems)
	return problems.Err()
}

// uses returns the features that a manifest uses.
func uses(j *ScaledJob, scalers []Scaler) map[Feature]bool {
	spec, annotations := &j.Spec, j.Annotations
	strategy := &spec.ScalingStrategy
	_, pause := annotations[paused]
	_, excluded := annotations[excludedLabels]
	calculates := strategy.MultipleScalersCalculation != "" && strategy.MultipleScalersCalculation != "max"
	propagates := spec.Rollout.PropagationPolicy != "" && spec.Rollout.PropagationPolicy != "background"
	return map[Feature]bool{
		PendingConditions: len(strategy.PendingPodConditions) > 0,
		Calculation:       calculates || slices.ContainsFunc(scalers, func(s Scaler) bool { return s.MaxValue != nil }),
		DeprecatedRollout: !immediate(spec.RolloutStrategy),
		MinReplicaCount:   spec.MinReplicaCount != nil && *spec.MinReplicaCount != 0,
		RolloutFields:     !immediate(spec.Rollout.Strategy) || propagates,
		PauseAnnotation:   pause,
		EagerStrategy:     strategy.Strategy == "eager",
		ExcludedLabels:    excluded,
	}
}

// immediate reports whether a rollout strategy equals the default.
func immediate(strategy string) bool {
	return strategy == "" || strategy == "default" || strategy == "immediate"
}

// rejected adds an error for each value that the custom resource definition rejects.
func (p Profile) rejected(j *ScaledJob, problems *field.Errors) {
	if !p.has(behaviorAdmission, version{20, 0}) {
		return
	}
	reject := func(path, found, fix string) {
		problems.Add(field.Error{Path: path, Found: fmt.Sprintf("%s, which KEDA %s rejects", found, p.Release()), Fix: fix})
	}
	spec, strategies := &j.Spec, kinds[:]
	if !p.has(behaviorAdmission, version{20, 2}) {
		strategies = kinds[1:]
	}
	for _, n := range [...]struct {
		path   string
		value  *int32
		lowest int32
	}{
		{"spec.pollingInterval", spec.PollingInterval, 1},
		{"spec.successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit, 0},
		{"spec.failedJobsHistoryLimit", spec.FailedJobsHistoryLimit, 0},
		{"spec.minReplicaCount", spec.MinReplicaCount, 0},
		{"spec.maxReplicaCount", spec.MaxReplicaCount, 1},
	} {
		if n.value != nil && *n.value < n.lowest {
			reject(n.path, fmt.Sprint(*n.value), fmt.Sprintf("%d or more", n.lowest))
		}
	}
	for _, s := range [...]struct {
		path, value string
		names       []string
	}{
		{"spec.rolloutStrategy", spec.RolloutStrategy, rollouts},
		{"spec.rollout.strategy", spec.Rollout.Strategy, rollouts},
		{"spec.rollout.propagationPolicy", spec.Rollout.PropagationPolicy, propagations},
		{"spec.scalingStrategy.strategy", spec.ScalingStrategy.Strategy, strategies},
		{"spec.scalingStrategy.multipleScalersCalculation", spec.ScalingStrategy.MultipleScalersCalculation, calculations[:]},
	} {
		if s.value != "" && !slices.Contains(s.names, s.value) {
			reject(s.path, fmt.Sprintf("%q", s.value), "one of "+strings.Join(s.names, ", "))
		}
	}
}

var (
	rollouts     = []string{"gradual", "immediate"}
	propagations = []string{"background", "foreground"}
)
