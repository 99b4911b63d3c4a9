package scaledjob_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

const orders = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop, uid: 0f8fad5b-d9cb-469f-a165-70867728950e, generation: 1}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: worker, image: example.com/worker:1}]}}}
  maxReplicaCount: 6
  triggers: [{type: rabbitmq, metadata: {queueName: orders, mode: QueueLength, value: "5"}}]
`

// A program that polls once, from a manifest to Jobs.
func Example() {
	ctx, client := context.Background(), adaptertest.NewCluster() // a *kubernetes.Clientset in a real program
	found, err := manifest.Read([]byte(orders))
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := scaledjob.Configure(found[0], nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	jobs, err := adapter.List(ctx, client, config.Target, adapter.Options{Selector: scaledjob.Selector})
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics := []scaling.Metric{config.Triggers[0].Metric(47)} // 47 messages
	plan := jobs.Plan(config.Target.Owner.UID, metrics, time.Now())
	fmt.Println(plan.Decision)
	result, err := jobs.Apply(ctx, client, plan)
	fmt.Println(result.Created, "Jobs such as", config.Target.NewJob(1).Name, err)
	// Output:
	// metrics   1 of 1 read, 1 active; max is rabbitmq: queue length 47 asks for 9.4 Jobs, rounded up to 10
	// jobs      R=0 running, P=0 of them pending, S=0 of them stuck
	// bounds    min 0 (additive), max 6: T=6 of 10 Jobs asked for
	// strategy  default: T - R; at T=6 R=0 P=0 S=0 M=6 it proposes 6
	// limits    min needs 0 more Jobs, max allows 6 more
	// create    6: the maximum
	// 6 Jobs such as orders-c812e1ed-1 <nil>
}

// Conditions and events of two polls. A failure that lasts is reported once.
func ExamplePollResult() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	poll := scaledjob.PollResult{
		Decision: scaling.Decide(scaling.DefaultPolicy(), scaling.Observation{
			Metrics: []scaling.Metric{{Name: "orders", Value: 7, Target: 1}}, Jobs: &scaling.JobCounts{},
		}),
		Result:  adapter.Result{Created: 5},
		Applied: &adapter.CreateError{Created: 5, Wanted: 7, Err: errors.New("exceeded quota")},
	}
	first := poll.Conditions(nil, 1, noon)
	for _, c := range first {
		fmt.Println(c.Type, c.Status, c.Reason)
	}
	for _, e := range poll.Events(nil, first) {
		fmt.Println(e.Type, e.Reason, e.Message)
	}
	poll.Result.Created = 0
	second := poll.Conditions(first, 1, noon.Add(time.Minute))
	fmt.Println(len(poll.Events(first, second)), "events")
	// Output:
	// Ready False JobCreateFailed
	// Active True ScalerActive
	// JobsCreated False JobCreateFailed
	// JobsDeleted True Succeeding
	// TriggersRead True Succeeding
	// Paused False ScaledJobUnpaused
	// Warning JobCreateFailed created 5 of 7 Jobs: exceeded quota
	// Normal ScaledJobActive Active triggers: 1 of 1
	// Normal JobsCreated Created 5 Jobs
	// 0 events
}
