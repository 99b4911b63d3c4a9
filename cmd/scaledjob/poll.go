package main

import (
	"cmp"
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A poll holds all decisions of a poll of a ScaledJob.
type poll struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace,omitempty"`
	Release   release   `json:"release"`
	Create    *creation `json:"create,omitempty"`  // nil without a queue length
	Rollout   *removal  `json:"rollout,omitempty"` // nil without Jobs
	Prune     *removal  `json:"prune,omitempty"`   // nil without Jobs
	Notes     []string  `json:"notes,omitempty"`
}

// A creation is the number of Jobs to create, and why.
type creation struct {
	Jobs     int64  `json:"jobs"`
	Rule     string `json:"rule"`
	Panic    bool   `json:"panic,omitempty"`
	Decision any    `json:"decision"`
	trace    string
}

// A removal is the Jobs that a part of a poll deletes, in this order.
type removal struct {
	Jobs    []deletion `json:"jobs"`
	Rule    string     `json:"rule,omitempty"`    // the reason, if it is the same for all
	Nothing string     `json:"nothing,omitempty"` // the reason why no Job is deleted
	Panic   bool       `json:"panic,omitempty"`
	Fault   string     `json:"fault,omitempty"` // at which KEDA stops after these Jobs
}

// A deletion is a Job that is deleted.
type deletion struct {
	Name   string `json:"name"`
	Why    string `json:"why"`
	Detail string `json:"detail,omitempty"`
}

// A situation holds the inputs of a poll.
type situation struct {
	triggers []manifest.Trigger
	targets  map[string]float64
	lengths  []float64          // of the queues; nil if they are not given
	counts   *scaling.JobCounts // of Jobs, if there is no dump
	dump     *dump              // nil if only counts are given
}

// poll returns the decisions of a poll.
func (r release) poll(m *scaledJob, s *situation) (*poll, error) {
	p := &poll{Name: m.name(), Namespace: m.spec.Namespace, Release: r}
	o, err := s.jobs(m, r)
	if err != nil {
		return nil, err
	}
	if o != nil && !o.complete && slices.ContainsFunc(o.jobs, func(j batchv1.Job) bool { return j.Status.Active > 0 }) {
		p.Notes = append(p.Notes, "the dump has no pods; a Job is pending if its status counts no ready or succeeded pod")
		if len(m.spec.Spec.ScalingStrategy.PendingPodConditions) > 0 {
			p.Notes = append(p.Notes, "the dump has no pods; spec.scalingStrategy.pendingPodConditions is not checked")
		}
	}
	if o != nil && m.spec.Generation == 0 {
		p.Notes = append(p.Notes, "metadata.generation: not known, so no Job is outdated; use the manifest from the cluster, or --generation 7")
	}
	if r.profile != nil {
		p.keda(*r.profile, m, s, o)
		return p, nil
	}
	return p, p.specified(m, s, o)
}

func (s *situation) jobs(m *scaledJob, r release) (*owned, error) {
	if s.dump == nil {
		return nil, nil
	}
	return s.dump.of(m, r)
}

// keda sets the decisions of a KEDA release.
func (p *poll) keda(profile keda.Profile, m *scaledJob, s *situation, o *owned) {
	var all []keda.Scaler
	if s.lengths != nil {
		all = scalers(s.triggers, s.lengths)
	}
	var jobs []keda.Job
	var counts keda.JobCounts
	if o != nil {
		jobs = o.kedaJobs()
		counts = profile.Count(m.keda, jobs)
	} else {
		counts = keda.JobCounts{Running: s.counts.Running, Pending: s.counts.Pending}
	}
	if s.lengths != nil {
		d := profile.Decide(m.keda, keda.State{Scalers: all, Running: counts.Running, Pending: counts.Pending})
		p.Create = &creation{Jobs: d.Create, Rule: textOf(d.Reason), Panic: d.Fault.Panics(), Decision: d, trace: d.String()}
	}
	if o != nil {
		p.Rollout, p.Prune = p.Release.rollout(o, jobs), p.Release.prune(o, jobs)
	}
	p.Notes = append(p.Notes, p.Release.notes(m, all)...)
}

// notes are the features that a release lacks and the fields that it rejects.
func (r release) notes(m *scaledJob, scalers []keda.Scaler) []string {
	var notes []string
	for _, err := range []error{r.profile.Validate(m.keda, scalers...), m.strict} {
		if err != nil {
			notes = append(notes, strings.Split(err.Error(), "\n")...)
		}
	}
	return notes
}

func (r release) rollout(o *owned, jobs []keda.Job) *removal {
	d := &removal{Jobs: []deletion{}}
	rule := r.profile.Rule("rollout").Text
	if o.spec.Generation == 0 && !r.rollsOut(0) && r.rollsOut(1) {
		d.Nothing = "metadata.generation is not known"
		return d
	}
	done := r.profile.Rollout(o.keda, jobs)
	for _, i := range done.Deleted {
		why := o.older(&o.jobs[i])
		if r.rollsOut(0) {
			why, d.Rule = "of any generation", rule
		}
		d.Jobs = append(d.Jobs, deletion{o.jobs[i].Name, why, done.PropagationPolicy})
	}
	switch {
	case len(d.Jobs) > 0:
	case !r.rollsOut(1):
		d.Nothing = rule
	case r.paused(o.scaledJob):
		d.Nothing = "the ScaledJob is paused"
	case o.none() != "":
		d.Nothing = o.none()
	case done.Strategy == "gradual":
		d.Nothing = "the rollout strategy is gradual"
	default:
		d.Nothing = fmt.Sprintf("all are of generation %d", o.spec.Generation)
	}
	return d
}

// rollsOut reports whether a release, by default, deletes a Job n generations older than
// the ScaledJob.
func (r release) rollsOut(n int64) bool {
	const current = 2
	job := keda.Job{Annotations: map[string]string{manifest.AnnotationGeneration: strconv.FormatInt(current-n, 10)}}
	return r.profile.Rollout(&keda.ScaledJob{Generation: current}, []keda.Job{job}).Deleted != nil
}

func (r release) prune(o *owned, jobs []keda.Job) *removal {
	h := r.profile.History(o.keda, jobs)
	d := &removal{Jobs: []deletion{}, Panic: h.Fault.Panics()}
	if d.Panic {
		d.Fault = h.Fault.String()
	}
	for _, i := range h.Deleted {
		d.Jobs = append(d.Jobs, finished(&o.jobs[i]))
	}
	switch {
	case len(d.Jobs) > 0:
	case d.Panic:
		d.Nothing = d.Fault
	case r.paused(o.scaledJob):
		d.Nothing = "the ScaledJob is paused; KEDA then deletes no finished Jobs"
	default:
		d.Nothing = cmp.Or(o.none(), "no more have finished than are kept")
	}
	return d
}

// finished describes a finished Job by its outcome and the time of it.
func finished(j *batchv1.Job) deletion {
	d := deletion{Name: j.Name}
	for _, c := range j.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		at := c.LastTransitionTime
		if d.Why = "failed"; c.Type == batchv1.JobComplete {
			d.Why = "succeeded"
		}
		if j.Status.CompletionTime != nil {
			at = *j.Status.CompletionTime
		}
		if !at.IsZero() {
			d.Detail = "finished " + at.UTC().Format(time.RFC3339)
		}
		break
	}
	return d
}

// older describes the generation of a Job.
func (o *owned) older(j *batchv1.Job) string {
	if g := j.Annotations[manifest.AnnotationGeneration]; g != "" {
		return fmt.Sprintf("of generation %s, not %d", g, o.spec.Generation)
	}
	return "of an unknown generation"
}

// specified sets the decisions of the specification.
func (p *poll) specified(m *scaledJob, s *situation, o *owned) error {
	if m.strict != nil {
		return m.strict
	}
	config, err := scaledjob.Configure(m.spec, s.targets)
	if err != nil {
		return err
	}
	for _, w := range config.Warnings {
		p.Notes = append(p.Notes, w.Error())
	}
	var inputs []scaling.Metric
	if s.lengths != nil {
		inputs = metrics(s.triggers, s.lengths)
	}
	if o == nil {
		p.decided(scaling.Decide(config.Target.Policy, scaling.State{Metrics: inputs, Jobs: s.counts}), s)
		return nil
	}
	plan, err := o.plan(config.Target, inputs)
	if err != nil {
		return err
	}
	p.decided(plan.Decision, s)
	p.removals(config.Target, plan, o)
	return nil
}

func (p *poll) decided(d scaling.Decision, s *situation) {
	if s.lengths != nil {
		p.Create = &creation{Jobs: d.Create, Rule: textOf(d.Rule), Decision: d, trace: d.String()}
	}
}

// textOf returns the name that JSON has.
func textOf(value encoding.TextMarshaler) string {
	text, err := value.MarshalText()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// plan plans a poll from the dump.
func (o *owned) plan(t adapter.Target, inputs []scaling.Metric) (adapter.Plan, error) {
	t.Owner = adapter.OwnerOf(o.spec, manifest.GroupVersionKind)
	t.Owner.UID, t.Owner.Namespace = cmp.Or(o.uid, "unknown"), cmp.Or(o.spec.Namespace, "default")
	if t.Revision.Generation == 0 {
		t.Rollout.Strategy = rollout.Gradual
	}
	jobs, pods := slices.Clone(o.jobs), o.podsWithUIDs()
	for i := range pods {
		if len(jobs) > 0 && pods[i].Namespace == jobs[0].Namespace {
			pods[i].Namespace = t.Owner.Namespace
		}
	}
	for i := range jobs { // all are in the same namespace, which the manifest may leave out
		jobs[i].Namespace = t.Owner.Namespace
	}
	if !o.complete {
		t.PendingPodConditions = nil
	}
	observed, err := adapter.Observe(t, adapter.Options{Pods: o.complete}, jobs, pods)
	if err != nil {
		return adapter.Plan{}, err
	}
	return observed.Plan(t.Owner.UID, inputs, time.Time{}), nil
}

// removals fills in the Jobs that a plan deletes.
func (p *poll) removals(t adapter.Target, plan adapter.Plan, o *owned) {
	p.Rollout, p.Prune = &removal{Jobs: []deletion{}}, &removal{Jobs: []deletion{}}
	for _, d := range plan.Delete {
		i := slices.IndexFunc(o.jobs, func(j batchv1.Job) bool { return j.Name == d.Name })
		if d.Reason == adapter.HistoryLimit {
			p.Prune.Jobs = append(p.Prune.Jobs, finished(&o.jobs[i]))
		} else {
			p.Rollout.Jobs = append(p.Rollout.Jobs, deletion{d.Name, o.older(&o.jobs[i]), d.Propagation.String()})
		}
	}
	if len(p.Prune.Jobs) == 0 {
		p.Prune.Nothing = cmp.Or(o.none(), "no more have finished than are kept")
	}
	switch {
	case len(p.Rollout.Jobs) > 0:
	case t.Policy.Paused:
		p.Rollout.Nothing = "the ScaledJob is paused"
	case o.none() != "":
		p.Rollout.Nothing = o.none()
	case t.Rollout.Strategy == rollout.Gradual:
		p.Rollout.Nothing = "the rollout strategy is gradual"
	case o.spec.Generation == 0:
		p.Rollout.Nothing = "metadata.generation is not known"
	case t.Rollout.Strategy == rollout.Drain:
		p.Rollout.Nothing = fmt.Sprintf("no Job that has not started is of a generation below %d", o.spec.Generation)
	default:
		p.Rollout.Nothing = fmt.Sprintf("no unfinished Job is of a generation below %d", o.spec.Generation)
	}
}
