package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// atMost is how many bytes of an answer are read.
const atMost = 16 << 20

// An endpoint is an HTTP service.
type endpoint struct {
	client    *http.Client
	url       *url.URL // without user
	authorize func(*http.Request)
	release   func() error
}

// endpoint returns the endpoint of a URL, which shares its connections with other queues.
func (f *fields) endpoint(u *url.URL, c *tls.Config, key tlsKey, authorize func(*http.Request)) endpoint {
	timeout := f.timeout()
	if len(f.problems) > 0 { // it is not opened
		return endpoint{}
	}
	transport, release := f.transport(c, key)
	return endpoint{&http.Client{Transport: transport, Timeout: timeout, CheckRedirect: sameHost}, u, authorize, release}
}

// sameHost rejects redirects to other hosts, which would receive the keys in headers.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) >= 10 || r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// fetch returns the body of u. Its errors contain neither u's query nor the answer.
func (e *endpoint) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL that can be asked")
	}
	e.authorize(r)
	response, err := e.client.Do(r)
	if err != nil {
		return nil, withoutAnswer(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("found status %d %s: want 200", response.StatusCode, http.StatusText(response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, atMost+1))
	switch {
	case err != nil:
		return nil, withoutAnswer(err)
	case len(body) > atMost:
		return nil, fmt.Errorf("the answer is longer than %d bytes", atMost)
	}
	return body, nil
}

// withoutAnswer returns the error of a request without the URL, which may have keys, and
// without the answer, which may repeat them. It keeps errors of the network and of the
// request itself, and the most frequent errors of TLS. It replaces every other error, because
// its text may be part of an answer, such as of a proxy.
func withoutAnswer(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var (
		network     net.Error
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &network), errors.As(err, &certificate), errors.As(err, &record),
		errors.Is(err, context.Canceled), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, http.ErrSchemeMismatch), strings.HasPrefix(err.Error(), "net/http: invalid header field"):
		return err
	}
	return errors.New("the request failed, or its answer is not valid HTTP")
}

// Close closes idle connections, unless another queue needs them.
func (e *endpoint) Close() error { return e.release() }

// A pool shares connections among the queues that need the same. The zero value is
// empty.
type pool[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]*shared[V]
}

type shared[V any] struct {
	value V
	users int
}

// get returns the value of the key, which it opens for the first user, and a function that
// releases it. The value is closed when its last user has released it.
func (p *pool[K, V]) get(key K, open func() V, closed func(V) error) (value V, release func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.all[key]
	if s == nil {
		if s = (&shared[V]{value: open()}); p.all == nil {
			p.all = map[K]*shared[V]{}
		}
		p.all[key] = s
	}
	s.users++
	return s.value, sync.OnceValue(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users--; s.users > 0 {
			return nil
		}
		delete(p.all, key)
		return closed(s.value)
	})
}

// A tlsKey holds the parameters that a TLS configuration is made of.
type tlsKey struct {
	on, insecure  bool
	ca, cert, key string
}

func (f *fields) tlsKey(on bool) tlsKey {
	places := []place{authentication}
	return tlsKey{on, f.flag("unsafeSsl"), f.find(places, "ca").text, f.find(places, "cert", "Cert").text, f.find(places, "key").text}
}

var transports pool[tlsKey, *http.Transport]

// transport returns connections for requests over HTTP.
func (f *fields) transport(c *tls.Config, key tlsKey) (t *http.Transport, release func() error) {
	return transports.get(key, func() *http.Transport {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig, t.MaxIdleConnsPerHost = c, 10
		return t
	}, func(t *http.Transport) error {
		t.CloseIdleConnections()
		return nil
	})
}

// encryption is a client's side of TLS, as the parameters ca, cert, key and
// unsafeSsl have it.
func (f *fields) encryption() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.flag("unsafeSsl")}
	if ca := f.find([]place{authentication}, "ca"); ca.text != "" {
		c.RootCAs = authorities(ca.text)
		if c.RootCAs == nil {
			f.wrong(ca, "one or more certificates in PEM")
		}
	}
	if p := f.find([]place{authentication}, "keyPassword"); p.text != "" {
		f.wrong(p, "nothing: a key that is not encrypted")
	}
	f.certificate(c)
	return c
}

func (f *fields) certificate(c *tls.Config) {
	cert := f.find([]place{authentication}, "cert", "Cert")
	key := f.find([]place{authentication}, "key")
	switch {
	case cert.text == "" && key.text == "":
	case cert.text == "":
		f.wrong(cert, "the certificate of the key")
	case key.text == "":
		f.wrong(key, "the key of the certificate")
	default:
		pair, err := tls.X509KeyPair([]byte(cert.text), []byte(key.text))
		if err != nil {
			f.wrong(cert, "a certificate in PEM, with its key in the parameter key")
			return
		}
		c.Certificates = []tls.Certificate{pair}
	}
}

// authorities returns the certificates that the system trusts and those in pem, or nil if
// pem has none.
func authorities(pem string) *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil
	}
	return pool
}

// enabled is the parameter tls of a TriggerAuthentication.
func (f *fields) enabled() bool {
	return f.choice(f.find([]place{authentication}, "tls"), "disable", "enable") == "enable"
}
