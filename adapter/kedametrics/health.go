package kedametrics

import "time"

const (
	// suspicious is the number of reads in a row without any answer of KEDA after which it is probed.
	suspicious = 5
	// betweenProbes is the time between two probes.
	betweenProbes = 5 * time.Second
)

// A health says whether KEDA can be asked. What an owner's triggers do cannot change it: only a probe
// does, which no tenant influences.
type health struct {
	reason   Reason // why KEDA cannot be asked, or ""
	failures int    // in a row, of any owners
	probed   time.Time
}

// note takes over the outcome of a read, and reports whether to probe.
func (h *health) note(now time.Time, r Reason) (probe bool) {
	switch r {
	case "", TriggerFailed, Stale:
		h.failures = 0
		return false
	}
	h.failures++
	return h.failures >= suspicious && now.Sub(h.probed) >= betweenProbes
}

// result takes over the outcome of a probe, and reports whether it is another than before.
func (h *health) result(now time.Time, r Reason) (changed bool) {
	changed = h.reason != r
	h.reason, h.failures, h.probed = r, 0, now
	return changed
}
