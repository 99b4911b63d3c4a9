package input

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// QueueFlags hold the queue lengths and targets of the triggers.
type QueueFlags struct {
	Queue, Target string
	InFile        bool  // they are fields of a test file
	Partitions    int64 // of each topic; 0 is not known
}

// wrongf returns an error about the flag or field of this name.
func (f *QueueFlags) wrongf(name, format string, args ...any) error {
	if f.InFile {
		return fmt.Errorf(name+format, args...)
	}
	return Usagef("--"+name+format, args...)
}

// AddTarget adds --target only.
func (f *QueueFlags) AddTarget(c *cobra.Command) {
	c.Flags().StringVar(&f.Target, "target", "", "target average value: `number`, or trigger=number,…, instead of the manifest's")
}

// Add adds the flags to a command.
func (f *QueueFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.Queue, "queue", "", "queue length: `number`, one per trigger (12,5), or trigger=number,…; unread if it cannot be read")
	f.AddPartitions(c)
	f.AddTarget(c)
}

// AddPartitions adds --partitions only.
func (f *QueueFlags) AddPartitions(c *cobra.Command) {
	c.Flags().Int64Var(&f.Partitions, "partitions", 0, "partitions of each topic, which limit the Jobs of kafka and others")
}

// A pair is a comma-separated part of a flag: a text, and its name, if any.
type pair struct{ name, text string }

func pairs(text string) []pair {
	var items []pair
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		items = append(items, pair{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return items
}

// targets returns the targets of a manifest's triggers by name or type. A number without
// a name is for each trigger without a number of its own.
func (f *QueueFlags) targets(m *ScaledJob) (map[string]float64, error) {
	targets, forAll, hasDefault := map[string]float64{}, 0.0, false
	if f.Target == "" {
		return targets, nil
	}
	for _, p := range pairs(f.Target) {
		n, err := strconv.ParseFloat(p.text, 64)
		switch _, repeated := targets[p.name]; {
		case err != nil:
			return nil, f.wrongf("target", " %q: not a number; use 5, or trigger=5", f.Target)
		case repeated, p.name == "" && hasDefault:
			return nil, f.wrongf("target", " %q: use one number, or trigger=number once for each trigger", f.Target)
		case p.name == "":
			forAll, hasDefault = n, true
		default:
			targets[p.name] = n
		}
	}
	for _, t := range m.Spec.Spec.Triggers {
		if _, named := targets[t.Type]; hasDefault && !named {
			targets[t.Type] = forAll
		}
	}
	return targets, nil
}

// CheckTargets returns an error for a target of a trigger that no manifest has.
func (f *QueueFlags) CheckTargets(manifests []*ScaledJob) error {
	if f.Target == "" {
		return nil
	}
	var names []string
	for _, m := range manifests {
		triggers, _ := m.Spec.Triggers(nil)
		for _, t := range triggers {
			names = append(names, t.Name, t.Type)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, p := range pairs(f.Target) {
		if p.name != "" && len(names) > 0 && !slices.Contains(names, p.name) {
			return f.wrongf("target", ": no trigger is called %q; use %s", p.name, strings.Join(names, ", "))
		}
	}
	return nil
}

// Triggers are the manifest's, with the targets of the command line.
func (f *QueueFlags) Triggers(m *ScaledJob) ([]manifest.Trigger, map[string]float64, error) {
	targets, err := f.targets(m)
	if err != nil {
		return nil, nil, err
	}
	triggers, err := m.Spec.Triggers(targets)
	if err != nil && len(m.Spec.Spec.Triggers) == 0 { // no target corrects it
		return nil, nil, err
	}
	if err != nil {
		flag := "--target NUMBER"
		if f.InFile {
			flag = "target: NUMBER"
		}
		return nil, nil, WrapEach(err, func(err error) error {
			return fmt.Errorf("no target average value; use %s, or correct the manifest: %w", flag, err)
		})
	}
	return triggers, targets, nil
}

// NoQueue is the problem of a command without queue lengths.
const NoQueue = "no queue length; use --queue NUMBER, such as --queue 12"

// Lengths returns the queue lengths of the triggers; NaN is unreadable.
func (f *QueueFlags) Lengths(triggers []manifest.Trigger) ([]float64, error) {
	if f.Queue == "" {
		return nil, Usagef(NoQueue)
	}
	items := pairs(f.Queue)
	lengths := make([]float64, len(triggers))
	filled := make([]bool, len(triggers))
	for i, p := range items {
		n, err := f.length(p.text)
		if err != nil {
			return nil, err
		}
		index := i
		if p.name != "" {
			if index = Index(triggers, p.name); index < 0 {
				return nil, f.wrongf("queue", ": no trigger is called %q; use %s", p.name, TriggerNames(triggers))
			}
		}
		if index >= len(triggers) || filled[index] || (p.name == "" && items[0].name != "") {
			if len(triggers) == 1 {
				return nil, f.wrongf("queue", " %q: found %d numbers; use one, for %s", f.Queue, len(items), triggers[0].Name)
			}
			return nil, f.wrongf("queue", " %q: use one number for each of %s, all with names or none", f.Queue, TriggerNames(triggers))
		}
		lengths[index], filled[index] = n, true
	}
	for i, ok := range filled {
		if !ok {
			return nil, f.wrongf("queue", " %q: no number for the trigger %s", f.Queue, triggers[i].Name)
		}
	}
	return lengths, nil
}

func (f *QueueFlags) length(text string) (float64, error) {
	if text == "unread" {
		return math.NaN(), nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, f.wrongf("queue", " %q: use a number of 0 or more, or unread", text)
	}
	return n, nil
}

// Index returns the index of the trigger of this name, or -1.
func Index(triggers []manifest.Trigger, name string) int {
	for i, t := range triggers {
		if t.Name == name {
			return i
		}
	}
	return -1
}

// TriggerNames lists the names of triggers.
func TriggerNames(triggers []manifest.Trigger) string {
	var names []string
	for _, t := range triggers {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// Metrics returns the metrics of triggers with these lengths, as the specification reads them.
func Metrics(triggers []manifest.Trigger, lengths []float64) []scaling.Metric {
	metrics := make([]scaling.Metric, len(triggers))
	for i, t := range triggers {
		metrics[i] = t.Metric(lengths[i])
	}
	return metrics
}

// Scalers returns the scalers of triggers with these lengths, as KEDA reads them.
func Scalers(triggers []manifest.Trigger, lengths []float64) []keda.Scaler {
	scalers := make([]keda.Scaler, len(triggers))
	for i, t := range triggers {
		scalers[i] = t.Scaler(lengths[i])
	}
	return scalers
}

// A jobCount is a flag with a number of Jobs.
type jobCount struct {
	n   int64
	set bool
}

// String is the number.
func (c *jobCount) String() string { return strconv.FormatInt(c.n, 10) }

// Set reads a whole number of 0 or more.
func (c *jobCount) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return errors.New("use a whole number of 0 or more")
	}
	c.n, c.set = n, true
	return nil
}

// Type names the value in the help.
func (c *jobCount) Type() string { return "Jobs" }

// JobFlags are counts of Jobs.
type JobFlags struct {
	running, pending, stuck, terminating jobCount
}

// Add adds the flags to a command.
func (f *JobFlags) Add(c *cobra.Command) {
	c.Flags().Var(&f.running, "running", "`Jobs` that have not finished, including pending ones")
	c.Flags().Var(&f.pending, "pending", "pending `Jobs`, included in --running")
	c.Flags().Var(&f.stuck, "stuck", "stuck `Jobs`, included in --pending; needs --release spec")
	c.Flags().Var(&f.terminating, "terminating", "terminating `Jobs`, beside --running; needs --release spec")
}

// Set reports whether any count was given.
func (f *JobFlags) Set() bool {
	return f.running.set || f.pending.set || f.stuck.set || f.terminating.set
}

// Check returns all that cannot be.
func (f *JobFlags) Check(releases []Release) error {
	var problems []error
	if f.pending.n > f.running.n {
		problems = append(problems, fmt.Errorf("--pending %d: more than --running %d; pending Jobs are included in the running ones", f.pending.n, f.running.n))
	}
	if f.stuck.n > f.pending.n {
		problems = append(problems, fmt.Errorf("--stuck %d: more than --pending %d; stuck Jobs are included in the pending ones", f.stuck.n, f.pending.n))
	}
	for _, r := range releases {
		if r.Profile == nil {
			continue
		}
		if f.stuck.n > 0 {
			problems = append(problems, fmt.Errorf("--stuck %d: %s does not distinguish stuck Jobs; use --release spec", f.stuck.n, r))
		}
		if f.terminating.n > 0 {
			problems = append(problems, fmt.Errorf("--terminating %d: %s counts terminating Jobs as running; include them in --running, or use --release spec", f.terminating.n, r))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Usage(err)
	}
	return nil
}

// Jobs are the counts as the specification reads them.
func (f *JobFlags) Jobs() *scaling.JobCounts {
	return &scaling.JobCounts{Running: f.running.n, Pending: f.pending.n, Stuck: f.stuck.n, Terminating: f.terminating.n}
}
