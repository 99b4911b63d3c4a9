package jobs_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Ten Jobs by weights of 2 : 3.
func ExampleDecide() {
	policy := jobs.DefaultPolicy()
	policy.Members = []jobs.Member{{Name: "member-1", Weight: 2}, {Name: "member-2", Weight: 3}}
	fmt.Println(jobs.Decide(policy, jobs.Observation{
		Metrics:  []scaling.Metric{{Value: 10, Target: 1}},
		Clusters: []jobs.Cluster{jobs.NewCluster("member-1"), jobs.NewCluster("member-2")},
		Now:      noon,
	}, jobs.Checkpoint{}))
	// Output:
	// create 10 (the strategy's proposal): target 10, 0 running, 0 pending, 0 stuck, 0 terminating
	// member-1: 0 running, 0 pending, 0 stuck (Cluster is healthy)
	//   create 4
	// member-2: 0 running, 0 pending, 0 stuck (Cluster is healthy)
	//   create 6
}

// A Job on the second member has been pending for the grace period. It is replaced on the
// first, and deleted once the replacement runs.
func ExampleDecide_failover() {
	policy := jobs.DefaultPolicy()
	policy.Failover.Duplication = jobs.PreferFailover
	stuck := jobs.Job{Name: "etl-1", UID: "u1", Phase: jobs.Pending, PendingSince: noon.Add(-time.Minute)}
	observation := jobs.Observation{
		Metrics:  []scaling.Metric{{Value: 1, Target: 1}},
		Clusters: []jobs.Cluster{jobs.NewCluster("member-1"), jobs.NewCluster("member-2", stuck)},
		Now:      noon,
	}
	decision := jobs.Decide(policy, observation, jobs.Checkpoint{})
	fmt.Println(decision)

	source := decision.Create[0].Replacements[0].Source
	observation.Clusters[0] = jobs.NewCluster("member-1", jobs.Job{Name: "etl-2", UID: "u2", Replaces: source})
	fmt.Println(jobs.Decide(policy, observation, decision.Checkpoint).Duplicates[0].Name)
	// Output:
	// create 1 (the strategy's proposal): target 1, 1 running, 1 pending, 1 stuck, 0 terminating
	// member-1: 0 running, 0 pending, 0 stuck (Cluster is healthy)
	//   replace etl-1 on member-2
	// member-2: 1 running, 1 pending, 1 stuck (Cluster is healthy; Jobs of this owner do not start there, and another failure counts until 2026-01-01T12:03:00Z)
	// next check at 2026-01-01T12:03:00Z
	// etl-1
}

// A Job that does not start keeps its owner's Jobs off the cluster, and no other owner's.
func ExampleDecide_taints() {
	policy := jobs.DefaultPolicy()
	policy.Failover.SoftTaint = 0
	b := jobs.NewCluster("b", jobs.Job{Name: "etl-1", UID: "u1", Phase: jobs.Pending, PendingSince: noon.Add(-time.Minute)})
	observation := jobs.Observation{Metrics: []scaling.Metric{{Value: 4, Target: 1}}, Clusters: []jobs.Cluster{jobs.NewCluster("a"), b}, Now: noon}
	decision := jobs.Decide(policy, observation, jobs.Checkpoint{})
	for _, p := range decision.Create {
		fmt.Println(p.Cluster, p.Jobs())
	}
	fmt.Println(decision.Members[1])
	observation.Now = noon.Add(5 * time.Minute)
	fmt.Println(jobs.Decide(policy, observation, decision.Checkpoint).Members[1])
	// Output:
	// a 4
	// Jobs of this owner do not start on the cluster, and it gets none until 2026-01-01T12:05:00Z
	// Cluster is healthy
}

// The numbers of a status are in the decision.
func ExampleDecision_status() {
	pending := jobs.Job{UID: "u2", Phase: jobs.Pending, PendingSince: noon}
	d := jobs.Decide(jobs.DefaultPolicy(), jobs.Observation{
		Metrics:  []scaling.Metric{{Value: 2, Target: 1}},
		Clusters: []jobs.Cluster{jobs.NewCluster("a", jobs.Job{UID: "u1"}, pending), {Name: "b"}},
		Now:      noon,
	}, jobs.Checkpoint{})
	fmt.Println("desired:", d.Target)
	for _, m := range d.Members {
		fmt.Printf("%s: %d running, %d pending: %s\n", m.Name, m.Jobs.Running, m.Jobs.Pending, m)
	}
	// Output:
	// desired: 2
	// a: 2 running, 1 pending: Cluster is healthy
	// b: 0 running, 0 pending: Cluster is unreachable, and no other has answered since: the hub may be cut off
}

// A member without a weight gets no Job.
func ExamplePolicy_Validate() {
	policy := jobs.DefaultPolicy()
	policy.Members = []jobs.Member{{Name: "primary"}}
	policy.Scaling.Bounds.Min = 200
	fmt.Println(policy.Validate())
	fmt.Println("warning:", policy.Warnings())
	// Output:
	// Members: found no weight; use at least one weight above 0, such as that of NewMember
	// warning: Scaling.Bounds.Min: found 200; use the maximum, 100, or less
}
