package process_test

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/scaledjob/scaledjob/examples/internal/process"
)

const duration = 15 * time.Second

func lease(client kubernetes.Interface) process.Lease {
	return process.Lease{Client: client, Namespace: "n", Name: "l", Duration: duration, Log: slog.New(slog.DiscardHandler)}
}

// A leader is one that leads in a goroutine of its own.
type leader struct {
	stop           context.CancelFunc
	acting, ending chan struct{} // closed when it acts, and when that is to end
	end            chan error    // what act returns then
	led            chan error
}

func lead(t *testing.T, l process.Lease) *leader {
	ctx, stop := context.WithCancel(t.Context())
	s := &leader{stop: stop, acting: make(chan struct{}), ending: make(chan struct{}), end: make(chan error), led: make(chan error, 1)}
	go func() {
		s.led <- l.Lead(ctx, func(ctx context.Context) error {
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

// A silent API server answers nothing from some time on: a request takes as long as it
// may.
type silent struct {
	kubernetes.Interface
	gone atomic.Bool
}

func (s *silent) CoordinationV1() coordination.CoordinationV1Interface {
	return silentGroup{s.Interface.CoordinationV1(), s}
}

type silentGroup struct {
	coordination.CoordinationV1Interface
	server *silent
}

func (g silentGroup) Leases(namespace string) coordination.LeaseInterface {
	return silentLeases{g.CoordinationV1Interface.Leases(namespace), g.server}
}

type silentLeases struct {
	coordination.LeaseInterface
	server *silent
}

func (l silentLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Lease, error) {
	if l.server.gone.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l silentLeases) Update(ctx context.Context, lease *v1.Lease, o metav1.UpdateOptions) (*v1.Lease, error) {
	if l.server.gone.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.LeaseInterface.Update(ctx, lease, o)
}

// One that cannot renew the lease stops acting before another may, and says so.
func TestLeadLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &silent{Interface: fake.NewClientset()}
		l := lead(t, lease(client))
		<-l.acting
		begin := time.Now()
		client.gone.Store(true)
		<-l.ending
		require.Less(t, time.Since(begin), duration)
		l.end <- nil
		require.EqualError(t, <-l.led, "the lease is lost")
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
