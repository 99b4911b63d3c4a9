// Redis-operator creates Jobs while items wait in Redis lists, as the cluster's
// ScaledJobs of the group batch.miracle.dev say. It shows how an operator made with
// controller-runtime decides with scaledjob; start in internal/controller.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	kubectl apply -k examples/redis-operator/config/crd
//	go run ./examples/redis-operator
package main

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd:generateEmbeddedObjectMeta=true,maxDescLen=0 rbac:roleName=redis-operator paths=./api/...;./internal/...;. output:crd:dir=config/crd output:rbac:dir=config/rbac

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9/logging"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/scaledjob/scaledjob/examples/internal/process"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

type options struct {
	kubeconfig, namespace, metrics, probes, leaseNamespace, secrets string

	logs                                 process.Log
	elect                                bool
	poll, retry, redisTimeout, redisIdle time.Duration
	workers                              int
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
	o.log(stderr)
	if err := o.operate(ctx); err != nil {
		fmt.Fprintf(stderr, "redis-operator: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("redis-operator", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`, instead of $KUBECONFIG, ~/.kube/config, or a pod's own access")
	flags.StringVar(&o.namespace, "namespace", "", "the only `namespace` to act in; empty means all")
	flags.StringVar(&o.metrics, "metrics", ":8080", "`address` of /metrics; 0 means none")
	flags.StringVar(&o.probes, "probes", ":8081", "`address` of /healthz and /readyz; 0 means none")
	flags.BoolVar(&o.elect, "leader-election", false, "act only while holding the lease, so that more than one may run")
	flags.StringVar(&o.leaseNamespace, "lease-namespace", "", "`namespace` of the lease; empty means the pod's")
	flags.DurationVar(&o.poll, "poll", 30*time.Second, "`time` from one look at a queue to the next")
	flags.DurationVar(&o.retry, "retry", 10*time.Second, "the same `time` after something failed")
	flags.IntVar(&o.workers, "workers", 32, "`number` of ScaledJobs that are looked at at once")
	flags.StringVar(&o.secrets, "redis-secrets", "", "`folder` with a folder for each Redis that wants a password or TLS: files address, username, password, tls, ca.crt, tls.crt, tls.key")
	flags.DurationVar(&o.redisTimeout, "redis-timeout", 3*time.Second, "`time` within which a Redis must answer")
	flags.DurationVar(&o.redisIdle, "redis-idle", 2*time.Minute, "`time` after which a connection that is not used is closed")
	o.logs.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.check(flags.Args()); err != nil {
		fmt.Fprintf(stderr, "redis-operator: %v\n", err)
		return o, err
	}
	return o, nil
}

func (o options) check(arguments []string) error {
	var problems []error
	check := func(ok bool, format string, values ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, values...))
		}
	}
	check(len(arguments) == 0, "unexpected arguments %q: all are flags, see -help", arguments)
	check(o.workers > 0, "-workers %d: want 1 or more", o.workers)
	check(o.poll > 0, "-poll %s: want a time above 0", o.poll)
	check(o.retry > 0, "-retry %s: want a time above 0", o.retry)
	check(o.redisTimeout > 0, "-redis-timeout %s: want a time above 0", o.redisTimeout)
	check(o.redisIdle > o.redisTimeout, "-redis-idle %s: want a time above -redis-timeout", o.redisIdle)
	if err := queue.CheckSecrets(o.secrets); err != nil {
		problems = append(problems, fmt.Errorf("-redis-secrets: %w", err))
	}
	return errors.Join(append(problems, o.logs.Check())...)
}

// log has everybody log to w, but for go-redis, which would tell what servers say.
func (o options) log(w io.Writer) {
	log := o.logs.To(w)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	logging.Disable()
}
