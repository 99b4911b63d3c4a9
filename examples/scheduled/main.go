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
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the image has none

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// name is what the controller is called in events and requests.
const name = "scheduledjob-controller"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, address, logFormat string

	level   slog.Level
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
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of logs: text or json")
	flags.TextVar(&o.level, "log-level", slog.LevelInfo, "least `level` of logs: debug, info, warn or error; debug tells each decision")
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
	if o.logFormat != "text" && o.logFormat != "json" {
		problems = append(problems, fmt.Errorf("-log-format %q: want text or json", o.logFormat))
	}
	if o.resync <= 0 {
		problems = append(problems, fmt.Errorf("-resync %s: want a time above 0", o.resync))
	}
	if o.workers < 1 {
		problems = append(problems, fmt.Errorf("-workers %d: want 1 or more", o.workers))
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

// start returns nil when the context ends and all is put down.
func (o options) start(ctx context.Context, stderr io.Writer) error {
	log := o.logger(stderr)
	klog.SetSlogLogger(log)
	config, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamic, err := dynamic.NewForConfig(config)
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
