package triggers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

var (
	kafkas  = []string{"kafka", "apache-kafka"}
	redises = []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}
	// authenticated are the types that share the parameters of HTTP authentication.
	authenticated = []string{"prometheus", "loki", "arangodb", "graphite", "metrics-api", "predictkube"}
)

var ruleList = []Rule{
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
	{[]string{"kafka"}, "key must be provided with cert", "2.18", together("cert", "key")},

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
	{[]string{"rabbitmq"}, "username and password must be given together", "2.18", together("username", "password")},

	{redises, "no addresses or hosts given", "2.18", oneOf("address", "host port")},
	{redises, "not enough hosts or ports given", "2.18", redisPorts},
	{redises, "EnableTLS parsing error", "2.18", allowed("enableTLS", "true", "false", "1", "0", "t", "f", "T", "F", "TRUE", "FALSE", "True", "False")},

	{[]string{"aws-sqs-queue"}, "cannot get queueName from queueURL", "2.18", queueURL},
	{[]string{"aws-cloudwatch"}, "namespace not given", "2.18", needs(without("expression"), "without expression", "namespace", "metricName", "dimensionName", "dimensionValue")},
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
	{[]string{"azure-pipelines"}, "no poolName or poolID given", "2.18", oneOf("poolName", "poolID")},

	{[]string{"cassandra"}, "no port given", "2.18", cassandraPort},
	{[]string{"couchdb"}, "no host given", "2.18", oneOf("connectionString", "host port username password dbName")},
	{[]string{"mongodb"}, "no host given", "2.18", oneOf("connectionString", "host username password")},
	{[]string{"mongodb"}, "failed to parse query", "2.18", jsonObject("query")},
	{[]string{"mysql"}, "net.JoinHostPort(meta.Host, meta.Port)", "2.18", oneOf("connectionString", "host port")},
	{[]string{"mssql"}, "must provide either connectionstring or host", "2.18", oneOf("connectionString", "host")},
	{[]string{"postgresql"}, "no host given", "2.18", oneOf("connection", "host port userName dbName sslmode")},
	{[]string{"dynatrace"}, "either 'metricSelector' or 'query' must be provided", "2.19", oneOf("metricSelector", "query")},
	{[]string{"dynatrace"}, "'metricSelector' and 'query' are mutually exclusive", "2.19", apart("metricSelector", "query")},
	{[]string{"elasticsearch", "opensearch"}, "either searchTemplateName or query must be provided", "2.18", oneOf("searchTemplateName", "query")},
	{[]string{"elasticsearch", "opensearch"}, "cannot provide both searchTemplateName and query", "2.18", apart("searchTemplateName", "query")},
	{[]string{"elasticsearch"}, "must provide either cloud config or endpoint addresses", "2.18", oneOf("addresses", "cloudID", "apiKey", "username", "password")},
	{[]string{"etcd"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"etcd"}, "username must be provided with password", "2.18", together("username", "password")},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", oneOf("subscriptionName", "topicName")},
	{[]string{"gcp-pubsub"}, "exactly one of subscription or topic name must be given", "2.18", apart("subscriptionName", "topicName")},
	{[]string{"gcp-stackdriver"}, "alignmentPeriodSeconds must be at least 60", "2.18", alignment},
	{[]string{"github-runner"}, "no personalAccessToken", "2.18", oneOf("personalAccessToken", "appKey", "bearerToken")},
	{[]string{"github-runner"}, "runnerScope %s not supported", "2.18", allowed("runnerScope", "org", "ent", "repo")},
	{[]string{"ibmmq"}, "invalid URL", "2.18", requestURI("host")},
	{[]string{"influxdb"}, "organizationName is required if influxVersion is 2", "2.18", needs(isSet("influxVersion", "2"), "with influxVersion 2", "organizationName")},
	{[]string{"influxdb"}, "database is required if influxVersion is 3", "2.18", needs(isSet("influxVersion", "3"), "with influxVersion 3", "database", "metricKey")},
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
}

func without(name string) func(*checker) bool { return func(c *checker) bool { return c.absent(name) } }

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
