// Quickstart runs a queue against a ScaledJob on a simulated cluster in the program. For each
// poll it prints the observation, the decision with its reason, and the changes.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -f scaledjob.yaml -queue 0,3,6,3
//
// Pods are pending at the first poll after their Job was created, run at the next two, and
// succeed; the time between polls is skipped. Own-controller is the same on a real cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

func main() {
	file := flag.String("f", "testdata/manifests/rabbitmq.yaml", "`file` with a ScaledJob with one trigger")
	queue := flag.String("queue", "0,3,30,120,120,60,10,0,0", "queue `lengths`, one for each poll")
	flag.Parse()
	if err := run(context.Background(), *file, *queue, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run reads everything before it polls.
func run(ctx context.Context, file, queue string, out io.Writer) error {
	config, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	lengths, err := parse(queue)
	if err != nil {
		return err
	}
	for _, w := range config.Warnings {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	cluster, target, created, pruned, peak := newCluster(), config.Target, int64(0), 0, int64(0)
	for i, n := range lengths {
		jobs, err := adapter.List(ctx, cluster.client, target, adapter.Options{Pods: true})
		if err != nil {
			return err
		}
		observed, _ := jobs.Jobs(target.Owner.UID)
		fmt.Fprintf(out, "\npoll %d: %g items; %s\n", i+1, n, count(observed))
		plan := jobs.Plan(target.Owner.UID, []scaling.Metric{config.Triggers[0].Metric(n)}, cluster.now)
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(plan.Decision.String(), "\n", "\n  "))
		result, err := jobs.Apply(ctx, cluster.client, plan)
		if err != nil {
			return err
		}
		if result.Created > 0 {
			fmt.Fprintf(out, "  created   %d\n", result.Created)
		}
		if result.Pruned > 0 {
			fmt.Fprintf(out, "  pruned    %d, such as %s\n", result.Pruned, plan.Delete[0].Name)
		}
		running := plan.Decision.Trace.Jobs
		created, pruned = created+result.Created, pruned+result.Pruned
		peak = max(peak, running.Running+running.Terminating+plan.Decision.Create)
		if err := cluster.advance(ctx, config.PollingInterval); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d polls: %d Jobs created, %d pruned; at most %d unfinished, of %d allowed\n",
		len(lengths), created, pruned, peak, target.Policy.Bounds.Max)
	return nil
}

func read(file string) (c scaledjob.Config, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	found, err := manifest.Read(data)
	if err == nil && len(found) > 1 {
		err = fmt.Errorf("found %d ScaledJobs; use one", len(found))
	}
	if err != nil {
		return c, err
	}
	s := found[0]
	s.UID, s.Generation = "00000000-0000-4000-8000-000000000000", 1 // the API server sets them
	if c, err = scaledjob.Configure(s, nil); err == nil && len(c.Triggers) > 1 {
		err = fmt.Errorf("found %d triggers; use one", len(c.Triggers))
	}
	c.Target.StuckAfter = time.Minute
	return c, err
}

func parse(queue string) (lengths []float64, err error) {
	for text := range strings.SplitSeq(queue, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(n >= 0) {
			return nil, fmt.Errorf("queue: found %q; use a number of 0 or more", text)
		}
		lengths = append(lengths, n)
	}
	return lengths, nil
}

func count(jobs []adapter.Job) string {
	n := map[adapter.Phase]int{}
	for _, j := range jobs {
		n[j.Phase]++
	}
	return fmt.Sprintf("Jobs: %d running, %d pending, %d succeeded", n[adapter.Running], n[adapter.Pending], n[adapter.Succeeded])
}
