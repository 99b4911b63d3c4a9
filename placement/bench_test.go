package placement_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scaledjob/scaledjob/placement"
)

// object is of n members in no order, with weights of up to 100, and shares so many
// replicas.
func object(n int, replicas int32) (placement.ObjectPolicy, placement.ObjectState) {
	random := rand.New(rand.NewPCG(1, 2))
	p := placement.ObjectPolicy{Max: replicas, Seed: "ns/nginx"}
	s := placement.ObjectState{Replicas: &replicas, Now: epoch}
	for _, i := range random.Perm(n) {
		name := fmt.Sprintf("member-cluster-%04d", i)
		p.Members = append(p.Members, placement.Member{Name: name, Weight: 1 + random.Int32N(100)})
		s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Health: placement.NewHealth(true, epoch)})
	}
	return p, s
}

func BenchmarkPlanObject(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, replicas := range []int32{10_000, 1 << 30} {
			p, s := object(n, replicas)
			b.Run(fmt.Sprintf("n=%d/replicas=%d", n, replicas), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					placement.PlanObject(p, s)
				}
			})
		}
	}
}

func BenchmarkStepToward(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			members := make([]placement.Replicas, n)
			for i := range members {
				members[i] = placement.Replicas{Current: int32(i * 37 % 1001), Target: int32(i * 73 % 1001)}
			}
			b.ReportAllocs()
			for b.Loop() {
				placement.StepToward(members, 1000)
			}
		})
	}
}

// A fleet of 64 members with n Jobs, of which one in ten is stuck and is replaced, or
// none is, as in most polls.
func BenchmarkPlanJobs(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, stuck := range []int{0, n / 10} {
			b.Run(fmt.Sprintf("n=%d/stuck=%d", n, stuck), func(b *testing.B) {
				var names []string
				for i := range 64 {
					names = append(names, fmt.Sprintf("member-%02d", i))
				}
				f := newFleet(names...)
				f.Scaling.Max = placement.NoMax
				for i := range n {
					phase := placement.Running
					if i < stuck {
						phase = placement.Pending
					}
					f.has(names[i%64], 1, phase, f.Failover.GracePeriod)
				}
				f.ask(int64(max(10, stuck)))
				b.ReportAllocs()
				for b.Loop() {
					f.plan()
				}
			})
		}
	}
}
