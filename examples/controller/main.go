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
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// name is what the controller is called in events, requests and leases.
const name = "scaledjob-controller"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, clusterNamespace, address, logFormat, leaseNamespace string

	level         slog.Level
	lease         time.Duration
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
	flags.DurationVar(&o.lease, "lease-duration", 15*time.Second, "`time` after which another takes over from one that has died")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of logs: text or json")
	flags.TextVar(&o.level, "log-level", slog.LevelInfo, "least `level` of logs: debug, info, warn or error; debug tells each decision")
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
	if o.logFormat != "text" && o.logFormat != "json" {
		problems = append(problems, fmt.Errorf("-log-format %q: want text or json", o.logFormat))
	}
	if o.lease < 2*time.Second { // the lease holds whole seconds
		problems = append(problems, fmt.Errorf("-lease-duration %s: want 2s or more", o.lease))
	}
	if o.sourceTimeout <= 0 {
		problems = append(problems, fmt.Errorf("-source-timeout %s: want a time above 0", o.sourceTimeout))
	}
	return errors.Join(problems...)
}

func (o options) logger(w io.Writer) *slog.Logger {
	handler := &slog.HandlerOptions{Level: o.level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, handler))
	}
	return slog.New(slog.NewTextHandler(w, handler))
}

// run returns nil when the context ends and all is put down.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	log := o.logger(stderr)
	klog.SetSlogLogger(log)
	config, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	client, dynamic, err := clients(config)
	if err != nil {
		return err
	}
	if o.install {
		if err := install(ctx, dynamic, log); err != nil {
			return err
		}
	}
	if err := served(client.Discovery()); err != nil {
		return err
	}
	c, err := newController(o, client, dynamic, log)
	if err != nil {
		return err
	}
	server, err := c.listen(o.address)
	if err != nil {
		return err
	}
	defer server.Close()
	return c.run(ctx)
}

func clients(config *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	dynamic, err := dynamic.NewForConfig(config)
	return client, dynamic, err
}
