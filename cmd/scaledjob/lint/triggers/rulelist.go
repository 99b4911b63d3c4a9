package triggers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

var (
	kafkas    = []string{"kafka", "apache-kafka"}
	redises   = []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}
	sentinels = []string{"redis-sentinel", "redis-sentinel-streams"}
	streams   = []string{"redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}
	awsTypes  = []string{"aws-cloudwatch", "aws-dynamodb", "aws-dynamodb-streams", "aws-kinesis-stream", "aws-sqs-queue"}
	gcpTypes  = []string{"gcp-cloudtasks", "gcp-pubsub", "gcp-spanner", "gcp-stackdriver", "gcp-storage"}
	// onlyAzure are the types that know no pod identity but azure-workload.
	onlyAzure = []string{"azure-app-insights", "azure-blob", "azure-data-explorer", "azure-log-analytics", "azure-monitor", "azure-queue", "azure-servicebus"}
	// clouds are the names of clouds that KEDA knows.
	clouds = []string{"AzurePublicCloud", "AzureCloud", "AzureUSGovernmentCloud", "AzureUSGovernment", "AzureChinaCloud", "AzureGermanCloud", "AzureStackCloud", "Private"}
	// units are the units of AWS CloudWatch.
	units = strings.Fields("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits Gigabits Terabits Percent Count " +
		"Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None")
	// authenticated are the types that share the parameters of HTTP authentication.
	authenticated = []string{"prometheus", "loki", "arangodb", "graphite", "metrics-api", "predictkube", "pulsar", "datadog", "github-runner", "rabbitmq"}
)

// polls is the effect of a value that fails when KEDA uses it.
const polls = "each poll fails"

var (
	partitionList = regexp.MustCompile(`^ *\d+( *- *\d+)? *(, *\d+( *- *\d+)? *)*$`)
	queueName     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}(\.fifo)?$`)
	statistic     = regexp.MustCompile(`^(Average|Sum|Minimum|Maximum|SampleCount|IQM|(p|tm|wm|tc|ts|PR|TM|WM|TC|TS)[0-9(].*)$`)
	aggregation   = regexp.MustCompile(`^(median|mean|variance|stddev|sum|count|percentile\d+)$`)
	pulsarTopic   = regexp.MustCompile(`^(persistent://)?[^/:]+(/[^/:]+){2,3}$`)
)

// refusals are the rules by which KEDA rejects a trigger.
var refusals = []refusal{
	{[]string{"cron"}, "error parsing start schedule", "2.18", schedule("start")},
	{[]string{"cron"}, "error parsing end schedule", "2.18", schedule("end")},
	{[]string{"cron"}, "start and end can not have exactly same time input", "2.18", cronEqual},
	{[]string{"cron"}, "no desiredReplicas specified", "2.18", cronNone},
	{[]string{"cron"}, "unable to load timezone", "2.18", timezone},

	{kafkas, "allowIdleConsumers and limitToPartitionsWithLag cannot be set simultaneously", "2.18", apartIfTrue("allowIdleConsumers", "limitToPartitionsWithLag")},
	{kafkas, "topic must be specified when using limitToPartitionsWithLag", "2.18",
		needs(func(c *checker) bool { return c.isTrue("limitToPartitionsWithLag") }, "with limitToPartitionsWithLag", "topic")},
	{[]string{"kafka"}, "topic must be specified when using ensureEvenDistributionOfPartitions", "2.18",
		needs(func(c *checker) bool { return c.isTrue("ensureEvenDistributionOfPartitions") }, "with ensureEvenDistributionOfPartitions", "topic")},
	{[]string{"kafka"}, "limitToPartitionsWithLag and ensureEvenDistributionOfPartitions cannot be set simultaneously", "2.18",
		apartIfTrue("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions")},
	{[]string{"kafka"}, "no username given", "2.18", needs(isSet("sasl", "plaintext", "scram_sha256", "scram_sha512"), "with sasl", "username", "password")},
	{[]string{"apache-kafka"}, "username and password must be set when using SASL/PLAINTEXT", "2.18", needs(isSet("sasl", "plaintext"), "with sasl plaintext", "username", "password")},
	{[]string{"apache-kafka"}, "awsRegion must be set when using AWS MSK IAM", "2.18", needs(isSet("sasl", "aws_msk_iam"), "with sasl aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "key must be provided with cert", "2.18", when(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "can't set only one of cert or key when using TLS", "2.18", when(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "TLS must be enabled when using AWS MSK IAM", "2.18", when(mustBe("tls", "enable", "sasl aws_msk_iam"), isSet("sasl", "aws_msk_iam"))},
	{[]string{"kafka"}, "topic must be specified when fullMetadata is false", "2.21", needs(isSet("fullMetadata", "false"), "with fullMetadata false", "topic")},
	{[]string{"kafka"}, "no oauth token endpoint uri given", "2.18",
		needs(all(isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam")), "with sasl oauthbearer", "username", "password", "oauthTokenEndpointUri")},
	{[]string{"kafka"}, "invalid OAuthBearer extension", "2.18",
		when(matches("oauthExtensions", "a list of pairs such as a=1,b=2", pairs), isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam"))},
	{[]string{"kafka"}, "TLS is required for AWS MSK authentication", "2.18", when(mustBe("tls", "enable", "saslTokenProvider aws_msk_iam"), mskToken)},
	{[]string{"kafka"}, "no awsRegion given", "2.18", needs(mskToken, "with saslTokenProvider aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "no realm given", "2.18", needs(isSet("sasl", "gssapi"), "with sasl gssapi", "username", "realm", "kerberosConfig")},
	{[]string{"kafka"}, "invalid partition limitation", "2.20", matches("partitionLimitation", "numbers and ranges, such as 1,3,5-9", partitionList.MatchString)},
	{[]string{"kafka"}, "error parsing kafka version", "2.18", matches("version", "a version such as 2.8.0", regexp.MustCompile(`^(0\.\d+|\d+)\.\d+\.\d+$`).MatchString)},

	{[]string{"apache-kafka"}, "unable to set `sasl` in both", "2.18", twice("sasl")},
	{[]string{"apache-kafka"}, "unable to set `tls` in both", "2.18", twice("tls")},
	{[]string{"kafka"}, "exactly one of 'password', 'keytab' or 'ccacheName'", "2.21", when(oneSecret, isSet("sasl", "gssapi"))},
	{[]string{"kafka"}, "ccacheName must be a file name and not a path", "2.21", when(fileName("ccacheName"), isSet("sasl", "gssapi"))},

	{[]string{"rabbitmq"}, "the protocol has to be either", "2.18", allowed("protocol", "amqp", "http", "auto")},
	{[]string{"rabbitmq"}, "queueLength is deprecated; use", "2.18", rabbitLength},
	{[]string{"rabbitmq"}, "%s must be specified", "2.18", rabbitHalf},
	{[]string{"rabbitmq"}, "trigger mode %s must be one of", "2.18", rabbitMode},
	{[]string{"rabbitmq"}, "not supported; must be HTTP to use trigger mode", "2.18", rabbitRate},
	{[]string{"rabbitmq"}, "AMQP protocol doesn't support custom timeouts", "2.18", rabbitTimeout},
	{[]string{"rabbitmq"}, "unknown host URL scheme", "2.18", rabbitScheme},
	{[]string{"rabbitmq"}, "configure excludeUnacknowledged=true only with HTTP protocol", "2.18", rabbitHTTP("excludeUnacknowledged")},
	{[]string{"rabbitmq"}, "configure useRegex=true only with HTTP protocol", "2.18", rabbitHTTP("useRegex")},
	{[]string{"rabbitmq"}, "pageSize should be 1 or greater", "2.18", atLeast("pageSize", 1)},
	{[]string{"rabbitmq"}, "amqp.DialConfig", "2.18", rabbitHostOf("amqp")},
	{[]string{"rabbitmq"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"rabbitmq"}, "both key and certificate must be provided", "2.18", together("cert", "key")},
	{[]string{"rabbitmq"}, "workload identity is not supported for the AMQP protocol", "2.18", rabbitAMQP("workloadIdentityResource")},
	{[]string{"rabbitmq"}, "OAuth2 authentication is only supported with HTTP protocol", "2.20", rabbitAMQP("oauthTokenURI")},
	{[]string{"rabbitmq"}, "username and password must be given together", "2.18", together("username", "password")},

	{[]string{"rabbitmq"}, "OAuth2 requires tokenUrl", "2.20", rabbitOAuth},
	{[]string{"rabbitmq"}, "OAuth2 authentication cannot be combined", "2.20", rabbitOneLogin},

	{redises, "no addresses or hosts given", "2.18", oneOf("address", "host port")},
	{redises, "not enough hosts or ports given", "2.18", redisPorts},
	{redises, "error incorrect TLS value given", "2.18", allowed("tls", "enable", "disable")},
	{redises, "to set `tls` in both", "2.18", when(apart("enableTLS", "tls"), inMetadata("enableTLS"))},
	{redises, "EnableTLS parsing error", "2.18", allowed("enableTLS", "true", "false", "1", "0", "t", "f", "T", "F", "TRUE", "FALSE", "True", "False")},

	{[]string{"aws-sqs-queue"}, "cannot get queueName from queueURL", "2.18", queueURL},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18", needs(without("expression"), "without expression", "namespace", "metricName", "dimensionName", "dimensionValue")},
	{[]string{"aws-cloudwatch"}, "dimensionName and dimensionValue are not matching in size", "2.18", when(sameLength("dimensionName", "dimensionValue", ";"), without("expression"))},
	{[]string{"aws-cloudwatch"}, "metricUnit '%s' is not one of", "2.18", when(allowed("metricUnit", units...), without("expression"))},
	{[]string{"aws-cloudwatch"}, "metricCollectionTime must be greater than 0 and a multiple", "2.18", collectionTime},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeNames", "2.18", jsonObject("expressionAttributeNames")},
	{[]string{"aws-dynamodb"}, "error parsing expressionAttributeValues", "2.18", dynamoValues},
	{awsTypes, "awsSecretAccessKey not found", "2.18", awsSecretKey},
	{gcpTypes, "google application credentials not found", "2.18", gcpCredentials},
	{onlyAzure, "config.PodIdentity.Provider", "2.18", onlyIdentity("azure-workload")},
	{[]string{"mssql", "azure-cosmosdb"}, "cannot be combined with azure-workload", "2.21", onlyIdentity("azure-workload")},
	{[]string{"azure-pipelines"}, "not supported for azure pipelines", "2.18", when(onlyIdentity("azure-workload"), without("personalAccessToken"))},

	{[]string{"aws-cloudwatch"}, "metricStatPeriod >= 60 has to be a multiple of 60", "2.18", statPeriod},

	{[]string{"azure-queue"}, "no connection setting given", "2.18", needs(noIdentity, "without a pod identity", "connection")},
	{[]string{"azure-servicebus"}, "no connection setting given", "2.18", needs(noIdentity, "without a pod identity", "connection")},
	{[]string{"azure-servicebus"}, "both topic and queue name metadata provided", "2.18", apart("queueName", "topicName")},
	{[]string{"azure-servicebus"}, "subscription name provided with queue name", "2.18", apart("queueName", "subscriptionName")},
	{[]string{"azure-servicebus"}, "no subscription name provided with topic name", "2.18",
		needs(func(c *checker) bool { return c.given("topicName") }, "with topicName", "subscriptionName")},
	{[]string{"azure-servicebus"}, "no service bus entity type set", "2.18", serviceBusEntity},
	{[]string{"azure-app-insights"}, "not in the correct format. Should be hh:mm", "2.18", parts("metricAggregationTimespan", ":", 2, "hh:mm")},
	{[]string{"azure-monitor"}, "resourceURI not in the correct format", "2.18", parts("resourceURI", "/", 3, "namespace/resource_type/resource_name")},
	{[]string{"azure-monitor"}, "metricAggregationInterval not in the correct format", "2.18", parts("metricAggregationInterval", ":", 3, "hh:mm:ss")},
	{[]string{"azure-log-analytics"}, "was not found in metadata", "2.18", needs(noIdentity, "without a pod identity", "tenantId", "clientId", "clientSecret")},
	{[]string{"azure-log-analytics", "azure-monitor", "azure-app-insights"}, "there is no cloud environment matching the name", "2.18",
		allowedInAnyCase("cloud", "AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", "Private")},
	{[]string{"azure-queue", "azure-blob", "azure-eventhub", "azure-data-explorer"}, "invalid cloud environment %s", "2.18", allowedInAnyCase("cloud", clouds...)},
	{[]string{"azure-servicebus"}, "invalid cloud environment %s", "2.18", when(allowedInAnyCase("cloud", clouds...), identity("azure-workload"))},
	{[]string{"azure-queue", "azure-blob", "azure-eventhub"}, "must be provided for %s cloud type", "2.18", needs(privateCloud, "with cloud Private", "endpointSuffix")},
	{[]string{"azure-servicebus"}, "must be provided for %s cloud type", "2.18", needs(all(privateCloud, identity("azure-workload")), "with cloud Private", "endpointSuffix")},
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
	{[]string{"azure-servicebus"}, "queueName is not a valid regular expression", "2.18", when(matches("queueName", "a regular expression", isRegexp), isTrue("useRegex"))},
	{[]string{"azure-servicebus"}, "subscriptionName is not a valid regular expression", "2.18", when(matches("subscriptionName", "a regular expression", isRegexp), isTrue("useRegex"))},
	{[]string{"azure-eventhub"}, "no storage connection string given", "2.18", needs(noIdentity, "without a pod identity", "storageConnection", "connection")},
	{[]string{"azure-eventhub"}, "connection string does not contain event hub name", "2.18", eventHubName},
	{[]string{"azure-eventhub"}, "no event hub name string given", "2.18", needs(identity("azure-workload"), "with azure-workload", "eventHubNamespace", "eventHubName")},
	{[]string{"azure-eventhub"}, "no storage connection string or storage account name", "2.18", when(oneOf("storageAccountName", "storageConnection"), identity("azure-workload"))},
	{[]string{"azure-cosmosdb"}, "connection string or endpoint is required for the data account", "2.21", oneOf("connection", "endpoint")},
	{[]string{"azure-cosmosdb"}, "connection string or endpoint is required for the lease account", "2.21", oneOf("leaseConnection", "leaseEndpoint")},
	{[]string{"azure-cosmosdb"}, "activationChangeFeedLagThreshold must be less than changeFeedLagThreshold", "2.21", less("activationChangeFeedLagThreshold", "changeFeedLagThreshold")},
	{[]string{"azure-cosmosdb"}, "or complete service-principal credentials are required", "2.21",
		when(oneOf("connection", "cosmosDBKey", "tenantId clientId clientSecret"), noIdentity)},
	{[]string{"azure-data-explorer"}, "clientSecret was not found in metadata", "2.18", needs(noIdentity, "without a pod identity", "tenantId", "clientId", "clientSecret")},
	{[]string{"azure-pipelines"}, "failed to extract organization name from organizationURL", "2.18",
		matches("organizationURL", "a URL that ends with the organization, such as https://dev.azure.com/contoso", func(text string) bool { return !strings.HasSuffix(text, "/") })},
	{[]string{"azure-pipelines"}, "cannot specify both jobsToFetch and fetchUnfinishedJobsOnly", "2.18", when(apart("jobsToFetch", "fetchUnfinishedJobsOnly"), inMetadata("jobsToFetch"), inMetadata("fetchUnfinishedJobsOnly"))},
	{[]string{"azure-pipelines"}, "cannot specify both jobsToFetch and parent", "2.18", when(apart("jobsToFetch", "parent"), inMetadata("jobsToFetch"))},
	{[]string{"azure-pipelines"}, "no personalAccessToken", "2.18", when(oneOf("personalAccessToken", "azureServicePrincipal"), noIdentity)},
	{[]string{"azure-pipelines"}, "no poolName or poolID given", "2.18", oneOf("poolName", "poolID")},

	{[]string{"azure-blob", "azure-queue"}, "ConnectionString(connectionString", "2.18", when(connection("connection", "DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…", "="), noIdentity)},
	{[]string{"azure-servicebus", "azure-eventhub"}, "FromConnectionString(", "2.18", when(connection("connection", "Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…", "="), noIdentity)},
	{[]string{"azure-eventhub"}, "ConnectionString(connectionString", "2.18", when(connection("storageConnection", "DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…", "="), noIdentity)},
	{[]string{"azure-cosmosdb"}, "missing AccountEndpoint or AccountKey", "2.21", connection("connection", "AccountEndpoint=…;AccountKey=…", "AccountEndpoint=.*AccountKey=|AccountKey=.*AccountEndpoint=")},
	{[]string{"mongodb"}, "ApplyURI", "2.18", connection("connectionString", "mongodb://host:27017", `^mongodb(\+srv)?://`)},
	{[]string{"postgresql"}, `sql.Open("pgx"`, "2.18", when(connection("connection", "postgresql://user:password@host:5432/db or host=… dbname=…", "^postgres(ql)?://|^[^:]*="), noIdentity)},
	{[]string{"mysql"}, `sql.Open("mysql"`, "2.18", connection("connectionString", "user:password@tcp(host:3306)/db", `^(.*@)?((tcp[46]?|unix)(\(.*\))?|\(.*\))?/[^/]*$`)},
	{[]string{"mssql"}, "sqlserver", "2.18", connection("connectionString", "sqlserver://user:password@host:1433?database=…", `^sqlserver://|^odbc:|^[^:]*=`)},
	{[]string{"cassandra"}, "no port given", "2.18", cassandraPort},
	{[]string{"cassandra"}, "both cert and key are required when TLS is enabled", "2.18", needs(isSet("tls", "enable"), "with tls enable", "cert", "key")},
	{[]string{"cassandra"}, "gocql.ParseConsistency", "2.18",
		allowedInAnyCase("consistency", "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE", "SERIAL", "LOCAL_SERIAL")},
	{[]string{"clickhouse"}, "either connectionString or host must be set", "2.21", oneOf("connectionString", "host")},
	{[]string{"clickhouse"}, "both cert and key must be provided when TLS is enabled", "2.21", when(together("cert", "key"), isTrue("tls"))},
	{[]string{"datadog"}, "missing AppKey", "2.18", needs(isNotTrue("useClusterAgentProxy"), "without useClusterAgentProxy", "appKey", "apiKey", "query")},
	{[]string{"datadog"}, "datadog metrics service is required", "2.18",
		needs(isTrue("useClusterAgentProxy"), "with useClusterAgentProxy", "datadogMetricsService", "datadogMetricName", "datadogNamespace", "datadogMetricNamespace")},
	{[]string{"datadog"}, "missing query scope", "2.18", matches("query", "a query with a scope, such as sum:queue.size{name:orders}", regexp.MustCompile(`\{.*\}`).MatchString)},
	{[]string{"datadog"}, "type has to be global or average", "2.18", allowedInAnyCase("type", "average", "global")},
	{[]string{"datadog"}, "no targetValue or queryValue given", "2.18",
		func(c *checker) (string, string, string) {
			if c.in.at('m', "targetValue").State == Absent && c.in.at('m', "queryValue").State == Absent {
				return "targetValue", "datadog needs targetValue", "Give targetValue in the metadata"
			}
			return "", "", ""
		}},
	{[]string{"datadog"}, "age should not be smaller than 0", "2.18", atLeast("age", 0)},
	{[]string{"datadog"}, "timeWindowOffset should not be smaller than 0", "2.18", atLeast("timeWindowOffset", 0)},
	{[]string{"datadog"}, "lastAvailablePointOffset should not be smaller than 0", "2.18", atLeast("lastAvailablePointOffset", 0)},
	{[]string{"couchdb"}, "no host given", "2.18", oneOf("connectionString", "host port username password dbName")},
	{[]string{"mongodb"}, "no host given", "2.18", oneOf("connectionString", "host username password")},
	{[]string{"mongodb"}, "failed to parse query", "2.18", jsonObject("query")},
	{[]string{"mongodb"}, "no port given", "2.18", needs(all(without("connectionString"), isNot("scheme", "mongodb+srv")), "without connectionString", "port")},
	{[]string{"mongodb"}, "at least one of cert, key, or ca must be provided", "2.19", when(oneOf("cert", "ca"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, "both cert and key must be provided when using client certificates", "2.19", when(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, `Scheme`, "2.18", when(allowed("scheme", "mongodb", "mongodb+srv"), without("connectionString"))},
	{[]string{"postgresql"}, `"sslmode="`, "2.18", when(allowed("sslmode", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"), without("connection"))},
	{[]string{"nats-jetstream"}, "no account name or id given", "2.18", oneOf("account", "accountID")},
	{[]string{"new-relic"}, "newrelic.ConfigRegion", "2.18", allowedInAnyCase("region", "US", "EU", "JP", "GOV", "Staging", "Local")},
	{[]string{"mysql"}, "net.JoinHostPort(meta.Host, meta.Port)", "2.18", oneOf("connectionString", "host port")},
	{[]string{"mssql"}, "must provide either connectionstring or host", "2.18", oneOf("connectionString", "host")},
	{[]string{"postgresql"}, "no host given", "2.18", oneOf("connection", "host port userName dbName sslmode")},
	{[]string{"dynatrace"}, "either 'metricSelector' or 'query' must be provided", "2.19", oneOf("metricSelector", "query")},
	{[]string{"dynatrace"}, "'metricSelector' and 'query' are mutually exclusive", "2.19", apart("metricSelector", "query")},
	{[]string{"dynatrace"}, "'from' can't be used with query", "2.19", when(apart("query", "from"), inMetadata("from"))},
	{[]string{"elastic-forecast"}, "lookAhead must be positive", "2.20", matches("lookAhead", "a duration above 0, such as 10m", func(text string) bool { return strings.Trim(text, "0hmsunµ.") != "" })},
	{[]string{"elastic-forecast", "elasticsearch"}, "both cloudID and apiKey must be provided", "2.18", together("cloudID", "apiKey")},
	{[]string{"elastic-forecast", "elasticsearch"}, "provide both cloud config", "2.18", apart("cloudID", "addresses")},
	{[]string{"elastic-forecast", "elasticsearch"}, "both username and password must be provided", "2.18", needs(given("addresses"), "with addresses", "username", "password")},
	{[]string{"elastic-forecast"}, "must provide either cloud config", "2.20", oneOf("addresses", "cloudID apiKey")},
	{[]string{"opensearch"}, "both clientCert and clientKey must be provided when enableTLS is true", "2.20", needs(isTrue("enableTLS"), "with enableTLS", "clientCert", "clientKey")},
	{[]string{"opensearch"}, "both username and password must be provided for basic auth", "2.20", needs(isNotTrue("enableTLS"), "without enableTLS", "username", "password")},
	{[]string{"elasticsearch", "opensearch"}, "either searchTemplateName or query must be provided", "2.18", oneOf("searchTemplateName", "query")},
	{[]string{"elasticsearch", "opensearch"}, "cannot provide both searchTemplateName and query", "2.18", apart("searchTemplateName", "query")},
	{[]string{"elasticsearch"}, "must provide either cloud config or endpoint addresses", "2.18", oneOf("addresses", "cloudID", "apiKey", "username", "password")},
	{[]string{"etcd"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"etcd"}, "cert must be provided with key", "2.18", when(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"etcd"}, "watchProgressNotifyInterval must be greater than 0", "2.18", atLeast("watchProgressNotifyInterval", 1)},
	{[]string{"gcp-storage"}, "maxBucketItemsToScan must be a positive number", "2.18", atLeast("maxBucketItemsToScan", 1)},
	{[]string{"gcp-stackdriver"}, "unknown aligner", "2.18", when(allowedInAnyCase("alignmentAligner", strings.Fields("none delta rate interpolate next_older min max mean count sum stddev "+
		"count_true count_false fraction_true percentile_99 percentile_95 percentile_50 percentile_05 percent_change")...), given("alignmentPeriodSeconds"))},
	{[]string{"gcp-stackdriver"}, "unknown reducer", "2.18", when(allowedInAnyCase("alignmentReducer", strings.Fields("none mean min max sum stddev count "+
		"count_true count_false fraction_true percentile_99 percentile_95 percentile_50 percentile_05")...), given("alignmentPeriodSeconds"))},
	{[]string{"etcd"}, "username must be provided with password", "2.18", together("username", "password")},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", oneOf("subscriptionName", "topicName")},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", apart("subscriptionName", "topicName")},
	{[]string{"gcp-stackdriver"}, "alignmentPeriodSeconds must be at least 60", "2.18", alignment},
	{[]string{"github-runner"}, "no personalAccessToken", "2.18", oneOf("personalAccessToken", "appKey", "bearerToken")},
	{[]string{"github-runner"}, "no applicationID given", "2.18", gitHubApp},
	{[]string{"ibmmq"}, "both cert and key must be provided when using TLS", "2.18", together("cert", "key")},
	{[]string{"influxdb"}, "query type must be 'influxql' or 'flightsql'", "2.18", when(allowedInAnyCase("queryType", "InfluxQL", "FlightSQL"), isSet("influxVersion", "3"))},
	{[]string{"kubernetes-workload"}, "error parsing pod selector", "2.18", matches("podSelector", "a label selector, such as app=worker or app in (a, b)", isSelector)},
	{[]string{"kubernetes-resource"}, "valueLocationRequiredMsg", "2.21", needs(isSet("format", "json", "yaml"), "with this format", "valueLocation")},
	{[]string{"openstack-metric"}, "authURL doesn't exist in the authParams", "2.18", needs(anyway, "in the TriggerAuthentication", "authURL")},
	{[]string{"openstack-metric"}, "neither userID or appCredentialSecretID exist", "2.18", oneOf("userID password", "appCredentialSecret")},
	{[]string{"openstack-swift"}, "password must be specified when using userID", "2.20", needs(given("userID"), "with userID", "password", "projectID")},
	{[]string{"openstack-swift"}, "appCredentialSecret must be specified when using appCredentialID", "2.20", needs(all(without("userID"), given("appCredentialID")), "with appCredentialID", "appCredentialSecret")},
	{[]string{"predictkube"}, "predictHorizon parsing error", "2.18", matches("predictHorizon", "a duration such as 2h", isLongDuration)},
	{[]string{"predictkube"}, "queryStep parsing error", "2.18", matches("queryStep", "a duration such as 2m", isLongDuration)},
	{[]string{"predictkube"}, "historyTimeWindow parsing error", "2.18", matches("historyTimeWindow", "a duration such as 7d", isLongDuration)},
	{[]string{"predictkube"}, "invalid prometheusAddress", "2.18", requestURI("prometheusAddress")},
	{[]string{"prometheus"}, "pod identity cannot be enabled with other auth types", "2.18",
		func(c *checker) (string, string, string) {
			if !c.in.AnyIdentity && !noIdentity(c) && c.given("authModes") {
				return c.get("authModes").Key, "authModes and a pod identity exclude each other", "Delete one of the two"
			}
			return "", "", ""
		}},
	{[]string{"opensearch"}, "expected key:value", "2.20", matches("parameters", "a list of pairs such as a:1,b:2", isPairs)},
	{[]string{"solace-direct-messaging"}, "empty host url value", "2.18", solaceURL(true)},
	{[]string{"solace-direct-messaging"}, "invalid host url value", "2.18", solaceURL(false)},
	{[]string{"solace-direct-messaging"}, "client-name-pattern should not contain '*'", "2.18",
		matches("clientNamePattern", "a part of a client's name, without *", func(text string) bool { return !strings.Contains(text, "*") })},
	{[]string{"solace-direct-messaging"}, "queued messages factor should be", "2.18", between("queuedMessagesFactor", 1, 100)},
	{[]string{"solace-direct-messaging"}, "no target value found in the scaler configuration", "2.18",
		anyPositive("aggregatedClientTxMsgRateTarget", "aggregatedClientTxByteRateTarget", "aggregatedClientAverageTxByteRateTarget", "aggregatedClientAverageTxMsgRateTarget")},
	{[]string{"solace-event-queue"}, "no target value found in the scaler configuration", "2.18", anyPositive("messageCountTarget", "messageSpoolUsageTarget", "messageReceiveRateTarget")},
	{[]string{"splunk", "solarwinds"}, "invalid value for host. Must be a valid URL", "2.18", requestURI("host")},
	{[]string{"splunk"}, "API token and Password were all set", "2.18", apart("apiToken", "password")},
	{[]string{"sumologic"}, "only one of query or query.<RowId>", "2.18", sumologicQueries},
	{[]string{"temporal"}, "not allowed in Temporal visibility queries", "2.21", visibility},
	{[]string{"sumologic"}, "not found in queries", "2.18", sumologicRow},
	{[]string{"sumologic"}, "missing required metadata: query", "2.18", needs(isSet("queryType", "logs"), "with queryType logs", "query", "resultField")},
	{[]string{"sumologic"}, "missing required metadata: quantization", "2.18", needs(isSet("queryType", "metrics"), "with queryType metrics", "quantization")},
	{[]string{"temporal"}, "workerDeploymentName and workerDeploymentBuildId must both be set", "2.20", together("workerDeploymentName", "workerDeploymentBuildId")},
	{[]string{"temporal"}, "minConnectTimeout must be a positive number", "2.18", atLeast("minConnectTimeout", 0)},
	{[]string{"temporal"}, "workflowTaskQueueForCount has no effect unless", "2.21", needsTrue("workflowTaskQueueForCount", "includeRunningWorkflowCount")},
	{[]string{"ibmmq"}, "invalid URL", "2.18", requestURI("host")},
	{[]string{"influxdb"}, "organizationName is required if influxVersion is 2", "2.18", needs(isSet("influxVersion", "2"), "with influxVersion 2", "organizationName")},
	{[]string{"influxdb"}, "database is required if influxVersion is 3", "2.18", needs(isSet("influxVersion", "3"), "with influxVersion 3", "database", "metricKey")},
	{[]string{"activemq"}, "unable to parse ActiveMQ restAPITemplate", "2.18", requestURI("restAPITemplate")},
	{[]string{"artemis-queue"}, "unable to parse the artemis restAPITemplate", "2.18", requestURI("restApiTemplate")},
	{[]string{"postgresql"}, "error establishing postgreSQL connection", "2.18", between("port", 1, 65535)},
	{[]string{"activemq"}, "no destinationName is given", "2.18", activemqTemplate("destinationName")},
	{[]string{"activemq"}, "no brokerName given", "2.18", activemqTemplate("brokerName")},
	{[]string{"artemis-queue"}, "both cert and key must be provided", "2.18", together("cert", "key")},
	{[]string{"activemq"}, "no management endpoint given", "2.18", needs(without("restAPITemplate"), "without restAPITemplate", "managementEndpoint", "destinationName", "brokerName")},
	{[]string{"artemis-queue"}, "no management endpoint given", "2.18",
		needs(without("restApiTemplate"), "without restApiTemplate", "managementEndpoint", "queueName", "brokerName", "brokerAddress")},
	{[]string{"openstack-swift"}, "either userID or appCredentialID must be specified", "2.20", oneOf("userID", "appCredentialID")},
	{[]string{"temporal"}, "both cert and key must be provided when using TLS", "2.18", together("cert", "key")},
	{[]string{"kubernetes-resource"}, "valueLocation is only supported with json or yaml format", "2.21",
		func(c *checker) (string, string, string) {
			if c.is("format", "number") && c.given("valueLocation") {
				return "valueLocation", "format number has no valueLocation", "Delete valueLocation, or write format: json"
			}
			return "", "", ""
		}},
	{authenticated, "is required when basic auth is enabled", "2.20", withMode("basic", "username")},
	{authenticated, "is required when bearer auth is enabled", "2.20", withMode("bearer", "bearerToken")},
	{authenticated, "are required when tls auth is enabled", "2.20", withMode("tls", "cert", "key")},
	{authenticated, "are required when oauth is enabled", "2.20", withMode("oauth", "oauthTokenURI", "clientID")},
	{authenticated, "are required when custom auth is enabled", "2.20", withMode("custom", "customAuthHeader", "customAuthValue")},
	{authenticated, "apiKey is required when apiKey auth is enabled", "2.20", withMode("apiKey", "apiKey")},
	{[]string{"datadog", "github-runner"}, "auth mode %q is not supported by this scaler", "2.21", values("authModes", ",", false, []string{"bearer"})},
	{[]string{"graphite"}, "auth mode %q is not supported by this scaler", "2.21", values("authModes", ",", false, []string{"basic"})},
	{[]string{"metrics-api"}, "auth mode %q is not supported by this scaler", "2.21", values("authModes", ",", false, []string{"apiKey", "basic", "tls", "bearer"})},
	{[]string{"rabbitmq"}, "auth mode %q is not supported by this scaler", "2.21", values("authModes", ",", false, []string{"oauth", "basic", "tls"})},
}

// oddities are the rules for values that KEDA accepts.
var oddities = []Rule{
	{[]string{"rabbitmq"}, "s.httpClient", "2.18", rabbitHostOf("http"), polls},
	{[]string{"cron"}, "DesiredReplicas", "2.18", when(atLeast("desiredReplicas", 0), given("desiredReplicas")), "KEDA never creates a Job"},
	{redises, "DatabaseIndex", "2.18", atLeast("databaseIndex", 0), polls},
	{sentinels, "MasterName", "2.18", needs(anyway, "to ask the sentinels", "sentinelMaster"), polls},
	{[]string{"aws-sqs-queue"}, "QueueUrl:", "2.18", when(matches("queueURL", "a URL that begins with https://, or a queue's name", queueName.MatchString), notURL("queueURL")), polls},
	{[]string{"aws-cloudwatch"}, "MetricStat", "2.18", matches("metricStat", "a statistic such as Average, Sum, Maximum or p99", statistic.MatchString), polls},
	{[]string{"gcp-pubsub"}, "unsupported aggregation function", "2.18", matches("aggregation", "a function such as mean, sum or percentile99", aggregation.MatchString), polls},
	{[]string{"pulsar"}, "/admin/v2/persistent/", "2.18", matches("topic", "of the form persistent://tenant/namespace/topic", pulsarTopic.MatchString), polls},
	{[]string{"azure-pipelines"}, "PoolID", "2.18", atLeast("poolID", 0), polls},
	{[]string{"new-relic"}, "Account", "2.18", atLeast("account", 1), polls},
	{[]string{"github-runner"}, "InstallationID", "2.18", atLeast("installationID", 0), polls},
	{[]string{"github-runner"}, "ApplicationID", "2.18", atLeast("applicationID", 0), polls},
	{[]string{"selenium-grid"}, "NodeMaxSessions", "2.18", atLeast("nodeMaxSessions", 1), "KEDA counts wrongly"},
	{[]string{"kafka"}, "isActivePartition", "2.18", when(reversedRange, given("topic")), "KEDA counts no partition and never creates a Job"},
	{[]string{"apache-kafka"}, "PartitionLimitation", "2.18", when(reversedRange, given("topic")), "KEDA leaves the range out"},
	{kafkas, "PartitionLimitation = nil", "2.18", when(unused("without topic", "partitionLimitation"), without("topic")), "KEDA ignores it"},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", when(allowed("operation", "sum", "avg", "max"), isTrue("useRegex")), polls},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", when(unused("without useRegex", "operation", "pageSize"), isNotTrue("useRegex")), "KEDA ignores it"},
	{streams, "scaleFactor = xLengthFactor", "2.18",
		when(unused("without consumerGroup", "lagCount", "pendingEntriesCount", "activationLagCount"), without("consumerGroup")), "KEDA counts the length of the stream"},
	{streams, "scaleFactor = lagFactor", "2.18", when(unused("with consumerGroup", "streamLength"), given("consumerGroup")), "KEDA counts the group's entries"},
	{streams, "TargetPendingEntriesCount = 0", "2.18", when(unused("with lagCount", "pendingEntriesCount"), given("consumerGroup"), given("lagCount")), "KEDA counts the group's lag"},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18",
		when(unused("with expression", "namespace", "metricName", "dimensionName", "dimensionValue", "metricStat", "metricUnit"), given("expression")), "KEDA ignores it"},
	{awsTypes, "PodIdentityOwner = false", "2.18", when(allowed("identityOwner", "pod", "operator"), isNotIdentity("aws")), "KEDA takes it as operator"},
	{[]string{"azure-servicebus"}, "if !meta.UseRegex {", "2.18", when(unused("without useRegex", "operation"), isNotTrue("useRegex")), "KEDA ignores it"},
	{[]string{"azure-eventhub"}, `"goSdk"`, "2.18", allowed("checkpointStrategy", "goSdk", "dapr", "blobMetadata", "azureFunction"), "KEDA takes the default strategy"},
	{[]string{"azure-eventhub"}, `"goSdk"`, "2.18",
		needs(isSet("checkpointStrategy", "goSdk", "dapr", "blobMetadata"), "with checkpointStrategy", "blobContainer"), "KEDA finds no checkpoint"},
	{[]string{"gcp-stackdriver"}, "meta.AlignmentPeriodSeconds == 0", "2.18",
		when(unused("without alignmentPeriodSeconds", "alignmentAligner", "alignmentReducer"), without("alignmentPeriodSeconds")), "KEDA ignores it"},
	{[]string{"gcp-pubsub"}, "snakeCase(mode)", "2.18", pubsubMode, "Google Cloud has no such metric: each poll fails"},
	{[]string{"selenium-grid"}, "parseCapabilitiesToMap", "2.18", jsonObject("capabilities"), "KEDA does not match any session"},
	{[]string{"temporal"}, `case "workflow"`, "2.18", values("queueTypes", ",", false, []string{"workflow", "activity", "nexus"}), "KEDA leaves it out"},
}

func without(name string) condition { return func(c *checker) bool { return c.absent(name) } }

// withMode finds an authentication mode without its parameters.
func withMode(mode string, names ...string) check {
	return func(c *checker) (string, string, string) {
		v := c.get("authModes")
		for m := range strings.SplitSeq(v.Text, ",") {
			if strings.TrimSpace(m) == mode {
				for _, name := range names {
					if c.absent(name) {
						return v.Key, fmt.Sprintf("%s %s needs %s", v.Key, mode, name), c.ways(name)
					}
				}
			}
		}
		return "", "", ""
	}
}

func schedule(name string) check {
	return func(c *checker) (string, string, string) {
		v := c.get(name)
		if v.State != Known {
			return "", "", ""
		}
		if problem := cronProblem(v.Text); problem != "" {
			return v.Key, fmt.Sprintf("%s %q is not a schedule: %s", name, v.Text, problem), "Write minute, hour, day of month, month and day of week, such as 0 6 * * 1-5"
		}
		return "", "", ""
	}
}

// glob finds a pattern with a bracket that is not closed.
func glob(name string) check {
	return func(c *checker) (string, string, string) {
		v := c.get(name)
		if v.State != Known {
			return "", "", ""
		}
		for _, pair := range []string{"[]", "{}"} {
			if open := strings.Count(v.Text, pair[:1]) - strings.Count(v.Text, `\`+pair[:1]); open > strings.Count(v.Text, pair[1:]) {
				return v.Key, fmt.Sprintf("%s %q has %s without %s", name, v.Text, pair[:1], pair[1:]), "Write a pattern such as **/*.csv, and \\" + pair[:1] + " for the character itself"
			}
		}
		return "", "", ""
	}
}

func cronEqual(c *checker) (string, string, string) {
	if a, b := c.get("start"), c.get("end"); a.State == Known && a.Text == b.Text {
		return "end", "start and end are the same", "Write an end after the start"
	}
	return "", "", ""
}

func cronNone(c *checker) (string, string, string) {
	if x, ok := c.float("desiredReplicas"); ok && x == 0 {
		return "desiredReplicas", "desiredReplicas is 0", "Write 1 or more"
	}
	return "", "", ""
}

func timezone(c *checker) (string, string, string) {
	v := c.get("timezone")
	if v.State != Known {
		return "", "", ""
	}
	if _, err := time.LoadLocation(v.Text); err == nil {
		return "", "", ""
	}
	fix := "Write a name of the IANA time zone database, such as Europe/Berlin"
	if near := Nearest(v.Text, zones); near != "" {
		fix = "Write " + near
	}
	return v.Key, fmt.Sprintf("there is no time zone %q", v.Text), fix
}

// rabbitProtocol returns http or amqp, or "" if the protocol is not known.
func (c *checker) rabbitProtocol() string {
	switch v := c.get("protocol"); {
	case v.State != Known:
		return ""
	case v.Text != "auto":
		return v.Text
	}
	if v := c.get("host"); v.State == Known {
		if u, err := url.Parse(v.Text); err == nil {
			return map[string]string{"amqp": "amqp", "amqps": "amqp", "http": "http", "https": "http"}[u.Scheme]
		}
	}
	return ""
}

func rabbitLength(c *checker) (string, string, string) {
	if x, ok := c.float("queueLength"); ok && x != 0 && (c.given("value") || c.given("mode") && !c.is("mode", "Unknown")) {
		return "queueLength", "queueLength with mode or value is given twice", "Delete queueLength: mode and value replace it"
	}
	return "", "", ""
}

func rabbitHalf(c *checker) (string, string, string) {
	if !c.absent("queueLength") {
		return "", "", ""
	}
	x, ok := c.float("value")
	switch hasMode := c.given("mode") && !c.is("mode", "Unknown"); {
	case ok && x != 0 && c.is("mode", "Unknown"):
		return "mode", "value without mode has no meaning", "Give mode in the metadata, such as mode: QueueLength"
	case hasMode && (c.absent("value") || ok && x == 0):
		return "value", "mode without value has no target", "Give value in the metadata"
	}
	return "", "", ""
}

func rabbitMode(c *checker) (string, string, string) {
	if v := c.get("mode"); v.State == Known && v.Key != "" && c.absent("queueLength") {
		return allowed("mode", "QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime", "Unknown")(c)
	}
	return "", "", ""
}

// rabbitRate finds a mode that the AMQP protocol does not have.
func rabbitRate(c *checker) (string, string, string) {
	v := c.get("mode")
	if v.State == Known && c.rabbitProtocol() == "amqp" && slices.Contains([]string{"MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"}, v.Text) {
		return v.Key, "mode " + v.Text + " works with HTTP, and the protocol is AMQP", "Write QueueLength, or an http URL as host"
	}
	return "", "", ""
}

func rabbitTimeout(c *checker) (string, string, string) {
	if x, ok := c.float("timeout"); ok && x != 0 && c.rabbitProtocol() == "amqp" {
		return "timeout", "timeout works with HTTP, and the protocol is AMQP", "Delete it, or write an http URL as host"
	}
	return "", "", ""
}

// jsonObject finds a known value that is not a JSON object with a field.
func jsonObject(name string) check {
	return func(c *checker) (string, string, string) {
		v := c.get(name)
		var fields map[string]any
		if v.State != Known || json.Unmarshal([]byte(v.Text), &fields) == nil && len(fields) > 0 {
			return "", "", ""
		}
		return v.Key, fmt.Sprintf("%s %q is not a JSON object with a field", name, v.Text), `Write JSON with quotes, such as {"state": "queued"}`
	}
}

func rabbitScheme(c *checker) (string, string, string) {
	if v := c.get("host"); v.State == Known && c.is("protocol", "auto") && c.rabbitProtocol() == "" {
		fix := "Write a URL such as amqp://user:password@host:5672/vhost or http://host:15672"
		if !strings.ContainsAny(v.Text, "./:@") && v.Key == "host" {
			fix = "Write hostFromEnv: " + v.Text + " for that variable, or a URL such as amqp://host:5672"
		}
		return v.Key, fmt.Sprintf("host %q has no scheme amqp, amqps, http or https", v.Text), fix
	}
	return "", "", ""
}

func rabbitHTTP(name string) check {
	return func(c *checker) (string, string, string) {
		if c.isTrue(name) && c.rabbitProtocol() == "amqp" {
			return name, name + " works with HTTP, and the protocol is AMQP", "Delete it, or write an http URL as host"
		}
		return "", "", ""
	}
}

func redisPorts(c *checker) (string, string, string) {
	hosts, ports := c.get("host"), c.get("port")
	if hosts.State != Known || ports.State != Known || strings.Count(hosts.Text, ",") == strings.Count(ports.Text, ",") {
		return "", "", ""
	}
	return ports.Key, "there are not as many ports as hosts", "Write one port for each host"
}

func queueURL(c *checker) (string, string, string) {
	v := c.get("queueURL")
	u, err := url.ParseRequestURI(v.Text)
	if v.State != Known || err != nil {
		return "", "", ""
	}
	if path := strings.Split(u.Path, "/"); len(path) != 3 || path[2] == "" {
		return v.Key, fmt.Sprintf("queueURL %q has no account and queue", v.Text), "Write it as https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE, or the queue's name"
	}
	return "", "", ""
}

func statPeriod(c *checker) (string, string, string) {
	x, ok := c.float("metricStatPeriod")
	if n := int(x); ok && (n >= 60 && n%60 != 0 || n < 60 && n != 1 && n != 5 && n != 10 && n != 30) {
		return "metricStatPeriod", "metricStatPeriod is " + c.text("metricStatPeriod"), "Write 1, 5, 10, 30 or a multiple of 60"
	}
	return "", "", ""
}

func serviceBusEntity(c *checker) (string, string, string) {
	if c.absent("queueName", "topicName") {
		return "queueName", "azure-servicebus needs a queue or a subscription", "Give queueName, or topicName and subscriptionName, in the metadata"
	}
	return "", "", ""
}

func cassandraPort(c *checker) (string, string, string) {
	if v := c.get("clusterIPAddress"); v.State == Known && !strings.Contains(v.Text, ":") && c.absent("port") {
		return "clusterIPAddress", "clusterIPAddress has no port", "Write it as host:9042, or give port in the metadata"
	}
	return "", "", ""
}

func alignment(c *checker) (string, string, string) {
	if x, ok := c.float("alignmentPeriodSeconds"); ok && x != 0 {
		return atLeast("alignmentPeriodSeconds", 60)(c)
	}
	return "", "", ""
}

func requestURI(name string) check {
	return func(c *checker) (string, string, string) {
		if v := c.get(name); v.State == Known {
			if _, err := url.ParseRequestURI(v.Text); err != nil {
				return v.Key, fmt.Sprintf("%s %q is not a URL", name, v.Text), "Write a URL such as https://host:9443"
			}
		}
		return "", "", ""
	}
}

func anyway(*checker) bool { return true }

func mskToken(c *checker) bool {
	return c.is("sasl", "oauthbearer") && c.is("saslTokenProvider", "aws_msk_iam")
}

func privateCloud(c *checker) bool { return strings.EqualFold(c.in.Metadata["cloud"], "Private") }

// pairs reports whether a text is a list of pairs.
func pairs(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(item string) bool { return strings.Count(item, "=") != 1 })
}

func isRegexp(text string) bool { _, err := regexp.Compile(text); return err == nil }

func isSelector(text string) bool { _, err := labels.Parse(text); return err == nil }

var longDuration = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))*$`)

// isLongDuration reports whether a text is a duration with units up to a week.
func isLongDuration(text string) bool { return text == "0" || longDuration.MatchString(text) }

// reversedRange finds a range of partitions with its end before its start.
func reversedRange(c *checker) (string, string, string) {
	v := c.get("partitionLimitation")
	for item := range strings.SplitSeq(v.Text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		a, errA := strconv.Atoi(strings.TrimSpace(first))
		b, errB := strconv.Atoi(strings.TrimSpace(last))
		if isRange && errA == nil && errB == nil && a > b {
			return v.Key, fmt.Sprintf("the range %s of partitionLimitation ends before it starts", strings.TrimSpace(item)), fmt.Sprintf("Write %d-%d", b, a)
		}
	}
	return "", "", ""
}

// less finds a number that is not below another.
func less(a, b string) check {
	return func(c *checker) (string, string, string) {
		x, okX := c.float(a)
		y, okY := c.float(b)
		if okX && okY && x >= y {
			return c.get(a).Key, fmt.Sprintf("%s (%v) is not below %s (%v)", a, x, b, y), "Write less than " + b
		}
		return "", "", ""
	}
}

// between finds a number outside its bounds.
func between(name string, least, most float64) check {
	return func(c *checker) (string, string, string) {
		if x, ok := c.float(name); ok && (x < least || x > most) {
			return c.get(name).Key, fmt.Sprintf("%s is %v", name, x), fmt.Sprintf("Write %v to %v", least, most)
		}
		return "", "", ""
	}
}

// anyPositive finds that none of several targets is 1 or more.
func anyPositive(names ...string) check {
	return func(c *checker) (string, string, string) {
		for _, name := range names {
			if x, ok := c.float(name); ok && x >= 1 || !c.shown(name) {
				return "", "", ""
			}
		}
		return "", c.name + " has no target of 1 or more", "Give " + join(names, "or")
	}
}

// needsTrue finds a key that needs a boolean.
func needsTrue(name, flag string) check {
	return func(c *checker) (string, string, string) {
		if c.given(name) && isNotTrue(flag)(c) {
			return c.get(name).Key, fmt.Sprintf("%s needs %s", name, flag), fmt.Sprintf(`Write %s: "true", or delete %s`, flag, name)
		}
		return "", "", ""
	}
}

// rabbitAMQP finds a parameter that the AMQP protocol does not have.
func rabbitAMQP(name string) check {
	return func(c *checker) (string, string, string) {
		if c.given(name) && c.rabbitProtocol() == "amqp" {
			return c.get(name).Key, name + " works with HTTP, and the protocol is AMQP", "Write an http URL as host, or delete " + name
		}
		return "", "", ""
	}
}

func collectionTime(c *checker) (string, string, string) {
	period, ok := c.float("metricStatPeriod")
	x, okX := c.float("metricCollectionTime")
	if !ok || !okX || period < 1 || x >= 0 && int(x)%int(period) == 0 {
		return "", "", ""
	}
	key := c.get("metricCollectionTime").Key
	if key == "" {
		key = "metricStatPeriod"
	}
	return key, fmt.Sprintf("metricCollectionTime %v is not a multiple of metricStatPeriod %v", x, period), fmt.Sprintf("Write a metricCollectionTime such as %v", max(1, math.Ceil(x/period))*period)
}

// awsSecretKey finds half of a pair of AWS keys.
func awsSecretKey(c *checker) (string, string, string) {
	if c.in.AnyIdentity || strings.HasPrefix(c.in.PodIdentity, "aws") || c.given("identityOwner") && !c.is("identityOwner", "pod") || !c.absent("awsRoleArn") {
		return "", "", ""
	}
	if !c.absent("awsAccessKeyID", "awsAccessKeyId") && c.absent("awsSecretAccessKey") {
		return "awsSecretAccessKey", "an AWS access key needs awsSecretAccessKey", c.ways("awsSecretAccessKey")
	}
	return "", "", ""
}

// gcpCredentials finds a trigger for Google Cloud without credentials.
func gcpCredentials(c *checker) (string, string, string) {
	if c.in.AnyIdentity || c.in.PodIdentity == "gcp" || !c.absent("GoogleApplicationCredentials") ||
		c.in.Metadata["credentialsFromEnv"] != "" || c.in.Metadata["credentialsFromEnvFile"] != "" {
		return "", "", ""
	}
	return "", c.name + " has no credentials", "Give credentialsFromEnv with the name of a variable, or GoogleApplicationCredentials or podIdentity gcp in a TriggerAuthentication"
}

// eventHubName finds a connection string without an event hub.
func eventHubName(c *checker) (string, string, string) {
	if v := c.get("connection"); noIdentity(c) && v.State == Known && !strings.Contains(v.Text, "EntityPath=") && c.absent("eventHubName") {
		return "eventHubName", "the connection string names no event hub, and eventHubName is missing", c.ways("eventHubName")
	}
	return "", "", ""
}

func gitHubApp(c *checker) (string, string, string) {
	names := []string{"applicationID", "installationID", "appKey"}
	if !slices.ContainsFunc(names, func(name string) bool { return c.given(name) }) {
		return "", "", ""
	}
	for _, name := range names {
		if c.absent(name) {
			return name, "a GitHub App needs " + name, c.ways(name)
		}
	}
	return "", "", ""
}

// Metrics of Google Cloud Pub/Sub.
var (
	subscriptionMetrics = strings.Fields(`ack_latencies ack_message_count backlog_bytes byte_cost config_updates_count dead_letter_message_count delivery_latency_health_score
exactly_once_warning_count expired_ack_deadlines_count mod_ack_deadline_message_count mod_ack_deadline_message_operation_count mod_ack_deadline_request_count
num_outstanding_messages num_retained_acked_messages num_retained_acked_messages_by_region num_unacked_messages_by_region num_undelivered_messages
oldest_retained_acked_message_age oldest_retained_acked_message_age_by_region oldest_unacked_message_age oldest_unacked_message_age_by_region open_streaming_pulls
pull_ack_message_operation_count pull_ack_request_count pull_message_operation_count pull_request_count push_request_count push_request_latencies
retained_acked_bytes retained_acked_bytes_by_region seek_request_count sent_message_count streaming_pull_ack_message_operation_count streaming_pull_ack_request_count
streaming_pull_message_operation_count streaming_pull_mod_ack_deadline_message_operation_count streaming_pull_mod_ack_deadline_request_count
streaming_pull_response_count unacked_bytes_by_region`)
	topicMetrics = strings.Fields(`byte_cost config_updates_count message_sizes num_retained_acked_messages_by_region num_retained_messages num_unacked_messages_by_region
oldest_retained_acked_message_age_by_region oldest_retained_message_age oldest_unacked_message_age_by_region retained_acked_bytes_by_region retained_bytes
schema_validation_latencies send_message_operation_count send_request_count topic_retained_bytes unacked_bytes_by_region`)
	capitals = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// pubsubMode finds a mode that is no metric of the subscription or topic.
func pubsubMode(c *checker) (string, string, string) {
	v, resource, metrics, fix := c.get("mode"), "a subscription", subscriptionMetrics, "Write NumUndeliveredMessages or OldestUnackedMessageAge"
	if c.given("topicName") {
		resource, metrics, fix = "a topic", topicMetrics, "Write a metric of topics such as SendRequestCount, or give subscriptionName"
	}
	name := v.Text
	if name == "SubscriptionSize" {
		name = "NumUndeliveredMessages"
	}
	name = strings.ToLower(capitals.ReplaceAllString(name, "${1}_$2"))
	if v.State != Known || slices.Contains(metrics, name) {
		return "", "", ""
	}
	key := v.Key
	if key == "" {
		key = "topicName"
	}
	return key, fmt.Sprintf("mode %s is not a metric of %s", v.Text, resource), fix
}

// dynamoTypes are the types of values in expressions of AWS DynamoDB.
var dynamoTypes = []string{"S", "N", "BOOL", "B", "L", "M", "NULL"}

// dynamoValues finds a value without its type.
func dynamoValues(c *checker) (string, string, string) {
	v := c.get("expressionAttributeValues")
	var all map[string]any
	if json.Unmarshal([]byte(v.Text), &all) != nil {
		return jsonObject("expressionAttributeValues")(c)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, _ := all[name].(map[string]any)
		typed := len(value) == 1
		for key, x := range value {
			_, isText := x.(string)
			typed = typed && slices.Contains(dynamoTypes, key) && (key != "N" && key != "S" || isText)
		}
		if !typed {
			return v.Key, fmt.Sprintf("%s of expressionAttributeValues has no type of DynamoDB", name), fmt.Sprintf(`Write {"%s": {"S": "text"}}, or {"N": "1"} for a number`, name)
		}
	}
	return "", "", ""
}

// placeholder reports whether a value of a variable or Secret is a word without signs.
func placeholder(v Value, name string) bool {
	return v.Key != name && !strings.ContainsAny(v.Text, ":/=@")
}

// connection finds a connection string of another form.
func connection(name, form, pattern string) check {
	accepted := regexp.MustCompile(pattern)
	return func(c *checker) (string, string, string) {
		v := c.get(name)
		if v.State != Known || accepted.MatchString(v.Text) || placeholder(v, name) {
			return "", "", ""
		}
		return v.Key, name + " is not a connection string", "Write it as " + form
	}
}

// sumologicRow finds a row without a query.
func sumologicRow(c *checker) (string, string, string) {
	row, rows := c.get("resultQueryRowID"), []string{}
	for key := range c.in.Metadata {
		if name, ok := strings.CutPrefix(key, "query."); ok {
			rows = append(rows, name)
		}
	}
	switch {
	case len(rows) == 0 || !c.is("queryType", "metrics"):
		return "", "", ""
	case row.State == Absent:
		return "resultQueryRowID", "several queries need resultQueryRowID", "Give resultQueryRowID in the metadata"
	case row.State == Known && !slices.Contains(rows, row.Text):
		slices.Sort(rows)
		return row.Key, fmt.Sprintf("there is no query.%s", row.Text), "Write " + join(rows, "or")
	}
	return "", "", ""
}

// rabbitHostOf finds a host of another protocol than the one that is given.
func rabbitHostOf(protocol string) check {
	return func(c *checker) (string, string, string) {
		v := c.get("host")
		if scheme, _, _ := strings.Cut(v.Text, "://"); v.State == Known && !placeholder(v, "host") && c.is("protocol", protocol) && scheme != protocol && scheme != protocol+"s" {
			return v.Key, "the protocol is " + protocol + ", and host has another scheme or none", fmt.Sprintf("Write a host that begins with %s://, or another protocol", protocol)
		}
		return "", "", ""
	}
}

// notURL is met by a value that is not a URL, or not known.
func notURL(name string) condition {
	return func(c *checker) bool {
		_, err := url.ParseRequestURI(c.text(name))
		return err != nil
	}
}
