package triggers

import (
	"fmt"
	"regexp"
	"strings"
)

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
