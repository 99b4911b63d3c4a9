package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

type explain struct {
	manifestFlags
	queueFlags
	jobFlags
	clusterFlags
	releases   releases
	dumps      []string
	generation int64
	output     choice
}

func newExplain() *cobra.Command {
	e := &explain{}
	c := &cobra.Command{
		Use:   "explain FILE... --queue 12",
		Short: "Explain one poll of a ScaledJob: the Jobs created and deleted, and why",
		Long: `Explain one poll of a ScaledJob: how many Jobs it creates, with each step, which finished Jobs the
history limits delete, and which outdated Jobs a rollout deletes. Nothing is changed.

T is the number of Jobs that serve the queue, R the running Jobs, P the pending and S the stuck
ones among them, and M the most Jobs that the queue may have.

The Jobs are counts (--running 3), a dump of a cluster (--jobs), or those of a cluster. A word
without a slash or an extension is the name of a ScaledJob in the cluster, unless it is a file.
The ScaledJob, its Jobs and their pods are then read through the kubeconfig. KEDA counts the Jobs
of the namespace that have the ScaledJob's name in its label; the specification those that the
ScaledJob owns.`,
		Example: `  # 12 items wait; 3 Jobs run, one of them is pending
  scaledjob explain orders.yaml --queue 12 --running 3 --pending 1

  # two releases, and the written specification
  scaledjob explain orders.yaml --queue 12 --release 2.18,2.21,spec

  # two triggers, one of which cannot be read
  scaledjob explain orders.yaml --queue rabbitmq=12,redis=unread

  # a new manifest with the Jobs of the cluster
  kubectl get jobs,pods -o json | scaledjob explain orders.yaml --jobs - --generation 7 --queue 12

  # everything from the cluster, read-only; also as kubectl scaledjob explain …
  scaledjob explain orders -n mail --context prod --queue 120`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	e.manifestFlags.add(c)
	e.queueFlags.add(c)
	e.jobFlags.add(c)
	c.Flags().StringArrayVar(&e.dumps, "jobs", nil, "`file` with Jobs and pods, as kubectl get jobs,pods -o json prints them; - is standard input; may be repeated")
	c.Flags().Int64Var(&e.generation, "generation", 0, "the ScaledJob's metadata.`generation`, if the manifest has none")
	e.clusterFlags.add(c)
	e.completes(c)
	e.releases.addSeveral(c, "release", "rules of this")
	e.output.addOutput(c, "text", "json", "name")
	c.Flag("output").Usage += "; name prints the Jobs to delete"
	return c
}

func (e *explain) run(ctx context.Context, args []string, stdin io.Reader, out, notes io.Writer) error {
	if err := e.check(args); err != nil {
		return err
	}
	others, err := e.scheduled(ctx, args, out)
	if err != nil || len(args) > 0 && len(others) == 0 && len(e.files) == 0 {
		return err
	}
	args = others
	names, files := e.split(args)
	if files := append(files, e.files...); len(files) > 0 && e.clusterFlags.given() {
		return usagef("%q: a file; leave out --namespace, --context and --kubeconfig, which are for names of ScaledJobs in a cluster", files[0])
	}
	found, problems := e.found(ctx, names, files, stdin)
	var manifests []*scaledJob
	for _, f := range found {
		manifests = append(manifests, f.scaledJob)
	}
	if err := e.checkTargets(manifests); err != nil {
		return errors.Join(problems, err)
	}
	var polls []*poll
	for _, f := range found {
		for _, r := range e.releases.all {
			p, err := e.poll(f, r)
			if problems = errors.Join(problems, f.where(err)); err == nil {
				polls = append(polls, p)
			}
		}
	}
	for i, p := range polls {
		if err := p.print(out, e.output.text, i > 0); err != nil {
			return err
		}
		if e.output.text != "json" {
			for _, n := range p.Notes {
				fmt.Fprintf(notes, "note: %s\n", report.Clean(n))
			}
		}
	}
	return problems
}

// scheduled explains the ScheduledJobs among the arguments: scheduledjob/NAME in the cluster,
// and files that have no ScaledJob. It returns the other arguments.
func (e *explain) scheduled(ctx context.Context, args []string, out io.Writer) (others []string, problems error) {
	for _, a := range args {
		var found []*scheduledjob.ScheduledJob
		var err error
		if name, ok := strings.CutPrefix(a, "scheduledjob/"); ok {
			var client *client
			if client, err = e.clusterFlags.client(); err == nil {
				var s *scheduledjob.ScheduledJob
				if s, err = client.scheduledJob(ctx, name); err == nil {
					found = append(found, s)
				}
			}
		} else if s, unread := readSource(a, nil, maxFile); unread != nil || s.hasScaledJob() {
			others = append(others, a)
			continue
		} else if found, err = s.scheduledJobs(); err == nil && found == nil {
			others = append(others, a)
		}
		for _, s := range found {
			err = errors.Join(err, explainScheduled(out, s, time.Now()))
		}
		problems = errors.Join(problems, err)
	}
	return others, problems
}

// check returns contradictions between flags.
func (e *explain) check(args []string) error {
	stdin := 0
	for _, name := range slices.Concat(e.files, args, e.dumps) {
		if name == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return usagef("standard input is used %d times; use it once, and files such as --jobs jobs.json", stdin)
	case len(e.dumps) > 0 && e.jobFlags.given():
		return usagef("both --jobs and counts of Jobs; use one of them")
	case e.generation < 0:
		return usagef("--generation %d: use 1 or more", e.generation)
	}
	return e.jobFlags.check(e.releases.all)
}

// A subject is a ScaledJob and the Jobs beside it.
type subject struct {
	*scaledJob
	dump *dump // nil if only counts are given
}

// found returns the ScaledJobs of the files and of the cluster.
func (e *explain) found(ctx context.Context, names, files []string, stdin io.Reader) (all []subject, problems error) {
	if len(names) > 0 {
		if len(e.dumps) > 0 || e.jobFlags.given() {
			return nil, usagef("%s is read from the cluster; use a file with --jobs and counts of Jobs", names[0])
		}
		if client, err := e.clusterFlags.client(); err != nil {
			problems = fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
		} else {
			all, problems = client.subjects(ctx, names)
		}
	}
	if len(files)+len(e.files) > 0 || len(names) == 0 {
		manifests, err := e.manifestFlags.read(files, stdin)
		problems = errors.Join(problems, err)
		var d *dump
		if len(e.dumps) > 0 {
			if d, err = readDump(e.dumps, stdin); err != nil {
				return nil, errors.Join(problems, err)
			}
		}
		for _, m := range manifests {
			all = append(all, subject{m, d})
		}
	}
	if e.generation != 0 {
		for _, s := range all {
			s.spec.Generation, s.keda.Generation = e.generation, e.generation
		}
	}
	return all, problems
}

func (e *explain) poll(f subject, r release) (*poll, error) {
	if e.queue == "" && f.dump == nil {
		return nil, usagef("no queue length; use --queue 12")
	}
	s := &situation{counts: e.jobFlags.jobs(), dump: f.dump}
	var err error
	if e.queue == "" { // targets do not matter
		s.targets = map[string]float64{}
		for _, t := range f.spec.Spec.Triggers {
			s.targets[t.Type] = 1
		}
		return r.poll(f.scaledJob, s)
	}
	if s.triggers, s.targets, err = e.triggers(f.scaledJob); err != nil {
		return nil, err
	}
	if s.lengths, err = e.lengths(s.triggers); err != nil {
		return nil, err
	}
	return r.poll(f.scaledJob, s)
}

func (p *poll) print(out io.Writer, format string, again bool) error {
	switch format {
	case "json":
		return json.NewEncoder(out).Encode(p)
	case "name":
		for _, name := range p.deleted() {
			fmt.Fprintf(out, "job.batch/%s\n", report.Clean(name))
		}
		return nil
	}
	if again {
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%s: one poll of %s\n", titled(p.Name), p.Release)
	if err := p.Rollout.print(out, "rollout"); err != nil {
		return err
	}
	if p.Create != nil {
		fmt.Fprintln(out, p.Create.trace)
	} else {
		fmt.Fprintln(out, "create    not known: no queue length; use --queue 12")
	}
	return p.Prune.print(out, "prune")
}

// deleted returns the names of the deleted Jobs. A finished Job may be outdated as well.
func (p *poll) deleted() (names []string) {
	for _, r := range []*removal{p.Rollout, p.Prune} {
		if r == nil {
			continue
		}
		for _, d := range r.Jobs {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

func (r *removal) print(out io.Writer, part string) error {
	if r == nil {
		return nil
	}
	if len(r.Jobs) == 0 {
		fmt.Fprintf(out, "%-9s 0 Jobs: %s\n", part, strings.TrimSuffix(r.Nothing, "."))
		return nil
	}
	fmt.Fprintf(out, "%-9s %s deleted, in this order:\n", part, report.Plural(len(r.Jobs), "Job"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range r.Jobs {
		fmt.Fprintf(w, "            %s\t%s\t%s\n", report.Clean(d.Name), d.Why, report.Clean(d.Detail))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Rule != "" {
		fmt.Fprintf(out, "          rule: %s\n", r.Rule)
	}
	if r.Panic {
		fmt.Fprintf(out, "          and then %s\n", report.Clean(r.Fault))
	}
	return nil
}
