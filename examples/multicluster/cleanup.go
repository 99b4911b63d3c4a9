package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/examples/multicluster/api"
)

const (
	// finalizer keeps a DistributedScaledJob until its Jobs are gone from all members.
	// The garbage collector of a member does not know the object.
	finalizer = "keda.kedify.io/distributedscaledjob"
	// finalizerObject keeps a DistributedScaledObject until its members have their original
	// counts, with restoreToOriginalReplicaCount.
	finalizerObject = "keda.kedify.io/distributedscaledobject"
	// annotationAbandon names members, separated by commas. Their Jobs are left behind
	// when the DistributedScaledJob is deleted.
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
	if slices.Contains(p.seen.GetFinalizers(), p.finalizer()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(p.seen.GroupVersionKind())
	u.SetName(p.seen.GetName())
	u.SetUID(p.uid)
	u.SetFinalizers([]string{p.finalizer()}) // others' stay as they are
	there, err := p.client().Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: name, Force: true})
	if err == nil {
		p.seen = p.seen.DeepCopy()
		p.seen.SetFinalizers(there.GetFinalizers())
	}
	return err
}

// release removes the finalizer, also if another client has applied it, such as with a
// restored backup. It fails if the finalizers have changed meanwhile.
func (p *poller) release(ctx context.Context) error {
	path := fmt.Sprint("/metadata/finalizers/", slices.Index(p.seen.GetFinalizers(), p.finalizer()))
	return p.patch(ctx, []operation{{"test", path, p.finalizer()}, {Op: "remove", Path: path}})
}

// cleanUp deletes the Jobs on all members, and then lets the object go. It waits for
// members that do not answer, unless the annotation names them.
func (j *job) cleanUp(ctx context.Context) time.Time {
	if !slices.Contains(j.seen.GetFinalizers(), finalizer) {
		return time.Time{}
	}
	j.members.Untrack(j.uid)
	left, failed, abandoned := []error(nil), []error(nil), j.gone()
	for _, c := range j.members.DeleteJobs(ctx, j.uid) {
		switch {
		case c.Err != nil && j.abandons(c.Cluster):
			abandoned = append(abandoned, on(c.Cluster, c.Err))
		case c.Err != nil:
			failed = append(failed, on(c.Cluster, c.Err))
		case c.Left > 0:
			left = append(left, fmt.Errorf("member %s has %d Jobs", c.Cluster, c.Left))
		case !c.Late.IsZero():
			left = append(left, fmt.Errorf("a create that member %s has not answered may arrive until %s", c.Cluster, c.Late.Format(time.RFC3339)))
		}
	}
	if ctx.Err() != nil {
		return time.Time{}
	}
	j.tellWaiting(failed)
	if len(left)+len(failed) > 0 {
		return time.Now().Add(time.Second)
	}
	j.tellAbandoned(abandoned) // while the object is there
	if err := j.release(ctx); err != nil && ctx.Err() == nil {
		j.problems.Warn("finalizer not removed, will try again", err)
	}
	return time.Now().Add(time.Second)
}

// gone returns errors for members of the last plan that are not registered any more.
func (j *job) gone() (left []error) {
	registered := j.members.Names()
	for _, name := range slices.Sorted(maps.Keys(j.status.MemberClusterStatuses)) {
		if !slices.Contains(registered, name) {
			left = append(left, fmt.Errorf("member %s is not registered: Jobs that it may have are left there", name))
		}
	}
	return left
}

func (p *poller) abandons(member string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(p.seen.GetAnnotations()[annotationAbandon], " ", ""), ","), member)
}

// tellWaiting reports, once, the errors that the deletion waits for.
func (j *job) tellWaiting(failed []error) {
	text := ""
	if err := errors.Join(failed...); err != nil {
		text = err.Error()
	}
	if text != "" && text != j.waiting {
		j.log.Warn("clean-up waits", "err", text)
		scaledjob.Record(j.recorder, j.seen, []scaledjob.Event{warning("CleanupWaits",
			"%s\nTo leave its Jobs behind, name the member in the annotation %s", text, annotationAbandon)})
	}
	j.waiting = text
}

// tellAbandoned reports, once, the members with Jobs left behind.
func (j *job) tellAbandoned(abandoned []error) {
	text := ""
	if err := errors.Join(abandoned...); err != nil {
		text = err.Error()
	}
	if text != "" && text != j.abandoned {
		j.log.Warn("Jobs left behind", "err", text)
		scaledjob.Record(j.recorder, j.seen, []scaledjob.Event{warning("JobsLeftBehind", "%s", text)})
	}
	j.abandoned = text
}
