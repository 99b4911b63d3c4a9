// Scheduled is a controller for ScheduledJobs: jobs that run on a schedule, on demand, or
// after runs of other jobs. Package schedule decides which runs start, and
// adapter/scheduledjob turns runs into Jobs. This program watches, stores and acts.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	go run ./controllers/scheduled -install
package main

import (
	"context"
	"embed"
	"flag"
	"io/fs"
	"log/slog"
	"time"
	_ "time/tzdata" // the image has no time zones

	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/field"
)

// name is the name of the controller in events, requests and its lease.
const name = "scheduledjob-controller"

var (
	scheduledJobs = scheduledjob.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = scheduledjob.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

//go:embed manifests/crds/scheduledjobs.yaml manifests/crds/runrequests.yaml
var crds embed.FS

func main() { process.Main(newOptions(), klog.SetSlogLogger) }

type options struct {
	process.Options
	resync, requestTTL, requestTimeout time.Duration
}

func newOptions() *options {
	return &options{Options: process.Options{Name: name, Guide: cluster.Guide("./controllers/scheduled"), Install: []fs.FS{crds}}}
}

// Flags adds the flags.
func (o *options) Flags(flags *flag.FlagSet) {
	o.Options.Flags(flags)
	flags.DurationVar(&o.resync, "resync", 5*time.Second, "`time` after which a ScheduledJob is reconciled without a change")
	flags.DurationVar(&o.requestTTL, "request-ttl", 10*time.Minute, "`time` for which a RunRequest exists after its run has completed, also if history keeps no run")
	flags.DurationVar(&o.requestTimeout, "request-timeout", adapter.DefaultTimeout, "`time` within which the API server must answer; Jobs are first deleted after twice that")
}

// Check returns every problem of the flags, joined.
func (o *options) Check() error {
	var problems field.Errors
	problems.Join("", o.Options.Check())
	problems.Check(o.resync > 0, "-resync", o.resync, "a time above 0")
	problems.Check(o.requestTTL >= 0, "-request-ttl", o.requestTTL, "0s or more")
	problems.Check(o.requestTimeout >= time.Second, "-request-timeout", o.requestTimeout, "1s or more")
	return problems.Err()
}

// Run returns nil when the context has ended and all work is done.
func (o *options) Run(ctx context.Context, log *slog.Logger) error {
	clients, err := o.Clients(ctx, log, cluster.Limits{Timeout: o.requestTimeout}, scheduledJobs, runRequests)
	if err != nil {
		return err
	}
	c := newController(o, clients, log)
	stop, err := o.Serve(c.hasSynced, c.metrics(), log)
	if err != nil {
		return err
	}
	defer stop()
	return c.run(ctx)
}
