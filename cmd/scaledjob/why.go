package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/redact"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
)

type whyCommand struct {
	input.ManifestFlags
	cluster.ClusterFlags
	logs    []string
	ranked  bool
	name    string
	release string
	moment  string
	span    time.Duration
	past    string
	output  input.Choice
}

func newWhy() *cobra.Command {
	w := &whyCommand{}
	c := &cobra.Command{
		Use:   "why NAME | --log operator.log [FILE...]",
		Short: "Explain why KEDA created Jobs, or did not, from its operator's log or the cluster",
		Long: `Why did KEDA create Jobs for a ScaledJob, or why not?

A NAME is a ScaledJob in the cluster. why reads its conditions, events, Jobs and pods, and the release,
metrics and log of KEDA's operator, but never a Secret. It says what it may not read.

--log reads a log of KEDA 2.14 or later, pasted in any form, and a FILE is a manifest of its ScaledJobs.
At KEDA's default level a log has R, P and the created Jobs, but no queue length. Credentials in errors
are not printed.`,
		Example: `  $ scaledjob why --log paste.txt orders.yaml
  why       No Job was created since 20:14:45 (4 polls) because the strategy accurate subtracts the …

  scaledjob why orders -n shop
  kubectl logs -n keda deploy/keda-operator --since=1h | scaledjob why --log - orders.yaml
  scaledjob why --all -n shop    # all ScaledJobs; the exit status is 1 if one has a problem`,
		RunE: func(c *cobra.Command, args []string) error {
			return w.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	w.ManifestFlags.AddFiles(c)
	c.Flags().StringArrayVar(&w.logs, "log", nil, "operator's log `file`; - is standard input; may be repeated")
	c.Flags().StringVar(&w.name, "name", "", "`name` of the only ScaledJob to explain")
	c.Flags().BoolVar(&w.ranked, "all", false, "one line for each ScaledJob, those with problems first")
	c.Flags().StringVar(&w.past, "prometheus", "", "Prometheus `URL` for past queue lengths, such as http://localhost:9090")
	c.Flags().StringVar(&w.moment, "at", "", "`time` to explain, such as 2026-01-02T15:04:05Z (default the log's end)")
	c.Flags().DurationVar(&w.span, "since", time.Hour, "how much of the log and of Prometheus to read")
	c.Flags().StringVar(&w.release, "release", "", "the operator's `release`, such as 2.17, instead of the log's")
	w.ClusterFlags.Add(c)
	w.Completes(c)
	w.output.AddOutput(c, "text", "json")
	return c
}

func (w *whyCommand) run(ctx context.Context, args []string, stdin io.Reader, out io.Writer) error {
	q, err := w.question()
	if err != nil {
		return err
	}
	if len(w.logs) == 0 {
		names, files := w.Split(args)
		switch {
		case len(files)+len(w.Files) > 0:
			return input.Usagef("no log; use --log operator.log, or the name of a ScaledJob in the cluster")
		case len(names) == 0 && !w.ranked:
			return input.Usagef("no ScaledJob; use its name, --all, or --log operator.log")
		}
		return w.live(ctx, names, q, out)
	}
	if len(args)+len(w.Files) > 0 {
		found, err := w.Read(args, stdin)
		if err != nil {
			return err
		}
		for _, m := range found {
			q.Manifests = append(q.Manifests, m.Spec)
		}
	}
	l, err := w.read(&q, stdin)
	if err != nil {
		return err
	}
	if q.Name == "" && len(q.Manifests) == 1 {
		return w.explain(ctx, out, l, q, q.Manifests[0].Name)
	}
	return w.explain(ctx, out, l, q, q.Name)
}

// read reads the logs line by line. What kubectl prints about ScaledJobs is added to the question instead.
func (w *whyCommand) read(q *why.Question, stdin io.Reader) (*why.Log, error) {
	var logs []io.Reader
	for _, name := range w.logs {
		reader := stdin
		if name != "-" {
			f, err := os.Open(filepath.Clean(name))
			if err != nil {
				return nil, input.FileError(name, err)
			}
			defer f.Close()
			reader = f
		}
		log := bufio.NewReaderSize(reader, 64<<10)
		head, err := log.Peek(64 << 10)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, input.FileError(name, err)
		}
		if !noLog.Match(head) {
			logs = append(logs, log)
			continue
		}
		text, err := input.Open("-", log, input.MaxDump) // what was peeked at is gone from the file
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(text, input.MaxManifest+1))
		if err != nil {
			return nil, input.FileError(name, err)
		}
		if len(data) > input.MaxManifest { // a log that begins like kubectl's output, or the answer says which line is not read
			logs = append(logs, io.MultiReader(bytes.NewReader(data), text))
			continue
		}
		s, err := input.ReadSource("-", bytes.NewReader(data), input.MaxManifest)
		if err != nil {
			return nil, err
		}
		s.Name = cmp.Or(strings.TrimPrefix(name, "-"), s.Name)
		read, err := q.ReadPaste(string(s.Data))
		if err == nil && !read && s.HasScaledJob() {
			read, err = true, addObjects(s, q)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if !read || why.Read(string(s.Data)).Recognized > 0 { // a ticket may have both
			logs = append(logs, bytes.NewReader(s.Data))
		}
	}
	return why.Scan(q.Name, q.Moment, logs...)
}

// noLog matches the beginning of what is read whole: an object or a table of kubectl, or UTF-16.
var noLog = regexp.MustCompile(`(?m)(?:^|[{,\[])\s*"?[Kk]ind"?:\s*"?ScaledJob\b|^(?:NAMESPACE\s+)?LAST SEEN\s|\b(?:Normal|Warning)[ \t]+(?:KEDA|ScaledJob|FailedCreate)|^Name:\s|\A(?s:.{0,3})\x00`)

// addObjects adds ScaledJobs with the conditions of their status, as kubectl get -o yaml prints them.
func addObjects(s input.Source, q *why.Question) error {
	found, _, err := s.Manifests()
	for _, m := range found {
		var status struct{ Conditions []why.Condition }
		_ = json.Unmarshal(m.Spec.Status, &status) // an older release has none
		q.Manifests = append(q.Manifests, m.Spec)
		q.Pasted = append(q.Pasted, &why.Paste{Name: m.Name(), Namespace: m.Spec.Namespace, Live: why.Live{Conditions: status.Conditions}})
	}
	return err
}

// explain reads the past of a ScaledJob, or of all without a name, and writes the report.
func (w *whyCommand) explain(ctx context.Context, out io.Writer, l *why.Log, q why.Question, name string, notes ...string) error {
	if w.past != "" {
		var err error
		if q.Past, err = prometheus(ctx, w.past, q.Namespace, name, w.span, l, q.Moment); err != nil {
			notes = append(notes, "Prometheus: "+redact.Text(err.Error()))
		}
	}
	r := why.Explain(l, q)
	for _, n := range notes {
		r.Notes = append(r.Notes, "not read: "+n)
	}
	return w.print(out, r)
}

func (w *whyCommand) question() (q why.Question, err error) {
	if w.moment != "" {
		if q.Moment, err = time.Parse(time.RFC3339, w.moment); err != nil {
			return q, input.Usagef("--at %q: use a time such as 2026-01-02T15:04:05Z", w.moment)
		}
	}
	q.Name = w.name
	if w.release != "" {
		r, err := input.ParseRelease(w.release)
		if err != nil || r.Profile == nil {
			return q, input.Usagef("--release %q: use a release of KEDA such as 2.17", w.release)
		}
		q.Release = r.Profile.Release()
	}
	return q, nil
}

func (w *whyCommand) live(ctx context.Context, names []string, q why.Question, out io.Writer) error {
	client, err := w.ClusterFlags.Client()
	if err != nil {
		return err
	}
	if w.ranked {
		names = nil
	}
	sources, problems := client.Sources(ctx, names, false)
	problems = installed(problems)
	if len(sources) == 0 {
		return problems
	}
	flags := []string{"--log"}
	if q.Release == "" {
		flags = []string{"--release", "--log"}
	}
	operator := cluster.FindOperator(ctx, client, flags...)
	operator.ReadLogs(ctx, client, w.span)
	if q.Release == "" {
		q.Release = operator.Release
	}
	q.Namespace, q.Live = client.Namespace, map[string]*why.Live{}
	var metrics why.Metrics
	for _, text := range operator.Metrics {
		metrics = append(metrics, why.ReadMetrics(text, time.Now())...)
	}
	r := newLiveReader(ctx, client, q.Release)
	for _, s := range sources {
		m, live, err := r.live(ctx, s)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		live.Metrics = metrics.ForScaledJob(client.Namespace, m.Name())
		q.Manifests, q.Live[m.Name()] = append(q.Manifests, m.Spec), live
	}
	if len(q.Live) == 0 {
		return problems
	}
	if len(q.Manifests) == 1 {
		q.Name = q.Manifests[0].Name
	}
	return errors.Join(problems, w.explain(ctx, out, why.Read(operator.Logs...), q, q.Name, append(operator.Missing, r.missing...)...))
}

// installed explains the answer of a cluster without KEDA.
func installed(err error) error {
	if err != nil && strings.Contains(err.Error(), "could not find the requested resource") {
		return fmt.Errorf("KEDA is not installed: the API server knows no ScaledJobs (%w)", err)
	}
	return err
}

func (w *whyCommand) print(out io.Writer, r *why.Report) error {
	if w.ranked {
		slices.SortStableFunc(r.Subjects, func(a, b *why.Account) int { return cmp.Compare(why.Urgency(a.State), why.Urgency(b.State)) })
	}
	switch {
	case w.output.Text == "json":
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	case w.ranked:
		r.PrintRanked(out)
	default:
		r.Print(out)
	}
	if len(r.Subjects) == 0 {
		return errors.New("found no ScaledJob to explain; use a log that names one, or the name of a ScaledJob in the cluster")
	}
	return input.Outcome(w.ranked && slices.ContainsFunc(r.Subjects, func(a *why.Account) bool { return why.Urgency(a.State) < why.Calm }), nil)
}
