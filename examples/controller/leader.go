package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lead waits for the lease, and acts while it holds it. When ctx ends, the lease is
// given up once act has returned, so that the next one need not wait for it to
// expire. It is an error to lose it: this process then has no more to do.
func (c *controller) lead(ctx context.Context, act func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	elect, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	acting, acted := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            name,
		Lock:            c.lock(host + "_" + string(uuid.NewUUID())),
		LeaseDuration:   c.lease,
		RenewDeadline:   c.lease * 2 / 3,
		RetryPeriod:     c.lease * 2 / 15,
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
			OnNewLeader:      func(identity string) { c.log.Info("the lease is held", "by", identity) },
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

func (c *controller) lock(identity string) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: cmp.Or(c.leaseNamespace, podNamespace(), "default"), Name: c.leaseName()},
		Client:     c.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: nil},
	}
}

// leaseName tells controllers of different namespaces apart.
func (c *controller) leaseName() string {
	if c.namespace == "" {
		return name
	}
	return fmt.Sprintf("%s-%s", name, c.namespace)
}

// podNamespace is the pod's namespace, where this is a pod.
func podNamespace() string {
	data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
