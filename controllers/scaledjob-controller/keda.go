package main

import (
	"context"
	"encoding/json"
	"flag"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

const (
	// kedaFinalizer is on each ScaledJob that KEDA's operator has seen.
	kedaFinalizer = "finalizer.keda.sh"
	// kedaCreates is how long a poll of KEDA's operator may create Jobs, beyond a polling interval.
	kedaCreates = time.Minute
	// releaseAgain is the time after which the finalizer is removed again.
	releaseAgain = 5 * time.Second
)

// A transition is for clusters that move from KEDA's operator to this controller, or back.
type transition struct {
	label   string
	release *keda.Profile // nil: decide as specified
	// failureBackoff slows down creates while every Job fails; not with a release.
	failureBackoff bool
}

func (o *transition) flags(flags *flag.FlagSet) {
	flags.StringVar(&o.label, "label", "", "`key` of the label of the ScaledJobs to serve, beside an operator of KEDA with WATCH_LABEL_SELECTOR=!key; the others are KEDA's")
	flags.BoolVar(&o.failureBackoff, "failure-backoff", false, "create a single Job at a time, after growing delays, while every Job fails; not with -as-keda")
	flags.Func("as-keda", "`release` of KEDA, such as 2.21, as which to decide how many Jobs to create, its faults included", func(name string) error {
		p, err := keda.Release(name)
		o.release = &p
		return err
	})
}

func (o *transition) check(problems *field.Errors) {
	problems.Check(!o.failureBackoff || o.release == nil, "-failure-backoff", o.failureBackoff, "nothing with -as-keda: KEDA creates Jobs at each poll")
	problems.Check(o.label == "" || len(validation.IsQualifiedName(o.label)) == 0, "-label", o.label, "the key of a label, such as scaledjob.github.io/serve")
}

// firstPoll returns the time from which a ScaledJob with the label is polled: KEDA's operator may
// have begun a poll just before it was labelled. A ScaledJob that loses the label and gets it
// again is new.
func (c *controller) firstPoll(s *stored) time.Time {
	if c.label == "" {
		return time.Time{}
	}
	var m struct {
		Spec struct {
			PollingInterval *int32 `json:"pollingInterval"`
		} `json:"spec"`
	}
	interval := 30 * time.Second
	if json.Unmarshal(s.manifest, &m) == nil && m.Spec.PollingInterval != nil {
		interval = time.Duration(*m.Spec.PollingInterval) * time.Second
	}
	at, _ := c.begin.LoadOrStore(s.UID, time.Now().Add(interval+kedaCreates))
	return at.(time.Time)
}

// watchLabels notes when ScaledJobs appear, also while another controller leads.
func (c *controller) watchLabels() error {
	_, err := c.watched.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { c.firstPoll(object.(*stored)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if s, ok := object.(*stored); ok {
				c.begin.Delete(s.UID)
			}
		},
	})
	return err
}

// follow changes a target for the decisions of a release of KEDA. Under custom, KEDA does not keep the
// maximum. KEDA takes each edit of the spec for one of the Jobs.
func (o *transition) follow(job *manifest.ScaledJob, target *adapter.Target) *keda.ScaledJob {
	if o.release == nil {
		return nil
	}
	target.Rollout.EveryEdit = target.Rollout.Strategy != rollout.Gradual
	j := job.KEDA()
	r := o.release.Replicas(j)
	if target.Policy.Bounds.Max = r.Min + r.QueueMax; j.Spec.ScalingStrategy.Strategy == "custom" {
		target.Policy.Bounds.Max = scaling.NoMax
	}
	return j
}

// slowDown gives a target a FailureBackoff, if that is asked for.
func (o *transition) slowDown(config *scaledjob.Config) {
	if o.failureBackoff {
		config.Target.FailureBackoff = adapter.NewFailureBackoff(config.PollingInterval)
	}
}

var kedaRules = map[keda.Reason]scaling.Reason{
	keda.ReasonMinimum: scaling.ReasonMin, keda.ReasonInactive: scaling.ReasonInactive, keda.ReasonPaused: scaling.ReasonPaused,
}

// decide replaces the number of Jobs of a plan by that of the release. While the Jobs are not known,
// or requests must have their effect first, no Job is created; KEDA creates some then.
func (o *transition) decide(p *adapter.Plan, job *keda.ScaledJob, metrics []scaling.Metric) {
	d := &p.Decision
	if job == nil || !d.Trace.JobsKnown || d.Reason == scaling.ReasonPaused { // releases before 2.11 know no pause
		return
	}
	for _, h := range p.Holds {
		if h.StopsCreates {
			return
		}
	}
	state := keda.State{Running: d.Trace.Jobs.Running + d.Trace.Jobs.Terminating, Pending: d.Trace.Jobs.Pending}
	for _, m := range metrics {
		state.Scalers = append(state.Scalers, keda.Scaler{QueueLength: m.Value, Target: m.Target, Activity: m.Activity, Failed: m.Failed})
	}
	decided := o.release.Decide(job, state)
	rule, found := kedaRules[decided.Reason]
	switch {
	case !found:
		d.Reason = scaling.ReasonStrategy
	case d.Reason != scaling.ReasonUnreadable || rule != scaling.ReasonInactive:
		d.Reason = rule
	}
	p.Create, d.Create = decided.Create, decided.Create
	d.Trace.Strategy, d.Trace.Load, d.Trace.Proposal = decided.Strategy.String(), decided.Load, decided.EffectiveMaxScale
}

// free removes KEDA's finalizer from a ScaledJob that is being deleted. KEDA's operator does not see
// this ScaledJob, which would stay for ever.
func (t *term) free(ctx context.Context, key cache.ObjectName) {
	object, _, _ := t.watched.GetStore().GetByKey(key.String())
	s, ok := object.(*stored)
	if !ok || s.DeletionTimestamp == nil {
		return
	}
	index := slices.Index(s.Finalizers, kedaFinalizer)
	if index < 0 {
		return
	}
	path := "/metadata/finalizers/" + strconv.Itoa(index)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": s.UID},
		{"op": "test", "path": path, "value": kedaFinalizer},
		{"op": "remove", "path": path},
	})
	if err == nil {
		_, err = t.Dynamic.Resource(scaledJobs).Namespace(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: name})
	}
	if err != nil && !apierrors.IsNotFound(err) && !replaced(err) { // another client was faster; an event follows
		t.log.Warn("finalizer of KEDA not removed, will try again", "namespace", key.Namespace, "scaledjob", key.Name, "err", err)
		t.reports.After(key, releaseAgain)
	}
}
