package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/unittest"
	"github.com/scaledjob/scaledjob/field"
)

type tester struct {
	input.ManifestFlags
	schema bool
	output input.Choice
}

func newTest() *cobra.Command {
	t := &tester{ManifestFlags: input.ManifestFlags{Tests: true}}
	c := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of ScaledJobs",
		Long: `Do my ScaledJobs still decide as I expect? A test is one poll with the expected decision, or a
simulated run with bounds. It runs for each release: list yours and the next one to test an upgrade of
KEDA. In a directory, files that end with .test.yaml are test files. The exit status is 1 if a test
fails.

  manifests: [orders.yaml]       # relative to this file
  releases: ["2.18", "2.21"]     # default: the newest KEDA
  tests:
    - name: a burst
      queue: 40                  # or {redis: 40} for each trigger, or unread
      jobs: {running: 3, pending: 1}
      expect: {create: 7, rule: Strategy}
    - name: old Jobs are deleted
      queue: 0
      dump: [jobs.json]          # as kubectl get jobs,pods -o json prints them
      expect: {create: 0, deleted: [orders-1, orders-2]}
    - name: items wait for at most two minutes
      simulate: {arrivals: "poisson:0.2/s", service: "exp:30s", duration: 1h}
      expect: {maxWaitP95: 2m, maxPeakJobs: 20, maxUndone: 0}`,
		Example: `  $ scaledjob test orders.test.yaml
  ok    orders.test.yaml: a burst, KEDA 2.18.3 …

  scaledjob test tests/ -o junit > junit.xml`,
		RunE: func(c *cobra.Command, args []string) error {
			if t.schema {
				_, err := fmt.Fprint(c.OutOrStdout(), unittest.Schema)
				return err
			}
			return t.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	t.AddFiles(c)
	c.Flags().BoolVar(&t.schema, "schema", false, "print the JSON schema of a test file, and run nothing")
	t.output.AddOutput(c, "text", "json", "junit")
	return c
}

func (t *tester) run(ctx context.Context, args []string, stdin io.Reader, out io.Writer) error {
	sources, problems := t.Sources(args, stdin)
	results, failed := []unittest.Result{}, 0
	if t.output.Text == "text" {
		report.Fit(out, 0)
	}
	done := func(r *unittest.Result) {
		if results = append(results, *r); !r.Passed {
			failed++
		}
		if t.output.Text == "text" {
			r.Print(out) // at once: an interrupt hides no result
		}
	}
	for _, s := range sources {
		f, err := unittest.Read(s)
		if err == nil {
			err = f.Run(ctx, s.Name, done)
		}
		problems = errors.Join(problems, err)
	}
	var err error
	switch {
	case t.output.Text == "junit":
		err = unittest.WriteJUnit(out, results)
	case t.output.Text == "json":
		err = json.NewEncoder(out).Encode(results)
	case len(results) > 0:
		fmt.Fprintf(out, "%s, %d failed\n", field.Plural(len(results), "test"), failed)
	}
	if err != nil {
		return err
	}
	return input.Outcome(failed > 0, problems)
}
