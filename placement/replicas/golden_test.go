package replicas_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/testdata"
)

// vectors reads one kind of the test vectors.
func vectors[T any](t *testing.T, kind string) T {
	t.Helper()
	of, err := testdata.Multicluster[T](kind)
	require.NoError(t, err)
	return of
}

// A vector is a case of sharing replicas among healthy members.
type vector struct {
	Name, Src, Note, Hash, Seed, Error string

	Weights   map[string]int32
	Total     int32
	Expect    map[string]int32
	RankOrder []string `json:"rank_order"`
	Hashes    map[string]string
}

// desired returns the shares of healthy members, from Decide.
func desired(seed string, weights map[string]int32, total int32) map[string]int32 {
	p := replicas.Policy{Max: replicas.NoMax, Seed: seed}
	s := replicas.Observation{Replicas: &total, Now: epoch}
	for name, weight := range weights {
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: weight})
		s.Clusters = append(s.Clusters, replicas.Cluster{Name: name})
	}
	return parts(replicas.Decide(p, s, replicas.Checkpoint{}))
}

func parts(plan replicas.Decision) map[string]int32 {
	all := map[string]int32{}
	for _, s := range plan.Shares {
		all[s.Name] = s.Desired
	}
	return all
}

// Each case has its shares, also with weights in other units. One replica more goes to
// one member, and a member that leaves costs nobody a replica. Split agrees.
func TestAllocate(t *testing.T) {
	cases := vectors[[]vector](t, "allocate")
	require.Len(t, cases, 29)
	for _, c := range cases {
		got := desired("", c.Weights, c.Total)
		require.Equal(t, c.Expect, got, c.Name)
		more := desired("", c.Weights, c.Total+1)
		units, grown := map[string]int32{}, int32(0)
		var all []replicas.Member
		for name, weight := range c.Weights {
			all = append(all, replicas.Member{Name: name, Weight: weight})
			require.GreaterOrEqual(t, more[name], got[name], "%s: one more", c.Name)
			grown += more[name] - got[name]
			units[name] = weight * 7
			left := maps.Clone(c.Weights)
			delete(left, name)
			for other, n := range desired("", left, c.Total) {
				require.GreaterOrEqual(t, n, got[other], "%s: without %s", c.Name, name)
			}
		}
		require.Equal(t, int32(1), grown, "%s: one more", c.Name)
		if c.Name != "int32 extremes" { // where 7 times is too much
			require.Equal(t, c.Expect, desired("", units, c.Total), "%s: weights times 7", c.Name)
		}
		for i, n := range replicas.Split(c.Total, all...) {
			require.Equal(t, c.Expect[all[i].Name], n, c.Name)
		}
	}
}

// Validate of package apportion rejects what cannot be divided.
func TestAllocateErrors(t *testing.T) {
	texts := map[string]string{
		"AllWeightsZero": "Members: found no weight; use at least one weight above 0",
		"NegativeWeight": "Members[0].Weight: found -1; use 0 or more",
	}
	cases := vectors[[]vector](t, "allocate_errors")
	require.Len(t, cases, 5)
	for _, c := range cases {
		p := replicas.NewPolicy(10)
		for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
			p.Members = append(p.Members, replicas.Member{Name: name, Weight: c.Weights[name]})
		}
		if text := texts[c.Error]; text != "" {
			require.EqualError(t, p.Validate(), text)
			continue
		}
		if c.Error == "" {
			require.Equal(t, c.Expect, desired("", c.Weights, c.Total))
			continue
		}
		for _, n := range replicas.Split(c.Total, p.Members...) { // no members, or a negative total
			require.Zero(t, n)
		}
	}
}

// The order of ties is that in which equal members get one replica each.
func TestSeededTies(t *testing.T) {
	cases := vectors[[]vector](t, "seeded_ties")
	require.Len(t, cases, 4)
	for _, c := range cases {
		require.Equal(t, c.Expect, desired(c.Seed, c.Weights, c.Total), c.Seed)
		for n, name := range c.RankOrder {
			require.Equal(t, int32(0), desired(c.Seed, c.Weights, int32(n))[name], c.Seed)
			require.Equal(t, int32(1), desired(c.Seed, c.Weights, int32(n+1))[name], c.Seed)
		}
	}
}

func TestTimeline(t *testing.T) {
	line := vectors[struct {
		Src     string
		Weights map[string]int32
		Grace   int
		Total   int32
		Steps   []struct {
			T                int
			UnreachableSince map[string]int
			Expect           map[string]int32
			Excluded         []string
			Reason, Note     string
			NextCheck        *int
		}
	}](t, "object_timeline")
	require.Len(t, line.Steps, 8)
	p := replicas.Policy{Max: 100, GracePeriod: seconds(line.Grace)}
	for name, weight := range line.Weights {
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: weight})
	}
	for _, step := range line.Steps {
		s := replicas.Observation{Replicas: &line.Total, Now: at(step.T)}
		checkpoint := replicas.Checkpoint{Version: 1, Members: map[string]replicas.MemberCheckpoint{}}
		for name := range line.Weights {
			c := replicas.Cluster{Name: name}
			if since, ok := step.UnreachableSince[name]; ok {
				c.Problem = replicas.ReasonUnreachable
				checkpoint.Members[name] = replicas.MemberCheckpoint{Problem: c.Problem, Since: at(since)}
			}
			s.Clusters = append(s.Clusters, c)
		}
		plan := replicas.Decide(p, s, checkpoint)
		require.Equal(t, step.Expect, parts(plan), "at %d", step.T)
		require.Equal(t, step.NextCheck, second(plan.NextCheck), "at %d", step.T)
		excluded := []string{}
		for _, s := range plan.Shares {
			if s.Excluded {
				excluded = append(excluded, s.Name)
			}
			require.False(t, s.Write && step.UnreachableSince[s.Name] > 0)
		}
		require.Equal(t, step.Excluded, excluded, "at %d", step.T)
		reason, _, _ := strings.Cut(step.Reason, ":")
		require.Equal(t, reason, string(plan.Reason), "at %d", step.T)
	}
}
