package registry

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// guard keeps the credentials of config at its host, and out of errors, which are logged and
// stored in statuses. A request that the member redirects to another host is not sent. An
// answer that repeats a credential literally is an error, and a long answer without success is cut.
func guard(config *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	g := guarded{scheme: base.Scheme, host: base.Host}
	proxy, err := proxyOf(config)
	if err != nil {
		return err
	}
	secrets := append(passwords(url.UserPassword(config.Username, config.Password)), config.BearerToken)
	if parsed, err := url.Parse(proxy); err == nil {
		secrets = append(secrets, passwords(parsed.User)...)
	}
	for _, s := range secrets {
		if len(s) >= shortest {
			g.secrets = append(g.secrets, []byte(s))
		}
	}
	config.WarningHandler = rest.NoWarnings{} // the member chooses the text of a warning
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		g := g
		g.next = next
		return &g
	})
	return nil
}

// passwords returns the password alone and as HTTP sends it, or nothing without a password.
func passwords(user *url.Userinfo) []string {
	password, _ := user.Password()
	if password == "" {
		return nil
	}
	return []string{password, base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))}
}

const (
	// shortest is the length of the shortest credential that is searched for: a shorter
	// text, such as admin, may be in an answer by chance.
	shortest = 16
	// longest is the most bytes of an answer without success.
	longest = 64 << 10
)

var errRepeated = errors.New("the answer repeats the member's credentials")

type guarded struct {
	scheme  string
	host    string
	secrets [][]byte
	next    http.RoundTripper
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != g.host || r.URL.Scheme != g.scheme {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("the member redirects to another host: want %s://%s", g.scheme, g.host)
	}
	response, err := g.next.RoundTrip(r)
	if err != nil {
		if g.in([]byte(err.Error())) {
			err = errRepeated
		}
		return nil, err
	}
	var header strings.Builder
	_ = response.Header.Write(&header) // a write to a Builder never fails
	if g.in([]byte(response.Status + header.String())) {
		response.Body.Close()
		return nil, errRepeated
	}
	body := &guardedBody{ReadCloser: response.Body, of: g}
	if response.Body = body; response.StatusCode >= http.StatusBadRequest {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(body, longest), body}
	}
	return response, nil
}

// in reports whether a secret is in the text.
func (g *guarded) in(text []byte) bool {
	for _, s := range g.secrets {
		if bytes.Contains(text, s) {
			return true
		}
	}
	return false
}

// A guardedBody fails at the first secret, and does not return the end of the secret.
type guardedBody struct {
	io.ReadCloser
	of     *guarded
	before []byte // end of the part that was read
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, s := range b.of.secrets {
		seam := append(bytes.Clone(b.before), p[:min(n, len(s))]...)
		if bytes.Contains(seam, s) || bytes.Contains(p[:n], s) {
			return 0, errRepeated
		}
	}
	b.keep(p[:n])
	return n, err
}

// keep keeps as much of the end as the begin of the longest secret may have.
func (b *guardedBody) keep(p []byte) {
	longest := 0
	for _, s := range b.of.secrets {
		longest = max(longest, len(s)-1)
	}
	b.before = append(b.before, p[max(0, len(p)-longest):]...)
	b.before = b.before[max(0, len(b.before)-longest):]
}
