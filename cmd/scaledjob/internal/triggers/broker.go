package triggers

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kafkaRules are the rules of triggers for Kafka.
var kafkaRules = []Rule{
	{[]string{"kafka"}, "isActivePartition", "2.18", accepted("KEDA counts no partition and never creates a Job", onlyIf(about("partitionLimitation", reversedRange), provided("topic")))},
	{[]string{"apache-kafka"}, "PartitionLimitation", "2.18", accepted("KEDA leaves the range out", onlyIf(about("partitionLimitation", reversedRange), provided("topic")))},
	{kafkas, "PartitionLimitation = nil", "2.18", accepted("KEDA ignores it", onlyIf(unused("without topic", "partitionLimitation"), missing("topic")))},
	{kafkas, "allowIdleConsumers and limitToPartitionsWithLag cannot be set simultaneously", "2.18", apartIfTrue("allowIdleConsumers", "limitToPartitionsWithLag")},
	{kafkas, "topic must be specified when using limitToPartitionsWithLag", "2.18",
		needs(isTrue("limitToPartitionsWithLag"), "with limitToPartitionsWithLag", "topic")},
	{[]string{"kafka"}, "topic must be specified when using ensureEvenDistributionOfPartitions", "2.18",
		needs(isTrue("ensureEvenDistributionOfPartitions"), "with ensureEvenDistributionOfPartitions", "topic")},
	{[]string{"kafka"}, "limitToPartitionsWithLag and ensureEvenDistributionOfPartitions cannot be set simultaneously", "2.18",
		apartIfTrue("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions")},
	{[]string{"kafka"}, "no username given", "2.18", needs(isSet("sasl", "plaintext", "scram_sha256", "scram_sha512"), "with sasl", "username", "password")},
	{[]string{"apache-kafka"}, "username and password must be set when using SASL/PLAINTEXT", "2.18", needs(isSet("sasl", "plaintext"), "with sasl plaintext", "username", "password")},
	{[]string{"apache-kafka"}, "awsRegion must be set when using AWS MSK IAM", "2.18", needs(isSet("sasl", "aws_msk_iam"), "with sasl aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "key must be provided with cert", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "can't set only one of cert or key when using TLS", "2.18", onlyIf(together("cert", "key"), isSet("tls", "enable"))},
	{[]string{"apache-kafka"}, "TLS must be enabled when using AWS MSK IAM", "2.18", onlyIf(mustBe("tls", "enable", "sasl aws_msk_iam"), isSet("sasl", "aws_msk_iam"))},
	{[]string{"kafka"}, "topic must be specified when fullMetadata is false", "2.21", needs(isSet("fullMetadata", "false"), "with fullMetadata false", "topic")},
	{[]string{"kafka"}, "no oauth token endpoint uri given", "2.18",
		needs(conjunction(isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam")), "with sasl oauthbearer", "username", "password", "oauthTokenEndpointUri")},
	{[]string{"kafka"}, "invalid OAuthBearer extension", "2.18",
		onlyIf(matches("oauthExtensions", "is not a list of pairs", "Write a list of pairs such as a=1,b=2", pairs), isSet("sasl", "oauthbearer"), isNot("saslTokenProvider", "aws_msk_iam"))},
	{[]string{"kafka"}, "TLS is required for AWS MSK authentication", "2.18", onlyIf(mustBe("tls", "enable", "saslTokenProvider aws_msk_iam"), mskToken)},
	{[]string{"kafka"}, "no awsRegion given", "2.18", needs(mskToken, "with saslTokenProvider aws_msk_iam", "awsRegion")},
	{[]string{"kafka"}, "no realm given", "2.18", needs(isSet("sasl", "gssapi"), "with sasl gssapi", "username", "realm", "kerberosConfig")},
	{[]string{"kafka"}, "invalid partition limitation", "2.20", matches("partitionLimitation", "is not a list of partitions", "Write numbers and ranges, such as 1,3,5-9", partitionList.MatchString)},
	{[]string{"kafka"}, "error parsing kafka version", "2.18", matches("version", "does not have three numbers", "Write a version such as 2.8.0", regexp.MustCompile(`^(0\.\d+|\d+)\.\d+\.\d+$`).MatchString)},
	{[]string{"apache-kafka"}, "unable to set `sasl` in both", "2.18", twice("sasl")},
	{[]string{"apache-kafka"}, "unable to set `tls` in both", "2.18", twice("tls")},
	{[]string{"kafka"}, "exactly one of 'password', 'keytab' or 'ccacheName'", "2.21", onlyIf(oneSecret, isSet("sasl", "gssapi"))},
	{[]string{"kafka"}, "ccacheName must be a file name and not a path", "2.21", onlyIf(matches("ccacheName", "is a path", "Write the file's name alone", isBase), isSet("sasl", "gssapi"))},
}

var kafkas = []string{"kafka", "apache-kafka"}

var partitionList = regexp.MustCompile(`^ *\d+( *- *\d+)? *(, *\d+( *- *\d+)? *)*$`)

func mskToken(c *checker) bool {
	return c.equals("sasl", "oauthbearer") && c.equals("saslTokenProvider", "aws_msk_iam")
}

// reversedRange finds a range of partitions with its end before its start.
func reversedRange(text string) (wrong, fix string) {
	for item := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(item, "-")
		a, errA := strconv.Atoi(strings.TrimSpace(first))
		b, errB := strconv.Atoi(strings.TrimSpace(last))
		if isRange && errA == nil && errB == nil && a > b {
			return fmt.Sprintf("the range %s of partitionLimitation ends before it starts", strings.TrimSpace(item)), fmt.Sprintf("Write %d-%d", b, a)
		}
	}
	return "", ""
}

// rabbitmqRules are the rules of triggers for RabbitMQ.
var rabbitmqRules = []Rule{
	{[]string{"rabbitmq"}, "s.httpClient", "2.18", accepted(polls, rabbitHostOf("http"))},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", accepted(polls, onlyIf(allowed("operation", "sum", "avg", "max"), isTrue("useRegex")))},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", accepted("KEDA ignores it", onlyIf(unused("without useRegex", "operation", "pageSize"), isNotTrue("useRegex")))},
	{[]string{"rabbitmq"}, "the protocol has to be either", "2.18", allowed("protocol", "amqp", "http", "auto")},
	{[]string{"rabbitmq"}, "queueLength is deprecated; use", "2.18",
		when(fault{key: "queueLength", text: "queueLength excludes mode and value", fix: "Delete queueLength; mode and value replace it"}, lengthAndMode)},
	{[]string{"rabbitmq"}, "%s must be specified", "2.18", rabbitHalf},
	{[]string{"rabbitmq"}, "trigger mode %s must be one of", "2.18", rabbitMode},
	{[]string{"rabbitmq"}, "not supported; must be HTTP to use trigger mode", "2.18", rabbitRate},
	{[]string{"rabbitmq"}, "AMQP protocol doesn't support custom timeouts", "2.18", onlyIf(rabbitAMQP("timeout"), isNot("timeout", "0"))},
	{[]string{"rabbitmq"}, "unknown host URL scheme", "2.18", rabbitScheme},
	{[]string{"rabbitmq"}, "configure excludeUnacknowledged=true only with HTTP protocol", "2.18", onlyIf(rabbitAMQP("excludeUnacknowledged"), isTrue("excludeUnacknowledged"))},
	{[]string{"rabbitmq"}, "configure useRegex=true only with HTTP protocol", "2.18", onlyIf(rabbitAMQP("useRegex"), isTrue("useRegex"))},
	{[]string{"rabbitmq"}, "pageSize should be 1 or greater", "2.18", atLeast("pageSize", 1)},
	{[]string{"rabbitmq"}, "amqp.DialConfig", "2.18", rabbitHostOf("amqp")},
	{[]string{"rabbitmq"}, "incorrect value for TLS given", "2.18", allowed("tls", "enable", "disable")},
	{[]string{"rabbitmq"}, "both key and certificate must be provided", "2.18", together("cert", "key")},
	{[]string{"rabbitmq"}, "workload identity is not supported for the AMQP protocol", "2.18", rabbitAMQP("workloadIdentityResource")},
	{[]string{"rabbitmq"}, "OAuth2 authentication is only supported with HTTP protocol", "2.20", rabbitAMQP("oauthTokenURI")},
	{[]string{"rabbitmq"}, "username and password must be given together", "2.18", together("username", "password")},
	{[]string{"rabbitmq"}, "OAuth2 requires tokenUrl", "2.20", rabbitOAuth},
	{[]string{"rabbitmq"}, "OAuth2 authentication cannot be combined", "2.20",
		when(fault{text: "OAuth2 and another login exclude each other", fix: "Delete username and password, or workloadIdentityResource"}, severalLogins)},
}

// rabbitProtocol returns http or amqp, or "" if the protocol is not known.
func (c *checker) rabbitProtocol() string {
	switch v := c.get("protocol"); {
	case v.State != Visible:
		return ""
	case v.Text != "auto":
		return v.Text
	}
	if v := c.get("host"); v.State == Visible {
		if u, err := url.Parse(v.Text); err == nil {
			return map[string]string{"amqp": "amqp", "amqps": "amqp", "http": "http", "https": "http"}[u.Scheme]
		}
	}
	return ""
}

// lengthAndMode is met by queueLength beside what replaces it.
func lengthAndMode(c *checker) bool {
	x, ok := c.float("queueLength")
	return ok && x != 0 && (c.hasAll("value") || (c.hasAll("mode") && !c.equals("mode", "Unknown")))
}

func rabbitHalf(c *checker) fault {
	if !c.absent("queueLength") {
		return fault{}
	}
	x, ok := c.float("value")
	switch hasMode := c.hasAll("mode") && !c.equals("mode", "Unknown"); {
	case ok && x != 0 && c.equals("mode", "Unknown"):
		return fault{key: "mode", text: "value without mode has no meaning", fix: "Set mode in the metadata, such as mode: QueueLength"}
	case hasMode && (c.absent("value") || (ok && x == 0)):
		return fault{key: "value", text: "mode without value has no target", fix: "Set value in the metadata"}
	}
	return fault{}
}

func rabbitMode(c *checker) fault {
	if v := c.get("mode"); v.State == Visible && v.Key != "" && c.absent("queueLength") {
		return allowed("mode", "QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime", "Unknown")(c)
	}
	return fault{}
}

// rabbitRate finds a mode that the AMQP protocol does not have.
func rabbitRate(c *checker) fault {
	v := c.get("mode")
	if v.State == Visible && c.rabbitProtocol() == "amqp" && slices.Contains([]string{"MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"}, v.Text) {
		return fault{key: v.Key, text: "mode " + v.Text + " works only with HTTP, but the protocol is AMQP", fix: "Write an http URL as host; or QueueLength, and then value in messages"}
	}
	return fault{}
}

func rabbitScheme(c *checker) fault {
	if v := c.get("host"); v.State == Visible && c.equals("protocol", "auto") && c.rabbitProtocol() == "" {
		return fault{key: v.Key, text: fmt.Sprintf("host %q has no scheme amqp, amqps, http or https", v.Text),
			fix: "Write a URL such as amqp://user:password@host:5672/vhost or http://host:15672"}
	}
	return fault{}
}

// rabbitAMQP finds a parameter that the AMQP protocol does not have.
func rabbitAMQP(name string) check {
	return func(c *checker) fault {
		if c.hasAll(name) && c.rabbitProtocol() == "amqp" {
			return fault{key: c.get(name).Key, text: name + " works only with HTTP, but the protocol is AMQP", fix: "Write an http URL as host, or delete " + name}
		}
		return fault{}
	}
}

// rabbitHostOf finds a host of another protocol than the given protocol.
func rabbitHostOf(protocol string) check {
	return func(c *checker) fault {
		v := c.get("host")
		if scheme, _, _ := strings.Cut(v.Text, "://"); v.State == Visible && !placeholder(v, "host") && c.equals("protocol", protocol) && scheme != protocol && scheme != protocol+"s" {
			return fault{key: v.Key, text: "the protocol is " + protocol + ", but host has another scheme or none", fix: fmt.Sprintf("Write a host that begins with %s://, or another protocol", protocol)}
		}
		return fault{}
	}
}

// redisRules are the rules of triggers for Redis.
var redisRules = []Rule{
	{redises, "DatabaseIndex", "2.18", accepted(polls, atLeast("databaseIndex", 0))},
	{sentinels, "MasterName", "2.18", accepted(polls, needs(unconditional, "to ask the sentinels", "sentinelMaster"))},
	{streams, "scaleFactor = xLengthFactor", "2.18",
		accepted("KEDA counts all entries of the stream, also acknowledged ones", onlyIf(unusedWithout("consumerGroup", "lagCount", "pendingEntriesCount", "activationLagCount"), missing("consumerGroup")))},
	{streams, "scaleFactor = lagFactor", "2.18", accepted("KEDA counts the group's entries", onlyIf(unused("with consumerGroup", "streamLength"), provided("consumerGroup")))},
	{streams, "TargetPendingEntriesCount = 0", "2.18", accepted("KEDA counts the group's lag", onlyIf(unused("with lagCount", "pendingEntriesCount"), provided("consumerGroup"), provided("lagCount")))},
	{redises, "no addresses or hosts given", "2.18", oneOf("address", "host port")},
	{redises, "not enough hosts or ports given", "2.18", redisPorts},
	{redises, "error incorrect TLS value given", "2.18", allowed("tls", "enable", "disable")},
	{redises, "to set `tls` in both", "2.18", onlyIf(exclusive("enableTLS", "tls"), inMetadata("enableTLS"))},
	{redises, "EnableTLS parsing error", "2.18", allowed("enableTLS", "true", "false", "1", "0", "t", "f", "T", "F", "TRUE", "FALSE", "True", "False")},
}

var redises = []string{"redis", "redis-cluster", "redis-sentinel", "redis-streams", "redis-cluster-streams", "redis-sentinel-streams"}

var sentinels = []string{"redis-sentinel", "redis-sentinel-streams"}

func redisPorts(c *checker) fault {
	f := sameLength("host", "port", ",")(c)
	if f.text != "" {
		f.text, f.fix = "there are not as many ports as hosts", "Write one port for each host"
	}
	return f
}

// brokerRules are the rules of triggers for message brokers and workflow engines.
var brokerRules = []Rule{
	{[]string{"pulsar"}, "/admin/v2/persistent/", "2.18", accepted(polls, matches("topic", "has no tenant and namespace", "Write it as persistent://tenant/namespace/topic", pulsarTopic.MatchString))},
	{[]string{"temporal"}, `case "workflow"`, "2.18", accepted("KEDA leaves it out", values("queueTypes", ",", false, []string{"workflow", "activity", "nexus"}))},
	{[]string{"nats-jetstream"}, "no account name or id given", "2.18", oneOf("account", "accountID")},
	{[]string{"ibmmq"}, "both cert and key must be provided when using TLS", "2.18", together("cert", "key")},
	{[]string{"solace-direct-messaging"}, "empty host url value", "2.18", solaceURL(true)},
	{[]string{"solace-direct-messaging"}, "invalid host url value", "2.18", solaceURL(false)},
	{[]string{"solace-direct-messaging"}, "client-name-pattern should not contain '*'", "2.18",
		matches("clientNamePattern", "contains *", "Write a part of a client's name, without *", func(text string) bool { return !strings.Contains(text, "*") })},
	{[]string{"solace-direct-messaging"}, "queued messages factor should be", "2.18", between("queuedMessagesFactor", 1, 100)},
	{[]string{"solace-direct-messaging"}, "no target value found in the scaler configuration", "2.18",
		anyPositive("aggregatedClientTxMsgRateTarget", "aggregatedClientTxByteRateTarget", "aggregatedClientAverageTxByteRateTarget", "aggregatedClientAverageTxMsgRateTarget")},
	{[]string{"solace-event-queue"}, "no target value found in the scaler configuration", "2.18", anyPositive("messageCountTarget", "messageSpoolUsageTarget", "messageReceiveRateTarget")},
	{[]string{"temporal"}, "not allowed in Temporal visibility queries", "2.21", visibility},
	{[]string{"temporal"}, "workerDeploymentName and workerDeploymentBuildId must both be set", "2.20", together("workerDeploymentName", "workerDeploymentBuildId")},
	{[]string{"temporal"}, "minConnectTimeout must be a positive number", "2.18", atLeast("minConnectTimeout", 0)},
	{[]string{"temporal"}, "workflowTaskQueueForCount has no effect unless", "2.21", needsTrue("workflowTaskQueueForCount", "includeRunningWorkflowCount")},
	{[]string{"ibmmq"}, "invalid URL", "2.18", requestURI("host", "Write a URL such as https://HOST:9443")},
	{[]string{"activemq"}, "unable to parse ActiveMQ restAPITemplate", "2.18", requestURI("restAPITemplate", activemqFix)},
	{[]string{"artemis-queue"}, "unable to parse the artemis restAPITemplate", "2.18", requestURI("restApiTemplate", "Write a URL such as http://HOST:8161/console/jolokia/read/…")},
	{[]string{"activemq"}, "no destinationName is given", "2.18", activemqTemplate("destinationName")},
	{[]string{"activemq"}, "no brokerName given", "2.18", activemqTemplate("brokerName")},
	{[]string{"artemis-queue"}, "both cert and key must be provided", "2.18", together("cert", "key")},
	{[]string{"activemq"}, "no management endpoint given", "2.18", needs(missing("restAPITemplate"), "without restAPITemplate", "managementEndpoint", "destinationName", "brokerName")},
	{[]string{"artemis-queue"}, "no management endpoint given", "2.18",
		needs(missing("restApiTemplate"), "without restApiTemplate", "managementEndpoint", "queueName", "brokerName", "brokerAddress")},
	{[]string{"temporal"}, "both cert and key must be provided when using TLS", "2.18", together("cert", "key")},
}

var pulsarTopic = regexp.MustCompile(`^(persistent://)?[^/:]+(/[^/:]+){2,3}$`)

// anyPositive finds that none of several targets is 1 or more.
func anyPositive(names ...string) check {
	return func(c *checker) fault {
		for _, name := range names {
			if x, ok := c.float(name); (ok && x >= 1) || !c.visible(name) {
				return fault{}
			}
		}
		return fault{text: c.name + " has no target of 1 or more", fix: "Set " + join(names, "or")}
	}
}

// needsTrue finds a key that needs a boolean.
func needsTrue(name, flag string) check {
	return func(c *checker) fault {
		if c.hasAll(name) && isNotTrue(flag)(c) {
			return fault{key: c.get(name).Key, text: name + " needs " + flag, fix: fmt.Sprintf(`Write %s: "true", or delete %s`, flag, name)}
		}
		return fault{}
	}
}
