package lint_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// withTrigger has one trigger, and a strategy unless it is "".
func withTrigger(strategy, trigger string) string {
	text, _, _ := strings.Cut(minimal, "    - type: prometheus")
	if strategy != "" {
		text = strings.Replace(text, "spec:\n", "spec:\n  scalingStrategy: {strategy: "+strategy+"}\n", 1)
	}
	return text + "    - " + trigger + "\n"
}

// Which triggers' metrics include the items being worked on, as their scalers
// in KEDA count them.
func TestUnacknowledged(t *testing.T) {
	for trigger, includes := range map[string]string{
		`{type: rabbitmq, metadata: {host: "http://a"}}`:                                "yes",
		`{type: rabbitmq, metadata: {hostFromEnv: HOST}}`:                               "",
		`{type: rabbitmq, metadata: {host: "http://a", excludeUnacknowledged: "true"}}`: "no",
		`{type: rabbitmq, metadata: {host: "amqp://a"}}`:                                "no",
		`{type: rabbitmq, metadata: {hostFromEnv: HOST, protocol: amqp}}`:               "no",
		`{type: rabbitmq, metadata: {host: "http://a", mode: MessageRate, value: "5"}}`: "",
		`{type: aws-sqs-queue, metadata: {}}`:                                           "yes",
		`{type: aws-sqs-queue, metadata: {scaleOnInFlight: "false"}}`:                   "no",
		`{type: azure-queue, metadata: {}}`:                                             "yes",
		`{type: azure-queue, metadata: {queueLengthStrategy: all}}`:                     "yes",
		`{type: azure-queue, metadata: {queueLengthStrategy: visibleonly}}`:             "no",
		`{type: gcp-pubsub, metadata: {}}`:                                              "yes",
		`{type: gcp-pubsub, metadata: {mode: OldestUnackedMessageAge, value: "5"}}`:     "",
		`{type: redis-streams, metadata: {consumerGroup: a, pendingEntriesCount: "5"}}`: "yes",
		`{type: redis-streams, metadata: {pendingEntriesCount: "5"}}`:                   "",
		`{type: redis-streams, metadata: {consumerGroup: a}}`:                           "yes",
		`{type: redis-streams, metadata: {consumerGroup: a, lagCount: "5"}}`:            "no",
		`{type: redis-streams, metadata: {streamLength: "5"}}`:                          "",
		`{type: kafka, metadata: {}}`:                                                   "yes",
		`{type: redis, metadata: {}}`:                                                   "no",
		`{type: forgejo-runner, metadata: {}}`:                                          "yes",
		`{type: pulsar, metadata: {}}`:                                                  "yes",
		`{type: azure-eventhub, metadata: {}}`:                                          "yes",
		`{type: temporal, metadata: {}}`:                                                "no",
		`{type: nsq, metadata: {}}`:                                                     "no",
		`{type: solace-event-queue, metadata: {messageCountTarget: "5"}}`:               "yes",
		`{type: solace-event-queue, metadata: {messageReceiveRateTarget: "5"}}`:         "",
		`{type: prometheus, metadata: {threshold: "5"}}`:                                "",
	} {
		for strategy, rule := range map[string]string{"": "default-misses-unacknowledged no", "accurate": "accurate-counts-unacknowledged yes",
			"eager": "eager-counts-unacknowledged yes", "custom": "none x"} {
			id, when, _ := strings.Cut(rule, " ")
			r := checkText(strings.Replace(withTrigger(strategy, trigger), "spec:\n", "spec:\n  minReplicaCount: 1\n", 1)) // so that a stream starts
			require.Equal(t, includes == when, has(r, id), "%s %s", strategy, trigger)
		}
	}
}

// With one Job at most all strategies are alike, and none fits triggers that count differently.
func TestUnacknowledgedWithoutAChoice(t *testing.T) {
	kafka := withTrigger("accurate", `{type: kafka, metadata: {}}`)
	require.True(t, has(checkText(kafka), "accurate-counts-unacknowledged"))
	require.False(t, has(checkText(strings.Replace(kafka, "spec:\n", "spec:\n  maxReplicaCount: 1\n", 1)), "accurate-counts-unacknowledged"))
	const waiting, pending = `{type: redis-streams, metadata: {stream: a, consumerGroup: g, lagCount: "1"}}`, `{type: redis-streams, metadata: {stream: a, consumerGroup: g}}`
	both := checkText(withTrigger("", waiting) + "    - " + pending + "\n")
	require.False(t, has(both, "default-misses-unacknowledged"), brief(both.Findings))
	require.False(t, has(both, "stream-never-starts"))
	require.True(t, has(checkText(withTrigger("", waiting)), "default-misses-unacknowledged"))
	never := checkText(strings.Replace(withTrigger("accurate", pending), minimal[strings.Index(minimal, "    - "):], "", 1))
	require.True(t, has(never, "stream-never-starts"))
	require.False(t, has(never, "accurate-counts-unacknowledged"), "the other fix changes the metric")
}

// BullMQ keeps waiting and active items in two lists: their sum includes in-progress items.
func TestUnacknowledgedBullMQ(t *testing.T) {
	text := func(calculation, other string) string {
		return strings.Replace(withTrigger("accurate", `{type: redis, metadata: {listName: "bull:mail:wait"}}`), "strategy: accurate", "strategy: accurate, multipleScalersCalculation: "+calculation, 1) +
			`    - {type: redis, metadata: {listName: "` + other + `"}}` + "\n"
	}
	for calculation, want := range map[string]bool{"sum": true, "max": false} {
		require.Equal(t, want, has(checkText(text(calculation, "bull:mail:active")), "accurate-counts-unacknowledged"), calculation)
		require.False(t, has(checkText(text(calculation, "bull:news:active")), "accurate-counts-unacknowledged"), calculation)
	}
}

func has(r lint.Report, rule string) bool {
	return strings.Contains(strings.Join(brief(r.Findings), "\n")+"\n", " "+rule+"\n")
}

// What KEDA can read of a container's environment, and what only the cluster
// knows.
func TestEnvironment(t *testing.T) {
	const documents = `---
apiVersion: v1
kind: Secret
metadata: {name: given}
data: {HOST: eA==}
---
kind: SealedSecret
metadata: {name: sealed}
`
	for _, tt := range []struct {
		name, env string
		want      lint.Severity
	}{
		{"a value", "env: [{name: HOST, value: a}]", 0},
		{"a key", "env: [{name: HOST, valueFrom: {secretKeyRef: {name: given, key: HOST}}}]", 0},
		{"known in the pod only", "env: [{name: HOST, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", lint.Error},
		{"of a Secret", "envFrom: [{secretRef: {name: given}}]", 0},
		{"with a prefix", "envFrom: [{prefix: A_, secretRef: {name: given}}]", lint.Error},
		{"of a Secret that is sealed", "envFrom: [{secretRef: {name: sealed}}]", 0},
		{"of one that is not given", "envFrom: [{configMapRef: {name: nope, optional: true}}]", 0},
		{"of nothing", "envFrom: [{prefix: A_}]", lint.Error},
		{"none", "args: []", lint.Error},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := withTrigger("", `{type: rabbitmq, metadata: {queueName: a, hostFromEnv: HOST, protocol: http}}`) + documents
			text = strings.Replace(text, "            image:", fmt.Sprintf("            %s\n            image:", tt.env), 1)
			r := checkText(text)
			require.Equal(t, tt.want != 0, has(r, "missing-environment"), "%v", brief(r.Findings))
			require.Equal(t, tt.want, r.Worst())
		})
	}
}

// No output shows a credential that stands in a trigger, in a variable or in a Secret, nor the line that has it.
func TestCredentials(t *testing.T) {
	secret := func(name, text string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\n" + text + "\n"
	}
	ofVariable := func(metadata string) string {
		text := withTrigger("", `{type: rabbitmq, metadata: {queueName: a, mode: QueueLength, value: "5", `+metadata+`}}`)
		return strings.Replace(text, "            image:", "            env: [{name: HOST, valueFrom: {secretKeyRef: {name: given, key: HOST}}}]\n            image:", 1) +
			secret("given", `stringData: {HOST: "user:pa55word@rabbit:5672"}`)
	}
	ofAuthentication := func(kind, metadata, parameter, text string) string {
		return withTrigger("", "{type: "+kind+", metadata: {"+metadata+"}, authenticationRef: {name: a}}") +
			"---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a}\nspec: {secretTargetRef: [{parameter: " + parameter + ", name: s, key: k}]}\n" + secret("s", text)
	}
	badSecret := minimal + secret("a", "data: {p: hunter2!}\nstringData: {q: 20262026}")
	require.Equal(t, []string{"23:11 wrong-type", "24:17 not-a-string"}, brief(checkText(badSecret).Findings))
	const api = `url: "http://a", valueLocation: a, targetValue: "5"`
	for _, tt := range []struct{ manifest, problem string }{
		{ofVariable("hostFromEnv: HOST"), "has no scheme"},
		{ofVariable(`host: "user:pa55word@rabbit:5672"`), "has no scheme"},
		{ofVariable(`host: "user:pa55word@rabbit:5672", passwrd: hunter2`), "has no parameter passwrd"},
		{withTrigger("", `{type: prometheus, metadata: {serverAddress: "a.b/?x=1&password=hunter2", query: q, threshold: "5"}}`), "KEDA cannot send requests to it"},
		{withTrigger("", `{type: elasticsearch, metadata: {addresses: "http://a.b,u:hunter2@c.d", searchTemplateName: a, targetValue: "1"}}`), "KEDA cannot send requests to it"},
		{withTrigger("", `{type: redis, metadata: {hosts: "redis://u:hunter2@a.b", ports: "1", listName: a, listLength: "5"}}`), "a host must not have a scheme"},
		{withTrigger("", `{type: redis, metadata: {address: "a:1", listName: a, listLength: "5", passwrd: hunter2, pwd: hunter2}}`), "has no parameter pwd"},
		{withTrigger("", `{type: mssql, metadata: {connectionString: "Server=a;Pwd=hunter2;Database=b", query: q, targetValue: "1"}}`), "does not read connectionString from the metadata"},
		{withTrigger("", `{type: rabbitmq, metadata: {host: "ampq://user:hunter2`+strings.Repeat("x", 97)+`@rabbit", queueName: q, mode: QueueLength, value: "5"}}`), "has no scheme"},
		{ofAuthentication("kafka", "", "sasl", "stringData: {k: hunter2}"), "rejects the value as sasl"},
		{ofAuthentication("kafka", "", "sasl", "data: {k: aHVudGVyMg==}"), "rejects the value as sasl"},
		{ofAuthentication("rabbitmq", "", "host", "stringData: {k: hunter2/secret}"), "host has no scheme"},
		{ofAuthentication("rabbitmq", "", "host", "data: {k: aHVudGVyMi9zZWNyZXQ=}"), "host has no scheme"},
		{ofAuthentication("metrics-api", api, "authModes", `stringData: {k: "basic,hunter2"}`), "the value as authModes"},
		{ofAuthentication("metrics-api", api, "authModes", "data: {k: YmFzaWMsaHVudGVyMg==}"), "the value as authModes"},
		{badSecret, "move the key to stringData"},
		{badSecret, "Write it in quotes"},
	} {
		r := checkText(tt.manifest)
		for _, write := range []func(io.Writer) error{r.WriteText, r.WriteJSON, r.WriteGitHub, r.WriteSARIF} {
			var b strings.Builder
			require.NoError(t, write(&b))
			require.Contains(t, b.String(), tt.problem)
			require.NotRegexp(t, "hunter2|aHVudGVyM|pa55word|20262026", b.String())
		}
	}
}

// Of a variable that several sources have, the last one counts, as KEDA reads it: a source that is not
// given may have another value.
func TestLastSource(t *testing.T) {
	const documents = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: bad}
data: {HOST: rabbit}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
data: {HOST: "amqp://rabbit:5672"}
`
	from := func(names ...string) string {
		return "envFrom: [{configMapRef: {name: " + strings.Join(names, "}}, {configMapRef: {name: ") + "}}]"
	}
	for env, wrong := range map[string]bool{
		from("bad"): true, from("good"): false, from("good", "bad"): true, from("bad", "good"): false, from("bad", "absent"): false, from("absent", "bad"): true,
		"env: [{name: HOST, value: rabbit}], " + from("good"): true,
	} {
		text := withTrigger("", `{type: rabbitmq, metadata: {queueName: a, hostFromEnv: HOST}}`) + documents
		text = strings.Replace(text, "            image:", "            "+strings.ReplaceAll(env, "], ", "]\n            ")+"\n            image:", 1)
		require.Equal(t, wrong, has(checkText(text), "trigger-rejected"), "%s: %v", env, brief(checkText(text).Findings))
	}
}

// Releases before 2.15 accept pod identities that newer releases reject.
func TestRemovedPodIdentity(t *testing.T) {
	for _, provider := range []string{"azure", "aws-kiam"} {
		text := minimal + "---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a}\nspec: {podIdentity: {provider: " + provider + "}}\n"
		for release, found := range map[string]bool{"2.12": false, "2.14": false, "2.15": true, "2.21": true} {
			p, err := keda.Release(release)
			require.NoError(t, err)
			r := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}}, p)
			require.Equal(t, found, slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.Path == "spec.podIdentity.provider" }), "%s %s", provider, release)
		}
	}
}
