package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

// config reads the ScheduledJob, with the PodTemplate that it refers to.
func (c *controller) config(s *scheduledJob) (scheduledjob.Config, error) {
	if s.problem != nil {
		return scheduledjob.Config{}, s.problem
	}
	var referred *corev1.PodTemplate
	if ref := s.Spec.TemplateRef; ref != nil {
		referred, _ = c.templates.PodTemplates(s.Namespace).Get(ref.Name) // nil if there is none
	}
	config, err := s.Config(scheduledjob.Inputs{PodTemplate: referred, Cron: parseCron})
	if err == nil && config.Template == nil {
		err = &field.Error{Path: "spec.templateRef.name", Found: strconv.Quote(config.TemplateRef), Fix: "the name of a PodTemplate that exists"}
	}
	return config, errors.Join(err, c.cycle(s))
}

// missing returns an error for each ScheduledJob that spec.after names and that does not
// exist. The schedule and requests start runs all the same.
func (c *controller) missing(s *scheduledJob) error {
	var problems field.Errors
	for i, d := range s.Spec.After {
		problems.Check(c.other(s, d.Job) != nil, fmt.Sprintf("spec.after[%d].job", i), d.Job, "the name of a ScheduledJob of the namespace; none has this name")
	}
	return problems.Err()
}

// cycle returns an error if the ScheduledJob is in a dependency cycle. Of cycles that
// share jobs, it reports as many as it takes to break all.
func (c *controller) cycle(s *scheduledJob) error {
	after := map[string][]schedule.Dependency{}
	c.follow(s, after)
	joined, ok := schedule.ValidateDependencies(after).(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		var e *schedule.CycleError
		if errors.As(err, &e) && slices.Contains(e.Jobs, s.Name) {
			return fmt.Errorf("spec.after: %w", e)
		}
	}
	return nil
}

// follow adds the dependencies of the ScheduledJob, and theirs.
func (c *controller) follow(s *scheduledJob, after map[string][]schedule.Dependency) {
	if _, ok := after[s.Name]; ok {
		return
	}
	after[s.Name] = nil
	for _, d := range s.Spec.After {
		after[s.Name] = append(after[s.Name], schedule.Dependency{Job: d.Job, Outcome: d.Outcome})
		if other := c.other(s, d.Job); other != nil {
			c.follow(other, after)
		}
	}
}

// stored returns a ScheduledJob as it was stored last, nil if there is none.
func (c *controller) stored(key cache.ObjectName) *scheduledJob {
	object, exists, _ := c.newest.GetByKey(key.String()) // it never fails
	if !exists {
		return nil
	}
	return object.(*scheduledJob)
}

// other returns another ScheduledJob of the namespace, nil if there is none.
func (c *controller) other(s *scheduledJob, name string) *scheduledJob {
	return c.stored(cache.NewObjectName(s.Namespace, name))
}

// observe returns the observation for a decision. It is usable after an error, too: then
// the state of unknown Jobs and requests does not change.
func (c *controller) observe(ctx context.Context, s *scheduledJob) (schedule.Observed, []*request, error) {
	requests, claimErr := c.claim(ctx, s)
	seen := schedule.Observed{Upstreams: c.upstreams(s), Rejected: c.rejected.of(s.UID), Cancelled: s.Spec.Cancel}
	seen.Revision, _ = strconv.ParseInt(c.jobs.LastStoreSyncResourceVersion(), 10, 64) // before the Jobs are read; 0 is not known
	for _, r := range requests {
		seen.Requests = append(seen.Requests, schedule.Request{
			ID: string(r.UID), RequestedAt: r.CreationTimestamp.Time, Answered: r.Status.Status == schedule.Completed,
		})
	}
	jobs := c.jobsOf(s)
	pods, err := c.failedPods(ctx, s, jobs)
	if err == nil {
		err = c.upToDate(ctx, s, jobs)
	}
	if err == nil {
		seen.JobsKnown, seen.Jobs = true, scheduledjob.Observe(s.UID, jobs, pods)
	}
	return seen, requests, errors.Join(claimErr, err)
}

func (c *controller) jobsOf(s *scheduledJob) []batchv1.Job {
	found, _ := c.jobs.ByIndex(byOwner, string(s.UID)) // it has that index
	jobs := make([]batchv1.Job, len(found))
	for i := range found {
		jobs[i] = *found[i].(*batchv1.Job)
	}
	return jobs
}

// failedPods lists the pods of Jobs that have failed since the state was stored. So the
// controller need not watch pods.
func (c *controller) failedPods(ctx context.Context, s *scheduledJob, jobs []batchv1.Job) ([]corev1.Pod, error) {
	known := map[string]bool{}
	for _, r := range s.Status.Completed {
		known[r.Tag] = true
	}
	for _, tag := range s.Status.PendingDeletion {
		known[tag] = true
	}
	var pods []corev1.Pod
	for _, j := range jobs {
		if adapter.JobOf(&j).Phase != adapter.Failed || known[j.Labels[scheduledjob.LabelTag]] {
			continue
		}
		l, err := c.client.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: labels.Set{batchv1.JobNameLabel: j.Name}.String(), FieldSelector: "status.phase=Failed",
		})
		if err != nil {
			return nil, fmt.Errorf("list the pods of Job %s: %w", j.Name, err)
		}
		pods = append(pods, l.Items...)
	}
	return pods, nil
}

// upToDate returns an error if the cache lacks a Job that the state has observed, and that
// exists: another controller's cache was ahead of this one. Without this check the run
// would count as lost.
func (c *controller) upToDate(ctx context.Context, s *scheduledJob, jobs []batchv1.Job) error {
	cached := map[string]bool{}
	for _, j := range jobs {
		cached[j.Labels[scheduledjob.LabelTag]] = true
	}
	for _, r := range s.Status.Running {
		if cached[r.Tag] {
			continue
		}
		there, err := c.client.BatchV1().Jobs(s.Namespace).Get(ctx, adapter.JobName(s.Name, r.Tag), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("find the Job of run %s: %w", r.Tag, err)
		case scheduledjob.Owned(s.UID, there):
			return fmt.Errorf("the Job of run %s is not in the cache yet", r.Tag)
		}
	}
	return nil
}

// upstreams returns the ScheduledJobs that this one depends on.
func (c *controller) upstreams(s *scheduledJob) (all []schedule.Upstream) {
	for _, d := range s.Spec.After {
		if other := c.other(s, d.Job); other != nil {
			u := other.Status.State.Upstream(d.Job, string(other.UID))
			u.Created = other.CreationTimestamp.Time
			all = append(all, u)
		}
	}
	return all
}
