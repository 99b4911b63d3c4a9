package apportion_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/testdata"
)

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

// Over many seeds each of three equals comes first equally often, by less than five
// standard deviations.
func TestRankIsFair(t *testing.T) {
	const seeds = 12_000
	names := []string{"member-1", "member-2", "member-3"}
	var first [3]int
	for i := range seeds {
		seed := "ns/" + strconv.Itoa(i)
		lowest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(apportion.Rank(seed, a), apportion.Rank(seed, b)) })
		first[slices.Index(names, lowest)]++
	}
	for i, n := range first {
		require.InDelta(t, seeds/3, n, 258, names[i])
	}
}
