package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/schedule"
)

// A request is a RunRequest that belongs to a ScheduledJob. Its status is the run's.
type request struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            schedule.Run `json:"status"`
}

// jobOf is the name of the ScheduledJob that a RunRequest is for.
func jobOf(u *unstructured.Unstructured) string {
	job, _, _ := unstructured.NestedString(u.Object, "spec", "job")
	return job
}

// claim returns the RunRequests that belong to the ScheduledJob, and makes it the
// owner of those for it that belong to nobody. One that belongs to a ScheduledJob of
// that name which is gone is not for this one.
func (c *controller) claim(ctx context.Context, s *scheduledJob) (own []*request, err error) {
	found, _ := c.requests.ByIndex(byJob, s.key().String()) // it has that index
	for _, object := range found {
		u := object.(*unstructured.Unstructured)
		controller := metav1.GetControllerOf(u)
		switch {
		case u.GetDeletionTimestamp() != nil:
			continue
		case controller == nil:
			if problem := c.own(ctx, s, u); problem != nil {
				err = errors.Join(err, problem)
				continue
			}
		case controller.UID != s.UID:
			continue
		}
		r := &request{}
		data, _ := json.Marshal(u.Object) // came as JSON
		if problem := json.Unmarshal(data, r); problem != nil {
			r.Status = schedule.Run{}
		}
		own = append(own, r)
	}
	return own, err
}

func (c *controller) own(ctx context.Context, s *scheduledJob, u *unstructured.Unstructured) error {
	err := c.patch(ctx, u, map[string]any{"metadata": map[string]any{
		"uid": u.GetUID(), "ownerReferences": append(u.GetOwnerReferences(), s.Owner()),
	}})
	if err != nil {
		return fmt.Errorf("take on the RunRequest %s: %w", u.GetName(), err)
	}
	return nil
}

// answer tells the RunRequests what has become of their runs, and deletes those whose
// run history has dropped.
func (c *controller) answer(ctx context.Context, s *scheduledJob, own []*request) error {
	runs := map[string]schedule.Run{}
	for _, list := range [][]schedule.Run{s.Status.Pending, s.Status.Running, s.Status.Completed} {
		for _, r := range list {
			runs[r.Request] = r
		}
	}
	var problems []error
	for _, r := range own {
		var err error
		is, there := runs[string(r.UID)]
		switch {
		case !there:
			err = c.dynamic.Resource(runRequests).Namespace(r.Namespace).
				Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
		case is != r.Status:
			err = c.patch(ctx, r, map[string]any{"metadata": map[string]any{"uid": r.UID}, "status": is}, "status")
		}
		if err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("answer the RunRequest %s: %w", r.Name, err))
		}
	}
	return errors.Join(problems...)
}

func (c *controller) patch(ctx context.Context, object metav1.Object, merge map[string]any, subresources ...string) error {
	data, err := json.Marshal(merge)
	if err != nil {
		return err
	}
	_, err = c.dynamic.Resource(runRequests).Namespace(object.GetNamespace()).
		Patch(ctx, object.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: name}, subresources...)
	return err
}
