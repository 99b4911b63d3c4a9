package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

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
	plan, err := planOf(o, config.Target, inputs)
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

// planOf plans a poll from the dump.
func planOf(o *owned, t adapter.Target, inputs []scaling.Metric) (adapter.Plan, error) {
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
			p.Rollout.Jobs = append(p.Rollout.Jobs, deletion{d.Name, olderThan(o, &o.jobs[i]), d.Propagation.String()})
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
