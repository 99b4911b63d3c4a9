package keda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

const (
	generationKey = "scaledjob.keda.sh/generation"
	pausedKey     = "autoscaling.keda.sh/paused"
)

// One Job of each generation, one of which has finished, and one that nobody
// knows the generation of.
func TestRollout(t *testing.T) {
	of := func(generation string) map[string]string { return map[string]string{generationKey: generation} }
	jobs := []keda.Job{{Annotations: of("1")}, {Annotations: of("2")}, {}, {Annotations: of("3")},
		{Annotations: of("1"), Conditions: []keda.Condition{{Type: "Complete", Status: "True"}}}}
	all, others := []int{0, 1, 2, 3, 4}, []int{0, 2, 3, 4}
	for _, tt := range []struct {
		release, deprecated, strategy, propagation string
		want                                       []int
		wantPropagation                            string
	}{
		{"2.0", "", "", "", nil, "background"},
		{"2.3", "", "", "foreground", nil, "background"},
		{"2.4", "gradual", "gradual", "foreground", all, "background"},
		{"2.5", "", "gradual", "foreground", all, "background"},
		{"2.7", "gradual", "", "", nil, "background"},
		{"2.8", "", "gradual", "foreground", nil, "foreground"},
		{"2.8", "immediate", "gradual", "background", all, "background"},
		{"2.14.0", "default", "", "Foreground", all, "background"},
		{"2.14.1", "", "", "", others, "background"},
		{"2.21", "immediate", "gradual", "foreground", others, "foreground"},
		{"2.21", "gradual", "immediate", "", nil, "background"},
	} {
		j := &keda.ScaledJob{Generation: 2, Spec: keda.Spec{
			RolloutStrategy: tt.deprecated, Rollout: keda.RolloutSpec{Strategy: tt.strategy, PropagationPolicy: tt.propagation}}}
		r := release(t, tt.release).Rollout(j, jobs)
		require.Equal(t, tt.want, r.Deleted, "%+v", tt)
		require.Equal(t, tt.wantPropagation, r.PropagationPolicy, "%+v", tt)
	}
}

// Paused, KEDA neither polls, nor prunes, nor rolls out.
func TestPaused(t *testing.T) {
	jobs := []keda.Job{{}, {Conditions: []keda.Condition{{Type: "Failed", Status: "True"}}}}
	for _, tt := range []struct {
		release, value string
		want           bool
	}{
		{"2.10", "true", false}, {"2.11", "false", true}, {"2.12", "", true}, {"2.13", "false", false}, {"2.13", "f", false},
		{"2.13", "no", true}, {"2.21", "", true}, {"2.21", "TRUE", true}, {"2.21", "0", false},
	} {
		p := release(t, tt.release)
		j := &keda.ScaledJob{Annotations: map[string]string{pausedKey: tt.value}}
		j.Spec.FailedJobsHistoryLimit = new(int32(0))
		d := p.Decide(j, keda.State{Scalers: []keda.Scaler{{QueueLength: 3, Target: 1}}})
		require.Equal(t, tt.want, p.Paused(j), "%+v", tt)
		require.Equal(t, tt.want, d.Reason == keda.ReasonPaused, "%+v", tt)
		require.Equal(t, tt.want, d.Create == 0, "%+v", tt)
		require.Equal(t, tt.want, p.History(j, jobs).Deleted == nil, "%+v", tt)
		require.Equal(t, tt.want, p.Rollout(j, jobs).Deleted == nil, "%+v", tt)
		require.False(t, p.Paused(&keda.ScaledJob{}))
	}
	require.Equal(t, "release   KEDA 2.0.0\ncreate    0: nothing was decided", keda.Decision{}.String())
}

func TestCount(t *testing.T) {
	ready := keda.Pod{Phase: "Pending", Conditions: []keda.Condition{{Type: "Ready", Status: "True"}, {Type: "PodScheduled", Status: "False"}}}
	scheduled := keda.Pod{Phase: "Running", Conditions: []keda.Condition{{Type: "PodScheduled", Status: "True"}}}
	for _, tt := range []struct {
		release    string
		conditions []string
		pods       []keda.Pod
		pending    int64
	}{
		{"2.0", nil, nil, 0},
		{"2.1", nil, nil, 1},
		{"2.3", []string{"Ready"}, []keda.Pod{ready}, 1}, // by its phase
		{"2.4", []string{"Ready"}, []keda.Pod{ready}, 0},
		{"2.4", []string{"Ready"}, []keda.Pod{ready, ready}, 1}, // more than asked for
		{"2.17", []string{"Ready", "PodScheduled"}, []keda.Pod{ready, scheduled}, 0},
		{"2.18", []string{"Ready", "PodScheduled"}, []keda.Pod{ready, scheduled}, 1},
		{"2.17", []string{"Ready", "Ready"}, []keda.Pod{ready}, 0},
		{"2.18", []string{"Ready", "Ready"}, []keda.Pod{ready}, 1},
		{"2.18", []string{"Ready"}, []keda.Pod{ready, ready}, 0},
		{"2.18", []string{"Ready"}, nil, 1},
		{"2.1", nil, []keda.Pod{{Phase: "Failed"}, {Phase: "Succeeded"}}, 0},
		{"2.21", nil, []keda.Pod{{Phase: "Pending"}, {Phase: "Running"}}, 0},
		{"2.21", nil, []keda.Pod{{Phase: "Pending"}, {Phase: "Failed"}}, 1},
		{"2.17", []string{"PodScheduled"}, []keda.Pod{ready}, 1}, // the condition is false
		{"2.18", []string{"PodScheduled"}, []keda.Pod{ready}, 1},
		{"2.18", []string{"PodScheduled"}, []keda.Pod{ready, scheduled}, 0},
	} {
		j := &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{PendingPodConditions: tt.conditions}}}
		finished := keda.Job{Conditions: []keda.Condition{{Type: "Complete", Status: "False"}, {Type: "Failed", Status: "True"}}}
		unfinished := []keda.Condition{{Type: "Suspended", Status: "True"}, {Type: "Failed", Status: "False"}, {Type: "Complete", Status: "Unknown"}}
		got := release(t, tt.release).Count(j, []keda.Job{finished, {Pods: tt.pods, Conditions: unfinished}})
		require.Equal(t, keda.JobCounts{Running: 1, Pending: tt.pending}, got, "%+v", tt)
	}
}

// Without a limit, 100 Jobs of each outcome are kept. Jobs without a time keep their order.
func TestHistoryWithoutLimits(t *testing.T) {
	var jobs []keda.Job
	for i := range 101 {
		jobs = append(jobs, keda.Job{Conditions: []keda.Condition{{Type: "Failed", Status: "True"}}},
			keda.Job{Conditions: []keda.Condition{{Type: "Complete", Status: "True"}}, CompletionTime: at(101 - i)})
	}
	require.Equal(t, keda.Pruning{Deleted: []int{201, 0}}, keda.Newest().History(&keda.ScaledJob{}, jobs))
	require.Equal(t, keda.Pruning{}, keda.Newest().History(&keda.ScaledJob{}, jobs[2:]))
}

func TestGenerate(t *testing.T) {
	j := &keda.ScaledJob{
		Name: "orders", Namespace: "shop", Generation: 3,
		Labels:      map[string]string{"team": "a", "cost": "b"},
		Annotations: map[string]string{"scaledjob.keda.sh/job-excluded-labels": "team, cost"},
	}
	own := func(build, tracking string) map[string]string {
		return map[string]string{
			"app.kubernetes.io/name": "orders", "app.kubernetes.io/part-of": "orders", "app.kubernetes.io/version": build,
			"app.kubernetes.io/managed-by": "keda-operator", tracking: "orders",
		}
	}
	with := func(labels map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	const name = "scaledjob.keda.sh/name"
	for release, want := range map[string]struct {
		labels, annotations map[string]string
	}{
		"2.0":    {own("2.0.0", "scaledjob"), nil},
		"2.3":    {with(own("2.3.0", "scaledjob"), "team", "a", "cost", "b"), nil},
		"2.12":   {with(own("2.12.1", name), "team", "a", "cost", "b"), nil},
		"2.14.0": {with(own("2.14.0", name), "team", "a", "cost", "b"), j.Annotations},
		"2.17": {with(own("2.17.3", name), "team", "a", "cost", "b"),
			map[string]string{"scaledjob.keda.sh/job-excluded-labels": "team, cost", generationKey: "3"}},
		"2.18": {with(own("2.18.3", name), "cost", "b"), // a space is part of a label
			map[string]string{"scaledjob.keda.sh/job-excluded-labels": "team, cost", generationKey: "3"}},
	} {
		p, err := keda.Release(release)
		require.NoError(t, err)
		g := p.Generate(j, p.Release())
		require.Equal(t, want.labels, g.Labels, release)
		require.Equal(t, want.annotations, g.Annotations, release)
		require.True(t, g.Tracked, release)
		require.Equal(t, "OnFailure", g.RestartPolicy)
	}
}
