// Scheduled runs ScheduledJobs: jobs that run on an ISO 8601 repeating schedule, on
// demand, or after runs of others. What is due, waits, starts and is forgotten is
// decided by package schedule; Jobs are made and read by adapter/run; watching,
// storing and doing is here.
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
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the image has none

	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/examples/internal/process"
)

// name is what the controller is called in events and requests.
const name = "scheduledjob-controller"

var (
	scheduledJobs = run.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = run.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

//go:embed manifests/crds/*.yaml
var crds embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, address string

	logs    process.Log
	resync  time.Duration
	workers int
	install bool
}

// execute is main with its surroundings as arguments; it returns the exit status.
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
	flags.DurationVar(&o.resync, "resync", 5*time.Second, "`time` after which a ScheduledJob is looked at although nothing is due and nothing has happened")
	flags.IntVar(&o.workers, "workers", 4, "`number` of ScheduledJobs that are looked at together")
	flags.StringVar(&o.address, "listen", ":8080", "`address` of /healthz and /readyz; empty means none")
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
	if o.workers < 1 {
		problems = append(problems, fmt.Errorf("-workers %d: want 1 or more", o.workers))
	}
	return errors.Join(append(problems, o.logs.Check())...)
}

// start returns nil when the context ends and all is put down.
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
	server, err := process.Listen(o.address, process.Probes(c.synced), log)
	if err != nil {
		return err
	}
	defer server.Close()
	return c.run(ctx)
}
