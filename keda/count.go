package keda

import "slices"

// Counts are the numbers of Jobs that a decision starts from.
type Counts struct {
	Running int64 // R: unfinished, pending ones included
	Pending int64 // P: the part of R that is pending
}

// Count counts the Jobs by [PartPending]. Terminating and suspended Jobs count
// like all others. Pending is 0 in 2.0, which does not count them
// ([PendingCount]).
func (p Profile) Count(j *ScaledJob, jobs []Job) Counts {
	var c Counts
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
	form := p.forms[PartPending]
	switch {
	case form == pending20:
		return false
	case form == pending21 || len(conditions) == 0:
		return !slices.ContainsFunc(pods, func(pod Pod) bool { return pod.Phase == "Running" || pod.Phase == "Succeeded" })
	case form == pending24:
		return matches(conditions, pods) != len(conditions)
	}
	return !slices.ContainsFunc(pods, func(pod Pod) bool { return distinct(conditions, pod.Conditions) == len(conditions) })
}

// matches counts the pairs of a listed condition and a pod's that is true.
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

// distinct counts the different names listed that are true of one pod.
func distinct(conditions []string, of []Condition) int {
	n := 0
	for i, name := range conditions {
		if !slices.Contains(conditions[:i], name) &&
			slices.ContainsFunc(of, func(c Condition) bool { return c.Type == name && c.holds() }) {
			n++
		}
	}
	return n
}
