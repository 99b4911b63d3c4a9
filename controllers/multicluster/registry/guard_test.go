package registry

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const token = "a-t0ken-of-a-member"

// guardedClient returns the client of a member whose API server is the handler.
func guardedClient(t *testing.T, handler http.HandlerFunc) kubernetes.Interface {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	m := Parse(map[string][]byte{"a.kubeconfig": []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], " +
		"users: [{name: a, user: {token: " + token + "}}], clusters: [{name: a, cluster: {server: '" + s.URL + "', insecure-skip-tls-verify: true}}]}")})[0]
	require.NoError(t, m.Err)
	client, err := kubernetes.NewForConfig(m.Config)
	require.NoError(t, err)
	return client
}

// A member may repeat its credentials anywhere in an answer: they are in no error and no log.
func TestRepeatedCredentials(t *testing.T) {
	var log bytes.Buffer
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&log, nil)))
	defer klog.ClearLogger()
	raw := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprintf(c, format, r.Header.Get("Authorization"))
				c.Close()
			}
		}
	}
	text := func(code int, header, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			key, value, _ := strings.Cut(header, ": ")
			w.Header().Set(key, strings.ReplaceAll(value, "%s", r.Header.Get("Authorization")))
			w.WriteHeader(code)
			fmt.Fprintf(w, format, r.Header.Get("Authorization"))
		}
	}
	const json = "Content-Type: application/json"
	for name, answer := range map[string]http.HandlerFunc{
		"a status":             text(403, json, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"%s"}`),
		"an error":             text(502, "Content-Type: text/plain", "%s"),
		"a kind":               text(200, json, `{"kind":"%s","apiVersion":"batch/v1"}`),
		"a header":             text(200, "Content-Type: %s", "{}"),
		"a warning":            text(200, `Warning: 299 - "%s"`, "{}%.0s"),
		"a line of the answer": raw("HTTP/1.1 200 OK\r\n%s\r\n\r\n"),
		"a status line":        raw("HTTP/1.1 502 %s\r\nContent-Length: 0\r\n\r\n"),
	} {
		_, err := guardedClient(t, answer).BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), token, name)
	}
	require.NotContains(t, log.String(), token)
}

// A password is found as it is and as HTTP sends it, also that of a proxy. A short password
// is found in the second form only.
func TestRepeatedPassword(t *testing.T) {
	const password, short = "a-passw0rd-of-a-member", "s3cret"
	basic := func(password string) string { return base64.StdEncoding.EncodeToString([]byte("agent:" + password)) }
	for _, urls := range [][2]string{{"https://agent:%s@a", ""}, {"https://a", "http://agent:%s@proxy"}} {
		for p, found := range map[string]map[string]bool{
			password: {password: true, basic(password): true, "agent": false},
			short:    {short: false, basic(short): true, "agent": false},
		} {
			m := Parse(map[string][]byte{"a.kubeconfig": withURLs(strings.ReplaceAll(urls[0], "%s", p), strings.ReplaceAll(urls[1], "%s", p))})[0]
			require.NoError(t, m.Err)
			for text, is := range found {
				transport := m.Config.WrapTransport(answer(text))
				_, err := transport.RoundTrip(httptest.NewRequest("GET", "https://a", nil))
				require.Equal(t, is, errors.Is(err, errRepeated), "%s: %s", urls, text)
			}
		}
	}
}

// An answer is one with the text as status.
type answer string

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Status: "200 " + string(a), Body: http.NoBody}, nil
}

// A request that is not sent is closed.
func TestRefusedRequestIsClosed(t *testing.T) {
	body := &closing{}
	r := httptest.NewRequest("PUT", "https://b", nil)
	r.Body = body
	for _, g := range []guarded{{scheme: "https", host: "a"}, {scheme: "http", host: "b"}} { // without TLS the token would be in clear
		body.closed = false
		_, err := g.RoundTrip(r)
		require.ErrorContains(t, err, "the member redirects to another host")
		require.True(t, body.closed)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// A redirect to another host is not followed, because the token would be sent there.
func TestRedirectedMember(t *testing.T) {
	asked := false
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	client := guardedClient(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "the member redirects to another host")
	require.False(t, asked)
	client = guardedClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{"name":"work"}}]}`)
	})
	jobs, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, jobs.Items, 1)
}

// The text of an error is short, however much a member answers.
func TestLongAnswer(t *testing.T) {
	client := guardedClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","message":"`+strings.Repeat("x", 1<<20)+`"}`)
	})
	_, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.Less(t, len(err.Error()), longest+100)
}

// A credential is found wherever an answer is split, and a text without it is not changed.
func TestGuardedBody(t *testing.T) {
	of := &guarded{secrets: [][]byte{[]byte(token), []byte("a-t0ken-of-another-member")}}
	for name, split := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "half": iotest.HalfReader, "bytes": iotest.OneByteReader, "end": iotest.DataErrReader,
	} {
		for text, found := range map[string]bool{
			token: true, strings.Repeat("a-", 1000) + token + "x": true, strings.Repeat(token[1:], 1000): false, "": false,
			token[:18] + token: true, "x a-t0ken-of-another-member": true,
		} {
			got, err := io.ReadAll(&guardedBody{ReadCloser: io.NopCloser(split(strings.NewReader(text))), of: of})
			if found {
				require.ErrorIs(t, err, errRepeated, name)
				require.NotContains(t, string(got), token)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, text, string(got))
		}
	}
}
