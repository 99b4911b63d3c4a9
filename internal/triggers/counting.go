package triggers

import (
	"strconv"
	"strings"
)

// A Counting says whether a metric includes the items being worked on. The zero value is
// not known.
type Counting uint8

const (
	Includes Counting = iota + 1
	LeavesOut
)

// Counts returns what the metric of a trigger counts, if KEDA's scaler decides it and not
// how the workers take their items. Hidden reports that a document which is not given
// decides it.
func Counts(kind string, in Input) (how Counting, hidden bool) {
	if kind == "rabbitmq" {
		return rabbitmq(in)
	}
	if counts := countings[kind]; counts != nil {
		return counts(in.Metadata), false
	}
	return 0, false
}

// rabbitmq counts the ready messages over AMQP. Over HTTP it counts all of them, unless
// excludeUnacknowledged leaves out those in progress. Without a protocol, the scheme of the
// URL decides, wherever the URL is.
func rabbitmq(in Input) (how Counting, hidden bool) {
	get := func(name string) Value { return Get("rabbitmq", name, in) }
	if mode := get("mode"); mode.State == Known && mode.Text != "QueueLength" && mode.Text != "Unknown" {
		return 0, false
	}
	if exclude, err := strconv.ParseBool(get("excludeUnacknowledged").Text); exclude && err == nil {
		return LeavesOut, false // KEDA rejects it over AMQP
	}
	switch protocol := get("protocol"); {
	case protocol.State == Known && protocol.Text == "amqp":
		return LeavesOut, false
	case protocol.State == Known && protocol.Text == "http":
		return Includes, false
	case protocol.State == Given:
		return 0, true
	}
	host := get("host")
	scheme, _, _ := strings.Cut(host.Text, "://")
	switch {
	case host.State != Known:
		return 0, host.State != Absent
	case scheme == "amqp" || scheme == "amqps":
		return LeavesOut, false
	case scheme == "http" || scheme == "https":
		return Includes, false
	}
	return 0, false // KEDA rejects it
}

// countings are of the triggers for which KEDA's scaler decides it, and not how
// the workers take their items.
var countings = map[string]func(metadata map[string]string) Counting{
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

func always(map[string]string) Counting { return Includes }

func never(map[string]string) Counting { return LeavesOut }

func sqs(m map[string]string) Counting {
	inFlight, err := strconv.ParseBool(m["scaleOnInFlight"])
	return unless(err == nil && !inFlight)
}

func unless(without bool) Counting {
	if without {
		return LeavesOut
	}
	return Includes
}

func azureQueue(m map[string]string) Counting {
	if m["queueLengthStrategy"] == "" { // differs between releases
		return 0
	}
	return unless(strings.EqualFold(m["queueLengthStrategy"], "visibleonly"))
}

func pubsub(m map[string]string) Counting {
	switch m["mode"] {
	case "", "SubscriptionSize", "NumUndeliveredMessages":
		return Includes
	}
	return 0
}

// stream is the length of the stream, from which acknowledged entries may be deleted or not,
// the entries that were delivered and not acknowledged, or those that were not delivered.
func stream(m map[string]string) Counting {
	switch lag, _ := strconv.ParseFloat(m["lagCount"], 64); {
	case m["consumerGroup"] == "":
		return 0
	case lag != 0:
		return LeavesOut
	}
	return Includes
}
