package triggers

import (
	"fmt"
	"regexp"
	"strings"
)

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
	{[]string{"azure-servicebus"}, "no service bus entity type set", "2.18", serviceBusEntity},
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
	{[]string{"azure-eventhub"}, "connection string does not contain event hub name", "2.18", eventHubName},
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

func serviceBusEntity(c *checker) fault {
	if c.absent("queueName", "topicName") {
		return fault{key: "queueName", text: "azure-servicebus needs a queue or a subscription", fix: "Set queueName, or topicName and subscriptionName, in the metadata"}
	}
	return fault{}
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

// eventHubName finds a connection string without an event hub.
func eventHubName(c *checker) fault {
	if v := c.get("connection"); noIdentity(c) && v.State == Visible && !strings.Contains(v.Text, "EntityPath=") && c.absent("eventHubName") {
		return fault{key: "eventHubName", text: "the connection string names no event hub, and eventHubName is missing", fix: c.ways("eventHubName")}
	}
	return fault{}
}
