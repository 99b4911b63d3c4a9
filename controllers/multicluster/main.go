// Multicluster is a controller for two resources of a hub cluster, which acts on member
// clusters: a DistributedScaledJob creates Jobs, and a DistributedScaledObject shares
// replicas. The packages below placement decide, adapter/member acts, and this program
// watches and polls.
//
//	go run ./controllers/multicluster/local                     # in another terminal: a hub and three members
//	export KUBECONFIG=$PWD/fleet/home.kubeconfig
//	DSJ_ENABLED=true DSO_ENABLED=true go run ./controllers/multicluster
//
// Three commands register members:
//
//	multicluster setup-member <name> --keda-kubeconfig <path> --member-kubeconfig <path> [--serve <namespaces>] [--member-api-url <url>]
//	multicluster list-members --keda-kubeconfig <path>
//	multicluster delete-member <name> --keda-kubeconfig <path> [--member-kubeconfig <path>]
//
// Two commands are about Jobs whose DistributedScaledJob does not exist any more:
//
//	multicluster list-orphans <member> --keda-kubeconfig <path>
//	multicluster delete-orphans <member> --keda-kubeconfig <path>
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/manifests"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// name is the name of the controller in events, requests and leases.
const name = "multicluster"

const guide = `To start a hub cluster with three members on this machine, with nothing but Go installed, run in the directory of this repository

    go run ./controllers/multicluster/local    # the first time it builds Kubernetes, which takes about ten minutes

and in another terminal

    export KUBECONFIG=$PWD/fleet/home.kubeconfig
    DSJ_ENABLED=true DSO_ENABLED=true go run ./controllers/multicluster`

func main() {
	if isController(os.Args[1:]) {
		process.Main(newOptions(), klog.SetSlogLogger)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr}))
}

// isController reports whether the arguments are flags only, which are the controller's.
func isController(args []string) bool { return len(args) == 0 || strings.HasPrefix(args[0], "-") }

type streams struct{ out, err io.Writer }

// run is main without globals. It runs a command, or else the controller, and returns
// the exit status.
func run(ctx context.Context, args []string, output streams) int {
	if isController(args) {
		return process.Run(ctx, newOptions(), args, output.err)
	}
	command := commands[args[0]]
	if command == nil {
		fmt.Fprintf(output.err, "multicluster: unknown command %q; use setup-member, list-members, delete-member, list-orphans, delete-orphans, or flags only\n", args[0])
		return 2
	}
	task, err := command(args[1:], output)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := task(ctx); err != nil {
		fmt.Fprintf(output.err, "multicluster: %s\n", adapter.ErrorText(err)) // a member is not trusted
		return 1
	}
	return 0
}

type options struct {
	process.Options
	kedaNamespace string
	jobs, objects switched
	watchPods     bool

	failureBackoff bool
	timeout        time.Duration
	probe          time.Duration
	syncPeriod     time.Duration
	// clusterAuthentication allows ClusterTriggerAuthentications.
	clusterAuthentication bool
	taints                taint.Durations
}

func newOptions() *options {
	return &options{Options: process.Options{Name: name, Guide: guide, Install: []fs.FS{manifests.CRDs, kedametrics.Files}}}
}

// Flags adds the flags.
func (o *options) Flags(flags *flag.FlagSet) {
	o.Options.Flags(flags)
	flags.StringVar(&o.kedaNamespace, "keda-namespace", registry.Namespace, "`namespace` of the members' kubeconfigs")
	o.jobs.flag(flags, "dsj", "DSJ_ENABLED", "act on DistributedScaledJobs")
	o.objects.flag(flags, "dso", "DSO_ENABLED", "act on DistributedScaledObjects")
	flags.BoolVar(&o.failureBackoff, "failure-backoff", false, "create a single Job at a time, after growing delays, while every Job fails")
	flags.BoolVar(&o.watchPods, "watch-pods", true, "find pending Jobs by their pods; if false, by the Jobs' status, which needs no access to pods")
	flags.DurationVar(&o.timeout, "member-timeout", 5*time.Second, "`time` within which a member must answer a request")
	durations := taint.DefaultDurations()
	flags.DurationVar(&o.taints.Soft, "soft-taint", durations.Soft, "`time` for which the first failure of a member is remembered; at 0 it excludes the member")
	flags.DurationVar(&o.taints.Hard, "hard-taint", durations.Hard, "`time` for which a member that failed twice gets no Jobs")
	flags.DurationVar(&o.syncPeriod, "sync-period", 15*time.Second, "`time` between two looks at the replicas of a DistributedScaledObject on its members")
	flags.BoolVar(&o.clusterAuthentication, "allow-cluster-authentication", false, "let triggers use ClusterTriggerAuthentications, whose credentials KEDA gives to every namespace, towards any host")
	flags.DurationVar(&o.probe, "probe-interval", 10*time.Second, "`time` between two health checks of a member")
}

// nextSync returns the time of the poll after one that began then. It varies, so that objects do not stay in step.
func (o *options) nextSync(begin time.Time) time.Time {
	return begin.Add(wait.Jitter(o.syncPeriod, 0.1))
}

// A switched flag gets its default from an environment variable, and is off without it.
type switched struct {
	enabled bool
	invalid error
}

func (s *switched) flag(flags *flag.FlagSet, name, variable, usage string) {
	value := os.Getenv(variable)
	enabled, err := strconv.ParseBool(cmp.Or(value, "false"))
	if err != nil {
		s.invalid = &field.Error{Path: "$" + variable, Found: strconv.Quote(value), Fix: "true or false"}
	}
	flags.BoolVar(&s.enabled, name, enabled, usage+"; $"+variable)
}

// Check returns every problem of the flags, joined.
func (o *options) Check() error {
	var problems field.Errors
	problems.Join("", errors.Join(o.Options.Check(), o.jobs.invalid, o.objects.invalid))
	problems.Check(o.timeout > 0, "-member-timeout", o.timeout, "a time above 0")
	problems.Check(o.taints.Soft >= 0, "-soft-taint", o.taints.Soft, "a time of 0 or more")
	problems.Check(o.taints.Hard >= 0, "-hard-taint", o.taints.Hard, "a time of 0 or more")
	problems.Check(o.syncPeriod > 0, "-sync-period", o.syncPeriod, "a time above 0")
	problems.Check(o.probe > 0, "-probe-interval", o.probe, "a time above 0")
	return problems.Err()
}

// resources returns the resources to act on.
func (o *options) resources() (resources []schema.GroupVersionResource) {
	if o.jobs.enabled {
		resources = append(resources, api.Jobs)
	}
	if o.objects.enabled {
		resources = append(resources, api.Objects)
	}
	return resources
}

// Run returns nil when the context has ended and all polls have.
func (o *options) Run(ctx context.Context, log *slog.Logger) error {
	via, err := o.Clients(ctx, log, cluster.Limits{}, o.resources()...)
	if err != nil {
		return err
	}
	keda, err := kedametrics.Connect(via.Config, 0)
	if err != nil {
		return err
	}
	c, err := newController(ctx, o, clients{via, keda}, log)
	if err != nil {
		return err
	}
	stop, err := o.Serve(c.synced, process.Metrics(c), log)
	if err != nil {
		return err
	}
	defer stop()
	if len(c.kinds) == 0 { // the default of the manifests
		log.Warn("nothing to act on: set DSJ_ENABLED=true for DistributedScaledJobs, DSO_ENABLED=true for DistributedScaledObjects, or both")
		<-ctx.Done()
		return nil
	}
	return c.run(ctx)
}
