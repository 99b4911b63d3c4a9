package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
)

// unsupported returns the first release with all features of the line, or "" if this
// release has them.
func (q *question) unsupported() string {
	needs := []error{q.profile.Validate(q.job, q.scalers...)}
	if q.Kind == "pending" {
		needs = append(needs, q.profile.Supports(keda.PendingCount))
	}
	newest := ""
	for _, err := range input.Problems(errors.Join(needs...)) {
		var lacks *keda.UnsupportedError
		if errors.As(err, &lacks) && (newest == "" || index(lacks.Since) > index(newest)) {
			newest = lacks.Since
		}
	}
	return newest
}

// index returns the position of a release among all releases.
func index(first string) int {
	return slices.IndexFunc(keda.Releases(), func(r string) bool { return r == first || r == first+".0" })
}

// A question is a line that a release is to answer.
type question struct {
	*line
	profile keda.Profile
	job     *keda.ScaledJob
	scalers []keda.Scaler
}

var kedaKinds = map[string]func(*question) pairs{
	"create":             (*question).decide,
	"aggregate":          (*question).aggregate,
	"strategy":           (*question).scale,
	"strategy-select":    (*question).selectStrategy,
	"replicas":           (*question).replicas,
	"target-average":     (*question).targetAverage,
	"pending":            (*question).count,
	"history":            (*question).history,
	"rollout":            (*question).rollOut,
	"rollout-precedence": (*question).precedence,
	"paused":             (*question).paused,
	"generate":           (*question).generate,
}

// scaledJob returns the manifest of the line.
func (l *line) scaledJob(p keda.Profile) *keda.ScaledJob {
	j := &keda.ScaledJob{
		Name: l.Name, Namespace: l.Namespace, Generation: l.Generation, Labels: l.Labels, Annotations: l.Annotations,
		Spec: keda.Spec{
			MinReplicaCount: l.MinReplicaCount, MaxReplicaCount: l.MaxReplicaCount,
			SuccessfulJobsHistoryLimit: l.SuccessfulJobsHistoryLimit, FailedJobsHistoryLimit: l.FailedJobsHistoryLimit,
			RolloutStrategy: l.RolloutStrategy, Rollout: l.Rollout,
			ScalingStrategy: l.ScalingStrategy,
		},
	}
	j.RestartPolicy = l.RestartPolicy
	if l.Kind == "rollout" && l.Strategy != "" {
		j.Spec.ScalingStrategy.Strategy = ""
		if p.Supports(keda.RolloutFields) != nil {
			j.Spec.RolloutStrategy = l.Strategy
		} else {
			j.Spec.Rollout.Strategy = l.Strategy
		}
	}
	return j
}

func (l *line) scalers() []keda.Scaler {
	scalers := make([]keda.Scaler, len(l.Scalers))
	for i := range l.Scalers {
		s := &l.Scalers[i]
		k := &scalers[i]
		k.QueueLength, k.Target, k.Failed = float64(s.QueueLength), float64(s.Target), s.failed()
		k.MaxValue = (*float64)(s.MaxValue)
		k.ActivationThreshold, k.Activity = float64(s.ActivationTarget), s.activity()
		for _, m := range s.Metrics {
			k.Metrics = append(k.Metrics, keda.Metric{
				Name: m.Name, Value: float64(m.Value), AverageValue: float64(m.AverageValue),
				Activity: m.activity(), Failed: bool(m.Error), Resource: m.Resource,
			})
		}
	}
	return scalers
}

func (l *line) kedaJobs() []keda.Job {
	var jobs []keda.Job
	for _, j := range l.Jobs {
		k := keda.Job{Name: j.Name, Annotations: j.Annotations, CompletionTime: j.CompletionTime, Conditions: kedaConditions(j.Conditions)}
		for _, p := range j.Pods {
			k.Pods = append(k.Pods, keda.Pod{Phase: p.Phase, Conditions: kedaConditions(p.Conditions)})
		}
		jobs = append(jobs, k)
	}
	return jobs
}

func kedaConditions(list []condition) []keda.Condition {
	var conditions []keda.Condition
	for _, c := range list {
		conditions = append(conditions, keda.Condition{Type: c.Type, Status: c.Status})
	}
	return conditions
}

func (q *question) decide() pairs {
	d := q.profile.Decide(q.job, keda.State{Scalers: q.scalers, Running: q.Running, Pending: q.Pending, JobsUnknown: q.JobsUnknown})
	return append(pairs{
		"isActive", d.Demand.Active, "queueLength", d.Demand.QueueLength, "target", d.Demand.MaxScale,
		"create", d.Create, "total", q.Running + d.Create, "effectiveMaxScale", d.EffectiveMaxScale, "scaleTo", d.ScaleTo,
	}.faulty(d.Fault), "trace", d.String())
}

func (q *question) aggregate() pairs {
	d := q.profile.Aggregate(q.job, q.scalers)
	return pairs{"isActive", d.Active, "queueLength", d.QueueLength, "maxScale", d.MaxScale}.faulty(d.Fault)
}

func (l *line) load() strategy.Load {
	return strategy.Load{Target: l.MaxScale, Running: l.Running, Pending: l.Pending, Max: value(l.MaxReplicaCount, defaultLimit)}
}

func (q *question) scale() pairs {
	s, l := q.profile.Strategy(q.job), q.load()
	scale := s.Scale(l, q.ScaleTo)
	return pairs{"effectiveMaxScale", scale.EffectiveMaxScale, "scaleTo", scale.ScaleTo, "trace", fmt.Sprintf("release   %v\nstrategy  %v; at T=%d R=%d P=%d M=%d it proposes %d",
		q.profile, s, l.Target, l.Running, l.Pending, l.Max, scale.EffectiveMaxScale)}.faulty(scale.Fault)
}

func (q *question) selectStrategy() pairs {
	return pairs{"selected", q.profile.Strategy(q.job).Name()}
}

func (q *question) replicas() pairs {
	r := q.profile.Replicas(q.job)
	return pairs{"min", r.Min, "queueMax", r.QueueMax}.faulty(r.Fault)
}

func (q *question) targetAverage() pairs {
	var s keda.Scaler
	for _, v := range q.AverageValues {
		s.Metrics = append(s.Metrics, keda.Metric{AverageValue: float64(v)})
	}
	return pairs{"target", Number(q.profile.TargetAverage(&s))}
}

func (q *question) count() pairs {
	c := q.profile.Count(q.job, q.kedaJobs())
	return pairs{"running", c.Running, "pending", c.Pending}
}

func (q *question) history() pairs {
	jobs := q.kedaJobs()
	h := q.profile.History(q.job, jobs)
	return q.deletion("history", "keep "+q.limits().String(), jobs, h.Deleted, func(j keda.Job) string {
		state := "unfinished"
		for _, c := range slices.Backward(j.Conditions) {
			if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
				state = c.Type // the first one counts
			}
		}
		if j.CompletionTime != nil {
			state += " at " + j.CompletionTime.UTC().Format(time.RFC3339)
		}
		return state
	}).faulty(h.Fault)
}

func (q *question) rollOut() pairs {
	jobs := q.kedaJobs()
	r := q.profile.Rollout(q.job, jobs)
	settings := fmt.Sprintf("strategy %q at generation %d", r.Strategy, q.Generation)
	return append(q.deletion("rollout", settings, jobs, r.Deleted, func(j keda.Job) string {
		return "generation " + cmp.Or(j.Annotations[manifest.AnnotationGeneration], "unknown")
	}), "propagationPolicy", r.PropagationPolicy)
}

// deletion returns the names of the Jobs that a release deletes. The trace has the rule of the behavior, and
// the state of each Job.
func (q *question) deletion(behavior, settings string, jobs []keda.Job, chosen []int, state func(keda.Job) string) pairs {
	head := fmt.Sprintf("release   %v\nrule      %s\n%-9s %s", q.profile, q.profile.Rule(behavior).Text, behavior, settings)
	if q.profile.Paused(q.job) {
		head += "\npaused    no Job is deleted"
	}
	deleted, rows := []string{}, []row(nil)
	for _, j := range jobs {
		rows = append(rows, row{j.Name, state(j), "keep"})
	}
	for _, i := range chosen {
		deleted, rows[i].decision = append(deleted, jobs[i].Name), "delete"
	}
	return pairs{"deleted", deleted, "trace", trace(head, rows)}
}

func (q *question) precedence() pairs { return pairs{"effective", q.profile.RolloutStrategy(q.job)} }

func (q *question) paused() pairs { return pairs{"paused", q.profile.Paused(q.job)} }

func (q *question) generate() pairs {
	g, tracking := q.profile.Generate(q.job, cmp.Or(q.Build, "main")), q.profile.TrackingLabel()
	return pairs{
		"generateName", g.GenerateName, "labels", g.Labels, "annotations", g.Annotations, "restartPolicy", g.RestartPolicy,
		"podLabels", g.PodLabels, "jobLabel", map[string]string{tracking: g.Labels[tracking]}, "countedAsRunning", g.Tracked,
	}
}
