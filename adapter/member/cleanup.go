package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
)

// A Cleanup describes the Jobs that DeleteJobs found on a member.
type Cleanup struct {
	Cluster string
	Found   int // Jobs found, including terminating Jobs
	// Late is the time until which a create that was not answered may still arrive, or
	// the zero time. Until then further Jobs may appear.
	Late time.Time
	Err  error // lists and deletes that failed: further Jobs may exist
}

// DeleteJobs deletes all Jobs of an owner on all members at once, including finished Jobs,
// with their pods. It returns the number of Jobs found on each member, by name. It
// lists the Jobs on the API servers and takes as long as [Clusters.Apply] at most.
//
// Call it for a finalizer of the owner, because no garbage collector deletes these Jobs,
// until it finds none without an error and without a late create. Untrack the owner
// before, and wait for its plans.
//
// A namespace in which the hub may not list Jobs counts if the owner's Jobs are created there, or
// were shown there. The overrides are those of [Clusters.Track].
func (all *Clusters) DeleteJobs(ctx context.Context, of adapter.Owner, overrides map[string]Override) []Cleanup {
	owner := of.UID
	all.mu.Lock()
	plans := all.stopPlans(owner)
	all.mu.Unlock()
	for _, p := range plans {
		<-p.finished
	}
	all.reports(owner) // nobody asks for their reports any more
	members := all.list()
	cleanups := make([]Cleanup, len(members))
	together(len(members), func(i int) {
		late := all.arrives(ownerOn{owner, members[i].name}) // before the Jobs are listed
		cleanups[i] = members[i].deleteJobs(ctx, owner, cmp.Or(overrides[members[i].name].Namespace, of.Namespace))
		cleanups[i].Late = late
	})
	return cleanups
}

func (c *Cluster) deleteJobs(ctx context.Context, owner types.UID, namespace string) Cleanup {
	result := Cleanup{Cluster: c.name}
	if !c.health.mayAnswer() {
		result.Err = c.errAway()
		return result
	}
	jobs := c.sender(ctx, time.Now()).client().BatchV1()
	client := func() batchclient.BatchV1Interface { return jobs }
	var problems []error
	for _, n := range c.namespaces() {
		err := c.pagesOf(ctx, client, n, labels.Set{adapter.LabelOwner: string(owner)}, func(mine []batchv1.Job) {
			result.Found += len(mine)
			problems = append(problems, deleteEach(ctx, client, mine))
		})
		if !apierrors.IsForbidden(err) || n == "" || n == namespace || c.hasJobs(n, owner) {
			problems = append(problems, err)
		}
	}
	result.Err = errors.Join(problems...)
	return result
}

// pagesOf lists the Jobs of a namespace with the labels that this hub created, page by page, each by
// the client of then.
func (c *Cluster) pagesOf(ctx context.Context, client func() batchclient.BatchV1Interface, namespace string, selector labels.Set, take func([]batchv1.Job)) error {
	selector[labelHome] = c.options.Home
	o := metav1.ListOptions{Limit: pageSize, LabelSelector: selector.String()}
	for {
		page, err := client().Jobs(namespace).List(ctx, o)
		if err != nil {
			return fmt.Errorf("list Jobs: %w", err)
		}
		take(slices.DeleteFunc(page.Items, func(j batchv1.Job) bool { return metav1.GetControllerOfNoCopy(&j) != nil }))
		if o.Continue = page.Continue; o.Continue == "" {
			return nil
		}
	}
}

// Orphans returns the Jobs on the member that this hub created for owners without a UID
// of the function. It lists the Jobs first, and then calls exist, which must read the hub cluster
// consistently: an owner is older than his Jobs, and his UID does not recur. Each page has
// Options.Deadline. The error joins why namespaces were not read, or not to their end; it comes with the
// Jobs of the others.
func (c *Cluster) Orphans(ctx context.Context, exist func(context.Context) (map[types.UID]bool, error)) (orphans []batchv1.Job, err error) {
	var unread []error
	for _, n := range c.namespaces() {
		if err := c.pagesOf(ctx, c.anew(ctx), n, labels.Set{}, func(page []batchv1.Job) { orphans = append(orphans, page...) }); err != nil {
			unread = append(unread, fmt.Errorf("namespace %q: %w", n, err))
		}
	}
	owners, err := exist(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(orphans, func(j batchv1.Job) bool { return owners[types.UID(j.Labels[adapter.LabelOwner])] }), errors.Join(unread...)
}

// Delete deletes Jobs that Orphans has returned, unless they have changed their UID.
func (c *Cluster) Delete(ctx context.Context, orphans []batchv1.Job) error {
	return deleteEach(ctx, c.anew(ctx), orphans)
}

// anew returns a function whose clients each have a deadline that begins then.
func (c *Cluster) anew(ctx context.Context) func() batchclient.BatchV1Interface {
	return func() batchclient.BatchV1Interface { return c.sender(ctx, time.Now()).client().BatchV1() }
}

// deleteEach deletes Jobs, 16 at once by the client of then.
func deleteEach(ctx context.Context, newClient func() batchclient.BatchV1Interface, jobs []batchv1.Job) error {
	problems := make([]error, len(jobs))
	for first := 0; first < len(jobs); first += 16 {
		client := newClient()
		together(min(16, len(jobs)-first), func(i int) {
			j := &jobs[first+i]
			problems[first+i] = remove(ctx, client.Jobs(j.Namespace), j)
		})
	}
	return errors.Join(problems...)
}

func remove(ctx context.Context, jobs batchclient.JobInterface, j *batchv1.Job) error {
	err := jobs.Delete(ctx, j.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &j.UID},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the name may be another Job's by now
		return nil
	}
	return fmt.Errorf("delete Job %s/%s: %w", j.Namespace, j.Name, err)
}
