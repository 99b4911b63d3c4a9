package loop

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// Clients are two clients of the same API server.
type Clients struct {
	// Requests has a timeout and a limit.
	Requests kubernetes.Interface
	// Watches has neither: a timeout would end a watch.
	Watches kubernetes.Interface
	// Queue has the slots of Requests. It is nil without a limit.
	Queue *requests.Queue
}

// Connect returns the clients. The timeout must equal the timeout of [adapter.Options]; 0 is
// [adapter.DefaultTimeout] in both. A nil limit does not limit. client-go's own rate limit
// is switched off. The config is not modified.
func Connect(config *rest.Config, timeout time.Duration, limit *Limit) (c Clients, err error) {
	if timeout < 0 {
		return c, fmt.Errorf("timeout: found %s; use a duration of 0 or more", timeout)
	}
	if c.Watches, err = kubernetes.NewForConfig(binary(unlimited(config))); err != nil {
		return c, err
	}
	if limit != nil {
		c.Queue = limit.Queue
	}
	c.Requests, err = kubernetes.NewForConfig(binary(LimitedConfig(config, timeout, limit)))
	return c, err
}

// LimitedConfig returns a config of clients that have the timeout and share the limit. Watches
// have neither. A timeout of 0 is [adapter.DefaultTimeout]; a nil limit does not limit.
func LimitedConfig(config *rest.Config, timeout time.Duration, limit *Limit) *rest.Config {
	config, timeout = unlimited(config), cmp.Or(timeout, adapter.DefaultTimeout)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return newTransport(next, timeout, limit) })
	return config
}

// SeparateConfig returns a config of clients that share neither connection nor limit with others,
// such as for a lease, which must also be renewed during a burst. A broken connection is
// replaced at the next request. The timeout covers all attempts of a request.
func SeparateConfig(config *rest.Config, timeout time.Duration) *rest.Config {
	config = unlimited(config)
	config.Timeout = timeout
	if config.Dial == nil { // a config that has it shares no connection
		config.Dial = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	}
	config.NextProtos = []string{"http/1.1"} // HTTP/2 keeps a silent connection for 45 s
	return config
}

// unlimited returns a copy without client-go's limits. A timeout of client-go would
// count the wait for the limit too.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return shortPause{next} })
	return config
}

// binary sets protobuf, unless the config has a content type.
func binary(config *rest.Config) *rest.Config {
	if config.ContentType == "" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = config.ContentType + ",application/json"
	}
	return config
}
