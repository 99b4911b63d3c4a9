package keda_test

import (
	"fmt"

	"github.com/scaledjob/scaledjob/keda"
)

// Fifteen Jobs are all pending, and the queue still holds the items that they
// will take. Up to 2.18 five more are created, though nothing is left for them.
func ExampleProfile_Decide() {
	job := keda.ScaledJob{Spec: keda.Spec{
		MaxReplicaCount: new(int32(20)),
		ScalingStrategy: keda.ScalingStrategy{Strategy: "accurate"},
	}}
	poll := keda.State{
		Scalers: []keda.Scaler{{QueueLength: 15, Target: 1}},
		Running: 15, Pending: 15,
	}
	release, err := keda.Release("2.18")
	if err != nil {
		panic(err)
	}
	fmt.Println(release.Decide(&job, poll))
	// Output:
	// release   KEDA 2.18.3
	// replicas  min 0, and 20 for the queue
	// scalers   1 of 1 read, active: queue length 15 asks for 15 Jobs, rounded up to 15
	// jobs      R=15 running, P=15 of them pending
	// strategy  accurate: T + R > M ? M - R : T - P; at T=15 R=15 P=15 M=20
	// proposal  5, at most 15 (the queue length)
	// create    5: the strategy's answer
}

// Where KEDA panics, the model says so.
func ExampleProfile_Decide_panic() {
	job := keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: new(int32(1))}}
	release, err := keda.Release("2.10")
	if err != nil {
		panic(err)
	}
	d := release.Decide(&job, keda.State{})
	fmt.Println(d.Fault.Panics(), d.Fault)
	// Output: true KEDA panics: minReplicaCount without maxReplicaCount
}

// Which rule makes two releases differ: the one that, put into the older, makes
// it answer as the newer does.
func ExampleProfile_With() {
	job := keda.ScaledJob{Spec: keda.Spec{
		MaxReplicaCount: new(int32(20)),
		ScalingStrategy: keda.ScalingStrategy{Strategy: "accurate"},
	}}
	poll := keda.State{
		Scalers: []keda.Scaler{{QueueLength: 15, Target: 1}},
		Running: 15, Pending: 15,
	}
	from, err := keda.Release("2.17")
	if err != nil {
		panic(err)
	}
	to := keda.Newest()
	fmt.Println(from.Decide(&job, poll).Create, to.Decide(&job, poll).Create)
	for _, change := range keda.Changes(from, to) {
		if from.With(change.To).Decide(&job, poll).Create == to.Decide(&job, poll).Create {
			fmt.Println(change.To)
		}
	}
	// Output:
	// 5 0
	// accurate since 2.19: accurate proposes M - R if T + R - P exceeds M, else T - P, so that pending Jobs near the maximum are subtracted too.
}

func ExampleProfile_Validate() {
	release, err := keda.Release("2.14")
	if err != nil {
		panic(err)
	}
	job := keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{Strategy: "eager"}}}
	fmt.Println(release.Validate(&job))
	// Output: spec.scalingStrategy.strategy eager: KEDA 2.14.1 does not have it; use KEDA 2.15 or later
}

// Only a success has a completion time, so that failed Jobs go as they are
// listed, whichever failed first.
func ExampleProfile_History() {
	failed := []keda.Condition{{Type: "Failed", Status: "True"}}
	jobs := []keda.Job{{Name: "new", Conditions: failed}, {Name: "old", Conditions: failed}}
	job := keda.ScaledJob{Spec: keda.Spec{FailedJobsHistoryLimit: new(int32(1))}}
	for _, i := range keda.Newest().History(&job, jobs).Deleted {
		fmt.Println("delete", jobs[i].Name)
	}
	// Output: delete new
}
