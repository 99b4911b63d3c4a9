package apportion_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scaledjob/scaledjob/placement/apportion"
)

// bench returns n parties with weights of up to 100.
func bench(n int) []apportion.Party {
	random := rand.New(rand.NewPCG(1, 2))
	parties := make([]apportion.Party, n)
	for i := range parties {
		parties[i].Weight = 1 + random.Int32N(100)
	}
	return parties
}

func BenchmarkWebster(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, seats := range []int32{100, 10_000, 1_000_000, 1 << 30} {
			b.Run(fmt.Sprintf("n=%d/seats=%d", n, seats), func(b *testing.B) { divide(b, seats, bench(n)) })
		}
	}
	b.Run("n=1000/seats=1000/far from the line", func(b *testing.B) {
		parties := bench(1000)
		for i := range parties {
			parties[i].Weight = 1
		}
		parties[0].Weight = 999
		divide(b, 1000, parties)
	})
	b.Run("n=1000/seats=10000/held and capped", func(b *testing.B) {
		parties := bench(1000)
		for i := range parties {
			parties[i].Held = int32(i % 20)
			parties[i].Cap, parties[i].Capped = int32(i%40), i%2 == 0
		}
		divide(b, 10_000, parties)
	})
}

func divide(b *testing.B, seats int32, parties []apportion.Party) {
	b.ReportAllocs()
	for b.Loop() {
		apportion.Webster(seats, parties)
	}
}
