package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/diff"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
)

type diffCommand struct {
	input.ManifestFlags
	input.QueueFlags
	cluster.ClusterFlags
	from, target        input.Releases
	verbose, everywhere bool
	live                bool // with the cluster
	output              input.Choice
}

func newDiff() *cobra.Command {
	d := &diffCommand{}
	c := &cobra.Command{
		Use:   "diff [FILE... | NAME...] --from 2.18 --to 2.19 | diff OLD NEW | diff FILE --live",
		Short: "Compare two releases of KEDA, or two manifests, for a ScaledJob",
		Long: `What changes with another release of KEDA, or with an edit? diff prints the polls that create different
numbers of Jobs and the rule behind each; for two manifests also the settings, and the Jobs that the
edit deletes. NAME, -n and -A are ScaledJobs in the cluster. Of several ScaledJobs that change for the
same reasons, one is printed.

The exit status is 1 if there is a difference, or if --to rejects the manifest, no longer reads one of
its parameters, or deletes the Jobs of --from when it starts.`,
		Example: `  $ scaledjob diff orders.yaml --from 2.18 --to 2.21
  orders: KEDA 2.18.3 and KEDA 2.21.0 create different numbers of Jobs in 56 of the 741 polls that were compared. …

  scaledjob diff orders.yaml orders-new.yaml        # an edit, before it is applied
  scaledjob diff orders.yaml --live                 # the same against the cluster
  scaledjob diff -n shop --from 2.18 --to 2.21      # every ScaledJob of a namespace`,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("from") {
				return d.edits(c, args)
			}
			if d.live {
				return input.Usagef("--live with --from; use one of them")
			}
			manifests, problems := d.manifests(c, args)
			err := d.run(manifests, problems, c.OutOrStdout())
			if d.Repository != nil {
				d.Repository.Summary(c.ErrOrStderr(), c.CommandPath())
			}
			return err
		},
	}
	d.ManifestFlags.Add(c)
	d.AddTarget(c)
	d.ClusterFlags.Add(c)
	d.Completes(c)
	c.Flags().BoolVarP(&d.everywhere, "all-namespaces", "A", false, "compare the ScaledJobs of all namespaces")
	c.Flags().BoolVar(&d.live, "live", false, "compare the file with the ScaledJob of its name in the cluster")
	d.from.Add(c, "from", "compare this")
	c.Flag("from").DefValue = ""
	d.target.Add(c, "to", "with this")
	c.Flags().BoolVar(&d.verbose, "all", false, "print all polls that differ and all rules that changed")
	d.output.AddOutput(c, "text", "json")
	return c
}

// manifests reads the files, or the cluster if there is a name or a flag that chooses it.
func (d *diffCommand) manifests(c *cobra.Command, args []string) ([]*input.ScaledJob, error) {
	names, files := d.Split(args)
	inCluster := len(names) > 0 || d.ClusterFlags.Chosen() || d.everywhere
	switch {
	case !inCluster && len(files)+len(d.Files) > 0:
		d.Repository, _ = input.NewRepository(nil) // without a pattern that could be wrong
		fallthrough
	case !inCluster:
		return d.Read(args, c.InOrStdin())
	case len(files)+len(d.Files) > 0:
		return nil, input.Usagef("found files and ScaledJobs of the cluster; use one of them")
	case d.everywhere && (len(names) > 0 || d.Namespace != ""):
		return nil, input.Usagef("--all-namespaces with a name or a namespace; use one of them")
	}
	client, err := d.Client()
	if err != nil {
		return nil, err
	}
	return client.ScaledJobs(c.Context(), names, d.everywhere)
}

func (d *diffCommand) run(manifests []*input.ScaledJob, problems error, out io.Writer) error {
	if err := d.CheckTargets(manifests); err != nil {
		return errors.Join(problems, err)
	}
	rejected := diff.Rejected(d.linted(manifests), d.from.Single(), d.target.Single())
	var changed, kinds []string
	compared, like := 0, map[string][]string{} // titles by change
	examples := map[string]func(){}
	for _, m := range manifests {
		c, err := diff.Compare(&d.QueueFlags, m, rejected, d.from.Single(), d.target.Single())
		if err != nil {
			problems = errors.Join(problems, m.Titled(err))
			continue
		}
		compared++
		if c.Differs() {
			changed = append(changed, d.title(m))
		}
		if d.output.Text == "json" {
			if err := json.NewEncoder(out).Encode(c); err != nil {
				return err
			}
			continue
		}
		switch kind := c.Change(d.verbose); {
		case len(manifests) == 1:
			c.Print(out, d.verbose)
		case c.Differs() && like[kind] == nil:
			kinds, examples[kind] = append(kinds, kind), func() { c.Print(out, d.verbose) }
			fallthrough
		case c.Differs(): // of many only these are of interest
			like[kind] = append(like[kind], d.title(m))
		}
	}
	for _, kind := range kinds {
		if n := len(like[kind]); n > 1 {
			report.Fit(out, 0)
			fmt.Fprintf(out, "%d ScaledJobs change for the same reasons: %s. The first of them:\n\n", n, strings.Join(like[kind], ", "))
		}
		examples[kind]()
		fmt.Fprintln(out)
	}
	if compared > 1 && d.output.Text != "json" {
		report.Fit(out, 0)
		fmt.Fprintf(out, "%d of %s change from %s to %s", len(changed), field.Plural(compared, "ScaledJob"), d.from.Single(), d.target.Single())
		if len(changed) > 0 {
			fmt.Fprintf(out, ": %s", strings.Join(changed, ", "))
		}
		fmt.Fprintln(out, ".")
	}
	return input.Outcome(len(changed) > 0, problems)
}

func (d *diffCommand) linted(manifests []*input.ScaledJob) (files []lint.File) {
	for _, s := range d.Texts {
		files = append(files, lint.File{Name: s.Name, Data: s.Data})
	}
	for _, m := range manifests {
		if data, err := json.Marshal(m.Spec); err == nil && len(d.Texts) == 0 {
			files = append(files, lint.File{Name: m.Name(), Data: data})
		}
	}
	return files
}

// title returns the name of a ScaledJob with its namespace, and with its file if there may be several.
func (d *diffCommand) title(m *input.ScaledJob) string {
	name := strings.TrimPrefix(m.Spec.Namespace+"/"+input.Titled(m.Name()), "/")
	if d.Repository != nil {
		name += " (" + report.Clean(m.File) + ")"
	}
	return name
}

// edits compares two manifests of a ScaledJob under one release: two files, or files with the objects of the cluster.
func (d *diffCommand) edits(c *cobra.Command, args []string) error {
	args = append(args, d.Files...)
	d.Files = nil
	if !d.live && len(args) != 2 {
		return input.Usagef("found %s; use two to compare an edit, --live to compare with the cluster, or --from 2.18 to compare releases", field.Plural(len(args), "file"))
	}
	var old []*input.ScaledJob
	var problems error
	if !d.live {
		old, problems = d.Read(args[:1], c.InOrStdin())
		args = args[1:]
	}
	manifests, err := d.Read(args, c.InOrStdin())
	problems = errors.Join(problems, err)
	compare := func(m *input.ScaledJob) (*diff.Edit, error) {
		before := named(old, m, len(manifests))
		if before == nil {
			return nil, m.Titled(errors.New("the other file has no ScaledJob of this name"))
		}
		return diff.CompareEdit(&d.QueueFlags, before, m, d.target.Single(), -1)
	}
	if d.live {
		client, err := d.Client()
		if err != nil {
			return errors.Join(problems, err)
		}
		compare = func(m *input.ScaledJob) (*diff.Edit, error) { return d.withCluster(c.Context(), client, m) }
	} else if len(old) == 0 {
		return problems
	}
	differs := false
	for _, m := range manifests {
		e, err := compare(m)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		differs = differs || e.Differs()
		if err := d.printEdit(c.OutOrStdout(), e); err != nil {
			return err
		}
	}
	return input.Outcome(differs, problems)
}

// named returns the ScaledJob of a name, or the only one if both files have one.
func named(old []*input.ScaledJob, m *input.ScaledJob, edited int) *input.ScaledJob {
	if len(old) == 1 && edited == 1 {
		return old[0]
	}
	if i := slices.IndexFunc(old, func(o *input.ScaledJob) bool { return o.Name() == m.Name() }); i >= 0 {
		return old[i]
	}
	return nil
}

// withCluster compares a manifest with the object of its name in the cluster.
func (d *diffCommand) withCluster(ctx context.Context, client *cluster.Client, m *input.ScaledJob) (*diff.Edit, error) {
	if m.Spec.Namespace != "" && d.Namespace == "" {
		client.Namespace = m.Spec.Namespace
	}
	live, err := client.ScaledJobs(ctx, []string{m.Name()}, false)
	if err != nil {
		return nil, err
	}
	release, running := d.target.Single(), -1
	if !d.target.Changed() {
		if r, err := input.ParseRelease(cluster.FindOperator(ctx, client).Release); err == nil {
			release = r
		}
	}
	if dump, err := client.Dump(ctx); err == nil && release.Profile != nil {
		if owned, err := dump.OwnedBy(live[0], release); err == nil {
			running = int(release.Profile.Count(live[0].KEDA, owned.KedaJobs()).Running)
		}
	}
	return diff.CompareEdit(&d.QueueFlags, live[0], m, release, running)
}

func (d *diffCommand) printEdit(out io.Writer, e *diff.Edit) error {
	if d.output.Text == "json" {
		return json.NewEncoder(out).Encode(e)
	}
	e.Print(out, d.verbose)
	return nil
}
