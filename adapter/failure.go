package adapter

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// A FailureBackoff slows down creates while every Job fails. It is in force from a failed Job
// until a Job succeeds, a running Job has lasted longer than those that failed, the metrics
// are lower than when the failed Jobs were created, or the revision changes. Then a single Job
// is created after Initial, the next after twice that, and so on up to Max, each when the one
// before has ended or has been pending for longer than Max, also below the minimum. The zero
// value is off.
type FailureBackoff struct {
	Initial, Max time.Duration // delays since the last failure
	Interval     time.Duration // between two polls; no delay is shorter
	// Checkpoint is that of the last plan before a restart, such as from the owner's status. A
	// tracker that has a later one ignores it.
	Checkpoint FailureCheckpoint
}

// NewFailureBackoff returns the delays of Kubernetes' Jobs, 10 s to 6 min, for a controller that
// polls in that interval.
func NewFailureBackoff(interval time.Duration) FailureBackoff {
	return FailureBackoff{Initial: 10 * time.Second, Max: 6 * time.Minute, Interval: interval}
}

// A FailureCheckpoint is what a FailureBackoff remembers of an owner. Store it, such as in the
// owner's status. The zero value knows of no Job.
type FailureCheckpoint struct {
	Failures    int32           `json:"failures,omitempty"`    // polls with failed Jobs since a Job succeeded
	Counted     time.Time       `json:"counted,omitzero"`      // when the last Job finished that counts
	Until       time.Time       `json:"until,omitzero"`        // no Job is created before
	Longest     metav1.Duration `json:"longest,omitzero"`      // that a failed Job lasted, since a Job succeeded
	QueueLength float64         `json:"queueLength,omitempty"` // sum of the metrics when a Job was last created
	Revision    string          `json:"revision,omitempty"`    // of the spec
}

// FailingJobs is the reason of Plan.Holds while a FailureBackoff is in force.
const FailingJobs slots.Reason = "FailingJobs"

// A FailureObservation is what a FailureBackoff reads.
type FailureObservation struct {
	Jobs     []Job
	InFlight int64 // creates whose Jobs are not in Jobs
	Metrics  []scaling.Metric
	Revision rollout.Revision
	Now      time.Time
}

// Decide returns how many of the Jobs to create are created, and a hold if that is fewer. It is pure.
func (b FailureBackoff) Decide(create int64, c FailureCheckpoint, o FailureObservation) (int64, *slots.Hold, FailureCheckpoint) {
	if b.Initial <= 0 {
		return create, nil, c
	}
	length, readable := sum(o.Metrics)
	revision := fmt.Sprintf("%d/%s", o.Revision.Generation, o.Revision.TemplateHash)
	if c.Revision != revision {
		c = FailureCheckpoint{Revision: revision, Counted: c.Counted}
	}
	c = b.count(c, o)
	if readable && length < c.QueueLength {
		c.Failures, c.Longest, c.Until = 0, metav1.Duration{}, time.Time{}
	}
	unfinished := o.InFlight
	for i := range o.Jobs {
		j := &o.Jobs[i]
		neverStarts := !j.PendingSince.IsZero() && o.Now.Sub(j.PendingSince) > b.Max
		if !j.finished() && !neverStarts {
			unfinished++
			if j.Phase == Running && o.Now.Sub(j.Created) > c.Longest.Duration+max(b.Initial, b.Interval) {
				c.Failures, c.Until = 0, time.Time{}
			}
		}
	}
	if c.Failures == 0 {
		if create > 0 && readable {
			c.QueueLength = length
		}
		return create, nil, c
	}
	hold := &slots.Hold{Reason: FailingJobs, Count: int(c.Failures), StopsCreates: unfinished > 0 || o.Now.Before(c.Until)}
	switch {
	case unfinished > 0:
		hold.Text = "Jobs fail and none has succeeded since; the next is created when the present ones have ended"
	case hold.StopsCreates:
		hold.Text = "Jobs fail and none has succeeded since; the next is created at " + c.Until.UTC().Format(time.RFC3339)
	default:
		hold.Text, create = "Jobs fail and none has succeeded since; a single one is created", min(create, 1)
		if create > 0 && readable {
			c.QueueLength = length
		}
	}
	if hold.StopsCreates {
		create = 0
	}
	return create, hold, c
}

// count takes over the Jobs that have finished since the last poll. The failures of a poll count
// once; those of Jobs of another revision do not.
func (b FailureBackoff) count(c FailureCheckpoint, o FailureObservation) FailureCheckpoint {
	var failed time.Time
	for i := range o.Jobs {
		if j := &o.Jobs[i]; j.Phase == Succeeded && j.Finished.After(c.Counted) {
			c.Failures, c.Longest, c.Until, c.Counted = 0, metav1.Duration{}, time.Time{}, j.Finished.UTC()
		}
	}
	for i := range o.Jobs {
		if j := &o.Jobs[i]; j.Phase == Failed && j.Revision == o.Revision && j.Finished.After(c.Counted) {
			c.Longest.Duration, failed = max(c.Longest.Duration, j.Finished.Sub(j.Created)), later(failed, j.Finished)
		}
	}
	if !failed.IsZero() {
		c.Until, c.Counted = later(failed.Add(b.delay(c.Failures)), o.Now.Add(b.Interval)).UTC(), failed.UTC()
		c.Failures++
	}
	return c
}

// delay returns the delay after a number of earlier failures.
func (b FailureBackoff) delay(failures int32) time.Duration {
	delay := b.Initial
	for range min(failures, 32) {
		delay = min(2*delay, b.Max)
	}
	return min(delay, b.Max)
}

func (b *FailureBackoff) validate(e *field.Errors) {
	e.Check(b.Initial >= 0, "FailureBackoff.Initial", b.Initial, "a duration of 0 or more")
	e.Check(b.Max >= b.Initial, "FailureBackoff.Max", b.Max, "a duration of at least FailureBackoff.Initial")
	e.Check(b.Interval >= 0, "FailureBackoff.Interval", b.Interval, "a duration of 0 or more")
	e.Check(b.Initial > 0 || b.Max == 0, "FailureBackoff.Initial", b.Initial, "a duration above 0, without which FailureBackoff.Max has no effect")
}

// sum returns the sum of the metrics, and whether all could be read.
func sum(metrics []scaling.Metric) (length float64, readable bool) {
	for _, m := range metrics {
		length += m.Value
	}
	return length, length >= 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// slowDown applies the target's FailureBackoff to a plan.
func (o *owned) slowDown(p *Plan, metrics []scaling.Metric, now time.Time) {
	if o.target.FailureBackoff.Initial <= 0 {
		return
	}
	var hold *slots.Hold
	p.Create, hold, o.failures = o.target.FailureBackoff.Decide(p.Create, o.failures, FailureObservation{
		Jobs: o.cached(), InFlight: o.flying(), Metrics: metrics, Revision: o.target.Revision, Now: now,
	})
	if p.Failures = o.failures; hold == nil {
		return
	}
	p.Holds = append(p.Holds, *hold)
	if p.Decision.Create > 0 && p.Create == 0 {
		p.Decision.Reason = scaling.ReasonWaiting
	}
	p.Decision.Create = p.Create
	p.check(o.failures.Until, now)
}
