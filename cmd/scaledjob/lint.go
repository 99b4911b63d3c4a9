package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

type linter struct {
	manifestFlags
	releases []string
	rules    bool
	failOn   format
	output   format
}

func newLint() *cobra.Command {
	l := &linter{}
	c := &cobra.Command{
		Use:   "lint -f scaledjob.yaml",
		Short: "Find what is wrong with a ScaledJob, or not what it seems",
		Long: `Find what is wrong with a ScaledJob, or not what it seems: which rule, at which line and column, what
happens, and what to write instead. Names of Secrets, ConfigMaps and TriggerAuthentications are looked up in all
documents of all files.

A comment  # scaledjob:ignore RULE why  on a line, or on the one above, silences the rule there.

The exit status is 1 if there are findings of --fail-on or worse, and 2 if nothing could be told.`,
		Example: `  scaledjob lint -f scaledjob.yaml

  # for the release that runs in the cluster, and the one that comes next
  scaledjob lint -f scaledjob.yaml --release 2.18 --release 2.21

  # in GitHub Actions, with annotations in the pull request
  scaledjob lint -f deploy/scaledjob.yaml -f deploy/secret.yaml -o github --fail-on warning

  # all rules
  scaledjob lint --rules`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if l.rules {
				return printRules(c.OutOrStdout())
			}
			return l.run(c.InOrStdin(), c.OutOrStdout())
		},
	}
	c.Flags().StringArrayVarP(&l.files, "filename", "f", nil, "`file` with manifests, several documents if need be; - is standard input; may be repeated")
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
	c.Flags().StringSliceVar(&l.releases, "release", nil, "only what happens under this `release` of KEDA, such as 2.18, or of several (2.18,2.21); may be repeated; without it, under any")
	_ = c.RegisterFlagCompletionFunc("release", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return keda.Releases(), cobra.ShellCompDirectiveNoFileComp
	})
	c.Flags().BoolVar(&l.rules, "rules", false, "print all rules, and look at nothing")
	l.failOn.text, l.failOn.others = "error", []string{"error", "warning", "note"}
	c.Flags().Var(&l.failOn, "fail-on", "least severity that makes the exit status 1: `error|warning|note`")
	l.output.add(c, "text", "json", "github", "sarif")
	return c
}

func (l *linter) run(stdin io.Reader, out io.Writer) error {
	sources, err := l.sources(stdin)
	if err != nil {
		return err
	}
	var profiles []keda.Profile
	for _, name := range l.releases {
		p, err := releaseOf(name)
		if err != nil {
			return usagef("--release: %w", err)
		}
		profiles = append(profiles, p)
	}
	var files []lint.File
	for _, s := range sources {
		files = append(files, lint.File{Name: s.name, Data: s.data})
	}
	report := lint.Check(files, profiles...)
	write := map[string]func(io.Writer) error{
		"text": report.WriteText, "json": report.WriteJSON, "github": report.WriteGitHub, "sarif": report.WriteSARIF,
	}[l.output.text]
	if err := write(out); err != nil {
		return err
	}
	least := map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note}[l.failOn.text]
	if report.Worst() >= least {
		return errFound
	}
	return nil
}

func printRules(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range lint.Rules() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Severity, r.Doc)
	}
	return w.Flush()
}
