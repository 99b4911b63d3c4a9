package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// A job is a DistributedScaledJob that is polled.
type job struct {
	*poller
	config  api.JobConfig
	invalid error
	// checkpoint has the Jobs that may exist. While it cannot be used nothing is created, and it
	// is not overwritten.
	checkpoint jobs.Checkpoint
	unusable   error
	reading    kedametrics.Reading
	decided    bool // the reading has been decided on
	status     api.JobStatus
	undeleted  map[string]error  // why Jobs were not deleted at the last attempt, by member
	pending    map[string]string // why Jobs do not start, by member
	explained  time.Time         // when that was found out
}

func newJob(p *poller) subject {
	j := &job{poller: p, decided: true, pending: map[string]string{}, undeleted: map[string]error{}}
	p.restore(&j.status)
	j.unusable = unusable(j.status.Checkpoint, &j.checkpoint)
	return j
}

func (j *job) read() {
	object, meta, err := api.Read[api.DistributedScaledJob](j.current)
	object.Meta = meta
	if template, found, problem := unstructured.NestedMap(j.current.Object, "spec", "scaledJobSpec", "jobTargetRef"); found && problem == nil {
		object.TemplateHash = adapter.TemplateHash(template)
	}
	if j.config, j.invalid = object.Config(); err != nil {
		j.invalid = err
	}
	if j.invalid == nil {
		j.invalid = j.members.Track(j.config.Target, j.config.Overrides)
	}
	if j.invalid == nil && j.current.GetDeletionTimestamp() == nil {
		j.invalid = j.reader.Track(j.triggers())
	}
}

// triggers returns what KEDA reads. Variables, Secrets and TriggerAuthentications are those of the object's namespace in
// the hub.
func (j *job) triggers() kedametrics.Owner {
	spec := &j.config.Source.Spec
	return kedametrics.Owner{
		Owner: j.config.Target.Owner, Triggers: spec.Triggers, Interval: j.config.PollingInterval,
		Container: spec.EnvSourceContainerName, Pod: spec.JobTargetRef.Template.Spec,
	}
}

func (j *job) close() {
	j.members.Untrack(j.uid)
	j.reader.Untrack(j.uid) // here, as a turn that has begun may track the owner after the object is gone
}

// A jobOutcome is the result of a poll.
type jobOutcome struct {
	invalid  error
	unusable error            // why the checkpoint cannot be used
	unread   error            // why metrics could not be read
	slow     string           // that KEDA polls less often than asked
	cutOff   error            // why no member answers
	away     map[string]error // why members are not reachable for the object
	plan     jobs.Decision
	reports  []member.Report
	// undeleted is why Jobs were not deleted, by this poll or before: a delete is tried again with a backoff.
	undeleted error
	failing   string     // why creates slow down; empty if they do not
	degraded  []degraded // members whose requests have failed, by name
	accepted  bool       // a member may take Jobs, and has refused none since it took one
}

// nextProblem returns the problem of a member after its reports.
func (o *jobOutcome) nextProblem(name string, problem *api.MemberProblem, generation int64, now time.Time) *api.MemberProblem {
	problem = api.NextProblem(problem, nil, false, generation, now)
	for _, r := range o.reports {
		if r.Cluster != name {
			continue
		}
		if failed, ok := errors.AsType[*adapter.CreateError](r.Err); ok {
			problem = api.NextProblem(problem, failed, true, generation, now)
		} else {
			problem = api.NextProblem(problem, nil, r.Created > 0, generation, now)
		}
	}
	return problem
}

func (j *job) poll(ctx context.Context) time.Time {
	if j.current.GetDeletionTimestamp() != nil {
		return j.cleanUp(ctx)
	}
	begin := time.Now()
	o := jobOutcome{invalid: j.invalid, unusable: j.unusable}
	if o.invalid == nil {
		o.invalid = j.members.allowed(j.current.GetNamespace(), j.namespaces())
	}
	if reading, found := j.reader.Take(cache.MetaObjectToName(j.current)); found {
		j.reading, j.decided = reading, false
		j.slow.Store(int64(reading.Slow))
	}
	if o.planned() && j.decided {
		return time.Time{} // the next reading wakes the poller
	}
	if o.planned() {
		if err := j.finalize(ctx); err != nil {
			j.problems.Warn("finalizer not added: nothing is created", err)
			return begin.Add(time.Second)
		}
		j.act(ctx, &o)
		if ctx.Err() != nil && len(o.reports) == 0 {
			return time.Time{}
		}
	}
	before := j.status
	j.conclude(&o, time.Now())
	j.report(ctx, j.status, append(j.warnings(j.config.Warnings), o.events(before, j.status)...))
	if o.plan.Scaling.Reason == scaling.ReasonJobsUnknown { // which a moment may change
		return begin.Add(time.Second)
	}
	j.decided = true
	return time.Time{}
}

// conclude sets the status after the poll.
func (j *job) conclude(o *jobOutcome, now time.Time) {
	o.undeleted = j.keep(o)
	j.tell(o)
	j.status = j.after(o, now)
}

// planned reports whether there is a plan.
func (o *jobOutcome) planned() bool { return o.invalid == nil && o.unusable == nil }

// namespaces returns the targetNamespaces, by member.
func (j *job) namespaces() map[string]string {
	namespaces := map[string]string{}
	for name, o := range j.config.Overrides {
		namespaces[name] = o.Namespace
	}
	return namespaces
}

// shortfall returns why fewer Jobs run than are desired, or nothing if as many do.
func (o *jobOutcome) shortfall() string {
	var running, stuck int64
	excluded := map[jobs.Reason]bool{}
	for i := range o.plan.Members {
		m := &o.plan.Members[i]
		running, stuck = running+m.Jobs.Running-m.Jobs.Pending, stuck+m.Jobs.Stuck
		excluded[m.Excluded] = true
	}
	switch ready := o.ready(); {
	case running >= o.plan.Target && len(o.degraded) > 0:
		return o.degraded[0].problem.Reason
	case running >= o.plan.Target:
		return ""
	case ready.Status != metav1.ConditionTrue && ready.Reason != string(jobs.ReasonAllExcluded):
		return ready.Reason
	case stuck > 0 || slices.ContainsFunc(notStarting, func(r jobs.Reason) bool { return excluded[r] }):
		return string(jobs.ReasonNotStarting)
	case excluded[jobs.ReasonRequestsFail]:
		return string(jobs.ReasonRequestsFail)
	case ready.Status != metav1.ConditionTrue:
		return ready.Reason
	}
	return "Starting"
}

// notStarting are the reasons of members on which Jobs did not start.
var notStarting = []jobs.Reason{jobs.ReasonNotStarting, jobs.ReasonProbing, jobs.ReasonWorkloadTainted}

// accepting are the reasons of members that would take Jobs again with the next poll, besides those that take them.
var accepting = []jobs.Reason{"", jobs.ReasonProbing, jobs.ReasonRejected, jobs.ReasonFull}

// leavesOut reports whether a member gets no Jobs for that reason.
func (o *jobOutcome) leavesOut(reason jobs.Reason) bool {
	return slices.ContainsFunc(o.plan.Members, func(m jobs.MemberDecision) bool { return m.Excluded == reason })
}

// act plans with the reading, and carries the plan out.
func (j *job) act(ctx context.Context, o *jobOutcome) {
	o.unread, o.slow = j.reading.Err(), j.reading.Warning()
	now := time.Now()
	observation := j.members.Observe(j.uid)
	if o.invalid = j.members.allowed(j.current.GetNamespace(), j.namespaces()); o.invalid != nil {
		return // a member has been registered since
	}
	observed := jobs.Observation{
		Metrics: j.reading.Metrics, Clusters: observation.Clusters,
		Shared: j.taints.merge(j.current.GetNamespace(), j.checkpoint.Workloads(), now), Now: now,
	}
	j.problems.Warn("observation", observed.Validate())
	policy := j.config.Policy
	o.failing = j.slowDown(&policy, observation.Clusters, j.reading.Metrics, now)
	o.plan = jobs.Decide(policy, observed, j.checkpoint)
	j.taints.merge(j.current.GetNamespace(), o.plan.Checkpoint.Workloads(), now)
	o.cutOff, o.away = j.members.CutOff(), observation.Problems
	j.checkpoint = o.plan.Checkpoint
	if j.status.Checkpoint, o.unusable = json.Marshal(j.checkpoint); o.unusable != nil {
		return
	}
	if len(o.plan.Create) > 0 { // so that they count also if this process does not live to see them
		if err := j.write(ctx, j.status); err != nil {
			j.problems.Warn("status not written: nothing is created", err)
			return
		}
	}
	o.reports = j.members.Apply(ctx, observation, o.plan)
	j.explain(ctx, observation, &o.plan, now)
}

// explain finds out why Jobs are stuck, at most every 30 s.
func (j *job) explain(ctx context.Context, observation member.Observation, plan *jobs.Decision, now time.Time) {
	var stuck []string
	for i := range plan.Members {
		if m := &plan.Members[i]; m.Jobs.Stuck > 0 {
			stuck = append(stuck, m.Name)
		}
	}
	if len(stuck) > 0 && now.Sub(j.explained) >= 30*time.Second {
		j.explained = now
		maps.Copy(j.pending, j.members.Causes(ctx, observation, stuck))
	}
}

// after returns the status after the poll. An invalid spec and a checkpoint that cannot be used
// change the conditions only.
func (j *job) after(o *jobOutcome, now time.Time) api.JobStatus {
	s := j.status
	if o.planned() {
		s = api.NewJobStatus(j.current.GetName(), o.plan, s, now)
		orphans, healthy := j.orphans(), 0
		for i := range o.plan.Members {
			name, excluded := o.plan.Members[i].Name, o.plan.Members[i].Excluded
			m := s.MemberClusterStatuses[name]
			m.Description += j.causes.add(name, m.State, o.away[name])
			switch cause := j.pending[name]; { // also of stuck Jobs that have been replaced
			case m.StuckJobs == 0 && !slices.Contains(notStarting, excluded):
				delete(j.pending, name)
			case cause != "":
				m.Description += "; pending: " + cause
			}
			problem := o.nextProblem(name, j.status.MemberClusterStatuses[name].Problem, j.current.GetGeneration(), now)
			o.accepted = o.accepted || (problem == nil && slices.Contains(accepting, excluded))
			o.degraded = append(o.degraded, j.diagnose(name, &m.MemberStatus, problem)...)
			m.OrphanedJobs = int64(orphans[place{j.current.GetNamespace(), name}])
			s.MemberClusterStatuses[name] = m
			if m.State == api.Ready {
				healthy++
			}
		}
		s.Print = api.JobPrint{
			MembersCount: fmt.Sprintf("%d/%d", healthy, len(s.MemberClusterStatuses)),
			Running:      s.RunningJobs - s.PendingJobs,
			Why:          o.shortfall(),
		}
	}
	s.Conditions = conditions(s.Conditions, j.current.GetGeneration(),
		append(o.facts(), o.ready(), active(o.plan.Scaling.Trace.Demand), paused(j.config.Policy.Scaling.Paused))...)
	return s
}

// tell logs actions and errors.
func (j *job) tell(o *jobOutcome) {
	for _, r := range o.reports {
		if deleted := r.Outdated + r.Duplicates + r.Pruned; r.Created > 0 || deleted > 0 {
			j.log.Info("done", "member", r.Cluster, "created", r.Created, "outdated", r.Outdated, "duplicates", r.Duplicates, "pruned", r.Pruned)
		}
		j.problems.Warn("failed on member "+r.Cluster, adapter.WithoutOutdated(r.Err))
	}
	j.problems.Warn("invalid", o.invalid)
	j.problems.Warn("the status cannot be read: nothing is created", o.unusable)
	j.problems.Warn("unread", o.unread)
	j.log.Debug("planned", "plan", o.plan)
}

// keep takes over why Jobs were not deleted, and returns the errors of all members. Each stays until that member deletes
// Jobs, or has none to delete.
func (j *job) keep(o *jobOutcome) error {
	for _, r := range o.reports {
		if r.Undeleted != nil {
			j.undeleted[r.Cluster] = memberError(r.Cluster, r.Undeleted)
		} else if r.Outdated+r.Duplicates+r.Pruned > 0 {
			delete(j.undeleted, r.Cluster)
		}
	}
	maps.DeleteFunc(j.undeleted, func(name string, _ error) bool { return o.planned() && !o.deletes(name) })
	var all []error
	for _, name := range slices.Sorted(maps.Keys(j.undeleted)) {
		all = append(all, j.undeleted[name])
	}
	return errors.Join(all...)
}

// deletes reports whether the plan deletes Jobs on a member.
func (o *jobOutcome) deletes(member string) bool {
	return slices.ContainsFunc(slices.Concat(o.plan.Outdated, o.plan.Duplicates, o.plan.Finished), func(d jobs.Deletion) bool {
		return !d.Deferred && d.Cluster == member
	})
}
