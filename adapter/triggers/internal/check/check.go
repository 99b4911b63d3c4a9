// Package check checks the resolved parameters of a trigger before a scaler is built from them.
package check

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// MaxValue is the most bytes of a resolved value.
const MaxValue = 128 << 10

// A Parameter is a parameter of a trigger, with its value wherever it came from.
type Parameter struct{ Name, Value string }

var (
	// A parameter with such a name is or has a host, an address or a user.
	names = regexp.MustCompile(`(?i)(host|addr|url|uri|endpoint|server|broker|bootstrap|header|user|account|domain|proxy|connection|stream|listname|queuename|sentinel|apiname|keyparamname|tenant|organi[sz]ation|region)`)
	// Text of several lines is normal in these.
	documents = regexp.MustCompile(`(?i)^(ca|cert|key|tls|keytab|realm|kerberosconfig|privatekey|.*(certificate|pem|credentials|query|json|keyfile|gpg).*)$`)
	// A parameter with such a name is or has a destination.
	destinations = regexp.MustCompile(`(?i)(host|addr|url|uri|endpoint|server|broker|bootstrap|domain|proxy|partner)`)
	// A parameter with such a name has destinations and other values, each as name=value or in a DSN.
	connections = regexp.MustCompile(`(?i)connection(string)?$`)
	// A parameter with such a name leads nowhere: it is a name at the server, a part of a request, or a
	// switch, whatever else its name or value looks like.
	harmless = regexp.MustCompile(`(?i)^(vhostname|brokername|(session)?browser(name|version)|domain(id)?|resourceuri|endpointparams|tlsservername|useclusteragentproxy|aggregatefromkubeserviceendpoints|query|scopes?)$`)
	// KEDA makes an address of such a parameter and a suffix or prefix of its own.
	labels    = regexp.MustCompile(`(?i)^((storage)?accountname|(eventhub|datadog|azure-servicebus )namespace|datadogmetricsservice|awsregion|ports?)$`)
	label     = regexp.MustCompile(`^[A-Za-z0-9_, -]*$`)
	forbidden = regexp.MustCompile(`(?i)^\s*(metadata.*|x-aws-.*|x-google-metadata.*|host)\s*$`)
)

// Parameters returns the first problem of the parameters. An error has no value.
func Parameters(kind string, all []Parameter, hosts []string) error {
	for _, p := range all {
		if len(p.Value) > MaxValue {
			return fmt.Errorf("parameter %s: found %d bytes; use at most %d", p.Name, len(p.Value), MaxValue)
		}
		if err := control(kind, p); err != nil {
			return err
		}
		if err := header(p); err != nil {
			return err
		}
		if hosts == nil {
			continue
		}
		for _, host := range destinationsOf(kind, p) {
			if !match(host, hosts) {
				return fmt.Errorf("parameter %s: found a host to which the credentials may not go; the administrator may allow it where they are allowed", p.Name)
			}
		}
	}
	return nil
}

func control(kind string, p Parameter) error {
	// The lines of these protocols are commands.
	lines := strings.HasPrefix(kind, "redis") || kind == "beanstalkd"
	if documents.MatchString(p.Name) || !lines && !names.MatchString(p.Name) {
		return nil
	}
	// KEDA removes space around a value.
	if strings.ContainsFunc(strings.TrimSpace(p.Value), unicode.IsControl) {
		return fmt.Errorf("parameter %s: found a control character; use a value in one line", p.Name)
	}
	return nil
}

// header checks names of headers: the value of customAuthHeader and keyParamName, and the names in
// lists such as customHeaders.
func header(p Parameter) error {
	name := strings.ToLower(p.Name)
	var found []string
	switch {
	case name == "customauthheader" || name == "keyparamname":
		found = []string{p.Value}
	case strings.Contains(name, "header"):
		for pair := range strings.SplitSeq(p.Value, ",") {
			n, _, _ := strings.Cut(pair, "=")
			found = append(found, n)
		}
	}
	if slices.ContainsFunc(found, forbidden.MatchString) {
		return fmt.Errorf("parameter %s: found a header Metadata*, X-aws-* or Host; use another", p.Name)
	}
	return nil
}

// destinationsOf returns the hosts that a parameter names, without ports: of each URL, and, if its name is
// that of a destination, of each address in a list. A value of which the host is not known has the
// host "", which no list of hosts has.
func destinationsOf(kind string, p Parameter) (all []string) {
	switch {
	case harmless.MatchString(p.Name):
		return nil
	case strings.EqualFold(p.Name, "cloudID"):
		return []string{cloud(p.Value)}
	case strings.EqualFold(p.Name, "restAPITemplate"): // only its path may be made later
		u, err := url.Parse(strings.TrimSpace(p.Value))
		if err != nil {
			return []string{""}
		}
		return []string{u.Hostname()}
	case (labels.MatchString(p.Name) || labels.MatchString(kind+" "+p.Name)) && !label.MatchString(strings.TrimSpace(p.Value)):
		return []string{""}
	}
	isDestination, isConnection := destinations.MatchString(p.Name), connections.MatchString(p.Name)
	for _, one := range strings.FieldsFunc(p.Value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || r == ';' }) {
		key, value, isPair := strings.Cut(one, "=")
		switch {
		case strings.Contains(one, "://"):
			u, err := url.Parse(one)
			if err != nil || strings.Contains(u.Scheme, ".") { // a host, if KEDA writes a scheme before it
				all = append(all, "")
				continue
			}
			all = append(all, u.Hostname())
		case isConnection && strings.Contains(key, "@"):
			all = append(all, source(one))
		case isDestination && isPair, isConnection && isPair && destinations.MatchString(key): // Endpoint=..., host=...
			all = append(all, host(value))
		case isDestination, isConnection && !isPair:
			all = append(all, host(one))
		}
	}
	return all
}

// source returns the host of a data source, as in user:password@network(address)/name.
func source(name string) string {
	user := strings.LastIndex(name, "@") + 1
	if strings.Contains(name[:user], "(") { // an address that looks like a part of the password
		return ""
	}
	address := name[user:]
	if _, inside, ok := strings.Cut(address, "("); ok {
		address, _, _ = strings.Cut(inside, ")")
	}
	return host(address)
}

// host returns the host of an address, with or without user, port and path.
func host(address string) string {
	user := strings.LastIndex(address, "@") + 1
	if strings.ContainsAny(address[:user], `/?#\`) { // a path that looks like a user
		return ""
	}
	address = address[user:]
	address, _, _ = strings.Cut(address, "/")
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return strings.Trim(address, "[]()")
}

// cloud returns the host that a cloudID of Elastic Cloud has, in base64.
func cloud(id string) string {
	_, encoded, _ := strings.Cut(id, ":")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	parts := strings.Split(string(decoded), "$")
	if err != nil || len(parts) < 2 {
		return ""
	}
	u, err := url.Parse("https://" + parts[1] + "." + parts[0])
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Both returns the hosts that two lists of hosts allow.
func Both(a, b []string) []string {
	both := []string{}
	for _, of := range [][2][]string{{a, b}, {b, a}} {
		for _, host := range of[0] {
			if !slices.Contains(both, host) && (slices.Contains(of[1], host) || match(host, of[1])) {
				both = append(both, host)
			}
		}
	}
	return both
}

// match reports whether a host is one of hosts. One that begins with "*." stands for all below it.
func match(host string, hosts []string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host != "" && slices.ContainsFunc(hosts, func(allowed string) bool {
		if u, err := url.Parse(allowed); err == nil && u.Host != "" {
			allowed = u.Hostname()
		}
		allowed = strings.ToLower(allowed)
		if below, ok := strings.CutPrefix(allowed, "*"); ok {
			return strings.HasPrefix(below, ".") && len(host) > len(below) && strings.HasSuffix(host, below)
		}
		return host == allowed
	})
}
