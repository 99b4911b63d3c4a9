package source_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/controller/source"
)

func metricsParams(url string, metadata values) source.Params {
	m := values{"url": url, "valueLocation": "queue.length", "targetValue": "5"}
	maps.Copy(m, metadata)
	return source.Params{Type: "metrics-api", Namespace: "mail", Metadata: m}
}

func TestMetricsAPI(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		metadata values
		want     float64
	}{
		"number":   {`{"queue":{"length":7}}`, nil, 7},
		"zero":     {`{"queue":{"length":0}}`, nil, 0},
		"fraction": {`{"queue":{"length":0.5}}`, values{"format": "json"}, 0.5},
		"quantity": {`{"queue":{"length":"2k"}}`, nil, 2000},
		"gjson":    {`{"queues":[{"n":"a","l":3},{"n":"b","l":4}]}`, values{"valueLocation": `queues.#(n=="b").l`}, 4},
		"yaml":     {"queue:\n  length: 7\n", values{"format": "yaml"}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := answers(t, 200, c.body)
			reads(t, open(t, metricsParams(s.URL, c.metadata)), c.want)
		})
	}
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"nowhere":   {200, `{"queue":{}}`},
		"null":      {200, `{"queue":{"length":null}}`},
		"true":      {200, `{"queue":{"length":true}}`},
		"text":      {200, `{"queue":{"length":"` + password + `"}}`},
		"negative":  {200, `{"queue":{"length":-1}}`},
		"too large": {200, `{"queue":{"length":1e999}}`},
		"broken":    {200, `{"queue":{"length":7}`},
		"empty":     {200, ``},
		"too long":  {200, strings.Repeat(" ", 17<<20)},
		"created":   {201, `{"queue":{"length":7}}`},
		"down":      {503, `{"queue":{"length":7}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := answers(t, c.status, c.body)
			fails(t, t.Context(), open(t, metricsParams(s.URL+"?key="+password, nil)))
		})
	}
}

func TestMetricsAPIAuthentication(t *testing.T) {
	s, last := answers(t, 200, `{"queue":{"length":7}}`)
	for name, c := range map[string]struct {
		metadata, authentication values
		header, want, uri        string
	}{
		"none":            {nil, nil, "Authorization", "", "/?a=b"},
		"header":          {values{"authMode": "apiKey"}, values{"apiKey": password}, "X-API-KEY", password, "/?a=b"},
		"named header":    {values{"authMode": "apiKey", "keyParamName": "X-Key", "method": "header"}, values{"apiKey": password}, "X-Key", password, "/?a=b"},
		"query":           {values{"authMode": "apiKey", "method": "query"}, values{"apiKey": password}, "X-API-KEY", "", "/?a=b&api_key=" + password},
		"named query":     {values{"authMode": "apiKey"}, values{"apiKey": password, "method": "query", "keyParamName": "k"}, "X-API-KEY", "", "/?a=b&k=" + password},
		"basic":           {values{"authMode": "basic"}, values{"username": "u", "password": "p"}, "Authorization", "Basic dTpw", "/?a=b"},
		"bearer":          {nil, values{"authModes": "bearer", "token": password}, "Authorization", "Bearer " + password, "/?a=b"},
		"bearerToken":     {values{"authMode": "bearer"}, values{"bearerToken": password}, "Authorization", "Bearer " + password, "/?a=b"},
		"key and bearer":  {values{"authMode": "apiKey, bearer"}, values{"apiKey": "k", "token": "t"}, "Authorization", "Bearer t", "/?a=b"},
		"no mode, no key": {nil, values{"apiKey": password}, "X-API-KEY", "", "/?a=b"},
	} {
		t.Run(name, func(t *testing.T) {
			p := metricsParams(s.URL+"/?a=b", c.metadata)
			p.Authentication = c.authentication
			reads(t, open(t, p), 7)
			require.Equal(t, c.want, last.Header.Get(c.header))
			require.Equal(t, c.uri, last.RequestURI)
		})
	}
	t.Run("in the URL", func(t *testing.T) {
		reads(t, open(t, metricsParams(strings.Replace(s.URL, "://", "://u:p@", 1), nil)), 7)
		require.Equal(t, "Basic dTpw", last.Header.Get("Authorization"))
	})
	t.Run("unreachable", func(t *testing.T) {
		p := metricsParams("http://u:"+password+"@"+closedPort(t), values{"authMode": "apiKey", "method": "query"})
		p.Authentication = values{"apiKey": password}
		fails(t, t.Context(), open(t, p))
	})
}

func TestMetricsAPIKeepsKeysAtTheHost(t *testing.T) {
	other, last := answers(t, 200, `{"queue":{"length":7}}`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			io.WriteString(w, `{"queue":{"length":7}}`)
		}
	}))
	defer s.Close()
	p := metricsParams(s.URL+"/away", values{"authMode": "apiKey"})
	p.Authentication = values{"apiKey": password}
	require.ErrorContains(t, fails(t, t.Context(), open(t, p)), "302")
	require.Empty(t, last.Header)
	reads(t, open(t, metricsParams(s.URL+"/near", nil)), 7)
}

func TestMetricsAPIOverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mutual" && len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"queue":{"length":7}}`)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	defer s.Close()
	fails(t, t.Context(), open(t, metricsParams(s.URL, nil)))
	reads(t, open(t, metricsParams(s.URL, values{"unsafeSsl": "true"})), 7)

	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	p := metricsParams(s.URL+"/mutual", values{"authMode": "tls"})
	p.Authentication = values{"ca": certificate(s.Certificate()), "cert": certificate(s.Certificate()), "key": b.String()}
	reads(t, open(t, p), 7)
}

func TestMetricsAPIHeedsContext(t *testing.T) {
	heeds(t, open(t, metricsParams("http://u:"+password+"@"+silent(t), values{"timeout": "1m"})))
	fails(t, t.Context(), open(t, metricsParams("http://"+silent(t), values{"timeout": "50ms"})))
}

func TestMetricsAPIRefuses(t *testing.T) {
	m := func(more values) values {
		v := values{"url": "http://a", "valueLocation": "b"}
		maps.Copy(v, more)
		return v
	}
	refuses(t, "metrics-api", map[string]bad{
		"nothing":    {paths: []string{"metadata.url", "metadata.valueLocation"}},
		"url":        {metadata: m(values{"url": "ftp://u:" + password + "@a"}), paths: []string{"metadata.url"}},
		"xml":        {metadata: m(values{"format": "xml"}), paths: []string{"metadata.format"}},
		"prometheus": {metadata: m(values{"format": "prometheus"}), paths: []string{"metadata.format"}},
		"flags":      {metadata: m(values{"unsafeSsl": "?", "timeout": "-1s", "aggregateFromKubeServiceEndpoints": "true"}), paths: []string{"metadata.unsafeSsl", "metadata.timeout", "metadata.aggregateFromKubeServiceEndpoints"}},
		"mode":       {metadata: m(values{"authMode": "oauth"}), paths: []string{"metadata.authMode"}},
		"two modes":  {metadata: m(values{"authModes": "basic,bearer"}), authentication: values{"username": "u", "token": "t"}, paths: []string{"metadata.authModes"}},
		"no apiKey":  {metadata: m(values{"authMode": "apiKey", "method": "body"}), paths: []string{"metadata.apiKey", "metadata.method"}},
		"no user":    {metadata: m(values{"authModes": "basic"}), paths: []string{"authenticationRef: parameter username"}},
		"no token":   {metadata: m(values{"authModes": "bearer"}), paths: []string{"authenticationRef: parameter bearerToken"}},
		"no cert":    {metadata: m(values{"authModes": "tls"}), paths: []string{"authenticationRef: parameter cert", "authenticationRef: parameter key"}},
	})
}

// An answer that was made to do harm is an error in little time.
func TestMetricsAPIHostile(t *testing.T) {
	for name, c := range map[string]struct{ format, body, want string }{
		"many lists in one another": {"json", strings.Repeat("[", 16<<20), "not JSON"},
		"and in YAML":               {"yaml", strings.Repeat("[", 1<<20), "not YAML"},
		"a long list of YAML":       {"yaml", strings.Repeat("- a\n", 4<<20), "more than 1048576 bytes of YAML"},
		"a long quantity":           {"json", `{"queue":{"length":"` + strings.Repeat("9", 15<<20) + `"}}`, "found no quantity"},
		"a great exponent":          {"json", `{"queue":{"length":"12345678901234567890e2147483647"}}`, "found no quantity"},
		"a small exponent":          {"json", `{"queue":{"length":"12345678901234567890e-2147483647"}}`, "found no quantity"},
		"a long number":             {"json", `{"queue":{"length":` + strings.Repeat("9", 15<<20) + `}}`, "found no number"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := answers(t, 200, c.body)
			err := fails(t, within(t, soon), open(t, metricsParams(s.URL, values{"format": c.format, "timeout": "1m"})))
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 300)
		})
	}
}

// A server that does not speak HTTP may repeat the key.
func TestHTTPNoPassword(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"no HTTP":           password + " \r\n\r\n",
		"a status":          "HTTP/1.1 " + password + "\r\n\r\n",
		"a header":          ok + password + "\r\n\r\n",
		"a length":          ok + "Content-Length: " + password + "\r\n\r\n",
		"an encoding":       ok + "Transfer-Encoding: " + password + "\r\n\r\n",
		"a redirect":        "HTTP/1.1 302 Found\r\nLocation: http://%zz/" + password + "\r\nContent-Length: 0\r\n\r\n",
		"a trailer":         ok + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n" + password + "\r\n\r\n",
		"a chunk's length":  ok + "Transfer-Encoding: chunked\r\n\r\n" + password + "\r\n",
		"a status of a few": "HTTP/1.1 200 " + password + "\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					io.WriteString(c, answer)
					c.Close()
				}
			}))
			defer s.Close()
			p := metricsParams(s.URL, values{"authMode": "apiKey"})
			p.Authentication = values{"apiKey": password}
			err := fails(t, within(t, soon), open(t, p))
			if name == "no HTTP" {
				require.ErrorContains(t, err, "the request failed, or its answer is not valid HTTP")
			}
			fails(t, within(t, soon), open(t, rabbitParams(strings.Replace(s.URL, "://", "://u:"+password+"@", 1), nil)))
		})
	}
	p := metricsParams("http://"+closedPort(t), values{"authMode": "apiKey", "keyParamName": "a key"})
	p.Authentication = values{"apiKey": password}
	require.ErrorContains(t, fails(t, t.Context(), open(t, p)), `invalid header field name "a key"`)
}
