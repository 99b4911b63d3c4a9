package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/examples/internal/cluster"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/scaling"
)

// Reasons of the condition Ready, besides those of packages adapter and placement.
const (
	reasonReady       = "Ready"
	reasonInvalid     = "SpecCheckFailed"
	reasonScaleFailed = "ScaleFailed"
)

// conditions are those before with others in place of those of their types. Each has
// the generation, and the time at which its status last changed.
func conditions(before []metav1.Condition, generation int64, is ...metav1.Condition) []metav1.Condition {
	after := append([]metav1.Condition(nil), before...)
	for _, c := range is {
		c.ObservedGeneration = generation
		c.Message = cluster.ConditionMessage(c.Message)
		meta.SetStatusCondition(&after, c)
	}
	return after
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: adapter.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// unknown is neither ready nor not: a part is missing, and the rest goes on.
func unknown(reason, message string) metav1.Condition {
	return metav1.Condition{Type: adapter.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

func ready(message string) metav1.Condition {
	return metav1.Condition{Type: adapter.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonReady, Message: message}
}

// ready says the most important of what is wrong.
func (o *jobOutcome) ready() metav1.Condition {
	plan, err := &o.plan, o.refused
	switch {
	case o.invalid != nil:
		return notReady(reasonInvalid, o.invalid.Error())
	case plan.Blocked == placement.ReasonJobsUnknown:
		return unknown(string(plan.Blocked), "The Jobs of a member are not known, so that none is created")
	case err != nil:
		return notReady(adapter.ReasonCreateFailed, err.Error())
	case plan.Blocked == placement.ReasonHeldByStuck:
		return notReady(string(plan.Blocked), "Stuck Jobs take up the maximum, so that none can be replaced")
	case plan.Unplaced > 0:
		return notReady(string(plan.Reason), fmt.Sprintf("No member can take %d Jobs", plan.Unplaced))
	case o.unread != nil:
		return unread(o.demand, o.unread)
	}
	return ready("The DistributedScaledJob is valid, and its triggers can be read")
}

func (out *objectOutcome) ready() metav1.Condition {
	err := out.applied()
	switch {
	case out.invalid != nil:
		return notReady(reasonInvalid, out.invalid.Error())
	case out.plan.Reason == placement.ReasonNoMembers:
		return notReady(string(out.plan.Reason), "No member is registered and has weight")
	case out.plan.Reason != "":
		return notReady(string(out.plan.Reason), "No member answers")
	case err != nil:
		return notReady(reasonScaleFailed, err.Error())
	case out.unread != nil:
		return unread(out.demand, out.unread)
	}
	return ready("The DistributedScaledObject is valid, and its triggers can be read")
}

func unread(d scaling.Demand, err error) metav1.Condition {
	if d.Read == 0 {
		return notReady(adapter.ReasonTriggers, "No trigger could be read: "+err.Error())
	}
	return unknown(adapter.ReasonSomeTriggers, "Some triggers could not be read: "+err.Error())
}

func active(invalid error, d scaling.Demand) metav1.Condition {
	switch {
	case invalid != nil || d.Read == 0:
		return metav1.Condition{Type: adapter.ConditionActive, Status: metav1.ConditionUnknown, Reason: adapter.ReasonUnknown, Message: "No trigger could be read"}
	case d.Active > 0:
		return metav1.Condition{
			Type: adapter.ConditionActive, Status: metav1.ConditionTrue, Reason: adapter.ReasonActive,
			Message: fmt.Sprintf("Active triggers: %d of %d", d.Active, d.Metrics),
		}
	}
	return metav1.Condition{Type: adapter.ConditionActive, Status: metav1.ConditionFalse, Reason: adapter.ReasonInactive, Message: "No trigger is active"}
}

func paused(is bool) metav1.Condition {
	if is {
		return metav1.Condition{Type: adapter.ConditionPaused, Status: metav1.ConditionTrue, Reason: "Paused", Message: "An annotation pauses it"}
	}
	return metav1.Condition{Type: adapter.ConditionPaused, Status: metav1.ConditionFalse, Reason: "NotPaused", Message: "It is not paused"}
}
