package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/rollout"
)

// List reads the Jobs that o.Owner controls, and their pods if o.PodsKnown, and
// classifies them. An error means that nothing is known.
func List(ctx context.Context, c kubernetes.Interface, s *ScaledJob, o Observation) ([]Job, error) {
	index := labels.Set{LabelName: LabelValue(s.Name)}.String()
	jobs, err := c.BatchV1().Jobs(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: index})
	if err != nil {
		return nil, fmt.Errorf("list Jobs: %w", err)
	}
	pods := &corev1.PodList{}
	if o.PodsKnown {
		pods, err = c.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel})
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
	}
	return o.Classify(jobs.Items, pods.Items), nil
}

// A Result is what Apply did.
type Result struct {
	Created int64 // Jobs that exist now, by this call or one before that was not answered
	Deleted int   // Jobs that are gone or on their way, by whomever
}

// A CreateError says that not every Job could be created.
type CreateError struct {
	Created, Wanted int64
	Err             error // the first reason
}

// Error tells how many of the Jobs were created, and why not the rest.
func (e *CreateError) Error() string {
	return fmt.Sprintf("created %d of %d Jobs: %v", e.Created, e.Wanted, e.Err)
}

// Unwrap returns the first reason.
func (e *CreateError) Unwrap() error { return e.Err }

// Apply carries a plan out: it attempts every deletion, then creates the Jobs in
// batches that double from 1 while all goes well, at most maxBatch at a time. The
// first refusal ends the creating with a [*CreateError]; deletions that failed
// are joined to it. A Job that is to be deleted and is gone, or has another UID
// by now, is done; so is one that is to be created and exists, if it is the Job
// that was meant. The result is right with an error too.
func Apply(ctx context.Context, c kubernetes.Interface, p Plan) (Result, error) {
	var (
		result   Result
		problems []error
		jobs     = c.BatchV1().Jobs(p.scaledJob.Namespace)
	)
	for _, d := range p.Delete {
		if err := remove(ctx, jobs, d); err != nil {
			problems = append(problems, fmt.Errorf("delete Job %s: %w", d.Name, err))
			continue
		}
		result.Deleted++
	}
	var err error
	if result.Created, err = createAll(ctx, jobs, p); err != nil {
		problems = append(problems, &CreateError{result.Created, p.Create, err})
	}
	return result, errors.Join(problems...)
}

var propagations = map[rollout.Propagation]metav1.DeletionPropagation{
	rollout.Background: metav1.DeletePropagationBackground,
	rollout.Foreground: metav1.DeletePropagationForeground,
	rollout.Orphan:     metav1.DeletePropagationOrphan,
}

func remove(ctx context.Context, jobs batchclient.JobInterface, d Deletion) error {
	propagation := propagations[d.Propagation]
	err := jobs.Delete(ctx, d.Name, metav1.DeleteOptions{
		PropagationPolicy: &propagation,
		Preconditions:     &metav1.Preconditions{UID: &d.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && replaced(ctx, jobs, d.Name, d.UID) {
		return nil
	}
	return err
}

// replaced reports whether the name is no longer that of the Job with the UID.
func replaced(ctx context.Context, jobs batchclient.JobInterface, name string, uid types.UID) bool {
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && job.UID != uid
}

const maxBatch = 64

func createAll(ctx context.Context, jobs batchclient.JobInterface, p Plan) (created int64, err error) {
	for size := int64(1); created < p.Create; size = min(2*size, maxBatch) {
		batch := make([]error, min(size, p.Create-created))
		var group sync.WaitGroup
		for i := range batch {
			job := p.Job(created + int64(i))
			group.Go(func() { batch[i] = create(ctx, jobs, job) })
		}
		group.Wait()
		for _, e := range batch {
			if e == nil {
				created++
			} else if err == nil {
				err = e
			}
		}
		if err != nil {
			return created, err
		}
	}
	return created, nil
}

// create makes the Job, or recognizes it where it exists.
func create(ctx context.Context, jobs batchclient.JobInterface, job *batchv1.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there, getErr := jobs.Get(ctx, job.Name, metav1.GetOptions{})
	if getErr != nil {
		return errors.Join(err, getErr)
	}
	if is(there, job) {
		return nil
	}
	return err
}

// is reports whether a Job that exists is the one that was meant.
func is(there, meant *batchv1.Job) bool {
	c := metav1.GetControllerOfNoCopy(there)
	if c == nil || c.UID != meant.OwnerReferences[0].UID || there.DeletionTimestamp != nil {
		return false
	}
	for _, key := range []string{AnnotationGeneration, AnnotationTemplateHash, AnnotationSequence} {
		if there.Annotations[key] != meant.Annotations[key] {
			return false
		}
	}
	return true
}
