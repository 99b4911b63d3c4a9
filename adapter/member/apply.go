package member

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
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
	Failures       jobs.Failures // to be shown: a later observation has those that count
	// Err joins an [*adapter.CreateError], if not every Job could be created, with
	// the errors of other requests.
	Err error
	// Undeleted is the part of Err that is not about creates, if Jobs that were to be deleted remain.
	Undeleted error
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
	p := &applied{stop: stop, finished: make(chan struct{})}
	all.mu.Lock()
	if all.applied == nil {
		all.applied = map[types.UID][]*applied{}
	}
	all.applied[uid] = append(all.applied[uid], p)
	all.mu.Unlock()
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(func() {
			report := Report{Cluster: name, Err: errNotRegistered}
			if r, ok := members[name]; ok {
				report = r.apply(ctx, next, &o, parts[name])
				if report.Failures.Create || ctx.Err() != nil {
					all.mayArrive(ownerOn{uid, name}, 2*r.options.Timeout)
				}
				r.done(report.Err)
			}
			if report.Err != nil || !parts[name].empty() {
				all.mu.Lock()
				p.reports = append(p.reports, report)
				all.mu.Unlock()
			}
		})
	}
	go func() { group.Wait(); stop(); close(p.finished) }()
	var patience <-chan time.Time
	if all.Patience > 0 {
		timer := time.NewTimer(all.Patience)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-p.finished:
	case <-patience:
	}
	return all.reports(uid)
}

// An applied plan goes on after Apply on the members for which Apply has not waited.
type applied struct {
	stop     context.CancelFunc // sends no further batch
	finished chan struct{}
	reports  []Report // since the last Apply
}

// reports returns the new reports of the owner's plans, by member, and forgets plans that are over.
func (all *Clusters) reports(owner types.UID) (reports []Report) {
	all.mu.Lock()
	defer all.mu.Unlock()
	running := slices.DeleteFunc(all.applied[owner], func(p *applied) (finished bool) {
		select {
		case <-p.finished:
			finished = true
		default:
		}
		reports = append(reports, p.reports...)
		p.reports = nil
		return finished
	})
	if len(running) > 0 {
		all.applied[owner] = running
	} else {
		delete(all.applied, owner)
	}
	slices.SortStableFunc(reports, func(a, b Report) int { return strings.Compare(a.Cluster, b.Cluster) })
	return reports
}

// stopPlans lets the owner's plans send no further batch, and returns them. The caller holds
// the lock.
func (all *Clusters) stopPlans(owner types.UID) []*applied {
	for _, p := range all.applied[owner] {
		p.stop()
	}
	return slices.Clone(all.applied[owner])
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
	partOf := func(member string) *part {
		if parts[member] == nil {
			parts[member] = &part{}
		}
		return parts[member]
	}
	for _, p := range plan.Create {
		partOf(p.Cluster).Placement = p
	}
	deletes := len(plan.Outdated)+len(plan.Duplicates)+len(plan.Finished) > 0
	tracked := map[jobs.JobRef]*adapter.Job{}
	for name, s := range o.views {
		for i := range s.jobs {
			j := &s.jobs[i]
			if deletes {
				tracked[jobs.JobRef{Cluster: name, Name: j.Name, UID: jobID(j)}] = j
			}
			if j.Phase == adapter.InFlight && s.cluster.health.mayAnswer() {
				partOf(name)
			}
		}
	}
	remove := func(deletions []jobs.Deletion, propagation rollout.Propagation, reason adapter.Reason) {
		for _, d := range deletions {
			if j := tracked[d.JobRef]; j != nil && j.UID != "" && !d.Deferred {
				p := partOf(d.Cluster)
				p.delete = append(p.delete, j.Delete(propagation, reason))
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
	switch s := o.views[c.name]; {
	case s.cluster != c || !s.listed:
		r.Err = errNotKnown
		return r
	case !c.health.mayAnswer():
		r.Err = c.errAway()
		return r
	}
	owner, s := o.owner.target.Owner.UID, c.sender(ctx, o.begin)
	client := s.client()
	client.labels = p.labels()
	r.Result, r.Err = c.tracker.Apply(next, client, adapter.Plan{Owner: owner, Create: p.Jobs(), Delete: p.delete})
	r.Duplicates, r.Other = r.Other, 0
	if failed, ok := errors.AsType[*adapter.CreateError](r.Err); ok && apierrors.IsAlreadyExists(failed) {
		s.fail(failures{Failures: jobs.Failures{Rejected: true}}) // every number that was tried belongs to another owner
	}
	if r.Failures = combine(s.failed.Failures, s.failed.doubted); r.Failures == (jobs.Failures{}) && ctx.Err() == nil && errors.Is(r.Err, context.Canceled) {
		r.Err = nil // the next observation has stopped it
	}
	if r.Outdated+r.Duplicates+r.Pruned < len(p.delete) {
		_, r.Undeleted = adapter.SplitErrors(r.Err)
	}
	c.note(owner, s.failed)
	return r
}
