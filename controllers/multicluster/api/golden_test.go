package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/testdata"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// cases reads one kind of the shared cases, of which there must be so many.
func cases[T any](t *testing.T, kind string, want int) []T {
	t.Helper()
	all, err := testdata.Multicluster[[]T](kind)
	require.NoError(t, err)
	require.Len(t, all, want)
	return all
}

func TestValidation(t *testing.T) {
	type spec struct {
		Kind, Src        string
		Errors, Warnings []string
		Spec             struct {
			Strategy             string
			WorkloadAffinity     *WorkloadAffinity
			ScalingStrategy      string
			RunningJobPercentage string
			Min, Max             *int32
			FailoverPolicy       struct {
				GracePeriod       int
				DuplicationPolicy string
			}
			Members []struct {
				Name             string
				Weight, Priority *int32
			}
		}
	}
	texts := map[string]string{
		"clusterScheduling.workloadAffinity: required when strategy=priorityFailover":                                                "spec.clusterScheduling.workloadAffinity: found nothing; use class and size under priorityFailover",
		"clusterScheduling.workloadAffinity: must be omitted when strategy=weightedRoundRobin":                                       `spec.clusterScheduling.workloadAffinity: found "a value"; use nothing under weightedRoundRobin`,
		"memberClusters[1].scheduling.priority: required when strategy=priorityFailover":                                             "spec.memberClusters[1].scheduling.priority: found nothing; use 0 to 1000 under priorityFailover",
		"memberClusters: required when strategy=priorityFailover":                                                                    "spec.memberClusters: found nothing; use members with a priority under priorityFailover",
		"scaledJobSpec.scalingStrategy.strategy: must be pendingAware (or omitted) when clusterScheduling.strategy=priorityFailover": "spec.scaledJobSpec.scalingStrategy.strategy: found eager: min(M - R - P, T); use pendingAware with priorityFailover",
		"clusterScheduling.workloadAffinity.size: must be >= 0":                                                                      "spec.clusterScheduling.workloadAffinity.size: found -1; use 0 or more",
		"memberClusters[0].scheduling.priority: must be in [0,1000]":                                                                 "spec.memberClusters[0].scheduling.priority: found 1001; use 0 to 1000",
		`memberClusters[1].name: duplicate "a"`:                                                                                      `spec.memberClusters[1].name: found "a"; use a name that no other member has`,
		"memberClusters[0].name: must be non-empty":                                                                                  "spec.memberClusters[0].name: found nothing; use the name of a cluster",
		"memberClusters[0].weight: must be >= 0":                                                                                     "spec.memberClusters[0].weight: found -1; use 0 or more",
		"memberClusters: at least one weight must be > 0":                                                                            "spec.memberClusters: found no weight; use at least one weight above 0, such as that of NewMember",
		"failoverPolicy.gracePeriod: must be >= 0":                                                                                   "spec.clusterScheduling.failoverPolicy.gracePeriod: found -1s; use 0 or more",
		"failoverPolicy.duplicationPolicy: one of keepAll, preferFailover, preferSource, immediateSourceCleanup":                     `spec.clusterScheduling.failoverPolicy.duplicationPolicy: found "nope"; use keepAll, preferFailover, preferSource or immediateSourceCleanup`,
		`runningJobPercentage "abc" does not parse; falling back to basic`:                                                           `spec.scaledJobSpec.scalingStrategy.customScalingRunningJobPercentage: found "abc"; use a decimal such as 0.5: otherwise custom is the strategy basic`,
		"memberClusters[0].scheduling.priority is ignored in weightedRoundRobin":                                                     "spec.memberClusters[0].scheduling.priority: found 7; use nothing: weightedRoundRobin ignores it",
		"minReplicaCount: 5 exceeds maxReplicaCount 3, 3 is used":                                                                    "spec.scaledJobSpec.minReplicaCount: found 5; use the maximum, 3, or less",
	}
	for _, c := range cases[spec](t, "validation", 16) {
		if c.Kind != "DSJ" {
			continue
		}
		d := DistributedScaledJob{Meta: Meta{ObjectMeta: metav1.ObjectMeta{Name: "etl"}}}
		d.Spec.ClusterScheduling = ClusterScheduling{Strategy: c.Spec.Strategy, WorkloadAffinity: c.Spec.WorkloadAffinity}
		f := &d.Spec.ClusterScheduling.FailoverPolicy
		f.DuplicationPolicy = c.Spec.FailoverPolicy.DuplicationPolicy
		if n := c.Spec.FailoverPolicy.GracePeriod; n != 0 {
			f.GracePeriod = &metav1.Duration{Duration: time.Duration(n) * time.Second}
		}
		for _, m := range c.Spec.Members {
			d.Spec.MemberClusters = append(d.Spec.MemberClusters, JobMember{
				Member: Member{Name: m.Name, Weight: m.Weight}, Scheduling: MemberScheduling{Priority: m.Priority},
			})
		}
		s := &d.Spec.ScaledJobSpec
		s.JobTargetRef = &batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}}
		s.Triggers = []manifest.ScaleTrigger{{Type: "redis"}}
		s.ScalingStrategy.Strategy, s.ScalingStrategy.CustomScalingRunningJobPercentage = c.Spec.ScalingStrategy, c.Spec.RunningJobPercentage
		s.MinReplicaCount, s.MaxReplicaCount = c.Spec.Min, c.Spec.Max
		config, err := d.Config()
		var got, want []string
		for _, problem := range append(field.All(err), config.Warnings...) {
			got = append(got, problem.Error())
		}
		for _, text := range append(c.Errors, c.Warnings...) {
			require.Contains(t, texts, text)
			want = append(want, texts[text])
		}
		require.ElementsMatch(t, want, got, "%+v", c.Spec)
	}
}

func TestJobStatusOfThePage(t *testing.T) {
	type status struct {
		Name    string
		Desired int64
		Members map[string]struct{ Running, Pending, Stuck int }
		Expect  JobStatus
	}
	for _, c := range cases[status](t, "status_job", 1) {
		s := jobs.Observation{Metrics: []scaling.Metric{{Value: float64(c.Desired), Target: 1}}, Now: epoch}
		for name, m := range c.Members {
			cluster := jobs.NewCluster(name)
			for i := range m.Running {
				j := jobs.Job{UID: fmt.Sprint(name, i)}
				if i < m.Pending {
					j.Phase, j.PendingSince = jobs.Pending, epoch
				}
				cluster.Jobs = append(cluster.Jobs, j)
			}
			s.Clusters = append(s.Clusters, cluster)
		}
		got := NewJobStatus("processor-job", jobs.Decide(jobs.DefaultPolicy(), s, jobs.Checkpoint{}), JobStatus{}, epoch)
		for name, m := range c.Members {
			require.EqualValues(t, m.Running, got.MemberClusterStatuses[name].RunningJobs)
			require.EqualValues(t, m.Pending, got.MemberClusterStatuses[name].PendingJobs)
			require.EqualValues(t, m.Stuck, got.MemberClusterStatuses[name].StuckJobs)
		}
		got.MemberClusterStatuses = nil
		require.Equal(t, c.Expect, got)
	}
}

func TestJobStatus(t *testing.T) {
	p := jobs.DefaultPolicy()
	for _, name := range []string{"a", "b", "c", "d"} {
		p.Members = append(p.Members, jobs.NewMember(name))
	}
	pending := jobs.Job{UID: "3", Phase: jobs.Pending, PendingSince: epoch}
	s := jobs.Observation{Now: epoch, Metrics: []scaling.Metric{{Value: 3, Target: 1}},
		Clusters: []jobs.Cluster{jobs.NewCluster("a", jobs.Job{UID: "1"}, jobs.Job{UID: "2"}, pending), jobs.NewCluster("b"), {Name: "d", Reach: jobs.Unreachable}},
	}
	s.Clusters[1].Taint = taint.Taint{Level: taint.Hard, Until: epoch.Add(90 * time.Second)}
	s.Clusters[0].Failures.Call = true
	at := func(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }
	plan := jobs.Decide(p, s, jobs.Checkpoint{})
	before := JobStatus{MemberClusterStatuses: map[string]JobMemberStatus{"a": {MemberStatus: MemberStatus{State: Ready, LastStatusChangeTime: at(-60), LastScalingProgressTime: at(-60)}, RunningJobs: 3},
		"b": {MemberStatus: MemberStatus{State: NotReady, LastStatusChangeTime: at(-60), LastScalingProgressTime: at(-60)}}}}
	status := NewJobStatus("etl", plan, before, epoch)
	data, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"desiredJobs": 3, "runningJobs": 3, "pendingJobs": 1, "selector": "kedify-agent-distributedscaledjob=etl",
		"memberClusterStatuses": {
			"a": {"description": "Cluster is healthy; Jobs or requests of this owner failed there, and another failure counts until 2026-01-01T12:03:00Z", "state": "Ready",
				"runningJobs": 3, "pendingJobs": 1, "stuckJobs": 0, "softTainted": true, "hardTainted": false, "excluded": false,
				"lastStatusChangeTime": "2026-01-01T11:59:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"b": {"description": "Cluster has failed, and gets no Job until 2026-01-01T12:01:30Z", "state": "Ready",
				"runningJobs": 0, "pendingJobs": 0, "stuckJobs": 0, "softTainted": false, "hardTainted": true, "excluded": true,
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T11:59:00Z"},
			"c": {"description": "Cluster is not registered", "state": "NotRegistered",
				"runningJobs": 0, "pendingJobs": 0, "stuckJobs": 0, "softTainted": false, "hardTainted": false, "excluded": true,
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"d": {"description": "Cluster is unreachable, and no other has answered since: the hub may be cut off", "state": "NotReady",
				"runningJobs": 0, "pendingJobs": 0, "stuckJobs": 0, "softTainted": false, "hardTainted": false, "excluded": true,
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"}
		}
	}`, string(data))
	require.Equal(t, status, NewJobStatus("etl", plan, status, at(10)), "later, but nothing has changed")

	// A taint against workloads has its scope.
	p.Scheduling, p.Workload = jobs.PriorityFailover, taint.Workload{Class: "team-a", Size: 4}
	p.Members[0].Priority = new(int32(100))
	pending.PendingSince = at(-60)
	s.Clusters[0] = jobs.NewCluster("a", pending)
	plan = jobs.Decide(p, s, jobs.Checkpoint{})
	require.Equal(t, []TaintScope{{Class: "team-a", Priority: 100, Size: 4}}, NewJobStatus("etl", plan, status, epoch).MemberClusterStatuses["a"].HardTaintScopes)
	require.True(t, slices.ContainsFunc(plan.Members, func(m jobs.MemberDecision) bool { return m.Excluded == jobs.ReasonWorkloadTainted }))
}
