package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
)

// otherTypes are the triggers of KEDA 2.21 that have no target average value of
// their own, and those that it has dropped.
var otherTypes = []string{"azure-cosmosdb", "cpu", "cron", "datadog", "dynatrace", "elastic-forecast", "external", "external-mock",
	"external-push", "forgejo-runner", "gcp-storage", "huawei-cloudeye", "memory", "nsq", "openstack-metric", "openstack-swift",
	"predictkube", "selenium-grid", "solace-direct-messaging", "solarwinds", "splunk", "splunk-observability", "sumologic"}

// trigger is the place of a field of a trigger.
func (j *job) trigger(i int, steps ...any) place {
	return j.at(append([]any{"spec", "triggers", i}, steps...)...)
}

func triggerTypeUnknown(j *job) {
	types := append(adapter.TriggerTypes(), otherTypes...)
	for i, t := range j.spec.Triggers {
		if t.Type == "" || slices.Contains(types, t.Type) {
			continue
		}
		want := cmp.Or(nearest(t.Type, types), "a type that KEDA has")
		j.find(j.trigger(i, "type"), want, effect{text: "KEDA has no such scaler, and never polls"})
	}
}

func triggerWithoutJobs(j *job) {
	for i, t := range j.spec.Triggers {
		if t.Type == "cpu" || t.Type == "memory" {
			j.find(j.trigger(i, "type"), "a trigger that measures a queue", effect{text: "it measures running pods: KEDA passes it over, and it asks for no Job"})
		}
	}
}

func triggerPush(j *job) {
	for i, t := range j.spec.Triggers {
		if t.Type == "external-push" {
			j.find(j.trigger(i, "type"), "external", effect{text: "what it pushes does not create Jobs: KEDA polls it"})
		}
	}
}

func triggerNameDuplicate(j *job) {
	first := map[string]int{}
	for i, t := range j.spec.Triggers {
		if _, seen := first[t.Name]; seen && t.Name != "" {
			j.find(j.trigger(i, "name"), "a name of its own", effect{when: from("2.14.0"), text: "KEDA refuses both triggers, and never polls"})
			continue
		}
		first[t.Name] = i
	}
}

func triggerMetricType(j *job) {
	for i, t := range j.spec.Triggers {
		if t.MetricType != "" {
			j.find(j.trigger(i, "metricType"), "no such field: a ScaledJob always goes by the target average value",
				effect{when: from("2.7.0"), text: "KEDA refuses it, and never polls"})
		}
	}
}

func triggerCachedMetrics(j *job) {
	for i, t := range j.spec.Triggers {
		if t.UseCachedMetrics {
			j.find(j.trigger(i, "useCachedMetrics"), "no such field", effect{when: from("2.10.0"), text: "it has no effect on ScaledJobs"})
		}
	}
}

// metadataProblems are what adapter says of a trigger's metadata, by key.
func (j *job) metadataProblems(i int) map[string]*adapter.FieldError {
	problems := map[string]*adapter.FieldError{}
	for _, p := range j.problems {
		if key, ok := strings.CutPrefix(p.Field, fmt.Sprintf("spec.triggers[%d].metadata.", i)); ok {
			problems[key] = p
		}
	}
	return problems
}

func targetInvalid(j *job) {
	for i := range j.spec.Triggers {
		for key, p := range j.metadataProblems(i) {
			if !strings.HasPrefix(key, "activation") {
				j.find(j.trigger(i, "metadata", key), p.Want,
					effect{text: "KEDA's scaler refuses it and never polls, takes its default instead, or asks for no Job"})
			}
		}
	}
}

func activationInvalid(j *job) {
	for i := range j.spec.Triggers {
		for key, p := range j.metadataProblems(i) {
			if strings.HasPrefix(key, "activation") {
				j.find(j.trigger(i, "metadata", key), p.Want, effect{text: "KEDA's scaler refuses it, or is active with an empty queue"})
			}
		}
	}
}

// targetKey returns the key of the metadata without which the target is
// another.
func (j *job) targetKey(i int) (string, bool) {
	metadata := j.spec.Triggers[i].Metadata
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if x, err := strconv.ParseFloat(metadata[key], 64); err != nil || x != j.config.Triggers[i].Target {
			continue
		}
		without := j.spec.Triggers[i]
		without.Metadata = maps.Clone(metadata)
		delete(without.Metadata, key)
		config, _ := configOf(&adapter.ScaledJob{Spec: adapter.ScaledJobSpec{Triggers: []adapter.ScaleTrigger{without}}})
		if config.Triggers[0].Target != j.config.Triggers[i].Target {
			return key, true
		}
	}
	return "", false
}

func targetBelowOne(j *job) {
	for i, t := range j.config.Triggers {
		key, ok := "", t.Target > 0 && t.Target < 1
		if ok {
			key, ok = j.targetKey(i)
		}
		if !ok {
			continue
		}
		fraction := keda.Scaler{Target: t.Target}
		j.find(j.trigger(i, "metadata", key), "1 or more; several Jobs for an item are the Job's parallelism",
			effect{when: func(p keda.Profile) bool { return p.TargetAverage(&fraction) == 0 },
				text: "targets are whole numbers: this one is 0, and asks for no Job"},
			effect{when: func(p keda.Profile) bool {
				return p.TargetAverage(&fraction) > 0 && p.Strategy(j.model).Name() != "eager"
			}, text: "a poll creates no more Jobs than the queue is long, whatever the target asks for"})
	}
}

// hostIsName is met by a host that is neither an address nor a URL.
func hostIsName(host string) bool {
	return host != "" && !strings.ContainsAny(host, "./:@")
}

func hostNotAURL(j *job) {
	for i, t := range j.spec.Triggers {
		if host := t.Metadata["host"]; t.Type == "rabbitmq" && hostIsName(host) {
			j.find(j.trigger(i, "metadata", "host"), fmt.Sprintf("hostFromEnv: %s for that environment variable, or a URL such as amqp://…", host),
				effect{text: "KEDA takes it for the URL itself, cannot connect, and never polls"})
		}
	}
}

// compares reports whether several triggers are compared by their queues.
func (j *job) compares(calculations ...string) bool {
	return len(j.spec.Triggers) > 1 && slices.Contains(calculations, j.spec.ScalingStrategy.MultipleScalersCalculation)
}

// calculation is the place of multipleScalersCalculation, or of the triggers.
func (j *job) calculation() place {
	if at := j.scaling("multipleScalersCalculation"); at.found != nothing {
		return at
	}
	at := j.key("spec", "triggers")
	at.found = "several triggers and no multipleScalersCalculation"
	return at
}

func calculationComparesQueues(j *job) {
	targets := map[float64]bool{}
	for _, t := range j.config.Triggers {
		if slices.Contains(adapter.TriggerTypes(), t.Type) {
			targets[t.Target] = true
		}
	}
	if len(targets) < 2 || !j.compares("", "max", "min") {
		return
	}
	longest := "longest"
	if j.spec.ScalingStrategy.MultipleScalersCalculation == "min" {
		longest = "shortest"
	}
	j.find(j.calculation(), "sum or avg, or equal targets",
		effect{when: not(supports(keda.Calculation)), text: "the queues of all triggers are added up and divided by the target of the last"},
		effect{when: supports(keda.Calculation), text: fmt.Sprintf("the trigger with the %s queue counts, and not the one that asks for the most or fewest Jobs: their targets differ", longest)})
}

func calculationCapsFirst(j *job) {
	if j.compares("avg") {
		j.find(j.calculation(), "sum, or a mean below the maximum",
			effect{when: supports(keda.Calculation), text: "each trigger is held to the maximum before the mean: one long queue beside a short one gets about half of the maximum"})
	}
}

func calculationSkipsEmpty(j *job) {
	if j.compares("min") {
		j.find(j.calculation(), "max, avg or sum",
			effect{when: supports(keda.Calculation), text: "an active trigger with an empty queue does not count, and the next one does: the minimum is not 0"})
	}
}
