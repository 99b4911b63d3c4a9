package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement"
)

// A sender makes the requests of one task to a member: within its limit, each with
// its time-out, none after the deadline, and none once one was not answered. It notes
// what the failures were.
type sender struct {
	kubernetes.Interface
	cluster *Cluster
	caller  context.Context // whose end is no failure of the member
	until   time.Time

	mu         sync.Mutex
	unanswered error
	failed     [placement.CreateRejected + 1]bool
}

func (c *Cluster) sender(ctx context.Context) *sender {
	return &sender{Interface: c.clients.Kubernetes, cluster: c, caller: ctx, until: time.Now().Add(c.options.Deadline)}
}

// send makes a request, or fails with adapter.ErrNotSent.
func (s *sender) send(ctx context.Context, request func(context.Context) error) error {
	if err := s.admit(ctx); err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	bounded, cancel := context.WithTimeout(ctx, s.cluster.options.Timeout)
	defer cancel()
	err := request(bounded)
	switch answer := code(err); {
	case err != nil && answer == 0:
		s.mu.Lock()
		s.unanswered = errors.New("the request before was not answered")
		s.mu.Unlock()
		s.cluster.soon()
	case answer >= 500: // what came of it is not known either
		s.cluster.soon()
	}
	return err
}

// admit waits until the request may be made, and returns why it may not.
func (s *sender) admit(ctx context.Context) error {
	s.mu.Lock()
	unanswered := s.unanswered
	s.mu.Unlock()
	switch {
	case unanswered != nil:
		return unanswered
	case time.Now().After(s.until):
		return context.DeadlineExceeded
	case s.cluster.limiter == nil:
		return ctx.Err()
	}
	bounded, cancel := context.WithDeadline(ctx, s.until)
	defer cancel()
	return s.cluster.limiter.Wait(bounded)
}

func (s *sender) fail(kind placement.FailureKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[kind] = true
}

// called notes what came of any request but a create, and created what came of one.
func (s *sender) called(err error) {
	if callFailed(err) && s.counts(err) {
		s.fail(placement.CallFailed)
	}
}

func (s *sender) created(err error) {
	switch {
	case err == nil || apierrors.IsAlreadyExists(err) || !s.counts(err):
	case passing(err):
		s.fail(placement.CreateFailed)
	default:
		s.fail(placement.CreateRejected)
	}
}

// counts reports whether an error is the member's.
func (s *sender) counts(err error) bool {
	return !errors.Is(err, adapter.ErrNotSent) && s.caller.Err() == nil
}

// failures are the kinds of failures so far.
func (s *sender) failures() (kinds []placement.FailureKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, failed := range s.failed {
		if failed {
			kinds = append(kinds, placement.FailureKind(kind))
		}
	}
	return kinds
}

// BatchV1 is what adapter asks a client for.
func (s *sender) BatchV1() batchclient.BatchV1Interface {
	return batchSender{s.Interface.BatchV1(), s}
}

type batchSender struct {
	batchclient.BatchV1Interface
	sender *sender
}

func (b batchSender) Jobs(namespace string) batchclient.JobInterface {
	return jobSender{b.BatchV1Interface.Jobs(namespace), b.sender}
}

type jobSender struct {
	batchclient.JobInterface
	sender *sender
}

func (j jobSender) Create(ctx context.Context, job *batchv1.Job, o metav1.CreateOptions) (there *batchv1.Job, err error) {
	err = j.sender.send(ctx, func(ctx context.Context) (err error) { there, err = j.JobInterface.Create(ctx, job, o); return err })
	j.sender.created(err)
	return there, err
}

func (j jobSender) Get(ctx context.Context, name string, o metav1.GetOptions) (there *batchv1.Job, err error) {
	err = j.sender.send(ctx, func(ctx context.Context) (err error) { there, err = j.JobInterface.Get(ctx, name, o); return err })
	j.sender.called(err)
	return there, err
}

func (j jobSender) List(ctx context.Context, o metav1.ListOptions) (list *batchv1.JobList, err error) {
	err = j.sender.send(ctx, func(ctx context.Context) (err error) { list, err = j.JobInterface.List(ctx, o); return err })
	j.sender.called(err)
	return list, err
}

func (j jobSender) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	err := j.sender.send(ctx, func(ctx context.Context) error { return j.JobInterface.Delete(ctx, name, o) })
	j.sender.called(err)
	return err
}
