package member_test

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// A poll observes the members, plans, and applies the plan.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var all member.Clusters
	for _, name := range []string{"member-cluster-1", "member-cluster-2"} {
		api := newSite(name) // use member.Dial with the config of a kubeconfig
		c, err := member.New(name, member.Clients{Requests: api, Watches: api}, member.Options{Terms: requests.OneShot(), Home: "hub"})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := all.Add(ctx, c); err != nil {
			fmt.Println(err)
			return
		}
	}
	target := adapter.Target{
		Owner: adapter.Owner{APIVersion: "example.com/v1", Kind: "Queue", Namespace: "shop", Name: "orders", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"},
		Job: &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "myapp:latest"}}},
		}}},
		Revision: rollout.Revision{Generation: 1},
	}
	if err := all.Track(target, nil); err != nil { // again after each edit
		fmt.Println(err)
		return
	}
	policy := jobs.DefaultPolicy()
	policy.Revision = target.Revision
	policy.Members = []jobs.Member{{Name: "member-cluster-1", Weight: 2}, {Name: "member-cluster-2", Weight: 3}}

	var checkpoint jobs.Checkpoint
	poll := func() jobs.Decision {
		seen := all.Observe(target.Owner.UID)
		plan := jobs.Decide(policy, jobs.Observation{
			Metrics:  []scaling.Metric{{Value: 10, Target: 1}},
			Clusters: seen.Clusters, Now: time.Now(),
		}, checkpoint)
		checkpoint = plan.Checkpoint // store it before Apply, so that it survives a restart
		for _, r := range all.Apply(ctx, seen, plan) {
			fmt.Println(r.Cluster, r.Created, r.Err)
		}
		return plan
	}
	for poll().Scaling.Reason == scaling.ReasonJobsUnknown { // until the members' Jobs are listed
		time.Sleep(time.Millisecond)
	}
	fmt.Println("again:", len(poll().Create))
	// Output:
	// member-cluster-1 4 <nil>
	// member-cluster-2 6 <nil>
	// again: 0
}
