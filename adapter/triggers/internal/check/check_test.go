package check

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each value that a tenant may not write is refused. Line breaks are normal in documents.
func TestParameters(t *testing.T) {
	const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	for _, c := range []struct {
		kind, name, value string
		refused           string
	}{
		{"prometheus", "customHeaders", "Metadata-Flavor=Google", "Metadata*"},
		{"prometheus", "customHeaders", "a=b, x-AWS-ec2-metadata-token=c", "X-aws-*"},
		{"prometheus", "customAuthHeader", "Host", "Host"},
		{"metrics-api", "keyParamName", " metadata", "Metadata*"},
		{"prometheus", "customAuthHeader", "X-Token", ""},
		{"prometheus", "serverAddress", "http://a\r\nb", "control character"},
		{"prometheus", "customHeaders", "a\r\nb=c", "control character"},
		{"prometheus", "customHeaders", "a=b\r\nc", "control character"},
		{"postgresql", "userName", "a\x00b", "control character"},
		{"redis", "listName", "a\r\nSET b c", "control character"},
		{"redis-streams", "stream", "a\nb", "control character"},
		{"redis", "username", "a\nb", "control character"},
		{"beanstalkd", "tube", "a\r\nput 0 0 60 5\r\nhello", "control character"},
		{"redis", "password", "a\nb", "control character"},
		{"redis", "password", "a/b?c#d@e%\n", ""}, // KEDA removes the space
		{"redis", "ca", pem, ""},
		{"kafka", "cert", pem, ""},
		{"postgresql", "query", "SELECT 1\nFROM a", ""},
		{"prometheus", "query", "sum(a)\n+ b", ""},
		{"gcp-pubsub", "credentialsJson", "{\n}", ""},
		{"prometheus", "query", strings.Repeat("a", MaxValue), ""},
		{"prometheus", "query", strings.Repeat("a", MaxValue+1), "use at most 131072"},
	} {
		err := Parameters(c.kind, []Parameter{{c.name, c.value}}, nil)
		if c.refused == "" {
			require.NoError(t, err, "%s: %.40q", c.name, c.value)
			continue
		}
		require.ErrorContains(t, err, c.refused, "%s: %.40q", c.name, c.value)
	}
}

// Credentials go to the hosts of their allowance only.
func TestHosts(t *testing.T) {
	hosts := []string{"queue.example", "*.amazonaws.com", "https://vault.example:8200"}
	for _, c := range []struct {
		name, value string // "kind name", if a kind has a rule of its own
		allowed     bool
	}{
		{"host", "amqp://u:p@queue.example:5672/v", true},
		{"address", "QUEUE.example.:6379", true},
		{"queueURL", "https://sqs.eu-west-1.amazonaws.com/1/q", true},
		{"url", "https://vault.example:8200/v1", true},
		{"url", "https://amazonaws.com", false},
		{"url", "https://queue.example.evil.example", false},
		{"url", "https://queue.example@evil.example", false},
		{"brokers", "queue.example:9092,evil.example:9092", false},
		{"connection", "Endpoint=sb://evil.example/;Key=a", false},
		{"url", "https://[::1", false},
		{"query", "a b", true},
		{"connection", "host=queue.example user=a password=b?c", true},
		{"connection", "host=evil.example user=a", false},
		{"connectionString", "a:b@tcp(queue.example:3306)/db?c=d", true},
		{"connectionString", "a:b@tcp(evil.example:3306)/db?c=d", false},
		{"connectionString", "a:b@tcp(evil.example:3306)/db?c=d@tcp(queue.example:3306)", false},
		{"connectionString", "a:b@c@tcp(queue.example:3306)/db", true},
		{"leaseConnection", "AccountEndpoint=https://evil.example/;AccountKey=a", false},
		{"connection", "host=queue.example,evil.example user=a", false},
		{"connection", "host = evil.example user=a", false},
		{"connection", "postgres://a:b@queue.example,evil.example/db", false},
		{"connectionString", "Data Source=evil.example;User=a", false},
		{"connectionString", "server=queue.example;failoverpartner=evil.example", false},
		{"connectionString", "a:b/c?d@tcp(queue.example:3306)/db", true},
		// KEDA writes a scheme before these.
		{"managementEndpoint", "queue.example:8161", true},
		{"managementEndpoint", "a@queue.example:8161/b", true},
		{"managementEndpoint", "evil.example/@queue.example", false},
		{"managementEndpoint", "evil.example?@queue.example", false},
		{"managementEndpoint", "evil.example#@queue.example", false},
		{"managementEndpoint", `evil.example\@queue.example`, false},
		{"managementEndpoint", "evil.example://queue.example", false},
		{"restAPITemplate", "https://queue.example/a:brokerName=b", true},
		{"restApiTemplate", `http:/{{"/"}}evil.example/a,http://queue.example`, false},
		{"restApiTemplate", "http://queue.example;@evil.example/a", false},
		{"restApiTemplate", `http://queue.example/a:broker="<<brokerName>>",queue="b c"/d`, true},
		{"url", "http://queue.example;@evil.example/a", false},
		{"port", "1@evil.example:80", false},
		{"port", "5984", true},
		{"ports", "6379, 6380", true},
		// Elastic Cloud: a host in base64.
		{"cloudID", "a:" + base64.StdEncoding.EncodeToString([]byte("eu.amazonaws.com$a$b")), true},
		{"cloudID", "a:" + base64.StdEncoding.EncodeToString([]byte("evil.example$a$b")), false},
		{"cloudID", "a:" + base64.StdEncoding.EncodeToString([]byte("amazonaws.com$evil.example:443/$b")), false},
		{"cloudID", "evil.example", false},
		// KEDA makes a host of these and a suffix.
		{"accountName", "account1", true},
		{"accountName", "evil.example/", false},
		{"storageAccountName", "evil.example#", false},
		{"azure-servicebus namespace", "evil.example/?", false},
		{"azure-servicebus namespace", "orders-1", true},
		{"aws-cloudwatch namespace", "AWS/SQS", true},
		{"temporal namespace", "orders.a1b2c", true},
		{"eventHubNamespace", `evil.example\`, false},
		{"awsRegion", "evil.example:1/", false},
		{"awsRegion", "eu-west-1", true},
		{"datadogNamespace", "evil.example", false},
		// These have the names of destinations, and are none.
		{"vhostName", "orders", true},
		{"brokerName", "orders", true},
		{"browserVersion", "120.0", true},
		{"Domain", "account1", true},
		{"DomainID", "0a1b", true},
		{"resourceURI", "Microsoft.ServiceBus/namespaces/orders", true},
		{"endpointParams", "audience=https://orders.example", true},
		{"tlsServerName", "orders.internal", true},
		{"useClusterAgentProxy", "true", true},
		{"aggregateFromKubeServiceEndpoints", "True", true},
		{"query", `up{instance="https://a.example"}`, true},
		{"scopes", "https://graph.example/.default", true},
	} {
		kind, name, found := strings.Cut(c.name, " ")
		if !found {
			kind, name = "", kind
		}
		err := Parameters(kind, []Parameter{{name, c.value}}, hosts)
		require.Equal(t, c.allowed, err == nil, "%s: %s: %v", c.name, c.value, err)
	}
}

// What two lists allow is allowed by both.
func TestBoth(t *testing.T) {
	identity, annotation := []string{"*.amazonaws.com", "a.example", "https://vault.example:8200"}, []string{"sqs.eu.amazonaws.com", "*.example", "https://vault.example:8200"}
	for _, both := range [][]string{Both(identity, annotation), Both(annotation, identity)} {
		require.ElementsMatch(t, []string{"sqs.eu.amazonaws.com", "a.example", "https://vault.example:8200"}, both)
	}
	require.Equal(t, []string{}, Both(identity, []string{}))
	require.Equal(t, []string{"*.b.example"}, Both([]string{"*.example"}, []string{"*.b.example", "*.other"}))
}
