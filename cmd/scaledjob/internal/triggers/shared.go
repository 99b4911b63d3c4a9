package triggers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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

func missing(name string) condition { return func(c *checker) bool { return c.absent(name) } }

// withMode finds an authentication mode without its parameters.
func withMode(mode string, names ...string) check {
	return func(c *checker) fault {
		v := c.get("authModes")
		for m := range strings.SplitSeq(v.Text, ",") {
			if strings.TrimSpace(m) == mode {
				for _, name := range names {
					if c.absent(name) {
						return fault{key: v.Key, text: fmt.Sprintf("%s %s needs %s", v.Key, mode, name), fix: c.ways(name)}
					}
				}
			}
		}
		return fault{}
	}
}

// jsonObject finds a known value that is not a JSON object with a field.
func jsonObject(name string) check {
	return about(name, func(text string) (string, string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) == nil && len(fields) > 0 {
			return "", ""
		}
		return fmt.Sprintf("%s %q is not a JSON object with a field", name, text), `Write JSON with quotes, such as {"state": "queued"}`
	})
}

func requestURI(name string) check {
	return about(name, func(text string) (string, string) {
		if _, err := url.ParseRequestURI(text); err == nil {
			return "", ""
		}
		return fmt.Sprintf("%s %q is not a URL", name, text), "Write a URL such as https://host:9443"
	})
}

func unconditional(*checker) bool { return true }

// pairs reports whether a text is a list of pairs.
func pairs(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(item string) bool { return strings.Count(item, "=") != 1 })
}

// between finds a number outside its bounds.
func between(name string, lower, upper float64) check {
	return func(c *checker) fault {
		if x, ok := c.float(name); ok && (x < lower || x > upper) {
			return fault{key: c.get(name).Key, text: name + " is out of range", fix: fmt.Sprintf("Write %v to %v", lower, upper)}
		}
		return fault{}
	}
}

// placeholder reports whether a value of a variable or Secret is a word without signs.
func placeholder(v Value, name string) bool {
	return v.Key != name && !strings.ContainsAny(v.Text, ":/=@")
}

// connection finds a connection string of another form.
func connection(name, form, pattern string) check {
	accepted := regexp.MustCompile(pattern)
	return func(c *checker) fault {
		v := c.get(name)
		if v.State != Visible || accepted.MatchString(v.Text) || placeholder(v, name) {
			return fault{}
		}
		return fault{key: v.Key, text: name + " is not a connection string", fix: "Write it as " + form}
	}
}
