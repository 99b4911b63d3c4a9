package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/diff"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// edits compares two manifests of a ScaledJob under one release: two files, or files with the objects of the cluster.
func (d *diffCommand) edits(c *cobra.Command, args []string) error {
	args = append(args, d.Files...)
	d.Files = nil
	if !d.live && len(args) != 2 {
		return input.Usagef("found %s; use two to compare an edit, --live to compare with the cluster, or --from 2.18 to compare releases", report.Plural(len(args), "file"))
	}
	if !d.live {
		return d.twoFiles(c, args)
	}
	manifests, problems := d.Read(args, c.InOrStdin())
	client, err := d.Client()
	if err != nil {
		return errors.Join(problems, err)
	}
	differs := false
	for _, m := range manifests {
		e, err := d.withCluster(c.Context(), client, m)
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

// twoFiles compares the ScaledJobs of two files by their names, or the only one of each.
func (d *diffCommand) twoFiles(c *cobra.Command, args []string) error {
	old, problems := d.Read(args[:1], c.InOrStdin())
	edited, err := d.Read(args[1:], c.InOrStdin())
	if problems = errors.Join(problems, err); len(old) == 0 || len(edited) == 0 {
		return problems
	}
	differs := false
	for _, m := range edited {
		before := old[0]
		if len(old) > 1 || len(edited) > 1 {
			before = nil
			for _, candidate := range old {
				if candidate.Name() == m.Name() {
					before = candidate
				}
			}
		}
		if before == nil {
			problems = errors.Join(problems, m.Titled(fmt.Errorf("%s has no ScaledJob of this name", args[0])))
			continue
		}
		e, err := diff.CompareEdit(&d.QueueFlags, before, m, d.target.Single(), -1)
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
