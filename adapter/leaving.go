package adapter

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// Reasons of Plan.Holds about Jobs that are deleted, or are not. They hold no creates up.
const (
	StuckJobs        slots.Reason = "StuckJobs"        // Jobs are deleted by Target.DeleteStuckAfter
	PodsUnknown      slots.Reason = "PodsUnknown"      // outdated Jobs stay: rollout.Drain needs Options.Pods
	TemplatesUnknown slots.Reason = "TemplatesUnknown" // Jobs of an older generation stay: they or the Target have no TemplateHash
)

// leaving returns the unfinished Jobs that the poll deletes: outdated ones, and those that have
// been pending for too long.
func (o *owned) leaving(now time.Time) (leaving []*job) {
	limit := o.target.DeleteStuckAfter
	if o.target.Policy.Paused || (o.outdated == 0 && (limit <= 0 || o.phases[Pending] == 0)) {
		return nil
	}
	for _, j := range o.jobs {
		isStuck := limit > 0 && j.isPending() && !now.Before(j.PendingSince.Add(limit))
		if j.outdated || isStuck {
			leaving = append(leaving, j)
		}
	}
	return leaving
}

func (j *job) isPending() bool { return j.Phase == Pending && !j.stray }

// nextStuck returns when the next Job will have been pending for too long, or the zero time.
func (o *owned) nextStuck(now time.Time) (next time.Time) {
	limit := o.target.DeleteStuckAfter
	if limit <= 0 || o.target.Policy.Paused || o.phases[Pending] == 0 {
		return next
	}
	for _, j := range o.jobs {
		end := j.PendingSince.Add(limit)
		isEarlier := next.IsZero() || end.Before(next)
		if j.isPending() && end.After(now) && isEarlier {
			next = end
		}
	}
	return next
}

// leavingHolds returns the holds about the Jobs that leave, and about those that the rollout cannot judge.
func (o *owned) leavingHolds(leaving []*job) (holds []slots.Hold) {
	stuck := 0
	for _, j := range leaving {
		if !j.outdated {
			stuck++
		}
	}
	if stuck > 0 {
		text := fmt.Sprintf("deleted after pending for %s: %s", o.target.DeleteStuckAfter, field.Plural(stuck, "Job"))
		holds = append(holds, slots.Hold{Reason: StuckJobs, Text: text, Count: stuck})
	}
	if n := int(o.podsUnknown); n > 0 {
		holds = append(holds, slots.Hold{Reason: PodsUnknown, Text: rollout.ReasonPodsUnknown.Text(), Count: n})
	}
	if n := int(o.templatesUnknown); n > 0 {
		text := fmt.Sprintf("not replaced, because their template is not known: %s of an older generation", field.Plural(n, "Job"))
		holds = append(holds, slots.Hold{Reason: TemplatesUnknown, Text: text, Count: n})
	}
	return holds
}
