package manifest

import (
	"slices"
	"strconv"
	"strings"
)

// keys are the metadata keys of a trigger's target average value and activation threshold.
type keys struct {
	applies    func(metadata map[string]string) bool // nil: always
	target     []string                              // the first key that is set counts
	unset      float64                               // target if no key is set; 0: a key is required
	unit       float64                               // factor of the numbers in the metadata; 0 is 1
	activation string
	inactive   float64 // activation threshold if its key is not set
	full       bool    // active from the target on, and has no activation key
}

// triggerKeys are the types of the newest KEDA with a target in the manifest, and stan, which
// KEDA has dropped. The first keys that apply count. Types with a single key are generated
// from KEDA's source code ([simpleKeys]).
//
//   - cron, forgejo-runner and selenium-grid have a constant target of 1. The
//     metric of cron is desiredReplicas within its times, and 0 outside.
//   - If a Solace trigger has several targets, KEDA divides the first metric by the
//     mean of all targets. Here the first target counts, and Config warns.
//   - subscriptionSize of gcp-pubsub is read for releases before 2.20.
//   - The metric of splunk-observability is not an average value: KEDA reads the
//     target as 0 and creates no Job.
//   - Targets in an environment variable (github-runner, nsq) or in a
//     TriggerAuthentication (elasticsearch, opensearch) are not read: the caller
//     gives them.
var triggerKeys = func() map[string][]keys {
	table := map[string][]keys{
		"cron": {{unset: 1}},
		"datadog": {key("targetValue", 0).or("queryValue").onlyIf(isTrue("useClusterAgentProxy")),
			key("targetValue", 0).or("queryValue").activatedBy("activationQueryValue", 0)},
		"forgejo-runner":         {{unset: 1}},
		"gcp-pubsub":             {key("value", 10).or("subscriptionSize")},
		"github-runner":          {{target: []string{"targetWorkflowQueueLength"}, unset: 1, full: true}},
		"rabbitmq":               {key("value", 0), key("queueLength", 20).activatedBy("activationValue", 0).onlyIf(not(isSet("mode")))},
		"redis-cluster-streams":  streams,
		"redis-sentinel-streams": streams,
		"redis-streams":          streams,
		"selenium-grid":          {{unset: 1, activation: "activationThreshold"}},
		"solace-direct-messaging": {{target: []string{"aggregatedClientTxByteRateTarget"}}, {target: []string{"aggregatedClientAverageTxByteRateTarget"}},
			{target: []string{"aggregatedClientTxMsgRateTarget"}}, {target: []string{"aggregatedClientAverageTxMsgRateTarget"}}},
		"solace-event-queue": {key("messageCountTarget", 0), key("messageSpoolUsageTarget", 0).times(1 << 20), key("messageReceiveRateTarget", 0)},
		"stan":               {key("lagThreshold", 10)},
	}
	for kind, k := range simpleKeys {
		if table[kind] == nil {
			table[kind] = []keys{k}
		}
	}
	return table
}()

// streams count entries in a way that the metadata selects.
var streams = []keys{
	key("lagCount", 0).onlyIf(isSet("consumerGroup")),
	key("pendingEntriesCount", 5).activatedBy("activationLagCount", 0).onlyIf(isSet("consumerGroup")),
	key("streamLength", 5).activatedBy("activationLagCount", 0),
}

// otherTypes are the types of KEDA without a target in the manifest, each with the
// fix. The caller may give the target of any type.
var otherTypes = map[string]string{
	"cpu":           "a trigger that measures a queue: KEDA creates no Job for running pods",
	"memory":        "a trigger that measures a queue: KEDA creates no Job for running pods",
	"external":      "a target average value given by the caller: only the external scaler has it",
	"external-push": "a target average value given by the caller: only the external scaler has it",
	"external-mock": "another trigger: KEDA has it for its own tests",
}

// key returns the usual keys: the activation key is the target's with a prefix, and
// its threshold is 0 if unset.
func key(target string, unset float64) keys {
	return keys{target: []string{target}, unset: unset, activation: "activation" + strings.ToUpper(target[:1]) + target[1:]}
}

func (k keys) or(target string) keys {
	k.target = append(k.target, target)
	return k
}

func (k keys) activatedBy(key string, unset float64) keys {
	k.activation, k.inactive = key, unset
	return k
}

func (k keys) times(unit float64) keys {
	k.unit = unit
	return k
}

func (k keys) onlyIf(applies func(map[string]string) bool) keys {
	k.applies = applies
	return k
}

// value returns the text of a key. KEDA cuts spaces, and takes an empty text for
// an unset key.
func value(metadata map[string]string, key string) string { return strings.TrimSpace(metadata[key]) }

func isSet(key string) func(map[string]string) bool {
	return func(metadata map[string]string) bool { return value(metadata, key) != "" }
}

func isTrue(key string) func(map[string]string) bool {
	return func(metadata map[string]string) bool {
		b, err := strconv.ParseBool(value(metadata, key))
		return b && err == nil
	}
}

func not(condition func(map[string]string) bool) func(map[string]string) bool {
	return func(metadata map[string]string) bool { return !condition(metadata) }
}

// set returns the target's key that counts, or "" if none is set.
func (k keys) set(metadata map[string]string) string {
	for _, key := range k.target {
		if value(metadata, key) != "" {
			return key
		}
	}
	return ""
}

// choose returns the first keys that apply: when holds, and a target is set or has a
// default. If none apply, it returns the first element.
func choose(variants []keys, metadata map[string]string) keys {
	i := slices.IndexFunc(variants, func(k keys) bool {
		return (k.applies == nil || k.applies(metadata)) && (k.unset > 0 || k.set(metadata) != "")
	})
	return variants[max(0, i)]
}
