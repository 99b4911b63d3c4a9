package triggers

import (
	"regexp"
	"slices"
	"strings"
)

// monitoringRules are the rules of triggers for monitoring systems.
var monitoringRules = []Rule{
	{[]string{"new-relic"}, "Account", "2.18", accepted(polls, atLeast("account", 1))},
	{[]string{"datadog"}, "missing AppKey", "2.18", needs(isNotTrue("useClusterAgentProxy"), "without useClusterAgentProxy", "appKey", "apiKey", "query")},
	{[]string{"datadog"}, "datadog metrics service is required", "2.18",
		needs(isTrue("useClusterAgentProxy"), "with useClusterAgentProxy", "datadogMetricsService", "datadogMetricName", "datadogNamespace", "datadogMetricNamespace")},
	{[]string{"datadog"}, "missing query scope", "2.18", matches("query", "has no scope in braces", "Write a query with a scope, such as sum:queue.size{name:orders}", regexp.MustCompile(`\{.*\}`).MatchString)},
	{[]string{"datadog"}, "type has to be global or average", "2.18", allowedInAnyCase("type", "average", "global")},
	{[]string{"datadog"}, "no targetValue or queryValue given", "2.18",
		func(c *checker) fault {
			if c.in.lookup('m', "targetValue").State == Absent && c.in.lookup('m', "queryValue").State == Absent {
				return fault{key: "targetValue", text: "datadog needs targetValue", fix: "Set targetValue in the metadata"}
			}
			return fault{}
		}},
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
