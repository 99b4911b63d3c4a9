package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"
)

const manifest = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop, uid: 0f8fad5b-d9cb-469f-a165-70867728950e, generation: 1}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: worker, image: example.com/worker:1}]}}}
  maxReplicaCount: 6
  triggers: [{type: rabbitmq, metadata: {queueName: orders, mode: QueueLength, value: "5"}}]
`

// A program that looks now and then: from a manifest to Jobs.
func Example() {
	ctx, client := context.Background(), fake.NewClientset() // a kubernetes.Clientset, really
	found, err := adapter.ReadScaledJobs([]byte(manifest))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := found[0]
	config, err := s.Config(nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	fleet, err := adapter.List(ctx, client, s, adapter.Observation{Owner: s.UID})
	if err != nil {
		fmt.Println(err) // fleet is nil, so that the plan is to leave everything as it is
	}
	plan := adapter.NewPlan(adapter.Poll{
		ScaledJob: s, Config: config, Owner: s.Owner(), Now: time.Now(),
		Metrics: []scaling.Metric{config.Triggers[0].Metric(47)}, // 47 messages
	}, fleet)
	result, err := adapter.Apply(ctx, client, plan)
	fmt.Println(plan.Decision)
	fmt.Println(result.Created, plan.Job(0).Name, err)
	// Output:
	// metrics   1 of 1 read, 1 active; max is rabbitmq: queue 47, 9.4 Jobs, rounded up 10
	// jobs      R=0 running, P=0 of them pending, S=0 of those stuck
	// bounds    min 0 on top, max 6: T=6 of 10 Jobs asked for
	// strategy  default: T - R, at T=6 R=0 P=0 S=0 M=6, is 6
	// limits    min lacks 0, max has room for 6
	// create    6: the maximum
	// 6 orders-ed4f5138-1 <nil>
}

// A controller: what informers see is counted as it happens, and polls make no
// request to find out.
func ExampleTracker() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	jobs := adapter.JobInformer(client, "shop")
	tracker, err := adapter.NewTracker(jobs, nil) // no pods: pending is what the Jobs' status says
	if err != nil {
		fmt.Println(err)
		return
	}
	go jobs.RunWithContext(ctx)

	found, _ := adapter.ReadScaledJobs([]byte(manifest))
	s := found[0]
	config, _ := s.Config(nil)
	if err := tracker.Follow(adapter.Observation{Owner: s.UID, Namespace: s.Namespace}); err != nil {
		fmt.Println(err)
		return
	}
	for !tracker.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		plan := tracker.Plan(adapter.Poll{
			ScaledJob: s, Config: config, Owner: s.Owner(), Now: time.Now(),
			Metrics: []scaling.Metric{config.Triggers[0].Metric(20)},
		})
		result, err := tracker.Apply(ctx, client, plan)
		fmt.Println(plan.Decision.Rule, result.Created, err)
	}
	// Output:
	// the strategy's proposal 4 <nil>
	// the strategy's proposal 0 <nil>
}

// What a poll came to, as conditions and events: a failure that lasts is told once.
func ExampleOutcome() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	outcome := adapter.Outcome{
		Decision: scaling.Decide(scaling.DefaultPolicy(), scaling.State{
			Metrics: []scaling.Metric{{Name: "orders", Value: 7, Target: 1}}, Jobs: &scaling.Jobs{},
		}),
		Result:  adapter.Result{Created: 5},
		Applied: &adapter.CreateError{Created: 5, Wanted: 7, Err: errors.New("exceeded quota")},
	}
	first := outcome.Conditions(nil, 1, noon)
	for _, c := range first {
		fmt.Println(c.Type, c.Status, c.Reason)
	}
	fmt.Println(outcome.Events(nil, first))
	second := outcome.Conditions(first, 1, noon.Add(time.Minute))
	fmt.Println(outcome.Events(first, second))
	// Output:
	// Ready False KEDAJobCreateFailed
	// Active True ScalerActive
	// Paused False ScaledJobUnpaused
	// [{Warning KEDAJobCreateFailed created 5 of 7 Jobs: exceeded quota} {Normal ScaledJobActive Active triggers: 1 of 1} {Normal KEDAJobsCreated Created 5 Jobs}]
	// [{Normal KEDAJobsCreated Created 5 Jobs}]
}
