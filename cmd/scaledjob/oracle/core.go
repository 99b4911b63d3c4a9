package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// defaultLimit is the maximum, and each limit of the history, of a manifest without them.
const defaultLimit = 100

func value(n *int32, absent int64) int64 {
	if n == nil {
		return absent
	}
	return int64(*n)
}

var coreKinds = map[string]func(*line) (pairs, error){
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

// policy returns the scaling policy of the line, or all problems, joined.
func (l *line) policy() (p scaling.Policy, err error) {
	var problems field.Errors
	p.Bounds = scaling.Bounds{Min: value(l.MinReplicaCount, 0), Max: value(l.MaxReplicaCount, defaultLimit)}
	if l.Min != "" {
		problems.Check(p.Bounds.Mode.UnmarshalText([]byte(l.Min)) == nil, "min", l.Min, "additive or floor")
	}
	if c := l.MultipleScalersCalculation; c != "" {
		problems.Check(p.Aggregation.UnmarshalText([]byte(c)) == nil, "multipleScalersCalculation", c, "one of "+strings.Join(scaling.Aggregations(), ", "))
	}
	p.Strategy, err = l.strategy()
	problems.Join("", err)
	p.HoldOnFailure, p.Paused = l.Hold, l.Paused
	return p, problems.Err()
}

// strategy returns default for custom without a percentage, as documented.
func (l *line) strategy() (strategy.Strategy, error) {
	var problems field.Errors
	problems.Check(l.Accurate == "" || l.Accurate == "subtractPending", "accurate", l.Accurate, "subtractPending")
	s, err := strategy.FromSpec(l.Strategy, l.Parameters)
	if _, ok := s.(strategy.Accurate); ok {
		s = strategy.Accurate{SubtractPending: l.Accurate != ""}
	}
	problems.Join("", err)
	return s, problems.Err()
}

func (l *line) metrics() ([]scaling.Metric, error) {
	var problems field.Errors
	metrics := make([]scaling.Metric, len(l.Scalers))
	for i := range l.Scalers {
		s, m, path := &l.Scalers[i], &metrics[i], fmt.Sprintf("scalers[%d].", i)
		m.Value, m.Target, m.Failed = float64(s.QueueLength), float64(s.Target), s.failed()
		m.ActivationThreshold = float64(s.ActivationTarget)
		m.Activity = s.activity()
		if s.Metrics != nil {
			problems.Add(field.Error{Path: path + "metrics", Found: "a list, which only releases of KEDA have", Fix: "queueLength and target"})
		}
		if s.MaxValue != nil && !m.Failed {
			var ok bool
			if m.Target, ok = targetOf(m.Value, float64(*s.MaxValue)); !ok {
				problems.Add(field.Error{Path: path + "maxValue", Found: fmt.Sprintf("%v at a queueLength of %v, which no target gives", float64(*s.MaxValue), m.Value), Fix: "target"})
			}
		}
	}
	return metrics, problems.Err()
}

// targetOf returns a target with which a queue asks for this number of Jobs, if there is
// any. For no Jobs and a queue that is not empty, there is none, and 0 is unreadable.
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

// counts returns the counts of the line. Without the ages of pending Jobs, each that
// is neither suspended nor in flight is stuck.
func (l *line) counts() *scaling.JobCounts {
	c := &scaling.JobCounts{
		Running: l.Running, Pending: l.Pending, Terminating: l.Terminating, Suspended: l.Suspended, InFlight: l.InFlight,
		AgesUnknown: l.Stuck == nil,
	}
	if l.Stuck != nil {
		c.Stuck = *l.Stuck
	}
	return c
}

func (l *line) coreDecide() (pairs, error) {
	d, err := l.decision()
	return pairs{
		"isActive", d.Trace.Demand.Active > 0, "queueLength", Number(math.Ceil(d.Trace.Demand.Queue)), "target", d.Trace.Load.Target,
		"create", d.Create, "total", l.Running + d.Create, "rule", d.Reason, "trace", d.String(),
	}, err
}

func (l *line) decision() (scaling.Decision, error) {
	policy, state, err := l.poll()
	if err != nil {
		return scaling.Decision{}, err
	}
	return scaling.Decide(policy, state), nil
}

func (l *line) poll() (scaling.Policy, scaling.Observation, error) {
	policy, err := l.policy()
	metrics, problem := l.metrics()
	state := scaling.Observation{Metrics: metrics}
	if !l.JobsUnknown {
		state.Jobs = l.counts()
	}
	return policy, state, errors.Join(err, problem)
}

// Poll returns what a line of the specification asks to decide on.
func Poll(data []byte) (scaling.Policy, scaling.Observation, error) {
	l, err := read(data)
	if err != nil {
		return scaling.Policy{}, scaling.Observation{}, err
	}
	return l.poll()
}

// Load returns the strategy of a line of kind "strategy" and its load.
func Load(data []byte) (strategy.Strategy, strategy.Load, error) {
	l, err := read(data)
	if err != nil {
		return nil, strategy.Load{}, err
	}
	s, err := l.strategy()
	return s, l.limitedLoad(), err
}

func (l *line) coreAggregate() (pairs, error) {
	d, err := l.decision()
	return pairs{"isActive", d.Trace.Demand.Active > 0, "queueLength", Number(math.Ceil(d.Trace.Demand.Queue)), "maxScale", d.Trace.Load.Target}, err
}

func (l *line) corePropose() (pairs, error) {
	s, err := l.strategy()
	if err != nil {
		return nil, err
	}
	load := l.limitedLoad()
	proposal := s.Propose(load)
	return pairs{"effectiveMaxScale", proposal, "trace", fmt.Sprintf("strategy  %v; at T=%d R=%d P=%d S=%d M=%d it proposes %d",
		s, load.Target, load.Running, load.Pending, load.Stuck, load.Max, proposal)}, nil
}

// limitedLoad returns the load with the counts of Jobs as a decision limits them.
func (l *line) limitedLoad() strategy.Load {
	load, jobs := l.load(), scaling.Decide(scaling.Policy{}, scaling.Observation{Jobs: l.counts()}).Trace.Jobs
	load.Running, load.Pending, load.Stuck = jobs.Running, jobs.Pending, jobs.Stuck
	return load.Normalize()
}

func (l *line) coreSelect() (pairs, error) {
	s, err := l.strategy()
	name := l.Strategy
	if _, ok := s.(strategy.Default); ok {
		name = "default"
	}
	return pairs{"selected", name}, err
}

func (l *line) coreReplicas() (pairs, error) {
	policy, err := l.policy()
	highest := max(0, policy.Bounds.Max)
	lowest := min(max(0, policy.Bounds.Min), highest)
	if policy.Bounds.Mode == scaling.Floor {
		return pairs{"min", lowest, "queueMax", highest}, err
	}
	return pairs{"min", lowest, "queueMax", highest - lowest}, err
}

// corePaused reports whether the annotation pauses; an unreadable value pauses.
func (l *line) corePaused() (pairs, error) {
	state := l.Paused
	if l.Annotation != nil {
		parsed, err := strconv.ParseBool(*l.Annotation)
		state = err != nil || parsed
	}
	return pairs{"paused", state}, nil
}

// observe returns a tracker that knows the Jobs of the line, and their owner.
func (l *line) observe() (*adapter.Tracker, types.UID, error) {
	var prototype batchv1.Job
	prototype.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
	owner := adapter.Owner{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob", Namespace: "default", Name: "orders", UID: "owner"}
	controlledBy := func(kind string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, UID: uid, Controller: new(true)}}
	}
	var jobs []batchv1.Job
	var pods []corev1.Pod
	for i, j := range l.Jobs {
		uid := types.UID(strconv.Itoa(i))
		b := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.Name, Namespace: owner.Namespace, UID: uid, Annotations: j.Annotations, OwnerReferences: controlledBy(owner.Kind, owner.UID)}}
		b.CreationTimestamp = metav1.NewTime(j.CreationTimestamp)
		b.DeletionTimestamp, b.Status.CompletionTime = instant(j.DeletionTimestamp), instant(j.CompletionTime)
		b.Spec.Suspend = &j.Suspend
		for _, c := range j.Conditions {
			b.Status.Conditions = append(b.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), LastTransitionTime: metav1.NewTime(c.LastTransitionTime)})
		}
		for n, p := range j.Pods {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, UID: types.UID(fmt.Sprintf("%d-%d", i, n)), OwnerReferences: controlledBy("Job", uid)}, Status: corev1.PodStatus{Phase: corev1.PodPhase(p.Phase)}}
			for _, c := range p.Conditions {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(c.Type), Status: corev1.ConditionStatus(c.Status)})
			}
			pods = append(pods, pod)
		}
		jobs = append(jobs, b)
	}
	tracker, err := adapter.Observe(adapter.Target{Owner: owner, Job: &prototype, PendingPodConditions: l.PendingPodConditions}, adapter.Options{Pods: true}, jobs, pods)
	return tracker, owner.UID, err
}

func instant(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: *t}
}

func (l *line) coreCount() (pairs, error) {
	observed, owner, err := l.observe()
	if err != nil {
		return nil, err
	}
	c, _ := observed.Counts(owner, time.Time{})
	return pairs{"running", c.Running, "pending", c.Pending}, nil
}

// limits returns the history of the line, without an age.
func (l *line) limits() history.Policy {
	return history.Policy{
		Succeeded: history.Keep(value(l.SuccessfulJobsHistoryLimit, defaultLimit)),
		Failed:    history.Keep(value(l.FailedJobsHistoryLimit, defaultLimit)),
	}
}

func (l *line) coreHistory() (pairs, error) {
	policy := l.limits()
	if policy.Age = (*time.Duration)(l.Age); l.Age != nil && l.Now.IsZero() {
		return nil, &field.Error{Path: "now", Found: "nothing, beside an age", Fix: "the time of the question"}
	}
	observed, owner, err := l.observe()
	if err != nil {
		return nil, err
	}
	jobs, _ := observed.Jobs(owner)
	observation := history.Observation{Now: l.Now}
	for _, j := range jobs {
		observation.Jobs = append(observation.Jobs, history.Job{Name: j.Name, Outcome: history.Outcome(j.Phase.String()), Deleting: j.Deleting, Finished: j.Finished})
	}
	deleted, reasons := []string{}, map[int]string{}
	for _, d := range history.Decide(policy, observation).Delete {
		deleted = append(deleted, jobs[d.Index].Name)
		reasons[d.Index] = "delete: " + d.Reason.Text()
	}
	var rows []row
	for i, j := range jobs {
		state := j.Phase.String()
		if !j.Finished.IsZero() {
			state += " at " + j.Finished.UTC().Format(time.RFC3339)
		}
		if j.Deleting {
			state += ", being deleted"
		}
		rows = append(rows, row{j.Name, state, cmp.Or(reasons[i], "keep")})
	}
	return pairs{"deleted", deleted, "trace", trace("history   keep "+policy.String(), rows)}, nil
}

func (l *line) coreRollOut() (pairs, error) {
	policy, err := l.rolloutPolicy()
	if err != nil {
		return nil, err
	}
	observed, owner, err := l.observe()
	if err != nil {
		return nil, err
	}
	current := rollout.Revision{Generation: l.Generation, TemplateHash: l.TemplateHash}
	jobs, _ := observed.Jobs(owner)
	deleted, rows := []string{}, []row(nil)
	for _, j := range jobs {
		finished := j.Phase == adapter.Succeeded || j.Phase == adapter.Failed
		d := rollout.Decide(policy, rollout.Observation{Current: current,
			Job: rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted, Finished: finished, Deleting: j.Deleting}})
		if d.Delete {
			deleted = append(deleted, j.Name)
		}
		rows = append(rows, row{j.Name, revisionText(policy, j.Revision), d.String()})
	}
	head := fmt.Sprintf("rollout   %v at %s", policy.Strategy, revisionText(policy, current))
	return pairs{"deleted", deleted, "propagationPolicy", policy.Propagation, "trace", trace(head, rows)}, nil
}

// revisionText returns what a policy compares of a revision.
func revisionText(p rollout.Policy, r rollout.Revision) string {
	generation := "unknown"
	if r.Generation > 0 {
		generation = strconv.FormatInt(r.Generation, 10)
	}
	if p.EveryEdit {
		return "generation " + generation
	}
	return fmt.Sprintf("generation %s, template %s", generation, cmp.Or(r.TemplateHash, "unknown"))
}

// A row of a trace is a Job, what was read of it, and what was decided.
type row struct{ name, state, decision string }

// trace returns lines with names of 9 columns or more.
func trace(head string, rows []row) string {
	width := len("rollout  ")
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.name))
	}
	for _, r := range rows {
		head += fmt.Sprintf("\n%-*s %s; %s", width, r.name, r.state, r.decision)
	}
	return head
}

func (l *line) rolloutPolicy() (rollout.Policy, error) {
	var problems forms
	policy := rollout.Policy{Strategy: rollout.Immediate, EveryEdit: l.EveryEdit == nil || *l.EveryEdit}
	written := cmp.Or(l.Strategy, l.Rollout.Strategy, l.RolloutStrategy)
	problems.either("rolloutStrategy", l.RolloutStrategy, `rollout {"strategy"}`, l.Rollout.Strategy)
	if written != "" {
		problems.Check(policy.Strategy.UnmarshalText([]byte(written)) == nil, "rollout.strategy", written, "gradual, immediate or drain")
	}
	if p := l.Rollout.PropagationPolicy; p != "" {
		problems.Check(policy.Propagation.UnmarshalText([]byte(p)) == nil, "rollout.propagationPolicy", p, "background, foreground or orphan")
	}
	return policy, problems.Err()
}
