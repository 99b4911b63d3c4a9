package keda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Feature is something that a release may lack.
type Feature uint8

const (
	PendingCount      Feature = iota // pending Jobs are counted
	PendingConditions                // pendingPodConditions
	Calculation                      // multipleScalersCalculation, and what one scaler asks for
	DeprecatedRollout                // rolloutStrategy
	MinReplicaCount                  // minReplicaCount
	RolloutFields                    // rollout.strategy and rollout.propagationPolicy
	PauseAnnotation                  // the paused annotation
	EagerStrategy                    // the strategy eager
	ExcludedLabels                   // the annotation that excludes labels
	features          = iota
)

// featureRules are the parts and forms with which features begin.
var featureRules = [features]struct {
	name string
	part Part
	form uint8
}{
	PendingCount:      {"counting pending Jobs", PartPending, pending21},
	PendingConditions: {"spec.scalingStrategy.pendingPodConditions", PartPending, pending24},
	Calculation:       {"spec.scalingStrategy.multipleScalersCalculation", PartAggregation, aggregation25},
	DeprecatedRollout: {"spec.rolloutStrategy", PartRollout, rollout25},
	MinReplicaCount:   {"spec.minReplicaCount", PartReplicas, replicas28},
	RolloutFields:     {"spec.rollout", PartRollout, rollout28},
	PauseAnnotation:   {"metadata.annotations[" + paused + "]", PartPause, pause211},
	EagerStrategy:     {"spec.scalingStrategy.strategy eager", PartEager, eager215},
	ExcludedLabels:    {"metadata.annotations[" + excludedLabels + "]", PartLabels, labels218},
}

// String returns the field of the feature.
func (f Feature) String() string {
	if f < features {
		return featureRules[f].name
	}
	return fmt.Sprintf("Feature(%d)", uint8(f))
}

// Supports returns an [*UnsupportedError] if the release lacks the feature. A
// value that is no feature is supported.
func (p Profile) Supports(f Feature) error {
	if f >= features {
		return nil
	}
	r := featureRules[f]
	if p.forms[r.part] >= r.form {
		return nil
	}
	return &UnsupportedError{Feature: f, Release: p.Release(), Since: r.part.rule(r.form).Since}
}

// An UnsupportedError says that a release lacks a feature. KEDA does not say so:
// it does without.
type UnsupportedError struct {
	Feature Feature
	Release string // the release that lacks it
	Since   string // the first release that has it: "2.15"
}

// Error tells the feature and both releases.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: KEDA %s does not know it, want %s or later", e.Feature, e.Release, e.Since)
}

// A RefusedError says that the API server refuses a manifest under the custom
// resource definition of a release.
type RefusedError struct {
	Field   string // its path
	Value   string // what was found
	Want    string // what would be right
	Release string
}

// Error tells the field, what was found and what would be right.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is %s: KEDA %s wants %s", e.Field, e.Value, e.Release, e.Want)
}

// Validate returns every feature that the manifest, or one of the scalers, uses
// and the release lacks, as an [*UnsupportedError], and then every field that the
// API server refuses, as a [*RefusedError], joined. A default value is no use of
// a feature. Names are compared with those of the custom resource definition;
// triggers are not looked at.
func (p Profile) Validate(j *ScaledJob, scalers ...Scaler) error {
	var problems []error
	for feature, used := range uses(j, scalers) {
		if used {
			if err := p.Supports(Feature(feature)); err != nil {
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(append(problems, p.refused(j)...)...)
}

// uses reports which features a manifest uses.
func uses(j *ScaledJob, scalers []Scaler) [features]bool {
	spec, annotations := &j.Spec, j.Metadata.Annotations
	strategy := &spec.ScalingStrategy
	_, pause := annotations[paused]
	_, excluded := annotations[excludedLabels]
	return [features]bool{
		PendingConditions: len(strategy.PendingPodConditions) > 0,
		Calculation: strategy.MultipleScalersCalculation != "" && strategy.MultipleScalersCalculation != "max" ||
			slices.ContainsFunc(scalers, func(s Scaler) bool { return s.MaxValue != nil }),
		DeprecatedRollout: !immediate(spec.RolloutStrategy),
		MinReplicaCount:   spec.MinReplicaCount != nil && *spec.MinReplicaCount != 0,
		RolloutFields: !immediate(spec.Rollout.Strategy) ||
			spec.Rollout.PropagationPolicy != "" && spec.Rollout.PropagationPolicy != "background",
		PauseAnnotation: pause,
		EagerStrategy:   strategy.Strategy == "eager",
		ExcludedLabels:  excluded,
	}
}

// immediate reports whether a rollout strategy is what there is without one.
func immediate(strategy string) bool {
	return strategy == "" || strategy == "default" || strategy == "immediate"
}

// refused checks what the custom resource definition does.
func (p Profile) refused(j *ScaledJob) []error {
	form := p.forms[PartAdmission]
	if form == admission20 {
		return nil
	}
	var problems []error
	spec, strategies := &j.Spec, kinds[:]
	if form == admission220 {
		strategies = kinds[1:]
	}
	for _, n := range [...]struct {
		field string
		value *int32
		least int32
	}{
		{"spec.pollingInterval", spec.PollingInterval, 1},
		{"spec.successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit, 0},
		{"spec.failedJobsHistoryLimit", spec.FailedJobsHistoryLimit, 0},
		{"spec.minReplicaCount", spec.MinReplicaCount, 0},
		{"spec.maxReplicaCount", spec.MaxReplicaCount, 1},
	} {
		if n.value != nil && *n.value < n.least {
			problems = append(problems, &RefusedError{n.field, fmt.Sprint(*n.value), fmt.Sprintf("%d or more", n.least), p.Release()})
		}
	}
	for _, s := range [...]struct {
		field, value string
		known        []string
	}{
		{"spec.rolloutStrategy", spec.RolloutStrategy, rollouts},
		{"spec.rollout.strategy", spec.Rollout.Strategy, rollouts},
		{"spec.rollout.propagationPolicy", spec.Rollout.PropagationPolicy, propagations},
		{"spec.scalingStrategy.strategy", spec.ScalingStrategy.Strategy, strategies},
		{"spec.scalingStrategy.multipleScalersCalculation", spec.ScalingStrategy.MultipleScalersCalculation, calculations[:]},
	} {
		if s.value != "" && !slices.Contains(s.known, s.value) {
			problems = append(problems, &RefusedError{s.field, fmt.Sprintf("%q", s.value), "one of " + strings.Join(s.known, ", "), p.Release()})
		}
	}
	return problems
}

var (
	rollouts     = []string{"gradual", "immediate"}
	propagations = []string{"background", "foreground"}
)
