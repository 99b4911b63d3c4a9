package adapter

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// A Plan holds the changes of a poll. [Tracker.Plan] returns it; a program with rules of
// its own may fill it in. The zero value changes nothing.
type Plan struct {
	Owner    types.UID
	Decision scaling.Decision // zero if the program made the plan
	Create   int64            // Jobs to create: Decision.Create
	// Holds are the reasons why fewer Jobs are created than the strategy proposed: those of
	// package slots, JobsUnknown and NotLeading. If one of them stops all creates,
	// Decision.Create is 0 and its Reason is scaling.ReasonWaiting.
	Holds  []slots.Hold
	Delete []Deletion
	// Warnings are settings of Target.Policy and of the metrics that are valid, and have no effect or
	// are probably a mistake.
	Warnings []*field.Error
	// NextCheck is when a plan may differ without an event; zero if unknown.
	NextCheck time.Time
	// Failures is what Target.FailureBackoff remembers, to be stored.
	Failures FailureCheckpoint
	// Expiring is the number of Jobs that have ttlSecondsAfterFinished, such as KEDA's. Jobs of
	// a Tracker have none. Whoever else deletes finished Jobs may cost a Job above the maximum.
	Expiring int32

	target  *Target   // the plan is outdated if the owner has another target; nil means the target at Apply
	created time.Time // the zero time is when Apply is called
	term    *requests.Term
}

// A Deletion names a Job to delete, and why.
type Deletion struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string // if set, a Job that has changed since is not deleted
	Propagation     rollout.Propagation
	Reason          Reason
}

// A Reason says why a Job is deleted. A program that makes plans may have others.
type Reason string

const (
	Outdated     Reason = "Outdated"
	HistoryLimit Reason = "HistoryLimit"
	Stuck        Reason = "Stuck"
)

var texts = map[Reason]string{
	Outdated:     "made from an older revision of the spec",
	HistoryLimit: "finished, and beyond the history limit",
	Stuck:        "pending for too long",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// decide decides a poll. Unknown Jobs are neither created nor deleted.
func (o *owned) decide(metrics []scaling.Metric, listed bool, now time.Time) Plan {
	t := o.target
	plan, state := Plan{Owner: o.uid, target: t}, scaling.Observation{Metrics: metrics}
	plan.Warnings = t.warnings(metrics)
	if !listed {
		plan.Decision = scaling.Decide(t.Policy, state)
		return plan
	}
	leaving := o.leaving(now)
	counts := o.counts(now, leaving)
	for _, j := range leaving {
		reason := Stuck
		if j.outdated {
			reason = Outdated
		}
		plan.Delete = append(plan.Delete, j.Delete(t.Rollout.Propagation, reason))
	}
	if o.target.History != (history.Policy{}) && (o.finishedChanged || (!o.expiry.IsZero() && !now.Before(o.expiry))) {
		plan.Delete = append(plan.Delete, o.prune(now)...)
	}
	state.Jobs = &counts
	plan.Decision = scaling.Decide(t.Policy, state)
	plan.Create = plan.Decision.Create
	plan.NextCheck, plan.Expiring = o.set.NextCheck(now), o.foreign
	o.slowDown(&plan, metrics, now)
	plan.hold(append(append(o.set.Holds(now), plan.Holds...), o.leavingHolds(leaving)...))
	plan.check(o.expiry, now)
	plan.check(o.nextStuck(now), now)
	return plan
}

// check makes a future time that is not zero the next check, if it is earlier.
func (p *Plan) check(next, now time.Time) {
	if next.After(now) && (p.NextCheck.IsZero() || next.Before(p.NextCheck)) {
		p.NextCheck = next
	}
}

// hold takes over the reasons why fewer Jobs are created.
func (p *Plan) hold(holds []slots.Hold) {
	p.Holds = holds
	for _, h := range holds {
		if h.StopsCreates && p.Create > 0 {
			p.Create, p.Decision.Create, p.Decision.Reason = 0, 0, scaling.ReasonWaiting
		}
	}
}

// String returns the decision, and a line for each warning and for each reason why fewer Jobs are created.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString(p.Decision.String())
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "\nwarning   %v", w)
	}
	for _, h := range p.Holds {
		fmt.Fprintf(&b, "\nheld      %s: %s", h.Reason, h.Text)
	}
	if p.Expiring > 0 {
		fmt.Fprintf(&b, "\nexpiring  %s with ttlSecondsAfterFinished: an early deletion may cost a Job above the maximum", field.Plural(p.Expiring, "Job"))
	}
	return b.String()
}

// prune deletes the finished Jobs beyond the limits.
func (o *owned) prune(now time.Time) (deletions []Deletion) {
	var jobs []*job
	var finished []history.Job
	for _, j := range o.jobs {
		if j.finished() && !j.stray {
			jobs = append(jobs, j)
			finished = append(finished, history.Job{Name: j.Name, Deleting: j.Deleting, Finished: j.Finished, Outcome: history.Outcome(j.Phase.String())})
		}
	}
	decision := history.Decide(o.target.History, history.Observation{Now: now, Jobs: finished})
	o.expiry = decision.NextCheck
	o.finishedChanged = len(decision.Delete) > 0 // they are chosen again until they are deleted
	for _, chosen := range decision.Delete {
		d := jobs[chosen.Index].Delete(rollout.Background, HistoryLimit)
		d.ResourceVersion = ""
		deletions = append(deletions, d)
	}
	return deletions
}
