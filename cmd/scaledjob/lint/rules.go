package lint

import "github.com/scaledjob/scaledjob/internal/triggers"

// A Rule is one hazard that is looked for.
type Rule struct {
	ID       string   `json:"id"` // in kebab case; it does not change
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc"` // in one line
}

// Rules lists the rules, grouped by what they look at.
func Rules() []Rule {
	all := make([]Rule, len(rules))
	for i := range rules {
		all[i] = rules[i].Rule
	}
	return all
}

type rule struct {
	Rule
	check func(*job) // nil where reading the file finds it
}

// Rules of reading the files.
var (
	yamlSyntax    = Rule{"yaml-syntax", Error, "the text is not YAML, or is a template that was not rendered"}
	duplicateKey  = Rule{"duplicate-key", Error, "the same key twice, of which the last wins or the API server rejects both"}
	wrongKind     = Rule{"wrong-kind", Error, "no ScaledJob in any of the files, or its kind is misspelled"}
	wrongVersion  = Rule{"wrong-api-version", Error, "an apiVersion other than KEDA's keda.sh/v1alpha1"}
	unknownField  = Rule{"unknown-field", Error, "a field that a ScaledJob does not have: misspelled, misplaced, or a ScaledObject's"}
	wrongType     = Rule{"wrong-type", Error, "a value of another type than its field"}
	notAString    = Rule{"not-a-string", Error, "a number or boolean without quotes where a string must be"}
	unknownIgnore = Rule{"unknown-ignore", Warning, "a scaledjob:ignore comment that names no rule"}
)

var rules = []rule{
	{yamlSyntax, nil},
	{duplicateKey, nil},
	{wrongKind, nil},
	{wrongVersion, nil},
	{unknownField, nil},
	{wrongType, nil},
	{notAString, nil},
	{unknownIgnore, nil},
	{Rule{"missing-field", Error, "a required field without a value: name, template, containers, triggers"}, missingField},
	{Rule{"unsupported-feature", Warning, "a feature that a release asked about lacks"}, unsupportedFeature},

	{Rule{"min-above-max", Error, "minReplicaCount above maxReplicaCount: twice the maximum, or no Job for the queue"}, minAboveMax},
	{Rule{"min-uses-up-max", Warning, "minReplicaCount equal to maxReplicaCount, which leaves the queue no Job"}, minUsesUpMax},
	{Rule{"min-without-max", Warning, "minReplicaCount without maxReplicaCount: on top of 100, or the operator panics"}, minWithoutMax},
	{Rule{"min-negative", Error, "a negative minReplicaCount"}, minNegative},
	{Rule{"max-below-1", Error, "a maxReplicaCount that leaves the queue no Job"}, maxBelow1},
	{Rule{"history-limit-negative", Error, "a negative history limit, of which the operator panics"}, historyLimitNegative},
	{Rule{"polling-interval-below-1", Error, "a pollingInterval below a second"}, pollingIntervalBelow1},

	{Rule{"strategy-unknown", Error, "a strategy that KEDA does not know, and takes as default"}, strategyUnknown},
	{Rule{"strategy-default-refused", Warning, "strategy default written out, which two releases refuse"}, strategyDefaultRefused},
	{Rule{"calculation-unknown", Error, "a multipleScalersCalculation that KEDA does not know, and takes as max"}, calculationUnknown},
	{Rule{"custom-without-percentage", Warning, "custom without customScalingRunningJobPercentage, which is default"}, customWithoutPercentage},
	{Rule{"custom-without-deduction", Error, "custom without customScalingQueueLengthDeduction, of which the operator panics"}, customWithoutDeduction},
	{Rule{"custom-parameters-unused", Warning, "parameters of custom under another strategy"}, customParametersUnused},
	{Rule{"custom-exceeds-max", Warning, "custom comes to run more Jobs than maxReplicaCount"}, customExceedsMax},
	{Rule{"percentage-unparseable", Error, "a percentage that is no decimal, which makes custom default"}, percentageUnparseable},
	{Rule{"percentage-out-of-range", Error, "a percentage that is not from 0 to 1"}, percentageOutOfRange},
	{Rule{"percentage-no-effect", Warning, "a percentage so small that running Jobs are never deducted"}, percentageNoEffect},
	{Rule{"deduction-negative", Note, "a negative deduction, which cannot make more Jobs than the queue is long"}, deductionNegative},
	{Rule{"accurate-ignores-pending", Note, "accurate before 2.19 makes Jobs twice near the maximum"}, accurateIgnoresPending},
	{Rule{"eager-subtracts-pending-twice", Note, "eager makes no Jobs while half of the maximum is pending"}, eagerSubtractsPendingTwice},
	{Rule{"min-hides-demand", Warning, "under accurate and eager, pending Jobs of the minimum hide the queue"}, minHidesDemand},

	{Rule{"pending-condition-duplicate", Error, "a pending condition listed twice, which is never met"}, pendingConditionDuplicate},
	{Rule{"pending-condition-misspelled", Error, "a pending condition that is nearly one of Kubernetes' and never met"}, pendingConditionMisspelled},
	{Rule{"pending-conditions-too-early", Warning, "pending conditions that hold before a container runs"}, pendingConditionsTooEarly},
	{Rule{"pending-conditions-several-pods", Warning, "pending conditions with parallelism, which are added up over pods before 2.18"}, pendingConditionsSeveralPods},
	{Rule{"pending-conditions-unused", Note, "pending conditions under a strategy that does not look at pending Jobs"}, pendingConditionsUnused},

	{Rule{"rollout-unknown", Error, "a rollout strategy that KEDA does not know, and takes as immediate"}, rolloutUnknown},
	{Rule{"rollout-default-refused", Error, "rollout strategy default, which releases since 2.20 refuse"}, rolloutDefaultRefused},
	{Rule{"rollout-deprecated", Note, "rolloutStrategy, which is deprecated"}, rolloutDeprecated},
	{Rule{"rollout-deprecated-wins", Error, "rolloutStrategy wins over a rollout.strategy that says the opposite"}, rolloutDeprecatedWins},
	{Rule{"propagation-unknown", Error, "a propagationPolicy that KEDA does not know, and takes as background"}, propagationUnknown},
	{Rule{"propagation-unused", Note, "a propagationPolicy under gradual, which deletes nothing"}, propagationUnused},

	{Rule{"paused-unparseable", Error, "a paused annotation that is no boolean, and pauses"}, pausedUnparseable},
	{Rule{"paused-false", Warning, "a paused annotation of false, which pauses 2.11 and 2.12"}, pausedFalse},
	{Rule{"paused-ignored", Warning, "annotations that pause ScaledObjects only"}, pausedIgnored},

	{Rule{"name-too-long", Error, "a name over 63 characters, of which no Job can be made"}, nameTooLong},
	{Rule{"name-invalid", Error, "a name that Kubernetes rejects"}, nameInvalid},
	{Rule{"reserved-label", Error, "a label by which KEDA finds its Jobs: it loses them, and makes more on each poll"}, reservedLabel},
	{Rule{"reserved-annotation", Error, "the annotation by which KEDA knows old Jobs: it deletes new ones"}, reservedAnnotation},
	{Rule{"excluded-labels-spaces", Warning, "spaces in job-excluded-labels, which become part of the labels"}, excludedLabelsSpaces},
	{Rule{"tracking-copied", Note, "marks of a deployment tool, which KEDA copies to Jobs"}, trackingCopied},

	{Rule{"job-field-negative", Error, "a negative number in jobTargetRef, with which no Job can be made"}, jobFieldNegative},
	{Rule{"job-never-runs", Error, "a 0 in jobTargetRef with which no Job does any work"}, jobNeverRuns},
	{Rule{"job-suspended", Warning, "Jobs that are made suspended, and count as running"}, jobSuspended},
	{Rule{"restart-policy-always", Error, "a restart policy that a Job cannot have"}, restartPolicyAlways},
	{Rule{"restart-policy-unknown", Error, "a restart policy other than Never and OnFailure"}, restartPolicyUnknown},
	{Rule{"restart-policy-missing", Warning, "no restart policy, which KEDA takes as OnFailure"}, restartPolicyMissing},
	{Rule{"container-incomplete", Error, "a container without a name or an image"}, containerIncomplete},
	{Rule{"container-name-invalid", Error, "a container's name that Kubernetes rejects, or that two containers have"}, containerNameInvalid},
	{Rule{"limits-below-requests", Error, "a resource limit below the request"}, limitsBelowRequests},
	{Rule{"volume-unknown", Error, "a volumeMount without its volume"}, volumeUnknown},
	{Rule{"pull-policy-unknown", Error, "an imagePullPolicy that Kubernetes does not know"}, pullPolicyUnknown},
	{Rule{"parallelism-not-counted", Note, "maxReplicaCount counts Jobs and not their pods"}, parallelismNotCounted},
	{Rule{"env-container-unknown", Error, "an envSourceContainerName that is no container of the template"}, envContainerUnknown},

	{Rule{"trigger-type-unknown", Error, "a type of trigger that no release has"}, triggerTypeUnknown},
	{Rule{"trigger-type-release", Warning, "a type of trigger that a release lacks"}, typeOfAnotherRelease},
	{Rule{"trigger-key-unknown", Warning, "a key of a trigger's metadata that its scaler does not read"}, metadataRule(triggers.UnknownKey)},
	{Rule{"trigger-key-release", Warning, "a key of a trigger's metadata that a release does not read"}, keyOfAnotherRelease},
	{Rule{"trigger-key-misplaced", Warning, "a key of a trigger's metadata that belongs in a TriggerAuthentication, or the other way round"}, metadataRule(triggers.WrongPlace)},
	{Rule{"trigger-key-removed", Error, "a key of a trigger's metadata that KEDA rejects"}, metadataRule(triggers.Removed)},
	{Rule{"trigger-key-deprecated", Note, "a key of a trigger's metadata that KEDA will drop"}, metadataRule(triggers.Announced)},
	{Rule{"trigger-parameter-missing", Error, "a trigger without a parameter that its scaler needs"}, metadataRule(triggers.Missing)},
	{Rule{"trigger-value-type", Error, "a value in a trigger's metadata of another type than its parameter"}, metadataRule(triggers.WrongType)},
	{Rule{"trigger-value-unknown", Error, "a value in a trigger's metadata that is none of the allowed ones"}, metadataRule(triggers.WrongValue)},
	{Rule{"trigger-rejected", Error, "a trigger's metadata that its scaler rejects: a schedule, a time zone, parameters that exclude or need each other"}, metadataRule(triggers.Broken)},
	{Rule{"trigger-url-invalid", Warning, "a URL without http:// or https://"}, urlInvalid},
	{Rule{"trigger-address-invalid", Warning, "an address without a port, or with a scheme"}, addressInvalid},
	{Rule{"trigger-credentials-missing", Warning, "a trigger for AWS without credentials"}, credentialsMissing},
	{Rule{"metric-unknown", Note, "a RabbitMQ trigger whose protocol no document shows"}, metricUnknown},
	{Rule{"trigger-without-jobs", Error, "a trigger that never asks for Jobs"}, triggerWithoutJobs},
	{Rule{"trigger-push", Note, "a push trigger, which is polled for ScaledJobs"}, triggerPush},
	{Rule{"trigger-name-duplicate", Error, "two triggers of one name"}, triggerNameDuplicate},
	{Rule{"trigger-metric-type", Error, "a metricType, which ScaledJobs must not have"}, triggerMetricType},
	{Rule{"trigger-cached-metrics", Warning, "useCachedMetrics, which ScaledJobs do not have"}, triggerCachedMetrics},
	{Rule{"target-invalid", Error, "a target that is missing, 0, negative or no number"}, targetInvalid},
	{Rule{"target-below-one", Warning, "a target below 1, which cannot make more than one Job for each item"}, targetBelowOne},
	{Rule{"activation-invalid", Error, "an activation threshold that is negative or no number"}, activationInvalid},
	{Rule{"host-not-a-url", Error, "a host that is the name of an environment variable"}, hostNotAURL},
	{Rule{"calculation-compares-queues", Warning, "several triggers with different targets, of which the queue lengths are compared"}, calculationComparesQueues},
	{Rule{"calculation-caps-first", Note, "avg of several triggers, each of which is capped before the mean"}, calculationCapsFirst},
	{Rule{"calculation-skips-empty", Warning, "min of several triggers, in which an empty queue does not count"}, calculationSkipsEmpty},
	{Rule{"default-misses-unacknowledged", Warning, "default with a metric that leaves out the items being worked on"}, defaultMissesUnacknowledged},
	{Rule{"accurate-counts-unacknowledged", Warning, "accurate with a metric that includes the items being worked on"}, accurateCountsUnacknowledged},
	{Rule{"eager-counts-unacknowledged", Warning, "eager with a metric that includes the items being worked on"}, eagerCountsUnacknowledged},

	{Rule{"missing-secret", Warning, "a Secret that no document provides; a note where no Secret is among them"}, missingSecret},
	{Rule{"missing-config-map", Warning, "a ConfigMap that no document provides; a note where no ConfigMap is among them"}, missingConfigMap},
	{Rule{"missing-key", Warning, "a key that the document which should provide it does not have"}, missingKey},
	{Rule{"missing-environment", Error, "an environment variable that no document provides; a note where it may come from one that is not given"}, missingEnvironment},
	{Rule{"missing-authentication", Warning, "a TriggerAuthentication that no document provides; a note where none is among them"}, missingAuthentication},
	{Rule{"authentication-kind-unknown", Error, "a kind of authentication that KEDA does not know"}, authenticationKindUnknown},
}

func ruleIDs() []string {
	var ids []string
	for i := range rules {
		ids = append(ids, rules[i].ID)
	}
	return ids
}
