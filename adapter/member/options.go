package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
)

// Options configure a member. Home and Terms are required.
type Options struct {
	// Key proves which Jobs this hub created: see LabelProof. It must be secret, the same for
	// all members, and survive a restart. Without it the labels are the proof.
	Key []byte
	// Home names the hub cluster. It is a label value, best the UID of the hub's
	// namespace kube-system.
	Home string
	// Namespaces are the only namespaces of the member that are watched, for which alone the clients
	// need permissions; none means all. The member is NeverReached for owners in others. Each is
	// watched by itself: without the permission for one the member is unreachable for its owners.
	Namespaces []string
	Pods       bool // watch pods too: see adapter.Options
	// Timeout is the timeout of each request; 0 means 5 s. A create that was not
	// answered is asked for after twice this time.
	Timeout time.Duration
	// Deadline is the time after an observation in which its plan may send requests;
	// 0 means 10 s. The next plan does the rest.
	Deadline time.Duration
	Interval time.Duration // time between two health checks; 0 means 10 s
	// QPS limits the requests per second, other than health checks and watches; 0
	// means 100, and a negative value means no limit.
	QPS   float32
	Burst int // number of requests that may exceed QPS at once; 0 means twice QPS
	// UID is that of the member's namespace kube-system. A member with another UID is
	// unreachable, and so is the later registered of two members with the same UID. It needs
	// permission to get that namespace. "" means the UID at the first contact, or none if the
	// member does not show it.
	UID string
	// FirstContact stores the UID of a member without one in Options, unless another is stored, and
	// returns the stored one. "" stores nothing. While it fails the member is unreachable. nil keeps the UID in memory.
	FirstContact func(ctx context.Context, uid string) (string, error)

	Registered time.Time // decides which of two members with one UID is used
	// MaxBytes is the most bytes of an answer to a client of Dial, other than a watch; 0 means 32 MiB.
	MaxBytes int64
	// Terms decide whether this process may send requests, such as those of its lease; needed.
	// Health checks and watches do not ask.
	Terms *requests.Terms
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(max(0, o.Timeout), 5*time.Second)
	o.Deadline = cmp.Or(max(0, o.Deadline), 10*time.Second)
	o.Interval = cmp.Or(max(0, o.Interval), 10*time.Second)
	o.QPS = cmp.Or(o.QPS, 100)
	o.MaxBytes = cmp.Or(max(0, o.MaxBytes), defaultMaxBytes)
	o.Burst = cmp.Or(max(0, o.Burst), max(1, int(2*o.QPS)))
	return o
}

// check returns the problems of a member of that name.
func (o *Options) check(name string) error {
	if name == "" {
		return errors.New("member: found no name; use the name of the cluster")
	}
	var problems field.Errors
	invalid := validation.IsValidLabelValue(o.Home)
	problems.Check(o.Home != "" && len(invalid) == 0, "Options.Home", o.Home,
		strings.Join(append([]string{"a label value that names the hub cluster"}, invalid...), "; "))
	return problems.Err()
}

// Clients send the requests to a member. They should have no rate limit, because
// Options has one.
type Clients struct {
	// Requests has the timeout of Options, which the API server must know too.
	Requests kubernetes.Interface
	// Watches has no timeout, which would end a watch.
	Watches kubernetes.Interface
	// Scales and Mapper are for ObserveReplicas and Scale; Jobs do not need them.
	Scales scale.ScalesGetter
	Mapper meta.RESTMapper
}

// Dial returns a member and its clients. It makes no request: the member may be
// unreachable.
func Dial(name string, config *rest.Config, o Options) (*Cluster, error) {
	clients, err := dial(config, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	return New(name, clients, o)
}

func dial(config *rest.Config, o Options) (c Clients, err error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedTransport{closed{next}, o.MaxBytes} })
	connected, err := loop.Connect(config, o.Timeout, nil)
	if err != nil {
		return c, err
	}
	c.Requests, c.Watches = connected.Requests, connected.Watches
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, o.Timeout
	kinds := connected.Requests.Discovery()
	c.Mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	c.Scales, err = scale.NewForConfig(config, c.Mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(kinds))
	return c, err
}

// A closed words the error of a connection that the member closes. client-go would repeat a
// read until its timeout, and then report that the read was not sent.
type closed struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (c closed) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the member closed the connection without an answer")
	case errors.Is(err, syscall.ECONNRESET):
		err = errors.New("the member reset the connection")
	}
	return response, err
}
