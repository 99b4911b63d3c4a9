// Scheduled is a controller for ScheduledJobs: jobs that run on a schedule, on demand, or
// after runs of other jobs. Package schedule decides which runs start, and
// adapter/scheduledjob turns runs into Jobs. This program watches, stores and acts.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	go run ./examples/scheduled -install
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the image has no time zones

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/examples/internal/process"
)

// name is the name of the controller in events, requests and leases.
const name = "scheduledjob-controller"

var (
	scheduledJobs = scheduledjob.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = scheduledjob.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

//go:embed manifests/crds/*.yaml
var crds embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, leaseNamespace string
	metricsAddress, probesAddress         string

	logs          process.Log
	resync        time.Duration
	requestTTL    time.Duration
	leaseDuration time.Duration
	workers       int
	install       bool
	elect         bool
}

// execute is main without globals. It returns the exit status.
func execute(ctx context.Context, args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := o.start(ctx, stderr); err != nil {
		fmt.Fprintf(stderr, "scheduled: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("scheduled", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`, instead of $KUBECONFIG, ~/.kube/config, or a pod's own access")
	flags.StringVar(&o.namespace, "namespace", "", "the only `namespace` to act in; empty means all")
	flags.BoolVar(&o.install, "install", false, "install the custom resources that the cluster does not have")
	flags.DurationVar(&o.resync, "resync", 5*time.Second, "`time` after which a ScheduledJob is reconciled without a change")
	flags.DurationVar(&o.requestTTL, "request-ttl", 10*time.Minute, "`time` for which a RunRequest exists after its run has completed, also if history keeps no run")
	flags.IntVar(&o.workers, "workers", 4, "`number` of ScheduledJobs that are reconciled at once")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "`address` of /metrics, which needs no authentication; empty means none")
	flags.StringVar(&o.probesAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; empty means none")
	flags.BoolVar(&o.elect, "leader-elect", true, "act only while holding the lease, so that more than one replica may run")
	flags.StringVar(&o.leaseNamespace, "lease-namespace", "default", "`namespace` of the lease")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "`time` after which another replica takes over from one that has died")
	o.logs.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintf(stderr, "scheduled: %v\n", err)
		return o, err
	}
	return o, nil
}

func (o options) check(arguments []string) error {
	var problems []error
	if len(arguments) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: all are flags, see -help", arguments[0]))
	}
	if o.resync <= 0 {
		problems = append(problems, fmt.Errorf("-resync %s: want a time above 0", o.resync))
	}
	if o.requestTTL < 0 {
		problems = append(problems, fmt.Errorf("-request-ttl %s: want 0s or more", o.requestTTL))
	}
	if o.leaseDuration < 2*time.Second {
		problems = append(problems, fmt.Errorf("-lease-duration %s: want 2s or more", o.leaseDuration))
	}
	if o.workers < 1 {
		problems = append(problems, fmt.Errorf("-workers %d: want 1 or more", o.workers))
	}
	return errors.Join(append(problems, o.logs.Check())...)
}

// start returns nil after the context has ended and the controller has stopped.
func (o options) start(ctx context.Context, stderr io.Writer) error {
	log := o.logs.To(stderr)
	klog.SetSlogLogger(log)
	config, err := cluster.Access{Program: name, Kubeconfig: o.kubeconfig, Guide: cluster.Guide("./examples/scheduled")}.Config()
	if err != nil {
		return err
	}
	client, dynamic, err := cluster.Clients(config)
	if err != nil {
		return err
	}
	if o.install {
		if err := cluster.Install(ctx, dynamic, crds, log); err != nil {
			return err
		}
	}
	if err := cluster.Served(ctx, client.Discovery(), scheduledJobs, runRequests); err != nil {
		return err
	}
	c, err := newController(o, client, dynamic, log)
	if err != nil {
		return err
	}
	for address, handler := range o.served(c) {
		server, err := process.Listen(address, handler, log)
		if err != nil {
			return err
		}
		defer server.Close()
	}
	separate := rest.CopyConfig(config)
	separate.Timeout = process.Lease{Duration: o.leaseDuration}.Timeout()
	leases, err := kubernetes.NewForConfig(separate)
	if err != nil {
		return err
	}
	return c.run(ctx, leases)
}

// served returns the handlers by address. One address may serve all.
func (o options) served(c *controller) map[string]http.Handler {
	probes, metrics := process.Probes(c.hasSynced), http.NewServeMux()
	if o.metricsAddress == o.probesAddress {
		metrics = probes
	}
	metrics.Handle("GET /metrics", c.metrics())
	return map[string]http.Handler{o.metricsAddress: metrics, o.probesAddress: probes}
}
