package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// reconcile observes, decides, stores the state, and carries out the decision last. So
// the next call knows all actions that may have been carried out, wherever this call is
// interrupted. It returns the time to wait, also with an error; below 0, it waits for a
// change.
func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	s := c.stored(key)
	if s == nil {
		return -1, c.answerUnknown(ctx, key)
	}
	if s.DeletionTimestamp != nil {
		return -1, nil // the garbage collector deletes its Jobs
	}
	config, invalid := c.config(s)
	seen, requests, problem := c.observe(ctx, s)
	var d schedule.Decision
	var ready metav1.Condition
	if invalid != nil {
		d = schedule.Refresh(s.Status.State, seen, c.now())
		ready = s.notReady(reasonInvalid, invalid)
	} else {
		d = schedule.Decide(config.Schedule, s.Status.State, seen, c.now())
		ready = s.ready(c.missing(s), config.Warnings)
	}
	c.log.Debug("decided", "scheduledJob", key.String(), "decision", d)
	stored, err := c.store(ctx, s, s.status(d.State, ready))
	if err != nil {
		return c.resync, errors.Join(problem, err)
	}
	c.rejected.told(s.UID)
	c.tell(stored, d.Events)
	return c.wait(d.NextCheck), errors.Join(problem,
		c.startAll(ctx, stored, config, d.Start),
		c.deleteAll(ctx, stored, d.Stop, metav1.DeletePropagationForeground),
		c.deleteAll(ctx, stored, d.Delete, metav1.DeletePropagationBackground),
		c.answer(ctx, stored, requests, invalid == nil))
}

// wait returns the time until the next check, at most that until the resync.
func (c *controller) wait(next time.Time) time.Duration {
	if next.IsZero() {
		return c.resync
	}
	return max(0, min(next.Sub(c.now()), c.resync))
}

func (c *controller) startAll(ctx context.Context, s *scheduledJob, config scheduledjob.Config, runs []schedule.Run) error {
	var problems []error
	for _, r := range runs {
		job := config.NewJob(s.Owner(), r)
		if err := c.start(ctx, s, job); err != nil {
			switch {
			case !answered(err):
				c.late.add(cache.MetaObjectToName(job), c.now(), c.now().Add(2*c.requestTimeout))
			case c.failed(ctx, job, err):
				c.rejected.add(s.UID, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts})
			}
			err = fmt.Errorf("start run %s: %w", r.Tag, err)
			if ctx.Err() == nil { // else the process ends, and the next one starts the run
				c.record(s, corev1.EventTypeWarning, reasonNotStarted, err.Error(), r.Tag)
			}
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// answered reports whether a create that failed had no effect and will have none: it was
// not sent, or the API server rejected it. After a timeout or an error of the server, this
// is not known. The code decides, because an admission webhook chooses the reason.
func answered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return errors.Is(err, adapter.ErrNotSent)
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// failed reports whether a rejected create failed for good: the API server has no Job of the
// run.
func (c *controller) failed(ctx context.Context, job *batchv1.Job, err error) bool {
	if apierrors.IsAlreadyExists(err) || errors.Is(err, adapter.ErrNotSent) {
		return false
	}
	_, err = c.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// lateCreates are the names of Jobs with a create that was not answered, and the time until
// which it may arrive. If such a Job were deleted before, its run would start twice. After
// the start of the process, any Job may have such a create, of the process before.
type lateCreates struct {
	mutex   sync.Mutex
	started time.Time
	until   map[cache.ObjectName]time.Time
}

func (l *lateCreates) start(now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.started = now
}

func (l *lateCreates) add(job cache.ObjectName, now, until time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.until == nil {
		l.until = map[cache.ObjectName]time.Time{}
	}
	maps.DeleteFunc(l.until, func(_ cache.ObjectName, until time.Time) bool { return !now.Before(until) })
	l.until[job] = until
}

// mayArrive reports whether a create may arrive, if it arrives within that time or never.
func (l *lateCreates) mayArrive(job cache.ObjectName, now time.Time, within time.Duration) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return now.Before(l.until[job]) || now.Before(l.started.Add(within))
}

// rejections are the creates that failed for good since the decision before, by the
// UID of the ScheduledJob. A restart loses them, which costs time only.
type rejections struct {
	mutex sync.Mutex
	all   map[types.UID][]schedule.Rejection
}

func (r *rejections) add(uid types.UID, rejected schedule.Rejection) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.all == nil {
		r.all = map[types.UID][]schedule.Rejection{}
	}
	r.all[uid] = append(r.all[uid], rejected)
}

func (r *rejections) of(uid types.UID) []schedule.Rejection {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.all[uid]
}

// told removes the rejections that a stored decision has taken note of.
func (r *rejections) told(uid types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.all, uid)
}

// start creates the Job, unless it exists.
func (c *controller) start(ctx context.Context, s *scheduledJob, job *batchv1.Job) error {
	jobs := c.client.BatchV1().Jobs(job.Namespace)
	_, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, getErr := jobs.Get(ctx, job.Name, metav1.GetOptions{})
	switch {
	case getErr != nil:
		return errors.Join(err, getErr)
	case scheduledjob.Owned(s.UID, there):
		return nil
	}
	return fmt.Errorf("%w, and has another owner", err)
}

// deleteAll deletes the Jobs of runs. In the foreground, a Job exists as long as its pods. A
// Job with a late create is left to a later reconciliation.
func (c *controller) deleteAll(ctx context.Context, s *scheduledJob, tags []string, propagation metav1.DeletionPropagation) error {
	if len(tags) == 0 {
		return nil
	}
	drop := map[string]bool{}
	for _, tag := range tags {
		drop[tag] = true
	}
	var problems []error
	for _, j := range c.jobsOf(s) {
		if tag := j.Labels[scheduledjob.LabelTag]; drop[tag] && !c.late.mayArrive(cache.MetaObjectToName(&j), c.now(), 2*c.requestTimeout) {
			err := c.client.BatchV1().Jobs(j.Namespace).Delete(ctx, j.Name, metav1.DeleteOptions{
				PropagationPolicy: &propagation,
				Preconditions:     &metav1.Preconditions{UID: &j.UID},
			})
			if err != nil && !apierrors.IsNotFound(err) {
				problems = append(problems, fmt.Errorf("delete the Job of run %s: %w", tag, err))
			}
		}
	}
	return errors.Join(problems...)
}
