package triggers

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The number of types of each minor release is KEDA's.
func TestTypes(t *testing.T) {
	counts := []int{57, 60, 62, 63, 65, 65, 65, 67, 68, 70, 75, 75, 77, 80}
	for i, want := range counts {
		release, n := fmt.Sprintf("2.%d.1", 8+i), 0
		for _, name := range Types() {
			d, ok := Lookup(name, release)
			if !ok {
				continue
			}
			n++
			require.Equal(t, i >= 10, d.Full, release)
			if d.Full && name != "external-mock" {
				require.True(t, slices.ContainsFunc(d.Parameters, func(p Parameter) bool { return p.Declared != "" }), "%s %s", release, name)
			}
		}
		require.Equal(t, want, n, release)
		require.True(t, Covers(release))
	}
	require.False(t, Covers("2.7.1"))
	_, ok := Lookup("rabbitmq", "2.7.1")
	require.False(t, ok)
}

// Each key that KEDA removes has advice of its own, which is not the text for KEDA's developers.
func TestReplacements(t *testing.T) {
	for _, name := range Types() {
		for minor := 8; minor <= 21; minor++ {
			d, _ := Lookup(name, fmt.Sprintf("2.%d.0", minor))
			for _, p := range d.Parameters {
				isKey := (p.Deprecated != "" || p.Announced != "") && !strings.HasPrefix(p.Announced, "This scaler")
				onlyDeleted := p.Names[0] == "type" // a ScaledJob's triggers have nothing in its place
				require.Equal(t, isKey && !onlyDeleted, isKey && replacement(p, Value{}) != "Delete the key", "%s %s", name, p.Names[0])
			}
		}
	}
}

func TestSchedules(t *testing.T) {
	for text, want := range map[string]bool{
		"0 6 * * *": true, "*/5 * * * *": true, "0 6 * * 1-5": true, "0 6 * * MON-FRI": true, "0 6 1,15 jan-mar ?": true, "5/10 * * * *": true,
		"TZ=Europe/Berlin 0 6 * * *": true, "59 23 31 12 6": true,
		"0 6 * *": false, "0 6 * * * *": false, "60 * * * *": false, "0 24 * * *": false, "0 6 0 * *": false, "0 6 * 13 *": false, "0 6 * * 7": false,
		"0 6 * * 5-1": false, "*/0 * * * *": false, "@daily": false, "a b c d e": false, "": false, "TZ=Europe/Berln 0 6 * * *": false, "-1 * * * *": false,
	} {
		require.Equal(t, want, cronProblem(text) == "", "%q: %s", text, cronProblem(text))
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"queueName", "queueURL", "lagThreshold", "bootstrapServers", "tls"}
	for got, want := range map[string]string{
		"queuName": "queueName", "queueUrl": "queueURL", "lagTreshold": "lagThreshold", "bootstrapServer": "bootstrapServers", "bootstrap_servers": "bootstrapServers",
		"lagThersholds": "lagThreshold", "tsl": "tls", "region": "", "x": "",
	} {
		require.Equal(t, want, Nearest(got, keys), got)
	}
}

// kinds returns the kinds of problems by key.
func kinds(name, release string, in Input) map[string]Kind {
	all := map[string]Kind{}
	for _, p := range Check(name, release, in) {
		all[p.Key] = p.Kind
	}
	return all
}

func TestCheck(t *testing.T) {
	given := func(string) Value { return Value{State: Hidden} }
	for _, tt := range []struct {
		name, release string
		in            Input
		want          map[string]Kind
	}{
		{"kafka", "2.21.0", Input{Metadata: map[string]string{"bootstrapServers": "a:1", "consumerGroup": "a", "topic": "a"}}, map[string]Kind{}},
		{"kafka", "2.21.0", Input{Metadata: map[string]string{"bootstrapServer": "a:1", "consumerGroup": " ", "topic": "a"}},
			map[string]Kind{"bootstrapServer": UnknownKey, "bootstrapServers": Missing, "consumerGroup": Missing}},
		{"kafka", "2.17.0", Input{Metadata: map[string]string{"bootstrapServer": "a:1"}}, map[string]Kind{"bootstrapServer": UnknownKey}},
		{"postgresql", "2.21.0", Input{Metadata: map[string]string{"connection": "a", "query": "a", "targetQueryValue": "1"}, Authentication: given},
			map[string]Kind{"connection": WrongPlace}},
		{"activemq", "2.21.0", Input{Metadata: map[string]string{"managementEndpoint": "a", "destinationName": "a", "brokerName": "a"}, Authentication: given}, map[string]Kind{}},
		{"external", "2.21.0", Input{Metadata: map[string]string{"scalerAddress": "a:1", "anything": "a"}}, map[string]Kind{}},
		{"azure-servicebus", "2.21.0", Input{Metadata: map[string]string{"queueName": "a", "namespace": "a"}, Authentication: given, PodIdentity: "azure-workload"}, map[string]Kind{}},
		{"rabitmq", "2.21.0", Input{}, map[string]Kind{}},
	} {
		require.Equal(t, tt.want, kinds(tt.name, tt.release, tt.in), "%s %s", tt.name, tt.release)
	}
}

// What a metric counts depends on the release.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		kind, metadata, releases string
		want                     Counting
	}{
		{"azure-pipelines", "", "2.3.0 2.8.2 2.19.0 2.21.0", Includes},
		{"azure-pipelines", "", "2.20.0", LeavesOut},
		{"azure-pipelines", "scaleOnInFlight=false", "2.21.0", LeavesOut},
		{"azure-queue", "", "2.9.3", 0},
		{"azure-queue", "queueLengthStrategy=visibleonly", "2.10.1 2.14.1", 0}, // a parameter of later releases
		{"azure-queue", "queueLengthStrategy=visibleonly", "2.15.1", LeavesOut},
		{"forgejo-runner", "", "2.17.0", 0},
		{"forgejo-runner", "", "2.18.0", Includes},
		{"gcp-pubsub", "mode=OldestUnackedMessageAge", "2.5.0 2.8.0 2.21.0", 0},
		{"gcp-pubsub", "", "2.2.0 2.5.0 2.8.0", Includes},
		{"github-runner", "", "2.13.0", LeavesOut},
		{"github-runner", "", "2.14.0", Includes},
		{"rabbitmq", "protocol=http excludeUnacknowledged=true", "2.2.0 2.7.1", 0},
		{"rabbitmq", "protocol=http", "2.2.0 2.7.1 2.21.0", Includes},
		{"rabbitmq", "protocol=http excludeUnacknowledged=true", "2.8.0", LeavesOut},
		{"selenium-grid", "includeOngoingSessions=false", "2.4.0 2.15.1 2.20.0", Includes},
		{"selenium-grid", "includeOngoingSessions=false", "2.21.0", LeavesOut},
		{"temporal", "", "2.17.0", LeavesOut},
		{"rabbitmq", "protocol=http", "2.0.0 2.1.0 2.6.1", 0}, // whose source nobody serves
	} {
		in := Input{Metadata: map[string]string{}}
		for pair := range strings.FieldsSeq(c.metadata) {
			key, value, _ := strings.Cut(pair, "=")
			in.Metadata[key] = value
		}
		for release := range strings.FieldsSeq(c.releases) {
			how, _ := Counts(c.kind, release, in)
			require.Equal(t, c.want, how, "%s %s %s", c.kind, c.metadata, release)
		}
	}
}

// pairsOf reads a=b c=d, with _ for a space.
func pairsOf(text string) map[string]string {
	m := map[string]string{}
	for item := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(item, "=")
		m[key] = value
		if strings.ContainsAny(value, "*'(") || strings.Contains(value, "7_days") {
			m[key] = strings.ReplaceAll(value, "_", " ")
		}
	}
	return m
}

// Every rule finds its problem, and nothing in a trigger that keeps it. UPDATE=1 writes the problems anew.
func TestRules(t *testing.T) {
	const file = "testdata/rules.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	found := map[string]bool{}
	var golden strings.Builder
	for line := range strings.Lines(string(data)) {
		trigger, _, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if strings.HasPrefix(line, "#") || !ok {
			golden.WriteString(line)
			continue
		}
		text, brackets, _ := strings.Cut(trigger, "[")
		name, metadata, _ := strings.Cut(text, " ")
		authentication := pairsOf(strings.TrimSuffix(brackets, "]"))
		in := Input{Metadata: pairsOf(metadata), PodIdentity: authentication["podIdentity"], Authentication: func(p string) Value {
			return Literal(authentication[p])
		}}
		var problems []string
		for _, p := range Check(name, "2.21", in) {
			if p.Rule != "" {
				require.NotEmpty(t, p.Fix)
				problems = append(problems, p.Text+". "+p.Fix)
				found[p.Rule] = true
			}
		}
		golden.WriteString(trigger + " -> " + cmp.Or(strings.Join(problems, " | "), "ok") + "\n")
	}
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(golden.String()), 0o644))
	} else {
		require.Equal(t, golden.String(), string(data))
	}
	for _, r := range Rules() {
		assert.True(t, found[r.Message], "no trigger breaks %q", r.Message)
	}
}

// TestLimits has the bounds of scalers by partitions. A lag of less than one more Job's items comes on top with kafka.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		kind           string
		metadata       map[string]string
		length, target float64
		partitions     int64
		want           float64
	}{
		{"kafka", nil, 250, 10, 4, 40},
		{"kafka", nil, 27, 5, 5, 27},
		{"kafka", nil, 30, 5, 5, 25},
		{"kafka", nil, 250, 10, 0, 250},
		{"kafka", map[string]string{"allowIdleConsumers": "true"}, 250, 10, 4, 250},
		{"kafka", map[string]string{"allowIdleConsumers": "true", "limitToPartitionsWithLag": "true"}, 250, 10, 4, 40},
		{"kafka", map[string]string{"ensureEvenDistributionOfPartitions": "true"}, 31, 10, 6, 60},
		{"kafka", map[string]string{"ensureEvenDistributionOfPartitions": "true"}, 25, 10, 6, 30},
		{"apache-kafka", nil, 250, 10, 4, 40},
		{"azure-eventhub", nil, 250, 10, 4, 40},
		{"liiklus", nil, 250, 10, 4, 40},
		{"azure-cosmosdb", nil, 45, 10, 4, 40},
		{"redis", nil, 250, 10, 4, 250},
	} {
		require.Equal(t, tt.want, LimitOf(tt.kind, "2.21.0", tt.metadata).Bound(tt.length, tt.target, tt.partitions), "%+v", tt)
	}
	require.Nil(t, LimitOf("azure-cosmosdb", "2.20.1", nil))
}
