package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

const duration = 15 * time.Second

func lease(client kubernetes.Interface) loop.Lease {
	return loop.Lease{Terms: &requests.Terms{}, Client: client.CoordinationV1(), Namespace: "n", Name: "l", Duration: duration, Log: slog.New(slog.DiscardHandler)}
}

// A leader is one that leads in a goroutine of its own.
type leader struct {
	stop           context.CancelFunc
	acting, ending chan struct{} // closed when it acts, and when that is to end
	end            chan error    // what act returns then
	led            chan error
}

func lead(t *testing.T, l loop.Lease) *leader {
	ctx, stop := context.WithCancel(t.Context())
	s := &leader{stop: stop, acting: make(chan struct{}), ending: make(chan struct{}), end: make(chan error), led: make(chan error, 1)}
	go func() {
		s.led <- l.Lead(ctx, func(ctx context.Context) error {
			if err := requests.CheckTerm(ctx); err != nil {
				t.Error(err)
			}
			close(s.acting)
			<-ctx.Done()
			close(s.ending)
			return <-s.end
		})
	}()
	return s
}

func is(c chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The next one acts when the first has put down all, and then at once.
func TestLeadOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := lead(t, lease(client))
		<-first.acting
		second := lead(t, lease(client))
		time.Sleep(10 * duration)
		require.False(t, is(second.acting))
		first.stop()
		<-first.ending
		time.Sleep(10 * duration)
		require.False(t, is(second.acting), "the lease is held as long as the first is acting")
		first.end <- nil
		require.NoError(t, <-first.led)
		begin := time.Now()
		<-second.acting
		require.Less(t, time.Since(begin), duration/2, "given up")
		second.stop()
		second.end <- nil
		require.NoError(t, <-second.led)
	})
}

// One that never led stops as well.
func TestLeadWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first, second := lead(t, lease(client)), (*leader)(nil)
		<-first.acting
		second = lead(t, lease(client))
		time.Sleep(duration)
		second.stop()
		require.NoError(t, <-second.led)
		require.False(t, is(first.ending))
		first.stop()
		first.end <- nil
		require.NoError(t, <-first.led)
	})
}

// unreliable returns a client whose requests for leases fail while away is true.
func unreliable() (client *fake.Clientset, away *atomic.Bool) {
	client, away = fake.NewClientset(), &atomic.Bool{}
	client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("no answer")
	})
	return client, away
}

// stored returns the lease as the API server has it.
func stored(t *testing.T, client kubernetes.Interface) *v1.Lease {
	found, err := client.CoordinationV1().Leases("n").Get(t.Context(), "l", metav1.GetOptions{})
	require.NoError(t, err)
	return found
}

// A silent client has no answer to a Get and an Update while away is true.
type silent struct {
	coordination.LeaseInterface
	away *atomic.Bool
}

func (s silent) Leases(string) coordination.LeaseInterface { return s }

func (s silent) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Lease, error) {
	s.wait(ctx)
	return s.LeaseInterface.Get(ctx, name, o)
}

func (s silent) Update(ctx context.Context, l *v1.Lease, o metav1.UpdateOptions) (*v1.Lease, error) {
	s.wait(ctx)
	return s.LeaseInterface.Update(ctx, l, o)
}

func (s silent) wait(ctx context.Context) {
	if s.away.Load() {
		<-ctx.Done()
	}
}

// A process that cannot renew the lease, since its requests hang, stops acting before another may, and
// may lead again. The lease is released after act has ended, and not before.
func TestLeadLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, away := unreliable()
		kept := lease(client)
		kept.Client = silent{client.CoordinationV1().Leases("n"), away}
		require.False(t, kept.MayAct())
		l := lead(t, kept)
		<-l.acting
		require.True(t, kept.MayAct())
		time.Sleep(10 * duration)
		require.True(t, kept.MayAct(), "it is renewed")
		begin := time.Now()
		away.Store(true)
		time.Sleep(duration * 2 / 3)
		require.False(t, kept.MayAct())
		<-l.ending
		require.Less(t, time.Since(begin), duration)
		away.Store(false)
		time.Sleep(time.Second)
		require.NotEmpty(t, *stored(t, client).Spec.HolderIdentity)
		l.end <- nil
		require.ErrorIs(t, <-l.led, loop.ErrLost)
		require.Empty(t, *stored(t, client).Spec.HolderIdentity, "released")
		again := lead(t, kept)
		<-again.acting
		require.True(t, kept.MayAct())
		again.stop()
		<-again.ending
		require.True(t, kept.MayAct(), "until all is put down")
		again.end <- nil
		require.NoError(t, <-again.led)
		require.False(t, kept.MayAct())
	})
}

// A process that has lost the lease leaves it to the one that has taken it.
func TestLostToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := fake.NewClientset()
		first := lead(t, lease(inner))
		<-first.acting
		time.Sleep(time.Second) // between two renewals
		held := stored(t, inner)
		held.Spec.HolderIdentity = new("another")
		_, err := inner.CoordinationV1().Leases("n").Update(t.Context(), held, metav1.UpdateOptions{})
		require.NoError(t, err)
		first.stop()
		first.end <- nil
		require.NoError(t, <-first.led)
		require.Equal(t, "another", *stored(t, inner).Spec.HolderIdentity)
	})
}

// A process that was stopped while a renewal was under way does not take the answer,
// which is old, for a lease that is valid.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := fake.NewClientset()
		var stop atomic.Bool
		inner.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if stop.Load() {
				time.Sleep(70 * time.Second)
			}
			return false, nil, nil
		})
		l := lease(inner)
		led := lead(t, l)
		<-led.acting
		stop.Store(true)
		time.Sleep(75 * time.Second)
		require.False(t, l.MayAct())
		stop.Store(false)
		led.stop()
		led.end <- nil
		require.NoError(t, <-led.led)
	})
}

// What goes wrong when acting is told, and ends the leading.
func TestLeadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		problem := errors.New("problem")
		require.Equal(t, problem, lease(client).Lead(t.Context(), func(context.Context) error { return problem }))
		next := lead(t, lease(client))
		<-next.acting
		next.stop()
		next.end <- nil
		require.NoError(t, <-next.led)
	})
}

// The lock notes renewals of this process in the term, for a program with an elector of its
// own. The term has ended when the elector's release is sent.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, atRequest := fake.NewClientset(), false
		l := lease(client)
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			atRequest = l.MayAct()
			return false, nil, nil
		})
		lock := l.Lock()
		held := resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity(), LeaseDurationSeconds: 15}
		require.False(t, l.MayAct())
		require.NoError(t, lock.Create(t.Context(), held))
		require.True(t, l.MayAct())
		time.Sleep(duration * 2 / 3)
		require.False(t, l.MayAct())
		require.NoError(t, lock.Update(t.Context(), held))
		require.True(t, l.MayAct())
		require.NoError(t, lock.Update(t.Context(), held))
		require.True(t, atRequest, "a renewal does not end the term")
		require.NoError(t, lock.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}))
		require.False(t, atRequest)
		require.False(t, l.MayAct())
	})
}

// After an API server was away, the process that held the lease acts again at the next
// attempt: its own lease does not stop it. Another process waits until the lease expires.
func TestOwnLease(t *testing.T) {
	for same, want := range map[bool]time.Duration{true: duration / 3, false: 2 * duration} {
		synctest.Test(t, func(t *testing.T) {
			client, away := unreliable()
			l := lease(client)
			if same {
				l.Identity = "of this start of the process"
			}
			ctx, stop := context.WithCancel(t.Context())
			began := make(chan time.Time, 10)
			ended := make(chan error, 1)
			go func() {
				ended <- l.Keep(ctx, func(ctx context.Context) error {
					began <- time.Now()
					<-ctx.Done()
					return nil
				})
			}()
			<-began
			time.Sleep(duration)
			away.Store(true)
			time.Sleep(l.RenewDeadline() + l.RetryPeriod())
			require.False(t, l.MayAct())
			away.Store(false)
			back := time.Now()
			took := (<-began).Sub(back)
			require.LessOrEqual(t, took, want)
			require.Equal(t, same, took <= duration/3, "%s", took)
			stop()
			require.NoError(t, <-ended)
		})
	}
}

// A term ends for good when a renewal comes too late, also if nobody has noticed and the
// elector goes on. The renewal begins another.
func TestTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lease(fake.NewClientset())
		lock := l.Lock()
		held := resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity(), LeaseDurationSeconds: 15}
		require.NoError(t, lock.Create(t.Context(), held))
		first := l.Terms.Term()
		time.Sleep(l.RenewDeadline() - 1)
		require.NoError(t, lock.Update(t.Context(), held))
		require.Same(t, first, l.Terms.Term())
		time.Sleep(l.RenewDeadline())
		require.NoError(t, lock.Update(t.Context(), held))
		require.NotSame(t, first, l.Terms.Term())
		require.ErrorIs(t, first.Err(), requests.ErrEnded)
		require.True(t, l.MayAct())
	})
}

// Renewals keep the mark, and an orderly end removes it once all is settled.
func TestMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		marked := func() bool { return stored(t, client).Annotations[loop.AnnotationMark] != "" }
		for _, run := range []struct {
			settled, mark, found, remains bool
			late                          time.Duration
		}{
			{settled: true}, {mark: true, remains: true}, {found: true, remains: true},
			{settled: true, found: true, remains: true, late: time.Hour}, {settled: true, found: true}, {settled: true},
		} {
			l := lease(client)
			leading, stop := context.WithCancel(t.Context())
			require.NoError(t, l.Lead(leading, func(ctx context.Context) error {
				current := l.Terms.Term()
				require.Equal(t, run.found, current.Marked())
				current.Join(run.late, func() bool { return run.settled })
				if run.mark {
					require.NoError(t, current.Mark(ctx))
				}
				time.Sleep(duration)
				require.Equal(t, run.mark || run.found, marked(), "renewals keep it")
				stop()
				return nil
			}))
			require.Equal(t, run.remains, marked())
		}
	})
}
