package triggers

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// sharedRules are the rules of triggers for several families: HTTP authentication.
var sharedRules = []Rule{
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

var streams = []string{"redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}

// units are the units of AWS CloudWatch.
var units = strings.Fields("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits Gigabits Terabits Percent Count " +
	"Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None")

// authenticated are the types that share the parameters of HTTP authentication.
var authenticated = []string{"prometheus", "loki", "arangodb", "graphite", "metrics-api", "predictkube", "pulsar", "datadog", "github-runner", "rabbitmq"}

// polls is the effect of a value that fails when KEDA uses it.
const polls = "each poll fails"

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}(\.fifo)?$`)

// databaseRules are the rules of triggers for databases and search engines.
var databaseRules = []Rule{
	{[]string{"mongodb"}, "ApplyURI", "2.18", connection("connectionString", "mongodb://host:27017", `^mongodb(\+srv)?://`)},
	{[]string{"postgresql"}, `sql.Open("pgx"`, "2.18", onlyIf(connection("connection", "postgresql://user:password@host:5432/db or host=… dbname=…", "^postgres(ql)?://|^[^:]*="), noIdentity)},
	{[]string{"mysql"}, `sql.Open("mysql"`, "2.18", connection("connectionString", "user:password@tcp(host:3306)/db", `^(.*@)?((tcp[46]?|unix)(\(.*\))?|\(.*\))?/[^/]*$`)},
	{[]string{"mssql"}, "sqlserver", "2.18", connection("connectionString", "sqlserver://user:password@host:1433?database=…", `^sqlserver://|^odbc:|^[^:]*=`)},
	{[]string{"cassandra"}, "no port given", "2.18",
		when(fault{key: "clusterIPAddress", text: "clusterIPAddress has no port", fix: "Write it as host:9042, or set port in the metadata"}, lacks("clusterIPAddress", ":"), missing("port"))},
	{[]string{"cassandra"}, "both cert and key are required when TLS is enabled", "2.18", needs(isSet("tls", "enable"), "with tls enable", "cert", "key")},
	{[]string{"cassandra"}, "gocql.ParseConsistency", "2.18",
		allowedInAnyCase("consistency", "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE", "SERIAL", "LOCAL_SERIAL")},
	{[]string{"clickhouse"}, "either connectionString or host must be set", "2.21", oneOf("connectionString", "host")},
	{[]string{"clickhouse"}, "both cert and key must be provided when TLS is enabled", "2.21", onlyIf(together("cert", "key"), isTrue("tls"))},
	{[]string{"couchdb"}, "no host given", "2.18", oneOf("connectionString", "host port username password dbName")},
	{[]string{"mongodb"}, "no host given", "2.18", oneOf("connectionString", "host username password")},
	{[]string{"mongodb"}, "failed to parse query", "2.18", jsonObject("query")},
	{[]string{"mongodb"}, "no port given", "2.18", needs(conjunction(missing("connectionString"), isNot("scheme", "mongodb+srv")), "without connectionString", "port")},
	{[]string{"mongodb"}, "at least one of cert, key, or ca must be provided", "2.19", onlyIf(oneOf("cert", "ca"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, "both cert and key must be provided when using client certificates", "2.19", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"mongodb"}, `Scheme`, "2.18", onlyIf(allowed("scheme", "mongodb", "mongodb+srv"), missing("connectionString"))},
	{[]string{"postgresql"}, `"sslmode="`, "2.18", onlyIf(allowed("sslmode", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"), missing("connection"))},
	{[]string{"mysql"}, "net.JoinHostPort(meta.Host, meta.Port)", "2.18", oneOf("connectionString", "host port")},
	{[]string{"mssql"}, "must provide either connectionstring or host", "2.18", oneOf("connectionString", "host")},
	{[]string{"postgresql"}, "no host given", "2.18", oneOf("connection", "host port userName dbName sslmode")},
	{[]string{"elastic-forecast"}, "lookAhead must be positive", "2.20", matches("lookAhead", "is not above 0", "Write a duration above 0, such as 10m", func(text string) bool { return strings.Trim(text, "0hmsunµ.") != "" })},
	{[]string{"elastic-forecast", "elasticsearch"}, "both cloudID and apiKey must be provided", "2.18", together("cloudID", "apiKey")},
	{[]string{"elastic-forecast", "elasticsearch"}, "provide both cloud config", "2.18", exclusive("cloudID", "addresses")},
	{[]string{"elastic-forecast", "elasticsearch"}, "both username and password must be provided", "2.18", needs(provided("addresses"), "with addresses", "username", "password")},
	{[]string{"elastic-forecast"}, "must provide either cloud config", "2.20", oneOf("addresses", "cloudID apiKey")},
	{[]string{"opensearch"}, "both clientCert and clientKey must be provided when enableTLS is true", "2.20", needs(isTrue("enableTLS"), "with enableTLS", "clientCert", "clientKey")},
	{[]string{"opensearch"}, "both username and password must be provided for basic auth", "2.20", needs(isNotTrue("enableTLS"), "without enableTLS", "username", "password")},
	{[]string{"elasticsearch", "opensearch"}, "either searchTemplateName or query must be provided", "2.18", oneOf("searchTemplateName", "query")},
	{[]string{"elasticsearch", "opensearch"}, "cannot provide both searchTemplateName and query", "2.18", exclusive("searchTemplateName", "query")},
	{[]string{"elasticsearch"}, "must provide either cloud config or endpoint addresses", "2.18", elasticWay},
	{[]string{"elastic-forecast", "elasticsearch", "opensearch"}, "meta.Addresses", "2.18", urls("addresses", ",", "")},
	{[]string{"couchdb"}, `kivik.New("couch"`, "2.18", urls("connectionString", "", "http://")},
	{[]string{"gcp-spanner"}, "projects/%s/instances/%s/databases/%s", "2.21", spannerName},
	{[]string{"etcd"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"etcd"}, "cert must be provided with key", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"etcd"}, "watchProgressNotifyInterval must be greater than 0", "2.18", atLeast("watchProgressNotifyInterval", 1)},
	{[]string{"etcd"}, "username must be provided with password", "2.18", together("username", "password")},
	{[]string{"opensearch"}, "expected key:value", "2.20", matches("parameters", "is not a list of pairs", "Write a list of pairs such as a:1,b:2", isPairs)},
	{[]string{"postgresql"}, "error establishing postgreSQL connection", "2.18", between("port", 1, 65535)},
}

// elasticWay finds a trigger without any parameter of a connection.
func elasticWay(c *checker) fault {
	if !c.absent("addresses", "cloudID", "apiKey", "username", "password") {
		return fault{}
	}
	return fault{text: "elasticsearch needs addresses with username and password, or cloudID with apiKey", fix: c.ways("addresses")}
}

// monitoringRules are the rules of triggers for monitoring systems.
var monitoringRules = []Rule{
	{[]string{"new-relic"}, "Account", "2.18", accepted(polls, atLeast("account", 1))},
	{[]string{"datadog"}, "missing AppKey", "2.18", needs(isNotTrue("useClusterAgentProxy"), "without useClusterAgentProxy", "appKey", "apiKey", "query")},
	{[]string{"datadog"}, "datadog metrics service is required", "2.18",
		needs(isTrue("useClusterAgentProxy"), "with useClusterAgentProxy", "datadogMetricsService", "datadogMetricName", "datadogNamespace", "datadogMetricNamespace")},
	{[]string{"datadog"}, "missing query scope", "2.18", matches("query", "has no scope in braces", "Write a query with a scope, such as sum:queue.size{name:orders}", regexp.MustCompile(`\{.*\}`).MatchString)},
	{[]string{"datadog"}, "type has to be global or average", "2.18", allowedInAnyCase("type", "average", "global")},
	{[]string{"datadog"}, "no targetValue or queryValue given", "2.18",
		when(fault{key: "targetValue", text: "datadog needs targetValue", fix: "Set targetValue in the metadata"}, notInMetadata("targetValue"), notInMetadata("queryValue"))},
	{[]string{"datadog"}, "age should not be smaller than 0", "2.18", atLeast("age", 0)},
	{[]string{"datadog"}, "timeWindowOffset should not be smaller than 0", "2.18", atLeast("timeWindowOffset", 0)},
	{[]string{"datadog"}, "lastAvailablePointOffset should not be smaller than 0", "2.18", atLeast("lastAvailablePointOffset", 0)},
	{[]string{"new-relic"}, "newrelic.ConfigRegion", "2.18", allowedInAnyCase("region", "US", "EU", "JP", "GOV", "Staging", "Local")},
	{[]string{"dynatrace"}, "either 'metricSelector' or 'query' must be provided", "2.19", oneOf("metricSelector", "query")},
	{[]string{"dynatrace"}, "'metricSelector' and 'query' are mutually exclusive", "2.19", exclusive("metricSelector", "query")},
	{[]string{"dynatrace"}, "'from' can't be used with query", "2.19", onlyIf(exclusive("query", "from"), inMetadata("from"))},
	{[]string{"influxdb"}, "query type must be 'influxql' or 'flightsql'", "2.18", onlyIf(allowedInAnyCase("queryType", "InfluxQL", "FlightSQL"), isSet("influxVersion", "3"))},
	{[]string{"predictkube"}, "predictHorizon parsing error", "2.18", matches("predictHorizon", "is not a duration", "Write a duration such as 2h", isLongDuration)},
	{[]string{"predictkube"}, "queryStep parsing error", "2.18", matches("queryStep", "is not a duration", "Write a duration such as 2m", isLongDuration)},
	{[]string{"predictkube"}, "historyTimeWindow parsing error", "2.18", matches("historyTimeWindow", "is not a duration", "Write a duration such as 7d", isLongDuration)},
	{[]string{"predictkube"}, "invalid prometheusAddress", "2.18", requestURI("prometheusAddress", "Write a URL such as http://HOST:9090")},
	{[]string{"prometheus"}, "pod identity cannot be enabled with other auth types", "2.18",
		func(c *checker) fault {
			if !c.in.AnyIdentity && !noIdentity(c) && c.hasAll("authModes") {
				return fault{key: c.get("authModes").Key, text: "authModes and a pod identity exclude each other", fix: "Delete one of the two"}
			}
			return fault{}
		}},
	{[]string{"splunk", "solarwinds"}, "invalid value for host. Must be a valid URL", "2.18", requestURI("host", "Write a URL such as https://HOST:8089")},
	{[]string{"splunk"}, "API token and Password were all set", "2.18", exclusive("apiToken", "password")},
	{[]string{"sumologic"}, "only one of query or query.<RowId>", "2.18", sumologicQueries},
	{[]string{"sumologic"}, "not found in queries", "2.18", sumologicRow},
	{[]string{"sumologic"}, "missing required metadata: query", "2.18", needs(isSet("queryType", "logs"), "with queryType logs", "query", "resultField")},
	{[]string{"sumologic"}, "missing required metadata: quantization", "2.18", needs(isSet("queryType", "metrics"), "with queryType metrics", "quantization")},
	{[]string{"influxdb"}, "influxdb3.New(", "2.18", onlyIf(urls("serverURL", "", ""), isSet("influxVersion", "3"))},
	{[]string{"influxdb"}, "organizationName is required if influxVersion is 2", "2.18", needs(isSet("influxVersion", "2"), "with influxVersion 2", "organizationName")},
	{[]string{"influxdb"}, "database is required if influxVersion is 3", "2.18", needs(isSet("influxVersion", "3"), "with influxVersion 3", "database", "metricKey")},
}

var longDuration = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))*$`)

// isLongDuration reports whether a text is a duration with units up to a week.
func isLongDuration(text string) bool { return text == "0" || longDuration.MatchString(text) }

// sumologicRow finds a row without a query.
func sumologicRow(c *checker) fault {
	row, rows := c.get("resultQueryRowID"), []string{}
	for key := range c.in.Metadata {
		if name, ok := strings.CutPrefix(key, "query."); ok {
			rows = append(rows, name)
		}
	}
	switch {
	case len(rows) == 0 || !c.equals("queryType", "metrics"):
		return fault{}
	case row.State == Absent:
		return fault{key: "resultQueryRowID", text: "several queries need resultQueryRowID", fix: "Set resultQueryRowID in the metadata"}
	case row.State == Visible && !slices.Contains(rows, row.Text):
		slices.Sort(rows)
		return fault{key: row.Key, text: "there is no query." + row.Text, fix: "Write " + join(rows, "or")}
	}
	return fault{}
}

// platformRules are the rules of triggers for platforms and build systems.
var platformRules = []Rule{
	{[]string{"github-runner"}, "InstallationID", "2.18", accepted(polls, notNegative("installationID"))},
	{[]string{"github-runner"}, "ApplicationID", "2.18", accepted(polls, notNegative("applicationID"))},
	{[]string{"selenium-grid"}, "NodeMaxSessions", "2.18", accepted("KEDA asks for a wrong number of Jobs", atLeast("nodeMaxSessions", 1))},
	{[]string{"selenium-grid"}, "parseCapabilitiesToMap", "2.18", accepted("KEDA does not match any session", jsonObject("capabilities"))},
	{[]string{"github-runner"}, "no personalAccessToken", "2.18", oneOf("personalAccessToken", "appKey", "bearerToken")},
	{[]string{"github-runner"}, "no applicationID given", "2.18", gitHubApp},
	{[]string{"kubernetes-workload"}, "error parsing pod selector", "2.18", matches("podSelector", "is not a label selector", "Write a label selector, such as app=worker or app in (a, b)", isSelector)},
	{[]string{"kubernetes-resource"}, "valueLocation is required for %s format", "2.21", needs(isSet("format", "json", "yaml"), "with this format", "valueLocation")},
	{[]string{"openstack-metric"}, "authURL doesn't exist in the authParams", "2.18", needs(unconditional, "in the TriggerAuthentication", "authURL")},
	{[]string{"openstack-metric", "openstack-swift"}, "authURL is invalid", "2.18", urls("authURL", "", "")},
	{[]string{"openstack-metric"}, "neither userID or appCredentialSecretID exist", "2.18", oneOf("userID password", "appCredentialSecret")},
	{[]string{"openstack-swift"}, "password must be specified when using userID", "2.20", needs(provided("userID"), "with userID", "password", "projectID")},
	{[]string{"openstack-swift"}, "appCredentialSecret must be specified when using appCredentialID", "2.20", needs(conjunction(missing("userID"), provided("appCredentialID")), "with appCredentialID", "appCredentialSecret")},
	{[]string{"openstack-swift"}, "either userID or appCredentialID must be specified", "2.20", oneOf("userID", "appCredentialID")},
	{[]string{"kubernetes-resource"}, "valueLocation is only supported with json or yaml format", "2.21",
		when(fault{key: "valueLocation", text: "format number has no valueLocation", fix: "Delete valueLocation, or write format: json"}, isSet("format", "number"), provided("valueLocation"))},
}

func isSelector(text string) bool { _, err := labels.Parse(text); return err == nil }

func gitHubApp(c *checker) fault {
	names := []string{"applicationID", "installationID", "appKey"}
	i := slices.IndexFunc(names, func(name string) bool { return c.absent(name) })
	if i < 0 || !slices.ContainsFunc(names, func(name string) bool { return c.hasAll(name) }) {
		return fault{}
	}
	return fault{key: names[i], text: "a GitHub App needs " + names[i], fix: c.ways(names[i])}
}
