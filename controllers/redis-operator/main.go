// Redis-operator creates Jobs while items wait in Redis lists, as the ScaledJobs of the
// group batch.miracle.dev describe. It is an operator made with controller-runtime that
// decides with scaledjob. Start in internal/controller.
//
//	make cluster                               # in another terminal, if you have no cluster
//	export KUBECONFIG=$PWD/kubeconfig
//	kubectl apply -k controllers/redis-operator/config/crd
//	go run ./controllers/redis-operator
package main

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0 object crd:generateEmbeddedObjectMeta=true rbac:roleName=redis-operator paths=./api/...;./internal/...;. output:crd:dir=config/crd output:rbac:dir=config/cluster
//go:generate go run ./internal/shorten config/crd/batch.miracle.dev_scaledjobs.yaml

import (
	"flag"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/field"
)

// name is the name of the operator in events, requests and its lease.
const name = "redis-operator"

func main() { process.Main(newOptions(), setLog) }

// setLog sets the logs of client-go and controller-runtime.
func setLog(log *slog.Logger) {
	klog.SetSlogLogger(log)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
}

type options struct {
	process.Options
	poll, retry, redisTimeout time.Duration
}

func newOptions() *options { return &options{Options: process.Options{Name: name}} }

// Flags adds the flags.
func (o *options) Flags(flags *flag.FlagSet) {
	o.Options.Flags(flags)
	flags.DurationVar(&o.poll, "poll", 30*time.Second, "`time` between two reads of a queue")
	flags.DurationVar(&o.retry, "retry", 10*time.Second, "the same `time` after a failure; less after the first creates that fail")
	flags.DurationVar(&o.redisTimeout, "redis-timeout", 3*time.Second, "`time` within which a Redis must answer")
}

// Check returns every problem of the flags, joined.
func (o *options) Check() error {
	var problems field.Errors
	problems.Join("", o.Options.Check())
	problems.Check(o.poll > 0, "-poll", o.poll, "a time above 0")
	problems.Check(o.retry > 0, "-retry", o.retry, "a time above 0")
	problems.Check(o.redisTimeout > 0, "-redis-timeout", o.redisTimeout, "a time above 0")
	return problems.Err()
}
