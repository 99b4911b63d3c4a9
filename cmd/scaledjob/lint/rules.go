package lint

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// A Rule describes a mistake.
type Rule struct {
	ID       string   `json:"id"` // in kebab case; it does not change
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc"` // the problem, in a sentence without a full stop
}

// Rules returns the rules, grouped by subject.
func Rules() []Rule {
	list := make([]Rule, len(rules))
	for i := range rules {
		list[i] = rules[i].Rule
	}
	return list
}

type rule struct {
	Rule
	check func(*job) // nil if reading the file checks it
}

// Rules of reading the files.
var (
	yamlSyntax        = Rule{"yaml-syntax", Error, "the text is not YAML, or it is a template that was not rendered"}
	duplicateKey      = Rule{"duplicate-key", Error, "a key occurs twice: the last value wins, or the API server rejects the object"}
	wrongKind         = Rule{"wrong-kind", Error, "a kind is misspelled"}
	wrongVersion      = Rule{"wrong-api-version", Error, "the apiVersion is not the one of the kind, such as keda.sh/v1alpha1"}
	unknownField      = Rule{"unknown-field", Error, "the field does not exist in a ScaledJob: it is misspelled, misplaced or a ScaledObject's"}
	wrongType         = Rule{"wrong-type", Error, "the value has another type than its field"}
	notAString        = Rule{"not-a-string", Error, "a number or boolean needs quotes, because the field is a string, or a quantity with a fraction"}
	nullValue         = Rule{"null-value", Note, "a field is null: kubectl apply leaves it out, and a server-side apply of Flux or Helm 4 is rejected"}
	fieldMissing      = Rule{"missing-field", Error, "a required field has no value, such as a name, the template, the containers or the triggers"}
	unsupported       = Rule{"unsupported-feature", Warning, "a release named with --release lacks a feature or a field that the manifest uses"}
	restartUnknown    = Rule{"restart-policy-unknown", Error, "restartPolicy is neither Never nor OnFailure"}
	pullUnknown       = Rule{"pull-policy-unknown", Error, "Kubernetes does not know the imagePullPolicy"}
	inTemplate        = Rule{"template-rejected", Error, "the API server rejects the Jobs: a field of the Job or of its template has a value that Kubernetes does not allow"}
	duplicateObject   = Rule{"duplicate-object", Warning, "a file, or a directory for ScaledJobs, holds the same object twice: the one that is applied last wins"}
	scheduledInvalid  = Rule{"scheduled-job-invalid", Error, "the controller of ScheduledJobs rejects the object"}
	scheduledSurprise = Rule{"scheduled-job-surprise", Warning, "the ScheduledJob is accepted, and may do what its author does not expect"}
	overBound         = Rule{"too-large", Error, "a file, a document or the number of findings is over a bound, and the remainder was not judged"}
	placeholder       = Rule{"placeholder", Note, "a tool must replace a value of the ScaledJob, whose form is not checked"}
	unknownIgnore     = Rule{"unknown-ignore", Warning, "a scaledjob:ignore comment names a rule that does not exist"}
)

var rules = []rule{
	{yamlSyntax, nil},
	{overBound, nil},
	{duplicateKey, nil},
	{wrongKind, nil},
	{wrongVersion, nil},
	{unknownField, nil},
	{wrongType, nil},
	{notAString, nil},
	{nullValue, nil},
	{duplicateObject, nil},
	{unknownIgnore, nil},
	{placeholder, nil},
	{scheduledInvalid, nil},
	{scheduledSurprise, nil},
	{fieldMissing, missingField},
	{unsupported, unsupportedFeature},

	{Rule{"min-above-max", Error, "minReplicaCount exceeds maxReplicaCount: up to twice the maximum runs, or the queue gets no Job"}, minAboveMax},
	{Rule{"min-uses-up-max", Warning, "minReplicaCount equals maxReplicaCount: the queue gets no Job"}, minUsesUpMax},
	{Rule{"min-is-additional", Warning, "the Jobs of minReplicaCount are in addition to the Jobs for the queue, which KEDA ignores while fewer run"}, minIsAdditional},
	{Rule{"min-without-max", Warning, "minReplicaCount is set and maxReplicaCount is not: the minimum is added to 100, or the operator panics"}, minWithoutMax},
	{Rule{"min-negative", Error, "minReplicaCount is negative"}, minNegative},
	{Rule{"max-below-1", Error, "maxReplicaCount is below 1: the queue gets no Job"}, maxBelow1},
	{Rule{"history-limit-negative", Error, "a history limit is negative: the operator panics or deletes every finished Job of that outcome"}, historyLimitNegative},
	{Rule{"polling-interval-below-1", Error, "pollingInterval is below 1 second"}, pollingIntervalBelow1},

	{Rule{"strategy-unknown", Error, "KEDA does not know the strategy and uses default"}, strategyUnknown},
	{Rule{"strategy-default-refused", Warning, "two releases reject strategy: default"}, strategyDefaultRefused},
	{Rule{"calculation-unknown", Error, "KEDA does not know the multipleScalersCalculation and uses max"}, calculationUnknown},
	{Rule{"custom-without-percentage", Warning, "custom without customScalingRunningJobPercentage acts as default"}, customWithoutPercentage},
	{Rule{"custom-without-deduction", Error, "custom without customScalingQueueLengthDeduction makes the operator panic"}, customWithoutDeduction},
	{Rule{"deduction-starves", Warning, "custom leaves the last items of the queue without a Job"}, deductionStarves},
	{Rule{"custom-parameters-unused", Warning, "parameters of custom have no effect under another strategy"}, customParametersUnused},
	{Rule{"custom-exceeds-max", Warning, "custom may run more Jobs than maxReplicaCount"}, customExceedsMax},
	{Rule{"percentage-unparseable", Error, "the percentage is not a decimal: custom acts as default"}, percentageUnparseable},
	{Rule{"percentage-out-of-range", Error, "the percentage is not between 0 and 1"}, percentageOutOfRange},
	{Rule{"percentage-no-effect", Error, "the percentage is so small that running Jobs are never deducted"}, percentageNoEffect},
	{Rule{"deduction-negative", Note, "a negative deduction does not create more Jobs than the queue length"}, deductionNegative},
	{Rule{"accurate-ignores-pending", Note, "near the maximum, accurate creates Jobs twice before KEDA 2.19"}, accurateIgnoresPending},
	{Rule{"eager-subtracts-pending-twice", Note, "eager creates no Job while half of the maximum is pending"}, eagerSubtractsPendingTwice},
	{Rule{"min-hides-demand", Warning, "accurate and eager deduct pending Jobs of the minimum from the Jobs for the queue"}, minHidesDemand},

	{Rule{"pending-condition-duplicate", Error, "a pending condition is listed twice: Jobs never stop counting as pending"}, pendingConditionDuplicate},
	{Rule{"pending-condition-misspelled", Error, "a pending condition is one that no pod has: misspelled, or copied from an example"}, pendingConditionMisspelled},
	{Rule{"pending-conditions-too-early", Warning, "the pending conditions hold before a container runs"}, pendingConditionsTooEarly},
	{Rule{"pending-conditions-several-pods", Warning, "with parallelism, KEDA before 2.18 adds up the pending conditions of all pods"}, pendingConditionsSeveralPods},
	{Rule{"pending-conditions-unused", Note, "the strategy does not use pending Jobs, so that pendingPodConditions has no effect"}, pendingConditionsUnused},

	{Rule{"rollout-unknown", Error, "KEDA does not know the rollout strategy and uses immediate"}, rolloutUnknown},
	{Rule{"rollout-default-refused", Error, "releases since 2.20 reject the rollout strategy default"}, rolloutDefaultRefused},
	{Rule{"rollout-deprecated", Note, "rolloutStrategy is deprecated"}, rolloutDeprecated},
	{Rule{"rollout-deprecated-wins", Error, "rolloutStrategy contradicts rollout.strategy and takes precedence"}, rolloutDeprecatedWins},
	{Rule{"propagation-unknown", Error, "KEDA does not know the propagationPolicy and uses background"}, propagationUnknown},
	{Rule{"propagation-unused", Note, "propagationPolicy has no effect under gradual, which deletes no Jobs"}, propagationUnused},

	{Rule{"paused-unparseable", Error, "the paused annotation is not a boolean, and pauses the ScaledJob"}, pausedUnparseable},
	{Rule{"paused-false", Warning, `the paused annotation is "false", and pauses the ScaledJob in 2.11 and 2.12`}, pausedFalse},
	{Rule{"paused-ignored", Warning, "the annotation pauses ScaledObjects and has no effect on a ScaledJob"}, pausedIgnored},
	{Rule{"annotation-unknown", Warning, "KEDA does not read this annotation of its domain"}, annotationUnknown},

	{Rule{"name-too-long", Error, "the name exceeds 63 characters: no Job can be created"}, nameTooLong},
	{Rule{"name-invalid", Error, "Kubernetes rejects the name"}, nameInvalid},
	{Rule{"reserved-label", Error, "KEDA finds its Jobs by this label: it does not find them and creates more in each poll"}, reservedLabel},
	{Rule{"reserved-annotation", Error, "KEDA finds outdated Jobs by this annotation: it deletes new Jobs"}, reservedAnnotation},
	{Rule{"excluded-labels-spaces", Warning, "spaces in job-excluded-labels become part of the labels' names"}, excludedLabelsSpaces},
	{Rule{"tracking-copied", Note, "KEDA copies the marks of a deployment tool to the Jobs"}, trackingCopied},
	{Rule{"pod-mark-misplaced", Warning, "the ScaledJob has a label or annotation that is read on pods, to which KEDA does not copy it"}, podMarkMisplaced},
	{Rule{"helm-hook", Warning, "the ScaledJob is a hook of Helm, which deletes it and its Jobs at each upgrade"}, helmHook},

	{Rule{"job-field-negative", Error, "a number in jobTargetRef is negative: no Job can be created"}, jobFieldNegative},
	{Rule{"job-never-runs", Error, "a number in jobTargetRef is 0: no Job does any work"}, jobNeverRuns},
	{Rule{"job-suspended", Warning, "Jobs are created suspended, and KEDA counts them as running"}, jobSuspended},
	{Rule{"job-selector", Error, "jobTargetRef has a selector: Kubernetes makes the selectors of Jobs"}, jobSelector},
	{Rule{"restart-policy-always", Error, "a Job cannot have restartPolicy: Always"}, restartPolicyAlways},
	{restartUnknown, nil},
	{Rule{"restart-policy-missing", Warning, "restartPolicy is missing: KEDA uses OnFailure"}, restartPolicyMissing},
	{Rule{"container-incomplete", Error, "a container has no name or no image"}, eachContainer(containerIncomplete)},
	{Rule{"container-name-invalid", Error, "Kubernetes rejects the container's name, or two containers share it"}, containerNameInvalid},
	{Rule{"port-invalid", Error, "a port of a container is not from 1 to 65535"}, eachContainer(portInvalid)},
	{Rule{"limits-below-requests", Error, "a resource limit is below the request"}, eachContainer(limitsBelowRequests)},
	{Rule{"volume-unknown", Error, "a volumeMount names a volume that the template does not have"}, eachContainer(volumeUnknown)},
	{pullUnknown, nil},
	{inTemplate, templateRejected},
	{Rule{"pod-never-works", Error, "the pods of the Jobs cannot start, or a probe has no effect"}, eachContainer(podNeverWorks)},
	{Rule{"sidecar-never-ends", Warning, "a container beside the worker does not end, so that no Job completes"}, sidecarNeverEnds},
	{Rule{"variable-duplicate", Error, "two variables of a container have the same name: the API server rejects the ScaledJob"}, eachContainer(variableDuplicate)},
	{Rule{"variable-unknown", Warning, "a command refers to a variable that the container does not have"}, eachContainer(variableUnknown)},
	{Rule{"parallelism-not-counted", Note, "maxReplicaCount counts Jobs, and each Job has several pods"}, parallelismNotCounted},
	{Rule{"env-container-unknown", Error, "envSourceContainerName names a container that the template does not have"}, envContainerUnknown},

	{Rule{"trigger-type-unknown", Error, "no release has a trigger of this type"}, eachTrigger(triggerTypeUnknown)},
	{Rule{"trigger-type-release", Warning, "a release has no trigger of this type"}, typeOfAnotherRelease},
	{Rule{"trigger-key-unknown", Warning, "the scaler does not read this key of the trigger's metadata"}, metadataRule(triggers.UnknownKey)},
	{Rule{"trigger-key-release", Warning, "a release does not read this key of the trigger's metadata"}, keyOfAnotherRelease},
	{Rule{"trigger-key-misplaced", Warning, "the key belongs in a TriggerAuthentication and not in the metadata, or the reverse"}, metadataRule(triggers.WrongPlace)},
	{Rule{"trigger-key-removed", Error, "KEDA rejects this key of the trigger's metadata"}, metadataRule(triggers.Removed)},
	{Rule{"trigger-key-deprecated", Note, "a later release of KEDA drops this trigger type, or a key of its metadata"}, metadataRule(triggers.Announced)},
	{Rule{"trigger-parameter-missing", Error, "the trigger lacks a parameter that its scaler requires"}, metadataRule(triggers.Missing)},
	{Rule{"trigger-value-type", Error, "a value in the trigger's metadata has the wrong type"}, metadataRule(triggers.WrongType)},
	{Rule{"trigger-value-unknown", Error, "a value in the trigger's metadata is not an allowed value"}, metadataRule(triggers.WrongValue)},
	{Rule{"trigger-rejected", Error, "the scaler rejects the metadata: a schedule, a time zone, or parameters that exclude or require each other"}, metadataRule(triggers.Broken)},
	{Rule{"trigger-key-ineffective", Warning, "KEDA accepts the value and does not do what it says: the key needs another key, or the value is unknown"}, metadataRule(triggers.Ineffective)},
	{Rule{"trigger-url-invalid", Warning, "a URL does not begin with http:// or https://"}, urlInvalid},
	{Rule{"trigger-address-invalid", Warning, "an address has no port, or has a scheme, or a port is not from 1 to 65535"}, addressInvalid},
	{Rule{"trigger-region-invalid", Warning, "awsRegion is not the name of a region, or the queue is in another region"}, regionInvalid},
	{Rule{"trigger-host-unresolvable", Warning, "KEDA's operator cannot resolve a host name without its namespace"}, hostUnresolvable},
	{Rule{"trigger-password-unescaped", Error, "a password in a URL has a character that ends it"}, passwordUnescaped},
	{Rule{"trigger-variable-as-value", Warning, "a value is the name of a variable of the container and not its value"}, eachTrigger(variableAsValue)},
	{Rule{"trigger-credentials-missing", Error, "a trigger for AWS has no credentials, and KEDA rejects it"}, eachTrigger(credentialsMissing)},
	{Rule{"metric-unknown", Note, "no document shows the protocol of a RabbitMQ trigger"}, eachTrigger(metricUnknown)},
	{Rule{"trigger-without-jobs", Error, "the trigger never asks for Jobs"}, eachTrigger(triggerWithoutJobs)},
	{Rule{"trigger-push", Note, "KEDA polls a push trigger of a ScaledJob"}, eachTrigger(triggerPush)},
	{Rule{"trigger-name-duplicate", Error, "two triggers have the same name"}, triggerNameDuplicate},
	{Rule{"trigger-metric-type", Error, "the trigger has a metricType, which KEDA rejects in a ScaledJob"}, eachTrigger(triggerMetricType)},
	{Rule{"trigger-cached-metrics", Warning, "useCachedMetrics has no effect in a ScaledJob"}, eachTrigger(triggerCachedMetrics)},
	{Rule{"target-invalid", Error, "the target is missing, 0, negative or not a number"}, numberInvalid(false, "KEDA creates no Job for the trigger", "KEDA cannot read it as the target")},
	{Rule{"target-below-one", Warning, "the target is below 1, but each item gets at most one Job"}, targetBelowOne},
	{Rule{"activation-invalid", Error, "the activation threshold is negative or not a number"}, numberInvalid(true, "an empty queue counts as active", "KEDA cannot read it as the activation value")},
	{Rule{"activation-hides-items", Warning, "the activation threshold reaches the target: items that would fill a Job get none"}, activationHidesItems},
	{Rule{"cron-repeats-jobs", Note, "only cron triggers: a Job that ends within the window is created again, unlike a CronJob's"}, cronRepeatsJobs},
	{Rule{"cron-window-long", Warning, "the window of a cron trigger lasts longer than a day, or never begins or ends"}, eachTrigger(cronWindowLong)},
	{Rule{"stream-never-starts", Warning, "the trigger counts entries that a running Job has read, and without one nobody reads"}, eachTrigger(streamNeverStarts)},
	{Rule{"pipelines-placeholder", Note, "Azure Pipelines queues no job in a pool without a registered agent"}, eachTrigger(pipelinesPlaceholder)},
	{Rule{"pipelines-fetch-limit", Note, "KEDA reads fewer jobs of Azure Pipelines than maxReplicaCount"}, eachTrigger(pipelinesFetchLimit)},
	{Rule{"partitions-limit", Warning, "the partitions of --partitions limit the Jobs below maxReplicaCount"}, eachTrigger(partitionsLimit)},
	{Rule{"host-not-a-url", Error, "the host is the name of an environment variable and not a URL"}, eachTrigger(hostNotAURL)},
	{Rule{"calculation-compares-queues", Warning, "several triggers have different targets, and KEDA compares their queue lengths"}, calculationComparesQueues},
	{Rule{"calculation-caps-first", Note, "avg caps the Jobs of each trigger before it takes the mean"}, calculationCapsFirst},
	{Rule{"calculation-skips-empty", Warning, "min ignores triggers with an empty queue"}, calculationSkipsEmpty},
	{Rule{"default-misses-unacknowledged", Warning, "default needs a metric that includes in-progress items"}, inFlight("default", triggers.LeavesOut,
		"the metric leaves out in-progress items, and default deducts the running Jobs, so waiting items get too few Jobs")},
	{Rule{"accurate-counts-unacknowledged", Warning, "accurate needs a metric that leaves out in-progress items"}, inFlight("accurate", triggers.Includes,
		"the metric includes in-progress items, and accurate does not deduct running Jobs, so each poll creates Jobs for the same items again, up to the maximum")},
	{Rule{"eager-counts-unacknowledged", Warning, "eager needs a metric that leaves out in-progress items"}, inFlight("eager", triggers.Includes,
		"the metric includes in-progress items, so each poll creates Jobs for the same items again, up to the maximum")},

	{Rule{"name-misspelled", Warning, "no document has the ServiceAccount, Secret or PersistentVolumeClaim, and one has a similar name"}, nameMisspelled},
	{Rule{"missing-secret", Warning, "no document provides the Secret; a note if the files hold no Secret at all"}, missing("Secret")},
	{Rule{"missing-config-map", Warning, "no document provides the ConfigMap; a note if the files hold no ConfigMap at all"}, missing("ConfigMap")},
	{Rule{"missing-key", Warning, "the referenced object does not have this key"}, missingKey},
	{Rule{"missing-environment", Error, "no document provides the environment variable; a note if an object that is not given may provide it"}, missingEnvironment},
	{Rule{"missing-authentication", Warning, "no document provides the TriggerAuthentication; a note if the files hold none at all"}, missingAuthentication},
	{inAuthentication, nil},
	{Rule{"authentication-parameter-unknown", Warning, "no trigger takes this parameter from the TriggerAuthentication"}, authenticationParameterUnknown},
	{Rule{"authentication-kind-unknown", Error, "KEDA does not know this kind of authentication"}, eachTrigger(authenticationKindUnknown)},
}

func ruleIDs() []string {
	var ids []string
	for i := range rules {
		ids = append(ids, rules[i].ID)
	}
	return ids
}

//go:generate env LINT_RULES=../../../docs/lint-rules.md go test -count=1 . -run ^TestPage$

//go:embed examples.txt
var examplesText string

// An Example holds two pieces of a manifest: Bad has a finding of the rule, Good has none.
type Example struct{ Bad, Good string }

// examples are the examples of all rules, by rule.
var examples = sync.OnceValue(func() map[string]Example {
	parsed := map[string]Example{}
	for section := range strings.SplitSeq(examplesText, "\n== ") {
		id, text, ok := strings.Cut(section, "\n")
		if bad, good, complete := strings.Cut(text, "\n--\n"); ok && complete {
			parsed[id] = Example{strings.TrimSpace(bad) + "\n", strings.TrimSpace(good) + "\n"}
		}
	}
	return parsed
})

// Explain returns a text about a rule: its severity, its description, a bad and a good
// example. It is an error if the rule is unknown.
func Explain(id string) (string, error) {
	for i := range rules {
		if r := rules[i].Rule; r.ID == id {
			e := r.Example()
			return fmt.Sprintf("%s (%s): %s.\n\nBad:\n\n%s\nGood:\n\n%s\nMore: %s\n", r.ID, r.Severity, r.Doc, indent(e.Bad), indent(e.Good), r.URL()), nil
		}
	}
	return "", unknownRule(id)
}

// Example returns the examples of the rule.
func (r Rule) Example() Example { return examples()[r.ID] }

// URL returns the address of the rule's description.
func (r Rule) URL() string {
	return "https://github.com/scaledjob/scaledjob/blob/main/docs/lint-rules.md#" + r.ID
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
