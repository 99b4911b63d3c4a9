package loop

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// ErrLost is the error of [Lease.Lead] if the lease could not be renewed in time. The
// caller may call Lead again.
var ErrLost = errors.New("the lease is lost")

// A Lease lets a single process act at a time. Its holder has the terms.
type Lease struct {
	*requests.Terms
	// Client should have connections of its own, so that nothing delays a renewal, and
	// a timeout of a fifth of Duration.
	Client    coordination.LeasesGetter
	Namespace string
	Name      string
	// Identity is the name of this process among all that compete. client-go compares
	// nothing else: two processes with one identity would both act. If it is empty, Lead and Keep make
	// one of the host's name and random bits. NewLease sets it once, so that a term that follows
	// a lost term need not wait until its own lease expires.
	Identity string
	// Duration is the time after which another process takes over from a process that has
	// died: 2 s or more, because the object holds whole seconds.
	Duration time.Duration
	Log      *slog.Logger
}

// NewLease returns the lease of that name for this start of the process, with a connection of
// its own. A duration of 0 is 15 s.
func NewLease(config *rest.Config, namespace, name string, duration time.Duration) (Lease, error) {
	l := Lease{
		Terms: &requests.Terms{}, Namespace: namespace, Name: name, Identity: newIdentity(),
		Duration: cmp.Or(duration, 15*time.Second), Log: slog.Default(),
	}
	var err error
	l.Client, err = coordination.NewForConfig(SeparateConfig(config, l.timeout()))
	return l, err
}

// timeout returns the timeout of a request, so that a renewal has several attempts.
func (l Lease) timeout() time.Duration { return l.Duration / 5 }

// RenewDeadline returns the age of the last renewal at which the process stops to act.
// Requests under way end in the rest of the duration.
func (l Lease) RenewDeadline() time.Duration { return l.Duration * 2 / 3 }

// RetryPeriod returns the time between two attempts to take or renew the lease.
func (l Lease) RetryPeriod() time.Duration { return l.Duration * 2 / 15 }

// Lead waits for the lease, and acts while it holds the lease. When ctx or the lease ends,
// the context of act ends. Requests with that context change nothing after a term, as package
// term describes. When act has returned, Lead releases the lease, so that the
// next process need not wait until it expires. Lead returns the error of act, else nil if
// ctx has ended, else [ErrLost]. Without a Client there is no lease: Lead acts at once, and
// Terms should be [requests.WithoutLease].
func (l Lease) Lead(ctx context.Context, act func(context.Context) error) error {
	if l.Client == nil {
		return act(requests.WithTerm(ctx, l.Terms))
	}
	lock := l.lock()
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
				acted <- act(requests.WithTerm(leading, lock.config.Terms))
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
		lock.release(l.timeout())
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

// Lock returns the lock of the lease, for a program with an elector of its own, such as
// controller-runtime's. Terms begin and end by the renewals of the lock.
func (l Lease) Lock() resourcelock.Interface { return l.lock() }

// newIdentity returns the host's name and 128 random bits.
func newIdentity() string {
	host, _ := os.Hostname() // for people only
	return host + "_" + rand.Text()
}

func (l Lease) lock() *lock {
	l.Terms = cmp.Or(l.Terms, &requests.Terms{})
	l.Identity = cmp.Or(l.Identity, newIdentity())
	return &lock{config: l}
}
