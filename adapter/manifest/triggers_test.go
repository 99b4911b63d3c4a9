package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// triggersOf reads the triggers alone, each in YAML's flow style.
func triggersOf(t *testing.T, triggers ...string) *manifest.ScaledJob {
	t.Helper()
	head, _, _ := strings.Cut(minimal, "    - type:")
	for _, trigger := range triggers {
		head += "    - " + trigger + "\n"
	}
	return read(t, head)
}

// The conformance module compares the whole table with KEDA's scalers.
func TestTriggerTargets(t *testing.T) {
	for _, tt := range []struct {
		kind, metadata    string
		target, threshold float64
	}{
		{"rabbitmq", ``, 20, 0},
		{"rabbitmq", `queueLength: "7"`, 7, 0},
		{"rabbitmq", `mode: QueueLength, value: "8", activationValue: "2"`, 8, 2},
		{"azure-queue", ``, 5, 0},
		{"azure-queue", `queueLength: " 6 ", activationQueueLength: "2"`, 6, 2},
		{"azure-queue", `queueLength: ""`, 5, 0},
		{"artemis-queue", ``, 10, 10},
		{"artemis-queue", `activationQueueLength: "0"`, 10, 0},
		{"gcp-spanner", `activationValue: "3", activationTargetValue: "4"`, 5, 3},
		{"gcp-pubsub", `value: "3", subscriptionSize: "4"`, 3, 0},
		{"gcp-pubsub", `subscriptionSize: "4"`, 4, 0},
		{"redis-streams", ``, 5, 0},
		{"redis-streams", `consumerGroup: a`, 5, 0},
		{"redis-streams", `streamLength: "2", pendingEntriesCount: "3", lagCount: "4", activationLagCount: "1"`, 2, 1},
		{"redis-streams", `consumerGroup: a, streamLength: "2", pendingEntriesCount: "3", activationLagCount: "1"`, 3, 1},
		{"redis-cluster-streams", `consumerGroup: a, streamLength: "2", pendingEntriesCount: "3", lagCount: "4", activationLagCount: "1"`, 4, 1},
		{"redis-sentinel-streams", `consumerGroup: a, streamLength: "2"`, 5, 0},
		{"datadog", `queryValue: "3", activationTargetValue: "1", activationQueryValue: "2"`, 3, 2},
		{"datadog", `useClusterAgentProxy: "true", queryValue: "3", activationTargetValue: "1", activationQueryValue: "2"`, 3, 1},
		{"datadog", `useClusterAgentProxy: "false", targetValue: "4", queryValue: "3", activationQueryValue: "2"`, 4, 2},
		{"solace-event-queue", `messageSpoolUsageTarget: "2", activationMessageSpoolUsageTarget: "1", messageReceiveRateTarget: "9"`, 2 << 20, 1 << 20},
		{"solace-event-queue", `messageCountTarget: "2", activationMessageCountTarget: "1"`, 2, 1},
		{"solace-direct-messaging", `aggregatedClientTxMsgRateTarget: "9", activationAggregatedClientTxMsgRateTarget: "3"`, 9, 0},
		{"github-runner", ``, 1, 0},
		{"github-runner", `targetWorkflowQueueLength: "3"`, 3, 2},
		{"cron", `desiredReplicas: "9"`, 1, 0},
		{"selenium-grid", `activationThreshold: "2"`, 1, 2},
	} {
		t.Run(tt.kind+" "+tt.metadata, func(t *testing.T) {
			c, err := triggersOf(t, fmt.Sprintf("{type: %s, metadata: {%s}}", tt.kind, tt.metadata)).Config(nil)
			require.NoError(t, err)
			require.Equal(t, []manifest.Trigger{{Name: tt.kind, Type: tt.kind, Target: tt.target, ActivationThreshold: tt.threshold}}, c.Triggers)
		})
	}
}

func TestTriggerProblems(t *testing.T) {
	for trigger, want := range map[string]string{
		`{type: rabbitmq, metadata: {mode: MessageRate}}`:                                        "spec.triggers[0].metadata.value: found nothing",
		`{type: rabbitmq, metadata: {value: "0"}}`:                                               `spec.triggers[0].metadata.value: found "0"`,
		`{type: solace-event-queue}`:                                                             "spec.triggers[0].metadata.messageCountTarget: found nothing",
		`{type: redis-streams, metadata: {consumerGroup: a, lagCount: "-1"}}`:                    `spec.triggers[0].metadata.lagCount: found "-1"`,
		`{type: cpu, metadata: {value: "5"}}`:                                                    `spec.triggers[0].type: found "cpu"; use a trigger that measures a queue`,
		`{type: external, metadata: {scalerAddress: a}}`:                                         `spec.triggers[0].type: found "external"; use a target average value given by the caller`,
		`{type: selenium-grid, metadata: {activationThreshold: x}}`:                              `spec.triggers[0].metadata.activationThreshold: found "x"`,
		`{type: datadog, metadata: {activationQueryValue: "1", useClusterAgentProxy: "nobody"}}`: "spec.triggers[0].metadata.targetValue: found nothing",
	} {
		_, err := triggersOf(t, trigger).Config(nil)
		require.ErrorContains(t, err, want, trigger)
	}
	c, err := triggersOf(t, `{type: external}`, `{type: github-runner}`).Config(map[string]float64{"external": 4, "github-runner": 3})
	require.NoError(t, err)
	require.Equal(t, []manifest.Trigger{{Name: "external", Type: "external", Target: 4},
		{Name: "github-runner", Type: "github-runner", Target: 3, ActivationThreshold: 2}}, c.Triggers)
}

func TestUnusedTargets(t *testing.T) {
	c, err := triggersOf(t, `{type: redis-streams, metadata: {lagCount: "4", streamLength: "5"}}`,
		`{type: solace-event-queue, metadata: {messageReceiveRateTarget: "4", messageCountTarget: "5"}}`,
		`{type: redis-streams, metadata: {consumerGroup: a, lagCount: "4"}}`).Config(nil)
	require.NoError(t, err)
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Error())
	}
	require.Equal(t, []string{
		`spec.triggers[0].metadata.lagCount: found "4"; use only streamLength, which counts`,
		`spec.triggers[1].metadata.messageReceiveRateTarget: found "4"; use only messageCountTarget, which counts`,
	}, warnings)
}

func TestTriggerNames(t *testing.T) {
	for _, tt := range []struct{ triggers, want string }{
		{"name:a name:a name:a-2", "a a-3 a-2"},
		{"name:a-2 name:a name:a", "a-2 a a-3"},
		{"name:a name:a name:a", "a a-2 a-3"},
		{"name:a name:a name:a-2 name:a-2 name:a", "a a-3 a-2 a-2-2 a-4"},
		{"redis redis name:redis-2", "redis redis-3 redis-2"},
		{"redis name:redis kafka", "redis-2 redis kafka"},
	} {
		var triggers []string
		for _, field := range strings.Fields(tt.triggers) {
			if name, ok := strings.CutPrefix(field, "name:"); ok {
				triggers = append(triggers, "{type: kafka, name: "+name+"}")
			} else {
				triggers = append(triggers, "{type: "+field+"}")
			}
		}
		c, err := triggersOf(t, triggers...).Config(nil)
		require.NoError(t, err)
		var names []string
		for _, trigger := range c.Triggers {
			names = append(names, trigger.Name)
		}
		require.Equal(t, strings.Fields(tt.want), names, tt.triggers)
	}
}
