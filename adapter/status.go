package adapter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/scaledjob/scaledjob/scaling"
)

// Types of the conditions of a ScaledJob, which are KEDA's.
const (
	ConditionReady  = "Ready"  // it does what its spec says
	ConditionActive = "Active" // a trigger is active
	ConditionPaused = "Paused"
)

// Reasons of conditions and events. Where KEDA has a reason, it is KEDA's.
const (
	ReasonReady         = "ScaledJobReady"
	ReasonInvalid       = "ScaledJobCheckFailed" // Config found it wrong
	ReasonTriggers      = "TriggerError"         // no metric could be read
	ReasonSomeTriggers  = "PartialTriggerError"  // some could not
	ReasonCreateFailed  = "KEDAJobCreateFailed"
	ReasonDeleteFailed  = "JobDeleteFailed"
	ReasonJobsUnknown   = "JobsUnknown" // not listed, or the cache has not synced
	ReasonActive        = "ScalerActive"
	ReasonInactive      = "ScalerNotActive"
	ReasonUnknown       = "UnknownState"
	ReasonPaused        = "ScaledJobPaused"
	ReasonUnpaused      = "ScaledJobUnpaused"
	ReasonTriggerFailed = "KEDAScalerFailed" // an event's, of ReasonTriggers and ReasonSomeTriggers
	ReasonWentActive    = "ScaledJobActive"  // an event's
	ReasonWentInactive  = "ScaledJobInactive"
	ReasonCreated       = "KEDAJobsCreated"
	ReasonRolledOut     = "ScaledJobRolloutCleanupCompleted"
)

// An Outcome is what a poll came to. The zero value is of a poll before which
// nothing was known.
type Outcome struct {
	Decision scaling.Decision
	Result   Result
	Invalid  error // what Config returned; the Decision then means nothing
	Unread   error // why metrics could not be read, for the message
	Applied  error // what Apply returned
}

// Conditions returns the conditions before with Ready, Active and Paused as they
// are now; those of other types stay. Each has the generation of the ScaledJob, and
// the time at which its status last changed.
func (o Outcome) Conditions(before []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	after := slices.Clone(before)
	is := []metav1.Condition{o.ready(), o.active(), o.paused()}
	if o.Invalid != nil && meta.FindStatusCondition(before, ConditionPaused) != nil {
		is = is[:2] // it is as it was, as far as is known
	}
	for _, c := range is {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
		c.Message = cut(c.Message, 32<<10)
		meta.SetStatusCondition(&after, c)
	}
	return after
}

// cut is s without what is over n bytes, which the API server would refuse.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	end := n - len(dots)
	for end > 0 && s[end]&0xC0 == 0x80 { // not within a character
		end--
	}
	return s[:end] + dots
}

func (o *Outcome) ready() metav1.Condition {
	c := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse}
	health := o.Decision.Trace.Demand.Health()
	var create *CreateError
	switch {
	case o.Invalid != nil:
		c.Reason, c.Message = ReasonInvalid, o.Invalid.Error()
	case o.Decision.Rule == scaling.RuleJobsUnknown || o.Decision.Rule == scaling.RuleNone:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonJobsUnknown, "The Jobs are not known, so that none is created or deleted"
	case errors.As(o.Applied, &create):
		c.Reason, c.Message = ReasonCreateFailed, o.Applied.Error()
	case o.Applied != nil:
		c.Reason, c.Message = ReasonDeleteFailed, o.Applied.Error()
	case health == scaling.NoneRead:
		c.Reason, c.Message = ReasonTriggers, o.unread("No trigger could be read")
	case health == scaling.SomeRead:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonSomeTriggers, o.unread("Some triggers could not be read")
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonReady, "The ScaledJob is valid, and its triggers can be read"
	}
	return c
}

func (o *Outcome) unread(message string) string {
	if o.Unread == nil {
		return message
	}
	return message + ": " + o.Unread.Error()
}

func (o *Outcome) active() metav1.Condition {
	d := &o.Decision.Trace.Demand
	switch {
	case o.Invalid != nil:
		return metav1.Condition{Type: ConditionActive, Status: metav1.ConditionUnknown, Reason: ReasonUnknown, Message: "The spec is invalid, so that no trigger is read"}
	case d.Health() == scaling.NoneRead:
		return metav1.Condition{Type: ConditionActive, Status: metav1.ConditionUnknown, Reason: ReasonUnknown, Message: "No trigger could be read"}
	case d.Active > 0:
		return metav1.Condition{Type: ConditionActive, Status: metav1.ConditionTrue, Reason: ReasonActive, Message: fmt.Sprintf("Active triggers: %d of %d", d.Active, d.Metrics)}
	}
	return metav1.Condition{Type: ConditionActive, Status: metav1.ConditionFalse, Reason: ReasonInactive, Message: "No trigger is active"}
}

func (o *Outcome) paused() metav1.Condition {
	if o.Invalid != nil {
		return metav1.Condition{Type: ConditionPaused, Status: metav1.ConditionUnknown, Reason: ReasonUnknown, Message: "The spec is invalid"}
	}
	if o.Decision.Rule == scaling.RulePaused {
		return metav1.Condition{Type: ConditionPaused, Status: metav1.ConditionTrue, Reason: ReasonPaused, Message: "No Job is created or rolled out; finished ones are pruned"}
	}
	return metav1.Condition{Type: ConditionPaused, Status: metav1.ConditionFalse, Reason: ReasonUnpaused, Message: "The ScaledJob is not paused"}
}

// An Event is a Kubernetes event to be.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string
	Message string
}

// Events returns what there is to tell about the step from the conditions before
// to those after: an event for each condition whose status or reason is another,
// unless it is that a new ScaledJob is not active or not paused; one if Jobs were
// created; and one if Jobs were rolled out. So what stays as it is, a failure too,
// is told once (TestEventsOnce).
func (o Outcome) Events(before, after []metav1.Condition) []Event {
	var told []Event
	for _, kind := range []string{ConditionReady, ConditionActive, ConditionPaused} {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		switch {
		case is == nil, was != nil && was.Status == is.Status && was.Reason == is.Reason:
		case was == nil && kind != ConditionReady && is.Status != metav1.ConditionTrue:
		case is.Reason == ReasonUnknown: // Ready tells it
		default:
			told = append(told, transition(is))
		}
	}
	if n := o.Result.Created; n > 0 {
		told = append(told, Event{corev1.EventTypeNormal, ReasonCreated, fmt.Sprintf("Created %d Jobs", n)})
	}
	if n := o.Result.RolledOut; n > 0 {
		told = append(told, Event{corev1.EventTypeNormal, ReasonRolledOut, fmt.Sprintf("Deleted %d Jobs of an older spec", n)})
	}
	return told
}

var eventReasons = map[string]string{
	ReasonTriggers: ReasonTriggerFailed, ReasonSomeTriggers: ReasonTriggerFailed,
	ReasonActive: ReasonWentActive, ReasonInactive: ReasonWentInactive,
}

func transition(c *metav1.Condition) Event {
	e := Event{corev1.EventTypeNormal, c.Reason, cut(c.Message, 1024)}
	if c.Type == ConditionReady && c.Status != metav1.ConditionTrue {
		e.Type = corev1.EventTypeWarning
	}
	if reason, ok := eventReasons[c.Reason]; ok {
		e.Reason = reason
	}
	return e
}

// Record hands the events to client-go's recorder.
func Record(r events.EventRecorder, about runtime.Object, all []Event) {
	for _, e := range all {
		r.Eventf(about, nil, e.Type, e.Reason, e.Reason, "%s", e.Message)
	}
}
