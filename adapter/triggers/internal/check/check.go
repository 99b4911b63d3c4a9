// Package check checks the resolved parameters of a trigger before a scaler is built from them.
package check

import (
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
	destinations = regexp.MustCompile(`(?i)(host|addr|url|uri|endpoint|server|broker|bootstrap|domain|proxy)`)
	forbidden    = regexp.MustCompile(`(?i)^\s*(metadata.*|x-aws-.*|x-google-metadata.*|host)\s*$`)
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
		for _, host := range Hosts(p) {
			if !Match(host, hosts) {
				return fmt.Errorf("parameter %s: found a host to which the credentials may not go; the administrator may allow it where they are allowed", p.Name)
			}
		}
	}
	return nil
}

func control(kind string, p Parameter) error {
	redis := strings.HasPrefix(kind, "redis")
	if documents.MatchString(p.Name) || !redis && !names.MatchString(p.Name) {
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

// Hosts returns the hosts that a parameter names, without ports: of each URL, and, if its name is
// that of a destination, of each address in a list.
func Hosts(p Parameter) (all []string) {
	isDestination := destinations.MatchString(p.Name)
	for _, one := range strings.FieldsFunc(p.Value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) || r == ';' }) {
		if strings.Contains(one, "://") {
			u, err := url.Parse(one)
			if err != nil {
				all = append(all, "") // matches nothing
				continue
			}
			all = append(all, u.Hostname())
			continue
		}
		if !isDestination {
			continue
		}
		if _, value, ok := strings.Cut(one, "="); ok { // Endpoint=..., host=...
			one = value
		}
		if at := strings.LastIndex(one, "@"); at >= 0 {
			one = one[at+1:]
		}
		one, _, _ = strings.Cut(one, "/")
		if host, _, err := net.SplitHostPort(one); err == nil {
			one = host
		}
		all = append(all, strings.Trim(one, "[]()"))
	}
	return all
}

// Match reports whether a host is one of hosts. One that begins with "*." stands for all below it.
func Match(host string, hosts []string) bool {
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
