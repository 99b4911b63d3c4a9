package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/examples/multicluster/api"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/scaling"
)

// An object is a DistributedScaledObject that is polled.
type object struct {
	*poller
	config   api.ObjectConfig
	invalid  error
	queues   *source.Queues
	clusters []placement.ObjectCluster // as last seen
	status   objectStatus
}

// An objectStatus is the status of a DistributedScaledObject.
type objectStatus struct {
	placement.ObjectStatus `json:",inline"`
	Print                  objectPrint                 `json:"print,omitzero"`
	Memory                 map[string]placement.Health `json:"memory,omitempty"`
	Conditions             []metav1.Condition          `json:"conditions,omitempty"`
}

// An objectPrint is what kubectl get shows.
type objectPrint struct {
	MembersCount  string `json:"membersCount,omitempty"`  // healthy/total
	TotalReplicas string `json:"totalReplicas,omitempty"` // current/desired
}

func newObject(p *poller) subject {
	o := &object{poller: p}
	p.restore(&o.status)
	for _, name := range slices.Sorted(maps.Keys(o.status.Memory)) {
		o.clusters = append(o.clusters, placement.ObjectCluster{
			Name: name, Health: o.status.Memory[name], Current: o.status.MemberClusterStatuses[name].CurrentReplicas,
		})
	}
	return o
}

func (o *object) read() {
	o.queues.Close()
	object, meta, err := api.Read[api.DistributedScaledObject](o.seen)
	object.Meta = meta
	if o.config, o.invalid = object.Config(); err != nil {
		o.invalid = err
	}
	o.queues = o.resolver.Queues(o.config.Source, o.config.Triggers, o.sourceTimeout)
}

func (o *object) close() { o.queues.Close() }

// An objectOutcome is what a poll came to.
type objectOutcome struct {
	invalid error
	unread  error // why metrics could not be read
	demand  scaling.Demand
	plan    placement.ObjectPlan
	unseen  map[string]error // why members could not be asked
	reports []member.ScaleReport
}

func (o *object) poll(ctx context.Context) time.Time {
	if o.seen.GetDeletionTimestamp() != nil {
		return time.Time{} // what is scaled is not ours
	}
	begin := time.Now()
	out := objectOutcome{invalid: o.invalid}
	if o.invalid == nil {
		o.act(ctx, &out)
		if ctx.Err() != nil && len(out.reports) == 0 {
			return time.Time{}
		}
	}
	o.tell(&out)
	before := o.status
	o.status = o.after(&out, time.Now())
	o.report(ctx, o.status, append(o.warnings(o.config.Warnings), out.events(before, o.status)...))
	return earliest(begin.Add(max(time.Second, o.config.Policy.PollingInterval)), out.plan.NextCheck)
}

// act reads the queues and the replicas, plans, and writes.
func (o *object) act(ctx context.Context, out *objectOutcome) {
	var metrics []scaling.Metric
	metrics, out.unread = o.queues.Read(ctx)
	out.demand = scaling.Aggregate(scaling.Max, metrics, false)
	now := time.Now()
	clusters, unseen := o.members.ObserveObject(ctx, member.ObjectPoll{
		Object: o.config.Object, Members: o.config.Listed, Before: o.clusters,
		Rebalancing: o.config.Policy.Rebalancing, Now: now,
	})
	if ctx.Err() != nil {
		return // and unseen for that reason only
	}
	o.clusters, out.unseen = clusters, unseen
	out.plan = placement.PlanObject(o.config.Policy, placement.ObjectState{
		Replicas: o.config.Replicas(metrics, o.current()), Clusters: clusters, Now: now,
	})
	out.reports = o.members.Scale(ctx, o.config.Object, out.plan)
	out.write()
}

func (o *object) current() (replicas int64) {
	for _, c := range o.clusters {
		replicas += int64(c.Current)
	}
	return replicas
}

// write notes what has been written: it is the current number.
func (out *objectOutcome) write() {
	for _, r := range out.reports {
		for i := range out.plan.Members {
			if m := &out.plan.Members[i]; m.Name == r.Cluster && r.Err == nil {
				m.Current = r.Replicas
			}
		}
	}
}

// after is the status after the poll. What is wrong with the spec changes the
// conditions only.
func (o *object) after(out *objectOutcome, now time.Time) objectStatus {
	s := o.status
	if out.invalid == nil {
		s.ObjectStatus = out.plan.Status(o.seen.GetName(), s.ObjectStatus, now)
		s.Memory = map[string]placement.Health{}
		for _, c := range o.clusters {
			s.Memory[c.Name] = c.Health
		}
		for name, m := range s.MemberClusterStatuses {
			m.Description += o.causes.of(name, m.State, out.unseen[name])
			s.MemberClusterStatuses[name] = m
		}
		s.Print = objectPrint{
			MembersCount:  fmt.Sprintf("%d/%d", s.MembersHealthyCount, s.MembersTotalCount),
			TotalReplicas: fmt.Sprintf("%d/%d", s.TotalCurrentReplicas, out.plan.Total),
		}
	}
	s.Conditions = conditions(s.Conditions, o.seen.GetGeneration(),
		out.ready(), active(out.invalid, out.demand), paused(o.config.Policy.Pause.Paused))
	return s
}

// tell logs what was done, and what went wrong.
func (o *object) tell(out *objectOutcome) {
	for _, r := range out.reports {
		if r.Err == nil {
			o.log.Info("scaled", "member", r.Cluster, "replicas", r.Replicas)
		}
	}
	o.problems.Warn("invalid", out.invalid)
	o.problems.Warn("unread", out.unread)
	o.problems.Warn("failed", out.applied())
	o.log.Debug("planned", "plan", out.plan)
}

// applied is why not all of the plan was carried out.
func (out *objectOutcome) applied() error {
	var problems []error
	for _, r := range out.reports {
		problems = append(problems, on(r.Cluster, r.Err))
	}
	return errors.Join(problems...)
}
