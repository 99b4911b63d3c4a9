package triggers

import (
	"regexp"
	"strings"
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
