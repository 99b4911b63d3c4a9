package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
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

The exit status is 1 if there are differences, or if the API server refuses the manifest with --to alone, and 2 if
nothing could be told.`,
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
	Refused     []string     `json:"refused,omitempty"` // what the API server refuses of the second alone
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
		differ = differ || len(c.Differences) > 0 || len(c.Refused) > 0
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
	c := comparison{Name: m.name(), From: d.from.String(), To: d.to.String(), Differences: []difference{}}
	if d.from.paused(m) && d.to.paused(m) {
		m = m.unpaused()
		c.Notes = append(c.Notes, "it is paused; compared as if it were not")
	}
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
	before, after := d.from.problems(m), d.to.problems(m)
	for _, err := range before {
		if !said(after, err) {
			c.Notes = append(c.Notes, err.Error())
		}
	}
	for _, err := range after {
		var refused *keda.RefusedError
		switch {
		case said(before, err):
		case errors.As(err, &refused):
			c.Refused = append(c.Refused, d.to.refusal(m, refused))
		default:
			c.Notes = append(c.Notes, err.Error())
		}
	}
}

// problems are what a release does without, or refuses; the core has none.
func (e engine) problems(m *manifest) []error {
	if e.profile == nil {
		return nil
	}
	joined, ok := e.profile.Validate(m.keda).(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	return joined.Unwrap()
}

// said reports whether the same is said of another release: of the same feature, or
// of the same field.
func said(all []error, err error) bool {
	return slices.ContainsFunc(all, func(other error) bool { return about(other) == about(err) })
}

func about(err error) string {
	var lacks *keda.UnsupportedError
	var refused *keda.RefusedError
	switch {
	case errors.As(err, &lacks):
		return "lacks " + lacks.Feature.String()
	case errors.As(err, &refused):
		return "refuses " + refused.Field
	}
	return err.Error()
}

// refusal tells which releases refuse a field, those around this one.
func (e engine) refusal(m *manifest, refused *keda.RefusedError) string {
	releases := keda.Releases()
	refuses := func(i int) bool {
		p, err := keda.Release(releases[i])
		return err == nil && said(engine{&p}.problems(m), refused)
	}
	first := slices.Index(releases, e.profile.Release())
	last := first
	for first > 0 && refuses(first-1) {
		first--
	}
	for last+1 < len(releases) && refuses(last+1) {
		last++
	}
	when := fmt.Sprintf("from %s on", strings.TrimSuffix(releases[first], ".0"))
	if last+1 < len(releases) {
		when = fmt.Sprintf("from %s to %s", releases[first], releases[last])
	}
	return fmt.Sprintf("the API server refuses it %s: %s", when, refused)
}

// unpaused is a copy without the annotation that pauses.
func (m *manifest) unpaused() *manifest {
	without := *m
	without.core, without.keda = new(*m.core), new(*m.keda)
	without.core.Annotations = maps.Clone(m.core.Annotations)
	delete(without.core.Annotations, adapter.AnnotationPaused)
	without.keda.Metadata.Annotations = maps.Clone(m.keda.Metadata.Annotations)
	delete(without.keda.Metadata.Annotations, adapter.AnnotationPaused)
	return &without
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
	for _, queue := range queues(triggers, most, counting(m)) {
		for _, running := range spread(most+2, 13) {
			for _, pending := range spread(running, 7) {
				cells = append(cells, cell{queue, running, pending})
			}
		}
	}
	return cells
}

// counters are the types of triggers whose metric is a number of items, and so whole.
var counters = map[string]bool{
	"activemq": true, "apache-kafka": true, "artemis-queue": true, "aws-sqs-queue": true, "azure-blob": true, "azure-eventhub": true,
	"azure-pipelines": true, "azure-queue": true, "azure-servicebus": true, "beanstalkd": true, "gcp-cloudtasks": true,
	"github-runner": true, "ibmmq": true, "kafka": true, "kubernetes-workload": true, "nats-jetstream": true, "pulsar": true,
	"rabbitmq": true, "redis": true, "redis-cluster": true, "redis-cluster-streams": true, "redis-sentinel": true,
	"redis-sentinel-streams": true, "redis-streams": true, "solace-event-queue": true, "stan": true, "temporal": true,
}

// counting tells of each trigger whether its metric is always whole.
func counting(m *manifest) []bool {
	all := make([]bool, len(m.core.Spec.Triggers))
	for i, t := range m.core.Spec.Triggers {
		all[i] = counters[t.Type] && t.Metadata["mode"] != "MessageRate" // of rabbitmq, items per second
	}
	return all
}

// queues are lengths for each trigger: the same work for all of them, work for the
// first alone, a single item each, and two and a half Jobs' worth, in whole items and,
// where a metric can have one, with a fraction.
func queues(triggers []adapter.Trigger, most int64, whole []bool) [][]float64 {
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
	single, partly, fraction := make([]float64, len(triggers)), make([]float64, len(triggers)), make([]float64, len(triggers))
	for i, t := range triggers {
		single[i], fraction[i] = 1, t.Target*2.5
		partly[i] = math.Ceil(fraction[i])
		if whole[i] {
			fraction[i] = partly[i]
		}
	}
	for _, more := range [][]float64{single, partly, fraction} {
		if !slices.ContainsFunc(all, func(has []float64) bool { return slices.Equal(has, more) }) {
			all = append(all, more)
		}
	}
	return all
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
	for _, r := range c.Refused {
		fmt.Fprintf(out, "\nRefused: %s\n", r)
	}
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
