package conformance

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A cluster is a client that lists the Jobs and pods that it has, by namespace
// and label as it is asked to, and records what is created and deleted. Whatever
// else is asked of it panics.
type cluster struct {
	client.Client
	jobs    []batchv1.Job
	pods    []corev1.Pod
	broken  bool // no list can be read
	created []batchv1.Job
	deleted []string
}

func (c *cluster) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if c.broken {
		return errors.New("broken")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := list.(type) {
	case *batchv1.JobList:
		for i := range c.jobs {
			if selected(&o, &c.jobs[i]) {
				list.Items = append(list.Items, c.jobs[i])
			}
		}
	case *corev1.PodList:
		for i := range c.pods {
			if selected(&o, &c.pods[i]) {
				list.Items = append(list.Items, c.pods[i])
			}
		}
	default:
		return errors.New("no such list")
	}
	return nil
}

func selected(o *client.ListOptions, object client.Object) bool {
	return object.GetNamespace() == o.Namespace && o.LabelSelector.Matches(labels.Set(object.GetLabels()))
}

// endless is more Jobs than any poll creates, unless a number has wrapped around
// and the loop would take years.
const endless = 1000

// Create panics at the last of endless Jobs.
func (c *cluster) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	c.created = append(c.created, *object.(*batchv1.Job))
	if len(c.created) == endless {
		panic("endless")
	}
	return nil
}

// Delete refuses a Job without a name, as the API server does.
func (c *cluster) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	if object.GetName() == "" {
		return errors.New("resource name may not be empty")
	}
	c.deleted = append(c.deleted, object.GetName())
	return nil
}
