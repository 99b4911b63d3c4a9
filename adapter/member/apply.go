package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/rollout"
)

// An Action is a plan to carry out, and what Jobs are made of.
type Action struct {
	// ScaledJob has the metadata of the home object, its UID above all, and its
	// scaledJobSpec as spec.
	ScaledJob   *adapter.ScaledJob
	Revision    rollout.Revision    // that of the JobPolicy
	Propagation rollout.Propagation // for Jobs rolled out; others are deleted in the background
	Targets     map[string]Target   // by member; one that is not here has the zero value
	Plan        placement.JobPlan
	Now         time.Time
}

// A Target is what is different about the Jobs of one member. The zero value is
// nothing.
type Target struct {
	Namespace string // "" is that of the home object
	Overrides PodOverrides
}

// A Report is what Apply did on one member.
type Report struct {
	Cluster string
	adapter.Result
	// Failures are the kinds that there were, in order. The next Observe tells them:
	// they are here to be shown.
	Failures []placement.FailureKind
	// Err is a [*adapter.CreateError] where not every Job could be created, joined to
	// deletions that failed.
	Err error
}

// LabelSelector is the label of Jobs that the status of a DistributedScaledJob
// names in its selector, with the name of the home object.
const LabelSelector = "kedify-agent-distributedscaledjob"

// Apply carries out a plan, on all members at once, and returns what it did on
// each that has a part in it, by name. On each it deletes, then creates, as
// [adapter.Apply] does, and stops at the first request that is not answered. It returns
// when the slowest is done, which is after Options.Deadline and Options.Timeout at the
// latest. The reports are right when the context is cancelled, too.
//
// Deletions that are deferred are not tried, nor are those of Jobs that may not exist;
// they are in the next plan again.
func (all *Clusters) Apply(ctx context.Context, a Action) []Report {
	parts := a.parts()
	names := slices.Sorted(maps.Keys(parts))
	members := all.begin(names)
	sources := all.named(a.ScaledJob.UID)
	reports := make([]Report, len(names))
	together(len(names), func(i int) {
		reports[i].Err = errNotRegistered
		if c, ok := members[names[i]]; ok {
			defer c.busy.Done()
			reports[i] = c.apply(ctx, &a, parts[names[i]].naming(sources))
		}
		reports[i].Cluster = names[i]
	})
	return reports
}

// A part is what a plan has for one member.
type part struct {
	placement.Placement
	delete []placement.Deletion
}

func (a *Action) parts() map[string]part {
	parts := map[string]part{}
	for _, p := range a.Plan.Create {
		parts[p.Cluster] = part{Placement: p}
	}
	for _, d := range a.Plan.Delete {
		if exists := d.UID != d.Name; exists && !d.Deferred {
			p := parts[d.Cluster]
			p.delete = append(p.delete, d)
			parts[d.Cluster] = p
		}
	}
	return parts
}

// named are the Jobs that replacements of the owner's name, by UID.
func (all *Clusters) named(owner types.UID) map[string]string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.sources[owner]
}

// naming is the part in which Jobs are replaced under the names that others replace
// them under.
func (p part) naming(names map[string]string) part {
	p.Replacements = slices.Clone(p.Replacements)
	for i := range p.Replacements {
		source := &p.Replacements[i].Source
		source.UID = cmp.Or(names[source.UID], source.UID)
	}
	return p
}

func (c *Cluster) apply(ctx context.Context, a *Action, p part) (r Report) {
	if !c.health.mayAnswer() {
		r.Err = c.errAway()
		return r
	}
	order := c.order(a, p)
	plan := c.tracker.Order(order)
	if wanted := order.Fresh + int64(len(order.Replaces)); plan.Create < wanted || len(plan.Delete) < len(order.Delete) {
		r.Err = errors.New("its Jobs are not known")
		return r
	}
	s := c.sender(ctx)
	r.Result, r.Err = c.tracker.Apply(ctx, s, plan)
	if apierrors.IsAlreadyExists(r.Err) { // every name that was tried is somebody else's
		s.fail(placement.CreateRejected)
	}
	r.Failures = s.failures()
	c.note(a.ScaledJob.UID, r.Failures)
	return r
}

// note keeps failures for the owner's next observation.
func (c *Cluster) note(uid types.UID, kinds []placement.FailureKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.owners[uid]; o != nil {
		for _, kind := range kinds {
			o.failed[kind] = true
		}
	}
}

// order is the part as the adapter carries it out.
func (c *Cluster) order(a *Action, p part) adapter.Order {
	s := a.ScaledJob
	o := adapter.Order{
		Owner: s.UID, Prototype: c.prototype(a), Now: a.Now,
		Key:   fmt.Sprintf("%s/%d/%s", s.UID, a.Revision.Generation, c.name),
		Fresh: int64(p.Fresh),
	}
	for _, r := range p.Replacements {
		o.Replaces = append(o.Replaces, r.Source)
	}
	c.tracker.View(s.UID, func(f *adapter.Fleet) {
		for _, d := range p.delete {
			if j, ok := f.Job(d.Name); ok {
				o.Delete = append(o.Delete, a.deletion(d, j.Namespace))
			}
		}
	})
	return o
}

var reasons = map[placement.Reason]adapter.Reason{
	placement.ReasonOldSpec:      adapter.OldSpec,
	placement.ReasonDuplicate:    adapter.Duplicate,
	placement.ReasonHistoryLimit: adapter.HistoryLimit,
}

func (a *Action) deletion(d placement.Deletion, namespace string) adapter.Deletion {
	deletion := adapter.Deletion{Name: d.Name, Namespace: namespace, UID: types.UID(d.UID), Reason: reasons[d.Reason]}
	if d.Reason == placement.ReasonOldSpec {
		deletion.Propagation = a.Propagation
	}
	return deletion
}

// prototype is what the owner's new Jobs are on this member.
func (c *Cluster) prototype(a *Action) *batchv1.Job {
	s, target := a.ScaledJob, a.Targets[c.name]
	job := s.Prototype(a.Revision)
	job.Namespace = cmp.Or(target.Namespace, s.Namespace)
	job.Labels[adapter.LabelHome] = c.options.Home
	job.Labels[adapter.LabelOwner] = string(s.UID)
	job.Labels[adapter.LabelOwnerNamespace] = s.Namespace
	job.Labels[LabelSelector] = adapter.LabelValue(s.Name)
	pod, _ := target.Overrides.Merge(&job.Spec.Template.Spec)
	job.Spec.Template.Spec = *pod
	return job
}
