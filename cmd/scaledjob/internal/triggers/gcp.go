package triggers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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
