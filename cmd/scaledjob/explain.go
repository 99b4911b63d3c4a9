package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/explain"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scheduled"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
)

type explainCommand struct {
	input.ManifestFlags
	input.QueueFlags
	input.JobFlags
	cluster.ClusterFlags
	releases   input.Releases
	dumps      []string
	generation int64
	past       string
	log        *why.Log // the operator's, once it is read
	output     input.Choice
}

func newExplain() *cobra.Command {
	e := &explainCommand{}
	c := &cobra.Command{
		Use:   "explain FILE... --queue 12 | explain NAME",
		Short: "Explain one poll of a ScaledJob: the Jobs created and deleted, and why",
		Long: `How many Jobs does one poll create, which does it delete, and why? Nothing is changed.

Queue length and Jobs come from flags or a dump (--jobs). For a NAME they come from the cluster: the
queue length from the operator's metrics, --prometheus or its debug log, the release from its image.
scheduledjob/NAME explains a schedule. In the steps: T Jobs for the queue, at most M; R running,
P pending, S stuck.`,
		Example: `  $ scaledjob explain orders.yaml --queue 47 --running 4 --pending 1
  orders: KEDA 2.21.0 creates 2 Jobs: queue length 47 / 5 per Job = 10 Jobs, …

  scaledjob explain orders.yaml --queue rabbitmq=12,redis=unread --release 2.18,2.21,spec
  kubectl get jobs,pods -o json | scaledjob explain orders.yaml --jobs - --queue 12
  scaledjob explain orders -n mail --context prod`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), c.CommandPath())
		},
	}
	e.ManifestFlags.Add(c)
	e.QueueFlags.Add(c)
	e.JobFlags.Add(c)
	c.Flags().StringArrayVar(&e.dumps, "jobs", nil, "`file` from kubectl get jobs,pods -o json; - is standard input")
	c.Flags().StringVar(&e.past, "prometheus", "", "Prometheus `URL`, if the operator's metrics cannot be read")
	c.Flags().Int64Var(&e.generation, "generation", 0, "the ScaledJob's metadata.`generation`, if the manifest has none")
	e.ClusterFlags.Add(c)
	e.Completes(c)
	e.releases.AddSeveral(c, "release", "rules of this")
	e.output.AddOutput(c, "text", "json", "name")
	c.Flag("output").Usage = "`format`: text, json, name of Jobs to delete"
	return c
}

func (e *explainCommand) run(ctx context.Context, args []string, stdin io.Reader, out, notes io.Writer, command string) error {
	if err := e.check(args); err != nil {
		return err
	}
	var standard []byte // the standard input, which is read once
	sources := slices.Concat(args, e.Files)
	if slices.Contains(sources, "-") {
		standard, _ = io.ReadAll(io.LimitReader(stdin, input.MaxManifest+1)) // an error is that of reading the rest
		stdin = io.MultiReader(bytes.NewReader(standard), stdin)
	}
	names, files := e.Split(args)
	files, err := e.scheduled(ctx, append(files, e.Files...), standard, out)
	e.Files = nil
	switch {
	case err != nil || (len(sources) > 0 && len(names)+len(files) == 0):
		return err
	case len(files) > 0 && e.ClusterFlags.Chosen():
		return input.Usagef("%q: a file; leave out --namespace, --context and --kubeconfig, which are for names of ScaledJobs in a cluster", files[0])
	case len(files) > 0:
		e.Repository, _ = input.NewRepository(nil) // without a pattern that could be wrong
		defer e.Repository.Summary(notes, command)
	}
	found, problems := e.found(ctx, names, files, stdin)
	var manifests []*input.ScaledJob
	for _, f := range found {
		manifests = append(manifests, f.ScaledJob)
	}
	if err := e.CheckTargets(manifests); err != nil {
		return errors.Join(problems, err)
	}
	lengths := e.operator(ctx, names, manifests, notes)
	var polls []*explain.Poll
	texts := explain.NewFiles(e.Texts)
	for _, f := range found {
		queue := e.QueueFlags
		queue.Queue = cmp.Or(queue.Queue, lengths[f.ScaledJob])
		for _, r := range e.releases.List {
			p, err := explain.Decide(f, r, &queue, e.JobFlags.Jobs(), texts)
			if problems = errors.Join(problems, f.Titled(err)); err == nil {
				polls = append(polls, p)
			}
		}
	}
	for i, p := range polls {
		if err := p.Print(out, e.output.Text, i > 0); err != nil {
			return err
		}
		if e.output.Text != "json" {
			for _, n := range p.Notes {
				fmt.Fprintf(notes, "note: %s\n", report.Clean(n))
			}
		}
	}
	return problems
}

// operator reads the release and the queue lengths from KEDA's operator, as far as flags do not give
// them, and notes what it cannot read. It returns the lengths of the ScaledJobs with these names.
func (e *explainCommand) operator(ctx context.Context, names []string, manifests []*input.ScaledJob, notes io.Writer) map[*input.ScaledJob]string {
	if len(names) == 0 || len(manifests) == 0 || (e.Queue != "" && e.releases.Changed()) {
		return nil
	}
	client, err := e.ClusterFlags.Client()
	if err != nil {
		return nil // found has reported it
	}
	var flags []string
	if !e.releases.Changed() {
		flags = append(flags, "--release")
	}
	if e.Queue == "" {
		flags = append(flags, "--queue")
	}
	operator := cluster.FindOperator(ctx, client, flags...)
	if r, err := input.ParseRelease(operator.Release); err == nil && !e.releases.Changed() {
		e.releases.List = []input.Release{r}
	}
	lengths := map[*input.ScaledJob]string{}
	for _, m := range manifests {
		triggers, err := m.Spec.Triggers(nil)
		if err != nil || !slices.Contains(names, m.Spec.Name) || m.Spec.Namespace != client.Namespace {
			continue
		}
		if e.Queue != "" {
			continue
		}
		if values, origin := e.values(ctx, client, &operator, m.Spec.Name, len(triggers)); values != nil {
			var texts []string
			for _, v := range values {
				texts = append(texts, strconv.FormatFloat(v.Value, 'f', -1, 64))
			}
			lengths[m] = strings.Join(texts, ",")
			fmt.Fprintf(notes, "note: queue length %s of %s\n", lengths[m], origin)
		}
	}
	for _, n := range operator.Missing {
		fmt.Fprintf(notes, "note: not read: %s\n", report.Clean(n))
	}
	return lengths
}

// recent is the age of a value that counts as that of now.
const recent = 10 * time.Minute

// values returns the last values of the triggers and where they are of: the operator's metrics, Prometheus
// or the operator's log.
func (e *explainCommand) values(ctx context.Context, client *cluster.Client, operator *cluster.Operator, name string, triggers int) (values []why.Trigger, origin string) {
	var metrics why.Metrics
	for _, text := range operator.Metrics {
		metrics = append(metrics, why.ReadMetrics(text, time.Now())...)
	}
	if values, complete := metrics.ForScaledJob(client.Namespace, name).Values(triggers, time.Time{}, time.Now()); complete {
		return values, "the operator's metrics"
	}
	if e.past != "" {
		past, err := prometheus(ctx, e.past, client.Namespace, name, recent, &why.Log{}, time.Time{})
		if err != nil {
			operator.Missing = append(operator.Missing, "Prometheus: "+redact.Text(err.Error()))
		}
		if values, complete := past.ForScaledJob(client.Namespace, name).Values(triggers, time.Time{}, time.Now()); complete {
			return values, "Prometheus"
		}
	}
	operator.ReadLogs(ctx, client, recent)
	if e.log == nil {
		e.log = why.Read(operator.Logs...)
	}
	return e.log.Values(client.Namespace, name, triggers), "the operator's log"
}

// scheduled explains the ScheduledJobs among the arguments: scheduledjob/NAME in the cluster,
// and files that have no ScaledJob. It returns the other arguments.
func (e *explainCommand) scheduled(ctx context.Context, args []string, standard []byte, out io.Writer) (others []string, problems error) {
	for _, a := range args {
		var found []*scheduledjob.ScheduledJob
		var err error
		if name, ok := strings.CutPrefix(a, "scheduledjob/"); ok {
			var client *cluster.Client
			if client, err = e.ClusterFlags.Client(); err == nil {
				var s *scheduledjob.ScheduledJob
				if s, err = scheduled.Read(ctx, client, name); err == nil {
					found = append(found, s)
				}
			}
		} else if s, unread := input.ReadSource(a, bytes.NewReader(standard), input.MaxManifest); unread != nil || s.HasScaledJob() {
			others = append(others, a)
			continue
		} else if found, err = scheduled.In(s); err == nil && found == nil {
			others = append(others, a)
		}
		for _, s := range found {
			err = errors.Join(err, scheduled.Explain(out, s, time.Now()))
		}
		problems = errors.Join(problems, err)
	}
	return others, problems
}

// check returns contradictions between flags.
func (e *explainCommand) check(args []string) error {
	stdin := 0
	for _, name := range slices.Concat(e.Files, args, e.dumps) {
		if name == "-" {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return input.Usagef("standard input is used %d times; use it once, and files such as --jobs jobs.json", stdin)
	case len(e.dumps) > 0 && e.JobFlags.Set():
		return input.Usagef("both --jobs and counts of Jobs; use one of them")
	case e.generation < 0:
		return input.Usagef("--generation %d: use 1 or more", e.generation)
	}
	return e.JobFlags.Check(e.releases.List)
}

func (e *explainCommand) found(ctx context.Context, names, files []string, stdin io.Reader) (subjects []cluster.Subject, problems error) {
	if len(names) > 0 {
		if len(e.dumps) > 0 || e.JobFlags.Set() {
			return nil, input.Usagef("%s is read from the cluster; use a file with --jobs and counts of Jobs", names[0])
		}
		if client, err := e.ClusterFlags.Client(); err != nil {
			problems = fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
		} else {
			subjects, problems = client.Subjects(ctx, names)
		}
	}
	if len(files) > 0 || len(names) == 0 {
		manifests, err := e.ManifestFlags.Read(files, stdin)
		problems = errors.Join(problems, err)
		var d *cluster.Dump
		if len(e.dumps) > 0 {
			if d, err = cluster.Read(e.dumps, stdin, manifests...); err != nil {
				return nil, errors.Join(problems, err)
			}
		}
		for _, m := range manifests {
			subjects = append(subjects, cluster.Subject{ScaledJob: m, Dump: d})
		}
	}
	if e.generation != 0 {
		for _, s := range subjects {
			s.Spec.Generation, s.KEDA.Generation = e.generation, e.generation
		}
	}
	return subjects, problems
}
