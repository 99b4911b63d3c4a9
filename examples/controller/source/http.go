package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// atMost is how many bytes of an answer are read.
const atMost = 16 << 20

// An endpoint is what is asked over HTTP.
type endpoint struct {
	client    *http.Client
	url       *url.URL // without user
	authorize func(*http.Request)
}

func (f *fields) httpClient(c *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c
	return &http.Client{Transport: transport, Timeout: f.timeout(), CheckRedirect: sameHost}
}

// sameHost keeps keys in headers from going where the trigger does not point.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) >= 10 || r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// fetch returns the body of u. Its errors tell neither u's query nor the answer.
func (e *endpoint) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL that can be asked")
	}
	e.authorize(r)
	response, err := e.client.Do(r)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("found status %d %s: want 200", response.StatusCode, http.StatusText(response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, atMost+1))
	if err == nil && len(body) > atMost {
		err = fmt.Errorf("the answer is longer than %d bytes", atMost)
	}
	return body, err
}

// withoutURL is what net/http's error has but for the URL, which may have keys.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close closes idle connections.
func (e *endpoint) Close() error {
	e.client.CloseIdleConnections()
	return nil
}
