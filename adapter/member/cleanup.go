package member

import (
	"context"
	"errors"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
)

// A Cleanup is what DeleteJobs found on one member.
type Cleanup struct {
	Cluster string
	Left    int   // Jobs that were there, those on their way out included
	Err     error // why some may be there that are not in Left, or could not be deleted
}

// DeleteJobs deletes all Jobs of an owner on all members at once, with their pods,
// finished ones too, and returns what it found on each, by name. It looks at the
// members themselves, and takes as long as [Clusters.Apply] at most. Once it finds
// nothing, without an error, nothing is left; until then it is to be called again.
//
// For a finalizer of the home object: nobody else deletes these Jobs. Creates must
// have come to their end before, and the owner is best forgotten.
func (all *Clusters) DeleteJobs(ctx context.Context, owner types.UID) []Cleanup {
	members := all.list()
	cleanups := make([]Cleanup, len(members))
	together(len(members), func(i int) { cleanups[i] = members[i].deleteJobs(ctx, owner) })
	return cleanups
}

func (c *Cluster) deleteJobs(ctx context.Context, owner types.UID) Cleanup {
	result := Cleanup{Cluster: c.name}
	if !c.health.mayAnswer() {
		result.Err = c.errAway()
		return result
	}
	client := c.sender(ctx).BatchV1()
	selector := labels.Set{adapter.LabelHome: c.options.Home, adapter.LabelOwner: string(owner)}.String()
	var problems []error
	for from := ""; ; {
		page, err := client.Jobs(c.options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: 500, Continue: from})
		if err != nil {
			problems = append(problems, fmt.Errorf("list Jobs: %w", err))
			break
		}
		var mine []*batchv1.Job
		for i := range page.Items {
			if c.owns(owner, &page.Items[i]) {
				mine = append(mine, &page.Items[i])
			}
		}
		result.Left += len(mine)
		problems = append(problems, deleteEach(mine, func(j *batchv1.Job) error { return remove(ctx, client.Jobs(j.Namespace), j) })...)
		if from = page.Continue; from == "" {
			break
		}
	}
	result.Err = errors.Join(problems...)
	return result
}

// deleteEach deletes some at once.
func deleteEach(jobs []*batchv1.Job, remove func(*batchv1.Job) error) (problems []error) {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, 16)
	)
	for _, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := remove(j); err != nil {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, fmt.Errorf("delete Job %s/%s: %w", j.Namespace, j.Name, err))
			}
		})
	}
	group.Wait()
	return problems
}

type deleter interface {
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

func remove(ctx context.Context, jobs deleter, j *batchv1.Job) error {
	background := metav1.DeletePropagationBackground
	err := jobs.Delete(ctx, j.Name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &j.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone; what has its name is not it
	}
	return err
}
