package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// An object is a DistributedScaledObject that is polled.
type object struct {
	*poller
	config     api.ObjectConfig
	invalid    error
	checkpoint replicas.Checkpoint
	unusable   error // why the checkpoint in the status cannot be used
	reports    []member.ScaleReport
	status     api.ObjectStatus
}

// columns returns the columns about replicas.
func (out *objectOutcome) columns() api.ObjectPrint {
	p := api.ObjectPrint{Wanted: out.plan.Total}
	reason := "Starting"
	for i := range out.plan.Shares {
		switch s := &out.plan.Shares[i]; {
		case s.Excluded && s.Desired == 0 && s.Reason == replicas.ReasonUnreachable:
			p.Lost += s.Current
		default:
			p.Running += min(s.Existing, s.Current)
			p.Pending += max(0, s.Current-s.Existing)
			if s.Reason == replicas.ReasonNoProgress {
				reason = string(s.Reason)
			}
		}
	}
	if ready := out.ready(); ready.Status != metav1.ConditionTrue {
		reason = ready.Reason
	}
	switch {
	case p.Running < p.Wanted:
		p.Why = reason
	case len(out.degraded) > 0:
		p.Why = out.degraded[0].problem.Reason
	}
	return p
}

func newObject(p *poller) subject {
	o := &object{poller: p}
	p.restore(&o.status)
	o.unusable = unusable(o.status.Checkpoint, &o.checkpoint)
	return o
}

func (o *object) read() {
	before := o.config.Workload
	object, meta, err := api.Read[api.DistributedScaledObject](o.current)
	object.Meta = meta
	if o.config, o.invalid = object.Config(); err != nil {
		o.invalid = err
	}
	if o.invalid == nil && !o.clusterAuthentication {
		o.invalid = api.RefuseClusterAuthentications("spec.scaledObjectSpec", object.Spec.ScaledObjectSpec.Triggers)
	}
	if !reflect.DeepEqual(o.config.Workload, before) {
		o.reports = nil
	}
}

func (o *object) close() {}

// An objectOutcome is the result of a poll.
type objectOutcome struct {
	invalid  error
	unusable error // why the checkpoint cannot be used
	unstored error // why the checkpoint was not stored
	cutOff   error // why no member answers
	clusters []replicas.Cluster
	plan     replicas.Decision
	unseen   map[string]error // why members could not be read
	reports  []member.ScaleReport
	keda     kedaReport
	degraded []degraded // members whose requests have failed, by name
}

func (o *object) poll(ctx context.Context) time.Time {
	if o.current.GetDeletionTimestamp() != nil {
		return o.giveBack(ctx)
	}
	begin, before := time.Now(), o.status
	out := objectOutcome{invalid: o.refusal(), unusable: o.unusable}
	if out.planned() && o.config.Restore {
		if err := o.finalize(ctx); err != nil {
			o.problems.Warn("finalizer not added: nothing is scaled", err)
			return begin.Add(time.Second)
		}
	}
	if out.planned() {
		o.act(ctx, &out)
		if ctx.Err() != nil && len(out.reports) == 0 {
			return time.Time{}
		}
	}
	o.tell(&out)
	o.status = o.after(&out, time.Now())
	o.report(ctx, o.status, out.events(before, o.status))
	if !out.planned() {
		return o.nextSync(begin)
	}
	return earliest(o.nextSync(begin), out.plan.NextCheck)
}

// refusal returns why the object may scale nothing: its spec is invalid, or names a namespace
// of others.
func (o *object) refusal() error {
	if o.invalid != nil {
		return o.invalid
	}
	namespaces := map[string]string{}
	for _, m := range o.config.Policy.Members {
		namespaces[m.Name] = o.config.Workload.Namespaces[m.Name]
	}
	return o.members.allowed(o.current.GetNamespace(), namespaces)
}

// planned reports whether there is a plan.
func (out *objectOutcome) planned() bool { return out.invalid == nil && out.unusable == nil }

// act reads the members' replicas, divides the number among them, and has KEDA decide on the number.
func (o *object) act(ctx context.Context, out *objectOutcome) {
	clusters, unseen := o.members.ObserveReplicas(ctx, o.config.Workload, member.ReplicasPoll{
		Members: o.config.Policy.Members, Checkpoint: o.checkpoint, Reports: o.reports,
	})
	if ctx.Err() != nil {
		return // and unseen for that reason only
	}
	if out.invalid = o.refusal(); out.invalid != nil {
		return // a member has been registered since
	}
	out.clusters, out.unseen, out.cutOff = clusters, unseen, o.members.CutOff()
	originals, added := o.originals(clusters)
	observed := replicas.Observation{Clusters: clusters, Now: time.Now()}
	if !o.config.Frozen {
		observed.Replicas = o.config.Replicas
	}
	out.plan = replicas.Decide(o.config.Policy, observed, o.checkpoint)
	if out.unstored = o.store(ctx, out, originals, added); out.unstored != nil {
		return
	}
	out.reports = o.members.Scale(ctx, o.config.Workload, out.plan)
	o.reports = out.reports
	out.write()
	out.keda = o.scaleByKEDA(ctx, &out.plan)
}

// store keeps the checkpoint and the original counts. They are written before the first replica goes to a member, so that
// a member that leaves the list after a restart is known to have replicas, and before an original count is overwritten. The
// status is as before if it is not written.
func (o *object) store(ctx context.Context, out *objectOutcome, originals map[string]api.Original, added bool) error {
	first := slices.ContainsFunc(slices.Collect(maps.Keys(out.plan.Checkpoint.Members)), func(name string) bool {
		_, exists := o.checkpoint.Members[name]
		return !exists
	})
	data, err := json.Marshal(out.plan.Checkpoint)
	if err != nil {
		return err
	}
	s := o.status
	s.Checkpoint, s.Original = data, originals
	if first || added {
		s = o.describe(out, s, time.Now())
		if err := o.poller.write(ctx, s); err != nil {
			return err
		}
	}
	o.status, o.checkpoint = s, out.plan.Checkpoint
	return nil
}

// describe returns the status with the state of the members, whose problems it notes.
func (o *object) describe(out *objectOutcome, s api.ObjectStatus, now time.Time) api.ObjectStatus {
	out.degraded = nil
	s = api.NewObjectStatus(o.current.GetName(), out.plan, out.clusters, s, now)
	for _, name := range slices.Sorted(maps.Keys(s.MemberClusterStatuses)) {
		m := s.MemberClusterStatuses[name]
		m.Description += o.causes.add(name, m.State, out.unseen[name])
		err, requested := out.writes(name)
		problem := api.NextProblem(o.status.MemberClusterStatuses[name].Problem, err, requested, o.current.GetGeneration(), now)
		out.degraded = append(out.degraded, o.diagnose(name, &m.MemberStatus, problem)...)
		s.MemberClusterStatuses[name] = m
	}
	return s
}

// writes returns why the poll did not scale a member, and whether it tried.
func (out *objectOutcome) writes(name string) (err error, requested bool) {
	for _, r := range out.reports {
		if r.Cluster == name {
			return r.Err, true
		}
	}
	return nil, false
}

// write notes the numbers that have been written: they are the current numbers.
func (out *objectOutcome) write() {
	for _, r := range out.reports {
		for i := range out.plan.Shares {
			if s := &out.plan.Shares[i]; s.Name == r.Cluster && r.Err == nil {
				s.Current = r.Replicas
			}
		}
	}
}

// after returns the status after the poll. An invalid spec, and a plan that is not stored,
// change the conditions only.
func (o *object) after(out *objectOutcome, now time.Time) api.ObjectStatus {
	s := o.status
	if out.planned() && out.unstored == nil {
		s = o.describe(out, s, now)
		s.Print = out.columns()
		s.Print.MembersCount = fmt.Sprintf("%d/%d", s.MembersHealthyCount, s.MembersTotalCount)
	}
	s.Conditions = conditions(s.Conditions, o.current.GetGeneration(), append(out.keda.conditions, out.ready(), paused(o.config.Paused))...)
	return s
}

// tell logs actions and errors.
func (o *object) tell(out *objectOutcome) {
	for _, r := range out.reports {
		if r.Err == nil {
			o.log.Info("scaled", "member", r.Cluster, "replicas", r.Replicas)
		}
	}
	o.problems.Warn("invalid", out.invalid)
	o.problems.Warn("the status cannot be read: nothing is scaled", out.unusable)
	o.problems.Warn("the status cannot be stored: nothing is scaled", out.unstored)
	o.problems.Warn("not scaled by KEDA", out.keda.err())
	o.problems.Warn("failed", out.applied())
	o.log.Debug("planned", "plan", out.plan)
}

// applied is why not all of the plan was carried out.
func (out *objectOutcome) applied() error {
	var problems []error
	for _, r := range out.reports {
		problems = append(problems, memberError(r.Cluster, r.Err))
	}
	return errors.Join(problems...)
}
