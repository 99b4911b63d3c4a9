package member

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/rollout"
)

// A Report describes the actions of Apply on a member.
type Report struct {
	Cluster string
	adapter.Result
	Failures jobs.Failures // to be shown: the next observation has them too
	// Err joins an [*adapter.CreateError], if not every Job could be created, with
	// the errors of other requests.
	Err error
}

// Apply carries out a plan that was made from the observation, on all members at once.
// On each member it acts as [adapter.Tracker.Apply] does, and stops at the first
// request that is not answered. It returns after Options.Deadline and Options.Timeout at
// the latest, with a report for each member that the plan changes, by name. The reports
// are right if the context is cancelled too.
//
// Apply also asks for creates that were not answered. A member that is only asked has a
// report if that failed. Deferred deletions, and deletions of unconfirmed Jobs, are left to
// the next plan. If the owner was edited since the observation, nothing is sent.
func (all *Clusters) Apply(ctx context.Context, o Observation, plan jobs.Decision) []Report {
	parts := o.parts(&plan)
	names := slices.Sorted(maps.Keys(parts))
	members, err := all.begin(names, o.owner)
	reports := make([]Report, len(names))
	together(len(names), func(i int) {
		r, ok := members[names[i]]
		if !ok {
			reports[i] = Report{Cluster: names[i], Err: cmp.Or(err, errNotRegistered)}
			return
		}
		reports[i] = r.apply(ctx, &o, parts[names[i]])
		if reports[i].Failures.Create || ctx.Err() != nil {
			all.mayArrive(ownerOn{o.owner.target.Owner.UID, names[i]}, 2*r.options.Timeout)
		}
		r.done(reports[i].Err)
	})
	return slices.DeleteFunc(reports, func(r Report) bool { return r.Err == nil && parts[r.Cluster].empty() })
}

// A part holds the changes of a plan on a member.
type part struct {
	jobs.Placement
	delete []adapter.Deletion
}

func (p *part) empty() bool { return p.Jobs() == 0 && len(p.delete) == 0 }

// parts returns those of members that the plan changes, and of members with Jobs in
// flight.
func (o *Observation) parts(plan *jobs.Decision) map[string]*part {
	parts := map[string]*part{}
	of := func(member string) *part {
		if parts[member] == nil {
			parts[member] = &part{}
		}
		return parts[member]
	}
	for _, p := range plan.Create {
		of(p.Cluster).Placement = p
	}
	deletes := len(plan.Outdated)+len(plan.Duplicates)+len(plan.Finished) > 0
	tracked := map[jobs.Ref]*adapter.Job{}
	for name, s := range o.seen {
		for i := range s.jobs {
			j := &s.jobs[i]
			if deletes {
				tracked[jobs.Ref{Cluster: name, Name: j.Name, UID: jobID(j)}] = j
			}
			if j.Phase == adapter.InFlight && s.cluster.health.mayAnswer() {
				of(name)
			}
		}
	}
	remove := func(all []jobs.Deletion, propagation rollout.Propagation, why adapter.Reason) {
		for _, d := range all {
			if j := tracked[d.Ref]; j != nil && j.UID != "" && !d.Deferred {
				p := of(d.Cluster)
				p.delete = append(p.delete, j.Delete(propagation, why))
			}
		}
	}
	outdated := rollout.Background
	if o.owner != nil {
		outdated = o.owner.target.Rollout.Propagation
	}
	remove(plan.Outdated, outdated, adapter.Outdated)
	remove(plan.Duplicates, rollout.Background, adapter.Duplicate)
	remove(plan.Finished, rollout.Background, adapter.HistoryLimit)
	return parts
}

var errNotKnown = errors.New("its Jobs are not known")

func (c *Cluster) apply(ctx context.Context, o *Observation, p *part) Report {
	r := Report{Cluster: c.name}
	switch s := o.seen[c.name]; {
	case s.cluster != c || !s.known:
		r.Err = errNotKnown
		return r
	case !c.health.mayAnswer():
		r.Err = c.errAway()
		return r
	}
	owner, s := o.owner.target.Owner.UID, c.sender(ctx, o.made)
	r.Result, r.Err = c.tracker.Apply(ctx, s.client(), adapter.Plan{
		Owner: owner, Create: p.Jobs(), Labels: p.labels(), Delete: p.delete,
	})
	if failed, ok := errors.AsType[*adapter.CreateError](r.Err); ok && apierrors.IsAlreadyExists(failed) {
		s.fail(jobs.Failures{Rejected: true}) // every number that was tried belongs to another owner
	}
	r.Failures = s.failed
	c.note(owner, r.Failures)
	return r
}
