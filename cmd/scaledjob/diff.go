package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/diff"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
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

The exit status is 1 if there is a difference, or if --to rejects the manifest or no longer reads one of
its parameters.`,
		Example: `  $ scaledjob diff orders.yaml --from 2.18 --to 2.21
  orders: KEDA 2.18.3 and KEDA 2.21.0 create different numbers of Jobs in 56 of 741 cases. …

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
	c.Flags().BoolVar(&d.verbose, "all", false, "print all cases that differ and all rules that changed")
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
		changes := len(c.Differences) > 0 || len(c.Refused) > 0 || len(c.Metrics) > 0
		if changes {
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
		case changes && like[kind] == nil:
			kinds, examples[kind] = append(kinds, kind), func() { c.Print(out, d.verbose) }
			fallthrough
		case changes: // of many only these are of interest
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
		fmt.Fprintf(out, "%d of %s change from %s to %s", len(changed), report.Plural(compared, "ScaledJob"), d.from.Single(), d.target.Single())
		if len(changed) > 0 {
			fmt.Fprintf(out, ": %s", strings.Join(changed, ", "))
		}
		fmt.Fprintln(out, ".")
	}
	return input.Outcome(len(changed) > 0, problems)
}

// linted returns the files, or the objects of the cluster.
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
