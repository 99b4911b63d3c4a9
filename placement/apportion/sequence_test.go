package apportion_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/premise"
)

// Each seat goes where Webster gives one seat to the parties that are not avoided,
// with the seats given before as held.
func propSequence(t *rapid.T, c *premise.Counts) {
	parties := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) apportion.Party {
		return apportion.Party{
			Weight: rapid.Int32Range(0, 5).Draw(t, "weight"), Held: rapid.Int32Range(0, 4).Draw(t, "held"),
			Cap: rapid.Int32Range(0, 9).Draw(t, "cap"), Capped: rapid.IntRange(0, 3).Draw(t, "capped") == 0,
			Rank: rapid.Uint64Range(0, 2).Draw(t, "rank"),
		}
	}), 1, 6).Draw(t, "parties")
	now := append([]apportion.Party(nil), parties...)
	s := apportion.NewSequence(parties)
	passed, none := false, false
	for range rapid.IntRange(1, 12).Draw(t, "seats") {
		avoided := rapid.SliceOfN(rapid.IntRange(0, 2), len(parties), len(parties)).Draw(t, "avoided")
		avoid := func(i int) bool { return avoided[i] == 0 }
		open := append([]apportion.Party(nil), now...)
		for i := range open {
			if avoid(i) {
				open[i].Weight = 0
			}
		}
		shares, left := apportion.Webster(1, open)
		party, ok := s.Next(avoid)
		if ok != (left == 0) || ok && shares[party] != 1 {
			t.Fatalf("%d, %v: want %v, %d left", party, ok, shares, left)
		}
		if !ok {
			none = true
			continue
		}
		all, _ := apportion.Webster(1, now)
		passed = passed || all[party] == 0
		now[party].Held++
	}
	_, left := apportion.Webster(1, now)
	if s.Full() != (left == 1) {
		t.Fatalf("full is %v, %d left", s.Full(), left)
	}
	c.Note("the first party is avoided", passed)
	c.Note("no party may take a seat", none)
}

func TestSequence(t *testing.T) {
	premise.Check(t, propSequence, premise.Least{"the first party is avoided": 0.3, "no party may take a seat": 0.1})
	_, ok := new(apportion.Sequence).Next(nil)
	require.False(t, ok)
}

func FuzzSequence(f *testing.F) { premise.Fuzz(f, propSequence) }
