// Multicluster scales over several clusters: it creates Jobs in them as the home
// cluster's DistributedScaledJobs say, and shares replicas among them as its
// DistributedScaledObjects do. What it reads, and how often, is here; what it then does
// is decided by the packages below placement, and carried out by package adapter/member.
//
//	go run ./examples/multicluster/local                     # in another terminal: a home and three members
//	export KUBECONFIG=$PWD/fleet/home.kubeconfig
//	DSJ_ENABLED=true DSO_ENABLED=true go run ./examples/multicluster
//
// With a command it does something else than to run:
//
//	multicluster setup-member <name> --keda-kubeconfig <path> --member-kubeconfig <path> [--member-api-url <url>]
//	multicluster list-members --keda-kubeconfig <path>
//	multicluster delete-member <name> --keda-kubeconfig <path> [--member-kubeconfig <path>]
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	clients "github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/examples/internal/process"
	"github.com/scaledjob/scaledjob/examples/multicluster/api"
	"github.com/scaledjob/scaledjob/examples/multicluster/manifests"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// name is what the controller is called in events and requests.
const name = "multicluster"

const guide = `To have a home cluster with three members on this machine, with nothing but Go installed, run in the folder of this repository

    go run ./examples/multicluster/local    # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/fleet/home.kubeconfig
    DSJ_ENABLED=true DSO_ENABLED=true go run ./examples/multicluster`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr}))
}

type streams struct{ out, err io.Writer }

// run is main with its surroundings as arguments; it returns the exit status.
func run(ctx context.Context, args []string, to streams) int {
	do := func(args []string, to streams) (task, error) {
		o, err := parse(args, to.err)
		return func(ctx context.Context) error { return o.run(ctx, to.err) }, err
	}
	if len(args) > 0 && commands[args[0]] != nil {
		do, args = commands[args[0]], args[1:]
	}
	task, err := do(args, to)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := task(ctx); err != nil {
		fmt.Fprintf(to.err, "multicluster: %v\n", err)
		return 1
	}
	return 0
}

// A task is what to do, as the arguments say.
type task func(context.Context) error

type options struct {
	kubeconfig, namespace, kedaNamespace, address string

	logs          process.Log
	jobs, objects bool
	install       bool
	elect         bool
	watchPods     bool
	leaseDuration time.Duration
	sourceTimeout time.Duration
	timeout       time.Duration
	probe         time.Duration
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("multicluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the home cluster, instead of $KUBECONFIG, ~/.kube/config, or a pod's own access")
	flags.StringVar(&o.namespace, "namespace", "", "the only `namespace` of the home cluster to act in; empty means all")
	flags.StringVar(&o.kedaNamespace, "keda-namespace", registry.Namespace, "`namespace` of the members' kubeconfigs, of what ClusterTriggerAuthentications refer to, and of the lease")
	var invalid [2]error
	o.jobs, invalid[0] = enabled("DSJ_ENABLED")
	o.objects, invalid[1] = enabled("DSO_ENABLED")
	flags.BoolVar(&o.jobs, "dsj", o.jobs, "act on DistributedScaledJobs; $DSJ_ENABLED")
	flags.BoolVar(&o.objects, "dso", o.objects, "act on DistributedScaledObjects; $DSO_ENABLED")
	flags.BoolVar(&o.install, "install", false, "install the custom resources that the home cluster does not have")
	flags.BoolVar(&o.elect, "leader-election", true, "act only while holding the lease, so that more than one may run")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "`time` after which another takes over from one that has died")
	flags.BoolVar(&o.watchPods, "watch-pods", true, "tell pending Jobs by their pods; if false, by the Jobs' status, which needs no access to pods")
	flags.DurationVar(&o.sourceTimeout, "source-timeout", 10*time.Second, "`time` within which a trigger must answer")
	flags.DurationVar(&o.timeout, "member-timeout", 5*time.Second, "`time` within which a member must answer a request")
	flags.DurationVar(&o.probe, "probe-interval", 10*time.Second, "`time` between two health checks of a member")
	flags.StringVar(&o.address, "listen", ":8080", "`address` of /healthz and /readyz; empty means none")
	o.logs.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := errors.Join(append(invalid[:], o.check(flags.Args()))...); err != nil {
		fmt.Fprintf(stderr, "multicluster: %v\n", err)
		return o, err
	}
	return o, nil
}

// enabled reads a switch, which is off if nobody has set it.
func enabled(variable string) (bool, error) {
	value := os.Getenv(variable)
	on, err := strconv.ParseBool(cmp.Or(value, "false"))
	if err != nil {
		err = fmt.Errorf("$%s is %q: want true or false", variable, value)
	}
	return on, err
}

func (o options) check(arguments []string) error {
	var problems []error
	if len(arguments) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: want a flag (see -help), or setup-member, list-members or delete-member", arguments[0]))
	}
	if o.leaseDuration < 2*time.Second {
		problems = append(problems, fmt.Errorf("-lease-duration %s: want 2s or more", o.leaseDuration))
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"source-timeout", o.sourceTimeout}, {"member-timeout", o.timeout}, {"probe-interval", o.probe}} {
		if d.value <= 0 {
			problems = append(problems, fmt.Errorf("-%s %s: want a time above 0", d.flag, d.value))
		}
	}
	return errors.Join(append(problems, o.logs.Check())...)
}

// resources are what to act on.
func (o options) resources() (all []schema.GroupVersionResource) {
	if o.jobs {
		all = append(all, api.Jobs)
	}
	if o.objects {
		all = append(all, api.Objects)
	}
	return all
}

// run returns nil when the context ends and all is put down.
func (o options) run(ctx context.Context, stderr io.Writer) error {
	log := o.logs.To(stderr)
	klog.SetSlogLogger(log)
	config, err := cluster.Access{Program: name, Kubeconfig: o.kubeconfig, Guide: guide}.Config()
	if err != nil {
		return err
	}
	client, dynamic, err := cluster.Clients(config)
	if err != nil {
		return err
	}
	if o.install {
		if err := cluster.Install(ctx, dynamic, manifests.CRDs, log); err != nil {
			return err
		}
	}
	if err := cluster.Served(ctx, client.Discovery(), o.resources()...); err != nil {
		return err
	}
	c, err := newController(ctx, o, client, dynamic, log)
	if err != nil {
		return err
	}
	if o.elect {
		if c.leases, err = kubernetes.NewForConfig(clients.Separate(config, c.lease().Timeout())); err != nil {
			return err
		}
	}
	server, err := process.Listen(o.address, process.Probes(c.synced), log)
	if err != nil {
		return err
	}
	defer server.Close()
	if len(c.kinds) == 0 { // as the manifests have it at first
		log.Warn("nothing to act on: set DSJ_ENABLED=true for DistributedScaledJobs, DSO_ENABLED=true for DistributedScaledObjects, or both")
		<-ctx.Done()
		return nil
	}
	return c.run(ctx)
}
