package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/simulation"
)

// A Workload is the part of a scenario that a manifest does not have, as text.
type Workload struct {
	Arrivals                 []string // [trigger=]pattern; without a name, of the trigger with items at the same index
	Service, Startup, WarmUp string
	Metrics                  []string // of each trigger
}

// Set sets the startup of pods, and a queue for each trigger. The errors name the texts with a
// prefix.
func (w *Workload) Set(s *simulation.Scenario, triggers []manifest.Trigger, prefix string) error {
	var problems []error
	text := func(name, value string, to interface{ UnmarshalText([]byte) error }) {
		if err := to.UnmarshalText([]byte(value)); err != nil {
			found := strconv.Quote(value)
			if strings.HasPrefix(err.Error(), found) { // which names it
				problems = append(problems, fmt.Errorf("%s%s %w", prefix, name, err))
				return
			}
			problems = append(problems, fmt.Errorf("%s%s %s: %w", prefix, name, found, err))
		}
	}
	text("startup", w.Startup, &s.Jobs.Startup)
	if w.WarmUp != "" {
		text("warm-up", w.WarmUp, &s.Jobs.WarmUp)
	}
	var ordered, active []int // triggers that have items of their own, before those that count active items
	for i, metric := range w.Metrics {
		if metric == "active" {
			active = append(active, i)
		} else {
			ordered = append(ordered, i)
		}
	}
	ordered = append(ordered, active...)
	for i, t := range triggers {
		q := simulation.Queue{Name: t.Name, Target: t.Target, ActivationThreshold: t.ActivationThreshold, Metric: w.Metrics[i]}
		text("service", w.Service, &q.Service)
		s.Queues = append(s.Queues, q)
	}
	for number, a := range w.Arrivals {
		if number >= len(triggers) {
			fix := "use one for each of " + input.TriggerNames(triggers)
			if len(triggers) == 1 {
				fix = "use one, for " + triggers[0].Name
			}
			problems = append(problems, fmt.Errorf("%sarrivals %q: more patterns than triggers; %s", prefix, a, fix))
			continue
		}
		pattern, index := a, ordered[number]
		if i := strings.LastIndex(a, "="); i >= 0 { // a name may have the sign, and a pattern has none
			if pattern, index = a[i+1:], input.Index(triggers, a[:i]); index < 0 {
				problems = append(problems, fmt.Errorf("%sarrivals: no trigger is called %q; use %s", prefix, a[:i], input.TriggerNames(triggers)))
				continue
			}
		}
		if s.Queues[index].Arrivals.String() != "" {
			problems = append(problems, fmt.Errorf("%sarrivals %q: the trigger %s has arrivals already; use one pattern for each trigger", prefix, a, triggers[index].Name))
			continue
		}
		text("arrivals", pattern, &s.Queues[index].Arrivals)
	}
	w.watch(s)
	return errors.Join(problems...)
}

// watch lets a trigger that counts active items, and has none of its own, count those of the trigger before
// it, or of the next one.
func (w *Workload) watch(s *simulation.Scenario) {
	watched := ""
	for i := range s.Queues {
		q := &s.Queues[i]
		if w.Metrics[i] != "active" {
			watched = q.Name
			continue
		}
		for k := i + 1; watched == "" && k < len(s.Queues); k++ {
			if w.Metrics[k] != "active" {
				watched = s.Queues[k].Name
			}
		}
		if q.Arrivals.String() == "" {
			q.Watches = watched
		}
	}
}
