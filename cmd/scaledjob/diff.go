package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

type diff struct {
	manifestFlags
	queueFlags
	from, to engine
	all      bool
	output   format
}

func newDiff() *cobra.Command {
	d := &diff{from: engine{}, to: newestKEDA()}
	c := &cobra.Command{
		Use:   "diff -f scaledjob.yaml --from keda@2.18 --to keda@2.19",
		Short: "Tell what an upgrade of KEDA changes for a ScaledJob",
		Long: `Compare two releases of KEDA, or one with the core, over a grid of queue lengths and Jobs, and tell where
they create different numbers of Jobs, and by which rule.

The exit status is 1 if there are differences, and 2 if nothing could be told.`,
		Example: `  scaledjob diff -f scaledjob.yaml --from keda@2.18 --to keda@2.19

  # what KEDA does that is not as documented
  scaledjob diff -f scaledjob.yaml --from core --to keda@2.21 --all`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("from") {
				return usagef("nothing to compare with: want --from keda@2.18, the release that you have")
			}
			return d.run(c.InOrStdin(), c.OutOrStdout())
		},
	}
	d.manifestFlags.add(c)
	d.addTarget(c)
	d.from.add(c, "from", "compare this")
	d.to.add(c, "to", "with this")
	c.Flags().BoolVar(&d.all, "all", false, "print every case that differs, not the first few")
	d.output.add(c, "text", "json")
	return c
}

// A cell is a case of the grid: the queue length of each trigger, and the Jobs.
type cell struct {
	Queue   []float64 `json:"queue"`
	Running int64     `json:"running"`
	Pending int64     `json:"pending"`
}

// An answer is what an engine makes of a cell.
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
	From answer `json:"from"`
	To   answer `json:"to"`
}

// A change is a rule of a part before and after.
type change struct {
	Part string `json:"part"`
	From string `json:"from"`
	To   string `json:"to"`
}

// A comparison is what diff prints of one ScaledJob.
type comparison struct {
	Name        string       `json:"name"`
	From        string       `json:"from"`
	To          string       `json:"to"`
	Cases       int          `json:"cases"`
	Differences []difference `json:"differences"`
	First       []string     `json:"first,omitempty"`   // the traces of the first difference
	Because     []change     `json:"because,omitempty"` // of the differences
	Besides     []change     `json:"besides,omitempty"` // what the cases cannot show
	Notes       []string     `json:"notes,omitempty"`   // what one of the two ignores or refuses

	triggers []adapter.Trigger
}

func (d *diff) run(stdin io.Reader, out io.Writer) error {
	manifests, err := d.read(stdin)
	if err != nil {
		return err
	}
	differ := false
	for i, m := range manifests {
		c, err := d.compare(m)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", m.file, m.name(), err)
		}
		differ = differ || len(c.Differences) > 0
		if d.output.text == "json" {
			err = json.NewEncoder(out).Encode(c)
		} else {
			if i > 0 {
				fmt.Fprintln(out)
			}
			err = c.print(out, d.all)
		}
		if err != nil {
			return err
		}
	}
	if differ {
		return errFound
	}
	return nil
}

// A player makes an engine answer cells. The decision tells how, if it is asked.
type player func(cell) (a answer, decision fmt.Stringer)

func (d *diff) player(e engine, m *manifest, triggers []adapter.Trigger, targets map[string]float64) (player, error) {
	if e.profile != nil {
		return kedaPlayer(*e.profile, m, triggers), nil
	}
	if m.strict != nil {
		return nil, m.strict
	}
	config, err := m.core.Config(targets)
	config.Policy.Paused = false
	return func(c cell) (answer, fmt.Stringer) {
		jobs := scaling.Jobs{Running: c.Running, Pending: c.Pending}
		d := scaling.Decide(config.Policy, scaling.State{Metrics: metrics(triggers, c.Queue), Jobs: &jobs})
		return answer{Create: d.Create}, d
	}, err
}

func kedaPlayer(p keda.Profile, m *manifest, triggers []adapter.Trigger) player {
	return func(c cell) (answer, fmt.Stringer) {
		d := p.Decide(m.keda, keda.State{Scalers: scalers(triggers, c.Queue), Running: c.Running, Pending: c.Pending})
		return answer{d.Create, d.Fault.Panics()}, d
	}
}

func (d *diff) compare(m *manifest) (comparison, error) {
	c := comparison{Name: m.name(), From: d.from.String(), To: d.to.String()}
	triggers, targets, err := d.triggers(m)
	if err != nil {
		return c, err
	}
	c.triggers = triggers
	from, err := d.player(d.from, m, triggers, targets)
	if err != nil {
		return c, err
	}
	to, err := d.player(d.to, m, triggers, targets)
	if err != nil {
		return c, err
	}
	for _, cell := range grid(m, triggers) {
		c.Cases++
		a, why := from(cell)
		b, whyNot := to(cell)
		if a == b {
			continue
		}
		if c.Differences = append(c.Differences, difference{cell, a, b}); len(c.Differences) == 1 {
			c.First = []string{why.String(), whyNot.String()}
		}
	}
	c.notes(d, m)
	if d.from.profile != nil && d.to.profile != nil {
		c.rules(*d.from.profile, *d.to.profile, m)
	}
	return c, nil
}

// rules finds those that make the difference: a rule does if, put into the one
// profile, it changes an answer that differs, or taken out of the other.
func (c *comparison) rules(from, to keda.Profile, m *manifest) {
	before, after := kedaPlayer(from, m, c.triggers), kedaPlayer(to, m, c.triggers)
	for _, r := range keda.Changes(from, to) {
		with, without := kedaPlayer(from.With(r.To), m, c.triggers), kedaPlayer(to.With(r.From), m, c.triggers)
		said := change{r.From.Part.String(), r.From.Text, r.To.Text}
		if slices.ContainsFunc(c.Differences, func(d difference) bool {
			return with.differs(before, d.cell) || without.differs(after, d.cell)
		}) {
			c.Because = append(c.Because, said)
		} else {
			c.Besides = append(c.Besides, said)
		}
	}
}

func (p player) differs(other player, c cell) bool {
	a, _ := p(c)
	b, _ := other(c)
	return a != b
}

// notes tell what only one of the two does without, or refuses.
func (c *comparison) notes(d *diff, m *manifest) {
	said := map[string]int{}
	var order []string
	for _, e := range []engine{d.from, d.to} {
		if e.profile != nil {
			for _, n := range (engine{e.profile}).notes(&manifest{keda: m.keda}, nil) {
				said[n]++
				order = append(order, n)
			}
		}
	}
	for _, n := range order {
		if said[n] == 1 {
			c.Notes = append(c.Notes, n)
		}
	}
}

// grid is every combination of queue lengths around the numbers where rules turn
// (0, one Job's worth, the maximum), of running Jobs up to above the maximum and
// of pending ones among those.
func grid(m *manifest, triggers []adapter.Trigger) []cell {
	most := int64(100)
	if n := m.core.Spec.MaxReplicaCount; n != nil {
		most = max(0, int64(*n))
	}
	if n := m.core.Spec.MinReplicaCount; n != nil {
		most = max(most, int64(*n))
	}
	var cells []cell
	for _, queue := range queues(triggers, most) {
		for _, running := range spread(most+2, 13) {
			for _, pending := range spread(running, 7) {
				cells = append(cells, cell{queue, running, pending})
			}
		}
	}
	return cells
}

// queues are lengths for each trigger: the same work for all of them, and work for
// the first alone.
func queues(triggers []adapter.Trigger, most int64) [][]float64 {
	var all [][]float64
	for _, jobs := range append(spread(most+2, 13), 3*most+1) {
		every, first := make([]float64, len(triggers)), make([]float64, len(triggers))
		for i, t := range triggers {
			every[i] = t.Target * float64(jobs)
		}
		first[0] = every[0]
		all = append(all, every)
		if len(triggers) > 1 && jobs > 0 {
			all = append(all, first)
		}
	}
	partly := make([]float64, len(triggers))
	for i, t := range triggers {
		partly[i] = t.Target * 2.5
	}
	return append(all, partly)
}

// spread is the numbers from 0 to n, or about so many of them, which crowd at both
// ends.
func spread(n int64, many int64) []int64 {
	var all []int64
	if n < many {
		for i := range n + 1 {
			all = append(all, i)
		}
		return all
	}
	third := many / 3
	for i := range third {
		all = append(all, i, n-i, n*(i+1)/(third+1))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const few = 12

func (c *comparison) print(out io.Writer, all bool) error {
	if len(c.Differences) == 0 {
		fmt.Fprintf(out, "%s: %s and %s create the same number of Jobs in all of %d cases.\n", c.Name, c.From, c.To, c.Cases)
	} else {
		fmt.Fprintf(out, "%s: %s and %s create different numbers of Jobs in %d of %d cases.\n\n", c.Name, c.From, c.To, len(c.Differences), c.Cases)
		if err := c.table(out, all); err != nil {
			return err
		}
	}
	if len(c.Because) == 0 && len(c.First) > 0 {
		fmt.Fprintf(out, "\nThe first of them, as %s tells it:\n\n%s\n\nand as %s does:\n\n%s\n", c.From, c.First[0], c.To, c.First[1])
	}
	c.paragraph(out, "Because", c.Because)
	for _, n := range c.Notes {
		fmt.Fprintf(out, "\nNote: %s\n", n)
	}
	c.paragraph(out, "Changed as well, but not in these cases", c.Besides)
	return nil
}

func (c *comparison) table(out io.Writer, all bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, t := range c.triggers {
		fmt.Fprintf(w, "%s\t", t.Name)
	}
	fmt.Fprintf(w, "running\tpending\t%s\t%s\t\n", c.From, c.To)
	rows := c.Differences
	if !all && len(rows) > few {
		rows = rows[:few]
	}
	for _, d := range rows {
		for _, q := range d.Queue {
			fmt.Fprintf(w, "%g\t", q)
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t\n", d.Running, d.Pending, d.From, d.To)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := len(c.Differences) - len(rows); more > 0 {
		fmt.Fprintf(out, "… and %d more: --all\n", more)
	}
	return nil
}

func (c *comparison) paragraph(out io.Writer, title string, changes []change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	width := max(len(c.From), len(c.To))
	for _, r := range changes {
		fmt.Fprintf(out, "  %s\n", r.Part)
		fmt.Fprintf(out, "    %-*s  %s\n", width, c.From, r.From)
		fmt.Fprintf(out, "    %-*s  %s\n", width, c.To, strings.TrimSpace(r.To))
	}
}
