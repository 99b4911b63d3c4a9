package member

import (
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
	Left    int // Jobs found, including terminating Jobs
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
func (all *Clusters) DeleteJobs(ctx context.Context, owner types.UID) []Cleanup {
	members := all.list()
	cleanups := make([]Cleanup, len(members))
	together(len(members), func(i int) {
		late := all.arrives(ownerOn{owner, members[i].name}) // before the Jobs are listed
		cleanups[i] = members[i].deleteJobs(ctx, owner)
		cleanups[i].Late = late
	})
	return cleanups
}

func (c *Cluster) deleteJobs(ctx context.Context, owner types.UID) Cleanup {
	result := Cleanup{Cluster: c.name}
	if !c.health.mayAnswer() {
		result.Err = c.errAway()
		return result
	}
	client := c.sender(ctx, time.Now()).client().BatchV1()
	o := metav1.ListOptions{Limit: 500, LabelSelector: labels.Set{adapter.LabelHome: c.options.Home, adapter.LabelOwner: string(owner)}.String()}
	var problems []error
	pages := 0
	for {
		page, err := client.Jobs(c.options.Namespace).List(ctx, o)
		if err != nil {
			problems = append(problems, fmt.Errorf("list Jobs: %w", err))
			break
		}
		mine := slices.DeleteFunc(page.Items, func(j batchv1.Job) bool { return metav1.GetControllerOfNoCopy(&j) != nil })
		result.Left += len(mine)
		if pages++; len(page.Items)+500*pages > c.options.MaxJobs+1000 {
			problems = append(problems, fmt.Errorf("list Jobs: more than %d; if the member should have them, raise maxJobs of its registration", c.options.MaxJobs))
			break
		}
		problems = append(problems, deleteEach(ctx, client, mine))
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	result.Err = errors.Join(problems...)
	return result
}

// deleteEach deletes Jobs, 16 at once.
func deleteEach(ctx context.Context, client batchclient.JobsGetter, jobs []batchv1.Job) error {
	problems := make([]error, len(jobs))
	for first := 0; first < len(jobs); first += 16 {
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
