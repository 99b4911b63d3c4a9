package adapter

import (
	"cmp"
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
// counts them from scratch. An error means that nothing is known, and the Fleet is
// nil.
func List(ctx context.Context, c kubernetes.Interface, s *ScaledJob, o Observation) (*Fleet, error) {
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
	return NewFleet(o.Classify(jobs.Items, pods.Items)), nil
}

// A Result is what Apply did.
type Result struct {
	Created    int64 // Jobs that exist now, by this call or one before that was not answered
	RolledOut  int   // Jobs of an older spec that are gone or on their way, by whomever
	Pruned     int   // finished Jobs likewise
	Duplicates int   // Jobs beside another of their chain likewise
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

// Apply carries a plan out: it attempts every deletion, then creates the Jobs,
// each in batches of requests sent together that double from 1 up to 64. The
// first create that fails ends the creating with a [*CreateError], after its batch;
// deletions that failed are joined to it. A Job that is to be deleted and is gone,
// or has another UID by now, is done; so is one that is to be created and exists,
// if it is the Job that was meant. A cancelled context ends both. The result is
// right with an error too.
func Apply(ctx context.Context, c kubernetes.Interface, p Plan) (Result, error) {
	return apply(ctx, c, &p, nobody{})
}

// A witness is told what Apply does, from several goroutines at once.
type witness interface {
	sending(number int64, f flight)
	answered(number int64, job *batchv1.Job, err error)
	deleted(name string, uid types.UID)
}

type nobody struct{}

func (nobody) sending(int64, flight)               {}
func (nobody) answered(int64, *batchv1.Job, error) {}
func (nobody) deleted(string, types.UID)           {}

func apply(ctx context.Context, c kubernetes.Interface, p *Plan, w witness) (Result, error) {
	a := action{ctx, c.BatchV1(), p, w}
	result, problems := a.deleteAll()
	var err error
	if result.Created, err = a.createAll(); err != nil {
		problems = append(problems, &CreateError{result.Created, p.Create, err})
	}
	return result, errors.Join(problems...)
}

// An action is a plan being carried out.
type action struct {
	ctx  context.Context
	jobs batchclient.JobsGetter
	plan *Plan
	witness
}

const maxBatch = 64

// together calls do for from up to from + n - 1, all at once, and returns what
// they returned.
func together(from, n int64, do func(i int64) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = do(from + int64(i)) })
	}
	group.Wait()
	return errs
}

func (a *action) deleteAll() (r Result, problems []error) {
	all := int64(len(a.plan.Delete))
	for from, size := int64(0), int64(1); from < all; from, size = from+size, min(2*size, maxBatch) {
		if err := a.ctx.Err(); err != nil {
			return r, append(problems, fmt.Errorf("%d of %d Jobs not deleted: %w", all-from, all, err))
		}
		for i, err := range together(from, min(size, all-from), a.delete) {
			if err != nil {
				problems = append(problems, err)
				continue
			}
			switch a.plan.Delete[from+int64(i)].Reason {
			case OldSpec:
				r.RolledOut++
			case HistoryLimit:
				r.Pruned++
			case Duplicate:
				r.Duplicates++
			}
		}
	}
	return r, problems
}

func (a *action) delete(i int64) error {
	d := a.plan.Delete[i]
	if err := remove(a.ctx, a.jobs.Jobs(cmp.Or(d.Namespace, a.plan.namespace)), d); err != nil {
		return fmt.Errorf("delete Job %s: %w", d.Name, err)
	}
	a.deleted(d.Name, d.UID)
	return nil
}

// createAll goes on to further numbers where a name is somebody else's, but not
// for ever.
func (a *action) createAll() (created int64, err error) {
	taken := 0
	for from, size := int64(0), int64(1); created < a.plan.Create && err == nil; size = min(2*size, maxBatch) {
		batch := together(from, min(size, a.plan.Create-created), a.create)
		from += int64(len(batch))
		for _, e := range batch {
			switch {
			case e == nil:
				created++
			case errors.Is(e, errTaken) && taken < maxBatch:
				taken++
			case err == nil:
				err = e
			}
		}
	}
	return created, err
}

func (a *action) create(i int64) error {
	number, job := a.plan.number(i), a.plan.Job(i)
	a.sending(number, a.plan.flight.of(job))
	there, err := a.plan.create(a.ctx, a.jobs.Jobs(job.Namespace), job)
	a.answered(number, there, err)
	return err
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

// ErrNotSent is what a request failed with that was not made. A client that
// limits requests may return it, wrapped, for [Tracker.Apply] to know that nothing has
// changed.
var ErrNotSent = errors.New("not sent")

var (
	errTaken   = errors.New("the name is that of a Job of somebody else, or of one on its way out")
	errUnclear = errors.New("the name is taken, and it is not known by which Job")
)

// create makes the Job, or recognizes it where it exists.
func (plan *Plan) create(ctx context.Context, jobs batchclient.JobInterface, job *batchv1.Job) (*batchv1.Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	there, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return there, err
	}
	there, getErr := jobs.Get(ctx, job.Name, metav1.GetOptions{})
	switch {
	case getErr != nil:
		return nil, fmt.Errorf("%w: %w", errUnclear, getErr)
	case plan.meant(there, job):
		return there, nil
	}
	return nil, fmt.Errorf("%w: %w", err, errTaken)
}

// meant reports whether a Job that exists is the one that was meant. The generation
// stands for the template: another release of this library may hash it otherwise. Nor
// does it matter what it replaces, which it says itself.
func (plan *Plan) meant(there, meant *batchv1.Job) bool {
	owner, owned := plan.ownership.Of(there)
	return owned && owner == plan.owner && there.DeletionTimestamp == nil &&
		there.Annotations[AnnotationGeneration] == meant.Annotations[AnnotationGeneration] &&
		there.Annotations[AnnotationSequence] == meant.Annotations[AnnotationSequence]
}
