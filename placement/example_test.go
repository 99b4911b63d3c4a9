package placement_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/strategy"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Five replicas by 4 : 6. The first member stops to answer, and after a minute of grace
// its replicas are at the second.
func ExamplePlanObject() {
	policy := placement.DefaultObjectPolicy()
	policy.Members = []placement.Member{{Name: "member-1", Weight: 4}, {Name: "member-2", Weight: 6}}
	replicas := int32(5)
	first, second := placement.NewHealth(true, noon), placement.NewHealth(true, noon)
	plan := func(now time.Time) placement.ObjectPlan {
		return placement.PlanObject(policy, placement.ObjectState{
			Replicas: &replicas, Now: now,
			Clusters: []placement.ObjectCluster{
				{Name: "member-1", Health: first, Current: 2},
				{Name: "member-2", Health: second, Current: 2},
			},
		})
	}
	fmt.Println(plan(noon))
	first = first.Observe(false, policy.Rebalancing, noon.Add(time.Hour))
	fmt.Println(plan(noon.Add(time.Hour)))
	fmt.Println(plan(noon.Add(time.Hour + time.Minute)))
	// Output:
	// 5 replicas
	// member-1: 2 (Cluster is healthy)
	// member-2: 3, write 3 over 2 (Cluster is healthy)
	// 5 replicas
	// member-1: 2 (Cluster does not answer, and keeps its part until 2026-01-01T13:01:00Z)
	// member-2: 3, write 3 over 2 (Cluster is healthy)
	// next check at 2026-01-01T13:01:00Z
	// 5 replicas
	// member-1: 0, not 2 (Cluster does not answer, and its replicas are at others)
	// member-2: 5, write 5 over 2 (Cluster is healthy)
}

// Two Jobs by 2 : 3, with a Job on the second member that has been pending for two minutes.
func ExamplePlanJobs() {
	policy := placement.DefaultJobPolicy()
	policy.Members = []placement.Member{{Name: "member-1", Weight: 2}, {Name: "member-2", Weight: 3}}
	plan := placement.PlanJobs(policy, placement.JobState{
		Demand: placement.Demand{Jobs: 3, Active: true},
		Clusters: []placement.JobCluster{
			{Name: "member-1", Reachable: true, Known: true, Jobs: []placement.Job{{Name: "etl-1", UID: "u1"}}},
			{Name: "member-2", Reachable: true, Known: true, Jobs: []placement.Job{
				{Name: "etl-2", UID: "u2", Phase: placement.Pending, PendingSince: noon.Add(-2 * time.Minute)},
			}},
		},
		Now: noon,
	})
	fmt.Println(plan)
	// Output:
	// create 2 at T=3 R=2 P=1 S=1 M=100, 0 terminating
	// member-1: 1 running, 0 pending, 0 stuck (Cluster is healthy)
	//   replace etl-2 on member-2
	// member-2: 1 running, 1 pending, 1 stuck (Cluster is healthy, after a failure that counts until 2026-01-01T12:03:00Z)
	//   create 1
	// next check at 2026-01-01T12:03:00Z
}

// The primary cluster has no room for a Job of size 4. Those of its size and larger ones
// go to the other for five minutes. The memory goes from plan to plan as JSON.
func ExamplePlanJobs_priorityFailover() {
	high, low, size := int32(100), int32(0), int32(4)
	policy := placement.DefaultJobPolicy()
	policy.Scheduling = placement.PriorityFailover
	policy.Affinity = &placement.WorkloadAffinity{Class: "team-a", Size: &size}
	policy.Failover.Duplication = placement.PreferFailover
	policy.Members = []placement.Member{{Name: "primary", Weight: 1, Priority: &high}, {Name: "failover", Weight: 1, Priority: &low}}
	state := placement.JobState{
		Demand: placement.Demand{Jobs: 2, Active: true},
		Clusters: []placement.JobCluster{
			{Name: "failover", Reachable: true, Known: true},
			{Name: "primary", Reachable: true, Known: true, Jobs: []placement.Job{
				{Name: "etl-1", UID: "u1", Phase: placement.Pending, PendingSince: noon.Add(-time.Minute)},
			}},
		},
		Now: noon,
	}
	plan := placement.PlanJobs(policy, state)
	fmt.Println(plan)
	memory, _ := json.Marshal(plan.Memory)
	fmt.Println(string(memory))

	fmt.Println("Once the replacement runs:")
	state.Memory = plan.Memory
	state.Clusters[0].Jobs = []placement.Job{
		{Name: "etl-2", UID: "u2", Replaces: plan.Create[0].Replacements[0].Source},
		{Name: "etl-3", UID: "u3"},
	}
	fmt.Println(placement.PlanJobs(policy, state))
	// Output:
	// create 2 at T=2 R=1 P=1 S=1 M=100, 0 terminating
	// failover: 0 running, 0 pending, 0 stuck (Cluster is healthy)
	//   create 1
	//   replace etl-1 on primary
	// primary: 1 running, 1 pending, 1 stuck (Jobs of this class and size got stuck on the cluster)
	// next check at 2026-01-01T12:05:00Z
	// {"workloads":[{"cluster":"primary","priority":100,"class":"team-a","size":4,"until":"2026-01-01T12:05:00Z"}],"jobs":{"failover":{"running":2,"pending":2},"primary":{"running":1,"pending":1}}}
	// Once the replacement runs:
	// create 0 at T=2 R=2 P=0 S=0 M=100, 1 terminating
	// failover: 2 running, 0 pending, 0 stuck (Cluster is healthy)
	// primary: 0 running, 0 pending, 0 stuck (Jobs of this class and size got stuck on the cluster)
	// delete etl-1 on primary: Duplicate
	// next check at 2026-01-01T12:05:00Z
}

func ExampleScaling_Propose() {
	s := placement.Scaling{Max: 10, Strategy: "pendingAware"}
	counts := placement.Counts{Running: 8, Pending: 5, Stuck: 4}
	p := s.Propose(placement.Demand{Jobs: 10, Active: true}, counts)
	fmt.Println(p.Raw, p.Create)

	s.FailoverOverMax = true
	p = s.Propose(placement.Demand{Jobs: 10, Active: true}, counts)
	fmt.Println(p.Raw, p.Create)

	s.Own = strategy.Eager{}
	fmt.Println(s.Propose(placement.Demand{Jobs: 1, Active: true}, placement.Counts{}).Create)
	// Output:
	// 2 2
	// 6 6
	// 1
}

// Of a total of ten, at most three replicas move at a time.
func ExampleStepToward() {
	members := []placement.Replicas{{Current: 10, Target: 4}, {Current: 0, Target: 6}}
	for range 3 {
		next := placement.StepToward(members, 3)
		fmt.Println(next)
		members[0].Current, members[1].Current = next[0], next[1]
	}
	// Output:
	// [7 3]
	// [4 6]
	// [4 6]
}

func ExampleObjectPause() {
	pause, err := placement.ObjectPause(map[string]string{placement.AnnotationPaused: "true", placement.AnnotationPausedReplicas: "3"})
	fmt.Println(pause.Paused, *pause.Replicas, err)
	pause, err = placement.ObjectPause(map[string]string{placement.AnnotationPausedReplicas: "three"})
	fmt.Println(pause.Paused, pause.Replicas)
	fmt.Println(err)
	// Output:
	// true 3 <nil>
	// true <nil>
	// metadata.annotations[autoscaling.keda.sh/paused-replicas] is "three": want a whole number from 0 to 2147483647; until then every member stays as it is
}

// A manifest that asks for failover by priority without saying what the Jobs are.
func ExampleJobPolicy_Validate() {
	policy := placement.DefaultJobPolicy()
	policy.Scheduling = placement.PriorityFailover
	policy.Members = []placement.Member{placement.NewMember("primary")}
	policy.Scaling.Min = 200
	warnings, err := policy.Validate()
	fmt.Println(err)
	for _, w := range warnings {
		fmt.Println("warning:", w)
	}
	// Output:
	// spec.clusterScheduling.workloadAffinity is missing: want class and size under priorityFailover
	// spec.memberClusters[0].scheduling.priority is missing: want 0 to 1000 under priorityFailover
	// warning: spec.scaledJobSpec.minReplicaCount is 200: want no more than maxReplicaCount: 100 is used
}
