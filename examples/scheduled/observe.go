package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/schedule"
)

// config reads the ScheduledJob, with the PodTemplate that it refers to and the
// ScheduledJobs that it comes after.
func (c *controller) config(s *scheduledJob) (run.Config, error) {
	if s.problem != nil {
		return run.Config{}, s.problem
	}
	var referred *corev1.PodTemplate
	if ref := s.Spec.TemplateRef; ref != nil {
		t, err := c.templates.PodTemplates(s.Namespace).Get(ref.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return run.Config{}, err
		}
		referred = t
	}
	config, err := s.Config(referred)
	if err == nil && config.Template == nil {
		err = fmt.Errorf("spec.templateRef.name: found %q: want the name of a PodTemplate that exists", config.TemplateRef)
	}
	return config, errors.Join(err, c.cycle(s))
}

// cycle is an error if the ScheduledJob is in a ring of jobs that come after one
// another. Of rings that share jobs, as many are told as it takes to break all.
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

// follow notes what the ScheduledJob comes after, and what those do.
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

// other is another ScheduledJob of the namespace, as it was stored last.
func (c *controller) other(s *scheduledJob, name string) *scheduledJob {
	object, exists, err := c.newest.GetByKey(s.Namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	return object.(*scheduledJob)
}

// observe returns what is there. With an error, something is not known, and the
// decision will leave it as it is.
func (c *controller) observe(ctx context.Context, s *scheduledJob) (schedule.Observed, []*request, error) {
	requests, claimErr := c.claim(ctx, s)
	seen := schedule.Observed{Completions: c.completions(s)}
	for _, r := range requests {
		seen.Requests = append(seen.Requests, schedule.Request{ID: string(r.UID), Asked: r.CreationTimestamp.Time})
	}
	jobs := c.jobsOf(s)
	pods, err := c.failedPods(ctx, s, jobs)
	if err == nil {
		err = c.upToDate(ctx, s, jobs)
	}
	if err == nil {
		seen.JobsKnown, seen.Jobs = true, run.Observe(s.UID, jobs, pods)
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

// failedPods asks for the pods of Jobs that have failed since the state was stored,
// so that no pod need be watched.
func (c *controller) failedPods(ctx context.Context, s *scheduledJob, jobs []batchv1.Job) ([]corev1.Pod, error) {
	known := map[string]bool{}
	for _, r := range s.Status.Completed {
		known[r.Tag] = true
	}
	for _, tag := range s.Status.Forgotten {
		known[tag] = true
	}
	var pods []corev1.Pod
	for _, j := range jobs {
		if !failed(&j) || known[j.Labels[run.LabelTag]] {
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

func failed(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	})
}

// upToDate is an error if the cache lacks a Job that the state has seen, and that is
// there: another controller's cache was ahead of ours. A run is lost for good if it
// is taken for gone.
func (c *controller) upToDate(ctx context.Context, s *scheduledJob, jobs []batchv1.Job) error {
	cached := map[string]bool{}
	for _, j := range jobs {
		cached[j.Labels[run.LabelTag]] = true
	}
	for _, r := range s.Status.Running {
		if !r.Seen || cached[r.Tag] {
			continue
		}
		there, err := c.client.BatchV1().Jobs(s.Namespace).Get(ctx, run.JobName(s.Name, r.Tag), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("find the Job of run %s: %w", r.Tag, err)
		case run.Owned(s.UID, there):
			return fmt.Errorf("the Job of run %s is not in the cache yet", r.Tag)
		}
	}
	return nil
}

// completions are of the ScheduledJobs that this one comes after.
func (c *controller) completions(s *scheduledJob) (all []schedule.Completion) {
	for _, d := range s.Spec.After {
		if other := c.other(s, d.Job); other != nil {
			all = append(all, other.Status.State.Completions(d.Job)...)
		}
	}
	return all
}
