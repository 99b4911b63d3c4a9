package member

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
)

// Options are how to treat a member. All but Home have a default.
type Options struct {
	ID   string // tells the way to it, for the status
	Home string // names the home cluster, as a label value; best the UID of its namespace kube-system
	// Namespace is the only one that is looked at; "" is all of them.
	Namespace string
	// Pods are watched too, for owners that are observed with PodsKnown.
	Pods bool
	// Timeout is for each request; 0 is 5 s.
	Timeout time.Duration
	// Deadline is for how long one Apply goes on making requests; 0 is 10 s. What is
	// left then is up to the next plan.
	Deadline time.Duration
	Interval time.Duration // between two health checks; 0 is 10 s
	// QPS is how many requests a second may be made, beside health checks and
	// watches; 0 is 100, and below 0 there is no limit.
	QPS   float32
	Burst int // how many at once; 0 is twice QPS
	// Probe is the health check; nil lists one Job, which takes an API server, its
	// storage, and the right to do it.
	Probe func(context.Context) error
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(max(0, o.Timeout), 5*time.Second)
	o.Deadline = cmp.Or(max(0, o.Deadline), 10*time.Second)
	o.Interval = cmp.Or(max(0, o.Interval), 10*time.Second)
	o.QPS = cmp.Or(o.QPS, 100)
	o.Burst = cmp.Or(max(0, o.Burst), max(1, int(2*o.QPS)))
	return o
}

// check returns what is wrong with a member of that name.
func (o *Options) check(name string) error {
	if name == "" {
		return fmt.Errorf("member: it has no name")
	}
	if problems := validation.IsValidLabelValue(o.Home); o.Home == "" || len(problems) > 0 {
		return fmt.Errorf("member %s: Options.Home is %q: want a label value that names the home cluster%s", name, o.Home, strings.Join(problems, "; "))
	}
	return nil
}

// Clients make the requests to a member. They should have no limit of requests of
// their own, since Options has one.
type Clients struct {
	Kubernetes kubernetes.Interface
	// Scales and Mapper are for objects, and may be nil where there are none.
	Scales scale.ScalesGetter
	Mapper meta.RESTMapper
}

// Dial returns a member that is reached as the config says. It makes no request:
// the member may be away.
func Dial(name string, config *rest.Config, o Options) (*Cluster, error) {
	clients, err := dial(config, o.withDefaults().Timeout)
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", name, err)
	}
	return New(name, clients, o)
}

func dial(config *rest.Config, timeout time.Duration) (c Clients, err error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	if c.Kubernetes, err = kubernetes.NewForConfig(config); err != nil {
		return c, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = timeout // of discovery, which takes no context; watches must not have one
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return c, err
	}
	c.Mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	c.Scales, err = scale.NewForConfig(config, c.Mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(kinds))
	return c, err
}
