package adapter_test

import (
	"context"
	"fmt"
	"log"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
)

// queue is an object of one's own whose Jobs are to be scaled.
var queue = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"}}

// target says everything about the queue's Jobs, once.
func target() adapter.Target {
	job := &batchv1.Job{}
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}}
	return adapter.Target{
		Owner:   adapter.OwnerOf(queue, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		Job:     job,
		Policy:  scaling.Policy{Bounds: scaling.Bounds{Max: 6}},
		History: history.DefaultPolicy(),
	}
}

// A controller: Jobs are counted from watch events, and a poll makes no request to
// observe them.
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
	if err := tracker.Track(target()); err != nil { // again after each edit
		fmt.Println(err)
		return
	}
	for !tracker.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	for _, items := range []float64{4, 40, 40} {
		plan := tracker.Plan(queue.UID, []scaling.Metric{{Value: items, Target: 1}}, time.Now())
		result, err := tracker.Apply(ctx, client, plan)
		fmt.Println(items, "items:", plan.Decision.Reason.Text(), "creates", result.Created, err)
	}
	// Output:
	// 4 items: the strategy's proposal creates 4 <nil>
	// 40 items: the maximum creates 2 <nil>
	// 40 items: the maximum creates 0 <nil>
}

// The smallest controller: a Reconcile that lists the Jobs of its owner, plans and applies.
func ExampleList() {
	ctx, client := context.Background(), fake.NewClientset()
	result, err := reconcile(ctx, client, target(), 3)
	fmt.Println(result.Created, err)
	// Output: 3 <nil>
}

// reconcile creates the missing Jobs for a queue, and deletes finished and outdated ones.
func reconcile(ctx context.Context, client adapter.Client, target adapter.Target, items float64) (adapter.Result, error) {
	jobs, err := adapter.List(ctx, client, target, adapter.Options{})
	if err != nil {
		return adapter.Result{}, err
	}
	metrics := []scaling.Metric{{Name: "orders", Value: items, Target: 1}} // an item per Job
	plan := jobs.Plan(target.Owner.UID, metrics, time.Now())
	log.Print(plan.Decision) // why so many; plan.Decision.Surplus workers may be drained
	return jobs.Apply(ctx, client, plan)
}

// What a poll would do, from Jobs that were read elsewhere. Nothing is requested.
func ExampleObserve() {
	target := target()
	done := *target.NewJob(1)
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	target.History.Succeeded = history.Keep(0)

	tracker, err := adapter.Observe(target, adapter.Options{}, []batchv1.Job{done, *target.NewJob(2)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	counts, known := tracker.Counts(queue.UID, time.Now())
	fmt.Println("running", counts.Running, "pending", counts.Pending, known)
	plan := tracker.Plan(queue.UID, []scaling.Metric{{Value: 3, Target: 1}}, time.Now())
	fmt.Println("create", plan.Create)
	for _, d := range plan.Delete {
		fmt.Printf("delete %s: %s\n", d.Name, d.Reason.Text())
	}
	// Output:
	// running 1 pending 1 true
	// create 2
	// delete orders-c812e1ed-1: finished, and beyond the history limit
}

// A program with rules of its own makes the plan itself. The tracker chooses the names
// and keeps the maximum of the Target.
func ExamplePlan() {
	ctx, client := context.Background(), fake.NewClientset()
	tracker, err := adapter.Observe(target(), adapter.Options{}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := tracker.Apply(ctx, client, adapter.Plan{Owner: queue.UID, Create: 10})
	fmt.Println(result.Created, err)
	// Output: 6 <nil>
}

// All problems of a target are reported at once.
func ExampleTarget_Validate() {
	target := target()
	target.Owner.UID, target.Job.Namespace, target.StuckAfter = "", "mail", -time.Minute
	for _, problem := range field.All(target.Validate()) {
		fmt.Println(problem)
	}
	// Output:
	// Owner.UID: found nothing; use the value that the owner has on the API server
	// Job.Namespace: found "mail"; use "shop", the namespace of the owner
	// StuckAfter: found -1m0s; use a duration of 0 or more
}
