package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

type linter struct {
	manifestFlags
	releases releases
	rules    bool
	lsp      bool
	explain  string
	ignore   []string
	exclude  []string
	config   string
	overlays []string // directories for kustomize
	charts   []string // directories for helm
	severity choice
	failOn   choice
	output   choice
}

func newLint() *cobra.Command {
	l := &linter{}
	c := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check ScaledJobs for mistakes and surprises",
		Long: `Check ScaledJobs for mistakes and surprises. Each finding has a rule, a line and column, a
consequence and a fix. Names of Secrets, ConfigMaps and TriggerAuthentications are looked up in
all documents of all files.

Without an argument lint checks the directory and below. In a directory it skips and counts Helm
templates, Kustomize patches and files without a manifest. The file .scaledjob.yaml has settings of a
repository: exclude, ignore, releases, and severities of rules. Only flags run other programs.

A comment  # scaledjob:ignore RULE why  on a line, or on the one above, silences the rule there.

The exit status is 1 if there are findings of --fail-on or worse.`,
		Example: `  scaledjob lint orders.yaml
  scaledjob lint deploy/
  helm template deploy | scaledjob lint -
  scaledjob lint --helm charts/orders --kustomize overlays/production

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
			if l.lsp {
				return l.serve(c, args)
			}
			return l.run(c, args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	l.addFiles(c)
	l.releases.addSeveral(c, "release", "check for this")
	c.Flags().BoolVar(&l.rules, "rules", false, "print all rules, and check nothing")
	c.Flags().BoolVar(&l.lsp, "lsp", false, "serve the Language Server Protocol for an editor on standard input and output")
	c.Flags().StringVar(&l.explain, "explain", "", "print this `rule` with a bad and a good example, and check nothing")
	c.Flags().StringSliceVar(&l.ignore, "ignore", nil, "`rules` without findings (one,two); may be repeated")
	c.Flags().StringSliceVar(&l.exclude, "exclude", nil, "`patterns` of files in directories, such as vendor/ or **/*.gen.yaml; may be repeated")
	c.Flags().StringVar(&l.config, "config", settingsFile, "`file` with the settings of the repository; \"\" is none")
	c.Flags().StringArrayVar(&l.overlays, "kustomize", nil, "`directory` to render with kustomize or kubectl, and to check; may be repeated")
	c.Flags().StringArrayVar(&l.charts, "helm", nil, "`directory` of a chart to render with helm, and to check; may be repeated")
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

// configure adds the settings of the repository, which flags overrule.
func (l *linter) configure(c *cobra.Command) (severity map[string]lint.Severity, err error) {
	var set settings
	if l.config != "" {
		if set, err = readSettings(l.config); err != nil {
			return nil, err
		}
	}
	if len(set.Releases) > 0 && !c.Flags().Changed("release") {
		if err := l.releases.Set(strings.Join(set.Releases, ",")); err != nil {
			return nil, fmt.Errorf("%s: releases: %w", l.config, err)
		}
	}
	severity = map[string]lint.Severity{}
	for rule, name := range set.Severities {
		s, known := severities[name]
		if !known {
			return nil, fmt.Errorf("%s: severities.%s: found %q; use error, warning or note", l.config, rule, name)
		}
		severity[rule] = s
	}
	l.ignore = append(l.ignore, set.Ignore...)
	l.repository, err = newRepository(append(l.exclude, set.Exclude...))
	return severity, err
}

// inputs reads the files, and renders the directories that flags name.
func (l *linter) inputs(ctx context.Context, args []string, stdin io.Reader) (sources []source, problems error) {
	for _, dirs := range []struct {
		renderer
		names []string
	}{{kustomize, l.overlays}, {helm, l.charts}} {
		for _, dir := range dirs.names {
			s, err := dirs.render(ctx, dir)
			if problems = errors.Join(problems, err); err == nil {
				sources = append(sources, s)
			}
		}
	}
	if len(l.overlays)+len(l.charts) > 0 && len(args)+len(l.files) == 0 {
		return sources, problems
	}
	read, err := l.sources(args, stdin)
	return append(sources, read...), errors.Join(problems, err)
}

func (l *linter) run(c *cobra.Command, args []string, stdin io.Reader, out io.Writer) error {
	severity, err := l.configure(c)
	if err != nil {
		return err
	}
	profiles, err := l.profiles()
	if err != nil {
		return err
	}
	sources, problems := l.inputs(c.Context(), args, stdin)
	structured := l.output.text == "json" || l.output.text == "sarif"
	if usage := (usageError{}); len(sources) == 0 && (!structured || errors.As(problems, &usage)) {
		return problems
	}
	var files []lint.File
	invalid := false
	for _, s := range sources {
		if l.output.text == "text" {
			checked, wrong := lintScheduled(out, s)
			if invalid = invalid || wrong; checked && !s.hasScaledJob() {
				continue
			}
		}
		files = append(files, lint.File{Name: s.name, Data: s.data})
	}
	if len(files) == 0 && len(sources) > 0 {
		return outcome(invalid, problems)
	}
	found, err := l.check(files, profiles, severity)
	if err != nil {
		return err
	}
	found.Color = colored(out)
	if terminal(out) != nil {
		found.Width = columns(out)
	}
	if w, ok := out.(*report.Writer); ok {
		w.Colors, w.Commands = found.Color, l.output.text == "github"
	}
	write := map[string]func(io.Writer) error{
		"text": found.WriteText, "json": found.WriteJSON, "github": found.WriteGitHub, "sarif": found.WriteSARIF,
	}[l.output.text]
	if err := write(out); err != nil {
		return err
	}
	if !structured {
		l.repository.summary(out)
	}
	if l.output.text == "text" {
		fmt.Fprintf(out, "checked for KEDA %s\n", l.releases.String())
	}
	return outcome(invalid || found.Worst() >= severities[l.failOn.text], problems)
}

// check returns the findings with the severities of the settings.
func (l *linter) check(files []lint.File, profiles []keda.Profile, severity map[string]lint.Severity) (lint.Report, error) {
	found := lint.Check(files, profiles...)
	if err := found.SetSeverities(severity); err != nil {
		return found, fmt.Errorf("%s: severities: %w", l.config, err)
	}
	if err := found.Filter(l.ignore, severities[l.severity.text]); err != nil {
		return found, usagef("--ignore: %w", err)
	}
	return found, nil
}

// serve serves the Language Server Protocol with the flags and settings of lint.
func (l *linter) serve(c *cobra.Command, args []string) error {
	if args = append(args, l.files...); len(args) > 0 {
		return usagef("%q: a file; leave it out, the editor opens files for --lsp", args[0])
	}
	severity, err := l.configure(c)
	if err != nil {
		return err
	}
	profiles, err := l.profiles()
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if w, ok := out.(*report.Writer); ok {
		out = w.To() // JSON, in which control characters are escapes
	}
	s := &languageServer{repository: l.repository, check: func(files []lint.File) (lint.Report, error) {
		return l.check(files, profiles, severity)
	}}
	return s.serve(c.InOrStdin(), out)
}

var severities = map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note}

// colored reports whether the output is a terminal with colors, and NO_COLOR is not set.
func colored(out io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(out) != nil
}

// terminal returns the terminal to which a command writes, or nil.
func terminal(out io.Writer) *os.File {
	if w, ok := out.(*report.Writer); ok {
		out = w.To()
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// columns returns the width of the terminal, or report.Columns without a terminal.
func columns(out io.Writer) int {
	if f := terminal(out); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(40, width)
		}
	}
	return report.Columns
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
