package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

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
	config, err := s.Config(scheduledjob.Inputs{PodTemplate: referred, Cron: scheduledjob.Cron(cron.ParseStandard)})
	if referred != nil && referred.Template.Spec.Containers == nil { // it may have been too long: see slim
		err = &field.Error{Path: "spec.templateRef.name", Found: strconv.Quote(referred.Name), Fix: fmt.Sprintf("a PodTemplate with containers, of at most %d bytes", longestSpec)}
	}
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

// cycle returns an error if the ScheduledJob is in a dependency cycle.
func (c *controller) cycle(s *scheduledJob) error {
	remaining := maxDependencies
	jobs := schedule.Cycle(s.Name, func(job string) (names []string) {
		before := s
		if job != s.Name {
			before = c.other(s, job)
		}
		if before == nil {
			return nil
		}
		if remaining -= len(before.Spec.After); remaining < 0 {
			return nil
		}
		for _, d := range before.Spec.After {
			names = append(names, d.Job)
		}
		return names
	})
	switch {
	case remaining < 0:
		return &field.Error{Path: "spec.after", Found: fmt.Sprintf("more than %d dependencies, with those of the ScheduledJobs before", maxDependencies), Fix: "fewer"}
	case jobs != nil:
		return &field.Error{Path: "spec.after", Found: "a dependency cycle, " + strings.Join(append(jobs, s.Name), " after "), Fix: "dependencies without a cycle"}
	}
	return nil
}

// maxDependencies is the most dependencies of a ScheduledJob, with those of the ScheduledJobs before:
// each reconciliation follows them, in one of the slots that all tenants share.
const maxDependencies = 2000

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

func (c *controller) jobsOf(s *scheduledJob) []batchv1.Job {
	found, _ := c.jobs.ByIndex(byOwner, string(s.UID)) // it has that index
	jobs := make([]batchv1.Job, len(found))
	for i := range found {
		jobs[i] = *found[i].(*batchv1.Job)
	}
	return jobs
}

// upstreams returns the ScheduledJobs that this ScheduledJob depends on.
func (c *controller) upstreams(s *scheduledJob) (found []schedule.Upstream) {
	for _, d := range s.Spec.After {
		if other := c.other(s, d.Job); other != nil {
			u := other.Status.Upstream(d.Job, string(other.UID))
			u.Created = other.CreationTimestamp.Time
			found = append(found, u)
		}
	}
	return found
}
