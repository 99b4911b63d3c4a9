package manifest

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Config holds the settings of a ScaledJob. Unset fields have their defaults: no minimum,
// at most 100 Jobs, a poll every 30 s, 100 succeeded and 100 failed Jobs kept, aggregation
// max, strategy default, rollout immediate, propagation background.
type Config struct {
	Policy          scaling.Policy
	History         history.Policy
	Rollout         rollout.Policy
	PollingInterval time.Duration
	Triggers        []Trigger // in the order of the manifest
	// Warnings are about valid fields that may surprise.
	Warnings []*field.Error
}

// Config checks the ScaledJob and returns its settings. targets holds target average
// values of triggers by name or type. They replace the manifest's values, and are required
// for types that are not among [TriggerTypes].
//
// An error joins all problems, each a [*field.Error]. With an error only Policy.Paused is
// valid: an invalid pause annotation pauses.
func (s *ScaledJob) Config(targets map[string]float64) (Config, error) {
	r := reader{spec: &s.Spec}
	r.problems.Check(s.Name != "", "metadata.name", s.Name, "a name")
	r.job()
	c := Config{
		Policy:          r.policy(),
		History:         r.history(),
		Rollout:         r.rollout(),
		PollingInterval: time.Duration(r.number("spec.pollingInterval", s.Spec.PollingInterval, 1, 30)) * time.Second,
		Triggers:        r.triggers(targets),
	}
	c.Policy.Paused = r.paused(s.Annotations)
	c.Warnings = field.All(r.warnings.Err())
	return c, r.problems.Err()
}

// A reader collects the problems of a spec.
type reader struct {
	spec               *Spec
	problems, warnings field.Errors
}

// number returns *n, which must be at least least, or the default if n is nil.
func (r *reader) number(path string, n *int32, minimum, unset int64) int64 {
	if n == nil {
		return unset
	}
	r.problems.AtLeast(path, int64(*n), minimum)
	return int64(*n)
}

// parsed reads a name into result, which keeps its default if the name is "" or no such name.
func parsed(r *reader, path, name string, result encoding.TextUnmarshaler, fix string) (ok bool) {
	if name == "" {
		return false
	}
	err := result.UnmarshalText([]byte(name))
	r.problems.Check(err == nil, path, name, fix)
	return err == nil
}

func (r *reader) job() {
	const path = "spec.jobTargetRef"
	job := r.spec.JobTargetRef
	if job == nil {
		r.problems.Check(false, path, nil, "the spec of a batch/v1 Job, with a template")
		return
	}
	containers := job.Template.Spec.Containers
	if len(containers) == 0 {
		r.problems.Add(field.Error{Path: path + ".template", Found: "no container", Fix: "a pod template with at least one container"})
	}
	if n := job.ActiveDeadlineSeconds; n != nil {
		r.problems.AtLeast(path+".activeDeadlineSeconds", *n, 1)
	}
	r.number(path+".parallelism", job.Parallelism, 0, 0)
	r.number(path+".completions", job.Completions, 0, 0)
	r.number(path+".backoffLimit", job.BackoffLimit, 0, 0)
	r.number(path+".ttlSecondsAfterFinished", job.TTLSecondsAfterFinished, 0, 0)
	name, named := r.spec.EnvSourceContainerName, func(c corev1.Container) bool { return c.Name == r.spec.EnvSourceContainerName }
	r.problems.Check(name == "" || slices.ContainsFunc(containers, named),
		"spec.envSourceContainerName", name, "the name of a container in spec.jobTargetRef.template")
}

func (r *reader) policy() scaling.Policy {
	p, written := scaling.DefaultPolicy(), &r.spec.ScalingStrategy
	p.Bounds.Min = r.number("spec.minReplicaCount", r.spec.MinReplicaCount, 0, p.Bounds.Min)
	p.Bounds.Max = r.number("spec.maxReplicaCount", r.spec.MaxReplicaCount, 0, p.Bounds.Max)
	r.warnings.Check(p.Bounds.Min <= p.Bounds.Max || p.Bounds.Max < 0, "spec.minReplicaCount", p.Bounds.Min,
		fmt.Sprintf("maxReplicaCount or less; it is taken as %d", p.Bounds.Max))
	p.Strategy = r.strategy()
	parsed(r, "spec.scalingStrategy.multipleScalersCalculation", written.MultipleScalersCalculation, &p.Aggregation,
		"one of "+strings.Join(scaling.Aggregations(), ", "))
	return p
}

// strategy warns of custom without a percentage, which is default, as documented, and of the
// parameters of custom beside another strategy.
func (r *reader) strategy() strategy.Strategy {
	const path = "spec.scalingStrategy"
	written := &r.spec.ScalingStrategy
	r.warnings.Check(written.Strategy != "custom" || written.CustomScalingRunningJobPercentage != "", path+".customScalingRunningJobPercentage", nil,
		`a decimal of 0 or more, such as "0.5"; without it, custom is the strategy default`)
	if written.Strategy != "custom" {
		const custom = "no value: only the strategy custom reads it"
		if n := written.CustomScalingQueueLengthDeduction; n != nil {
			r.warnings.Check(*n == 0, path+".customScalingQueueLengthDeduction", *n, custom)
		}
		percentage := written.CustomScalingRunningJobPercentage
		r.warnings.Check(percentage == "", path+".customScalingRunningJobPercentage", percentage, custom)
	}
	s, err := strategy.FromSpec(written.Strategy, written.Parameters)
	r.problems.Join(path, err)
	return s
}

func (r *reader) history() history.Policy {
	limits := history.DefaultPolicy()
	limit := func(path string, n *int32, l **int64) {
		if n != nil {
			r.problems.AtLeast(path, int64(*n), 0)
			*l = history.Keep(int64(*n))
		}
	}
	limit("spec.successfulJobsHistoryLimit", r.spec.SuccessfulJobsHistoryLimit, &limits.Succeeded)
	limit("spec.failedJobsHistoryLimit", r.spec.FailedJobsHistoryLimit, &limits.Failed)
	if job := r.spec.JobTargetRef; job != nil && job.TTLSecondsAfterFinished != nil {
		limits.Age = history.After(time.Duration(*job.TTLSecondsAfterFinished) * time.Second)
	}
	return limits
}

func (r *reader) rollout() rollout.Policy {
	const old, now, strategies = "spec.rolloutStrategy", "spec.rollout.strategy", "gradual, drain or immediate (default is the same as immediate)"
	p := rollout.DefaultPolicy()
	deprecated := p.Strategy
	hasOld := parsed(r, old, r.spec.RolloutStrategy, &deprecated, strategies)
	hasNow := parsed(r, now, r.spec.Rollout.Strategy, &p.Strategy, strategies)
	switch {
	case hasOld && hasNow && deprecated != p.Strategy:
		r.problems.Add(field.Error{Path: old, Found: fmt.Sprintf("%q, while %s is %q", r.spec.RolloutStrategy, now, r.spec.Rollout.Strategy),
			Fix: "only " + now + "; rolloutStrategy is deprecated"})
	case hasOld && !hasNow:
		p.Strategy = deprecated
		r.warnings.Check(false, old, r.spec.RolloutStrategy, now+"; rolloutStrategy is deprecated")
	}
	parsed(r, "spec.rollout.propagationPolicy", r.spec.Rollout.PropagationPolicy, &p.Propagation,
		"background, foreground or orphan")
	for _, w := range field.All(p.Warnings()) {
		r.warnings.Add(field.Error{Path: "spec.rollout.propagationPolicy", Found: w.Found, Fix: w.Fix})
	}
	return p
}

// paused accepts the spellings of strconv.ParseBool, as KEDA does.
func (r *reader) paused(annotations map[string]string) bool {
	text, ok := annotations[AnnotationPaused]
	paused, err := strconv.ParseBool(text)
	r.problems.Check(!ok || err == nil, "metadata.annotations["+AnnotationPaused+"]", text, `"true" or "false"; until then it means paused`)
	return ok && (paused || err != nil)
}
