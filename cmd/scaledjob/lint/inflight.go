package lint

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/adapter"
)

// A counting says whether a metric includes the items being worked on. The zero
// value is not known.
type counting uint8

const (
	includes counting = iota + 1
	leavesOut
)

// countings are of the triggers for which KEDA's scaler decides it, and not how
// the workers take their items.
var countings = map[string]func(metadata map[string]string) counting{
	"activemq":               always,
	"apache-kafka":           always, // until the offset is committed
	"aws-sqs-queue":          func(m map[string]string) counting { return unless(m["scaleOnInFlight"] == "false") },
	"azure-queue":            azureQueue,
	"azure-servicebus":       always,
	"gcp-pubsub":             pubsub,
	"kafka":                  always,
	"nats-jetstream":         always,
	"rabbitmq":               rabbitmq,
	"redis-cluster-streams":  pendingEntries,
	"redis-sentinel-streams": pendingEntries,
	"redis-streams":          pendingEntries,
}

func always(map[string]string) counting { return includes }

func unless(without bool) counting {
	if without {
		return leavesOut
	}
	return includes
}

func azureQueue(m map[string]string) counting {
	if m["queueLengthStrategy"] == "" { // differs between releases
		return 0
	}
	return unless(strings.EqualFold(m["queueLengthStrategy"], "visibleonly"))
}

func pubsub(m map[string]string) counting {
	switch m["mode"] {
	case "", "SubscriptionSize", "NumUndeliveredMessages":
		return includes
	}
	return 0
}

// pendingEntries are those that were delivered and not acknowledged.
func pendingEntries(m map[string]string) counting {
	if m["pendingEntriesCount"] == "" {
		return 0
	}
	return includes
}

// rabbitmq tells the ready messages over AMQP, and over HTTP all but where
// excludeUnacknowledged says otherwise. Where the protocol is in a Secret, it is
// taken as HTTP unless the host says more.
func rabbitmq(m map[string]string) counting {
	if mode := m["mode"]; mode != "" && mode != "QueueLength" {
		return 0
	}
	amqp := m["protocol"] == "amqp" || strings.HasPrefix(m["host"], "amqp")
	return unless(amqp || m["excludeUnacknowledged"] == "true")
}

// exclusions say how a metric can be told to leave out what is being worked on.
var exclusions = map[string]string{
	"aws-sqs-queue": `scaleOnInFlight: "false"`,
	"azure-queue":   "queueLengthStrategy: visibleonly",
	"rabbitmq":      `protocol http and excludeUnacknowledged: "true", or protocol amqp`,
}

// inFlight finds the triggers that count so under a strategy.
func (j *job) inFlight(strategy string, how counting, want func(t *adapter.ScaleTrigger) string, text string) {
	if name := j.spec.ScalingStrategy.Strategy; name != strategy && (strategy != "default" || name != "") {
		return
	}
	for i := range j.spec.Triggers {
		t := &j.spec.Triggers[i]
		if counts := countings[t.Type]; counts != nil && counts(t.Metadata) == how {
			at := j.trigger(i, "type")
			at.found = t.Type
			if strategy == "default" {
				j.find(at, want(t), effect{text: text})
			} else {
				j.find(at, want(t), effect{when: j.selects(), text: text})
			}
		}
	}
}

func excluding(t *adapter.ScaleTrigger) string {
	if by := exclusions[t.Type]; by != "" {
		return fmt.Sprintf("%s, or the strategy default", by)
	}
	return "the strategy default"
}

func defaultMissesUnacknowledged(j *job) {
	j.inFlight("default", leavesOut, func(*adapter.ScaleTrigger) string { return "the strategy accurate" },
		"the metric leaves out the items being worked on, and default deducts the running Jobs once more: the waiting items get that many fewer")
}

func accurateCountsUnacknowledged(j *job) {
	j.inFlight("accurate", includes, excluding,
		"the metric includes the items being worked on, and accurate does not deduct the running Jobs: each poll creates Jobs for the same items again, up to the maximum")
}

func eagerCountsUnacknowledged(j *job) {
	j.inFlight("eager", includes, excluding,
		"the metric includes the items being worked on: each poll creates Jobs for the same items again, up to the maximum")
}
