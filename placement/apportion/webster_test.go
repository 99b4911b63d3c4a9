package apportion_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/testdata"
)

type house struct {
	shares []int32
	left   int32
}

// definition yields the houses of 0 to most seats, each by one ticket more.
func definition(parties []apportion.Party, most int) iter.Seq[house] {
	return func(yield func(house) bool) {
		h := house{shares: make([]int32, len(parties))}
		for n := 0; n <= most && yield(h); n++ {
			if best := first(parties, h.shares); best >= 0 {
				h.shares = slices.Clone(h.shares)
				h.shares[best]++
			} else {
				h.left++
			}
		}
	}
}

// first is the party with the first of all next tickets, -1 if there is none. The products are
// exact.
func first(parties []apportion.Party, shares []int32) int {
	best, bestK := -1, uint64(0)
	for i, p := range parties {
		k := uint64(max(0, p.Held)) + uint64(shares[i])
		if p.Weight <= 0 || p.Capped && int64(k) >= int64(p.Cap) {
			continue
		}
		if best >= 0 {
			mine, its := uint64(p.Weight)*(2*bestK+1), uint64(parties[best].Weight)*(2*k+1)
			if mine < its || mine == its && (k > bestK || k == bestK && p.Rank >= parties[best].Rank) {
				continue
			}
		}
		best, bestK = i, k
	}
	return best
}

// Weights and seats at which rounding is off by as much as it can be, either way.
func TestFarFromTheLine(t *testing.T) {
	for _, n := range []int{10, 99, 100, 1000} {
		for _, heavy := range []int32{1, 2, 999, 1 << 30} {
			parties := make([]apportion.Party, n)
			for i := range parties {
				parties[i].Weight = 1
			}
			parties[n/2].Weight = heavy
			seats := int32(0)
			for want := range definition(parties, n) {
				if off := seats - int32(n)/2; max(off, -off) <= 1 || seats == int32(n) {
					got, left := apportion.Webster(seats, parties)
					require.Zero(t, left)
					require.Equal(t, want.shares, got, "%d seats, %d parties, one of weight %d", seats, n, heavy)
				}
				seats++
			}
		}
	}
}

// Five replicas by 4 : 6. With one more, one member gains one.
func ExampleWebster() {
	parties := []apportion.Party{{Weight: 4}, {Weight: 6}}
	for _, seats := range []int32{5, 6, 10} {
		shares, _ := apportion.Webster(seats, parties)
		fmt.Println(seats, shares)
	}
	// Output:
	// 5 [2 3]
	// 6 [2 4]
	// 10 [4 6]
}

// The first party has more than its part already, and the second has room for
// two.
func ExampleParty() {
	shares, left := apportion.Webster(6, []apportion.Party{
		{Weight: 1, Held: 4},
		{Weight: 1, Cap: 2, Capped: true},
		{Weight: 1, Held: 1, Cap: 4, Capped: true},
	})
	fmt.Println(shares, left)
	// Output: [1 2 3] 0
}

func TestRank(t *testing.T) {
	data, err := testdata.Files.ReadFile("multicluster.json")
	require.NoError(t, err)
	var file struct {
		Ties []struct {
			Seed   string
			Hashes map[string]string
		} `json:"seeded_ties"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Len(t, file.Ties, 4)
	for _, c := range file.Ties {
		require.Len(t, c.Hashes, 4)
		for name, hash := range c.Hashes {
			want, err := strconv.ParseUint(hash, 16, 64)
			require.NoError(t, err)
			require.Equal(t, want, apportion.Rank(c.Seed, name), "%s %s", c.Seed, name)
			require.Zero(t, apportion.Rank("", name), "the first party comes first")
		}
	}
}
