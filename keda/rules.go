// Package keda computes the decisions of each release of KEDA about a ScaledJob: the
// number of Jobs to create in a poll, the finished and the outdated Jobs to delete, and
// the metadata of a new Job. It includes KEDA's faults. Package scaling computes the
// documented decisions.
//
//	release, err := keda.Release("2.18")
//	decision := release.Decide(&scaledJob, keda.State{Scalers: scalers, Running: 3, Pending: 1})
//
// [Release] reads "2.18", the last patch of that minor, or "2.18.1". [Releases] lists
// the known releases, from 2.0.0 on. A [Profile] has a [Rule] for each behavior in
// which releases differ:
//
//	aggregation  2.0  2.5   2.8     2.13         how several scalers become a demand
//	cap          2.0  2.8   2.12                 how a quotient is held to the maximum
//	replicas     2.0  2.8   2.11                 what the minimum and the maximum mean
//	accurate     2.0  2.1   2.19                 the strategy accurate
//	eager        2.0  2.15                       the strategy eager
//	custom       2.0  2.20.2                     the strategy custom
//	creation     2.0  2.13  2.14.1               how a number of Jobs is created
//	pending      2.0  2.1   2.4     2.18         which Jobs are pending
//	history      2.0                             which finished Jobs are deleted
//	rollout      2.0  2.4   2.5     2.8  2.14.1  which outdated Jobs are deleted
//	pause        2.0  2.11  2.13                 what pauses a ScaledJob
//	labels       2.0  2.1   2.4     2.18         the labels of a Job
//	annotations  2.0  2.13  2.14.1               the annotations of a Job
//	admission    2.0  2.20  2.20.2               what the API server rejects
//
// [Rules] returns the sentence of each. [Changes] lists the differences of two releases.
// [Profile.With] replaces a rule, to find the rule that a decision depends on.
//
// No field value panics here; a *ScaledJob must not be nil. If KEDA panics, or if a number of KEDA's wraps around, the result
// has a [Fault]. If a manifest uses a feature that a release lacks, Decide ignores the
// feature, as KEDA does. [Profile.Validate] reports such features, with the first
// release that has them, and the fields that the API server rejects.
//
// Numbers are as on amd64, on every machine: a float64 that no int64 can hold
// becomes the smallest int64. Queue lengths and targets are what float64 makes of
// the quantities that scalers report.
package keda

import (
	"fmt"
	"slices"
	"strings"
)

// lastPatch holds the number of the last patch of each minor release. A new release begins here.
var lastPatch = [...]uint8{0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 1, 2, 1, 1, 1, 1, 1, 3, 3, 0, 2, 0}

// A behavior is a difference between releases. It has one [Rule] at a time.
type behavior uint8

const (
	behaviorAggregation behavior = iota // how several scalers become a demand
	behaviorCap                         // how the maximum limits a quotient
	behaviorReplicas                    // what minReplicaCount and maxReplicaCount mean
	behaviorAccurate                    // the strategy accurate
	behaviorEager                       // the strategy eager
	behaviorCustom                      // the strategy custom
	behaviorCreation                    // how a number of Jobs is created
	behaviorPending                     // which Jobs are pending
	behaviorHistory                     // which finished Jobs are deleted
	behaviorRollout                     // which outdated Jobs are deleted
	behaviorPause                       // what pauses a ScaledJob
	behaviorLabels                      // the labels of a Job
	behaviorAnnotations                 // the annotations of a Job
	behaviorAdmission                   // values that the API server rejects

	behaviors = iota
)

type form struct {
	first version
	text  string
}

type behaviorForms struct {
	name  string
	forms []form
}

// table holds the forms of each behavior, oldest first.
var table = [behaviors]behaviorForms{
	behaviorAggregation: {"aggregation", []form{
		{version{0, 0}, "The queue lengths of all scalers, active or not, are added up and divided by the target of the last scaler, in whole numbers; a fraction reads as 0."},
		{version{5, 0}, "multipleScalersCalculation combines the active scalers, each divided by its own target and rounded up, in whole numbers; a fraction reads as 0, and a scaler that fails is left out."},
		{version{8, 0}, "Queue lengths and targets may be fractions, and the demand is rounded up once, after the scalers are combined."},
		{version{13, 0}, "Each metric of a scaler is a separate entry, and its queue is 0 unless it has the name of the first metric."},
	}},
	behaviorCap: {"cap", []form{
		{version{0, 0}, "The maximum limits whole numbers."},
		{version{8, 0}, "A quotient that is not a number becomes the maximum."},
		{version{12, 0}, "A quotient that is not a number remains NaN, which creates no Jobs."},
	}},
	behaviorReplicas: {"replicas", []form{
		{version{0, 0}, "There is no minimum, and the maximum is maxReplicaCount, or 100."},
		{version{8, 0}, "minReplicaCount is deducted from maxReplicaCount; a minimum above the maximum leaves the queue no Jobs, and a minimum without a maximum panics."},
		{version{11, 0}, "minReplicaCount is deducted from maxReplicaCount; with a minimum above the maximum the queue gets the whole maximum, and a minimum without a maximum is added to 100."},
	}},
	behaviorAccurate: {"accurate", []form{
		{version{0, 0}, "accurate proposes M - R if T + R exceeds M, else T."},
		{version{1, 0}, "accurate proposes M - R if T + R exceeds M, else T - P."},
		{version{19, 0}, "accurate proposes M - R if T + R - P exceeds M, else T - P, so that pending Jobs near the maximum are subtracted too."},
	}},
	behaviorEager: {"eager", []form{
		{version{0, 0}, "The strategy eager does not exist: its name selects default."},
		{version{15, 0}, "eager proposes min(M - R - P, T), and the queue length does not limit it."},
	}},
	behaviorCustom: {"custom", []form{
		{version{0, 0}, "custom without customScalingQueueLengthDeduction panics."},
		{version{20, 2}, "custom without customScalingQueueLengthDeduction deducts nothing."},
	}},
	behaviorCreation: {"creation", []form{
		{version{0, 0}, "Jobs are created one after another, and none if the number is negative."},
		{version{13, 0}, "All Jobs are generated before the first is created, and a number that no slice can have, such as a negative number, panics."},
		{version{14, 1}, "No Jobs are generated if the strategy's answer is 0 or less; otherwise a number that no slice can have panics."},
	}},
	behaviorPending: {"pending", []form{
		{version{0, 0}, "Pending Jobs are not counted."},
		{version{1, 0}, "A Job is pending while none of its pods is Running or Succeeded."},
		{version{4, 0}, "With pendingPodConditions a Job is pending unless the number of true conditions, added up over its pods, equals the length of the list."},
		{version{18, 0}, "With pendingPodConditions a Job is pending until a single pod has all conditions; a list with a duplicate is never met."},
	}},
	behaviorHistory: {"history", []form{
		{version{0, 0}, "Finished Jobs are ordered by completion time, which failed Jobs do not have, and the first Jobs above the limit are deleted."},
	}},
	behaviorRollout: {"rollout", []form{
		{version{0, 0}, "A rollout selects Jobs by a label that no Job has, and deletes none."},
		{version{4, 0}, "Every Job is deleted on each reconciliation."},
		{version{5, 0}, "Every Job is deleted on each reconciliation, unless rolloutStrategy is gradual."},
		{version{8, 0}, "Every Job is deleted on each reconciliation, unless rolloutStrategy, or else rollout.strategy, is gradual."},
		{version{14, 1}, "Every Job without the current generation in its annotation is deleted, unless rolloutStrategy, or else rollout.strategy, is gradual."},
	}},
	behaviorPause: {"pause", []form{
		{version{0, 0}, "A ScaledJob cannot be paused."},
		{version{11, 0}, "The paused annotation pauses with any value."},
		{version{13, 0}, "The paused annotation pauses, unless its value is a spelling of false."},
	}},
	behaviorLabels: {"labels", []form{
		{version{0, 0}, "Jobs are found by the label scaledjob."},
		{version{1, 0}, "Jobs are found by the label scaledjob and have the labels of the ScaledJob, which take precedence."},
		{version{4, 0}, "Jobs are found by the label scaledjob.keda.sh/name and have the labels of the ScaledJob, which take precedence."},
		{version{18, 0}, "Jobs have the labels of the ScaledJob, which take precedence, except the labels named in the annotation scaledjob.keda.sh/job-excluded-labels."},
	}},
	behaviorAnnotations: {"annotations", []form{
		{version{0, 0}, "Jobs have no annotations."},
		{version{13, 0}, "Jobs have the annotations of the ScaledJob."},
		{version{14, 1}, "Jobs have the annotations of the ScaledJob, which take precedence, and its generation."},
	}},
	behaviorAdmission: {"admission", []form{
		{version{0, 0}, "The API server accepts any number and any name."},
		{version{20, 0}, "The API server rejects numbers out of range and unknown names, and also the strategy default."},
		{version{20, 2}, "The API server rejects numbers out of range and unknown names."},
	}},
}

// Rules returns the rules of all behaviors, in the order of the package comment, each
// behavior's oldest first.
func Rules() []Rule {
	var rules []Rule
	for b := range behavior(behaviors) {
		for _, f := range table[b].forms {
			rules = append(rules, b.rule(f.first))
		}
	}
	return rules
}

// behaviorOf returns the behavior of that name.
func behaviorOf(name string) (behavior, bool) {
	i := slices.IndexFunc(table[:], func(b behaviorForms) bool { return b.name == name })
	return behavior(i), i >= 0
}

// rule returns the rule of b that begins with the release first.
func (b behavior) rule(first version) Rule {
	rule := Rule{Behavior: table[b].name, Since: first.firstRelease()}
	for _, f := range table[b].forms {
		if f.first == first {
			rule.Text = f.text
		}
	}
	return rule
}

// find sets the form of r's behavior in forms, or returns an error if r is not one of
// [Rules]. It ignores the text.
func (r Rule) find(forms *[behaviors]version) error {
	b, ok := behaviorOf(r.Behavior)
	if !ok {
		return fmt.Errorf("rules: found %q; use a behavior of the package keda", r.Behavior)
	}
	var releases []string
	for i, f := range table[b].forms {
		releases = append(releases, f.first.firstRelease())
		if releases[i] == r.Since {
			forms[b] = f.first
			return nil
		}
	}
	return fmt.Errorf("rules[%s]: found %q; use %s", r.Behavior, r.Since, strings.Join(releases, ", "))
}

// A Rule is the form of a behavior from one release on, until the behavior's next
// rule. The zero value belongs to no behavior.
type Rule struct {
	Behavior string `json:"behavior"` // its name in the package comment
	Since    string `json:"since"`    // the first release with the rule: "2.8", or "2.14.1"
	Text     string `json:"text"`     // the rule in a sentence
}

// String returns the behavior, the first release and the sentence.
func (r Rule) String() string { return fmt.Sprintf("%s since %s: %s", r.Behavior, r.Since, r.Text) }
