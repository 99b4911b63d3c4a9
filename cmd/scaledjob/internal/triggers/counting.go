package triggers

import (
	"slices"
	"strconv"
	"strings"
)

// A Counting reports whether a metric includes in-progress items. The zero value is
// unknown.
type Counting uint8

const (
	Includes Counting = iota + 1
	LeavesOut
)

// Counts returns what the metric of a trigger counts under a release such as "2.20", if KEDA's
// scaler decides it and not how the workers take their items. Hidden reports that a document
// which is not given decides it.
func Counts(kind, release string, in Input) (how Counting, hidden bool) {
	for _, f := range inFlight[kind] {
		if !Within(release, f.Releases) {
			continue
		}
		if kind == "rabbitmq" {
			return rabbitmq(in, Minor(release) >= 8)
		}
		return f.counts(in.Metadata), false
	}
	return 0, false
}

// rabbitmq counts the ready messages over AMQP. Over HTTP it counts all messages, unless
// excludeUnacknowledged is set. Without a protocol, the scheme of the URL
// decides, also if the URL comes from another document.
func rabbitmq(in Input, excludes bool) (how Counting, hidden bool) {
	get := func(name string) Value { return Get("rabbitmq", name, in) }
	if mode := get("mode"); mode.State == Visible && mode.Text != "QueueLength" && mode.Text != "Unknown" {
		return 0, false
	}
	if exclude, err := strconv.ParseBool(get("excludeUnacknowledged").Text); exclude && err == nil {
		if !excludes {
			return 0, false // the manifest is for later releases
		}
		return LeavesOut, false // KEDA rejects it over AMQP
	}
	switch protocol := get("protocol"); {
	case protocol.State == Visible && protocol.Text == "amqp":
		return LeavesOut, false
	case protocol.State == Visible && protocol.Text == "http":
		return Includes, false
	case protocol.State == Hidden:
		return 0, true
	}
	host := get("host")
	scheme, _, _ := strings.Cut(host.Text, "://")
	switch {
	case scheme == "amqp" || scheme == "amqps":
		return LeavesOut, false
	case scheme == "http" || scheme == "https":
		return Includes, false
	}
	hidden = host.State != Visible && host.State != Absent
	return 0, hidden // or KEDA rejects it
}

// A Proof is what shows whether a metric includes in-progress items in some releases: a
// function of KEDA's source code.
type Proof struct {
	Releases       string // first and last minor: "2.8 2.19", or "2.20" for all later ones
	File, Function string // in pkg/scalers
	counts         func(metadata map[string]string) Counting
}

// Proofs returns the proofs by type of trigger. What a type without a proof counts is unknown:
// it depends on the server or on how workers take their items. The releases 2.0, 2.1 and 2.6 are
// unknown too: the module proxy does not serve their source code.
func Proofs() map[string][]Proof { return inFlight }

var inFlight = map[string][]Proof{
	"activemq":      {{"2.7", "activemq_scaler.go", "getQueueMessageCount", always}},
	"apache-kafka":  {{"2.12", "apache_kafka_scaler.go", "getLagForPartition", always}},                   // until the offset is committed
	"artemis-queue": alsoIn("2.2 2.5", Proof{"2.7", "artemis_scaler.go", "getQueueMessageCount", always}), // messageCount has the messages in delivery
	"aws-sqs-queue": {
		{"2.2 2.5", "aws_sqs_queue_scaler.go", "GetAwsSqsQueueLength", unlessGiven("scaleOnInFlight")},
		{"2.7 2.7", "aws_sqs_queue_scaler.go", "getAwsSqsQueueLength", unlessGiven("scaleOnInFlight")},
		{"2.8", "aws_sqs_queue_scaler.go", "getAwsSqsQueueLength", unlessOff("scaleOnInFlight")},
	},
	"azure-pipelines": {
		{"2.3 2.5", "azure_pipelines_scaler.go", "GetAzurePipelinesQueueLength", always}, // without a result
		{"2.7 2.8", "azure_pipelines_scaler.go", "GetAzurePipelinesQueueLength", always},
		{"2.9 2.19", "azure_pipelines_scaler.go", "stripDeadJobs", always},
		{"2.20 2.20", "azure_pipelines_scaler.go", "stripDeadJobs", never},
		{"2.21", "azure_pipelines_scaler.go", "stripDeadJobs", unlessOff("scaleOnInFlight")},
	},
	"azure-eventhub": alsoIn("2.2 2.5", Proof{"2.7", "azure_eventhub_scaler.go", "GetUnprocessedEventCountInPartition", always}), // until the checkpoint
	"azure-queue": {
		{"2.10 2.14", "azure/azure_queue.go", "GetAzureQueueLength", unlessGiven("queueLengthStrategy")}, // before, fewer than 32 are the visible ones
		{"2.15", "azure_queue_scaler.go", "getMessageCount", azureQueue},
	},
	"azure-servicebus": append(alsoIn("2.2 2.5", Proof{"2.7 2.8", "azure_servicebus_scaler.go", "getQueueEntityFromNamespace", always}),
		Proof{"2.9", "azure_servicebus_scaler.go", "getQueueLength", always}),
	"beanstalkd":     {{"2.16", "beanstalkd_scaler.go", "GetMetricsAndActivity", always}}, // ready and reserved
	"forgejo-runner": {{"2.18", "forgejo_runner_scaler.go", "getJobsList", always}},       // Forgejo lists waiting and running jobs
	"gcp-pubsub": {
		{"2.2 2.4", "gcp_pub_sub_scaler.go", "GetSubscriptionSize", pubsub},
		{"2.5 2.5", "gcp_pub_sub_scaler.go", "GetMetrics", pubsub},
		{"2.7 2.8", "gcp_pubsub_scaler.go", "GetMetrics", pubsub},
		{"2.9", "gcp_pubsub_scaler.go", "GetMetricsAndActivity", pubsub},
	},
	"github-runner": {
		{"2.10 2.13", "github_runner_scaler.go", "GetWorkflowQueueLength", never},
		{"2.14", "github_runner_scaler.go", "GetWorkflowQueueLength", always},
	},
	"kafka":                  alsoIn("2.2 2.5", Proof{"2.7", "kafka_scaler.go", "getLagForPartition", always}),
	"liiklus":                alsoIn("2.2 2.5", Proof{"2.7", "liiklus_scaler.go", "getLag", always}),
	"nats-jetstream":         {{"2.8", "nats_jetstream_scaler.go", "getMaxMsgLag", always}},
	"nsq":                    {{"2.17", "nsq_scaler.go", "aggregateDepth", never}},   // in_flight_count is another figure
	"pulsar":                 {{"2.8", "pulsar_scaler.go", "getMsgBackLog", always}}, // until it is acknowledged
	"rabbitmq":               alsoIn("2.2 2.5", Proof{"2.7", "rabbitmq_scaler.go", "getQueueStatus", nil}),
	"redis":                  alsoIn("2.2 2.5", Proof{"2.7", "redis_scaler.go", "NewRedisScaler", never}), // a worker pops its item
	"redis-cluster":          alsoIn("2.2 2.5", Proof{"2.7", "redis_scaler.go", "NewRedisScaler", never}),
	"redis-sentinel":         alsoIn("2.5 2.5", Proof{"2.7", "redis_scaler.go", "NewRedisScaler", never}),
	"redis-streams":          alsoIn("2.2 2.5", Proof{"2.7", "redis_streams_scaler.go", "NewRedisStreamsScaler", stream}),
	"redis-cluster-streams":  alsoIn("2.2 2.5", Proof{"2.7", "redis_streams_scaler.go", "NewRedisStreamsScaler", stream}),
	"redis-sentinel-streams": alsoIn("2.5 2.5", Proof{"2.7", "redis_streams_scaler.go", "NewRedisStreamsScaler", stream}),
	"solace-event-queue":     alsoIn("2.4 2.5", Proof{"2.7", "solace_scaler.go", "getSolaceQueueMetricsFromSEMP", spooled}),
	"temporal": {
		{"2.17 2.17", "temporal.go", "getQueueSize", never},
		{"2.18 2.19", "temporal_scaler.go", "getQueueSize", never},
		{"2.20", "temporal_scaler.go", "getUnversionedBacklogCount", never},
	},
	"selenium-grid": {
		{"2.4 2.5", "selenium_grid_scaler.go", "getCountFromSeleniumResponse", always}, // requests and sessions
		{"2.7 2.15", "selenium_grid_scaler.go", "getCountFromSeleniumResponse", always},
		{"2.16 2.20", "selenium_grid_scaler.go", "GetMetricsAndActivity", always},
		{"2.21", "selenium_grid_scaler.go", "GetMetricsAndActivity", unlessOff("includeOngoingSessions")},
	},
}

// CountsItems reports whether triggers of a type count items, so that the metric is a whole number: those
// with a proof, and some more. That of gcp-pubsub may be an average or a time.
func CountsItems(kind string) bool {
	return (inFlight[kind] != nil && kind != "gcp-pubsub") || slices.Contains([]string{"azure-blob", "gcp-cloudtasks", "ibmmq", "kubernetes-workload", "stan"}, kind)
}

// alsoIn returns a proof that holds in the releases before 2.6 too.
func alsoIn(releases string, p Proof) []Proof {
	before := p
	before.Releases = releases
	return []Proof{before, p}
}

func always(map[string]string) Counting { return Includes }

func never(map[string]string) Counting { return LeavesOut }

// unlessOff includes in-progress items unless a parameter is false.
func unlessOff(name string) func(map[string]string) Counting {
	return func(m map[string]string) Counting {
		enabled, err := strconv.ParseBool(m[name])
		return unless(err == nil && !enabled)
	}
}

// unlessGiven includes in-progress items, unless a parameter of later releases is given.
func unlessGiven(name string) func(map[string]string) Counting {
	return func(m map[string]string) Counting {
		if m[name] != "" {
			return 0
		}
		return Includes
	}
}

func unless(excluded bool) Counting {
	if excluded {
		return LeavesOut
	}
	return Includes
}

func azureQueue(m map[string]string) Counting {
	return unless(strings.EqualFold(m["queueLengthStrategy"], "visibleonly"))
}

func pubsub(m map[string]string) Counting {
	switch m["mode"] {
	case "", "SubscriptionSize", "NumUndeliveredMessages":
		return Includes
	}
	return 0
}

// spooled messages stay in the queue until they are acknowledged.
func spooled(m map[string]string) Counting {
	if m["messageCountTarget"] == "" || m["messageSpoolUsageTarget"] != "" || m["messageReceiveRateTarget"] != "" {
		return 0
	}
	return Includes
}

// stream is the length of the stream, from which acknowledged entries may be deleted or not,
// the entries that were delivered and not acknowledged, or the entries that were not delivered.
func stream(m map[string]string) Counting {
	switch lag, _ := strconv.ParseFloat(m["lagCount"], 64); {
	case m["consumerGroup"] == "":
		return 0
	case lag != 0:
		return LeavesOut
	}
	return Includes
}
