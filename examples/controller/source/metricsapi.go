package source

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
)

type metricsAPIQueue struct {
	endpoint
	format, location string
}

func openMetricsAPI(f *fields, _ kubernetes.Interface) Queue {
	q := &metricsAPIQueue{
		location: f.required("valueLocation", "where the value is, such as queue.length"),
		format:   f.metricsFormat(),
	}
	if f.flag("aggregateFromKubeServiceEndpoints") {
		f.wrong(f.given("aggregateFromKubeServiceEndpoints"), "false: this reads one URL, that of the Service")
	}
	u := *f.link(f.given("url"), "http", "https")
	login := f.authorization()
	if user := u.User; user != nil {
		password, _ := user.Password()
		login = append([]func(*http.Request){func(r *http.Request) { r.SetBasicAuth(user.Username(), password) }}, login...)
		u.User = nil
	}
	c, key := f.metricsTLS()
	q.endpoint = f.endpoint(&u, c, key, func(r *http.Request) {
		for _, add := range login {
			add(r)
		}
	})
	return q
}

// metricsFormat is json or yaml. KEDA has prometheus as well, and xml, which it
// fails to read.
func (f *fields) metricsFormat() string {
	return f.choice(f.given("format"), "json", "yaml")
}

// modes returns the items of authMode.
func (f *fields) modes() []string {
	p := f.find([]place{metadata, authentication}, "authModes", "authMode")
	if p.text == "" {
		return nil
	}
	var modes []string
	for mode := range strings.SplitSeq(p.text, ",") {
		mode = strings.TrimSpace(mode)
		if !slices.Contains([]string{"apiKey", "basic", "bearer", "tls"}, mode) {
			f.wrong(p, "apiKey, basic, bearer or tls, or several of them with commas")
			return nil
		}
		modes = append(modes, mode)
	}
	if slices.Contains(modes, "basic") && slices.Contains(modes, "bearer") {
		f.wrong(p, "basic or bearer, and not both")
	}
	return modes
}

// metricsTLS has the parameters ca, cert and key in the mode tls alone, as in KEDA.
func (f *fields) metricsTLS() (*tls.Config, tlsKey) {
	if !slices.Contains(f.modes(), "tls") {
		insecure := f.flag("unsafeSsl")
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}, tlsKey{on: true, insecure: insecure}
	}
	c := f.encryption()
	for _, name := range []string{"cert", "key"} {
		if p := f.find([]place{authentication}, name); p.text == "" {
			f.wrong(p, "the client's certificate and its key, for the authMode tls")
		}
	}
	return c, f.tlsKey(true)
}

// authorization returns the changes of a request for the authModes.
func (f *fields) authorization() (add []func(*http.Request)) {
	for _, mode := range f.modes() {
		switch mode {
		case "apiKey":
			add = append(add, f.apiKey())
		case "basic":
			name := f.find([]place{authentication}, "username")
			if name.text == "" {
				f.wrong(name, "a user, for the authMode basic")
			}
			password := f.secret("password")
			add = append(add, func(r *http.Request) { r.SetBasicAuth(name.text, password) })
		case "bearer":
			token := f.find([]place{authentication}, "bearerToken", "token")
			if token.text == "" {
				f.wrong(token, "a token, for the authMode bearer")
			}
			add = append(add, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token.text) })
		}
	}
	return add
}

func (f *fields) apiKey() func(*http.Request) {
	places := []place{metadata, authentication}
	key, name := f.find(places, "apiKey"), f.find(places, "keyParamName").text
	if key.text == "" {
		f.wrong(key, "a key, for the authMode apiKey")
	}
	if f.choice(f.find(places, "method"), "header", "query") == "header" {
		if name == "" {
			name = "X-API-KEY"
		}
		return func(r *http.Request) { r.Header.Set(name, key.text) }
	}
	if name == "" {
		name = "api_key"
	}
	return func(r *http.Request) {
		query := r.URL.Query()
		query.Set(name, key.text)
		r.URL.RawQuery = query.Encode()
	}
}

// Length requests the URL and reads the number at the trigger's valueLocation: a number, or
// a string that is a Kubernetes quantity. An answer other than 200, or without such a
// number, is an error.
func (q *metricsAPIQueue) Length(ctx context.Context) (Reading, error) {
	body, err := q.fetch(ctx, q.url)
	if err != nil {
		return Reading{}, fmt.Errorf("metrics-api %s: %w", bare(q.url), ended(ctx, err))
	}
	r, err := q.read(body)
	if err != nil {
		return Reading{}, fmt.Errorf("metrics-api %s: valueLocation %q: %w", bare(q.url), q.location, err)
	}
	return r, nil
}

func (q *metricsAPIQueue) read(body []byte) (Reading, error) {
	at, err := look(body, q.format, q.location)
	if err != nil {
		return Reading{}, err
	}
	n, err := measure(at, "float64")
	if err != nil {
		return Reading{}, err
	}
	return count(n)
}
