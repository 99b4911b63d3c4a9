package process

import (
	"cmp"
	"context"
	"flag"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/field"
)

// Options are the flags that all controllers have. A controller sets the first fields;
// Flags sets the others.
type Options struct {
	Name    string  // in messages, requests and events, and the name of the lease
	Guide   string  // how to get a cluster, for users without any; "" prints nothing
	Install []fs.FS // custom resources, which -install installs; nil has no such flag

	Kubeconfig     string
	Namespace      string // the only namespace to act in; "" means all
	MetricsAddress string // "" serves no metrics
	ProbesAddress  string // "" serves no probes
	LeaseNamespace string // "" is the pod's namespace, else Namespace, else default
	LeaseDuration  time.Duration
	LeaderElect    bool
	Log            Log

	install bool
}

// A program embeds Options, and so has its methods.
var _ interface{ base() *Options } = (*Options)(nil)

func (o *Options) base() *Options { return o }

// Flags adds the flags.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `file`, instead of $KUBECONFIG, ~/.kube/config, or a pod's own access")
	flags.StringVar(&o.Namespace, "namespace", "", "the only `namespace` to act in; empty means all")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", "127.0.0.1:8080", "`address` of /metrics, which anybody who reaches it may read; empty means none")
	flags.StringVar(&o.ProbesAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; empty means none")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "act only while holding the lease, so that several replicas may run; without it, run one process at a time, whose first creates wait for twice the request timeout")
	flags.StringVar(&o.LeaseNamespace, "lease-namespace", "", "`namespace` of the lease (default: the pod's, else that in -namespace, else default)")
	flags.DurationVar(&o.LeaseDuration, "lease-duration", 15*time.Second, "`time` after which another replica takes over from one that has died")
	if o.Install != nil {
		flags.BoolVar(&o.install, "install", false, "install the custom resources that the cluster does not have")
	}
	o.Log.Flags(flags)
}

// Check returns every problem of the flags, joined.
func (o *Options) Check() error {
	var problems field.Errors
	problems.Check(o.LeaseDuration >= 2*time.Second, "-lease-duration", o.LeaseDuration, "2s or more")
	problems.Join("", o.Log.Check())
	return problems.Err()
}

// Connect returns the access to the cluster, in which it first installs the custom
// resources if -install asks for it.
func (o *Options) Connect(ctx context.Context, log *slog.Logger) (*rest.Config, error) {
	config, err := cluster.Access{Program: o.Name, Kubeconfig: o.Kubeconfig, Guide: o.Guide}.Config()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = serverWarnings{log}
	if !o.install {
		return config, nil
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	for _, files := range o.Install {
		if err := cluster.Install(ctx, custom, files, log); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// Serve serves the probes of [Probes], and the metrics at /metrics unless the handler is
// nil, until close is called. One address may serve both.
func (o *Options) Serve(synced func() bool, metrics http.Handler, log *slog.Logger) (close func(), err error) {
	probes := Probes(synced)
	handlers := map[string]http.Handler{o.ProbesAddress: probes}
	if metrics != nil {
		mux := probes
		if o.MetricsAddress != o.ProbesAddress {
			mux = http.NewServeMux()
		}
		mux.Handle("GET /metrics", metrics)
		handlers[o.MetricsAddress] = mux
	}
	var servers []*http.Server
	close = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	for address, handler := range handlers {
		server, err := Listen(address, handler, log)
		if err != nil {
			close()
			return nil, err
		}
		servers = append(servers, server)
	}
	return close, nil
}

// Clients are a controller's clients of its cluster, and its lease. Renewals of the lease wait for no other request.
type Clients struct {
	cluster.Clients
	Config *rest.Config // of other clients
	Lease  loop.Lease
}

// Clients connects to the cluster as [Options.Connect] does. It returns an error if the cluster does not serve the
// resources.
func (o *Options) Clients(ctx context.Context, log *slog.Logger, limits cluster.Limits, resources ...schema.GroupVersionResource) (c Clients, err error) {
	if c.Config, err = o.Connect(ctx, log); err != nil {
		return c, err
	}
	if c.Lease, err = o.NewLease(c.Config, log); err != nil {
		return c, err
	}
	if c.Clients, err = cluster.Connect(c.Config, limits); err != nil {
		return c, err
	}
	return c, cluster.Served(ctx, c.Requests.Discovery(), resources...)
}

// NewLease returns the lease of the controller. Without -leader-elect it has no Client, and
// [loop.Lease.Keep] acts at once, except that creates wait.
func (o *Options) NewLease(config *rest.Config, log *slog.Logger) (l loop.Lease, err error) {
	if !o.LeaderElect {
		return loop.Lease{Terms: requests.WithoutLease(), Name: o.Name, Duration: o.LeaseDuration, Log: log}, nil
	}
	l, err = loop.NewLease(config, o.OwnNamespace(), o.Name, o.LeaseDuration)
	l.Log = log
	return l, err
}

const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// OwnNamespace returns the namespace of the lease: -lease-namespace, or else the pod's own.
// Outside of a pod it is the served namespace.
func (o *Options) OwnNamespace() string {
	data, _ := os.ReadFile(podNamespace) // there is no file outside a pod
	return cmp.Or(o.LeaseNamespace, strings.TrimSpace(string(data)), o.Namespace, "default")
}
