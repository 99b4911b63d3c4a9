// Quickstart runs a queue against a ScaledJob. For each poll it prints the observation, the
// decision with its reason, and the changes.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -f scaledjob.yaml -queue 0,3,6,3
//	go run ./examples/quickstart -f scaledjob.yaml -queue queue.csv -kubeconfig ~/.kube/config -namespace test
//
// Without -kubeconfig the Jobs run on a simulated cluster in the program. Pods are pending
// at the first poll after their Job was created, run at the next two, and succeed; the time
// between polls is skipped. With -kubeconfig the Jobs run on a real cluster in real time.
// Their owner is then a ConfigMap and not the ScaledJob, so that KEDA need not be installed
// and does not act. Delete the ConfigMap to delete the Jobs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := o.play(ctx, stdout); err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	return 0
}

type options struct {
	manifest, queue, target, kubeconfig, namespace string
	poll                                           time.Duration
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.manifest, "f", "testdata/manifests/rabbitmq.yaml", "`file` with a ScaledJob")
	flags.StringVar(&o.queue, "queue", "0,3,30,120,120,60,10,0,0", "queue length at each poll, or a CSV `file` of times and queue lengths:\n"+
		"the header is time and the name (or type) of each trigger; times are seconds or durations such as 1m30s")
	flags.StringVar(&o.target, "target", "", "items that one Job serves, where the manifest cannot tell: a `number`, or trigger=number,…")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of a cluster to really create Jobs on")
	flags.StringVar(&o.namespace, "namespace", "", "namespace of the Jobs, instead of the manifest's")
	flags.DurationVar(&o.poll, "poll", 0, "time between polls, instead of the manifest's pollingInterval")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "quickstart: unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return o, errors.New("usage")
	}
	return o, nil
}

// play reads everything before it does anything.
func (o options) play(ctx context.Context, out io.Writer) error {
	s, err := o.scaledJob()
	if err != nil {
		return err
	}
	targets, err := o.targets(s)
	if err != nil {
		return err
	}
	config, err := scaledjob.Configure(s, targets)
	if err != nil {
		return fmt.Errorf("%s:\n%w", o.manifest, err)
	}
	config.Target.StuckAfter = time.Minute
	if o.poll < 0 {
		return fmt.Errorf("-poll %s: want a time that is not negative", o.poll)
	}
	if o.poll > 0 {
		config.PollingInterval = o.poll
	}
	queue, err := readQueue(o.queue, config)
	if err != nil {
		return fmt.Errorf("-queue %w", err)
	}
	p := player{out: out, s: s, config: config, queue: queue}
	if o.kubeconfig == "" {
		local := newCluster(time.Now())
		p.client, p.now, p.wait = local.client, local.time, local.advance
		return p.play(ctx)
	}
	rest, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	rest.QPS, rest.Burst, rest.Timeout = 100, 200, adapter.DefaultTimeout
	if p.client, err = kubernetes.NewForConfig(rest); err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	p.now, p.wait = time.Now, sleep
	return p.play(ctx)
}

func (o options) scaledJob() (*manifest.ScaledJob, error) {
	data, err := os.ReadFile(o.manifest)
	if err != nil {
		return nil, err
	}
	found, err := manifest.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", o.manifest, err)
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s: %d ScaledJobs: want one", o.manifest, len(found))
	}
	s := found[0]
	if o.namespace != "" {
		s.Namespace = o.namespace
	}
	if s.Namespace == "" {
		s.Namespace = "default"
	}
	return s, nil
}

// targets takes a plain number for the triggers of unknown types.
func (o options) targets(s *manifest.ScaledJob) (map[string]float64, error) {
	targets := map[string]float64{}
	if o.target == "" {
		return targets, nil
	}
	for part := range strings.SplitSeq(o.target, ",") {
		name, number, named := strings.Cut(part, "=")
		if !named {
			number = name
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			return nil, fmt.Errorf("-target %q: want a number such as 5, or trigger=5", part)
		}
		if named {
			targets[strings.TrimSpace(name)] = n
			continue
		}
		for _, t := range s.Spec.Triggers {
			if !slices.Contains(manifest.TriggerTypes(), t.Type) {
				targets[t.Type] = n
			}
		}
	}
	return targets, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
