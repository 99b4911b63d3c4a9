package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/internal/triggers"
)

// A counting reports whether a metric includes in-progress items. The zero value is
// unknown.
type counting uint8

const (
	includes counting = iota + 1
	leavesOut
)

// countings holds the triggers for which KEDA's scaler decides this. For other triggers it
// depends on the way in which workers take their items.
var countings = map[string]func(metadata map[string]string) counting{
	"activemq":               always,
	"apache-kafka":           always, // until the offset is committed
	"aws-sqs-queue":          sqs,
	"azure-queue":            azureQueue,
	"azure-servicebus":       always,
	"gcp-pubsub":             pubsub,
	"kafka":                  always,
	"nats-jetstream":         always,
	"redis":                  never, // a worker pops its item
	"redis-cluster":          never,
	"redis-cluster-streams":  stream,
	"redis-sentinel":         never,
	"redis-sentinel-streams": stream,
	"redis-streams":          stream,
}

func always(map[string]string) counting { return includes }

func never(map[string]string) counting { return leavesOut }

func sqs(m map[string]string) counting {
	inFlight, err := strconv.ParseBool(m["scaleOnInFlight"])
	return unless(err == nil && !inFlight)
}

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

// stream depends on the parameters. Without a consumer group, the metric is the length of
// the stream, which may include acknowledged entries. With a lagCount it counts undelivered
// entries, and otherwise the delivered entries that are not acknowledged.
func stream(m map[string]string) counting {
	switch lag, _ := strconv.ParseFloat(m["lagCount"], 64); {
	case m["consumerGroup"] == "":
		return 0
	case lag != 0:
		return leavesOut
	}
	return includes
}

// rabbitmq counts the ready messages over AMQP. Over HTTP it counts all messages, unless
// excludeUnacknowledged is set. Without a protocol, the scheme of the URL decides, also if
// the URL comes from another document.
func (j *job) rabbitmq(trigger int) (how counting, unknown bool) {
	in := j.input(trigger)
	get := func(name string) triggers.Value { return triggers.Get("rabbitmq", name, in) }
	if mode := get("mode"); mode.State == triggers.Known && mode.Text != "QueueLength" && mode.Text != "Unknown" {
		return 0, false
	}
	if exclude, err := strconv.ParseBool(get("excludeUnacknowledged").Text); exclude && err == nil {
		return leavesOut, false // KEDA rejects it over AMQP
	}
	switch protocol := get("protocol"); {
	case protocol.State == triggers.Known && protocol.Text == "amqp":
		return leavesOut, false
	case protocol.State == triggers.Known && protocol.Text == "http":
		return includes, false
	case protocol.State == triggers.Given:
		return 0, true
	}
	host := get("host")
	scheme, _, _ := strings.Cut(host.Text, "://")
	switch {
	case host.State != triggers.Known:
		return 0, host.State != triggers.Absent
	case scheme == "amqp" || scheme == "amqps":
		return leavesOut, false
	case scheme == "http" || scheme == "https":
		return includes, false
	}
	return 0, false // KEDA rejects it
}

// countOf reports whether the metric of a trigger includes in-progress items.
func (j *job) countOf(trigger int) counting {
	t := &j.spec.Triggers[trigger]
	if t.Type == "rabbitmq" {
		how, _ := j.rabbitmq(trigger)
		return how
	}
	if counts := countings[t.Type]; counts != nil {
		return counts(t.Metadata)
	}
	return 0
}

// metricUnknown reports triggers for which the manifest does not show this.
func metricUnknown(j *job) {
	if name := j.spec.ScalingStrategy.Strategy; name == "custom" {
		return
	}
	for i, t := range j.spec.Triggers {
		if t.Type != "rabbitmq" {
			continue
		}
		if _, unknown := j.rabbitmq(i); unknown {
			j.find(j.trigger(i, "type"), "Write protocol: amqp or protocol: http, or lint the manifest together with the Secret",
				effect{text: "the URL's protocol is unknown: the metric may include in-progress items or leave them out"})
		}
	}
}

// exclusions holds the settings that make a metric leave out in-progress items.
var exclusions = map[string]string{
	"aws-sqs-queue": `scaleOnInFlight: "false"`,
	"azure-queue":   "queueLengthStrategy: visibleonly",
	"rabbitmq":      `excludeUnacknowledged: "true" with protocol http, or protocol amqp`,
}

// inFlight finds the triggers that count so under a strategy.
func (j *job) inFlight(strategy string, how counting, want func(t *scaledjob.ScaleTrigger) string, text string) {
	if name := j.spec.ScalingStrategy.Strategy; name != strategy && (strategy != "default" || name != "") {
		return
	}
	for i := range j.spec.Triggers {
		t := &j.spec.Triggers[i]
		if j.countOf(i) == how {
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

func excluding(t *scaledjob.ScaleTrigger) string {
	if by := exclusions[t.Type]; by != "" {
		return fmt.Sprintf("Write %s, or use the strategy default", by)
	}
	return "Use the strategy default"
}

func defaultMissesUnacknowledged(j *job) {
	j.inFlight("default", leavesOut, func(*scaledjob.ScaleTrigger) string { return "Use the strategy accurate" },
		"the metric leaves out in-progress items, and default deducts the running Jobs: waiting items get too few Jobs")
}

func accurateCountsUnacknowledged(j *job) {
	j.inFlight("accurate", includes, excluding,
		"the metric includes in-progress items, and accurate does not deduct running Jobs: each poll creates Jobs for the same items again")
}

func eagerCountsUnacknowledged(j *job) {
	j.inFlight("eager", includes, excluding,
		"the metric includes in-progress items: each poll creates Jobs for the same items again")
}
