package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

const (
	// finalizer keeps a DistributedScaledJob until its Jobs are gone from all members.
	// The garbage collector of a member does not know the object.
	finalizer = "keda.kedify.io/distributedscaledjob"
	// finalizerObject keeps a DistributedScaledObject until its members have their original
	// counts, with restoreToOriginalReplicaCount.
	finalizerObject = "keda.kedify.io/distributedscaledobject"
	// annotationAbandon names members, separated by commas. Their Jobs are left behind
	// when the DistributedScaledJob is deleted, and their replicas stay as they are.
	annotationAbandon = "scaledjob.keda.sh/abandon-members"
)

// finalizer returns the finalizer of the object's kind.
func (p *poller) finalizer() string {
	if p.resource == api.Objects {
		return finalizerObject
	}
	return finalizer
}

// finalize adds the finalizer, before the first Job is created.
func (p *poller) finalize(ctx context.Context) error {
	if slices.Contains(p.current.GetFinalizers(), p.finalizer()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(p.current.GroupVersionKind())
	u.SetName(p.current.GetName())
	u.SetUID(p.uid)
	u.SetFinalizers([]string{p.finalizer()}) // others' stay as they are
	applied, err := p.client().Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: name, Force: true})
	if err == nil {
		p.current = p.current.DeepCopy()
		p.current.SetFinalizers(applied.GetFinalizers())
	}
	return err
}

// release removes the finalizer, also if another client has applied it, such as with a
// restored backup. It fails if the finalizers have changed meanwhile.
func (p *poller) release(ctx context.Context) error {
	path := fmt.Sprint("/metadata/finalizers/", slices.Index(p.current.GetFinalizers(), p.finalizer()))
	return p.patch(ctx, []operation{{"test", path, p.finalizer()}, {Op: "remove", Path: path}})
}

// cleanUp deletes the Jobs on all members, and then lets the object go. It waits for
// members that do not answer, unless the annotation names them.
func (j *job) cleanUp(ctx context.Context) time.Time {
	if !slices.Contains(j.current.GetFinalizers(), finalizer) {
		return time.Time{}
	}
	j.members.Untrack(j.uid)
	j.reader.Untrack(j.uid)
	remaining, failed, abandoned := []error(nil), []error(nil), j.gone()
	for _, c := range j.members.DeleteJobs(ctx, adapter.Owner{Namespace: j.current.GetNamespace(), UID: j.uid}, j.config.Overrides) {
		switch {
		case c.Err != nil && j.abandons(c.Cluster):
			abandoned = append(abandoned, memberError(c.Cluster, c.Err))
		case c.Err != nil:
			failed = append(failed, memberError(c.Cluster, c.Err))
		case c.Found > 0:
			remaining = append(remaining, fmt.Errorf("member %s has %s", c.Cluster, field.Plural(c.Found, "Job")))
		case !c.Late.IsZero():
			remaining = append(remaining, fmt.Errorf("a create that member %s has not answered may arrive until %s", c.Cluster, c.Late.Format(time.RFC3339)))
		}
	}
	if ctx.Err() != nil {
		return time.Time{}
	}
	j.tellOnce("CleanupWaits", failed, toAbandon("leave its Jobs behind"))
	if len(remaining)+len(failed) > 0 {
		return time.Now().Add(time.Second)
	}
	j.tellOnce("JobsLeftBehind", abandoned, "") // while the object is there
	if err := j.release(ctx); err != nil && ctx.Err() == nil {
		j.problems.Warn("finalizer not removed, will try again", err)
	}
	return time.Now().Add(time.Second)
}

// gone returns errors for members of the last plan that are not registered any more.
func (j *job) gone() (problems []error) {
	registered := j.members.Names()
	for _, name := range slices.Sorted(maps.Keys(j.status.MemberClusterStatuses)) {
		if !slices.Contains(registered, name) {
			problems = append(problems, fmt.Errorf("member %s is not registered: Jobs that it may have are left there", name))
		}
	}
	return problems
}

func (p *poller) abandons(member string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(p.current.GetAnnotations()[annotationAbandon], " ", ""), ","), member)
}

// tellOnce reports errors of a deletion, unless they are as before, and what to do.
func (p *poller) tellOnce(reason string, problems []error, advice string) {
	if err := errors.Join(problems...); p.problems.Warn(reason, err) {
		scaledjob.Record(p.recorder, p.current, []scaledjob.Event{warning(reason, "%s%s", adapter.ErrorText(err), advice)})
	}
}

// toAbandon explains how to let the object go without a member.
func toAbandon(effect string) string {
	return "\nTo " + effect + ", name the member in the annotation " + annotationAbandon
}

// original returns a count of the object's workload on the member.
func (o *object) original(member string, count int32) api.Original {
	w := &o.config.Workload
	counted := api.Original{Replicas: count, Kind: w.Kind.GroupKind().String(), Namespace: w.Namespace, Name: w.Name}
	if other, ok := w.Namespaces[member]; ok {
		counted.Namespace = other
	}
	return counted
}

// originals returns the counts that workloads had before this object scaled them, one for
// each member that is registered or has replicas, and whether one has been added.
func (o *object) originals(clusters []replicas.Cluster) (originals map[string]api.Original, added bool) {
	originals = map[string]api.Original{}
	registered := o.members.Names()
	for name, before := range o.status.Original {
		if _, used := o.checkpoint.Members[name]; used || slices.Contains(registered, name) {
			originals[name] = before
		}
	}
	for _, c := range clusters {
		before := originals[c.Name]
		read := c.Problem == "" || c.Problem == replicas.ReasonWriteFailed
		if read && before != o.original(c.Name, before.Replicas) {
			originals[c.Name], added = o.original(c.Name, c.Replicas), true
		}
	}
	return originals, added
}

// giveBack writes the original counts after a deletion, and then lets the object go. It
// waits for members that do not answer, unless the annotation names them. Only a workload
// that was scaled gets its count, and only if the object may still scale it.
func (o *object) giveBack(ctx context.Context) time.Time {
	if !slices.Contains(o.current.GetFinalizers(), o.finalizer()) {
		return time.Time{} // the workloads are not ours
	}
	registered := o.members.Names() // before their registrations are checked
	refusal := o.refusal()
	o.problems.Warn("original replicas are not written", refusal)
	if o.config.Restore && refusal == nil {
		var plan replicas.Decision
		for _, name := range slices.Sorted(maps.Keys(o.status.Original)) {
			before := o.status.Original[name]
			if before == o.original(name, before.Replicas) && slices.Contains(registered, name) && !o.abandons(name) {
				plan.Shares = append(plan.Shares, replicas.Share{Name: name, Next: before.Replicas, Write: true})
			}
		}
		var failed []error
		for _, r := range o.members.Scale(ctx, o.config.Workload, plan) {
			if !apierrors.IsNotFound(r.Err) && !meta.IsNoMatchError(r.Err) {
				failed = append(failed, memberError(r.Cluster, r.Err))
			}
		}
		if ctx.Err() != nil {
			return time.Time{}
		}
		o.tellOnce("CleanupWaits", failed, toAbandon("leave its replicas as they are"))
		if errors.Join(failed...) != nil {
			return time.Now().Add(time.Second)
		}
	}
	if err := o.release(ctx); err != nil && ctx.Err() == nil {
		o.problems.Warn("finalizer not removed, will try again", err)
	}
	return time.Now().Add(time.Second)
}
