package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

var (
	ErrNotSent = errors.New("not sent") // of a request that has no effect
	ErrChanged = errors.New("the Job has changed")

	errOccupied = errors.New("the name belongs to a finished Job or to another owner")
)

// A Reply is the result of a request.
type Reply struct {
	slots.Result
	UID types.UID // of the Job that was created or has the name
	Err error     // nil if everything went as planned
}

// Failure returns the reply to a request that failed. Its result is NoEffect or Refused if it is certain that
// the request had no effect, and Refused if the reason is its object.
func Failure(err error) Reply {
	var network *net.OpError
	isDial := errors.As(err, &network) && network.Op == "dial"
	r, code := Reply{slots.Unanswered, "", err}, Code(err)
	switch {
	case errors.Is(err, ErrNotSent), isDial, code == http.StatusTooManyRequests, code == http.StatusUnauthorized:
		r.Result = slots.NoEffect
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		r.Result = slots.Refused
	}
	return r
}

// Create creates the Job, or finds out which Job has its name. Occupied reports whether the name belongs
// to a Job that has finished, or is not the owner's.
func Create(ctx context.Context, jobs batchclient.JobInterface, job *batchv1.Job, occupied func(*batchv1.Job) bool) Reply {
	created, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	switch {
	case err == nil:
		return Reply{slots.Done, UID(created), nil}
	case !apierrors.IsAlreadyExists(err):
		return Failure(err)
	}
	r := Read(ctx, jobs, job.Name, occupied)
	switch r.Result {
	case slots.Done:
		r.Err = err
	case slots.Absent:
		r.Result, r.Err = slots.NoEffect, fmt.Errorf("%w: %w", err, r.Err)
	case slots.Occupied:
		r.Err = fmt.Errorf("%w: %w", err, r.Err)
	case slots.Unanswered:
		r.Err = fmt.Errorf("the name exists, and its Job could not be read: %w", r.Err)
	}
	return r
}

// Read finds out which Job has a name.
func Read(ctx context.Context, jobs batchclient.JobInterface, name string, occupied func(*batchv1.Job) bool) Reply {
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Reply{slots.Absent, "", err}
	case err != nil:
		return Reply{slots.Unanswered, "", err}
	case occupied(job):
		return Reply{slots.Occupied, UID(job), errOccupied}
	}
	return Reply{slots.Done, UID(job), nil}
}

var propagations = map[rollout.Propagation]metav1.DeletionPropagation{
	rollout.Background: metav1.DeletePropagationBackground,
	rollout.Foreground: metav1.DeletePropagationForeground,
	rollout.Orphan:     metav1.DeletePropagationOrphan,
}

// Delete deletes the Job with the UID and, if it is set, the resource version.
func Delete(ctx context.Context, jobs batchclient.JobInterface, name string, uid types.UID, version string, p rollout.Propagation) Reply {
	options := metav1.DeleteOptions{
		PropagationPolicy: new(propagations[p]),
		Preconditions:     &metav1.Preconditions{UID: &uid},
	}
	if version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	err := jobs.Delete(ctx, name, options)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return Reply{Result: slots.Done}
	case !apierrors.IsConflict(err):
		return Failure(err)
	}
	switch r := ReadDeleted(ctx, jobs, name, uid); r.Result {
	case slots.Absent:
		return Reply{Result: slots.Done}
	default:
		return Reply{slots.NoEffect, "", cmp.Or(r.Err, ErrChanged)}
	}
}

// ReadDeleted returns Absent if the Job is deleted, or being deleted, and Done if it is there.
// Another Job may have its name.
func ReadDeleted(ctx context.Context, jobs batchclient.JobInterface, name string, uid types.UID) Reply {
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Reply{Result: slots.Absent}
	case err != nil:
		return Reply{slots.Unanswered, "", fmt.Errorf("it has changed, and could not be read: %w", err)}
	case UID(job) != uid || job.DeletionTimestamp != nil:
		return Reply{Result: slots.Absent}
	}
	return Reply{Result: slots.Done}
}

// UID returns the UID of a Job. client-go's fake clientset gives none.
func UID(j *batchv1.Job) types.UID { return cmp.Or(j.UID, types.UID(j.Name)) }
