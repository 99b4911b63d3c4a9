package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// queueFlags say what each trigger reports.
type queueFlags struct {
	queue, target string
}

func (f *queueFlags) addTarget(c *cobra.Command) {
	c.Flags().StringVar(&f.target, "target", "", "items that one Job serves, where the manifest cannot tell: a `number`, or trigger=number,…")
}

func (f *queueFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.queue, "queue", "", "queue length: a `number`, one for each trigger (12,5), or trigger=number,…; unread is one that could not be read")
	f.addTarget(c)
}

// A pair is what stands between two commas: a text, and a name where there is one.
type pair struct{ name, text string }

func pairs(text string) []pair {
	var all []pair
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		all = append(all, pair{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return all
}

// triggers are the manifest's, with the targets of the command line.
func (f *queueFlags) triggers(m *manifest) ([]adapter.Trigger, map[string]float64, error) {
	targets := map[string]float64{}
	if f.target != "" {
		for _, p := range pairs(f.target) {
			n, err := strconv.ParseFloat(p.text, 64)
			if err != nil {
				return nil, nil, usagef("--target %q: want a number such as 5, or trigger=5", f.target)
			}
			if p.name != "" {
				targets[p.name] = n
				continue
			}
			for _, t := range m.core.Spec.Triggers {
				targets[t.Type] = n
			}
		}
	}
	triggers, err := m.core.Triggers(targets)
	if err != nil {
		return nil, nil, fmt.Errorf("say with --target how many items a Job serves, or mend the manifest:\n%w", err)
	}
	return triggers, targets, nil
}

// lengths are the queue lengths of the triggers, NaN where one could not be read.
func (f *queueFlags) lengths(triggers []adapter.Trigger) ([]float64, error) {
	if f.queue == "" {
		return nil, usagef("no queue length: want --queue 12")
	}
	given := pairs(f.queue)
	lengths := make([]float64, len(triggers))
	seen := make([]bool, len(triggers))
	for i, p := range given {
		n, err := length(p.text)
		if err != nil {
			return nil, err
		}
		at := i
		if p.name != "" {
			if at = index(triggers, p.name); at < 0 {
				return nil, usagef("--queue: no trigger is called %q: want %s", p.name, triggerNames(triggers))
			}
		}
		if at >= len(triggers) || seen[at] || p.name == "" && given[0].name != "" {
			return nil, usagef("--queue %q: want a number for each of %s", f.queue, triggerNames(triggers))
		}
		lengths[at], seen[at] = n, true
	}
	for i, ok := range seen {
		if !ok {
			return nil, usagef("--queue %q: nothing for the trigger %s", f.queue, triggers[i].Name)
		}
	}
	return lengths, nil
}

func length(text string) (float64, error) {
	if text == "unread" {
		return math.NaN(), nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, usagef("--queue %q: want a number of 0 or more, or unread", text)
	}
	return n, nil
}

func index(triggers []adapter.Trigger, name string) int {
	for i, t := range triggers {
		if t.Name == name {
			return i
		}
	}
	return -1
}

func triggerNames(triggers []adapter.Trigger) string {
	var names []string
	for _, t := range triggers {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

func metrics(triggers []adapter.Trigger, lengths []float64) []scaling.Metric {
	all := make([]scaling.Metric, len(triggers))
	for i, t := range triggers {
		all[i] = t.Metric(lengths[i])
		all[i].Failed = math.IsNaN(lengths[i])
	}
	return all
}

func scalers(triggers []adapter.Trigger, lengths []float64) []keda.Scaler {
	all := make([]keda.Scaler, len(triggers))
	for i, t := range triggers {
		all[i] = keda.Scaler{QueueLength: lengths[i], Target: t.Target, Active: lengths[i] > t.ActivationThreshold}
		if math.IsNaN(lengths[i]) {
			all[i] = keda.Scaler{Failed: true, Target: t.Target}
		}
	}
	return all
}

// jobFlags are counts of Jobs.
type jobFlags struct {
	running, pending, stuck, terminating int64
}

func (f *jobFlags) add(c *cobra.Command) {
	c.Flags().Int64Var(&f.running, "running", 0, "`Jobs` that have not finished, pending ones included")
	c.Flags().Int64Var(&f.pending, "pending", 0, "`Jobs` of those of which no pod has started")
	c.Flags().Int64Var(&f.stuck, "stuck", 0, "`Jobs` of the pending that have been so for too long; core only")
	c.Flags().Int64Var(&f.terminating, "terminating", 0, "`Jobs` of the running that are on their way out; core only")
}

// check tells all that cannot be.
func (f *jobFlags) check() error {
	var problems []error
	for _, p := range []struct {
		name    string
		n, most int64
		of      string
	}{
		{"running", f.running, math.MaxInt64, ""},
		{"pending", f.pending, f.running, "--running"},
		{"stuck", f.stuck, f.pending, "--pending"},
		{"terminating", f.terminating, f.running, "--running"},
	} {
		switch {
		case p.n < 0:
			problems = append(problems, fmt.Errorf("--%s %d: want 0 or more", p.name, p.n))
		case p.n > p.most:
			problems = append(problems, fmt.Errorf("--%s %d: want no more than %s, %d, of which they are a part", p.name, p.n, p.of, p.most))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return usageError{err}
	}
	return nil
}

// known refuses counts that a release of KEDA does not make.
func (f *jobFlags) known(as engine) error {
	switch {
	case as.profile == nil:
	case f.stuck != 0:
		return usagef("--stuck %d: %s does not tell stuck Jobs from other pending ones: want --as core, or no --stuck", f.stuck, as)
	case f.terminating != 0:
		return usagef("--terminating %d: %s counts Jobs on their way out as running ones: want --as core, or no --terminating", f.terminating, as)
	}
	return nil
}

func (f *jobFlags) jobs() *scaling.Jobs {
	running := f.running - f.terminating
	return &scaling.Jobs{Running: running, Pending: min(f.pending, running), Stuck: f.stuck, Terminating: f.terminating}
}
