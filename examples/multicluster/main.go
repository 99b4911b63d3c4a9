// Multicluster scales over several clusters: it creates Jobs in them as the home
// cluster's DistributedScaledJobs say, and shares replicas among them as its
// DistributedScaledObjects do. What it reads, and how often, is here; what it then does
// is decided by package placement, and carried out by package adapter/member.
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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/examples/multicluster/manifests"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// name is what the controller is called in events and requests.
const name = "multicluster"

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
	kubeconfig, namespace, kedaNamespace, address, logFormat string

	level         slog.Level
	jobs, objects bool
	install       bool
	elect         bool
	watchPods     bool
	lease         time.Duration
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
	flags.BoolVar(&o.jobs, "dsj", enabled("DSJ_ENABLED"), "act on DistributedScaledJobs; $DSJ_ENABLED")
	flags.BoolVar(&o.objects, "dso", enabled("DSO_ENABLED"), "act on DistributedScaledObjects; $DSO_ENABLED")
	flags.BoolVar(&o.install, "install", false, "install the custom resources that the home cluster does not have")
	flags.BoolVar(&o.elect, "leader-election", true, "act only while holding the lease, so that more than one may run")
	flags.DurationVar(&o.lease, "lease-duration", 15*time.Second, "`time` after which another takes over from one that has died")
	flags.BoolVar(&o.watchPods, "watch-pods", true, "tell pending Jobs by their pods; if false, by the Jobs' status, which needs no access to pods")
	flags.DurationVar(&o.sourceTimeout, "source-timeout", 10*time.Second, "`time` within which a trigger must answer")
	flags.DurationVar(&o.timeout, "member-timeout", 5*time.Second, "`time` within which a member must answer a request")
	flags.DurationVar(&o.probe, "probe-interval", 10*time.Second, "`time` between two health checks of a member")
	flags.StringVar(&o.address, "listen", ":8080", "`address` of /healthz and /readyz; empty means none")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of logs: text or json")
	flags.TextVar(&o.level, "log-level", slog.LevelInfo, "least `level` of logs: debug, info, warn or error; debug tells each plan")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintf(stderr, "multicluster: %v\n", err)
		return o, err
	}
	return o, nil
}

// enabled reads a switch; what does not parse is off.
func enabled(variable string) bool {
	on, err := strconv.ParseBool(os.Getenv(variable))
	return err == nil && on
}

func (o options) check(arguments []string) error {
	var problems []error
	if len(arguments) > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: want a flag (see -help), or setup-member, list-members or delete-member", arguments[0]))
	}
	if !o.jobs && !o.objects {
		problems = append(problems, errors.New("nothing to act on: set DSJ_ENABLED=true for DistributedScaledJobs, DSO_ENABLED=true for DistributedScaledObjects, or both"))
	}
	if o.logFormat != "text" && o.logFormat != "json" {
		problems = append(problems, fmt.Errorf("-log-format %q: want text or json", o.logFormat))
	}
	if o.lease < 2*time.Second { // the lease holds whole seconds
		problems = append(problems, fmt.Errorf("-lease-duration %s: want 2s or more", o.lease))
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"source-timeout", o.sourceTimeout}, {"member-timeout", o.timeout}, {"probe-interval", o.probe}} {
		if d.value <= 0 {
			problems = append(problems, fmt.Errorf("-%s %s: want a time above 0", d.flag, d.value))
		}
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
		if err := manifests.Install(ctx, dynamic, log); err != nil {
			return err
		}
	}
	if err := o.served(client.Discovery()); err != nil {
		return err
	}
	c, err := newController(ctx, o, client, dynamic, log)
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
