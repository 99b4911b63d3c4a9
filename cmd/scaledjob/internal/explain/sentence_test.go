package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

// TestSentence has the first line and a step of each strategy, and of a trigger that has no queue.
func TestSentence(t *testing.T) {
	const redis, cron = "{type: redis, metadata: {address: 'a:1', listName: l, listLength: '1'}}", "{type: cron, metadata: {timezone: UTC, start: 0 1 * * *, end: 0 2 * * *, desiredReplicas: '4'}}"
	for _, c := range []struct {
		spec, trigger, queue, says, step string
		running, pending                 int64
	}{
		{"scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 10, customScalingRunningJobPercentage: '0.5'}", redis, "40", "2 unfinished Jobs. customScalingQueueLengthDeduction is 10 and uses up the maximum.", "create    0: the strategy proposes none", 2, 0},
		{"scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 3, customScalingRunningJobPercentage: '0.5'}", redis, "8", "The strategy custom subtracts 3 (customScalingQueueLengthDeduction) and 0.5 of the unfinished Jobs.", "create    3: what the strategy proposes", 4, 1},
		{"scalingStrategy: {strategy: accurate}", redis, "4", "4 unfinished Jobs (2 pending). The strategy accurate subtracts only the pending Jobs.", "accurate: M - R if T + R - P > M, else T - P; at", 4, 2},
		{"scalingStrategy: {strategy: accurate}", redis, "8", "4 unfinished Jobs. The maximum leaves room for 6: 10 - 4 unfinished.", "create    6: what", 4, 0},
		{"scalingStrategy: {strategy: accurate}", redis, "3", "4 unfinished Jobs. The strategy accurate subtracts no unfinished Job.", "create    3: what", 4, 0},
		{"scalingStrategy: {strategy: eager}", redis, "8", "The maximum leaves room for 4: 10 - 4 unfinished - 2 pending.", "create    4", 4, 2},
		{"scalingStrategy: {multipleScalersCalculation: sum}", redis + ", " + redis, "6,6", "6 Jobs, the maximum is 10.", "create    10", 0, 0},
		{"minReplicaCount: 5", redis, "8", "4 unfinished Jobs, and the minimum is 5.", "create    1: the minimum", 4, 0},
		{"minReplicaCount: 0", cron, "4", "creates 3 Jobs: cron asks for 4 Jobs, 1 unfinished Job.", "active: value 4 asks for 4 Jobs", 1, 0},
		{"minReplicaCount: 0", cron, "0", "creates no Job: cron is outside of its window.", "cron has value 0 and activation value 0", 0, 0},
	} {
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\nspec:\n  maxReplicaCount: 10\n  " + c.spec + "\n  jobTargetRef: {template: {}}\n  triggers: [" + c.trigger + "]\n"
		found, _, err := input.Source{Name: "a.yaml", Data: []byte(text)}.Manifests()
		require.NoError(t, err)
		p, err := Decide(cluster.Subject{ScaledJob: found[0]}, input.NewestOnly().List[0], &input.QueueFlags{Queue: c.queue}, &scaling.JobCounts{Running: c.running, Pending: c.pending}, nil)
		require.NoError(t, err)
		require.Contains(t, p.Summary, c.says)
		require.Contains(t, p.Create.Trace, c.step)
		require.NotContains(t, p.Create.Trace, " ? ")
		if c.trigger == cron {
			require.NotContains(t, strings.ToLower(p.Summary+p.Create.Trace), "queue length")
		}
	}
	empty := input.Source{Name: "a.yaml", Data: []byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\nspec: {jobTargetRef: {template: {}}, triggers: []}\n")}
	found, _, err := empty.Manifests()
	require.NoError(t, err)
	_, err = Decide(cluster.Subject{ScaledJob: found[0]}, input.NewestOnly().List[0], &input.QueueFlags{Queue: "4"}, &scaling.JobCounts{}, nil)
	require.ErrorContains(t, err, "spec.triggers: found none")
	require.NotContains(t, err.Error(), "--target")
}

// TestRejection has what KEDA cannot poll, and what the API server rejects or what has no trigger, which is another thing.
func TestRejection(t *testing.T) {
	const template = "jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [CONTAINERS]}}}"
	const redis = "triggers: [{type: redis, metadata: {address: 'a.b:1', listName: l, listLength: '1'}}]"
	for _, c := range []struct {
		containers, more string
		never            bool
	}{
		{"{name: main, image: a}", redis, false},
		{"{name: main, image: a, ports: [{}]}", redis, false},
		{"{name: main, image: a}", "triggers: []", false},
		{"{name: main, image: a}", redis + ", envSourceContainerName: other", true},
		{"{name: main, image: a}", strings.Replace(redis, "listName: l, ", "", 1), true},
		{"{name: main, image: a}", strings.Replace(redis, "'1'", "one", 1), true},
		{"{name: main, image: a}", strings.Replace(redis, "type: redis", "type: rediss", 1), true},
		{"", redis, true},
	} {
		text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\nspec: {" + strings.Replace(template, "CONTAINERS", c.containers, 1) + ", " + c.more + "}\n"
		source := input.Source{Name: "a.yaml", Data: []byte(text)}
		found, _, err := source.Manifests()
		require.NoError(t, err)
		for _, release := range []string{"2.19.0", "2.21.0"} {
			profile, err := keda.Release(release)
			require.NoError(t, err)
			require.Equal(t, c.never, NewFiles([]input.Source{source}).rejection(found[0], profile) != "", "%s %s", release, text)
		}
	}
}
