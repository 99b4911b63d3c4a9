package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

type linter struct {
	manifestFlags
	releases releases
	rules    bool
	explain  string
	ignore   []string
	severity choice
	failOn   choice
	output   choice
}

func newLint() *cobra.Command {
	l := &linter{}
	c := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check ScaledJobs for mistakes and surprises",
		Long: `Check ScaledJobs for mistakes and surprises. Each finding has a rule, a line and column, a
consequence and a fix. Names of Secrets, ConfigMaps and TriggerAuthentications are looked up in
all documents of all files.

A comment  # scaledjob:ignore RULE why  on a line, or on the one above, silences the rule there.

The exit status is 1 if there are findings of --fail-on or worse.`,
		Example: `  scaledjob lint orders.yaml
  scaledjob lint deploy/
  helm template deploy | scaledjob lint -

  # for the release that runs in the cluster, and for the next one
  scaledjob lint deploy/ --release 2.18,2.21

  # in GitHub Actions, with annotations in the pull request
  scaledjob lint deploy/ -o github --fail-on warning

  # all rules, and one rule with examples
  scaledjob lint --rules
  scaledjob lint --explain trigger-key-unknown`,
		RunE: func(c *cobra.Command, args []string) error {
			if l.explain != "" {
				return l.printExplanation(c.OutOrStdout())
			}
			if l.rules {
				return l.printRules(c.OutOrStdout())
			}
			return l.run(args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	l.addFiles(c)
	l.releases.addSeveral(c, "release", "check for this")
	c.Flags().BoolVar(&l.rules, "rules", false, "print all rules, and check nothing")
	c.Flags().StringVar(&l.explain, "explain", "", "print this `rule` with a bad and a good example, and check nothing")
	c.Flags().StringSliceVar(&l.ignore, "ignore", nil, "`rules` without findings (one,two); may be repeated")
	for _, name := range []string{"explain", "ignore"} {
		_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return ruleNames(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	l.severity.add(c, "severity", "least severity that is printed", "note", "warning", "error")
	l.failOn.add(c, "fail-on", "least severity that makes the exit status 1", "error", "warning", "note")
	l.output.addOutput(c, "text", "json", "github", "sarif")
	return c
}

func (l *linter) run(args []string, stdin io.Reader, out io.Writer) error {
	profiles, err := l.profiles()
	if err != nil {
		return err
	}
	sources, problems := l.sources(args, stdin)
	structured := l.output.text == "json" || l.output.text == "sarif"
	if usage := (usageError{}); len(sources) == 0 && (!structured || errors.As(problems, &usage)) {
		return problems
	}
	var files []lint.File
	for _, s := range sources {
		files = append(files, lint.File{Name: s.name, Data: s.data})
	}
	report := lint.Check(files, profiles...)
	if err := report.Filter(l.ignore, severities[l.severity.text]); err != nil {
		return usagef("--ignore: %w", err)
	}
	report.Color = colored(out)
	write := map[string]func(io.Writer) error{
		"text": report.WriteText, "json": report.WriteJSON, "github": report.WriteGitHub, "sarif": report.WriteSARIF,
	}[l.output.text]
	if err := write(out); err != nil {
		return err
	}
	if l.output.text == "text" {
		fmt.Fprintf(out, "checked for KEDA %s\n", l.releases.String())
	}
	return outcome(report.Worst() >= severities[l.failOn.text], problems)
}

var severities = map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note}

// colored reports whether the output is a terminal and NO_COLOR is not set.
func colored(out io.Writer) bool {
	if o, ok := out.(*output); ok {
		out = o.Writer
	}
	f, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

func ruleNames() (all []string) {
	for _, r := range lint.Rules() {
		all = append(all, r.ID)
	}
	return all
}

func (l *linter) printExplanation(out io.Writer) error {
	text, err := lint.Explain(l.explain)
	if err != nil {
		return usagef("--explain: %w", err)
	}
	_, err = io.WriteString(out, text)
	return err
}

// profiles are the releases to check for.
func (l *linter) profiles() (all []keda.Profile, err error) {
	for _, r := range l.releases.all {
		if r.profile == nil {
			return nil, usagef("--release spec: lint checks for releases of KEDA; use one such as 2.21")
		}
		all = append(all, *r.profile)
	}
	return all, nil
}

// printRules prints the rules, as text or as JSON.
func (l *linter) printRules(out io.Writer) error {
	if l.output.text != "text" {
		type rule struct {
			ID       string `json:"id"`
			Severity string `json:"severity"`
			Doc      string `json:"doc"`
		}
		var all []rule
		for _, r := range lint.Rules() {
			all = append(all, rule{r.ID, r.Severity.String(), r.Doc})
		}
		return json.NewEncoder(out).Encode(all)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range lint.Rules() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Severity, r.Doc)
	}
	return w.Flush()
}
