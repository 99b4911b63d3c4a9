package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A Lease lets one of several processes act.
type Lease struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string
	// Duration is the time after which another takes over from one that has died: two
	// seconds or more, for the object holds whole ones.
	Duration time.Duration
	Log      *slog.Logger
}

// Lead waits for the lease, and acts while it holds it. When ctx ends, the lease is
// given up once act has returned, so that the next one need not wait for it to
// expire. It is an error to lose it: this process then has no more to do.
func (l Lease) Lead(ctx context.Context, act func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	elect, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	acting, acted := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: l.Name,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
			Client:     l.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration:   l.Duration,
		RenewDeadline:   l.Duration / 3, // which to give the lease up may take once more, before acting ends
		RetryPeriod:     l.Duration * 2 / 15,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				close(acting)
				defer giveUp()
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
		case <-acting: // which gives up
		default:
			giveUp()
		}
	})()
	elector.Run(elect)
	select {
	case <-acting:
		err = <-acted
	default:
	}
	if err == nil && ctx.Err() == nil {
		err = errors.New("the lease is lost")
	}
	return err
}
