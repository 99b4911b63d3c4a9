package lint_test

import (
	"encoding/base64"
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

// A text that may have a password is not shown, wherever it stands, nor the line that has it.
func TestPasswords(t *testing.T) {
	for _, metadata := range []string{"hostFromEnv: HOST", `host: "user:pa55word@rabbit:5672"`, `host: "user:pa55word@rabbit:5672", passwrd: hunter2`} {
		text := strings.Replace(withTrigger("", `{type: rabbitmq, metadata: {queueName: a, mode: QueueLength, value: "5", `+metadata+`}}`), "            image:",
			"            env: [{name: HOST, valueFrom: {secretKeyRef: {name: given, key: HOST}}}]\n            image:", 1) +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: given}\nstringData: {HOST: \"user:pa55word@rabbit:5672\"}\n"
		i := slices.IndexFunc(checkText(text).Findings, func(f lint.Finding) bool { return strings.Contains(f.Problem(), "has no scheme") })
		require.GreaterOrEqual(t, i, 0)
		var out strings.Builder
		r := checkText(text)
		require.NoError(t, r.WriteText(&out))
		require.NotContains(t, out.String(), "pa55word")
		require.NotContains(t, out.String(), "hunter2")
	}
}

func TestHiddenValues(t *testing.T) {
	for _, trigger := range []string{
		`{type: prometheus, metadata: {serverAddress: "a.b/?x=1&password=hunter2", query: q, threshold: "5"}}`,
		`{type: elasticsearch, metadata: {addresses: "http://a.b,u:hunter2@c.d", searchTemplateName: a, targetValue: "1"}}`,
		`{type: redis, metadata: {hosts: "redis://u:hunter2@a.b", ports: "1", listName: a, listLength: "5"}}`,
		`{type: redis, metadata: {address: "a:1", listName: a, listLength: "5", passwrd: hunter2, pwd: hunter2}}`,
		`{type: mssql, metadata: {connectionString: "Server=a;Pwd=hunter2;Database=b", query: q, targetValue: "1"}}`,
		`{type: rabbitmq, metadata: {host: "ampq://user:hunter2` + strings.Repeat("x", 97) + `@rabbit", queueName: q, mode: QueueLength, value: "5"}}`,
	} {
		r := checkText(withTrigger("", trigger))
		var text, sarif strings.Builder
		require.NoError(t, r.WriteText(&text))
		require.NoError(t, r.WriteSARIF(&sarif))
		require.NotContains(t, text.String()+sarif.String(), "hunter2", trigger)
		require.NotEmpty(t, r.Findings, trigger)
	}
}

// No problem shows the text of a Secret or an item of it, whatever letters it has.
func TestTextsOfParameters(t *testing.T) {
	for _, tt := range []struct{ kind, metadata, parameter, text, problem string }{
		{"kafka", "", "sasl", "hunter2", "rejects the value as sasl"},
		{"rabbitmq", "", "host", "hunter2/secret", "host has no scheme"},
		{"metrics-api", `url: "http://a", valueLocation: a, targetValue: "5"`, "authModes", "basic,hunter2", "the value as authModes"},
	} {
		for _, secret := range []string{"stringData: {k: %q}", "data: {k: %s}"} {
			text := tt.text
			if strings.HasPrefix(secret, "data") {
				text = base64.StdEncoding.EncodeToString([]byte(text))
			}
			r := checkText(withTrigger("", "{type: "+tt.kind+", metadata: {"+tt.metadata+"}, authenticationRef: {name: a}}") +
				"---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a}\nspec: {secretTargetRef: [{parameter: " + tt.parameter + ", name: s, key: k}]}\n" +
				"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + fmt.Sprintf(secret, text) + "\n")
			for _, write := range []func(io.Writer) error{r.WriteText, r.WriteJSON, r.WriteGitHub, r.WriteSARIF} {
				var b strings.Builder
				require.NoError(t, write(&b))
				require.Contains(t, b.String(), tt.problem)
				require.NotRegexp(t, "hunter2|"+text, b.String())
			}
		}
	}
}

// Neither a finding nor its excerpt shows a text of a Secret.
func TestSecretTexts(t *testing.T) {
	r := checkText(minimal + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  p: hunter2!\nstringData:\n  q: 20262026\n")
	require.Equal(t, []string{"24:6 wrong-type", "26:6 not-a-string"}, brief(r.Findings))
	for _, write := range []func(io.Writer) error{r.WriteText, r.WriteJSON, r.WriteGitHub, r.WriteSARIF} {
		var b strings.Builder
		require.NoError(t, write(&b))
		require.NotRegexp(t, "hunter2|20262026", b.String())
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
