package scaledjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// Types of the conditions of a ScaledJob. The first three are KEDA's.
const (
	ConditionReady  = "Ready"  // the spec is valid, and the three conditions below are True
	ConditionActive = "Active" // a trigger is active
	ConditionPaused = "Paused"
	// KEDA does not have these. Each tells one fact: since when it is so, and of how many.
	ConditionTriggersRead = "TriggersRead"
	ConditionJobsCreated  = "JobsCreated" // creates are accepted, and answered
	ConditionJobsDeleted  = "JobsDeleted" // deletes are accepted, and answered
)

// Reasons of conditions and events. They are KEDA's if KEDA has such a reason.
const (
	reasonReady         = "ScaledJobReady"
	reasonInvalid       = "ScaledJobCheckFailed" // Config returned an error
	ReasonTriggers      = "TriggerError"         // no trigger could be read
	ReasonSomeTriggers  = "PartialTriggerError"  // some triggers could not be read
	reasonCreateFailed  = "JobCreateFailed"      // with AsKEDA, KEDA stands before it, and before the two below
	reasonDeleteFailed  = "JobDeleteFailed"
	reasonJobsUnknown   = "JobsUnknown" // not listed, or the cache has not synced
	reasonSucceeding    = "Succeeding"  // of ConditionTriggersRead, ConditionJobsCreated and ConditionJobsDeleted
	ReasonActive        = "ScalerActive"
	ReasonInactive      = "ScalerNotActive"
	ReasonUnknown       = "UnknownState"
	reasonPaused        = "ScaledJobPaused"
	reasonUnpaused      = "ScaledJobUnpaused"
	reasonTriggerFailed = "ScalerFailed"    // of an event about ReasonTriggers or ReasonSomeTriggers
	reasonWentActive    = "ScaledJobActive" // of an event
	reasonWentInactive  = "ScaledJobInactive"
	ReasonCreated       = "JobsCreated"
	ReasonRolledOut     = "ScaledJobRolloutCleanupCompleted"
)

// A PollResult holds the decision and the result of a poll. The zero value is a poll
// with unknown Jobs and without an active trigger.
type PollResult struct {
	Decision scaling.Decision // ignored if Invalid is set
	Holds    []slots.Hold     // of the plan, such as creates without an answer
	Result   adapter.Result
	Invalid  error  // the error of Config
	Unread   error  // why metrics could not be read
	Warning  string // of a ScaledJob that is ready
	Applied  error  // the error of Apply; an [adapter.ErrOutdated] is no failure
	AsKEDA   bool   // reasons that name KEDA are KEDA's, for programs that stand for its operator
}

// named returns a reason as KEDA's operator has it, if AsKEDA is set.
func (p *PollResult) named(reason string) string {
	switch reason {
	case reasonCreateFailed, reasonTriggerFailed, ReasonCreated:
		if p.AsKEDA {
			return "KEDA" + reason
		}
	}
	return reason
}

// Conditions returns the conditions before with new values of all types above. Each has the generation
// of the ScaledJob and the time at which its status last changed. Conditions of other types stay.
//
// If the plan was outdated and nothing failed, all conditions stay: the poll is
// decided anew.
func (p PollResult) Conditions(before []metav1.Condition, generation int64, now time.Time) []metav1.Condition {
	after := slices.Clone(before)
	outdated := p.Applied != nil && adapter.WithoutOutdated(p.Applied) == nil
	if outdated && p.Invalid == nil {
		return after
	}
	facts := p.facts()
	current := append([]metav1.Condition{p.ready(facts), p.active()}, facts...)
	if p.Invalid == nil || meta.FindStatusCondition(before, ConditionPaused) == nil {
		current = append(current, p.paused()) // an invalid spec leaves the pause unknown
	}
	for _, c := range current {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
		c.Message = cut(c.Message, 32<<10)
		meta.SetStatusCondition(&after, c)
	}
	return after
}

// cut returns at most n bytes of s: the API server rejects more.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(dots)], "") + dots
}

// ready returns the conjunction of the facts. Its reason is that of the first that does not hold.
func (p *PollResult) ready(facts []metav1.Condition) metav1.Condition {
	c := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionTrue, Reason: reasonReady, Message: "The ScaledJob is valid, and its triggers can be read"}
	if p.Invalid != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonInvalid, p.Invalid.Error()
		return c
	}
	if p.Decision.Reason == scaling.ReasonJobsUnknown || p.Decision.Reason == scaling.ReasonNone {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonJobsUnknown, "The Jobs are not known; no Job is created or deleted"
		return c
	}
	if c = Conjunction(c, facts); c.Status != metav1.ConditionTrue {
		return c
	}
	if p.Warning != "" {
		c.Message += "; " + p.Warning
	}
	for _, h := range p.Holds {
		if h.Reason == adapter.PodsUnknown || h.Reason == adapter.TemplatesUnknown {
			c.Message += "; " + h.Text
		}
	}
	return c
}

// Conjunction returns Ready for facts: as it is given if each is True, else with the status and the reason of the first
// that is False, or of the first that is Unknown, and with the messages of all.
func Conjunction(ready metav1.Condition, facts []metav1.Condition) metav1.Condition {
	var messages []string
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, fact := range facts {
			if fact.Status != status {
				continue
			}
			if messages = append(messages, fact.Message); len(messages) == 1 {
				ready.Status, ready.Reason = fact.Status, fact.Reason
			}
		}
	}
	if len(messages) > 0 {
		ready.Message = strings.Join(messages, "\n")
	}
	return ready
}

func (p *PollResult) facts() []metav1.Condition {
	creates, deletes := adapter.SplitErrors(p.Applied)
	facts := Facts{Invalid: p.Invalid, Creates: creates, Deletes: deletes, Holds: p.Holds, Demand: p.Decision.Trace.Demand, Unread: p.Unread}.Conditions()
	facts[0].Reason = p.named(facts[0].Reason)
	return facts
}

// Facts are what can fail by itself in a poll of any owner of Jobs.
type Facts struct {
	Invalid          error        // why the spec is invalid: then the rest is ignored
	Creates, Deletes error        // of requests; see [adapter.SplitErrors]
	Holds            []slots.Hold // of the plan: what still holds of earlier requests
	Demand           scaling.Demand
	Unread           error // why metrics could not be read
}

// Conditions returns JobsCreated, JobsDeleted and TriggersRead.
func (f Facts) Conditions() []metav1.Condition {
	return []metav1.Condition{
		f.requests(ConditionJobsCreated, reasonCreateFailed, f.Creates, createHolds),
		f.requests(ConditionJobsDeleted, reasonDeleteFailed, f.Deletes, deleteHolds),
		f.triggers(),
	}
}

// Holds that tell of requests that fail or are not answered, and of Jobs that fail. A fault that lasts is in a hold between two
// attempts.
var (
	createHolds = []slots.Reason{slots.CreatesUnanswered, slots.BackingOff, slots.NumberFailed, slots.NumbersSkipped, adapter.FailingJobs}
	deleteHolds = []slots.Reason{slots.DeleteUnanswered, slots.DeletesPaused, slots.DeletesRefused, slots.HistoryWaiting}
)

// requests returns the condition about creates or deletes: from the errors of this poll, else from what
// still holds of earlier ones.
func (f *Facts) requests(kind, failed string, err error, holds []slots.Reason) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reasonSucceeding, Message: "No request fails"}
	if f.Invalid != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonUnknown, "The spec is invalid; no request is sent"
		return c
	}
	var messages []string
	if err != nil {
		c.Reason, messages = failed, append(messages, adapter.ErrorText(err))
	}
	for _, h := range f.Holds {
		if !slices.Contains(holds, h.Reason) {
			continue
		}
		if messages = append(messages, h.Text); len(messages) == 1 {
			c.Reason = string(h.Reason)
		}
	}
	if len(messages) > 0 {
		c.Status, c.Message = metav1.ConditionFalse, strings.Join(messages, "; ")
	}
	return c
}

// triggers returns the condition about the triggers.
func (f *Facts) triggers() metav1.Condition {
	c := metav1.Condition{Type: ConditionTriggersRead, Status: metav1.ConditionTrue, Reason: reasonSucceeding}
	switch d := &f.Demand; {
	case f.Invalid != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonUnknown, "The spec is invalid; no trigger is read"
	case d.Read == 0 && d.Metrics > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, ReasonTriggers, f.unread()
	case d.Read < d.Metrics:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonSomeTriggers, f.unread()
	default:
		c.Message = fmt.Sprintf("Triggers read: %d of %d", d.Read, d.Metrics)
	}
	return c
}

func (f *Facts) unread() string {
	d := &f.Demand
	message := fmt.Sprintf("%d of %d triggers could not be read", d.Metrics-d.Read, d.Metrics)
	if f.Unread == nil {
		return message
	}
	return message + ": " + f.Unread.Error()
}

func (p *PollResult) active() metav1.Condition {
	c := metav1.Condition{Type: ConditionActive, Status: metav1.ConditionFalse, Reason: ReasonInactive, Message: "No trigger is active"}
	switch d := &p.Decision.Trace.Demand; {
	case p.Invalid != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonUnknown, "The spec is invalid; no trigger is read"
	case d.Read == 0 && d.Metrics > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonUnknown, "No trigger could be read"
	case d.Active > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonActive, fmt.Sprintf("Active triggers: %d of %d", d.Active, d.Metrics)
	}
	return c
}

func (p *PollResult) paused() metav1.Condition {
	c := metav1.Condition{Type: ConditionPaused, Status: metav1.ConditionFalse, Reason: reasonUnpaused, Message: "The ScaledJob is not paused"}
	switch {
	case p.Invalid != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonUnknown, "The spec is invalid"
	case p.Decision.Reason == scaling.ReasonPaused:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonPaused, "No Job is created or rolled out; finished Jobs are pruned"
	}
	return c
}

// An Event holds the fields of a Kubernetes event.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string
	Message string
}

// Events returns an event for each condition with a changed status or reason. It also
// returns an event if this poll created Jobs, and if it deleted outdated Jobs. A lasting
// state, also a failure, is reported once. A new ScaledJob that is inactive or not paused is not
// reported.
func (p PollResult) Events(before, after []metav1.Condition) []Event {
	var events []Event
	for _, kind := range []string{ConditionReady, ConditionActive, ConditionPaused} {
		previous, current := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		switch {
		case current == nil, previous != nil && previous.Status == current.Status && previous.Reason == current.Reason:
		case (previous == nil || previous.Reason == "") && kind != ConditionReady && current.Status != metav1.ConditionTrue: // KEDA's has no reason at first
		case current.Reason == ReasonUnknown: // the event of Ready has the reason
		default:
			e := transition(current)
			e.Reason = p.named(e.Reason)
			events = append(events, e)
		}
	}
	if n := p.Result.Created; n > 0 {
		events = append(events, Event{corev1.EventTypeNormal, p.named(ReasonCreated), "Created " + field.Plural(n, "Job")})
	}
	if n := p.Result.Outdated; n > 0 {
		events = append(events, Event{corev1.EventTypeNormal, ReasonRolledOut, "Deleted " + field.Plural(n, "outdated Job")})
	}
	return events
}

var eventReasons = map[string]string{
	ReasonTriggers: reasonTriggerFailed, ReasonSomeTriggers: reasonTriggerFailed,
	ReasonActive: reasonWentActive, ReasonInactive: reasonWentInactive,
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

// A Recorder is the part of client-go's events.EventRecorder that [Record] calls.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Record sends the events to a recorder.
func Record(r Recorder, about runtime.Object, events []Event) {
	for _, e := range events {
		r.Eventf(about, nil, e.Type, e.Reason, e.Reason, "%s", e.Message)
	}
}
