package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A podTime is when a pod that succeeded was ready to start, started and ended.
type podTime struct{ Scheduled, Started, Ended time.Time }

// JobTimes returns the times of the Jobs that succeeded, in the order that they started. A Job
// without a pod does not tell its startup.
func (o *Owned) JobTimes() (all []podTime) {
	for i := range o.Jobs {
		s := &o.Jobs[i].Status
		if s.StartTime != nil && s.CompletionTime != nil && s.Succeeded > 0 && !s.CompletionTime.Before(s.StartTime) {
			all = append(all, podTime{s.StartTime.Time, s.StartTime.Time, s.CompletionTime.Time})
		}
	}
	slices.SortStableFunc(all, func(a, b podTime) int { return a.Started.Compare(b.Started) })
	return all
}

// PodTimes returns the times of the pods that succeeded, in the order that they
// started.
func (o *Owned) PodTimes() (all []podTime) {
	mine := map[types.NamespacedName]bool{}
	for i := range o.Jobs {
		mine[types.NamespacedName{Namespace: o.Jobs[i].Namespace, Name: o.Jobs[i].Name}] = true
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		if !mine[jobOf(p)] || p.Status.Phase != corev1.PodSucceeded {
			continue
		}
		t := podTime{Scheduled: p.CreationTimestamp.Time}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
				t.Scheduled = c.LastTransitionTime.Time
			}
		}
		for _, c := range p.Status.ContainerStatuses {
			if end := c.State.Terminated; end != nil && (t.Ended.IsZero() || end.FinishedAt.After(t.Ended)) {
				t.Started, t.Ended = end.StartedAt.Time, end.FinishedAt.Time
			}
		}
		if !t.Ended.Before(t.Started) && !t.Started.Before(t.Scheduled) && !t.Ended.IsZero() {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b podTime) int { return a.Started.Compare(b.Started) })
	return all
}
