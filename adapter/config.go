package adapter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Config is what a ScaledJob says, with its defaults filled in: no minimum, at
// most 100 Jobs, a poll every 30 s, 100 succeeded and 100 failed Jobs kept,
// aggregation max, strategy default, rollout immediate, propagation background.
type Config struct {
	Policy               scaling.Policy
	History              history.Limits
	Rollout              rollout.Policy
	PollingInterval      time.Duration
	PendingPodConditions []string
	Revision             rollout.Revision // what Jobs are made from now
	// StuckAfter is how long a Job may be pending before it is stuck; at 0 none
	// is. No field of a ScaledJob says it: the caller may.
	StuckAfter time.Duration
	Triggers   []Trigger
	// Warnings are what is not wrong, but not what it seems either.
	Warnings []*FieldError
}

// A Trigger is what turns a queue length into a metric.
type Trigger struct {
	// Name is the trigger's name, else its type; with a number where two triggers
	// would have the same.
	Name                string
	Type                string
	Target              float64 // target average value: items that one Job serves
	ActivationThreshold float64
}

// Metric is the trigger's metric at a queue length.
func (t Trigger) Metric(queue float64) scaling.Metric {
	return scaling.Metric{Name: t.Name, Value: queue, Target: t.Target, ActivationThreshold: t.ActivationThreshold}
}

// Config reads the ScaledJob. targets gives the target average value of
// triggers whose type is not among [TriggerTypes], by name or type, and wins
// over a manifest's own.
//
// All problems are returned at once, joined, each a [*FieldError]; the Config is
// then of no use but for Policy.Paused: a pause annotation that does not parse
// is an error, and means paused.
func (s *ScaledJob) Config(targets map[string]float64) (Config, error) {
	r := reader{spec: &s.Spec}
	c := Config{
		Policy:               scaling.DefaultPolicy(),
		History:              history.DefaultLimits(),
		Rollout:              rollout.DefaultPolicy(),
		PollingInterval:      30 * time.Second,
		Revision:             s.Revision(),
		PendingPodConditions: slices.Clone(s.Spec.ScalingStrategy.PendingPodConditions),
	}
	if s.Name == "" {
		r.problem("metadata.name", "nothing", "a name")
	}
	r.job()
	r.bounds(&c)
	r.history(&c.History)
	r.rollout(&c.Rollout)
	r.strategy(&c.Policy)
	if n := s.Spec.PollingInterval; n != nil {
		r.atLeast(1, "spec.pollingInterval", int64(*n), " (seconds)")
		c.PollingInterval = time.Duration(*n) * time.Second
	}
	c.Triggers = r.triggers(targets)
	c.Policy.Paused = r.paused(s.Annotations)
	c.Warnings = r.warnings
	return c, errors.Join(r.problems...)
}

// Triggers reads the triggers alone, as [ScaledJob.Config] does. With an error those
// that are right are of use.
func (s *ScaledJob) Triggers(targets map[string]float64) ([]Trigger, error) {
	r := reader{spec: &s.Spec}
	triggers := r.triggers(targets)
	return triggers, errors.Join(r.problems...)
}

// A reader collects what it finds wrong.
type reader struct {
	spec     *ScaledJobSpec
	problems []error
	warnings []*FieldError
}

func (r *reader) problem(path, found, want string) {
	r.problems = append(r.problems, &FieldError{path, found, want})
}

func (r *reader) warn(path, found, want string) {
	r.warnings = append(r.warnings, &FieldError{path, found, want})
}

func (r *reader) atLeast(least int64, path string, n int64, unit string) {
	if n < least {
		r.problem(path, strconv.FormatInt(n, 10), fmt.Sprintf("%d or more%s", least, unit))
	}
}

func (r *reader) job() {
	const path = "spec.jobTargetRef"
	job := r.spec.JobTargetRef
	switch {
	case job == nil:
		r.problem(path, "nothing", "the spec of a batch/v1 Job, with a template")
		return
	case len(job.Template.Spec.Containers) == 0:
		r.problem(path+".template", "no container", "a pod template with at least one container")
	}
	if n := job.ActiveDeadlineSeconds; n != nil {
		r.atLeast(1, path+".activeDeadlineSeconds", *n, " (seconds)")
	}
	if name := r.spec.EnvSourceContainerName; name != "" {
		for _, c := range job.Template.Spec.Containers {
			if c.Name == name {
				return
			}
		}
		r.problem("spec.envSourceContainerName", strconv.Quote(name), "the name of a container in spec.jobTargetRef.template")
	}
}

func (r *reader) bounds(c *Config) {
	if n := r.spec.MinReplicaCount; n != nil {
		r.atLeast(0, "spec.minReplicaCount", int64(*n), "")
		c.Policy.Bounds.Min = int64(*n)
	}
	if n := r.spec.MaxReplicaCount; n != nil {
		r.atLeast(0, "spec.maxReplicaCount", int64(*n), "")
		c.Policy.Bounds.Max = int64(*n)
	}
	if b := c.Policy.Bounds; b.Min > b.Max && b.Max >= 0 {
		r.warn("spec.minReplicaCount", strconv.FormatInt(b.Min, 10),
			fmt.Sprintf("no more than maxReplicaCount: it is taken as %d", b.Max))
	}
}

func (r *reader) history(l *history.Limits) {
	limit := func(path string, n *int32, l *history.Limit) {
		if n != nil {
			r.atLeast(0, path, int64(*n), "")
			*l = history.Keep(int(*n))
		}
	}
	limit("spec.successfulJobsHistoryLimit", r.spec.SuccessfulJobsHistoryLimit, &l.Succeeded)
	limit("spec.failedJobsHistoryLimit", r.spec.FailedJobsHistoryLimit, &l.Failed)
}

func (r *reader) rollout(p *rollout.Policy) {
	parse := func(path, name string) (rollout.Strategy, bool) {
		s, err := rollout.ParseStrategy(name)
		if name != "" && err != nil {
			r.problem(path, strconv.Quote(name), "gradual, immediate (or default, which is the same) or drain")
		}
		return s, name != "" && err == nil
	}
	const old, now = "spec.rolloutStrategy", "spec.rollout.strategy"
	deprecated, hasDeprecated := parse(old, r.spec.RolloutStrategy)
	current, hasCurrent := parse(now, r.spec.Rollout.Strategy)
	switch {
	case hasDeprecated && hasCurrent && deprecated != current:
		r.problem(old, fmt.Sprintf("%q, while %s is %q", r.spec.RolloutStrategy, now, r.spec.Rollout.Strategy),
			"only "+now+", since rolloutStrategy is deprecated")
	case hasCurrent:
		p.Strategy = current
	case hasDeprecated:
		p.Strategy = deprecated
		r.warn(old, strconv.Quote(r.spec.RolloutStrategy), now+", since rolloutStrategy is deprecated")
	}
	if name := r.spec.Rollout.PropagationPolicy; name != "" {
		var err error
		if p.Propagation, err = rollout.ParsePropagation(name); err != nil {
			r.problem("spec.rollout.propagationPolicy", strconv.Quote(name), "background, foreground or orphan")
		}
	}
}

func (r *reader) strategy(p *scaling.Policy) {
	const path = "spec.scalingStrategy."
	in := r.spec.ScalingStrategy
	switch {
	case in.Strategy == "":
	case in.Strategy == "custom":
		p.Strategy = r.custom()
	default:
		s, err := strategy.Parse(in.Strategy)
		if err != nil {
			r.problem(path+"strategy", strconv.Quote(in.Strategy), "one of "+strings.Join(strategy.Names(), ", "))
		}
		p.Strategy = s
	}
	if name := in.MultipleScalersCalculation; name != "" {
		var err error
		if p.Aggregation, err = scaling.ParseAggregation(name); err != nil {
			r.problem(path+"multipleScalersCalculation", strconv.Quote(name), "max, min, avg or sum")
		}
	}
}

// custom is default without a percentage, as documented.
func (r *reader) custom() strategy.Strategy {
	const path = "spec.scalingStrategy.customScalingRunningJobPercentage"
	in := r.spec.ScalingStrategy
	if in.CustomScalingRunningJobPercentage == "" {
		r.warn(path, "nothing", `a decimal such as "0.5": without it, custom is the strategy default`)
		return strategy.Default{}
	}
	percentage, err := strategy.ParsePercentage(in.CustomScalingRunningJobPercentage)
	if err != nil {
		r.problem(path, strconv.Quote(in.CustomScalingRunningJobPercentage), `a decimal that is not negative, such as "0.5"`)
	}
	var deduction int64
	if n := in.CustomScalingQueueLengthDeduction; n != nil {
		deduction = int64(*n)
	}
	return strategy.NewCustom(deduction, percentage)
}

// paused takes the spellings of strconv.ParseBool, as KEDA does.
func (r *reader) paused(annotations map[string]string) bool {
	text, ok := annotations[AnnotationPaused]
	if !ok {
		return false
	}
	paused, err := strconv.ParseBool(text)
	if err != nil {
		r.problem(fmt.Sprintf("metadata.annotations[%s]", AnnotationPaused), strconv.Quote(text),
			`"true" or "false"; until then it means paused`)
		return true
	}
	return paused
}

func (r *reader) triggers(targets map[string]float64) []Trigger {
	if len(r.spec.Triggers) == 0 {
		r.problem("spec.triggers", "none", "at least one trigger")
	}
	triggers := make([]Trigger, len(r.spec.Triggers))
	names := map[string]int{}
	for i, in := range r.spec.Triggers {
		t := &triggers[i]
		t.Type, t.Name = in.Type, in.Name
		if t.Name == "" {
			t.Name = in.Type
		}
		if names[t.Name]++; names[t.Name] > 1 {
			t.Name = fmt.Sprintf("%s-%d", t.Name, names[t.Name])
		}
		r.trigger(fmt.Sprintf("spec.triggers[%d]", i), in, t, targets)
	}
	return triggers
}

func (r *reader) trigger(path string, in ScaleTrigger, t *Trigger, targets map[string]float64) {
	if in.Type == "" {
		r.problem(path+".type", "nothing", "the type of a trigger")
		return
	}
	keys, known := triggerKeys[in.Type]
	if known {
		t.ActivationThreshold = keys.inactive
		r.number(path, in.Metadata, keys.activation, &t.ActivationThreshold, false)
	}
	given, ok := targets[t.Name]
	if !ok {
		given, ok = targets[in.Type]
	}
	switch {
	case ok:
		t.Target = given
		if scaling.Validate(scaling.Policy{}, scaling.Metric{Target: given}) != nil {
			r.problem(path, fmt.Sprintf("%v as the target given for %s", given, t.Name), "a positive, finite number")
		}
		return
	case !known:
		r.problem(path+".type", strconv.Quote(in.Type), fmt.Sprintf(
			"a type in common use (%s), or a target average value given by the caller for %q", strings.Join(TriggerTypes(), ", "), t.Name))
		return
	}
	for _, key := range keys.target {
		if r.number(path, in.Metadata, key, &t.Target, true) {
			return
		}
	}
	if t.Target = keys.unset; t.Target == 0 {
		r.problem(path+".metadata."+keys.target[0], "nothing", fmt.Sprintf("the items that one Job serves, such as %s: \"5\"", keys.target[0]))
	}
}

// number reads a decimal, and reports whether there was one.
func (r *reader) number(path string, metadata map[string]string, key string, n *float64, positive bool) bool {
	text, ok := metadata[key]
	if !ok || key == "" {
		return false
	}
	x, err := strconv.ParseFloat(text, 64)
	m := scaling.Metric{Target: 1, ActivationThreshold: x}
	want := `a number of 0 or more, in quotes`
	if positive {
		m = scaling.Metric{Target: x}
		want = `a positive number in quotes, such as "5"`
	}
	if err != nil || scaling.Validate(scaling.Policy{}, m) != nil {
		r.problem(path+".metadata."+key, strconv.Quote(text), want)
	}
	*n = x
	return true
}

// TriggerTypes lists the types whose target is read from their metadata.
func TriggerTypes() []string { return slices.Sorted(maps.Keys(triggerKeys)) }
