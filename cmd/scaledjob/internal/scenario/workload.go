package scenario

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/simulation"
)

// A Workload is the part of a scenario that a manifest does not have, as text.
type Workload struct {
	Arrivals         []string // [trigger=]pattern; without a name, of the trigger at the same index
	Service, Startup string
	Metrics          []string // of each trigger
}

// Set sets the startup of pods, and a queue for each trigger. The errors name the texts with a
// prefix.
func (w *Workload) Set(s *simulation.Scenario, triggers []manifest.Trigger, prefix string) error {
	var problems []error
	text := func(name, value string, to interface{ UnmarshalText([]byte) error }) {
		if err := to.UnmarshalText([]byte(value)); err != nil {
			problems = append(problems, fmt.Errorf("%s%s %q: %w", prefix, name, value, err))
		}
	}
	text("startup", w.Startup, &s.Jobs.Startup)
	for i, t := range triggers {
		q := simulation.Queue{Name: t.Name, Target: t.Target, ActivationThreshold: t.ActivationThreshold, Metric: w.Metrics[i]}
		text("service", w.Service, &q.Service)
		s.Queues = append(s.Queues, q)
	}
	for at, a := range w.Arrivals {
		pattern := a
		if i := strings.LastIndex(a, "="); i >= 0 { // a name may have the sign, and a pattern has none
			if pattern, at = a[i+1:], input.Index(triggers, a[:i]); at < 0 {
				problems = append(problems, fmt.Errorf("%sarrivals: no trigger is called %q; use %s", prefix, a[:i], input.TriggerNames(triggers)))
				continue
			}
		}
		if at >= len(triggers) {
			problems = append(problems, fmt.Errorf("%sarrivals %q: there are only the triggers %s", prefix, a, input.TriggerNames(triggers)))
			continue
		}
		if s.Queues[at].Arrivals.String() != "" {
			problems = append(problems, fmt.Errorf("%sarrivals %q: the trigger %s has arrivals; use one pattern for each trigger", prefix, a, triggers[at].Name))
			continue
		}
		text("arrivals", pattern, &s.Queues[at].Arrivals)
	}
	return errors.Join(problems...)
}
