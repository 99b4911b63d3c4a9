package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A podTime is when a pod that succeeded was ready to start, started and ended.
type podTime struct{ Scheduled, Started, Finished time.Time }

// JobTimes returns the times of the Jobs that succeeded, in the order that they started. A Job
// without a pod does not tell its startup.
func (o *Owned) JobTimes() (times []podTime) {
	for _, j := range o.Jobs {
		s := &j.Status
		if s.StartTime != nil && s.CompletionTime != nil && s.Succeeded > 0 && !s.CompletionTime.Before(s.StartTime) {
			times = append(times, podTime{s.StartTime.Time, s.StartTime.Time, s.CompletionTime.Time})
		}
	}
	slices.SortStableFunc(times, func(a, b podTime) int { return a.Started.Compare(b.Started) })
	return times
}

// PodTimes returns the times of the pods that succeeded, in the order that they
// started.
func (o *Owned) PodTimes() (times []podTime) {
	for _, p := range o.Pods {
		if p.Status.Phase != corev1.PodSucceeded {
			continue
		}
		t := podTime{Scheduled: p.CreationTimestamp.Time}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
				t.Scheduled = c.LastTransitionTime.Time
			}
		}
		for _, c := range p.Status.ContainerStatuses {
			if end := c.State.Terminated; end != nil && (t.Finished.IsZero() || end.FinishedAt.After(t.Finished)) {
				t.Started, t.Finished = end.StartedAt.Time, end.FinishedAt.Time
			}
		}
		if !t.Finished.Before(t.Started) && !t.Started.Before(t.Scheduled) && !t.Finished.IsZero() {
			times = append(times, t)
		}
	}
	slices.SortStableFunc(times, func(a, b podTime) int { return a.Started.Compare(b.Started) })
	return times
}
