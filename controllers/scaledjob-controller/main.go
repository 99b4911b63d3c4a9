// Controller creates Jobs for queued work as the ScaledJobs of a cluster describe,
// deletes finished Jobs, and rolls out changes. It acts in place of KEDA's operator for
// ScaledJobs. KEDA reads the queues, scaledjob decides, and its adapter acts.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	go run ./controllers/scaledjob-controller -install
package main

import (
	"context"
	"embed"
	"flag"
	"io/fs"
	"log/slog"
	"time"

	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/field"
)

// name is the name of the controller in events, requests and leases.
const name = "scaledjob-controller"

var scaledJobs = manifest.GroupVersionKind.GroupVersion().WithResource("scaledjobs")

//go:embed manifests/crds/scaledjobs.yaml manifests/cluster/flowschema.yaml
var installed embed.FS

func main() { process.Main(newOptions(), klog.SetSlogLogger) }

type options struct {
	process.Options
	transition
	requestTimeout time.Duration
	maxRequests    int
	watchPods      bool
	aggregate      bool
}

func newOptions() *options {
	return &options{Options: process.Options{Name: name, Guide: cluster.Guide("./controllers/scaledjob-controller"), Install: []fs.FS{installed, kedametrics.Files}}}
}

// Flags adds the flags.
func (o *options) Flags(flags *flag.FlagSet) {
	o.Options.Flags(flags)
	o.transition.flags(flags)
	flags.BoolVar(&o.watchPods, "watch-pods", true, "find pending Jobs by their pods; if false, by the Jobs' status, which needs no access to pods")
	flags.BoolVar(&o.aggregate, "aggregate-metrics", false, "serve the sums of all ScaledJobs, and of each ScaledJob only its faults; for thousands of ScaledJobs")
	flags.DurationVar(&o.requestTimeout, "request-timeout", adapter.DefaultTimeout, "`time` within which the API server must answer; finished Jobs are first deleted after twice that")
	flags.IntVar(&o.maxRequests, "max-requests", 128, "greatest `number` of requests to the API server at once, except watches, the lease and requests that have hung for 2s")
}

// Check returns every problem of the flags, joined.
func (o *options) Check() error {
	var problems field.Errors
	problems.Join("", o.Options.Check())
	o.transition.check(&problems)
	problems.Check(o.requestTimeout >= time.Second, "-request-timeout", o.requestTimeout, "1s or more")
	problems.AtLeast("-max-requests", int64(o.maxRequests), 1)
	return problems.Err()
}

// Run returns nil when the context has ended and all work is done.
func (o *options) Run(ctx context.Context, log *slog.Logger) error {
	via, err := o.Clients(ctx, log, cluster.Limits{Timeout: o.requestTimeout, InFlight: o.maxRequests}, scaledJobs)
	if err != nil {
		return err
	}
	keda, err := kedametrics.Connect(via.Config, 0)
	if err != nil {
		return err
	}
	c, err := newController(o, clients{via, keda}, log)
	if err != nil {
		return err
	}
	stop, err := o.Serve(c.watched.HasSynced, c.metrics(), log)
	if err != nil {
		return err
	}
	defer stop()
	return c.run(ctx)
}
