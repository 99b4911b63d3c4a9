package keda

import "strconv"

const paused = "autoscaling.keda.sh/paused"

// Paused reports whether the paused annotation stops polling, by [PartPause].
// From 2.13 on only the values that strconv.ParseBool reads as false do not.
func (p Profile) Paused(j *ScaledJob) bool {
	value, found := j.Metadata.Annotations[paused]
	switch {
	case !found || p.forms[PartPause] == pause20:
		return false
	case p.forms[PartPause] == pause211:
		return true
	}
	on, err := strconv.ParseBool(value)
	return on || err != nil
}
