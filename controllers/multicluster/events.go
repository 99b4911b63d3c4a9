package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// on is an error of a member, with its name.
func on(member string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("member %s: %w", member, err)
}

// warnings returns events for warnings about the spec that are new.
func (p *poller) warnings(all []*field.Error) (told []scaledjob.Event) {
	var texts []string
	for _, w := range all {
		texts = append(texts, w.Error())
		if slices.Contains(p.told, w.Error()) {
			continue
		}
		reason := "SpecWarning"
		if strings.Contains(w.Path, ".podOverrides.") {
			reason = "PodOverrideWarning"
		}
		told = append(told, warning(reason, "%v", w))
	}
	p.told = texts
	return told
}

// merged merges events of the same type and reason. client-go would count them together,
// and send the first message only.
func merged(events []scaledjob.Event) (all []scaledjob.Event) {
	for _, e := range events {
		same := func(o scaledjob.Event) bool { return o.Type == e.Type && o.Reason == e.Reason }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Message = cluster.EventMessage(all[i].Message + "; " + e.Message)
			continue
		}
		all = append(all, e)
	}
	return all
}

// causes are the first errors of unreachable members, by name. Later errors of the same
// failure differ each time.
type causes map[string]string

// of returns the cause, to print after a member's state.
func (c causes) of(member string, state api.MemberState, err error) string {
	switch {
	case state == api.Ready:
		delete(c, member)
	case err != nil && c[member] == "":
		c[member] = ": " + cluster.EventMessage(err.Error())
	}
	return c[member]
}

// events returns the events of the poll: actions, and changes of the status.
func (o *jobOutcome) events(before, after jobStatus) []scaledjob.Event {
	told := transitions(before.Conditions, after.Conditions)
	for _, r := range o.reports {
		if r.Created > 0 {
			told = append(told, normal(scaledjob.ReasonCreated, "Created %d Jobs on member %s", r.Created, r.Cluster))
		}
		if r.Outdated > 0 {
			told = append(told, normal(scaledjob.ReasonRolledOut, "Deleted %d Jobs of an older spec on member %s", r.Outdated, r.Cluster))
		}
		if r.Duplicates > 0 {
			told = append(told, normal("DuplicatesDeleted", "Deleted %d duplicate Jobs on member %s", r.Duplicates, r.Cluster))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.MemberClusterStatuses)) {
		was, is := before.MemberClusterStatuses[name], after.MemberClusterStatuses[name]
		told = append(told, memberEvents(name, api.MemberState(was.State), api.MemberState(is.State), is.Description)...)
		switch {
		case is.HardTainted && !was.HardTainted:
			told = append(told, warning("MemberHardTainted", "Member %s gets no Jobs: %s", name, is.Description))
		case is.SoftTainted && !was.SoftTainted:
			told = append(told, warning("MemberSoftTainted", "Member %s has failed once: %s", name, is.Description))
		}
		for _, scope := range is.HardTaintScopes {
			if !slices.Contains(was.HardTaintScopes, scope) {
				told = append(told, warning("MemberWorkloadTainted", "Member %s gets no Jobs of class %q and size %d or larger", name, scope.Class, scope.Size))
			}
		}
	}
	return told
}

func (out *objectOutcome) events(before, after objectStatus) []scaledjob.Event {
	told := transitions(before.Conditions, after.Conditions)
	for _, r := range out.reports {
		if r.Err == nil {
			told = append(told, normal("Scaled", "Scaled to %d replicas on member %s", r.Replicas, r.Cluster))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.MemberClusterStatuses)) {
		was, is := before.MemberClusterStatuses[name], after.MemberClusterStatuses[name]
		told = append(told, memberEvents(name, was.State, is.State, is.Description)...)
		switch {
		case is.Reason == was.Reason && is.Excluded == was.Excluded, is.State == api.NotRegistered:
		case is.Reason == replicas.ReasonNotListed:
			told = append(told, normal("MemberNotListed", "The replicas of member %s go to the others: %s", name, is.Description))
		case is.Excluded && is.Reason != replicas.ReasonNoWeight:
			told = append(told, warning("MemberExcluded", "Member %s gets no replicas: %s", name, is.Description))
		case is.Reason == replicas.ReasonNoProgress:
			told = append(told, warning("MemberNoProgress", "Member %s gets no more replicas: %s", name, is.Description))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.MemberClusterStatuses)) {
		if _, still := after.MemberClusterStatuses[name]; !still && before.MemberClusterStatuses[name].Reason == replicas.ReasonNotListed {
			told = append(told, normal("MemberReleased", "Member %s has no replicas any more", name))
		}
	}
	return told
}

// memberEvents returns the event of a member with a changed state.
func memberEvents(name string, was, is api.MemberState, description string) []scaledjob.Event {
	switch {
	case was == is:
		return nil
	case is == api.Ready && was != "":
		return []scaledjob.Event{normal("MemberReady", "Member %s: %s", name, description)}
	case is != api.Ready:
		return []scaledjob.Event{warning("Member"+string(is), "Member %s: %s", name, description)}
	}
	return nil
}

// transitions returns an event for each condition with a changed status or reason, except
// for a new object that is not active or not paused.
func transitions(before, after []metav1.Condition) (told []scaledjob.Event) {
	for _, kind := range []string{scaledjob.ConditionReady, scaledjob.ConditionActive, scaledjob.ConditionPaused} {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		switch {
		case is == nil, was != nil && was.Status == is.Status && was.Reason == is.Reason:
		case was == nil && kind != scaledjob.ConditionReady && is.Status != metav1.ConditionTrue:
		case kind == scaledjob.ConditionReady && is.Status != metav1.ConditionTrue:
			told = append(told, warning(is.Reason, "%s", is.Message))
		default:
			told = append(told, normal(is.Reason, "%s", is.Message))
		}
	}
	return told
}
