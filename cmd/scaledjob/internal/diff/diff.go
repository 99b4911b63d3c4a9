// Package diff compares two releases of KEDA for a ScaledJob, over a grid of queue lengths and
// Jobs.
package diff

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/explain"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// An answer is the number of Jobs that a release creates in a cell.
type answer struct {
	Create int64 `json:"create"`
	Panic  bool  `json:"panic,omitempty"`
}

// String is the number of Jobs, or that there is none.
func (a answer) String() string {
	if a.Panic {
		return "panics"
	}
	return fmt.Sprint(a.Create)
}

// A difference is a cell and its two answers.
type difference struct {
	cell
	From  answer `json:"from"`
	After answer `json:"to"`
}

// A comparison is the result of diff for a ScaledJob.
type comparison struct {
	Name        string        `json:"name"`
	From        input.Release `json:"from"`
	After       input.Release `json:"to"`
	Cases       int           `json:"cases"`
	Differences []difference  `json:"differences"`
	First       []string      `json:"first,omitempty"`   // the traces of the first difference
	Brought     []string      `json:"brought,omitempty"` // releases between the two that changed an answer or a metric
	Because     []change      `json:"because,omitempty"` // of the differences
	Metrics     []change      `json:"metrics,omitempty"` // triggers that count other items
	Besides     []change      `json:"besides,omitempty"` // changes without a difference in the cases
	Unused      []string      `json:"unused,omitempty"`  // strategies that changed and that the manifest does not use
	Upgrade     string        `json:"upgrade,omitempty"` // Jobs of the first that the second deletes when its operator starts
	Refused     []string      `json:"refused,omitempty"` // fields that the API server rejects with the second alone
	Notes       []string      `json:"notes,omitempty"`   // fields that only one release ignores or rejects

	triggers []manifest.Trigger
}

// A player answers cells by the rules of a release. The decision explains the answer.
type player func(cell) (a answer, decision fmt.Stringer)

func playerOf(e input.Release, m *input.ScaledJob, triggers []manifest.Trigger, targets map[string]float64) (player, error) {
	if e.Profile != nil {
		return kedaPlayer(*e.Profile, m, triggers), nil
	}
	if m.Strict != nil {
		return nil, m.Strict
	}
	config, err := m.Spec.Config(targets)
	return func(c cell) (answer, fmt.Stringer) {
		jobs := scaling.JobCounts{Running: c.Running, Pending: c.Pending}
		d := scaling.Decide(config.Policy, scaling.Observation{Metrics: input.Metrics(triggers, c.Queue), Jobs: &jobs})
		return answer{Create: d.Create}, d
	}, err
}

func kedaPlayer(p keda.Profile, m *input.ScaledJob, triggers []manifest.Trigger) player {
	return func(c cell) (answer, fmt.Stringer) {
		d := p.Decide(m.KEDA, keda.State{Scalers: input.Scalers(triggers, c.Queue), Running: c.Running, Pending: c.Pending})
		return answer{d.Create, d.Fault.Panics()}, d
	}
}

// Differs reports whether the second release does not the same for the ScaledJob.
func (c *comparison) Differs() bool {
	return len(c.Differences)+len(c.Refused)+len(c.Metrics) > 0 || c.Upgrade != ""
}

// Compare compares two releases for a ScaledJob.
func Compare(flags *input.QueueFlags, m *input.ScaledJob, rejected []lint.Finding, before, after input.Release) (comparison, error) {
	c := comparison{Name: m.Name(), From: before, After: after, Differences: []difference{}}
	if before.Paused(m) && after.Paused(m) {
		m = unpaused(m)
		c.Notes = append(c.Notes, "the ScaledJob is paused; compared without the annotation")
	}
	triggers, targets, err := flags.Triggers(m)
	if err != nil {
		return c, err
	}
	c.triggers = triggers
	from, err := playerOf(before, m, triggers, targets)
	if err != nil {
		return c, err
	}
	newer, err := playerOf(after, m, triggers, targets)
	if err != nil {
		return c, err
	}
	for _, cell := range grid(m, triggers) {
		c.Cases++
		a, reason := from(cell)
		b, whyNot := newer(cell)
		if a == b {
			continue
		}
		if c.Differences = append(c.Differences, difference{cell, a, b}); len(c.Differences) == 1 {
			c.First = []string{explain.Plain(reason.String()), explain.Plain(whyNot.String())}
		}
	}
	c.notes(m)
	c.rejected(m, rejected)
	c.metrics(m)
	c.brought(m)
	if before.Profile != nil && after.Profile != nil {
		c.rules(*before.Profile, *after.Profile, m)
		job := keda.Job{Annotations: before.Profile.Generate(m.KEDA, "").Annotations}
		if len(after.Profile.Rollout(m.KEDA, []keda.Job{job}).Deleted) > 0 {
			c.Upgrade = fmt.Sprintf("when %s starts, it deletes the Jobs of %s, also running and finished ones%s", after, before, after.Gradual(m))
		}
	}
	return c, nil
}

func unpaused(m *input.ScaledJob) *input.ScaledJob {
	clone := *m
	clone.Spec = m.Spec.DeepCopyObject().(*manifest.ScaledJob)
	delete(clone.Spec.Annotations, manifest.AnnotationPaused)
	clone.KEDA = clone.Spec.KEDA()
	return &clone
}

const few = 12

func (c *comparison) Print(out io.Writer, verbose bool) {
	report.Fit(out, 0)
	if len(c.Differences) == 0 {
		fmt.Fprintf(out, "%s: %s and %s create the same number of Jobs in all %d polls that were compared.\n", input.Titled(c.Name), c.From, c.After, c.Cases)
	} else {
		fmt.Fprintf(out, "%s: %s and %s create different numbers of Jobs in %d of the %d polls that were compared.\n\nJobs created, by queue length, running and pending Jobs:\n\n", input.Titled(c.Name), c.From, c.After, len(c.Differences), c.Cases)
		c.table(out, verbose)
	}
	c.reasons(out, verbose)
}

// Change is equal for ScaledJobs that change for the same reasons, and with all also in the same cases.
func (c *comparison) Change(verbose bool) string {
	var b strings.Builder
	if verbose {
		c.table(&b, true)
	}
	c.reasons(&b, verbose)
	return b.String()
}

func (c *comparison) reasons(out io.Writer, verbose bool) {
	if len(c.Because) == 0 && len(c.First) > 0 {
		fmt.Fprintf(out, "\nThe first difference by %s:\n\n%s\n\nand by %s:\n\n%s\n", c.From, c.First[0], c.After, c.First[1])
	}
	c.paragraph(out, "Because", c.Because)
	c.paragraph(out, "The same queue has another length", c.Metrics)
	if len(c.Brought) > 0 {
		fmt.Fprintf(out, "\nThe change came with KEDA %s.\n", strings.Join(c.Brought, ", "))
	}
	if c.Upgrade != "" {
		fmt.Fprintf(out, "\nUpgrade: %s.\n", c.Upgrade)
	}
	for _, r := range c.Refused {
		fmt.Fprintf(out, "\nRejected: %s\n", r)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(out, "\nNote: %s\n", n)
	}
	if n := len(c.Besides); n > 0 && !verbose {
		fmt.Fprintf(out, "\n%s changed as well, with no effect on these polls; --all lists them.\n", field.Plural(n, "rule"))
		return
	}
	c.paragraph(out, "Changed as well, with no effect on these polls", c.Besides)
	if len(c.Unused) > 0 {
		fmt.Fprintf(out, "\nNot listed are changes of strategies that the manifest does not use: %s.\n", strings.Join(c.Unused, ", "))
	}
}

func (c *comparison) table(out io.Writer, verbose bool) {
	c.tableOf(out, c.From.String(), c.After.String(), verbose)
}

// tableOf prints the differences below two heads.
func (c *comparison) tableOf(out io.Writer, before, after string, verbose bool) {
	heads := []string{""}
	for _, t := range c.triggers {
		heads = append(heads, t.Name)
	}
	rows := [][]string{append(heads, "running", "pending", before, after)}
	differences := c.Differences
	if !verbose {
		differences = differences[:min(few, len(differences))]
	}
	for _, d := range differences {
		row := []string{""}
		for _, q := range d.Queue {
			row = append(row, fmt.Sprintf("%g", q))
		}
		rows = append(rows, append(row, strconv.FormatInt(d.Running, 10), strconv.FormatInt(d.Pending, 10), d.From.String(), d.After.String()))
	}
	fmt.Fprint(out, report.Tabulated(rows, report.Width(out)))
	if remaining := len(c.Differences) - len(differences); remaining > 0 {
		fmt.Fprintf(out, "… and %d more; use --all\n", remaining)
	}
}
