package taint_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/taint"
)

func TestExclusions(t *testing.T) {
	entry := taint.Entry{Path: taint.Path{Cluster: "a", Priority: 1}, Workload: taint.Workload{Class: "x", Size: 4}, Until: at(9)}
	one := taint.Exclusions{Clusters: map[string]time.Time{"a": at(5), "b": at(7)}, Workloads: taint.Set{entry}}
	other := taint.Exclusions{Clusters: map[string]time.Time{"a": at(6), "c": at(8)}}
	want := taint.Exclusions{Clusters: map[string]time.Time{"a": at(6), "b": at(7), "c": at(8)}, Workloads: taint.Set{entry}}
	require.Equal(t, want, one.Merge(other))
	require.Equal(t, want, other.Merge(one))
	require.Equal(t, want, want.Merge(one), "again")
	require.Equal(t, at(5), one.Clusters["a"], "not modified")

	later := want.At(at(7))
	require.Equal(t, map[string]time.Time{"c": at(8)}, later.Clusters)
	require.Len(t, later.Workloads, 1)
	require.Len(t, want.Clusters, 3, "not modified")
	require.Empty(t, want.At(at(9)).Workloads)
	require.Empty(t, taint.Exclusions{}.At(at(0)).Clusters)
}

func TestHarden(t *testing.T) {
	soft, hard := taint.State{Level: taint.Soft, Until: at(9)}, taint.State{Level: taint.Hard, Until: at(5)}
	for _, tt := range []struct {
		state taint.State
		until time.Time
		want  taint.State
	}{
		{taint.State{}, at(5), hard},
		{soft, at(5), hard},
		{soft, at(0), soft},
		{hard, at(4), hard},
		{hard, at(6), taint.State{Level: taint.Hard, Until: at(6)}},
		{hard, time.Time{}, hard},
		{taint.State{Level: taint.Hard, Until: at(-1)}, at(0), taint.State{}},
	} {
		require.Equal(t, tt.want, tt.state.Harden(tt.until, at(0)), "%v until %v", tt.state, tt.until)
	}
}

// A failure never shortens a hard taint, and the shortest soft taint is one.
func TestFail(t *testing.T) {
	long := taint.State{Level: taint.Hard, Until: at(60)}
	require.Equal(t, long, long.Fail(taint.Durations{Soft: 1, Hard: seconds(10)}, at(0)))
	require.Equal(t, taint.State{Level: taint.Hard, Until: at(69)}, long.Fail(taint.Durations{Hard: seconds(10)}, at(59)))
	require.Equal(t, taint.State{Level: taint.Soft, Until: at(0).Add(1)}, taint.State{}.Fail(taint.Durations{Soft: 1, Hard: seconds(10)}, at(0)))
}
