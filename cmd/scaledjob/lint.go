package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scheduled"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

type linter struct {
	input.ManifestFlags
	cluster.ClusterFlags
	releases   input.Releases
	rules      bool
	require    bool // a ScaledJob
	oneline    bool
	partitions int64
	fix        bool
	dryRun     bool
	stdin      string // the file's name
	explain    string
	ignore     []string
	exclude    []string
	config     string
	overlays   []string // directories for kustomize
	charts     []string // directories for helm
	severity   input.Choice
	failOn     input.Choice
	output     input.Choice
}

const lintLong = `What is wrong with my ScaledJobs and ScheduledJobs, and how do I fix it? Secrets and other objects
are looked up in all files. Without a FILE, lint checks the current directory.

.scaledjob.yaml holds the settings of a repository. The comment  # scaledjob:ignore RULE why  silences
a rule on its line and the next one. Findings of --fail-on or worse exit with 1.`

const lintExample = `  $ scaledjob lint deploy/
  deploy/orders.yaml:19:20: warning: spec.minReplicaCount is 5: KEDA keeps 5 Jobs on top of those …

  scaledjob lint deploy/ --release 2.18,2.21        # this release, and the next one
  scaledjob lint --helm charts/orders --kustomize overlays/production
  scaledjob lint deploy/ --fix --dry-run            # what --fix would write`

func newLint() *cobra.Command {
	l := &linter{}
	c := &cobra.Command{
		Use:     "lint [FILE...]",
		Short:   "Check ScaledJobs for mistakes and surprises",
		Long:    lintLong,
		Example: lintExample,
		RunE: func(c *cobra.Command, args []string) error {
			if l.explain != "" {
				return l.printExplanation(c.OutOrStdout())
			}
			if l.rules {
				return l.printRules(c.OutOrStdout())
			}
			return l.run(c, args, c.InOrStdin(), c.OutOrStdout())
		},
	}
	l.AddFiles(c)
	l.releases.AddSeveral(c, "release", "check for this")
	l.releases.AllowCluster()
	c.Flag("release").Usage = "KEDA `release`, several as 2.18,2.21, or cluster"
	l.ClusterFlags.Add(c)
	c.Flag("namespace").Hidden = true // lint asks the cluster for the operator only
	c.Flags().Int64Var(&l.partitions, "partitions", 0, "partitions of each topic, which limit the Jobs of kafka and others")
	c.Flags().BoolVar(&l.require, "require", false, "fail if no file has a ScaledJob")
	c.Flags().BoolVar(&l.oneline, "oneline", false, "print one line per finding")
	c.Flags().StringVar(&l.stdin, "stdin-filename", "", "`name` of the file on standard input")
	c.Flags().BoolVar(&l.fix, "fix", false, "correct what cannot change a running ScaledJob")
	c.Flags().BoolVar(&l.dryRun, "dry-run", false, "with --fix, only print the changes")
	c.Flags().BoolVar(&l.rules, "rules", false, "print all rules, check nothing")
	c.Flags().StringVar(&l.explain, "explain", "", "print this `rule` with examples, check nothing")
	c.Flags().StringSliceVar(&l.ignore, "ignore", nil, "`rules` to leave out (one,two); may be repeated")
	c.Flags().StringSliceVar(&l.exclude, "exclude", nil, "`patterns` such as vendor/ or *.gen.yaml to leave out; may be repeated")
	c.Flags().StringVar(&l.config, "config", input.SettingsFile, "settings `file`; \"\" is none")
	c.Flags().StringArrayVar(&l.overlays, "kustomize", nil, "`directory` to render with kustomize or kubectl; may be repeated")
	c.Flags().StringArrayVar(&l.charts, "helm", nil, "chart `directory` to render with helm; may be repeated")
	for _, name := range []string{"explain", "ignore"} {
		_ = c.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, r := range lint.Rules() {
				names = append(names, r.ID)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		})
	}
	l.severity.Add(c, "severity", "least severity that is printed", "note", "warning", "error")
	l.failOn.Add(c, "fail-on", "least severity to exit with 1", "error", "warning", "note")
	l.output.AddOutput(c, "text", "json", "github", "sarif")
	return c
}

// configure adds the settings of the repository, which flags overrule.
func (l *linter) configure(c *cobra.Command) (severity map[string]lint.Severity, err error) {
	var set input.Settings
	if l.config != "" {
		if set, err = input.ReadSettings(l.config); err != nil {
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
		s, found := severities[name]
		if !found {
			return nil, fmt.Errorf("%s: severities.%s: found %q; use error, warning or note", l.config, rule, name)
		}
		severity[rule] = s
	}
	if err := new(lint.Report).Filter(set.Ignore, lint.Note); err != nil {
		return nil, fmt.Errorf("%s: ignore: %w", l.config, err)
	}
	l.ignore = append(l.ignore, set.Ignore...)
	l.Repository, err = input.NewRepository(append(l.exclude, set.Exclude...))
	return severity, err
}

// inputs reads the files, and renders the directories that flags name.
func (l *linter) inputs(ctx context.Context, args []string, stdin io.Reader) (sources []input.Source, problems error) {
	for _, dirs := range []struct {
		input.Renderer
		names []string
	}{{input.Kustomize, l.overlays}, {input.Helm, l.charts}} {
		for _, dir := range dirs.names {
			s, err := dirs.Render(ctx, dir)
			if problems = errors.Join(problems, err); err == nil {
				sources = append(sources, s)
			}
		}
	}
	if len(l.overlays)+len(l.charts) > 0 && len(args)+len(l.Files) == 0 {
		return sources, problems
	}
	l.Any = true
	read, err := l.Sources(args, stdin)
	for i := range read {
		if read[i].Name == input.StandardInput && l.stdin != "" {
			read[i].Name = l.stdin
		}
	}
	return append(sources, read...), errors.Join(problems, err)
}

func (l *linter) run(c *cobra.Command, args []string, stdin io.Reader, out io.Writer) error {
	severity, err := l.configure(c)
	if err != nil {
		return err
	}
	profiles, err := l.profiles(c.Context())
	if err != nil {
		return err
	}
	sources, problems := l.inputs(c.Context(), args, stdin)
	structured := l.output.Text == "json" || l.output.Text == "sarif"
	if usage := (input.UsageError{}); len(sources) == 0 && problems != nil && (!structured || errors.As(problems, &usage)) {
		return problems
	}
	var files []lint.File
	for _, s := range sources {
		files = append(files, lint.File{Name: s.Name, Data: s.Data, Rendered: s.Output(), Unread: s.Unread})
	}
	found, err := l.check(files, profiles, severity)
	if err != nil {
		return err
	}
	if l.fix {
		if err := l.mend(out, files, &found); err != nil {
			return err
		}
	}
	nothingFound := found.ScaledJobs+found.Scheduled == 0
	if nothingFound && len(found.Findings) == 0 && !structured {
		l.Repository.Summary(c.ErrOrStderr(), "")
	} else if err := l.write(out, &found); err != nil {
		return err
	}
	if nothingFound {
		fmt.Fprintf(c.ErrOrStderr(), "scaledjob: no ScaledJob in %s\n", field.Plural(len(sources), "file"))
	}
	return input.Outcome(found.Worst() >= severities[l.failOn.Text] || (nothingFound && l.require), problems)
}

// mend writes the files with the corrections that are safe, or prints them.
func (l *linter) mend(out io.Writer, files []lint.File, found *lint.Report) (problems error) {
	for _, f := range files {
		fixed, n := found.Fixed(f.Name, f.Data)
		switch {
		case n == 0:
		case f.Rendered:
			problems = errors.Join(problems, fmt.Errorf("%s: --fix cannot change rendered manifests; correct the chart or the kustomization", f.Name))
		case lint.Template(f.Data):
			problems = errors.Join(problems, fmt.Errorf("%s: --fix writes no template; correct it by hand", f.Name))
		case l.dryRun:
			fmt.Fprintf(out, "--- %s\n+++ %s\n", f.Name, f.Name)
			after := bytes.SplitAfter(fixed, []byte("\n"))
			for i, line := range bytes.SplitAfter(f.Data, []byte("\n")) {
				if !bytes.Equal(line, after[i]) {
					fmt.Fprintf(out, "@@ -%d +%d @@\n-%s\n+%s\n", i+1, i+1, bytes.TrimRight(line, "\r\n"), bytes.TrimRight(after[i], "\r\n"))
				}
			}
		default:
			problems = errors.Join(problems, replaceFile(f.Name, fixed))
			found.Drop(f.Name)
			fmt.Fprintf(out, "%s: %s corrected\n", f.Name, field.Plural(n, "finding"))
		}
	}
	return problems
}

// replaceFile writes a file that exists, with its permissions.
func replaceFile(name string, data []byte) error {
	info, err := os.Stat(name)
	if err == nil {
		err = os.WriteFile(name, data, info.Mode().Perm())
	}
	if err != nil {
		return input.FileError(name, err)
	}
	return nil
}

// write prints the findings in the format of the output.
func (l *linter) write(out io.Writer, found *lint.Report) error {
	found.Color = report.Colored(out)
	if report.Terminal(out) != nil && l.output.Text == "text" {
		found.Width = report.Width(out)
		report.Fit(out, 0)
	}
	if w, ok := out.(*report.Writer); ok {
		w.Colors, w.Commands = found.Color, l.output.Text == "github"
	}
	found.OneLine = l.oneline
	write := map[string]func(io.Writer) error{
		"text": found.WriteText, "json": found.WriteJSON, "github": found.WriteGitHub, "sarif": found.WriteSARIF,
	}[l.output.Text]
	if err := write(out); err != nil {
		return err
	}
	if l.output.Text == "text" || l.output.Text == "github" {
		l.Repository.Summary(out, "")
	}
	if l.output.Text == "text" && found.ScaledJobs > 0 {
		fmt.Fprintf(out, "checked for KEDA %s\n", l.releases.String())
	}
	return nil
}

// check returns the findings with the severities of the settings.
func (l *linter) check(files []lint.File, profiles []keda.Profile, severity map[string]lint.Severity) (lint.Report, error) {
	found := lint.Checker{Releases: profiles, Partitions: l.partitions, ScheduledJob: scheduled.Lint}.Check(files)
	if err := found.SetSeverities(severity); err != nil {
		return found, fmt.Errorf("%s: severities: %w", l.config, err)
	}
	if err := found.Filter(l.ignore, severities[l.severity.Text]); err != nil {
		return found, input.Usagef("--ignore: %w", err)
	}
	return found, nil
}

var severities = map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note}

func (l *linter) printExplanation(out io.Writer) error {
	text, err := lint.Explain(l.explain)
	if err != nil {
		return input.Usagef("--explain: %w", err)
	}
	_, err = io.WriteString(out, report.Prose(text, report.Width(out)))
	return err
}

// profiles are the releases to check for.
func (l *linter) profiles(ctx context.Context) (profiles []keda.Profile, err error) {
	if l.releases.Cluster {
		client, err := l.Client()
		if err != nil {
			return nil, err
		}
		operator := cluster.FindOperator(ctx, client)
		if err := l.releases.Set(cmp.Or(operator.Release, "unknown")); err != nil {
			return nil, fmt.Errorf("--release cluster: %s; use --release 2.21", strings.Join(operator.Missing, "; "))
		}
	}
	for _, r := range l.releases.List {
		if r.Profile == nil {
			return nil, input.Usagef("--release spec: lint checks for releases of KEDA; use one such as 2.21")
		}
		profiles = append(profiles, *r.Profile)
	}
	return profiles, nil
}

// printRules prints the rules, as text or as JSON.
func (l *linter) printRules(out io.Writer) error {
	if l.output.Text != "text" {
		return json.NewEncoder(out).Encode(lint.Rules())
	}
	report.Fit(out, 0)
	var rows [][]string
	for _, r := range lint.Rules() {
		rows = append(rows, []string{r.ID, r.Severity.String(), r.Doc})
	}
	_, err := io.WriteString(out, report.Aligned("", false, rows))
	return err
}
