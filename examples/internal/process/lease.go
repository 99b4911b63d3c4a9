package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLost is the error of [Lease.Lead] if the lease could not be renewed in time. The
// caller may call Lead again.
var ErrLost = errors.New("the lease is lost")

// A Lease lets a single process act at a time.
type Lease struct {
	// Client should have connections of its own, so that nothing delays a renewal, and
	// a timeout of [Lease.Timeout].
	Client    kubernetes.Interface
	Namespace string
	Name      string
	// Identity is the name of this process among all that compete. client-go compares
	// nothing else: two processes with one identity would both act. Use [NewIdentity], once
	// for each start of a process, so that a term that follows a lost one need not wait
	// until its own lease expires. "" is a new identity for each term.
	Identity string
	// Duration is the time after which another process takes over from one that has
	// died: 2 s or more, because the object holds whole seconds.
	Duration time.Duration
	Term     *Term // reports whether this process holds the lease; may be nil
	Log      *slog.Logger
}

// Timeout returns the timeout of a request, so that a renewal has several attempts.
func (l Lease) Timeout() time.Duration { return l.Duration / 5 }

// RenewDeadline returns the age of the last renewal at which the process stops to act.
// Requests under way end in the rest of the duration.
func (l Lease) RenewDeadline() time.Duration { return l.Duration * 2 / 3 }

// RetryPeriod returns the time between two attempts to take or renew the lease.
func (l Lease) RetryPeriod() time.Duration { return l.Duration * 2 / 15 }

// Lead waits for the lease, and acts while it holds the lease. When ctx or the lease ends,
// the context of act ends. When act has returned, Lead releases the lease, so that the
// next process need not wait until it expires. Lead returns the error of act, else nil if
// ctx has ended, else [ErrLost]. Without a Client there is no lease: Lead acts at once.
func (l Lease) Lead(ctx context.Context, act func(context.Context) error) error {
	if l.Client == nil {
		return act(ctx)
	}
	lock, err := l.lock()
	if err != nil {
		return err
	}
	elect, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	acting, acted := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: l.Name, Lock: lock,
		LeaseDuration: l.Duration, RenewDeadline: l.RenewDeadline(), RetryPeriod: l.RetryPeriod(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				close(acting)
				defer stop()
				leading, cancel := context.WithCancel(leading)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				acted <- act(leading)
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { l.Log.Info("the lease is held", "by", identity) },
		},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-acting: // act ends, and stops the elector
		default:
			stop()
		}
	})()
	elector.Run(elect)
	select {
	case <-acting:
		err = <-acted
		lock.release(l.Timeout())
	default:
	}
	if err == nil && ctx.Err() == nil {
		err = ErrLost
	}
	return err
}

// Keep acts while it holds the lease, and competes for the lease again when it is lost.
// It returns the error of act, or nil if ctx has ended.
func (l Lease) Keep(ctx context.Context, act func(context.Context) error) error {
	for {
		err := l.Lead(ctx, act)
		if !errors.Is(err, ErrLost) {
			return err
		}
		l.Log.Warn("the lease is lost; competing for it again")
	}
}

// MayAct reports whether no other process acts under the lease. It is always true without
// a Client.
func (l Lease) MayAct() bool { return l.Client == nil || l.Term.Valid() }

// Lock returns the lock of the lease, for a program with an elector of its own. It notes
// renewals in Term.
func (l Lease) Lock() (resourcelock.Interface, error) { return l.lock() }

// NewIdentity returns the host's name and 128 random bits.
func NewIdentity() string {
	host, _ := os.Hostname() // for people only
	return host + "_" + rand.Text()
}

func (l Lease) lock() (*lock, error) {
	term := l.Term
	if term == nil {
		term = &Term{}
	}
	return &lock{term: term, length: l.RenewDeadline(), LeaseLock: resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     l.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: cmp.Or(l.Identity, NewIdentity())},
	}}, nil
}

// A lock records the time of its renewals.
type lock struct {
	resourcelock.LeaseLock
	term   *Term
	length time.Duration // validity of a renewal
}

// Create takes the lease.
func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.LeaseLock.Create(ctx, r) })
}

// Update takes, renews or releases the lease.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.LeaseLock.Update(ctx, r) })
}

// renew notes the time before the request: other processes count from when the API
// server has answered it, and this process may be stopped for any time until then. A
// release ends the term before the request, because another process may lead at once.
func (l *lock) renew(r resourcelock.LeaderElectionRecord, request func() error) error {
	held := r.HolderIdentity == l.Identity()
	if !held {
		l.term.renewed.Store(nil)
	}
	sent := now()
	err := request()
	if err == nil && held {
		l.term.renewed.Store(&renewal{sent, l.length})
	}
	return err
}

// release releases the lease if this process still holds it.
func (l *lock) release(timeout time.Duration) {
	l.term.renewed.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	held, _, err := l.Get(ctx)
	if err != nil || held.HolderIdentity != l.Identity() {
		return // it expires
	}
	released := metav1.Now()
	_ = l.Update(ctx, resourcelock.LeaderElectionRecord{ // fails if another process has taken it since
		LeaseDurationSeconds: 1, AcquireTime: released, RenewTime: released, LeaderTransitions: held.LeaderTransitions,
	})
}

// A Term reports whether a process holds its lease. The zero value does not.
type Term struct {
	renewed atomic.Pointer[renewal] // the last renewal; nil means none
}

// A renewal is valid for some time after it was sent.
type renewal struct {
	sent   instant
	length time.Duration
}

// Valid reports whether the process may act: the lease was renewed so recently that no
// other process can hold it. The report is right in a process that was stopped and
// continues, and after the machine was suspended.
func (t *Term) Valid() bool {
	r := t.renewed.Load()
	return r != nil && now().since(r.sent) < r.length
}

// An instant holds a time of two clocks. The monotonic clock stops while a machine is
// suspended, and the wall clock may be set back.
type instant struct{ monotonic, wall time.Time }

func now() instant {
	now := time.Now()
	return instant{now, now.Round(0)}
}

// since returns the longer of the times that the two clocks show.
func (i instant) since(from instant) time.Duration {
	return max(i.monotonic.Sub(from.monotonic), i.wall.Sub(from.wall))
}
