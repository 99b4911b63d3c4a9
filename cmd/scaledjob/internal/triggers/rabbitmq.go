package triggers

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// rabbitmqRules are the rules of triggers for RabbitMQ.
var rabbitmqRules = []Rule{
	{[]string{"rabbitmq"}, "s.httpClient", "2.18", accepted(polls, rabbitHostOf("http"))},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", accepted(polls, onlyIf(allowed("operation", "sum", "avg", "max"), isTrue("useRegex")))},
	{[]string{"rabbitmq"}, "operation mode %s must be one of", "2.18", accepted("KEDA ignores it", onlyIf(unused("without useRegex", "operation", "pageSize"), isNotTrue("useRegex")))},
	{[]string{"rabbitmq"}, "the protocol has to be either", "2.18", allowed("protocol", "amqp", "http", "auto")},
	{[]string{"rabbitmq"}, "queueLength is deprecated; use", "2.18", rabbitLength},
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
	{[]string{"rabbitmq"}, "OAuth2 authentication cannot be combined", "2.20", rabbitOneLogin},
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

func rabbitLength(c *checker) fault {
	if x, ok := c.float("queueLength"); ok && x != 0 && (c.hasAll("value") || (c.hasAll("mode") && !c.equals("mode", "Unknown"))) {
		return fault{key: "queueLength", text: "queueLength excludes mode and value", fix: "Delete queueLength; mode and value replace it"}
	}
	return fault{}
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
		fix := "Write a URL such as amqp://user:password@host:5672/vhost or http://host:15672"
		if !strings.ContainsAny(v.Text, "./:@") && v.Key == "host" {
			fix = "Write hostFromEnv: " + v.Text + " for that variable, or a URL such as amqp://host:5672"
		}
		return fault{key: v.Key, text: fmt.Sprintf("host %q has no scheme amqp, amqps, http or https", v.Text), fix: fix}
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
