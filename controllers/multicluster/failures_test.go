package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
)

// With -failure-backoff a single Job is created at a time while all fail, on whatever member.
func TestFailureBackoff(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	failed := jobs.Job{Phase: jobs.Failed, Created: noon.Add(-2 * time.Second), Finished: noon.Add(-time.Second)}
	clusters := []jobs.Cluster{jobs.NewCluster("a", failed), jobs.NewCluster("b", failed)}
	metrics := []scaling.Metric{{Value: 5, Target: 1}}
	for _, on := range []bool{false, true} {
		j := &job{poller: &poller{kind: &kind{controller: &controller{options: &options{failureBackoff: on}}}}}
		j.config.PollingInterval = 30 * time.Second
		decide := func(now time.Time) int64 {
			policy := jobs.DefaultPolicy()
			reason := j.slowDown(&policy, clusters, metrics, now)
			require.Equal(t, on, reason != "")
			return jobs.Decide(policy, jobs.Observation{Metrics: metrics, Clusters: clusters, Now: now}, jobs.Checkpoint{}).Scaling.Create
		}
		want := map[bool][]int64{false: {5, 5, 5}, true: {0, 0, 1}}[on]
		for i, seconds := range []int{0, 29, 30} {
			require.Equal(t, want[i], decide(noon.Add(time.Duration(seconds)*time.Second)), "after %d s", seconds)
		}
		require.Equal(t, on, j.status.Failures != nil)
	}
}

// Jobs that have not started for 6 minutes do not hold up the others: a single one is created.
func TestFailureBackoffAndJobsThatNeverStart(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	failed := jobs.Job{Name: "failed", UID: "failed", Phase: jobs.Failed, Created: noon.Add(-2 * time.Second), Finished: noon.Add(-time.Second)}
	stuck := []jobs.Job{failed}
	for _, name := range []string{"one", "two"} {
		stuck = append(stuck, jobs.Job{Name: name, UID: name, Phase: jobs.Pending, Created: noon, PendingSince: noon})
	}
	metrics := []scaling.Metric{{Value: 9, Target: 1}}
	for _, overMax := range []bool{false, true} {
		j := &job{poller: &poller{kind: &kind{controller: &controller{options: &options{failureBackoff: true}}}}}
		j.config.PollingInterval = 30 * time.Second
		for i, minutes := range []time.Duration{0, 5, 7, 8} {
			policy, clusters, now := jobs.DefaultPolicy(), []jobs.Cluster{jobs.NewCluster("a", stuck...), jobs.NewCluster("b")}, noon.Add(minutes*time.Minute)
			policy.FailoverOverMax = overMax
			require.NotEmpty(t, j.slowDown(&policy, clusters, metrics, now))
			var created int64
			for _, p := range jobs.Decide(policy, jobs.Observation{Metrics: metrics, Clusters: clusters, Now: now}, jobs.Checkpoint{}).Create {
				created += p.Jobs()
			}
			require.Equal(t, []int64{0, 0, 1, 1}[i], created, "after %d minutes", minutes)
		}
	}
}
