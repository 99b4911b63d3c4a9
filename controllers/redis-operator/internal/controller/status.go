package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// answerTimeout is the time for reading a Secret, and for writing a status.
const answerTimeout = 10 * time.Second

// report writes the outcome of a reconcile as metrics, status and events, also when the
// operator was told to stop meanwhile. It returns when to reconcile again. A ScaledJob
// that was deleted is not reported.
func (r *Reconciler) report(ctx context.Context, sj *v1.ScaledJob, o outcome) time.Duration {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	o.active = sj.Status.ActiveJobs // unless it is known
	if counts, known := r.Jobs.Counts(sj.UID, time.Now()); known {
		o.active = int32(counts.Running + counts.InFlight)
	}
	before, err := r.writeStatus(ctx, sj, o)
	if apierrors.IsNotFound(err) || errors.Is(err, errReplaced) {
		return 0
	}
	log := ctrl.LoggerFrom(ctx)
	if err == nil {
		for _, n := range o.notes(before, &sj.Status) {
			r.Events.Eventf(sj, nil, n.kind, n.reason, n.reason, "%s", n.message)
			log.Info(n.message, "reason", n.reason)
		}
		err = errors.Join(o.invalid, o.unread, o.creates, o.deletes)
	}
	r.Metrics.reconciled(sj, o, err != nil)
	if err != nil {
		log.Info("failed", "err", err, "retryAfter", r.Retry)
		return r.Retry
	}
	log.V(1).Info("reconciled", "depth", o.depth, "desired", o.desired, "active", o.active)
	return r.Poll
}

var errReplaced = errors.New("another ScaledJob has the name now")

// writeStatus writes the status unless it is the same, and returns the status before. After
// a conflict it starts again from the ScaledJob on the API server, so that transitions are
// those of the stored status.
func (r *Reconciler) writeStatus(ctx context.Context, sj *v1.ScaledJob, o outcome) (*v1.ScaledJobStatus, error) {
	var before *v1.ScaledJobStatus
	uid, generation := sj.UID, sj.Generation
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before = sj.Status.DeepCopy()
		o.write(&sj.Status, generation, time.Now())
		if equality.Semantic.DeepEqual(before, &sj.Status) {
			return nil
		}
		conflict := r.Status().Update(ctx, sj)
		if !apierrors.IsConflict(conflict) {
			return conflict
		}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(sj), sj); err != nil {
			return err
		}
		if sj.UID != uid {
			return errReplaced
		}
		return conflict
	})
	return before, err
}

// An outcome is the result of a reconcile.
type outcome struct {
	invalid  error // problems of the spec; the queue was not read
	unread   error // why the queue could not be read
	depth    int64 // 0 unless the queue was read, as are the two below
	desired  int32
	created  int32
	creates  error // why Jobs were not created
	deletes  error // why Jobs were not deleted
	active   int32 // Jobs, just created Jobs included
	list     string
	database int32
	holds    []slots.Hold      // what still holds of earlier requests
	failures *v1.FailureStatus // nil if the Jobs are not known
}

// read reports whether the depth is known.
func (o outcome) read() bool { return o.invalid == nil && o.unread == nil }

// write writes the outcome to a status. Unknown values stay as they were.
func (o outcome) write(status *v1.ScaledJobStatus, generation int64, now time.Time) {
	status.ActiveJobs = o.active
	if o.read() {
		status.QueueDepth, status.DesiredJobs = new(o.depth), new(o.desired)
	}
	if o.failures != nil {
		if status.Failures = o.failures; o.failures.Count == 0 {
			status.Failures = nil
		}
	}
	if o.created > 0 {
		status.LastScaleTime = new(metav1.NewTime(now))
	}
	for _, c := range o.conditions() {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now)
		c.Message = fmt.Sprintf("%.1000s", c.Message)
		meta.SetStatusCondition(&status.Conditions, c)
	}
}

// unreadable is the reason why the queue could not be read.
func (o outcome) unreadable() string {
	if errors.As(o.unread, &secretError{}) {
		return v1.ReasonSecretUnreadable
	}
	return v1.ReasonRedisUnreachable
}

func (o outcome) connected() metav1.Condition {
	c := metav1.Condition{Type: v1.ConditionQueueConnected}
	switch {
	case o.invalid != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1.ReasonInvalidSpec, "The queue is not read while the spec is invalid"
	case o.unread != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, o.unreadable(), adapter.ErrorText(o.unread)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1.ReasonConnected, o.queue()
	}
	return c
}

// conditions returns a condition for each fact, and then their conjunction.
func (o outcome) conditions() []metav1.Condition {
	requests := scaledjob.Facts{Invalid: o.invalid, Creates: o.creates, Deletes: o.deletes, Holds: o.holds}.Conditions()[:2]
	if errors.Is(o.creates, errUnknown) {
		requests[0].Status, requests[0].Reason = metav1.ConditionUnknown, string(scaling.ReasonJobsUnknown)
	}
	facts := append([]metav1.Condition{o.connected()}, requests...)
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec}
	if o.invalid != nil {
		ready.Message = o.invalid.Error()
		return append(facts, ready)
	}
	ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, v1.ReasonReconciled, o.queue()+"; as many Jobs are active as it asks for, or more"
	return append(facts, scaledjob.Conjunction(ready, facts))
}

// queue describes the list, in words that do not change with its length.
func (o outcome) queue() string {
	if o.depth > 0 {
		return fmt.Sprintf("Items wait in list %q of database %d", o.list, o.database)
	}
	return fmt.Sprintf("List %q of database %d is empty or does not exist; if items wait, correct queueName or redisDatabase", o.list, o.database)
}

// A note is the content of an event.
type note struct{ kind, reason, message string }

// notes returns the events: for each transition between two statuses, and for
// created Jobs.
func (o outcome) notes(before, after *v1.ScaledJobStatus) (notes []note) {
	previous, current := condition(before, v1.ConditionQueueConnected), condition(after, v1.ConditionQueueConnected)
	changed := previous.Status != current.Status || previous.Reason != current.Reason
	switch {
	case changed && current.Status == metav1.ConditionUnknown:
		notes = append(notes, note{corev1.EventTypeWarning, current.Reason, condition(after, v1.ConditionReady).Message})
	case changed && current.Status == metav1.ConditionFalse:
		notes = append(notes, note{corev1.EventTypeWarning, current.Reason, current.Message})
	case current.Status == metav1.ConditionTrue && previous.Status == metav1.ConditionFalse:
		notes = append(notes, note{corev1.EventTypeNormal, v1.ReasonQueueConnected, "The queue can be read again"})
	}
	if o.created > 0 {
		message := fmt.Sprintf("Created %s for %s: %d of %s active", field.Plural(o.created, "Job"), field.Plural(o.depth, "item"), o.active, field.Plural(o.desired, "Job"))
		notes = append(notes, note{corev1.EventTypeNormal, v1.ReasonCreatedJobs, message})
	}
	return notes
}

// condition returns the condition, or the zero value if there is none.
func condition(status *v1.ScaledJobStatus, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
