package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// Reasons of the condition Ready, besides the reasons of packages adapter and placement.
const (
	reasonReady       = "Ready"
	reasonInvalid     = "SpecCheckFailed"
	reasonScaleFailed = "ScaleFailed"
	reasonRefused     = "JobCreateFailed"
	reasonJobsUnknown = "JobsUnknown"
	reasonNotStored   = "StatusNotWritten"
	reasonUnreachable = "MembersUnreachable"
	reasonSlow        = "KEDAPollsSlowly"
)

// conditionTypes are the conditions of both resources. Others are of another release.
var conditionTypes = slices.Concat([]string{scaledjob.ConditionReady, scaledjob.ConditionPaused}, factConditions, scaledObjectConditions, autoscalerConditions)

// factConditions are those of a DistributedScaledJob for what can fail by itself.
var factConditions = []string{scaledjob.ConditionJobsCreated, scaledjob.ConditionJobsDeleted, scaledjob.ConditionTriggersRead}

// conditions returns the previous conditions, replaced by new conditions of the same type. Each has
// the generation, and the time at which its status last changed.
func conditions(before []metav1.Condition, generation int64, changed ...metav1.Condition) []metav1.Condition {
	after := slices.DeleteFunc(slices.Clone(before), func(c metav1.Condition) bool { return !slices.Contains(conditionTypes, c.Type) })
	for _, c := range changed {
		c.ObservedGeneration = generation
		c.Message = cluster.Cut(c.Message, 32<<10) // what the API server accepts
		meta.SetStatusCondition(&after, c)
	}
	return after
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: scaledjob.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// unknown is neither ready nor not: a part is missing, and the rest goes on.
func unknown(reason, message string) metav1.Condition {
	return metav1.Condition{Type: scaledjob.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

func ready(message string) metav1.Condition {
	return metav1.Condition{Type: scaledjob.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonReady, Message: message}
}

// facts returns a condition for each thing that can fail by itself: creates, deletes and triggers. A member whose creates
// fail while others accept them leaves it open whether Jobs are created.
func (o *jobOutcome) facts() []metav1.Condition {
	f := scaledjob.Facts{Invalid: cmp.Or(o.invalid, o.unusable), Deletes: o.undeleted, Demand: o.plan.Scaling.Trace.Demand, Unread: o.unread}
	if o.failing != "" {
		f.Holds = []slots.Hold{{Reason: adapter.FailingJobs, Text: o.failing}}
	}
	facts := f.Conditions()
	if o.invalid == nil && o.unusable != nil {
		for i := range facts {
			facts[i].Message = o.unusable.Error()
		}
	}
	if created := &facts[0]; created.Status == metav1.ConditionTrue && len(o.degraded) > 0 {
		d := o.degraded[0].condition(len(o.degraded))
		created.Status, created.Reason, created.Message = d.Status, d.Reason, d.Message
		if !o.accepted && d.Reason != api.ProblemCredentials {
			created.Status, created.Reason = metav1.ConditionFalse, reasonRefused
		}
	}
	return facts
}

// ready returns the conjunction of the facts, and of what else keeps Jobs from running.
func (o *jobOutcome) ready() metav1.Condition {
	plan := &o.plan
	switch {
	case o.invalid != nil:
		return notReady(reasonInvalid, o.invalid.Error())
	case o.unusable != nil:
		return notReady(string(replicas.ReasonCheckpointVersion), o.unusable.Error())
	case o.cutOff != nil:
		return notReady(string(jobs.ReasonCutOff), adapter.ErrorText(o.cutOff))
	case plan.Scaling.Reason == scaling.ReasonJobsUnknown:
		return unknown(reasonJobsUnknown, "The Jobs of a member are not known yet, so that none is created")
	}
	return scaledjob.Conjunction(ready("The DistributedScaledJob is valid, and its triggers can be read"), append(o.facts(), o.placed()...))
}

// placed returns what keeps Jobs from members, by its weight.
func (o *jobOutcome) placed() (found []metav1.Condition) {
	plan := &o.plan
	switch {
	case plan.Reason == jobs.ReasonHeldByStuck:
		found = append(found, notReady(string(plan.Reason), "Stuck Jobs take up the maximum, so that none is replaced: see why their pods do not start (kubectl describe on the member), and delete Jobs that never will, or set failoverOverMax"))
	case plan.Unplaced > 0 && !o.leavesOut(jobs.ReasonRejected): // what is refused is told by JobsCreated
		found = append(found, notReady(string(plan.Reason), fmt.Sprintf("No member can take %s%s", field.Plural(plan.Unplaced, "Job"), excluded(plan.Members))))
	}
	var away []string
	var held, lost int64
	for i := range plan.Members {
		if m := &plan.Members[i]; m.Excluded == jobs.ReasonUnreachable || m.Excluded == jobs.ReasonUnconfirmed || m.Excluded == jobs.ReasonNeverReached {
			name := m.Name
			switch {
			case apierrors.IsForbidden(o.away[name]):
				name += " (Forbidden)"
			case m.Excluded == jobs.ReasonNeverReached:
				name += " (it has not answered since the controller started: restore it, or run delete-member)"
			}
			away = append(away, name)
			held, lost = held+m.Jobs.Running+m.Jobs.Terminating, lost+m.Lost
		}
	}
	if len(away) > 0 {
		text := membersAway(away, len(plan.Members)) + fmt.Sprintf("; they hold %d of the maximum", held)
		if lost > 0 {
			text += fmt.Sprintf(", and the work of %s there may run twice", field.Plural(lost, "lost Job"))
		}
		found = append(found, unknown(reasonUnreachable, text))
	}
	if o.slow != "" {
		found = append(found, unknown(reasonSlow, o.slow))
	}
	return found
}

func (out *objectOutcome) ready() metav1.Condition {
	err := out.applied()
	switch {
	case out.invalid != nil:
		return notReady(reasonInvalid, out.invalid.Error())
	case out.unusable != nil:
		return notReady(string(replicas.ReasonCheckpointVersion), out.unusable.Error())
	case out.unstored != nil:
		return notReady(reasonNotStored, adapter.ErrorText(out.unstored))
	case out.cutOff != nil:
		return notReady(string(jobs.ReasonCutOff), adapter.ErrorText(out.cutOff))
	case out.plan.Reason == replicas.ReasonNoMembers:
		return notReady(string(out.plan.Reason), "No member is registered and has weight and the workload")
	case out.plan.Reason == replicas.ReasonAllExcluded:
		return notReady(string(out.plan.Reason), "All members are excluded")
	case err != nil:
		return notReady(reasonScaleFailed, adapter.ErrorText(err))
	case out.keda.problem != nil:
		return *out.keda.problem
	case out.plan.Reason == replicas.ReasonAtMax:
		return unknown(string(out.plan.Reason), fmt.Sprintf("Not moved: %s. maxSurge is 0, and there are maxReplicaCount replicas", field.Plural(out.plan.Remaining, "replica")))
	}
	var away []string
	for i := range out.plan.Shares {
		if s := &out.plan.Shares[i]; s.Reason == replicas.ReasonUnreachable || s.Reason == replicas.ReasonUnconfirmed {
			away = append(away, s.Name)
		}
	}
	if len(away) > 0 {
		return unknown(reasonUnreachable, membersAway(away, len(out.plan.Shares)))
	}
	if len(out.degraded) > 0 {
		return out.degraded[0].condition(len(out.degraded))
	}
	return ready("The DistributedScaledObject is valid, and KEDA scales it")
}

// A degraded member has a problem that stays.
type degraded struct {
	member  string
	problem *api.MemberProblem
}

// condition returns the condition Ready for the first of n degraded members.
func (d degraded) condition(n int) metav1.Condition {
	text := fmt.Sprintf("Member %s: %s", d.member, d.problem)
	if n > 1 {
		text = fmt.Sprintf("%d members have problems. %s", n, text)
	}
	return unknown(d.problem.Reason, text)
}

// diagnose sets the identity and the problem of a member, and returns the problem. A kubeconfig that cannot be used
// comes before another problem.
func (p *poller) diagnose(name string, m *api.MemberStatus, problem *api.MemberProblem) []degraded {
	m.ID, m.Problem = p.members.places()[name], cmp.Or(p.members.unreadableKubeconfig(name), problem)
	switch {
	case m.Problem == nil:
		return nil
	case m.Description == healthy:
		m.Description = m.Problem.String()
	default:
		m.Description += "; " + m.Problem.String()
	}
	return []degraded{{name, m.Problem}}
}

// healthy describes a member without a problem, as packages jobs and replicas do.
const healthy = "Cluster is healthy"

// excluded words which members get no Jobs, and why, if there are some.
func excluded(members []jobs.MemberDecision) string {
	var names []string
	for i := range members {
		if m := &members[i]; m.Excluded != "" && m.Excluded != jobs.ReasonNotListed {
			names = append(names, fmt.Sprintf("%s (%s)", m.Name, m.Excluded))
		}
	}
	return strings.TrimSuffix(": "+firstNames(names), ": ")
}

// membersAway words how many members are unreachable, with the names of the first.
func membersAway(names []string, total int) string {
	return fmt.Sprintf("%d of %d members unreachable: %s", len(names), total, firstNames(names))
}

// firstNames joins the first names.
func firstNames(names []string) string {
	text := strings.Join(names[:min(len(names), 10)], ", ")
	if len(names) > 10 {
		text += " and others"
	}
	return text
}

func active(d scaling.Demand) metav1.Condition {
	switch {
	case d.Read == 0:
		return metav1.Condition{Type: scaledjob.ConditionActive, Status: metav1.ConditionUnknown, Reason: scaledjob.ReasonUnknown, Message: "No trigger could be read"}
	case d.Active > 0:
		return metav1.Condition{
			Type: scaledjob.ConditionActive, Status: metav1.ConditionTrue, Reason: scaledjob.ReasonActive,
			Message: fmt.Sprintf("Active triggers: %d of %d", d.Active, d.Metrics),
		}
	}
	return metav1.Condition{Type: scaledjob.ConditionActive, Status: metav1.ConditionFalse, Reason: scaledjob.ReasonInactive, Message: "No trigger is active"}
}

func paused(annotated bool) metav1.Condition {
	if annotated {
		return metav1.Condition{Type: scaledjob.ConditionPaused, Status: metav1.ConditionTrue, Reason: "Paused", Message: "Paused by the annotation autoscaling.keda.sh/paused"}
	}
	return metav1.Condition{Type: scaledjob.ConditionPaused, Status: metav1.ConditionFalse, Reason: "NotPaused", Message: "Not paused"}
}
