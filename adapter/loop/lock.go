package loop

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// annotationMark is the lease's mark.
const annotationMark = "scaledjob.dev/number-skipped"

// A lock begins a term when the lease is taken, and notes the time of its renewals.
type lock struct {
	config Lease

	mu    sync.Mutex            // held during a write
	lease *coordinationv1.Lease // as it was read or written last
	held  *hold                 // nil while this process does not hold the lease
}

// Get reads the lease.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease, err := l.config.Client.Leases(l.config.Namespace).Get(ctx, l.config.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	l.lease = lease
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	raw, err := json.Marshal(record)
	return record, raw, err
}

// Create takes the lease.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.config.Namespace, Name: l.config.Name}}
	return l.write(ctx, &r, true)
}

// Update takes, renews or releases the lease.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return errors.New("the lease was not read")
	}
	return l.write(ctx, &r, false)
}

// write notes the time before the request: other processes count from when the API server has
// answered it, and this process may be stopped for any time until then. A release ends the
// term before the request, because another process may lead at once. A renewal after the end
// of the term before begins another term.
func (l *lock) write(ctx context.Context, r *resourcelock.LeaderElectionRecord, create bool) error {
	found := l.lease.Annotations[annotationMark] != ""
	marked := found
	held := r.HolderIdentity == l.config.Identity
	if !held {
		if l.held != nil {
			marked = l.config.End()
		}
		l.held = nil
	}
	sent := now()
	if err := l.store(ctx, r, marked, create); err != nil || !held {
		return err
	}
	if h := l.held; h == nil || l.config.Err() != nil || sent.elapsed(h.renewed.Load().instant) >= l.config.RenewDeadline() {
		l.held = &hold{lock: l, length: l.config.RenewDeadline()}
		l.held.renewed.Store(&renewal{sent})
		l.config.Begin(l.held, found)
	}
	l.held.renewed.Store(&renewal{sent})
	return nil
}

// store writes the lease with the record and the mark. An update fails if the lease has changed since it
// was read.
func (l *lock) store(ctx context.Context, r *resourcelock.LeaderElectionRecord, marked, create bool) (err error) {
	updated := l.lease.DeepCopy()
	updated.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(r)
	if delete(updated.Annotations, annotationMark); marked {
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, annotationMark, "true")
	}
	leases := l.config.Client.Leases(l.config.Namespace)
	if create {
		updated, err = leases.Create(ctx, updated, metav1.CreateOptions{})
	} else {
		updated, err = leases.Update(ctx, updated, metav1.UpdateOptions{})
	}
	if err == nil {
		l.lease = updated
	}
	return err
}

// mark stores the mark.
func (l *lock) mark(ctx context.Context, h *hold) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&l.lease.Spec)
	if l.held != h || record.HolderIdentity != l.config.Identity {
		return requests.ErrEnded
	}
	return l.store(ctx, record, true, false)
}

// RecordEvent does nothing.
func (l *lock) RecordEvent(string) {}

// Identity returns the name of this process.
func (l *lock) Identity() string { return l.config.Identity }

// Describe returns the lease's name.
func (l *lock) Describe() string { return l.config.Namespace + "/" + l.config.Name }

// release releases the lease if this process still holds it.
func (l *lock) release(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	marked := l.config.End()
	held, _, err := l.Get(ctx)
	if err != nil || held.HolderIdentity != l.config.Identity {
		return // it expires
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = nil
	released := metav1.Now()
	// It fails if another process has taken it since.
	_ = l.store(ctx, &resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: released, RenewTime: released, LeaderTransitions: held.LeaderTransitions,
	}, marked, false)
}

// A hold is the time for which the lease is renewed without a gap.
type hold struct {
	lock    *lock
	length  time.Duration // validity of a renewal
	renewed atomic.Pointer[renewal]
}

// A renewal is when the last renewal was sent.
type renewal struct{ instant }

// Valid reports whether the lease was renewed so recently that no other process can hold it.
// The report is right in a process that was stopped and continues, and after the machine was
// suspended.
func (h *hold) Valid() bool { return now().elapsed(h.renewed.Load().instant) < h.length }

// Mark stores the mark.
func (h *hold) Mark(ctx context.Context) error { return h.lock.mark(ctx, h) }

// An instant holds a time of two clocks. The monotonic clock stops while a machine is
// suspended, and the wall clock may be set back.
type instant struct{ monotonic, wall time.Time }

func now() instant {
	now := time.Now()
	return instant{now, now.Round(0)}
}

// elapsed returns the longer of the times that the two clocks show.
func (i instant) elapsed(from instant) time.Duration {
	return max(i.monotonic.Sub(from.monotonic), i.wall.Sub(from.wall))
}
