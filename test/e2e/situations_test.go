package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
)

var situationsTo = flag.String("situations", "", "`directory` of the logs to write: cmd/scaledjob/internal/why/testdata/situations")

// A situation is a ScaledJob that KEDA's operator polls, and what happens to it.
type situation struct {
	name   string
	spec   string // fields of the spec, besides polling and the template
	meta   string // further fields of the trigger's metadata
	queue  int
	stuck  bool   // pods never start
	before string // objects that are there first
	pod    string // further fields of the pod template's spec
	after  func(t *testing.T, c *cluster.Cluster, s *situation)
}

func (s *situation) manifest() string {
	name := s.name
	meta := s.meta
	if meta == "" {
		meta = fmt.Sprintf("address: %q, listName: %s, listLength: \"1\"", redisAddress(), s.name)
	}
	pod := s.pod
	if pod == "" {
		pod = "restartPolicy: Never"
	}
	return fmt.Sprintf(`apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: %s, namespace: %s}
spec:
  pollingInterval: 4
%s  jobTargetRef: {template: {spec: {%s, containers: [{name: c, image: i}]}}}
  triggers: [{type: redis, metadata: {%s}%s}]
`, name, s.namespace(), s.spec, pod, meta, map[bool]string{true: ", authenticationRef: {name: nowhere}"}[s.name == "no-authentication"])
}

// namespace is that of the situation: a quota counts all Jobs of a namespace.
func (s *situation) namespace() string {
	if s.before != "" {
		return s.name
	}
	return "default"
}

const foreignJob = `apiVersion: batch/v1
kind: Job
metadata: {name: other-%d, namespace: default, labels: {scaledjob.keda.sh/name: foreign-jobs}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`

func patched(text string) func(*testing.T, *cluster.Cluster, *situation) {
	return func(t *testing.T, c *cluster.Cluster, s *situation) { patch(t, c, s.name, text) }
}

var situations = []situation{
	{name: "empty"},
	{name: "activation", queue: 3, meta: `address: "%s", listName: activation, listLength: "1", activationListLength: "5"`},
	{name: "no-host", meta: `address: "no-such-host.invalid:6379", listName: x, listLength: "1"`},
	{name: "refused-connection", meta: `address: "127.0.0.1:1", listName: x, listLength: "1"`},
	{name: "maximum", spec: "  maxReplicaCount: 2\n", queue: 10},
	{name: "accurate-pending", spec: "  scalingStrategy: {strategy: accurate}\n", queue: 3, stuck: true},
	{name: "default-stuck", queue: 3, stuck: true},
	{name: "running-deducted", queue: 2},
	{name: "at-minimum", spec: "  minReplicaCount: 3\n"},
	{name: "below-minimum", spec: "  minReplicaCount: 3\n", queue: 2},
	{name: "quota", spec: "  maxReplicaCount: 5\n", queue: 3, before: "apiVersion: v1\nkind: Namespace\nmetadata: {name: quota}\n---\n" +
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: jobs, namespace: quota}\nspec: {hard: {count/jobs.batch: \"1\"}}\n"},
	{name: "invalid-template", queue: 2, pod: "restartPolicy: Always"},
	{name: "rollout", queue: 2, after: patched(`{"spec":{"jobTargetRef":{"template":{"metadata":{"annotations":{"a":"b"}}}}}}`)},
	{name: "gradual", spec: "  rollout: {strategy: gradual}\n", queue: 2, after: patched(`{"spec":{"jobTargetRef":{"template":{"metadata":{"annotations":{"a":"b"}}}}}}`)},
	{name: "paused", queue: 1, after: patched(`{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`)},
	{name: "no-list", meta: `address: "127.0.0.1:6379", listLength: "1"`},
	{name: "no-authentication"},
	{name: "foreign-jobs", spec: "  maxReplicaCount: 1\n", queue: 1, after: func(t *testing.T, c *cluster.Cluster, _ *situation) {
		for n := range 3 {
			manifest.Apply(t, c.Config(), manifest.Objects(t, fmt.Sprintf(foreignJob, n))...)
		}
	}},
	{name: "eager-pending", spec: "  maxReplicaCount: 4\n  scalingStrategy: {strategy: eager}\n", queue: 3, stuck: true},
	{name: "custom-above", spec: "  maxReplicaCount: 2\n  scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 0, customScalingRunningJobPercentage: \"0\"}\n", queue: 2},
	{name: "accurate-again", spec: "  maxReplicaCount: 50\n  scalingStrategy: {strategy: accurate}\n", queue: 2},
	{name: "a-name-that-is-longer-than-the-sixty-three-characters-of-a-label-value", queue: 1},
	{name: "min-above-queue", spec: "  minReplicaCount: 2\n  maxReplicaCount: 4\n", queue: 9},
	{name: "bad-percentage", spec: "  scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 1, customScalingRunningJobPercentage: 50%}\n", queue: 2},
}

// TestSituations makes the situations with KEDA's operator, and writes for each the lines of the log
// about it, and its manifest. Lines of level 1 have the level debug.
func TestSituations(t *testing.T) {
	if *situationsTo == "" {
		t.Skip("use -situations DIRECTORY")
	}
	redis := redisConn(t)
	c := cluster.Start(t, cluster.WithControllers("resourcequota-controller"))
	stuck := map[string]bool{}
	for _, s := range situations {
		stuck[s.name] = s.stuck
	}
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		r := cluster.Run{Work: -1}
		if stuck[p.Labels["scaledjob.keda.sh/name"]] {
			r.Start = -1
		}
		return r
	})
	o := operator.Start(t, c)
	for i := range situations {
		s := &situations[i]
		if strings.Contains(s.meta, "%s") {
			s.meta = fmt.Sprintf(s.meta, redisAddress())
		}
		redis("DEL %s", s.name)
		if s.queue > 0 {
			redis("RPUSH %s%s", s.name, strings.Repeat(" x", s.queue))
		}
		if s.before != "" {
			manifest.Apply(t, c.Config(), manifest.Objects(t, s.before)...)
			time.Sleep(2 * time.Second)
		}
		manifest.Apply(t, c.Config(), manifest.Objects(t, s.manifest())...)
	}
	time.Sleep(45 * time.Second)
	for i := range situations {
		if s := &situations[i]; s.after != nil {
			s.after(t, c, s)
		}
	}
	time.Sleep(20 * time.Second)
	log := o.Log(t)
	o.Restart(t)
	time.Sleep(25 * time.Second)
	restarted := o.Log(t)[len(log):]
	require.NoError(t, os.MkdirAll(*situationsTo, 0o755))
	for i := range situations {
		s := &situations[i]
		if s.name == "running-deducted" {
			writeSituation(t, "restart", s.manifest(), about(t, log, s.name)+about(t, restarted, s.name))
		}
		text, yaml := about(t, log, s.name), s.manifest()
		if s.name == "paused" {
			yaml = strings.Replace(yaml, "namespace: default}", "namespace: default, annotations: {autoscaling.keda.sh/paused: \"true\"}}", 1)
		}
		writeSituation(t, s.name, yaml, text)
	}
}

func writeSituation(t *testing.T, name, manifest, log string) {
	t.Helper()
	require.NotEmpty(t, log, name)
	require.NoError(t, os.WriteFile(filepath.Join(*situationsTo, name+".yaml"), []byte(manifest), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(*situationsTo, name+".log"), []byte(log), 0o644))
}

// about returns the lines about a ScaledJob and the operator, without stack traces.
func about(t *testing.T, log, name string) string {
	t.Helper()
	lines := 30
	if slices.Contains([]string{"rollout", "gradual", "below-minimum", "no-authentication"}, name) { // the cause is at the beginning
		lines = 90
	}
	var first, all []string
	for line := range strings.Lines(log) {
		start := strings.Contains(line, "KEDA Version")
		var fields map[string]any
		if !start && !strings.Contains(line, `"`+name+`"`) || json.Unmarshal([]byte(line), &fields) != nil || strings.Contains(line, "Updating ScaledJob status") {
			continue
		}
		if at := strings.Index(line, `,"stacktrace":`); at > 0 {
			line = line[:at] + "}\n"
		}
		if start {
			first = append(first, line)
		} else {
			all = append(all, line)
		}
	}
	return strings.Join(append(first, all[max(0, len(all)-lines):]...), "")
}
