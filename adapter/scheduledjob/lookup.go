package scheduledjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/schedule"
)

// An Observation holds the Jobs of a ScheduledJob, and the pods that are left of others. Only
// [Tracker.Observe] makes one: [Tracker.Carry] sends nothing from another.
type Observation struct {
	schedule.Observation               // without the time, requests, cancellations and upstreams
	Cached               []batchv1.Job // the Jobs of the runs
	Foreign              []batchv1.Job // other Jobs that the ScheduledJob controls, such as a copy of the Job of a run
	Orphans              []corev1.Pod  // of active runs whose Job is gone
	// Ending reports that the namespace is being deleted. Unfinished Jobs are deleted then,
	// because Kubernetes keeps the deleted pods of a Job that cannot replace them.
	Ending bool

	term *requests.Term // of its making
}

// Observe returns the observation of Jobs from a cache with a resource version; 0 is not known.
// It reads from the API server what the cache does not have: the failed pods of Jobs that have
// just failed, whether missing Jobs exist and which of their pods are left, and all Jobs if the
// state is newer than the cache or of another ScheduledJob. The error joins the reads that failed.
// The observation can be used with it: its JobsKnown is false if a decision needs such a read.
func (t *Tracker) Observe(ctx context.Context, s *ScheduledJob, jobs []batchv1.Job, revision int64) (Observation, error) {
	o := Observation{term: t.Terms.Term(), Observation: schedule.Observation{Revision: revision, DeletedBy: map[string]string{}}}
	o.divide(s, jobs)
	t.mutex.Lock()
	o.Rejected = slices.Clone(t.rejected[s.UID])
	t.mutex.Unlock()
	isNewer := revision > 0 && revision < s.Status.JobsRevision
	isOthers := s.Status.UID != "" && s.Status.UID != string(s.UID)
	settles := t.settles(s)
	if isNewer || isOthers || settles {
		if err := t.consistent(ctx, s, &o); err != nil {
			return o, err
		}
		o.Settled = settles
	}
	pods, err := t.failedPods(ctx, s, o.Cached)
	if err == nil {
		err = t.missing(ctx, s, &o)
	}
	if err == nil {
		o.JobsKnown, o.Jobs = true, s.Observe(o.Cached, append(pods, o.Orphans...))
		err = t.deletedBy(ctx, s, &o)
	}
	return o, errors.Join(err, t.ending(ctx, &o))
}

// divide tells the Jobs of runs from others.
func (o *Observation) divide(s *ScheduledJob, jobs []batchv1.Job) {
	o.Cached, o.Foreign = nil, nil
	for _, j := range jobs {
		switch {
		case s.owns(&j):
			o.Cached = append(o.Cached, j)
		case s.controls(&j):
			o.Foreign = append(o.Foreign, j)
		}
	}
}

// settles reports whether a consistent read shows if creates had an effect that a clock that was ahead
// has decided: none of them may still arrive.
func (t *Tracker) settles(s *ScheduledJob) (found bool) {
	for _, r := range s.Status.Pending {
		isFuture := !r.OnDemand && r.Due.Add(time.Duration(r.Delay)).After(t.Now())
		if r.Tried.IsZero() || !isFuture {
			continue
		}
		if found = true; t.mayArrive(types.NamespacedName{Namespace: s.Namespace, Name: adapter.JobName(s.Name, r.Tag)}) {
			return false
		}
	}
	return found
}

// ending finds out whether the namespace of unfinished Jobs without an active pod is being deleted.
func (t *Tracker) ending(ctx context.Context, o *Observation) error {
	for i := range o.Cached {
		if j := &o.Cached[i]; unfinished(j) && j.Status.Active == 0 && j.DeletionTimestamp == nil && t.Now().Sub(j.CreationTimestamp.Time) > inactive {
			n, err := t.Client.CoreV1().Namespaces().Get(ctx, j.Namespace, metav1.GetOptions{})
			switch {
			case err == nil:
				o.Ending = n.DeletionTimestamp != nil
			case !apierrors.IsNotFound(err):
				return fmt.Errorf("read whether the namespace of Job %s is being deleted: %w", j.Name, err)
			}
			return nil
		}
	}
	return nil
}

// inactive is the age of a Job without an active pod at which its namespace is read.
const inactive = 10 * time.Second

func unfinished(j *batchv1.Job) bool {
	phase := adapter.JobOf(j).Phase
	return phase != adapter.Succeeded && phase != adapter.Failed
}

// consistent replaces the Jobs by a consistent read from the API server's storage.
func (t *Tracker) consistent(ctx context.Context, s *ScheduledJob, o *Observation) error {
	l, err := t.Client.BatchV1().Jobs(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set{labelName: labelOf(s.Name)}.String()})
	if err != nil {
		return fmt.Errorf("read the Jobs, which are older than the status: %w", err)
	}
	o.Consistent = true
	o.Revision, _ = strconv.ParseInt(l.ResourceVersion, 10, 64)
	o.divide(s, l.Items)
	return nil
}

// failedPods lists the pods of Jobs that have failed since the state was stored. So the
// controller need not watch pods.
func (t *Tracker) failedPods(ctx context.Context, s *ScheduledJob, jobs []batchv1.Job) ([]corev1.Pod, error) {
	completed := map[string]bool{}
	for _, r := range s.Status.Completed {
		completed[r.Tag] = true
	}
	for _, tag := range s.Status.PendingDeletion {
		completed[tag] = true
	}
	var pods []corev1.Pod
	for _, j := range jobs {
		if adapter.JobOf(&j).Phase != adapter.Failed || completed[j.Labels[LabelTag]] {
			continue
		}
		l, err := t.Client.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: labels.Set{batchv1.JobNameLabel: j.Name}.String(), FieldSelector: "status.phase=Failed",
		})
		if err != nil {
			return nil, fmt.Errorf("list the pods of Job %s: %w", j.Name, err)
		}
		pods = append(pods, l.Items...)
	}
	return pods, nil
}

// missing looks for the Jobs of active runs that are not in the list. It returns an error if
// one exists: the cache of the controller before was ahead of this one. Otherwise the run is
// active as long as its pods.
func (t *Tracker) missing(ctx context.Context, s *ScheduledJob, o *Observation) error {
	for _, r := range gone(s, o) {
		found, err := t.Client.BatchV1().Jobs(s.Namespace).Get(ctx, adapter.JobName(s.Name, r.Tag), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("find the Job of run %s: %w", r.Tag, err)
		case s.owns(found):
			return fmt.Errorf("the Job of run %s is not in the cache yet", r.Tag)
		}
		pods, err := t.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set{labelName: labelOf(s.Name), LabelTag: r.Tag}.String()})
		if err != nil {
			return fmt.Errorf("list the pods of run %s: %w", r.Tag, err)
		}
		o.Orphans = append(o.Orphans, slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return finished(&p) || !s.ownsPod(&p) })...)
	}
	return nil
}

// gone returns the active runs whose Jobs are not in the list.
func gone(s *ScheduledJob, o *Observation) []schedule.Run {
	return slices.DeleteFunc(slices.Clone(s.Status.Running), func(r schedule.Run) bool {
		return slices.ContainsFunc(o.Cached, func(j batchv1.Job) bool { return j.Labels[LabelTag] == r.Tag })
	})
}

// AnnotationDeletedBy is the annotation of a Job with the name of the client that deletes it.
// Clients or admission policies may set it; it is shown in the status of a lost run.
const AnnotationDeletedBy = "scaledjob.github.io/deleted-by"

// deletedBy finds the clients that delete Jobs: by the annotation of a Job, and of a Job that is gone
// by an event.
func (t *Tracker) deletedBy(ctx context.Context, s *ScheduledJob, o *Observation) error {
	for _, j := range o.Cached {
		if deleter := j.Annotations[AnnotationDeletedBy]; deleter != "" {
			o.DeletedBy[j.Labels[LabelTag]] = deleter
		}
	}
	for _, r := range gone(s, o) {
		if r.DeletedBy != "" {
			continue // the state has it
		}
		job := adapter.JobName(s.Name, r.Tag)
		l, err := t.Client.CoreV1().Events(s.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.Set{"involvedObject.kind": "Job", "involvedObject.name": job}.String(), Limit: 100,
		})
		if err != nil {
			return fmt.Errorf("list the events of Job %s, which may name who deleted it: %w", job, err)
		}
		for _, e := range l.Items {
			reporter := cmp.Or(e.ReportingController, e.Source.Component)
			if e.InvolvedObject.Name == job && reporter != "job-controller" && strings.Contains(strings.ToLower(e.Reason), "delet") {
				o.DeletedBy[r.Tag] = reporter
			}
		}
	}
	return nil
}
