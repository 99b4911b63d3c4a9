package triggers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// awsRules are the rules of triggers for Amazon Web Services.
var awsRules = []Rule{
	{[]string{"aws-sqs-queue"}, "QueueUrl:", "2.18", accepted(polls, onlyIf(matches("queueURL", "is neither a URL nor a name", "Write a URL that begins with https://, or a queue's name", queueName.MatchString), notURL("queueURL")))},
	{[]string{"aws-cloudwatch"}, "MetricStat", "2.18", accepted(polls, matches("metricStat", "is not a statistic of CloudWatch", "Write a statistic such as Average, Sum, Maximum or p99", statistic.MatchString))},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18",
		accepted("KEDA ignores it", onlyIf(unused("with expression", "namespace", "metricName", "dimensionName", "dimensionValue", "metricStat", "metricUnit"), provided("expression")))},
	{awsTypes, "PodIdentityOwner = false", "2.18", accepted("KEDA takes it as operator", onlyIf(allowed("identityOwner", "pod", "operator"), isNotIdentity("aws")))},
	{[]string{"aws-sqs-queue"}, "cannot get queueName from queueURL", "2.18", about("queueURL", queueURL)},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18", needs(missing("expression"), "without expression", "namespace", "metricName", "dimensionName", "dimensionValue")},
	{[]string{"aws-cloudwatch"}, "dimensionName and dimensionValue are not matching in size", "2.18", onlyIf(sameLength("dimensionName", "dimensionValue", ";"), missing("expression"))},
	{[]string{"aws-cloudwatch"}, "metricUnit '%s' is not one of", "2.18", onlyIf(allowed("metricUnit", units...), missing("expression"))},
	{[]string{"aws-cloudwatch"}, "metricCollectionTime must be greater than 0 and a multiple", "2.18", collectionTime},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeNames", "2.18", jsonObject("expressionAttributeNames")},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeValues", "2.18", dynamoValues},
	{awsTypes, "awsSecretAccessKey not found", "2.18", when(fault{key: "awsSecretAccessKey", text: "an AWS access key needs awsSecretAccessKey"}, halfAWSKey)},
	{[]string{"aws-cloudwatch"}, "metricStatPeriod >= 60 has to be a multiple of 60", "2.18", statPeriod},
}

var awsTypes = []string{"aws-cloudwatch", "aws-dynamodb", "aws-dynamodb-streams", "aws-kinesis-stream", "aws-sqs-queue"}

var statistic = regexp.MustCompile(`^(Average|Sum|Minimum|Maximum|SampleCount|IQM|(p|tm|wm|tc|ts|PR|TM|WM|TC|TS)[0-9(].*)$`)

func statPeriod(c *checker) fault {
	x, ok := c.float("metricStatPeriod")
	if n := int(x); ok && ((n >= 60 && n%60 != 0) || (n < 60 && n != 1 && n != 5 && n != 10 && n != 30)) {
		return fault{key: "metricStatPeriod", text: "metricStatPeriod is " + c.text("metricStatPeriod"), fix: "Write 1, 5, 10, 30 or a multiple of 60"}
	}
	return fault{}
}

func collectionTime(c *checker) fault {
	period, ok := c.float("metricStatPeriod")
	x, okX := c.float("metricCollectionTime")
	if !ok || !okX || period < 1 || (x >= 0 && int(x)%int(period) == 0) {
		return fault{}
	}
	key := c.get("metricCollectionTime").Key
	if key == "" {
		key = "metricStatPeriod"
	}
	return fault{key: key, text: fmt.Sprintf("metricCollectionTime %v is not a multiple of metricStatPeriod %v", x, period),
		fix: fmt.Sprintf("Write a metricCollectionTime such as %v", max(1, math.Ceil(x/period))*period)}
}

// halfAWSKey is met by half of a pair of AWS keys that is used.
func halfAWSKey(c *checker) bool {
	ofOperator := c.hasAll("identityOwner") && !c.equals("identityOwner", "pod")
	if c.in.AnyIdentity || strings.HasPrefix(c.in.PodIdentity, "aws") || ofOperator || !c.absent("awsRoleArn") {
		return false
	}
	return !c.absent("awsAccessKeyID", "awsAccessKeyId") && c.absent("awsSecretAccessKey")
}

// dynamoTypes are the types of values in expressions of AWS DynamoDB.
var dynamoTypes = []string{"S", "N", "BOOL", "B", "L", "M", "NULL"}

// dynamoValues finds a value without its type.
func dynamoValues(c *checker) fault {
	v := c.get("expressionAttributeValues")
	var values map[string]any
	if json.Unmarshal([]byte(v.Text), &values) != nil {
		return jsonObject("expressionAttributeValues")(c)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, _ := values[name].(map[string]any)
		typed := len(value) == 1
		for key, x := range value {
			_, isText := x.(string)
			typed = typed && slices.Contains(dynamoTypes, key) && ((key != "N" && key != "S") || isText)
		}
		if !typed {
			return fault{key: v.Key, text: name + " of expressionAttributeValues has no type of DynamoDB", fix: fmt.Sprintf(`Write {"%s": {"S": "text"}}, or {"N": "1"} for a number`, name)}
		}
	}
	return fault{}
}

// queueURL finds a URL without an account and a queue.
func queueURL(text string) (wrong, fix string) {
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return "", ""
	}
	if path := strings.Split(u.Path, "/"); len(path) == 3 && path[2] != "" {
		return "", ""
	}
	return fmt.Sprintf("queueURL %q has no account and queue", text), "Write it as https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE, or the queue's name"
}

// notURL is met by a value that is not a URL, or not known.
func notURL(name string) condition {
	return func(c *checker) bool {
		_, err := url.ParseRequestURI(c.text(name))
		return err != nil
	}
}

// gcpRules are the rules of triggers for Google Cloud.
var gcpRules = []Rule{
	{[]string{"gcp-pubsub"}, "unsupported aggregation function", "2.18", accepted(polls, matches("aggregation", "is not a function that KEDA knows", "Write a function such as mean, sum or percentile99", aggregation.MatchString))},
	{[]string{"gcp-stackdriver"}, "meta.AlignmentPeriodSeconds == 0", "2.18",
		accepted("KEDA ignores it", onlyIf(unused("without alignmentPeriodSeconds", "alignmentAligner", "alignmentReducer"), missing("alignmentPeriodSeconds")))},
	{[]string{"gcp-pubsub"}, "snakeCase(mode)", "2.18", accepted(polls, pubsubMode)},
	{gcpTypes, "google application credentials not found", "2.18", gcpCredentials},
	{[]string{"gcp-storage"}, "maxBucketItemsToScan must be a positive number", "2.18", atLeast("maxBucketItemsToScan", 1)},
	{[]string{"gcp-stackdriver"}, "unknown aligner", "2.18", onlyIf(allowedInAnyCase("alignmentAligner", strings.Fields("none delta rate interpolate next_older min max mean count sum stddev "+
		"count_true count_false fraction_true percentile_99 percentile_95 percentile_50 percentile_05 percent_change")...), provided("alignmentPeriodSeconds"))},
	{[]string{"gcp-stackdriver"}, "unknown reducer", "2.18", onlyIf(allowedInAnyCase("alignmentReducer", strings.Fields("none mean min max sum stddev count "+
		"count_true count_false fraction_true percentile_99 percentile_95 percentile_50 percentile_05")...), provided("alignmentPeriodSeconds"))},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", oneOf("subscriptionName", "topicName")},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", exclusive("subscriptionName", "topicName")},
	{[]string{"gcp-stackdriver"}, "alignmentPeriodSeconds must be at least 60", "2.18", onlyIf(atLeast("alignmentPeriodSeconds", 60), isNot("alignmentPeriodSeconds", "0"))},
}

var gcpTypes = []string{"gcp-cloudtasks", "gcp-pubsub", "gcp-spanner", "gcp-stackdriver", "gcp-storage"}

var aggregation = regexp.MustCompile(`^(median|mean|variance|stddev|sum|count|percentile\d+)$`)

// gcpCredentials finds a trigger for Google Cloud without credentials.
func gcpCredentials(c *checker) fault {
	if c.in.AnyIdentity || c.in.PodIdentity == "gcp" || !c.absent("GoogleApplicationCredentials") ||
		c.in.Metadata["credentialsFromEnv"] != "" || c.in.Metadata["credentialsFromEnvFile"] != "" {
		return fault{}
	}
	return fault{text: c.name + " has no credentials", fix: "Set credentialsFromEnv to the name of a variable, or GoogleApplicationCredentials or podIdentity gcp in a TriggerAuthentication"}
}

var subscriptionMetrics = strings.Fields(`ack_latencies ack_message_count backlog_bytes byte_cost config_updates_count dead_letter_message_count delivery_latency_health_score
exactly_once_warning_count expired_ack_deadlines_count mod_ack_deadline_message_count mod_ack_deadline_message_operation_count mod_ack_deadline_request_count
num_outstanding_messages num_retained_acked_messages num_retained_acked_messages_by_region num_unacked_messages_by_region num_undelivered_messages
oldest_retained_acked_message_age oldest_retained_acked_message_age_by_region oldest_unacked_message_age oldest_unacked_message_age_by_region open_streaming_pulls
pull_ack_message_operation_count pull_ack_request_count pull_message_operation_count pull_request_count push_request_count push_request_latencies
retained_acked_bytes retained_acked_bytes_by_region seek_request_count sent_message_count streaming_pull_ack_message_operation_count streaming_pull_ack_request_count
streaming_pull_message_operation_count streaming_pull_mod_ack_deadline_message_operation_count streaming_pull_mod_ack_deadline_request_count
streaming_pull_response_count unacked_bytes_by_region`)

var topicMetrics = strings.Fields(`byte_cost config_updates_count message_sizes num_retained_acked_messages_by_region num_retained_messages num_unacked_messages_by_region
oldest_retained_acked_message_age_by_region oldest_retained_message_age oldest_unacked_message_age_by_region retained_acked_bytes_by_region retained_bytes
schema_validation_latencies send_message_operation_count send_request_count topic_retained_bytes unacked_bytes_by_region`)

var capitals = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// pubsubMode finds a mode that is no metric of the subscription or topic.
func pubsubMode(c *checker) fault {
	v, resource, metrics, fix := c.get("mode"), "a subscription", subscriptionMetrics, "Write NumUndeliveredMessages or OldestUnackedMessageAge"
	if c.hasAll("topicName") {
		resource, metrics, fix = "a topic", topicMetrics, "Write a metric of topics such as SendRequestCount, or give subscriptionName"
	}
	name := v.Text
	if name == "SubscriptionSize" {
		name = "NumUndeliveredMessages"
	}
	name = strings.ToLower(capitals.ReplaceAllString(name, "${1}_$2"))
	if v.State != Visible || slices.Contains(metrics, name) {
		return fault{}
	}
	if v.Key == "" {
		return fault{key: "topicName", text: "without mode, KEDA reads SubscriptionSize, which a topic does not have", fix: fix}
	}
	return fault{key: v.Key, text: fmt.Sprintf("mode %q is not a metric of %s", v.Text, resource), fix: fix}
}

// azureRules are the rules of triggers for Azure.
var azureRules = []Rule{
	{[]string{"azure-pipelines"}, "PoolID", "2.18", accepted(polls, notNegative("poolID"))},
	{[]string{"azure-servicebus"}, "if !meta.UseRegex {", "2.18", accepted("KEDA ignores it", onlyIf(unused("without useRegex", "operation"), isNotTrue("useRegex")))},
	{[]string{"azure-eventhub"}, `"goSdk"`, "2.18", accepted("KEDA takes the default strategy", allowed("checkpointStrategy", "goSdk", "dapr", "blobMetadata", "azureFunction"))},
	{[]string{"azure-eventhub"}, `"goSdk"`, "2.18",
		accepted("KEDA finds no checkpoint", needs(isSet("checkpointStrategy", "goSdk", "dapr", "blobMetadata"), "with checkpointStrategy", "blobContainer"))},
	{onlyAzure, "config.PodIdentity.Provider", "2.18", onlyIdentity("azure-workload")},
	{[]string{"mssql", "azure-cosmosdb"}, "cannot be combined with azure-workload", "2.21", onlyIdentity("azure-workload")},
	{[]string{"azure-pipelines"}, "not supported for azure pipelines", "2.18", onlyIf(onlyIdentity("azure-workload"), missing("personalAccessToken"))},
	{[]string{"azure-queue"}, "no connection setting given", "2.18", needs(noIdentity, "without a pod identity", "connection")},
	{[]string{"azure-servicebus"}, "no connection setting given", "2.18", needs(noIdentity, "without a pod identity", "connection")},
	{[]string{"azure-servicebus"}, "both topic and queue name metadata provided", "2.18", exclusive("queueName", "topicName")},
	{[]string{"azure-servicebus"}, "subscription name provided with queue name", "2.18", exclusive("queueName", "subscriptionName")},
	{[]string{"azure-servicebus"}, "no subscription name provided with topic name", "2.18",
		needs(func(c *checker) bool { return c.hasAll("topicName") }, "with topicName", "subscriptionName")},
	{[]string{"azure-servicebus"}, "no service bus entity type set", "2.18",
		when(fault{key: "queueName", text: "azure-servicebus needs a queue or a subscription", fix: "Set queueName, or topicName and subscriptionName, in the metadata"}, missing("queueName"), missing("topicName"))},
	{[]string{"azure-app-insights"}, "not in the correct format. Should be hh:mm", "2.18", parts("metricAggregationTimespan", ":", 2, "hh:mm")},
	{[]string{"azure-monitor"}, "resourceURI not in the correct format", "2.18", parts("resourceURI", "/", 3, "namespace/resource_type/resource_name")},
	{[]string{"azure-monitor"}, "metricAggregationInterval not in the correct format", "2.18", parts("metricAggregationInterval", ":", 3, "hh:mm:ss")},
	{[]string{"azure-log-analytics"}, "was not found in metadata", "2.18", needs(noIdentity, "without a pod identity", "tenantId", "clientId", "clientSecret")},
	{[]string{"azure-log-analytics", "azure-monitor", "azure-app-insights"}, "there is no cloud environment matching the name", "2.18",
		allowedInAnyCase("cloud", "AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", "Private")},
	{[]string{"azure-queue", "azure-blob", "azure-eventhub", "azure-data-explorer"}, "invalid cloud environment %s", "2.18", allowedInAnyCase("cloud", clouds...)},
	{[]string{"azure-servicebus"}, "invalid cloud environment %s", "2.18", onlyIf(allowedInAnyCase("cloud", clouds...), identity("azure-workload"))},
	{[]string{"azure-queue", "azure-blob", "azure-eventhub"}, "must be provided for %s cloud type", "2.18", needs(privateCloud, "with cloud Private", "endpointSuffix")},
	{[]string{"azure-servicebus"}, "must be provided for %s cloud type", "2.18", needs(conjunction(privateCloud, identity("azure-workload")), "with cloud Private", "endpointSuffix")},
	{[]string{"azure-log-analytics"}, "logAnalyticsResourceURL must be provided for", "2.18", needs(privateCloud, "with cloud Private", "logAnalyticsResourceURL")},
	{[]string{"azure-monitor"}, "logAnalyticsResourceURL must be provided for", "2.18", needs(privateCloud, "with cloud Private", "azureResourceManagerEndpoint")},
	{[]string{"azure-app-insights"}, "appInsightsResourceURL must be provided for", "2.20", needs(privateCloud, "with cloud Private", "appInsightsResourceURL")},
	{[]string{"azure-app-insights", "azure-monitor"}, "no activeDirectoryClientId given", "2.18",
		needs(noIdentity, "without a pod identity", "activeDirectoryClientId", "activeDirectoryClientPassword")},
	{[]string{"azure-monitor"}, "invalid metricAggregationType given", "2.18", allowed("metricAggregationType", "Average", "Count", "Maximum", "Minimum", "None", "Total")},
	{[]string{"azure-blob"}, "connection string is required when not using pod identity", "2.19", needs(noIdentity, "without a pod identity", "connection")},
	{[]string{"azure-blob"}, "accountName is required when using Azure Workload Identity", "2.19", needs(identity("azure-workload"), "with azure-workload", "accountName")},
	{[]string{"azure-blob"}, "invalid glob pattern", "2.18", glob("globPattern")},
	{[]string{"azure-queue"}, "no accountName given", "2.18", needs(identity("azure-workload"), "with azure-workload", "accountName")},
	{[]string{"azure-servicebus"}, "namespace are required when using pod identity", "2.18", needs(identity("azure-workload"), "with azure-workload", "namespace")},
	{[]string{"azure-servicebus"}, "queueName is not a valid regular expression", "2.18", onlyIf(matches("queueName", "is not a regular expression", "Write a regular expression", isRegexp), isTrue("useRegex"))},
	{[]string{"azure-servicebus"}, "subscriptionName is not a valid regular expression", "2.18", onlyIf(matches("subscriptionName", "is not a regular expression", "Write a regular expression", isRegexp), isTrue("useRegex"))},
	{[]string{"azure-eventhub"}, "no storage connection string given", "2.18", needs(noIdentity, "without a pod identity", "storageConnection", "connection")},
	{[]string{"azure-eventhub"}, "connection string does not contain event hub name", "2.18",
		when(fault{key: "eventHubName", text: "the connection string names no event hub, and eventHubName is missing"}, noIdentity, lacks("connection", "EntityPath="), missing("eventHubName"))},
	{[]string{"azure-eventhub"}, "no event hub name string given", "2.18", needs(identity("azure-workload"), "with azure-workload", "eventHubNamespace", "eventHubName")},
	{[]string{"azure-eventhub"}, "no storage connection string or storage account name", "2.18", onlyIf(oneOf("storageAccountName", "storageConnection"), identity("azure-workload"))},
	{[]string{"azure-cosmosdb"}, "connection string or endpoint is required for the data account", "2.21", oneOf("connection", "endpoint")},
	{[]string{"azure-cosmosdb"}, "connection string or endpoint is required for the lease account", "2.21", oneOf("leaseConnection", "leaseEndpoint")},
	{[]string{"azure-cosmosdb"}, "activationChangeFeedLagThreshold must be less than changeFeedLagThreshold", "2.21", below("activationChangeFeedLagThreshold", "changeFeedLagThreshold")},
	{[]string{"azure-cosmosdb"}, "or complete service-principal credentials are required", "2.21",
		onlyIf(oneOf("connection", "cosmosDBKey", "tenantId clientId clientSecret"), noIdentity)},
	{[]string{"azure-data-explorer"}, "azkustodata.New(", "2.20", matches("endpoint", "is not a URL", "Write a URL such as https://CLUSTER.REGION.kusto.windows.net",
		func(text string) bool {
			return strings.Contains(text, "=") || strings.HasPrefix(strings.ToLower(text), "https://")
		})}, // = is in a connection string
	{[]string{"azure-data-explorer"}, "clientSecret was not found in metadata", "2.18", needs(noIdentity, "without a pod identity", "tenantId", "clientId", "clientSecret")},
	{[]string{"azure-pipelines"}, "failed to extract organization name from organizationURL", "2.18",
		matches("organizationURL", "ends with / and names no organization", "Write a URL that ends with the organization, such as https://dev.azure.com/contoso", func(text string) bool { return !strings.HasSuffix(text, "/") })},
	{[]string{"azure-pipelines"}, "cannot specify both jobsToFetch and fetchUnfinishedJobsOnly", "2.18", onlyIf(exclusive("jobsToFetch", "fetchUnfinishedJobsOnly"), inMetadata("jobsToFetch"), inMetadata("fetchUnfinishedJobsOnly"))},
	{[]string{"azure-pipelines"}, "cannot specify both jobsToFetch and parent", "2.18", onlyIf(exclusive("jobsToFetch", "parent"), inMetadata("jobsToFetch"))},
	{[]string{"azure-pipelines"}, "no personalAccessToken", "2.18", onlyIf(oneOf("personalAccessToken", "azureServicePrincipal"), noIdentity)},
	{[]string{"azure-pipelines"}, "no poolName or poolID given", "2.18", oneOf("poolName", "poolID")},
	{[]string{"azure-blob", "azure-queue"}, "ConnectionString(connectionString", "2.18", onlyIf(connection("connection", "DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…", "="), noIdentity)},
	{[]string{"azure-servicebus", "azure-eventhub"}, "FromConnectionString(", "2.18", onlyIf(connection("connection", "Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…", "="), noIdentity)},
	{[]string{"azure-eventhub"}, "ConnectionString(connectionString", "2.18", onlyIf(connection("storageConnection", "DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…", "="), noIdentity)},
	{[]string{"azure-cosmosdb"}, "missing AccountEndpoint or AccountKey", "2.21", connection("connection", "AccountEndpoint=…;AccountKey=…", "AccountEndpoint=.*AccountKey=|AccountKey=.*AccountEndpoint=")},
}

// onlyAzure are the types that know no pod identity but azure-workload.
var onlyAzure = []string{"azure-app-insights", "azure-blob", "azure-data-explorer", "azure-log-analytics", "azure-monitor", "azure-queue", "azure-servicebus"}

// clouds are the names of clouds that KEDA knows.
var clouds = []string{"AzurePublicCloud", "AzureCloud", "AzureUSGovernmentCloud", "AzureUSGovernment", "AzureChinaCloud", "AzureGermanCloud", "AzureStackCloud", "Private"}

// glob finds a pattern with a bracket that is not closed.
func glob(name string) check {
	return about(name, func(text string) (string, string) {
		for _, pair := range []string{"[]", "{}"} {
			if open := strings.Count(text, pair[:1]) - strings.Count(text, `\`+pair[:1]); open > strings.Count(text, pair[1:]) {
				return fmt.Sprintf("%s %q has %s without %s", name, text, pair[:1], pair[1:]), "Write a pattern such as **/*.csv, and \\" + pair[:1] + " for the character itself"
			}
		}
		return "", ""
	})
}

func privateCloud(c *checker) bool { return strings.EqualFold(c.in.Metadata["cloud"], "Private") }

func isRegexp(text string) bool { _, err := regexp.Compile(text); return err == nil }

// below finds a number that is not below another.
func below(a, b string) check {
	return func(c *checker) fault {
		x, okX := c.float(a)
		y, okY := c.float(b)
		if okX && okY && x >= y {
			return fault{key: c.get(a).Key, text: fmt.Sprintf("%s (%v) is not below %s (%v)", a, x, b, y), fix: "Write less than " + b}
		}
		return fault{}
	}
}
