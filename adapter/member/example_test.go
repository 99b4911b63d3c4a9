package member_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
)

// One poll of a distributed job: what the members have, what is to be done, and
// what came of it.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var all member.Clusters
	for _, name := range []string{"member-cluster-1", "member-cluster-2"} {
		// member.Dial, really, with the config of a kubeconfig.
		c, err := member.New(name, member.Clients{Kubernetes: fake.NewClientset()}, member.Options{Home: "home"})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := all.Add(ctx, c); err != nil {
			fmt.Println(err)
			return
		}
	}
	found, err := adapter.ReadScaledJobs([]byte(`
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: processor-job, namespace: shop, uid: 0f8fad5b-d9cb-469f-a165-70867728950e, generation: 1}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: processor, image: "myapp:latest"}]}}}
  triggers: [{type: rabbitmq, metadata: {queueName: tasks, value: "5"}}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := found[0] // metadata and scaledJobSpec of the DistributedScaledJob
	if err := all.Follow(adapter.Observation{Owner: s.UID}); err != nil {
		fmt.Println(err)
		return
	}
	policy := placement.DefaultJobPolicy()
	policy.Revision = s.Revision()
	policy.Members = []placement.Member{{Name: "member-cluster-1", Weight: 2}, {Name: "member-cluster-2", Weight: 3}}

	var memory placement.Memory // kept from poll to poll
	poll := func() placement.JobPlan {
		now := time.Now()
		clusters, failures := all.Observe(s.UID, now)
		plan := placement.PlanJobs(policy, placement.JobState{
			Demand:   placement.Demand{Jobs: 10, Active: true},
			Clusters: clusters, Failures: failures, Memory: memory, Now: now,
		})
		memory = plan.Memory // to be stored before the plan is applied, where a restart must not lose it
		for _, r := range all.Apply(ctx, member.Action{ScaledJob: s, Revision: policy.Revision, Plan: plan, Now: now}) {
			fmt.Println(r.Cluster, r.Created, r.Err)
		}
		return plan
	}
	for poll().Blocked == placement.ReasonJobsUnknown { // until the members' Jobs are listed
		time.Sleep(time.Millisecond)
	}
	fmt.Println("again:", len(poll().Create))
	// Output:
	// member-cluster-1 4 <nil>
	// member-cluster-2 6 <nil>
	// again: 0
}
