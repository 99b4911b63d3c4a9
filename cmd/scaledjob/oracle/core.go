package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

const defaultMax = 100

var coreKinds = map[string]func(*line) (any, error){
	"":                (*line).coreDecide,
	"create":          (*line).coreDecide,
	"aggregate":       (*line).coreAggregate,
	"strategy":        (*line).corePropose,
	"strategy-select": (*line).coreSelect,
	"replicas":        (*line).coreReplicas,
	"paused":          (*line).corePaused,
	"history":         (*line).coreHistory,
	"pending":         (*line).coreCount,
	"rollout":         (*line).coreRollOut,
}

// policy is what the line says about scaling; all problems are joined.
func (l *line) policy() (p scaling.Policy, err error) {
	var problems []error
	p.Bounds = scaling.Bounds{Max: defaultMax}
	if l.MinReplicaCount != nil {
		p.Bounds.Min = int64(*l.MinReplicaCount)
	}
	if l.MaxReplicaCount != nil {
		p.Bounds.Max = int64(*l.MaxReplicaCount)
	}
	switch l.Min {
	case "", "adds":
	case "floor":
		p.Bounds.Mode = scaling.Floor
	default:
		problems = append(problems, fmt.Errorf(`min: found %q: want adds or floor`, l.Min))
	}
	if c := l.calculation(); c != "" {
		if p.Aggregation, err = scaling.ParseAggregation(c); err != nil {
			problems = append(problems, fmt.Errorf("calculation: %w", err))
		}
	}
	if p.Strategy, err = l.strategy(); err != nil {
		problems = append(problems, err)
	}
	p.Paused = l.Paused
	return p, errors.Join(problems...)
}

// strategy is default for custom without a percentage, as documented.
func (l *line) strategy() (strategy.Strategy, error) {
	switch {
	case l.Accurate != "" && l.Accurate != "subtractPending":
		return nil, fmt.Errorf("accurate: found %q: want subtractPending", l.Accurate)
	case l.Accurate != "" && l.Strategy == "accurate":
		return strategy.Accurate{SubtractPending: true}, nil
	case l.Strategy == "" || l.Strategy == "custom" && l.CustomScalingRunningJobPercentage == "":
		return strategy.Default{}, nil
	case l.Strategy != "custom":
		s, err := strategy.Parse(l.Strategy)
		if err != nil {
			return nil, fmt.Errorf("strategy: %w", err)
		}
		return s, nil
	}
	percentage, err := strategy.ParsePercentage(string(l.CustomScalingRunningJobPercentage))
	if err != nil {
		return nil, fmt.Errorf("customScalingRunningJobPercentage: %w", err)
	}
	var deduction int64
	if n := l.CustomScalingQueueLengthDeduction; n != nil {
		deduction = int64(*n)
	}
	return strategy.NewCustom(deduction, percentage), nil
}

func (l *line) metrics() ([]scaling.Metric, error) {
	metrics := make([]scaling.Metric, len(l.Scalers))
	for i := range l.Scalers {
		s, m := &l.Scalers[i], &metrics[i]
		m.Value, m.Target, m.Failed = float64(s.QueueLength), float64(s.Target), s.failed()
		m.ActivationThreshold = float64(s.ActivationTarget)
		switch active := s.active(); {
		case active == nil:
		case *active:
			m.Activity = scaling.Active
		default:
			m.Activity = scaling.Inactive
		}
		if s.Metrics != nil {
			return nil, fmt.Errorf("scalers[%d].metrics: only a release of KEDA has several of one scaler: want queueLength and target", i)
		}
		if s.MaxValue != nil && !m.Failed {
			var ok bool
			if m.Target, ok = targetOf(m.Value, float64(*s.MaxValue)); !ok {
				return nil, fmt.Errorf("scalers[%d].maxValue: found %v at a queueLength of %v, which no target gives: want target", i, float64(*s.MaxValue), m.Value)
			}
		}
	}
	return metrics, nil
}

// targetOf returns the target under which a queue asks for a number of Jobs, if there
// is one. Any does where both are 0; no Jobs for a queue that is not empty is no
// target, 0, which is unreadable.
func targetOf(queue, jobs float64) (float64, bool) {
	switch {
	case queue == 0 && jobs == 0:
		return 1, true
	case queue > 0 && jobs <= 0:
		return 0, true
	case queue == 0:
		return 0, false
	}
	target := queue / jobs
	return target, !math.IsInf(target, 0)
}

// coreJobs are nil where they are not known.
func (l *line) coreJobs() *scaling.Jobs {
	if l.JobsUnknown {
		return nil
	}
	return &scaling.Jobs{
		Running: max(0, l.Running) - min(max(0, l.Terminating), max(0, l.Running)), Pending: l.Pending,
		Terminating: l.Terminating, Suspended: l.Suspended, Stuck: l.Stuck, InFlight: l.InFlight,
	}
}

// A coreDecision is the answer of the core.
type coreDecision struct {
	ID          json.RawMessage `json:"id"`
	IsActive    bool            `json:"isActive"`
	QueueLength number          `json:"queueLength"`
	Target      int64           `json:"target"`
	Create      int64           `json:"create"`
	Total       int64           `json:"total"`
	Trace       string          `json:"trace"`
}

func (l *line) coreDecide() (any, error) {
	d, err := l.decision()
	if err != nil {
		return nil, err
	}
	return coreDecision{l.ID, d.Trace.Demand.Active > 0, number(math.Ceil(d.Trace.Demand.Queue)), d.Trace.Load.Target, d.Create, l.Running + d.Create, d.String()}, nil
}

func (l *line) decision() (scaling.Decision, error) {
	policy, err := l.policy()
	metrics, problem := l.metrics()
	if err := errors.Join(err, problem); err != nil {
		return scaling.Decision{}, err
	}
	return scaling.Decide(policy, scaling.State{Metrics: metrics, Jobs: l.coreJobs()}), nil
}

func (l *line) coreAggregate() (any, error) {
	d, err := l.decision()
	if err != nil {
		return nil, err
	}
	return struct {
		ID          json.RawMessage `json:"id"`
		Active      bool            `json:"active"`
		QueueLength number          `json:"queueLength"`
		MaxScale    int64           `json:"maxScale"`
	}{l.ID, d.Trace.Demand.Active > 0, number(math.Ceil(d.Trace.Demand.Queue)), d.Trace.Load.Target}, nil
}

func (l *line) corePropose() (any, error) {
	s, err := l.strategy()
	if err != nil {
		return nil, err
	}
	load := l.load()
	load.Stuck = l.Stuck
	return struct {
		ID                json.RawMessage `json:"id"`
		EffectiveMaxScale int64           `json:"effectiveMaxScale"`
	}{l.ID, s.Propose(load)}, nil
}

func (l *line) coreSelect() (any, error) {
	s, err := l.strategy()
	if err != nil {
		return nil, err
	}
	name := l.Strategy
	if _, ok := s.(strategy.Default); ok {
		name = "default"
	}
	return selected{l.ID, name}, nil
}

func (l *line) coreReplicas() (any, error) {
	policy, err := l.policy()
	if err != nil {
		return nil, err
	}
	highest := max(0, policy.Bounds.Max)
	lowest := min(max(0, policy.Bounds.Min), highest)
	if policy.Bounds.Mode == scaling.Floor {
		return replicas{l.ID, lowest, highest}, nil
	}
	return replicas{l.ID, lowest, highest - lowest}, nil
}

// corePaused takes what does not parse for paused.
func (l *line) corePaused() (any, error) {
	is := l.Paused
	if l.Annotation != nil {
		parsed, err := strconv.ParseBool(*l.Annotation)
		is = err != nil || parsed
	}
	return paused{l.ID, is}, nil
}

const owner types.UID = "owner"

// fleet are the Jobs of the line, as the adapter sees them.
func (l *line) fleet() []adapter.Job {
	controlledBy := func(kind string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, UID: uid, Controller: new(true)}}
	}
	var jobs []batchv1.Job
	var pods []corev1.Pod
	for i, j := range l.jobs() {
		uid := types.UID(strconv.Itoa(i))
		b := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.Name, UID: uid, Annotations: j.annotations(), OwnerReferences: controlledBy("ScaledJob", owner)}}
		b.CreationTimestamp = metav1.NewTime(j.CreationTimestamp)
		b.DeletionTimestamp, b.Status.CompletionTime = instant(j.DeletionTimestamp), instant(j.CompletionTime)
		b.Spec.Suspend = &j.Suspend
		for _, c := range j.all() {
			b.Status.Conditions = append(b.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), LastTransitionTime: metav1.NewTime(c.LastTransitionTime)})
		}
		for _, p := range j.Pods {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: controlledBy("Job", uid)}, Status: corev1.PodStatus{Phase: corev1.PodPhase(p.Phase)}}
			for _, c := range p.all() {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(c.Type), Status: corev1.ConditionStatus(c.Status)})
			}
			pods = append(pods, pod)
		}
		jobs = append(jobs, b)
	}
	return adapter.Observation{Owner: owner, PodsKnown: true, PendingPodConditions: l.PendingPodConditions}.Classify(jobs, pods)
}

func instant(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: *t}
}

func (l *line) coreCount() (any, error) {
	c := adapter.Count(l.fleet(), time.Time{})
	return counts{l.ID, c.Running, c.Pending}, nil
}

func (l *line) coreHistory() (any, error) {
	limits := history.DefaultLimits()
	if n := l.SuccessfulJobsHistoryLimit; n != nil {
		limits.Succeeded = history.Keep(int(*n))
	}
	if n := l.FailedJobsHistoryLimit; n != nil {
		limits.Failed = history.Keep(int(*n))
	}
	return deleted{ID: l.ID, Deleted: l.plan(adapter.Config{History: limits})}, nil
}

func (l *line) coreRollOut() (any, error) {
	said := l.rollout()
	written := l.RolloutStrategy
	for _, other := range []string{said.Strategy, l.Strategy} {
		if written != "" && other != "" && written != other {
			return nil, fmt.Errorf("rolloutStrategy: found %q, while rollout.strategy is %q: want only rollout.strategy", written, other)
		}
		if other != "" {
			written = other
		}
	}
	policy := rollout.DefaultPolicy()
	var problems [2]error
	if written != "" {
		policy.Strategy, problems[0] = rollout.ParseStrategy(written)
	}
	if said.PropagationPolicy != "" {
		policy.Propagation, problems[1] = rollout.ParsePropagation(said.PropagationPolicy)
	}
	if err := errors.Join(problems[:]...); err != nil {
		return nil, err
	}
	names := l.plan(adapter.Config{Rollout: policy, Revision: rollout.Revision{Generation: l.Generation}})
	return deleted{l.ID, names, policy.Propagation.String()}, nil
}

// plan returns the names of the Jobs that a poll would delete.
func (l *line) plan(config adapter.Config) []string {
	plan := adapter.NewPlan(adapter.Poll{
		ScaledJob: &adapter.ScaledJob{}, Config: config, Owner: metav1.OwnerReference{UID: owner},
	}, adapter.NewFleet(l.fleet()))
	names := make([]string, 0, len(plan.Delete))
	for _, d := range plan.Delete {
		names = append(names, d.Name)
	}
	return names
}
