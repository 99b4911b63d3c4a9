package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/conform"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/keda"
)

func newConform() *cobra.Command {
	var options conform.Options
	var output input.Choice
	c := &cobra.Command{
		Use:   "conform [flags] -- PROGRAM [ARGUMENT...]",
		Short: "Test another implementation: ask it, and compare its answers",
		Long: `Start a program, and ask it the questions of scaledjob oracle: a JSON line on its standard input, its
answer as a JSON line on its standard output, in the order of the questions. First come the test
vectors, then random questions, then properties of several answers. A wrong answer is repeated with
smaller questions, and the smallest one is printed with the rule of testdata/SPECIFICATION.md.

  strategy: questions of kind strategy; compares effectiveMaxScale
  decision: questions of kind create; compares create
  history: compares deleted, in order
  rollout: compares deleted, in any order
  2.21: all of these with "release":"2.21", as that KEDA release answers

An answer has the id of its question, and may have other fields. The answer to a question that the
program cannot answer is {"id":1,"unsupported":"why"}: it is counted, and never passes. A level of which
most vectors are unsupported does not conform.

The exit status is 0 if the program conforms at every level, 1 if it does not, and 2 if it fails: it
does not start, ends, answers too late, out of order, without end, or something else than JSON with
fields of the right types.`,
		Example: `  scaledjob conform -- python3 testdata/python/scaledjob.py
  scaledjob conform --level strategy,decision -o junit -- ./mine > junit.xml
  scaledjob conform --level 2.21 -- ./mine`,
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := checkConform(options, arguments); err != nil {
				return err
			}
			report, err := conform.Run(c.Context(), arguments, options)
			out, problem := c.OutOrStdout(), error(nil)
			switch output.Text {
			case "json":
				problem = report.WriteJSON(out)
			case "junit":
				problem = report.WriteJUnit(out)
			case "markdown":
				report.WriteMarkdown(out)
			default:
				report.WriteText(out)
			}
			if problem != nil {
				return problem
			}
			return input.Outcome(!report.Conforms(), err)
		},
	}
	c.Flags().StringSliceVar(&options.Levels, "level", conform.Levels(), "levels to test, and releases of KEDA")
	c.Flags().IntVar(&options.Questions, "questions", 5000, "random questions of each level")
	c.Flags().Uint64Var(&options.Seed, "seed", 1, "seed of the random questions")
	c.Flags().DurationVar(&options.Timeout, "timeout", 10*time.Second, "time from the start to the first answer, and from each answer to the next")
	output.AddOutput(c, "text", "json", "junit", "markdown")
	return c
}

func checkConform(options conform.Options, arguments []string) error {
	switch {
	case len(arguments) == 0:
		return input.Usagef("found no program; name it behind --, as in scaledjob conform -- ./mine")
	case options.Timeout <= 0:
		return input.Usagef("--timeout %v: use more than 0s", options.Timeout)
	case options.Questions < 0:
		return input.Usagef("--questions %d: use 0 or more", options.Questions)
	case len(options.Levels) == 0:
		return input.Usagef("--level: found nothing; use %s, or a release of KEDA", strings.Join(conform.Levels(), ", "))
	}
	for _, level := range options.Levels {
		if _, err := keda.Release(level); err != nil && !slices.Contains(conform.Levels(), level) {
			return input.Usagef("--level %q: use %s, or a release of KEDA such as %s", level, strings.Join(conform.Levels(), ", "), keda.Newest().Release())
		}
	}
	return nil
}
