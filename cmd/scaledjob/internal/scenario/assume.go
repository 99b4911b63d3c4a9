package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/simulation"
)

// An Assumption is a parameter of a simulation, with its source.
type Assumption struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
	Flag   string `json:"flag"` // the flag that sets it
}

// assume adds an assumption. A flag that was given is its source.
func (s *Flags) assume(name, value, source, flag string) {
	if s.changed(flag) {
		source = "given"
	}
	if a := (Assumption{name, report.Cut(value, 40), source, "--" + flag}); !slices.Contains(s.Assumptions, a) {
		s.Assumptions = append(s.Assumptions, a)
	}
}

// itemsOf are the words for the items that a metric counts.
var itemsOf = map[string]string{"all": "waiting and in-progress items", "waiting": "waiting items", "active": "items in progress"}

// metrics returns which items the metrics of the triggers count under the release of the policy. Without
// a flag the policy has the same for other releases.
func (s *Flags) metrics(m *input.ScaledJob, all []manifest.Trigger, p *Policy) (metrics []string) {
	for i, t := range all {
		how, source := counted(m, i, p.Release)
		if given, found := perTrigger(s.metricValues, t.Name); found {
			how = given
		}
		how = cmp.Or(how, "all")
		s.assume(t.Name+" counts", cmp.Or(itemsOf[how], how), source, "metric")
		metrics = append(metrics, how)
	}
	if len(s.metricValues) == 0 {
		p.counts = func(r input.Release) []string { return Counts(m, all, r) }
	}
	return metrics
}

// Counts returns what the metrics of the triggers count under a release, "" if that is not known.
func Counts(m *input.ScaledJob, all []manifest.Trigger, r input.Release) []string {
	metrics := make([]string, len(all))
	for i := range metrics {
		metrics[i], _ = counted(m, i, r)
	}
	return metrics
}

// counted returns which items the metric of a trigger counts under a release, or "", and the source.
func counted(m *input.ScaledJob, i int, r input.Release) (how, source string) {
	kind := m.Spec.Spec.Triggers[i].Type
	if strings.HasSuffix(m.Spec.Spec.Triggers[i].Metadata["listName"], ":active") {
		return "active", "BullMQ's list of active items"
	}
	switch counting, hidden := triggers.Counts(kind, r.Version(), TriggerInput(m, i)); {
	case counting == triggers.LeavesOut:
		return "waiting", "trigger of type " + kind
	case counting == triggers.Includes:
		return "all", "trigger of type " + kind
	case hidden:
		return "", "protocol not in the manifest"
	}
	return "", "assumed for " + kind
}

// assumeMetrics adds which items the metrics count under the release of a policy, if that differs.
func (s *Flags) assumeMetrics(world *Scenario, p *Policy) {
	for i, how := range p.metrics() {
		if q := &world.Queues[i]; p.Release.Profile != nil && how != "" && how != q.Metric {
			s.assume(q.Name+" counts", itemsOf[how], p.Release.String(), "metric")
		}
	}
}

// TriggerInput is a trigger with what the manifest alone shows of it.
func TriggerInput(m *input.ScaledJob, i int) triggers.Input {
	t := m.Spec.Spec.Triggers[i]
	in := triggers.Input{Metadata: t.Metadata, Environment: func(name string) triggers.Value {
		for _, env := range environment(m) {
			if env.Name == name && env.ValueFrom == nil && !strings.Contains(env.Value, "$(") && strings.TrimSpace(env.Value) != "" {
				return triggers.Value{State: triggers.Visible, Text: strings.TrimSpace(env.Value)}
			}
		}
		return triggers.Value{State: triggers.Maybe}
	}}
	if t.AuthenticationRef != nil {
		in.AnyIdentity = true
		in.Authentication = func(string) triggers.Value { return triggers.Value{State: triggers.Maybe} }
	}
	return in
}

// environment returns the variables of the container that KEDA reads.
func environment(m *input.ScaledJob) []corev1.EnvVar {
	if m.Spec.Spec.JobTargetRef == nil {
		return nil
	}
	containers := m.Spec.Spec.JobTargetRef.Template.Spec.Containers
	for _, c := range containers {
		if c.Name == m.Spec.Spec.EnvSourceContainerName {
			return c.Env
		}
	}
	if len(containers) == 0 {
		return nil
	}
	return containers[0].Env
}

func (s *Flags) perJob(all []manifest.Trigger) int64 {
	if s.changed("items-per-job") {
		s.assume("items per Job", map[bool]string{true: "until the queue is empty", false: fmt.Sprint(s.items)}[s.items == 0], "", "items-per-job")
		return s.items
	}
	n, of := ItemsPerJob(all)
	s.assume("items per Job", fmt.Sprint(n), "target of "+of, "items-per-job")
	return n
}

// ItemsPerJob returns the largest target of the triggers, since a trigger asks for a Job for so
// many items, and the trigger.
func ItemsPerJob(all []manifest.Trigger) (n int64, of string) {
	most := 1.0
	for _, t := range all {
		if n := math.Round(t.Target); of == "" || n > most {
			most, of = max(most, n), t.Name
		}
	}
	return int64(min(most, math.MaxInt32)), of
}

// assumeTimes sets the polling interval of the policy, and adds the assumptions about
// times and the release.
func (s *Flags) assumeTimes(p *Policy) {
	s.assume("release", p.Release.String(), "the newest", "release")
	source := "default of a ScaledJob"
	if p.Spec.PollingInterval != nil {
		source = "the manifest"
	}
	if s.interval > 0 {
		p.Spec.PollingInterval = new(int32(s.interval / time.Second))
	}
	interval := simulation.KEDA{Spec: p.Spec}.Settings().Interval
	s.assume("polling interval", cmp.Or(interval, simulation.Duration(30*time.Second)).String(), source, "polling-interval")
	s.assume("service", s.service, cmp.Or(s.recorded, "default of this command"), "service")
	s.assume("startup", s.startup, cmp.Or(s.recorded, "default of this command"), "startup")
	s.assume("warm-up", s.warmUp, "default of this command", "warm-up")
	s.assume("wait without an item", simulation.Duration(s.wait).String(), "default of this command", "wait")
	s.assume("acknowledge", "at the "+s.ack+" of the work", "default of this command", "acknowledge")
}

// assumeTrace corrects the assumption on the service, if rows of a trace have their own.
func (s *Flags) assumeTrace(trace []simulation.Arrival) {
	own := 0
	for i := range trace {
		if trace[i].Service > 0 {
			own++
		}
	}
	i := slices.IndexFunc(s.Assumptions, func(a Assumption) bool { return a.Name == "service" })
	switch {
	case own == len(trace):
		s.Assumptions[i].Value, s.Assumptions[i].Source = "that of each row", "the trace"
	case own > 0:
		s.Assumptions[i].Value += fmt.Sprintf("; %d of %d rows have their own", own, len(trace))
	}
}
