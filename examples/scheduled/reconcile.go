package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/schedule"
)

// reconcile observes, decides, stores what was decided, and only then does it. So
// whenever it is interrupted, the next one knows of all that may have been done. It
// returns how long to wait, with an error too; below 0, until something happens.
func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	object, exists, err := c.newest.GetByKey(key.String())
	if err != nil || !exists {
		return -1, err
	}
	s := object.(*scheduledJob)
	if s.DeletionTimestamp != nil {
		return -1, nil // its Jobs are the garbage collector's
	}
	config, invalid := c.config(s)
	if invalid != nil {
		_, err := c.store(ctx, s, s.status(s.Status.State, invalid, nil))
		return c.resync, err
	}
	seen, requests, problem := c.observe(ctx, s)
	d := schedule.Decide(config.Schedule, s.Status.State, seen, time.Now())
	c.log.Debug("decided", "scheduledJob", key.String(), "decision", d)
	stored, err := c.store(ctx, s, s.status(d.State, nil, config.Warnings))
	if err != nil {
		return c.resync, errors.Join(problem, err)
	}
	c.tell(stored, d.Events)
	return c.wait(d.NextCheck), errors.Join(problem,
		c.startAll(ctx, stored, config, d.Start), c.deleteAll(ctx, stored, d.Delete), c.answer(ctx, stored, requests))
}

// wait is until the next run is due, or until the resync.
func (c *controller) wait(next time.Time) time.Duration {
	if next.IsZero() {
		return c.resync
	}
	return max(0, min(time.Until(next), c.resync))
}

func (c *controller) startAll(ctx context.Context, s *scheduledJob, config run.Config, runs []schedule.Run) error {
	var problems []error
	for _, r := range runs {
		if err := c.start(ctx, s, config.NewJob(s.Owner(), r)); err != nil {
			err = fmt.Errorf("start run %s: %w", r.Tag, err)
			c.record(s, corev1.EventTypeWarning, reasonNotStarted, err.Error(), "")
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// start creates the Job, unless it is there.
func (c *controller) start(ctx context.Context, s *scheduledJob, job *batchv1.Job) error {
	jobs := c.client.BatchV1().Jobs(job.Namespace)
	_, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if err == nil {
		c.log.Info("started", "scheduledJob", s.key().String(), "run", job.Labels[run.LabelTag])
	}
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, getErr := jobs.Get(ctx, job.Name, metav1.GetOptions{})
	switch {
	case getErr != nil:
		return errors.Join(err, getErr)
	case run.Owned(s.UID, there):
		return nil
	}
	return fmt.Errorf("%w, and is somebody else's", err)
}

func (c *controller) deleteAll(ctx context.Context, s *scheduledJob, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	drop := map[string]bool{}
	for _, tag := range tags {
		drop[tag] = true
	}
	var problems []error
	for _, j := range c.jobsOf(s) {
		if tag := j.Labels[run.LabelTag]; drop[tag] {
			err := c.client.BatchV1().Jobs(j.Namespace).Delete(ctx, j.Name, metav1.DeleteOptions{
				PropagationPolicy: new(metav1.DeletePropagationBackground),
				Preconditions:     &metav1.Preconditions{UID: &j.UID},
			})
			if err != nil && !apierrors.IsNotFound(err) {
				problems = append(problems, fmt.Errorf("delete the Job of run %s: %w", tag, err))
			}
		}
	}
	return errors.Join(problems...)
}
