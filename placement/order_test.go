package placement

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRank(t *testing.T) {
	data, err := os.ReadFile("../testdata/multicluster.json")
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
			require.Equal(t, want, rank(c.Seed, name), "%s %s", c.Seed, name)
		}
	}
}

// Over many seeds each of three equals comes first equally often, by less than five
// standard deviations.
func TestRankIsFair(t *testing.T) {
	const seeds = 12_000
	names := []string{"member-1", "member-2", "member-3"}
	var first [3]int
	for i := range seeds {
		seed := "ns/" + strconv.Itoa(i)
		lowest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(rank(seed, a), rank(seed, b)) })
		first[slices.Index(names, lowest)]++
	}
	for i, n := range first {
		require.InDelta(t, seeds/3, n, 258, names[i])
	}
}

// The order of a plain stable sort, of names that differ early, late, in length alone or
// not at all.
func TestByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[ab]{0,3}`).Draw(t, "prefix")
		names := rapid.SliceOf(rapid.Map(rapid.StringMatching(`[ab\x00]{0,12}`), func(s string) string { return prefix + s })).Draw(t, "names")
		want := make([]int, 0, len(names))
		for i, name := range names {
			if !slices.Contains(names[:i], name) {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return strings.Compare(names[a], names[b]) })
		if got := byName(len(names), func(i int) string { return names[i] }); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", names, got, want)
		}
	})
}
