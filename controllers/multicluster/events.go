package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

func normal(reason, format string, args ...any) scaledjob.Event {
	return scaledjob.Event{Type: corev1.EventTypeNormal, Reason: reason, Message: cluster.EventMessage(fmt.Sprintf(format, args...))}
}

func warning(reason, format string, args ...any) scaledjob.Event {
	return scaledjob.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: cluster.EventMessage(fmt.Sprintf(format, args...))}
}

// memberError is an error of a member, with its name.
func memberError(member string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("member %s: %w", member, err)
}

// warnings returns events for warnings about the spec that are new.
func (p *poller) warnings(problems []*field.Error) (events []scaledjob.Event) {
	var texts []string
	for _, w := range problems {
		texts = append(texts, w.Error())
		if slices.Contains(p.reported, w.Error()) {
			continue
		}
		reason := "SpecWarning"
		if strings.Contains(w.Path, ".podOverrides.") {
			reason = "PodOverrideWarning"
		}
		events = append(events, warning(reason, "%v", w))
	}
	p.reported = texts
	return events
}

// merged merges events of the same type and reason. client-go takes them for one,
// and sends the first message only.
func merged(events []scaledjob.Event) (merged []scaledjob.Event) {
	for _, e := range events {
		similar := func(o scaledjob.Event) bool { return o.Type == e.Type && o.Reason == e.Reason }
		if i := slices.IndexFunc(merged, similar); i >= 0 {
			merged[i].Message = cluster.EventMessage(merged[i].Message + "; " + e.Message)
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

// causes are the first errors of unreachable members, by name. Later errors of the same
// failure differ each time.
type causes map[string]string

// add returns the cause, to print after a member's state.
func (c causes) add(member string, state api.MemberState, err error) string {
	switch {
	case state == api.Ready:
		delete(c, member)
	case err != nil && c[member] == "":
		c[member] = ": " + adapter.ErrorText(err)
	}
	return c[member]
}

// events returns the events of the poll: actions, and changes of the status.
func (o *jobOutcome) events(before, after api.JobStatus) []scaledjob.Event {
	events := transitions(before.Conditions, after.Conditions)
	for _, r := range o.reports {
		if r.Created > 0 {
			events = append(events, normal(scaledjob.ReasonCreated, "Created %s on member %s", field.Plural(r.Created, "Job"), r.Cluster))
		}
		if r.Outdated > 0 {
			events = append(events, normal(scaledjob.ReasonRolledOut, "Deleted %s of an older spec on member %s", field.Plural(r.Outdated, "Job"), r.Cluster))
		}
		if r.Duplicates > 0 {
			events = append(events, normal("DuplicatesDeleted", "Deleted %s on member %s", field.Plural(r.Duplicates, "duplicate Job"), r.Cluster))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.MemberClusterStatuses)) {
		previous, current := before.MemberClusterStatuses[name], after.MemberClusterStatuses[name]
		events = append(events, memberEvents(name, api.MemberState(previous.State), api.MemberState(current.State), current.Description)...)
		switch {
		case current.HardTainted && !previous.HardTainted:
			events = append(events, warning("MemberHardTainted", "Member %s gets no Jobs: %s", name, current.Description))
		case current.SoftTainted && !previous.SoftTainted:
			events = append(events, warning("MemberSoftTainted", "Member %s has failed once: %s", name, current.Description))
		}
		for _, scope := range current.HardTaintScopes {
			if !slices.Contains(previous.HardTaintScopes, scope) {
				events = append(events, warning("MemberWorkloadTainted", "Member %s gets no Jobs of class %q and size %d or larger", name, scope.Class, scope.Size))
			}
		}
	}
	return events
}

func (out *objectOutcome) events(before, after api.ObjectStatus) []scaledjob.Event {
	events := transitions(before.Conditions, after.Conditions)
	for _, r := range out.reports {
		if r.Err == nil {
			events = append(events, normal("Scaled", "Scaled to %s on member %s", field.Plural(r.Replicas, "replica"), r.Cluster))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.MemberClusterStatuses)) {
		previous, current := before.MemberClusterStatuses[name], after.MemberClusterStatuses[name]
		events = append(events, memberEvents(name, previous.State, current.State, current.Description)...)
		switch {
		case current.Reason == previous.Reason && current.Excluded == previous.Excluded, current.State == api.NotRegistered:
		case current.Reason == replicas.ReasonNotListed:
			events = append(events, normal("MemberNotListed", "The replicas of member %s go to the others: %s", name, current.Description))
		case current.Excluded && current.Reason != replicas.ReasonNoWeight:
			events = append(events, warning("MemberExcluded", "Member %s gets no replicas: %s", name, current.Description))
		case current.Reason == replicas.ReasonNoProgress:
			events = append(events, warning("MemberNoProgress", "Member %s gets no more replicas: %s", name, current.Description))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.MemberClusterStatuses)) {
		if _, still := after.MemberClusterStatuses[name]; !still && before.MemberClusterStatuses[name].Reason == replicas.ReasonNotListed {
			events = append(events, normal("MemberReleased", "Member %s has no replicas any more", name))
		}
	}
	return events
}

// memberEvents returns the event of a member with a changed state.
func memberEvents(name string, previous, current api.MemberState, description string) []scaledjob.Event {
	switch {
	case previous == current:
		return nil
	case current == api.Ready && previous != "":
		return []scaledjob.Event{normal("MemberReady", "Member %s: %s", name, description)}
	case current != api.Ready:
		return []scaledjob.Event{warning("Member"+string(current), "Member %s: %s", name, description)}
	}
	return nil
}

// transitions returns an event for each condition with a changed status or reason, except
// for a new object that is not active or not paused.
func transitions(before, after []metav1.Condition) (events []scaledjob.Event) {
	for _, kind := range []string{scaledjob.ConditionReady, scaledjob.ConditionActive, scaledjob.ConditionPaused} {
		previous, current := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		switch {
		case current == nil, previous != nil && previous.Status == current.Status && previous.Reason == current.Reason:
		case previous == nil && kind != scaledjob.ConditionReady && current.Status != metav1.ConditionTrue:
		case kind == scaledjob.ConditionReady && current.Status != metav1.ConditionTrue:
			events = append(events, warning(current.Reason, "%s", current.Message))
		default:
			events = append(events, normal(current.Reason, "%s", current.Message))
		}
	}
	return events
}
