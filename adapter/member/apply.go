package member

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/rollout"
)

// A Report describes the actions of Apply on a member.
type Report struct {
	Cluster        string
	adapter.Result // Other is 0
	Duplicates     int
	Failures       jobs.Failures // to be shown: the next observation has them too
	// Err joins an [*adapter.CreateError], if not every Job could be created, with
	// the errors of other requests.
	Err error
}

// Apply carries out a plan that was made from the observation, on all members at once. It
// waits for them for Clusters.Patience. On slower members the plan goes on until the next
// observation of the owner, and the next Apply returns their reports.
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
	if err != nil {
		var reports []Report
		for _, name := range names {
			reports = append(reports, Report{Cluster: name, Err: err})
		}
		return reports
	}
	uid := o.owner.target.Owner.UID
	next, stop := context.WithCancel(ctx)
	done := make(chan []Report, len(names))
	for _, name := range names {
		go func() {
			r, ok := members[name]
			if !ok {
				done <- []Report{{Cluster: name, Err: errNotRegistered}}
				return
			}
			report := r.apply(ctx, next, &o, parts[name])
			if report.Failures.Create || ctx.Err() != nil {
				all.mayArrive(ownerOn{uid, name}, 2*r.options.Timeout)
			}
			r.done(report.Err)
			if report.Err == nil && parts[name].empty() {
				done <- nil
				return
			}
			done <- []Report{report}
		}()
	}
	return byCluster(all.await(uid, len(names), done, stop))
}

// await returns the reports of n members, and of the owner's remainders that are over. Members
// that do not answer within the patience become a remainder.
func (all *Clusters) await(owner types.UID, n int, done <-chan []Report, stop context.CancelFunc) []Report {
	reports, rest := all.over(owner), &remainder{stop: stop, over: make(chan struct{})}
	var patience <-chan time.Time
	if all.Patience > 0 {
		timer := time.NewTimer(all.Patience)
		defer timer.Stop()
		patience = timer.C
	}
	for ; n > 0; n-- {
		select {
		case r := <-done:
			reports = append(reports, r...)
		case <-patience:
			all.later(owner, rest)
			go func() {
				defer stop()
				for range n {
					rest.reports = append(rest.reports, <-done...)
				}
				close(rest.over)
			}()
			return reports
		}
	}
	stop()
	return reports
}

func byCluster(reports []Report) []Report {
	slices.SortStableFunc(reports, func(a, b Report) int { return strings.Compare(a.Cluster, b.Cluster) })
	return reports
}

// A remainder is the part of a plan on members that Apply has not waited for.
type remainder struct {
	stop    context.CancelFunc // sends no further batch
	over    chan struct{}
	reports []Report // may be read when it is over
}

func (all *Clusters) later(owner types.UID, r *remainder) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.remainders == nil {
		all.remainders = map[types.UID][]*remainder{}
	}
	all.remainders[owner] = append(all.remainders[owner], r)
}

// over returns the reports of the owner's remainders that are over, and forgets these.
func (all *Clusters) over(owner types.UID) (reports []Report) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.remainders[owner] == nil {
		return nil
	}
	all.remainders[owner] = slices.DeleteFunc(all.remainders[owner], func(r *remainder) bool {
		select {
		case <-r.over:
			reports = append(reports, r.reports...)
			return true
		default:
			return false
		}
	})
	if len(all.remainders[owner]) == 0 {
		delete(all.remainders, owner)
	}
	return reports
}

// stopRemainders lets the owner's remainders send no further batch, and returns them. The caller
// holds the lock.
func (all *Clusters) stopRemainders(owner types.UID) []*remainder {
	for _, r := range all.remainders[owner] {
		r.stop()
	}
	return slices.Clone(all.remainders[owner])
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
	remove(plan.Duplicates, rollout.Background, "duplicate")
	remove(plan.Finished, rollout.Background, adapter.HistoryLimit)
	return parts
}

var errNotKnown = errors.New("its Jobs are not known")

func (c *Cluster) apply(ctx, next context.Context, o *Observation, p *part) Report {
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
	client := s.client()
	client.labels = p.labels()
	r.Result, r.Err = c.tracker.Apply(next, client, adapter.Plan{Owner: owner, Create: p.Jobs(), Delete: p.delete})
	r.Duplicates, r.Other = r.Other, 0
	if failed, ok := errors.AsType[*adapter.CreateError](r.Err); ok && apierrors.IsAlreadyExists(failed) {
		s.fail(jobs.Failures{Rejected: true}) // every number that was tried belongs to another owner
	}
	if r.Failures = s.failed; s.failed == (jobs.Failures{}) && ctx.Err() == nil && errors.Is(r.Err, context.Canceled) {
		r.Err = nil // the next observation has stopped it
	}
	c.note(owner, r.Failures)
	return r
}
