package registry

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// guard keeps the credentials of config at its host: client-go would add them to a request that the member
// redirects to another.
func guard(config *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{} // the member chooses the text of a warning
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guarded{base.Scheme, base.Host, next} })
	return nil
}

type guarded struct {
	scheme, host string
	next         http.RoundTripper
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == g.host && r.URL.Scheme == g.scheme {
		return g.next.RoundTrip(r)
	}
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, fmt.Errorf("the member redirects to another host: want %s://%s", g.scheme, g.host)
}
