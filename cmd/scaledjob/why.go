package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
)

type whyCommand struct {
	manifestFlags
	logs    []string
	all     bool
	release releases
	at      string
	output  choice
}

func newWhy() *cobra.Command {
	w := &whyCommand{}
	c := &cobra.Command{
		Use:   "why --log operator.log [FILE...]",
		Short: "Explain from the operator's log why Jobs were created, or not",
		Long: `Explain from the log of KEDA's operator why a ScaledJob was scaled, or was not.

The log may be of any release from 2.4 on, in the form in which it was copied: JSON or console, with the
prefixes of kubectl, stern or Loki, as CSV, newest line first, between Markdown fences, cut. Files
are manifests of the ScaledJobs in the log. Without a manifest, min, max and the strategy are not known.

Each statement is seen (in the log), computed (from values in the log, with the rules of the release)
or inferred. At KEDA's default log level, the log has R (running Jobs), P (the pending ones among
them) and the created Jobs, but no queue length. Credentials in errors are not printed.`,
		Example: `  kubectl logs -n keda deploy/keda-operator --since=1h | scaledjob why --log - orders.yaml

  # a paste from an issue, of a known release
  scaledjob why --log paste.txt --release 2.17 orders.yaml

  # all ScaledJobs of a log, those with problems first; the exit status is 1 if there are any
  scaledjob why --all --log operator.log manifests/`,
		RunE: func(c *cobra.Command, args []string) error {
			return w.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	w.manifestFlags.add(c)
	c.Flags().StringArrayVar(&w.logs, "log", nil, "`file` with the operator's log; - is standard input; may be repeated")
	c.Flags().BoolVar(&w.all, "all", false, "one line for each ScaledJob, those with problems first")
	c.Flags().StringVar(&w.at, "at", "", "the `time` to explain, such as 2026-01-02T15:04:05Z (default the end of the log)")
	w.release.add(c, "release", "the operator's release, instead of the one that the log shows")
	c.Flag("release").DefValue = ""
	w.output.addOutput(c, "text", "json")
	return c
}

func (w *whyCommand) run(_ context.Context, args []string, stdin io.Reader, out io.Writer) error {
	if len(w.logs) == 0 {
		return usagef("no log; use --log operator.log, or - for standard input")
	}
	q, problems := w.question(args, stdin)
	if problems != nil {
		return problems
	}
	var texts []string
	for _, name := range w.logs {
		s, err := readSource(name, stdin, maxDump)
		if err != nil {
			return err
		}
		texts = append(texts, string(s.data))
	}
	return w.print(out, why.Explain(why.Read(texts...), q))
}

// question reads the manifests and the flags.
func (w *whyCommand) question(args []string, stdin io.Reader) (q why.Question, err error) {
	if w.at != "" {
		if q.At, err = time.Parse(time.RFC3339, w.at); err != nil {
			return q, usagef("--at %q: use a time such as 2026-01-02T15:04:05Z", w.at)
		}
	}
	if w.release.given {
		if w.release.one().profile == nil {
			return q, usagef("--release spec: only KEDA writes logs; use one such as 2.21")
		}
		q.Release = w.release.one().name()
	}
	if len(args)+len(w.files) > 0 {
		found, err := w.read(args, stdin)
		for _, m := range found {
			q.Manifests = append(q.Manifests, m.spec)
		}
		if err != nil {
			return q, err
		}
	}
	q.Name = w.only
	return q, nil
}

func (w *whyCommand) print(out io.Writer, r *why.Report) error {
	if w.all {
		rank(r.Subjects)
	}
	switch {
	case w.output.text == "json":
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	case w.all:
		r.PrintRanked(out)
	default:
		r.Print(out)
	}
	if len(r.Subjects) == 0 && !w.all {
		return errors.New("the log shows no ScaledJob of the question")
	}
	return outcome(w.all && slices.ContainsFunc(r.Subjects, func(a *why.Account) bool { return urgency(a) < len(urgent) }), nil)
}

// urgent are the states that --all lists first.
var urgent = []string{"create-failed", "unreadable", "invalid", "stuck", "foreign-jobs", "maximum", "paused", "pending-deducted"}

func urgency(a *why.Account) int {
	if i := slices.Index(urgent, a.State); i >= 0 {
		return i
	}
	return len(urgent)
}

func rank(all []*why.Account) {
	slices.SortStableFunc(all, func(a, b *why.Account) int { return cmp.Compare(urgency(a), urgency(b)) })
}
