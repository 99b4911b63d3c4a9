package adapter

import "strings"

// keys are where a type of trigger has its target average value, the first of
// several spellings that is there, and its activation threshold. unset is the
// target where the metadata has none; 0 means that it must have one.
type keys struct {
	target     []string
	unset      float64
	activation string
	inactive   float64 // the threshold where the metadata has none
}

func key(target string, unset float64) keys {
	return keys{target: []string{target}, unset: unset, activation: "activation" + strings.ToUpper(target[:1]) + target[1:]}
}

// triggerKeys are those of KEDA 2.21's scalers, and stan, which it has dropped.
var triggerKeys = map[string]keys{
	"activemq":               key("targetQueueSize", 10),
	"apache-kafka":           key("lagThreshold", 10),
	"arangodb":               key("queryValue", 0),
	"artemis-queue":          {[]string{"queueLength"}, 10, "activationQueueLength", 10},
	"aws-cloudwatch":         key("targetMetricValue", 0),
	"aws-dynamodb":           key("targetValue", 0),
	"aws-dynamodb-streams":   key("shardCount", 2),
	"aws-kinesis-stream":     key("shardCount", 2),
	"aws-sqs-queue":          key("queueLength", 5),
	"azure-app-insights":     key("targetValue", 0),
	"azure-blob":             key("blobCount", 5),
	"azure-data-explorer":    key("threshold", 0),
	"azure-eventhub":         key("unprocessedEventThreshold", 64),
	"azure-log-analytics":    key("threshold", 0),
	"azure-monitor":          key("targetValue", 0),
	"azure-pipelines":        key("targetPipelinesQueueLength", 1),
	"azure-queue":            key("queueLength", 5),
	"azure-servicebus":       key("messageCount", 5),
	"beanstalkd":             key("value", 0),
	"cassandra":              key("targetQueryValue", 0),
	"clickhouse":             key("targetQueryValue", 0),
	"couchdb":                key("queryValue", 0),
	"elasticsearch":          key("targetValue", 0),
	"etcd":                   key("value", 0),
	"gcp-cloudtasks":         key("value", 100),
	"gcp-pubsub":             {[]string{"value", "subscriptionSize"}, 10, "activationValue", 0},
	"gcp-spanner":            key("targetValue", 5),
	"gcp-stackdriver":        key("targetValue", 5),
	"github-runner":          {[]string{"targetWorkflowQueueLength"}, 1, "", 0},
	"graphite":               key("threshold", 100),
	"ibmmq":                  key("queueDepth", 20),
	"influxdb":               key("thresholdValue", 0),
	"kafka":                  key("lagThreshold", 10),
	"kubernetes-resource":    key("targetValue", 0),
	"kubernetes-workload":    key("value", 0),
	"liiklus":                key("lagThreshold", 10),
	"loki":                   key("threshold", 0),
	"metrics-api":            key("targetValue", 0),
	"mongodb":                key("queryValue", 0),
	"mssql":                  key("targetValue", 0),
	"mysql":                  key("queryValue", 0),
	"nats-jetstream":         key("lagThreshold", 10),
	"new-relic":              key("threshold", 0),
	"opensearch":             key("targetValue", 0),
	"postgresql":             key("targetQueryValue", 0),
	"prometheus":             key("threshold", 0),
	"pulsar":                 key("msgBacklogThreshold", 10),
	"rabbitmq":               {[]string{"value", "queueLength"}, 20, "activationValue", 0},
	"redis":                  key("listLength", 5),
	"redis-cluster":          key("listLength", 5),
	"redis-cluster-streams":  streams,
	"redis-sentinel":         key("listLength", 5),
	"redis-sentinel-streams": streams,
	"redis-streams":          streams,
	"solace-event-queue":     key("messageCountTarget", 0),
	"solr":                   key("targetQueryValue", 0),
	"stan":                   key("lagThreshold", 10),
	"temporal":               key("targetQueueSize", 5),
}

var streams = keys{[]string{"pendingEntriesCount", "streamLength", "lagCount"}, 5, "activationLagCount", 0}
