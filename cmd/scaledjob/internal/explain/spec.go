package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

func (p *Poll) specified(m *input.ScaledJob, s *situation, o *cluster.Owned) error {
	if m.Strict != nil {
		return m.Strict
	}
	config, err := scaledjob.Configure(m.Spec, s.targets)
	if err != nil {
		return err
	}
	for _, w := range config.Warnings {
		p.Notes = append(p.Notes, w.Error())
	}
	var inputs []scaling.Metric
	if s.lengths != nil {
		inputs = input.Metrics(s.triggers, s.lengths)
		for i := range inputs {
			trigger := &m.Spec.Spec.Triggers[i]
			how, _ := triggers.Counts(trigger.Type, keda.Newest().Release(), triggers.Input{Metadata: trigger.Metadata})
			inputs[i].WaitingOnly = how == triggers.LeavesOut
			for _, w := range field.All(config.Target.Policy.Warnings(inputs[i])) {
				note := field.Error{Path: fmt.Sprintf("spec.triggers[%d]", i), Found: trigger.Type, Fix: w.Fix}
				p.Notes = append(p.Notes, note.Error())
			}
		}
	}
	if o == nil {
		p.decided(scaling.Decide(config.Target.Policy, scaling.Observation{Metrics: inputs, Jobs: s.counts}), s)
		return nil
	}
	config.Target.Revision.TemplateHash = m.TemplateHash
	plan, err := planOf(o, config.Target, inputs)
	if err != nil {
		return err
	}
	p.decided(plan.Decision, s)
	p.removals(config.Target, plan, o)
	return nil
}

func (p *Poll) decided(d scaling.Decision, s *situation) {
	if s.lengths != nil {
		p.Create = &creation{Jobs: d.Create, Rule: string(d.Reason), Decision: d, Trace: d.String()}
	}
}

func planOf(o *cluster.Owned, t adapter.Target, inputs []scaling.Metric) (adapter.Plan, error) {
	t.Owner = adapter.OwnerOf(o.Spec, manifest.GroupVersionKind)
	t.Owner.UID, t.Owner.Namespace = cmp.Or(o.UID, "unknown"), cmp.Or(o.Spec.Namespace, "default")
	if t.Revision.Generation == 0 {
		t.Rollout.Strategy = rollout.Gradual
	}
	jobs, pods := make([]batchv1.Job, len(o.Jobs)), o.PodsWithUIDs()
	for i := range pods {
		if len(jobs) > 0 && pods[i].Namespace == o.Jobs[0].Namespace {
			pods[i].Namespace = t.Owner.Namespace
		}
	}
	for i, j := range o.Jobs { // all are in the same namespace, which the manifest may leave out
		jobs[i] = j.Whole(t.Owner.Namespace)
	}
	if !o.Complete {
		t.PendingPodConditions = nil
	}
	observed, err := adapter.Observe(t, adapter.Options{Pods: o.Complete}, jobs, pods)
	if err != nil {
		return adapter.Plan{}, err
	}
	return observed.Plan(t.Owner.UID, inputs, time.Time{}), nil
}

func (p *Poll) removals(t adapter.Target, plan adapter.Plan, o *cluster.Owned) {
	p.Rollout, p.Prune = &removal{Jobs: []deletion{}}, &removal{Jobs: []deletion{}}
	for _, d := range plan.Delete {
		i := slices.IndexFunc(o.Jobs, func(j *cluster.Job) bool { return j.Name == d.Name })
		if d.Reason == adapter.HistoryLimit {
			p.Prune.Jobs = append(p.Prune.Jobs, finished(o.Jobs[i]))
		} else {
			p.Rollout.Jobs = append(p.Rollout.Jobs, deletion{d.Name, olderThan(o, o.Jobs[i]), d.Propagation.String()})
		}
	}
	if len(p.Prune.Jobs) == 0 {
		p.Prune.Idle = cmp.Or(o.NoJobs(), "no more have finished than are kept")
	}
	switch {
	case len(p.Rollout.Jobs) > 0:
	case t.Policy.Paused:
		p.Rollout.Idle = "the ScaledJob is paused"
	case o.NoJobs() != "":
		p.Rollout.Idle = o.NoJobs()
	case t.Rollout.Strategy == rollout.Gradual:
		p.Rollout.Idle = "the rollout strategy is gradual"
	case o.Spec.Generation == 0:
		p.Rollout.Idle = "metadata.generation is not known"
	case unknownTemplates(o) > 0:
		p.Rollout.Idle = fmt.Sprintf("the template of %s is not known: no annotation %s, so none is outdated",
			field.Plural(unknownTemplates(o), "unfinished Job"), adapter.AnnotationTemplateHash)
	case t.Rollout.Strategy == rollout.Drain:
		p.Rollout.Idle = "no Job that has not started is of another template and generation"
	default:
		p.Rollout.Idle = "no unfinished Job is of another template and generation"
	}
}

// unknownTemplates counts the unfinished Jobs of older generations without a hash of their template, as KEDA makes them.
func unknownTemplates(o *cluster.Owned) (n int) {
	for _, j := range o.Jobs {
		generation, _ := strconv.ParseInt(j.Annotations[manifest.AnnotationGeneration], 10, 64) // 0 is unknown
		if !cluster.Finished(j) && j.Annotations[adapter.AnnotationTemplateHash] == "" && generation < o.Spec.Generation {
			n++
		}
	}
	return n
}
