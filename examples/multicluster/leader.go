package main

import (
	"context"
	"errors"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lead waits for the lease, and acts while it holds it. When ctx ends the lease is
// given up, once act has returned. It is an error to lose it: this process then has
// no more to do.
func (c *controller) lead(ctx context.Context, act func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	elect, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	started, acted := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: name,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.kedaNamespace, Name: c.leaseName()},
			Client:     c.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: c.lease, RenewDeadline: c.lease * 2 / 3, RetryPeriod: c.lease * 2 / 15,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				close(started)
				defer giveUp()
				leading, cancel := context.WithCancel(leading)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				acted <- act(leading)
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { c.log.Info("the lease is held", "by", identity) },
		},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-started: // which gives up
		default:
			giveUp()
		}
	})()
	elector.Run(elect)
	select {
	case <-started:
		err = <-acted
	default:
	}
	if err == nil && ctx.Err() == nil {
		err = errors.New("the lease is lost")
	}
	return err
}

// leaseName tells controllers of different namespaces apart.
func (c *controller) leaseName() string {
	if c.namespace == "" {
		return name
	}
	return name + "-" + c.namespace
}
