package loop_test

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/scaling"
)

// A loop polls a queue until its items have Jobs.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset() // loop.Connect makes the clients of a real cluster
	tracker, err := adapter.NewTracker(client, adapter.Options{Terms: requests.OneShot()})
	if err != nil {
		fmt.Println(err)
		return
	}
	go tracker.Run(ctx)
	polls := loop.New(loop.Options{Tracker: tracker, Client: client})
	target := adapter.Target{
		Owner: adapter.Owner{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "orders", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"},
		Job:   &batchv1.Job{}, Policy: scaling.Policy{Bounds: scaling.Bounds{Max: 3}},
	}
	target.Job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}}

	// The handler of an informer of owners does this for each event.
	if err := tracker.Track(target); err != nil {
		fmt.Println(err)
	}
	polls.Now(cache.NewObjectName("shop", "orders"))
	polls.Run(ctx, func(context.Context, loop.Turn) (adapter.Plan, loop.Done) {
		metrics := []scaling.Metric{{Name: "items", Value: 5, Target: 1}}
		return tracker.Plan(target.Owner.UID, metrics, time.Now()), func(result adapter.Result, err error) time.Duration {
			if result.Created > 0 {
				fmt.Println("created", result.Created, err)
				cancel()
			}
			return time.Millisecond // until the next poll
		}
	})
	tracker.Untrack(target.Owner.UID) // as soon as the owner is being deleted: further Jobs would delay that
	// Output: created 3 <nil>
}
