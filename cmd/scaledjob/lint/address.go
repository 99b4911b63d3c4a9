package lint

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
)

// urls are the parameters to which scalers send HTTP requests.
var urls = map[string][]string{
	"aws-cloudwatch": {"awsEndpoint"}, "aws-dynamodb": {"awsEndpoint"}, "aws-dynamodb-streams": {"awsEndpoint"}, "aws-kinesis-stream": {"awsEndpoint"}, "aws-sqs-queue": {"awsEndpoint"},
	"azure-data-explorer": {"endpoint"}, "azure-pipelines": {"organizationURL"}, "arangodb": {"endpoints"}, "ibmmq": {"host"}, "solarwinds": {"host"}, "azure-cosmosdb": {"endpoint", "leaseEndpoint"}, "dynatrace": {"host"}, "elastic-forecast": {"addresses"}, "elasticsearch": {"addresses"},
	"forgejo-runner": {"address"}, "github-runner": {"githubApiURL"}, "graphite": {"serverAddress"}, "influxdb": {"serverURL"}, "loki": {"serverAddress"},
	"metrics-api": {"url"}, "opensearch": {"addresses"}, "openstack-metric": {"metricsURL"}, "openstack-swift": {"swiftURL"}, "predictkube": {"prometheusAddress"},
	"prometheus": {"serverAddress"}, "pulsar": {"adminURL", "oauthTokenURI"}, "selenium-grid": {"url"}, "solace-event-queue": {"solaceSempBaseURL"},
	"solace-direct-messaging": {"solaceSempBaseURL"}, "solr": {"host"}, "splunk": {"host"}, "sumologic": {"host"},
}

// addresses are the parameters with a host and a port, or several of them.
var addresses = map[string][]string{
	"apache-kafka": {"bootstrapServers"}, "beanstalkd": {"server"}, "kafka": {"bootstrapServers"}, "liiklus": {"address"},
	"redis": {"address", "addresses"}, "redis-cluster": {"address", "addresses"}, "redis-sentinel": {"address", "addresses"},
	"redis-streams": {"address", "addresses"}, "redis-cluster-streams": {"address", "addresses"}, "redis-sentinel-streams": {"address", "addresses"},
	"temporal": {"endpoint"}, "nsq": {"nsqLookupdHTTPAddresses"},
}

// hosts are the parameters with a host, and a port if the scaler has no other parameter for it.
var hosts = map[string][]string{
	"activemq": {"managementEndpoint"}, "artemis-queue": {"managementEndpoint"}, "cassandra": {"clusterIPAddress"}, "clickhouse": {"host"}, "couchdb": {"host"},
	"external": {"scalerAddress"}, "external-push": {"scalerAddress"},
	"mongodb": {"host"}, "mssql": {"host"}, "mysql": {"host"}, "nats-jetstream": {"natsServerMonitoringEndpoint"}, "postgresql": {"host"},
	"redis": {"host", "hosts"}, "redis-cluster": {"host", "hosts"}, "redis-sentinel": {"host", "hosts"}, "redis-streams": {"host", "hosts"},
	"redis-cluster-streams": {"host", "hosts"}, "redis-sentinel-streams": {"host", "hosts"}, "stan": {"natsServerMonitoringEndpoint"},
}

// resolvers are the schemes of gRPC's targets.
var resolvers = []string{"dns", "passthrough", "unix", "xds"}

// texts calls f with the known texts of parameters in a trigger's metadata.
func (j *job) texts(parameters map[string][]string, f func(position place, name, text string)) {
	for i, t := range j.spec.Triggers {
		for _, name := range parameters[t.Type] {
			if text := strings.TrimSpace(t.Metadata[name]); text != "" {
				for item := range strings.SplitSeq(text, ",") {
					f(j.trigger(i, "metadata", name), name, strings.TrimSpace(item))
				}
			}
		}
	}
}

func urlInvalid(j *job) {
	j.texts(urls, func(position place, name, value string) {
		u, err := url.Parse(value)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			return
		}
		fix, text := fmt.Sprintf("Write a URL such as http://%s", strings.TrimLeft(value, ":/")), "KEDA cannot send requests to it, and each poll fails"
		var broken *url.Error
		switch {
		case errors.As(err, &broken) && strings.Contains(value, "://"):
			fix, text = "Correct the URL, with %20 for a space and %25 for %", text+" ("+broken.Err.Error()+")"
		case err == nil && u.Scheme != "" && u.Host != "":
			fix = "Write a URL that begins with http:// or https://"
		}
		j.find(position, fix, effect{text: text})
	})
}

func addressInvalid(j *job) {
	j.parameters(addresses, func(i int, name string, v triggers.Value) {
		if j.isStandIn(i, name, v) {
			return
		}
		for item := range strings.SplitSeq(v.Text, ",") {
			problem, example := addressProblem(strings.TrimSpace(item))
			if problem == "" {
				continue
			}
			if v.Secret && !v.Plain {
				example = "HOST:PORT"
			}
			j.find(j.valuePlace(i, name, v), "Write host and port, such as "+example, effect{text: problem + ", so KEDA cannot connect"})
			return
		}
	})
	j.texts(hosts, func(position place, name, text string) {
		if scheme, host, ok := strings.Cut(text, "://"); ok && !slices.Contains(resolvers, scheme) {
			j.find(position, "Write "+strings.TrimSuffix(host, "/"), effect{text: "a host must not have a scheme, so KEDA cannot connect"})
		}
	})
	for i, t := range j.spec.Triggers {
		for _, name := range []string{"port", "ports"} {
			for item := range strings.SplitSeq(t.Metadata[name], ",") {
				item = strings.TrimSpace(item)
				if n, err := strconv.Atoi(item); item != "" && triggers.HasKey(t.Type, name) && (err != nil || n < 1 || n > 65535) {
					j.find(j.trigger(i, "metadata", name), "Write a port from 1 to 65535", effect{text: "it is not a port, so KEDA cannot connect"})
				}
			}
		}
	}
}

var awsRegion = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]$`)

// regionInvalid finds a region that AWS does not have, and a queue of another region.
func regionInvalid(j *job) {
	for i, t := range j.spec.Triggers {
		region := strings.TrimSpace(t.Metadata["awsRegion"])
		if !triggers.HasKey(t.Type, "awsRegion") || t.Metadata["awsEndpoint"] != "" { // its server may have other regions
			continue
		}
		j.checkServer(i)
		if region == "" {
			continue
		}
		if !awsRegion.MatchString(region) {
			fix := "Write the code of the queue's region, such as us-east-1"
			if zone := strings.TrimRight(region, "abcdef"); awsRegion.MatchString(zone) {
				fix = "Write " + zone
			}
			j.find(j.trigger(i, "metadata", "awsRegion"), fix, effect{text: "it is not the name of a region, so each poll fails"})
			continue
		}
		u, err := url.Parse(t.Metadata["queueURL"])
		if err != nil {
			continue
		}
		parts := strings.Split(u.Host, ".")
		if len(parts) > 3 && parts[0] == "sqs" && awsRegion.MatchString(parts[1]) && parts[1] != region {
			j.find(j.trigger(i, "metadata", "awsRegion"), "Write "+parts[1], effect{text: "the queue is in " + parts[1] + ", so the request is signed for the wrong region and each poll fails"})
		}
	}
}

// emulators are the servers that speak Amazon's protocol elsewhere.
var emulators = regexp.MustCompile(`(?i)^(localstack|elasticmq|goaws|moto|ministack|localhost)\b`)

// checkServer finds a queue on an emulator. KEDA takes the server from the endpoint or the region, and not from the queue's URL.
func (j *job) checkServer(i int) {
	t := j.spec.Triggers[i]
	u, err := url.Parse(t.Metadata["queueURL"])
	if err != nil || t.Type != "aws-sqs-queue" || !emulators.MatchString(u.Host) {
		return
	}
	j.find(j.trigger(i, "metadata", "queueURL"), "Add awsEndpoint: "+u.Scheme+"://"+u.Host, effect{text: "without awsEndpoint KEDA asks Amazon's server, and not the one in this URL, so each poll fails"})
}

// connections are the parameters whose texts are URLs of other schemes.
var connections = map[string][]string{
	"rabbitmq": {"host"}, "mongodb": {"connectionString"}, "postgresql": {"connection"}, "mssql": {"connectionString"}, "couchdb": {"connectionString"}, "mysql": {"connectionString"},
	"external": {"scalerAddress"}, "external-push": {"scalerAddress"},
}

var (
	// portPattern matches what is behind the colon of a URL without a login.
	portPattern = regexp.MustCompile(`^[0-9]+/`)
	// loginPattern matches the login of a URL, up to the last @.
	loginPattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://([^:@/]*:)(.*)@[^@]*$`)
)

// parameters calls f with each visible value of a list's parameters, wherever it is given. Two parameters may have
// one source.
func (j *job) parameters(lists map[string][]string, f func(i int, name string, v triggers.Value)) {
	for i, t := range j.spec.Triggers {
		reported := map[triggers.Value]bool{}
		for _, name := range lists[t.Type] {
			v := triggers.Get(t.Type, name, j.input(i))
			if v.State == triggers.Visible && !reported[v] && !triggers.Placeholder.MatchString(v.Text) {
				f(i, name, v)
			}
			reported[v] = true
		}
	}
}

// valuePlace is the place in the metadata that gives a parameter, or would if it did not come from elsewhere.
func (j *job) valuePlace(i int, name string, v triggers.Value) place {
	position := j.trigger(i, "metadata", cmp.Or(v.Key, name))
	if v.Key == "" {
		position.found = "in the TriggerAuthentication"
	}
	return position
}

// hostUnresolvable finds a name that only pods of one namespace resolve. KEDA's operator has a namespace of its own.
func hostUnresolvable(j *job) {
	if j.manifest.Namespace == "keda" { // where the operator usually runs
		return
	}
	for _, lists := range []map[string][]string{urls, addresses, hosts, connections} {
		j.parameters(lists, func(i int, name string, v triggers.Value) {
			isURL := slices.Contains(urls[j.spec.Triggers[i].Type], name) // of other texts trigger-url-invalid is
			if j.isStandIn(i, name, v) {
				return
			}
			for item := range strings.SplitSeq(v.Text, ",") {
				host := hostIn(strings.TrimSpace(item))
				if (isURL && !strings.Contains(item, "://")) || !localName.MatchString(host) {
					continue
				}
				position := j.valuePlace(i, name, v)
				if host == "localhost" {
					j.find(position, "Write the name of the server's Service, such as redis.shop.svc", effect{text: "for KEDA's operator, localhost is its own pod. The server does not run there, so each poll fails"})
					return
				}
				text, full := "KEDA's operator looks up the name in its own namespace, so each poll fails unless the server is there", host+".NAMESPACE.svc"
				if v.Key != name {
					text = "the host in its value has no namespace, so KEDA's operator looks it up in its own: each poll fails unless the server is there"
				}
				if v.Secret && !v.Plain {
					full = "NAME.NAMESPACE.svc"
				}
				j.find(position, "Write "+full+" with the namespace of the server", effect{text: text})
				return
			}
		})
	}
}

// isStandIn reports whether the host in a value is unknown: a word in a Secret stands for the value, a word in place of a
// connection string is another finding, and so is a password that ends the login.
func (j *job) isStandIn(i int, name string, v triggers.Value) bool {
	word := !strings.ContainsAny(v.Text, ":/=@,")
	host := hostIn(v.Text)
	isCapitals := host == strings.ToUpper(host) && host != strings.ToLower(host)
	connects := slices.Contains(connections[j.spec.Triggers[i].Type], name)
	return isCapitals || unescaped(v.Text) != "" || (word && connects) || (word && v.Key != name && !v.Plain)
}

// serverPattern matches the server of a connection string of key=value.
var serverPattern = regexp.MustCompile(`(?i)(?:^|[\s;])(?:host|server|data source)\s*=\s*(?:tcp:)?'?([^\s;,':]*)`)

// hostIn returns the host of a URL, of host:port, of a driver's user:password@tcp(host:port)/name, or of host=name user=….
func hostIn(text string) string {
	_, remainder, hasScheme := strings.Cut(text, "://")
	if server := serverPattern.FindStringSubmatch(text); server != nil && !hasScheme {
		return server[1]
	}
	if hasScheme {
		text = remainder
	}
	if login := strings.LastIndex(text, "@"); login >= 0 {
		text = text[login+1:]
	}
	text = strings.TrimPrefix(text, "tcp(")
	if end := strings.IndexAny(text, "/:?#()"); end >= 0 {
		text = text[:end]
	}
	return text
}

// localName matches a host name without dots.
var localName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

// unescaped returns the first character of a URL's password that ends the login, or "".
func unescaped(text string) string {
	m := loginPattern.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || portPattern.MatchString(m[2]) {
		return ""
	}
	if i := strings.IndexAny(m[2], "@/#?"); i >= 0 {
		return m[2][i : i+1]
	}
	return ""
}

// passwordUnescaped finds a password with a character that ends the login of a URL.
func passwordUnescaped(j *job) {
	for _, lists := range []map[string][]string{urls, connections} {
		j.parameters(lists, func(i int, name string, v triggers.Value) {
			if c := unescaped(v.Text); c != "" {
				position := j.key("spec", "triggers", i, "metadata", cmp.Or(v.Key, name))
				position.found = "a URL whose password has " + c
				j.find(position, fmt.Sprintf("Write %s as %s in the password", c, url.QueryEscape(c)), effect{text: "the password ends there, so KEDA cannot connect"})
			}
		})
	}
}

// variableAsValue finds the name of a variable where its value belongs.
func variableAsValue(j *job, i int, t *manifest.ScaleTrigger) {
	for key := range t.Metadata {
		fix := j.fromVariable(i, key)
		j.check(fix != "" && !j.hasProblem(i, key, (*metadataProblem).isForm), j.trigger(i, "metadata", key), fix, "the container has a variable of this name, but KEDA uses the text itself as the value")
	}
}

// fromVariable returns the fix for a key whose value is the name of a variable, or "".
func (j *job) fromVariable(i int, key string) string {
	t := j.spec.Triggers[i]
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(t.Metadata[key]), "$("), ")")
	if j.variablesOf()[name] == nil || strings.HasSuffix(key, "FromEnv") || !triggers.HasKey(t.Type, key) || !triggers.HasKey(t.Type, key+"FromEnv") {
		return ""
	}
	return fmt.Sprintf("Write %sFromEnv: %s", key, name)
}

// addressProblem returns "" for a host with a port, and else an address that has both.
func addressProblem(text string) (problem, example string) {
	_, bare, hasScheme := strings.Cut(text, "://")
	if !hasScheme {
		bare = text
	}
	bare, _, _ = strings.Cut(bare, "/")
	bare = bare[strings.LastIndexByte(bare, '@')+1:] // without a login
	host, port := bare, ""
	if i := strings.LastIndexByte(bare, ':'); i > strings.LastIndexByte(bare, ']') { // of IPv6
		host, port = bare[:i], bare[i+1:]
	}
	n, err := strconv.Atoi(port)
	switch {
	case port == "":
		problem, port = "it has no port", "PORT"
	case err != nil || n < 1 || n > 65535:
		problem, port = "its port is not a number from 1 to 65535", "PORT"
	}
	if host == "" || strings.ContainsAny(host, " \t") {
		problem, host = "it has no host", "HOST"
	}
	if hasScheme {
		problem = "an address must not have a scheme"
	}
	return problem, host + ":" + port
}

// credentialsMissing finds a trigger for AWS to which nothing gives credentials.
func credentialsMissing(j *job, i int, t *manifest.ScaleTrigger) {
	in := j.input(i)
	sasl, provider := triggers.Get(t.Type, "sasl", in).Text, triggers.Get(t.Type, "saslTokenProvider", in).Text
	usesMSK := sasl == "aws_msk_iam" || (sasl == "oauthbearer" && provider == "aws_msk_iam")
	usesAWS := slices.Contains(urls[t.Type], "awsEndpoint") || usesMSK // types of AWS have the parameter
	hasIdentity := in.AnyIdentity || strings.HasPrefix(in.PodIdentity, "aws")
	owner := t.Metadata["identityOwner"] // of other texts than pod KEDA takes the operator
	if !usesAWS || hasIdentity || t.Metadata == nil || (owner != "" && owner != "pod") {
		return
	}
	provided := slices.ContainsFunc([]string{"awsRoleArn", "awsAccessKeyID", "awsAccessKeyId"}, func(name string) bool {
		return in.Authentication != nil && in.Authentication(name).State != triggers.Absent
	})
	j.checkPolls(!provided && t.Metadata["awsAccessKeyID"] == "" && t.Metadata["awsAccessKeyIDFromEnv"] == "",
		j.key("spec", "triggers", i, "metadata"), "Add an authenticationRef to a TriggerAuthentication with podIdentity.provider: aws, or write identityOwner: operator, which has the rights of KEDA's operator",
		"the trigger has no AWS credentials, so KEDA rejects it and never polls")
}
