package oracle

import (
	"encoding/json"
	"errors"
	"slices"

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

func (l *line) ask(p keda.Profile) *question {
	return &question{l, p, l.scaledJob(p), l.scalers()}
}

var kedaKinds = map[string]func(*question) any{
	"":                   (*question).decide,
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
			RolloutStrategy: l.RolloutStrategy, Rollout: l.rollout(),
			ScalingStrategy: keda.ScalingStrategy{
				Strategy: l.Strategy, Parameters: l.parameters(),
				MultipleScalersCalculation: l.MultipleScalersCalculation, PendingPodConditions: l.PendingPodConditions,
			},
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
	if l.Annotation != nil {
		j.Annotations = map[string]string{manifest.AnnotationPaused: *l.Annotation}
	} else if l.Paused {
		j.Annotations = map[string]string{manifest.AnnotationPaused: "true"}
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
	for _, j := range l.jobs() {
		k := keda.Job{Name: j.Name, Annotations: j.annotations(), CompletionTime: j.CompletionTime, Conditions: kedaConditions(j.conditions())}
		for _, p := range j.Pods {
			k.Pods = append(k.Pods, keda.Pod{Phase: p.Phase, Conditions: kedaConditions(p.conditions())})
		}
		jobs = append(jobs, k)
	}
	return jobs
}

func kedaConditions(list []condition) []keda.Condition {
	var conditions []keda.Condition
	for _, c := range list {
		conditions = append(conditions, keda.Condition{Type: c.Type, Status: c.status()})
	}
	return conditions
}

// A decision is the answer of a release.
type decision struct {
	ID                json.RawMessage `json:"id"`
	IsActive          bool            `json:"isActive"`
	QueueLength       int64           `json:"queueLength"`
	Target            int64           `json:"target"`
	Create            int64           `json:"create"`
	Total             int64           `json:"total"`
	EffectiveMaxScale int64           `json:"effectiveMaxScale"`
	ScaleTo           int64           `json:"scaleTo"`
	WrapsAround       bool            `json:"wrapsAround,omitempty"`
	Trace             string          `json:"trace"`
}

func (q *question) decide() any {
	d := q.profile.Decide(q.job, keda.State{Scalers: q.scalers, Running: q.Running, Pending: q.Pending, JobsUnknown: q.JobsUnknown})
	if d.Fault.Panics() {
		return panics{q.ID, true, d.Fault.String(), d.String()}
	}
	return decision{
		ID: q.ID, IsActive: d.Demand.Active, QueueLength: d.Demand.QueueLength, Target: d.Demand.MaxScale,
		Create: d.Create, Total: q.Running + d.Create, EffectiveMaxScale: d.EffectiveMaxScale, ScaleTo: d.ScaleTo,
		WrapsAround: d.Fault == keda.WrapsAround, Trace: d.String(),
	}
}

type aggregate struct {
	ID          json.RawMessage `json:"id"`
	Active      bool            `json:"isActive"`
	QueueLength int64           `json:"queueLength"`
	MaxScale    int64           `json:"maxScale"`
	WrapsAround bool            `json:"wrapsAround,omitempty"`
}

func (q *question) aggregate() any {
	d := q.profile.Aggregate(q.job, q.scalers)
	if d.Fault.Panics() {
		return panics{q.ID, true, d.Fault.String(), ""}
	}
	return aggregate{q.ID, d.Active, d.QueueLength, d.MaxScale, d.Fault == keda.WrapsAround}
}

func (l *line) load() strategy.Load {
	load := strategy.Load{Target: l.MaxScale, Running: l.Running, Pending: l.Pending, Max: defaultMax}
	if l.MaxReplicaCount != nil {
		load.Max = int64(*l.MaxReplicaCount)
	}
	return load
}

func (q *question) scale() any {
	s := q.profile.Strategy(q.job).Scale(q.load(), q.ScaleTo)
	if s.Fault.Panics() {
		return panics{q.ID, true, s.Fault.String(), ""}
	}
	return struct {
		ID                json.RawMessage `json:"id"`
		EffectiveMaxScale int64           `json:"effectiveMaxScale"`
		ScaleTo           int64           `json:"scaleTo"`
		WrapsAround       bool            `json:"wrapsAround,omitempty"`
	}{q.ID, s.EffectiveMaxScale, s.ScaleTo, s.Fault == keda.WrapsAround}
}

type selected struct {
	ID       json.RawMessage `json:"id"`
	Selected string          `json:"selected"`
}

func (q *question) selectStrategy() any {
	return selected{q.ID, q.profile.Strategy(q.job).Name()}
}

type replicas struct {
	ID       json.RawMessage `json:"id"`
	Min      int64           `json:"min"`
	QueueMax int64           `json:"queueMax"`
}

func (q *question) replicas() any {
	r := q.profile.Replicas(q.job)
	if r.Fault.Panics() {
		return panics{q.ID, true, r.Fault.String(), ""}
	}
	return replicas{q.ID, r.Min, r.QueueMax}
}

func (q *question) targetAverage() any {
	var s keda.Scaler
	for _, v := range q.AverageValues {
		s.Metrics = append(s.Metrics, keda.Metric{AverageValue: float64(v)})
	}
	return struct {
		ID     json.RawMessage `json:"id"`
		Target number          `json:"target"`
	}{q.ID, number(q.profile.TargetAverage(&s))}
}

type counts struct {
	ID      json.RawMessage `json:"id"`
	Running int64           `json:"running"`
	Pending int64           `json:"pending"`
}

func (q *question) count() any {
	c := q.profile.Count(q.job, q.kedaJobs())
	return counts{q.ID, c.Running, c.Pending}
}

type deleted struct {
	ID                json.RawMessage `json:"id"`
	Deleted           []string        `json:"deleted"`
	PropagationPolicy string          `json:"propagationPolicy,omitempty"`
}

func names(jobs []keda.Job, chosen []int) []string {
	list := make([]string, 0, len(chosen))
	for _, i := range chosen {
		list = append(list, jobs[i].Name)
	}
	return list
}

func (q *question) history() any {
	jobs := q.kedaJobs()
	h := q.profile.History(q.job, jobs)
	if h.Fault.Panics() {
		return panics{q.ID, true, h.Fault.String(), ""}
	}
	return deleted{ID: q.ID, Deleted: names(jobs, h.Deleted)}
}

func (q *question) rollOut() any {
	jobs := q.kedaJobs()
	r := q.profile.Rollout(q.job, jobs)
	return deleted{q.ID, names(jobs, r.Deleted), r.PropagationPolicy}
}

func (q *question) precedence() any {
	return struct {
		ID        json.RawMessage `json:"id"`
		Effective string          `json:"effective"`
	}{q.ID, q.profile.RolloutStrategy(q.job)}
}

type paused struct {
	ID     json.RawMessage `json:"id"`
	Paused bool            `json:"paused"`
}

func (q *question) paused() any { return paused{q.ID, q.profile.Paused(q.job)} }

func (q *question) generate() any {
	build := q.Build
	if build == "" {
		build = "main"
	}
	g, tracking := q.profile.Generate(q.job, build), q.profile.TrackingLabel()
	return struct {
		ID               json.RawMessage   `json:"id"`
		GenerateName     string            `json:"generateName"`
		Labels           map[string]string `json:"labels"`
		Annotations      map[string]string `json:"annotations"`
		RestartPolicy    string            `json:"restartPolicy"`
		PodLabels        map[string]string `json:"podLabels"`
		JobLabel         map[string]string `json:"jobLabel"`
		CountedAsRunning bool              `json:"countedAsRunning"`
	}{q.ID, g.GenerateName, g.Labels, g.Annotations, g.RestartPolicy, g.PodLabels,
		map[string]string{tracking: g.Labels[tracking]}, g.Tracked}
}
