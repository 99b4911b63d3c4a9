package replicas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scaledjob/scaledjob/placement/replicas"
)

// n members in no order, with weights of up to 100. Each has another number of replicas
// than its share.
func BenchmarkNewPlan(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		for _, total := range []int32{10_000, 1 << 30} {
			random := rand.New(rand.NewPCG(1, 2))
			p := replicas.NewPolicy(total)
			p.Seed = "ns/nginx"
			s := replicas.Observation{Replicas: &total, Now: epoch}
			for _, i := range random.Perm(n) {
				name := fmt.Sprintf("member-cluster-%05d", i)
				p.Members = append(p.Members, replicas.Member{Name: name, Weight: 1 + random.Int32N(100)})
				s.Clusters = append(s.Clusters, replicas.Cluster{Name: name, Replicas: random.Int32N(max(1, total/int32(n)))})
			}
			checkpoint := replicas.Decide(p, s, replicas.Checkpoint{}).Checkpoint
			b.Run(fmt.Sprintf("n=%d/replicas=%d", n, total), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					replicas.Decide(p, s, checkpoint)
				}
			})
		}
	}
}
