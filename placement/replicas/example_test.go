package replicas_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/placement/replicas"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A hundred replicas by weight.
func ExampleSplit() {
	fmt.Println(replicas.Split(100,
		replicas.Member{Name: "eu", Weight: 3}, replicas.Member{Name: "us", Weight: 2}, replicas.NewMember("asia")))
	// Output: [50 33 17]
}

// A hundred replicas by weight, as the numbers to write. The workload exists in both
// clusters, and has no replicas yet.
func ExampleDecide() {
	policy := replicas.NewPolicy(100, replicas.Member{Name: "eu", Weight: 3}, replicas.Member{Name: "us", Weight: 1})
	asked := int32(120)
	plan := replicas.Decide(policy, replicas.Observation{
		Replicas: &asked, Clusters: []replicas.Cluster{{Name: "eu"}, {Name: "us"}}, Now: noon,
	}, replicas.Checkpoint{})
	for _, share := range plan.Shares {
		if share.Write {
			fmt.Println("write", share.Next, "to", share.Name)
		}
	}
	fmt.Println(plan)
	// Output:
	// write 75 to eu
	// write 25 to us
	// 100 replicas, 120 asked for
	// eu: 75 desired, 0 now, write 75. Cluster is healthy
	// us: 25 desired, 0 now, write 25. Cluster is healthy
}

// A member becomes unreachable. After a minute of grace its replicas go to the other one,
// and when it is back, each has its share again. The checkpoint is kept as JSON.
func ExampleDecide_failover() {
	policy := replicas.NewPolicy(100, replicas.Member{Name: "eu", Weight: 4}, replicas.Member{Name: "us", Weight: 6})
	var stored []byte
	poll := func(after time.Duration, clusters ...replicas.Cluster) {
		observation := replicas.Observation{Replicas: new(int32(5)), Clusters: clusters, Now: noon.Add(after)}
		var checkpoint replicas.Checkpoint
		if stored != nil {
			if err := json.Unmarshal(stored, &checkpoint); err != nil {
				fmt.Println(err)
				return
			}
		}
		plan := replicas.Decide(policy, observation, checkpoint)
		stored, _ = json.Marshal(plan.Checkpoint)
		fmt.Println(plan)
	}
	eu, us := replicas.Cluster{Name: "eu", Replicas: 2}, replicas.Cluster{Name: "us", Replicas: 3}
	lost := replicas.Cluster{Name: "eu", Problem: replicas.ReasonUnreachable}
	poll(0, eu, us)
	poll(time.Hour, lost, us)
	poll(time.Hour+time.Minute, lost, us)
	us.Replicas = 5
	poll(2*time.Hour, eu, us)
	// Output:
	// 5 replicas
	// eu: 2 desired, 2 now. Cluster is healthy
	// us: 3 desired, 3 now. Cluster is healthy
	// 5 replicas
	// eu: 2 desired, 2 now. Cluster is unreachable, and keeps its share until 2026-01-01T13:01:00Z
	// us: 3 desired, 3 now. Cluster is healthy
	// next check at 2026-01-01T13:01:00Z
	// 5 replicas
	// eu: 0 desired, 2 now. Cluster is unreachable, and gets no replicas
	// us: 5 desired, 3 now, write 5. Cluster is healthy
	// 5 replicas
	// eu: 2 desired, 2 now. Cluster is healthy
	// us: 3 desired, 5 now, write 3. Cluster is healthy
}

// A status of one's own, from the shares of a plan.
func ExampleShare_Description() {
	policy := replicas.NewPolicy(10)
	plan := replicas.Decide(policy, replicas.Observation{Replicas: new(int32(10)), Now: noon, Clusters: []replicas.Cluster{
		{Name: "eu", Replicas: 10}, {Name: "us", Problem: replicas.ReasonWorkloadMissing}, {Name: "asia", Problem: replicas.ReasonUnreachable},
	}}, replicas.Checkpoint{})
	healthy := 0
	for _, share := range plan.Shares {
		if share.Reason == "" {
			healthy++
		}
		fmt.Printf("%s: %d/%d, %s\n", share.Name, share.Current, share.Desired, share.Description())
	}
	fmt.Printf("%d of %d members are healthy\n", healthy, len(plan.Shares))
	// Output:
	// asia: 0/5, Cluster is unreachable, and keeps its share until 2026-01-01T12:01:00Z
	// eu: 10/5, Cluster is healthy
	// us: 0/0, Cluster does not have the workload, and gets no replicas
	// 1 of 3 members are healthy
}

// A new member gets its replicas before another one gives any up.
func ExampleDecide_growFirst() {
	policy := replicas.NewPolicy(20)
	poll := func(clusters ...replicas.Cluster) {
		fmt.Println(replicas.Decide(policy, replicas.Observation{Replicas: new(int32(10)), Clusters: clusters, Now: noon}, replicas.Checkpoint{}))
	}
	poll(replicas.Cluster{Name: "eu", Replicas: 10}, replicas.Cluster{Name: "us"})
	poll(replicas.Cluster{Name: "eu", Replicas: 10}, replicas.Cluster{Name: "us", Replicas: 5, Existing: new(int32(2))})
	// Output:
	// 10 replicas, 5 to move later
	// eu: 5 desired, 10 now. Cluster is healthy
	// us: 5 desired, 0 now, write 5. Cluster is healthy
	// 10 replicas, 3 to move later
	// eu: 5 desired, 10 now, write 8. Cluster is healthy
	// us: 5 desired, 5 now (2 exist). Cluster is healthy
	// next check at 2026-01-01T12:05:00Z
}

func ExamplePolicy_Validate() {
	policy := replicas.NewPolicy(10, replicas.Member{Name: "eu"})
	policy.Min = 20
	fmt.Println(policy.Validate())
	// Output:
	// Min: found 20; use 10 or less
	// Members: found no weight; use at least one weight above 0
}
