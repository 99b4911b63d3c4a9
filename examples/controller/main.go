// Controller creates Jobs for queued work as the cluster's ScaledJobs say, deletes
// finished ones, and rolls out changes. It stands in for KEDA's operator, as far as
// that is about ScaledJobs, and is no more than the packages of this module
// put together: what it reads, and how often, is here; what it then does is
// decided by scaledjob, and carried out by its adapter.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	go run ./examples/controller -install
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/examples/internal/process"
)

// name is what the controller is called in events, requests and leases.
const name = "scaledjob-controller"

var scaledJobs = adapter.GroupVersionKind.GroupVersion().WithResource("scaledjobs")

//go:embed manifests/crds/scaledjobs.yaml manifests/crds/*triggerauthentications.yaml
var crds embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, clusterNamespace, address, leaseNamespace string

	logs          process.Log
	leaseDuration time.Duration
	sourceTimeout time.Duration
	install       bool
	elect         bool
	watchPods     bool
}

// run is main with its surroundings as arguments; it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := o.run(ctx, stderr); err != nil {
		fmt.Fprintf(stderr, "controller: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`, instead of $KUBECONFIG, ~/.kube/config, or a pod's own access")
	flags.StringVar(&o.namespace, "namespace", "", "the only `namespace` to act in; empty means all")
	flags.StringVar(&o.clusterNamespace, "cluster-object-namespace", "keda", "`namespace` of what ClusterTriggerAuthentications refer to")
	flags.BoolVar(&o.install, "install", false, "install the custom resources that the cluster does not have")
	flags.BoolVar(&o.watchPods, "watch-pods", true, "tell pending Jobs by their pods; if false, by the Jobs' status, which needs no access to pods")
	flags.DurationVar(&o.sourceTimeout, "source-timeout", 10*time.Second, "`time` within which a trigger must answer")
	flags.StringVar(&o.address, "listen", ":8080", "`address` of /healthz, /readyz and /metrics; empty means none")
	flags.BoolVar(&o.elect, "leader-election", true, "act only while holding the lease, so that more than one may run")
	flags.StringVar(&o.leaseNamespace, "lease-namespace", "", "`namespace` of the lease; empty means the pod's, else default")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "`time` after which another takes over from one that has died")
	o.logs.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintf(stderr, "controller: %v\n", err)
		return o, err
	}
	return o, nil
}

func (o options) check(arguments []string) error {
	var problems []error
	if len(arguments) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: all are flags, see -help", arguments[0]))
	}
	if o.leaseDuration < 2*time.Second {
		problems = append(problems, fmt.Errorf("-lease-duration %s: want 2s or more", o.leaseDuration))
	}
	if o.sourceTimeout <= 0 {
		problems = append(problems, fmt.Errorf("-source-timeout %s: want a time above 0", o.sourceTimeout))
	}
	return errors.Join(append(problems, o.logs.Check())...)
}

// run returns nil when the context ends and all is put down.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	log := o.logs.To(stderr)
	klog.SetSlogLogger(log)
	config, err := cluster.Access{Program: name, Kubeconfig: o.kubeconfig, Guide: cluster.Guide("./examples/controller")}.Config()
	if err != nil {
		return err
	}
	client, dynamic, err := cluster.Clients(config)
	if err != nil {
		return err
	}
	if o.install { // not what is there already: KEDA may have installed it
		if err := cluster.Install(ctx, dynamic, crds, log); err != nil {
			return err
		}
	}
	if err := cluster.Served(ctx, client.Discovery(), scaledJobs); err != nil {
		return err
	}
	c, err := newController(o, client, dynamic, log)
	if err != nil {
		return err
	}
	probes := process.Probes(c.synced)
	probes.Handle("GET /metrics", c.metrics.handler())
	server, err := process.Listen(o.address, probes, log)
	if err != nil {
		return err
	}
	defer server.Close()
	return c.run(ctx)
}
