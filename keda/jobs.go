package keda

import (
	"slices"
	"strconv"
)

const paused = "autoscaling.keda.sh/paused"

// Paused reports whether the paused annotation stops polling, by the behavior pause.
// From 2.13 on, any value pauses unless strconv.ParseBool reads it as false.
func (p Profile) Paused(j *ScaledJob) bool {
	value, found := j.Annotations[paused]
	switch {
	case !found || !p.has(behaviorPause, version{11, 0}):
		return false
	case !p.has(behaviorPause, version{13, 0}):
		return true
	}
	isTrue, err := strconv.ParseBool(value)
	return isTrue || err != nil
}

// JobCounts holds the numbers of Jobs that [State] needs. The zero value has none.
type JobCounts struct {
	Running int64 // R: unfinished Jobs, pending Jobs included
	Pending int64 // P: part of R that is pending
}

// Count counts the Jobs by the behavior pending. Terminating and suspended Jobs count
// like other Jobs. Pending is 0 in 2.0, which does not count pending Jobs
// ([PendingCount]).
func (p Profile) Count(j *ScaledJob, jobs []Job) JobCounts {
	var c JobCounts
	for i := range jobs {
		if jobs[i].outcome() != "" {
			continue
		}
		c.Running++
		if p.pending(j.Spec.ScalingStrategy.PendingPodConditions, jobs[i].Pods) {
			c.Pending++
		}
	}
	return c
}

// pending reports whether an unfinished Job with these pods is pending.
func (p Profile) pending(conditions []string, pods []Pod) bool {
	switch {
	case !p.has(behaviorPending, version{1, 0}):
		return false
	case !p.has(behaviorPending, version{4, 0}) || len(conditions) == 0:
		return !slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Phase == "Running" || pod.Phase == "Succeeded" })
	case !p.has(behaviorPending, version{18, 0}):
		return matches(conditions, pods) != len(conditions)
	}
	return !slices.ContainsFunc(pods, func(pod Pod) bool { return distinct(conditions, pod.Conditions) == len(conditions) })
}

// matches counts the pairs of a listed condition and a true condition of a pod.
func matches(conditions []string, pods []Pod) int {
	n := 0
	for _, name := range conditions {
		for i := range pods {
			for k := range pods[i].Conditions {
				if c := &pods[i].Conditions[k]; c.Type == name && c.holds() {
					n++
				}
			}
		}
	}
	return n
}

// distinct counts the listed names, each once, that are true conditions of one pod.
func distinct(conditions []string, present []Condition) int {
	n := 0
	for i, name := range conditions {
		if !slices.Contains(conditions[:i], name) &&
			slices.ContainsFunc(present, func(c Condition) bool { return c.Type == name && c.holds() }) {
			n++
		}
	}
	return n
}
