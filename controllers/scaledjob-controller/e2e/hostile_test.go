package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var hostile = flag.Duration("hostile", 0, "how long TestHostileTenant lasts; 0 skips it")

// mostMemory is the bound of each controller, in MB.
const mostMemory = 300

const valid = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: a, namespace: tenant, annotations: {autoscaling.keda.sh/paused: "false"}, finalizers: [finalizer.keda.sh]}
spec:
  pollingInterval: 1
  minReplicaCount: 1
  maxReplicaCount: 2
  successfulJobsHistoryLimit: 1
  envSourceContainerName: c
  rollout: {strategy: gradual, propagationPolicy: background}
  scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 1, customScalingRunningJobPercentage: "0.5", multipleScalersCalculation: max, pendingPodConditions: [Ready]}
  jobTargetRef: {backoffLimit: 1, ttlSecondsAfterFinished: 1, template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: c, env: [{name: A, value: $(A)}], resources: {limits: {cpu: "1"}}}]}}}
  triggers: [{type: redis, name: a, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}, authenticationRef: {name: a}}]
---
apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: a, namespace: tenant}
spec:
  schedule: {timeSpec: R//PT1S, timeZone: Europe/Berlin, skipOutdated: false}
  maxRestart: 1
  execTimeout: 1
  podCount: 1
  historyLimit: 1
  after: [{job: a, outcome: any}]
  template: {spec: {containers: [{name: c, image: c, env: [{name: A, value: $(A)}]}]}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: a, namespace: tenant}
spec:
  failedJobsHistoryLimit: 1
  rolloutStrategy: gradual
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
  triggers: [{type: cron, metricType: Value, useCachedMetrics: true, metadata: {timezone: Europe/Berlin, start: 0 0 * * *, end: 1 0 * * *, desiredReplicas: "1"}, authenticationRef: {name: a, kind: ClusterTriggerAuthentication}}]
---
apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: a, namespace: tenant}
spec:
  schedule: {cron: "* * * * *", timeZone: Europe/Berlin, endTime: "2030-01-01T00:00:00Z", jitterSeconds: 1, blockOnFailure: true, maxCatchUp: 1}
  suspend: false
  cancel: [a]
  allowConcurrentRun: true
  concurrencyPolicy: Allow
  startingDeadlineSeconds: 10
  activeDeadlineSeconds: 10
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 1
  ttlSecondsAfterFinished: 1
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}
  selector: {matchLabels: {a: b}}
  templateRef: {apiVersion: v1, kind: PodTemplate, namespace: tenant, name: a}
---
apiVersion: scaledjob.github.io/v1alpha1
kind: RunRequest
metadata: {name: a, namespace: tenant}
spec: {job: a}
---
apiVersion: scaledjob.github.io/v1alpha1
kind: RunRequest
metadata: {name: a, namespace: tenant}
spec: {job: a, tag: a, backfill: {from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z", limit: 1, together: true}}
---
apiVersion: batch.miracle.dev/v1
kind: ScaledJob
metadata: {name: a, namespace: tenant}
spec:
  queueName: a
  redisAddress: "127.0.0.1:1"
  redisDatabase: 1
  redisAuth: {username: a, secretKeyRef: {name: a, key: a}}
  redisTLS: {secretName: a}
  threshold: 1
  minReplicas: 1
  maxReplicas: 2
  jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: a, namespace: tenant}
spec:
  memberClusters: [{name: member, weight: 1, targetNamespace: tenant, podOverrides: {nodeSelector: {a: b}, tolerations: [{key: a}], containerOverrides: {c: {image: d, env: [{name: A, value: b}], resources: {limits: {cpu: "1"}}}}}}]
  clusterScheduling: {strategy: weightedRoundRobin, failoverPolicy: {gracePeriod: 1s, hardTaintDuration: 1s, softTaintDuration: 1s, duplicationPolicy: keepAll, lostAfter: 1m}}
  scaledJobSpec:
    pollingInterval: 1
    minReplicaCount: 1
    maxReplicaCount: 2
    jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
    triggers: [{type: redis, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}}]
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: a, namespace: tenant}
spec:
  memberClusters: [{name: member, maxJobs: 2, scheduling: {priority: 1}, podOverrides: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [a]}]}}]}}}}]
  clusterScheduling: {strategy: priority, workloadAffinity: {class: a, size: 1}}
  scaledJobSpec:
    failoverOverMax: 1
    envSourceContainerName: c
    successfulJobsHistoryLimit: 1
    failedJobsHistoryLimit: 1
    rolloutStrategy: gradual
    rollout: {strategy: gradual, propagationPolicy: background}
    scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 1, customScalingRunningJobPercentage: "0.5", multipleScalersCalculation: max, pendingPodConditions: [Ready]}
    jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
    triggers: [{type: redis, name: a, metricType: AverageValue, useCachedMetrics: true, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}, authenticationRef: {name: a, kind: TriggerAuthentication}}]
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: a, namespace: tenant}
spec:
  memberClusters: [{name: member}]
  replicas: 1
  rebalancingPolicy: {maxSurge: 1, progressDeadline: 1s}
  scaledObjectSpec:
    scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}
    idleReplicaCount: 0
    minReplicaCount: 1
    maxReplicaCount: 2
    cooldownPeriod: 1
    initialCooldownPeriod: 1
    fallback: {failureThreshold: 1, replicas: 1, behavior: static}
    advanced:
      horizontalPodAutoscalerConfig:
        name: a
        behavior:
          scaleDown: {stabilizationWindowSeconds: 1, selectPolicy: Max, tolerance: "0.1", policies: [{type: Pods, value: 1, periodSeconds: 1}]}
          scaleUp: {stabilizationWindowSeconds: 1, selectPolicy: Max, tolerance: "0.1", policies: [{type: Pods, value: 1, periodSeconds: 1}]}
      scalingModifiers: {formula: a + 1, target: "1", activationTarget: "1", metricType: AverageValue}
    triggers: [{type: redis, name: a, metricType: AverageValue, useCachedMetrics: true, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}, authenticationRef: {name: a, kind: TriggerAuthentication}}]
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: a, namespace: tenant}
spec:
  memberClusters: [{name: member, weight: 1, targetNamespace: tenant}]
  rebalancingPolicy: {gracePeriod: 1s}
  scaledObjectSpec:
    scaleTargetRef: {kind: Deployment, name: web, envSourceContainerName: c}
    pollingInterval: 1
    minReplicaCount: 1
    maxReplicaCount: 2
    fallback: {failureThreshold: 1, replicas: 1}
    advanced: {restoreToOriginalReplicaCount: true, scalingModifiers: {formula: a + 1, target: "1"}}
    triggers: [{type: redis, name: a, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}}]
`

// victims returns what another tenant has: the Redis is empty, the other queues are unreadable.
func victims(t *testing.T, c *cluster.Cluster) string {
	kubeconfig, err := os.ReadFile(c.Kubeconfig())
	require.NoError(t, err)
	return fmt.Sprintf(victim, miniredis.RunT(t).Addr(), base64.StdEncoding.EncodeToString(kubeconfig))
}

const victim = `apiVersion: v1
kind: Namespace
metadata: {name: tenant}
---
apiVersion: v1
kind: Namespace
metadata: {name: victim}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: a, namespace: victim}
spec:
  pollingInterval: 1
  minReplicaCount: 3
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
  triggers: [{type: redis, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}}]
---
apiVersion: scaledjob.github.io/v1alpha1
kind: ScheduledJob
metadata: {name: a, namespace: victim}
spec:
  schedule: {timeSpec: R//PT1H}
  maxRestart: 0
  template: {spec: {containers: [{name: c, image: c}]}}
---
apiVersion: scaledjob.github.io/v1alpha1
kind: RunRequest
metadata: {name: a, namespace: victim}
spec: {job: a}
---
apiVersion: batch.miracle.dev/v1
kind: ScaledJob
metadata: {name: a, namespace: victim}
spec:
  queueName: a
  redisAddress: %q
  threshold: 1
  minReplicas: 2
  maxReplicas: 2
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: a, namespace: victim}
spec:
  memberClusters: [{name: member}]
  scaledJobSpec:
    pollingInterval: 1
    minReplicaCount: 4
    jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
    triggers: [{type: redis, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: victim}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c}]}
---
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: a, namespace: victim}
spec:
  replicas: 3 # there is no KEDA
  memberClusters: [{name: member}]
  scaledObjectSpec:
    scaleTargetRef: {kind: Deployment, name: web}
    minReplicaCount: 3
    maxReplicaCount: 3
    triggers: [{type: redis, metadata: {address: "127.0.0.1:1", listName: a, listLength: "1"}}]
---
# The cluster is its own member.
apiVersion: v1
kind: Namespace
metadata: {name: keda}
---
apiVersion: v1
kind: Secret
metadata: {name: kedify-agent-multicluster-kubeconfigs, namespace: keda}
data: {member.kubeconfig: %s, jobs.key: dGhlIGtleSBvZiB0aGlzIGh1Yg==}
`

// The attacker reaches every field of the resources but those of pods, of which he has some.
func TestHostileReachesEveryField(t *testing.T) {
	has := map[string][]any{}
	for _, u := range manifest.Objects(t, valid) {
		kind := u.GroupVersionKind().GroupKind().String()
		has[kind] = append(has[kind], u.Object["spec"])
	}
	var missing []string
	var walk func(at string, schema map[string]any, values []any)
	walk = func(at string, schema map[string]any, values []any) {
		if items, is := schema["items"].(map[string]any); is {
			var all []any
			for _, value := range values {
				all = append(all, value.([]any)...)
			}
			schema, values = items, all
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, inner := range properties {
			var there []any
			for _, value := range values {
				if field, is := value.(map[string]any)[name]; is {
					there = append(there, field)
				}
			}
			if len(there) == 0 {
				missing = append(missing, at+"."+name)
			} else if name != "template" && name != "jobTemplate" {
				walk(at+"."+name, inner.(map[string]any), there)
			}
		}
	}
	for _, file := range crds(t) {
		for _, u := range manifest.Objects(t, manifest.Read(t, file)) {
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
			spec, found, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
			if values := has[kind+"."+group]; values != nil {
				require.True(t, found, file)
				walk(kind, spec, values)
				delete(has, kind+"."+group)
			}
		}
	}
	slices.Sort(missing)
	require.Empty(t, missing)
	require.Empty(t, has, "resources without a schema")
}

// crds returns the files with the schemas of the controllers' resources.
func crds(t *testing.T) (all []string) {
	for _, dir := range []string{"../manifests/crds", "../../scheduled/manifests/crds", "../../redis-operator/config/crd", "../../multicluster/manifests/crds"} {
		files, err := filepath.Glob(dir + "/*s.yaml")
		require.NoError(t, err)
		all = append(all, files...)
	}
	return all
}

// A tenant creates, edits and deletes hostile resources. The controllers live on within a bound of
// memory, and the Jobs of another tenant stay the same.
func TestHostileTenant(t *testing.T) {
	if *hostile == 0 {
		t.Skip("takes minutes: make hostile")
	}
	c, all := besideVictim(t)
	before, client := victimHas(t, c), c.Client(t)
	a := newAttacker(t, c)
	ctx, stop := context.WithTimeout(t.Context(), *hostile)
	defer stop()
	for checked := time.Now(); ctx.Err() == nil; {
		a.act(ctx)
		if time.Since(checked) > 5*time.Second {
			checked = time.Now()
			require.Equal(t, before, victimHas(t, c), "the victim's Jobs")
		}
	}
	// The victim is served: its Jobs are replaced when they are deleted.
	require.NoError(t, client.BatchV1().Jobs("victim").DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)},
		metav1.ListOptions{LabelSelector: "scaledjob.keda.sh/name"}))
	require.Eventually(t, func() bool {
		l, err := client.BatchV1().Jobs("victim").List(t.Context(), metav1.ListOptions{LabelSelector: "scaledjob.keda.sh/name"})
		return err == nil && len(l.Items) == 3 && !slices.ContainsFunc(l.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })
	}, time.Minute, 100*time.Millisecond)
	for _, p := range all {
		healthy(t, p)
		p.Stop()
	}
	t.Logf("%d requests, of which the API server accepted %d", a.sent, a.accepted)
	require.Greater(t, a.accepted, a.sent/20)
}

// healthy checks that a controller has kept its memory and has not panicked.
func healthy(t *testing.T, p *process.Process) {
	mb := peak(t, p.Command.Process.Pid)
	t.Logf("%s: %d MB at most", filepath.Base(p.Command.Path), mb)
	require.Less(t, mb, mostMemory)
	require.NotContains(t, p.Output(), "panic")
}

// besideVictim starts a control plane with the controllers, of which each has done what the victim asks for.
func besideVictim(t *testing.T) (*cluster.Cluster, []*process.Process) {
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		if p.Namespace == "victim" {
			return cluster.Run{Work: -1}
		}
		return cluster.Run{Work: time.Second}
	})
	for _, file := range crds(t) {
		manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, file))...)
	}
	manifest.Apply(t, c.Config(), manifest.Objects(t, victims(t, c))...)
	start := func(dir string, flags ...string) *process.Process {
		flags = append([]string{"-kubeconfig", c.Kubeconfig(), "-leader-elect=false", "-metrics-bind-address=", "-health-probe-bind-address=127.0.0.1:0"}, flags...)
		return process.Start(t, exec.Command(process.Build(t, dir), flags...))
	}
	all := []*process.Process{
		start("..", "-request-timeout=2s"), start("../../scheduled", "-request-timeout=2s"),
		start("../../redis-operator", "-poll=1s", "-retry=1s"),
		start("../../multicluster", "-dsj", "-dso", "-sync-period=1s", "-probe-interval=1s"),
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		now := victimHas(t, c)
		require.Len(t, now, 5+2+4+1)
		require.Equal(t, "replicas 3", now[len(now)-1])
	}, time.Minute, 100*time.Millisecond, "the victim's Jobs and replicas")
	return c, all
}

// victimHas returns the victim's Jobs and replicas.
func victimHas(t require.TestingT, c *cluster.Cluster) (names []string) {
	client, err := kubernetes.NewForConfig(c.Config())
	require.NoError(t, err)
	l, err := client.BatchV1().Jobs("victim").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, j := range l.Items {
		names = append(names, j.Name+" "+string(j.UID))
	}
	web, err := client.AppsV1().Deployments("victim").Get(context.Background(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return append(names, fmt.Sprint("replicas ", *web.Spec.Replicas))
}

// peak is the most memory that a process has had, in MB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(data)
	require.NotNil(t, found)
	kB, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kB / 1000
}

// An attacker changes valid resources in random places.
type attacker struct {
	random         *rand.Rand
	client         dynamic.Interface
	valid          []*unstructured.Unstructured
	sent, accepted int
}

func newAttacker(t *testing.T, c *cluster.Cluster) *attacker {
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &attacker{random: rand.New(rand.NewPCG(seed, 1)), client: client, valid: manifest.Objects(t, valid)}
}

func (a *attacker) act(ctx context.Context) {
	u := a.valid[a.random.IntN(len(a.valid))].DeepCopy()
	group, err := schema.ParseGroupVersion(u.GetAPIVersion())
	if err != nil {
		return
	}
	client := a.client.Resource(group.WithResource(strings.ToLower(u.GetKind()) + "s")).Namespace("tenant")
	name := fmt.Sprint("a", a.random.IntN(40)) // so that resources are edited, too
	if a.random.IntN(10) == 0 {
		name = strings.Repeat("a.b-c", 1+a.random.IntN(50))
	}
	if a.random.IntN(4) == 0 {
		a.count(client.Delete(ctx, name, metav1.DeleteOptions{}))
		return
	}
	spec := u.Object["spec"]
	for range 1 + a.random.IntN(3) {
		a.spoil(&spec)
	}
	u.Object["spec"] = spec
	u.SetName(name)
	if a.random.IntN(5) == 0 {
		u.SetAnnotations(map[string]string{"autoscaling.keda.sh/paused": a.text(), "a": a.text()})
	}
	patch, err := json.Marshal(u)
	if err != nil {
		return
	}
	_, err = client.Patch(ctx, name, "application/merge-patch+json", patch, metav1.PatchOptions{})
	if err != nil {
		_, err = client.Create(ctx, u, metav1.CreateOptions{})
	}
	a.count(err)
}

func (a *attacker) count(err error) {
	a.sent++
	if err == nil {
		a.accepted++
	}
}

// spoil replaces a random value.
func (a *attacker) spoil(at *any) {
	switch v := (*at).(type) {
	case map[string]any:
		if n := a.random.IntN(len(v) + 1); len(v) > 0 && a.random.IntN(8) > 0 {
			for key, inner := range v {
				if n--; n <= 0 {
					a.spoil(&inner)
					v[key] = inner
					return
				}
			}
		}
	case []any:
		if len(v) > 0 && a.random.IntN(4) > 0 {
			i := a.random.IntN(len(v))
			if a.random.IntN(4) == 0 { // many
				for range a.random.IntN(300) {
					v = append(v, runtime.DeepCopyJSONValue(v[i]))
				}
				*at = v
				return
			}
			a.spoil(&v[i])
			return
		}
	}
	switch (*at).(type) {
	case string:
		*at = a.text()
	case int64:
		*at = []int64{-1, 0, 1, 2, 1 << 31, 1<<31 - 1, -1 << 31, 1 << 62, 1000}[a.random.IntN(9)]
	default:
		*at = []any{nil, a.text(), int64(-1), 1e300, true, []any{}, map[string]any{}, map[string]any{a.text(): a.text()}, []any{nil, int64(1), "a"}}[a.random.IntN(9)]
	}
}

func (a *attacker) text() string {
	texts := []string{
		"", " ", "\x00", "\u202eevil", "é\u0301😀", "..", "../../etc/passwd", "/", "a/b", "default", "kube-system", "-1", "NaN", "1e400", "1e-400", "99999999999999999999",
		"0.29", "R//PT0.000000001S", "R/0001-01-01T00:00:00Z/PT1S", "R99999999/9999-12-31T23:59:59Z/P9999Y", "R//P1M", "R/T24:00:00/P1D", "* * * * *", "Local", "Asia/Kathmandu",
		"9999-12-31T23:59:59Z", "1ns", "2147483647e2147483647", "http://169.254.169.254/latest", "[::1]:6379", "redis", "kubernetes-resource", "cron", "ClusterTriggerAuthentication",
		"$(A)$(B)", "{{.}}", "%s%n", "<script>", "\r\nlevel=error", "tenant", "victim",
	}
	if n := a.random.IntN(len(texts) + 2); n < len(texts) {
		return texts[n]
	}
	return strings.Repeat([]string{"a", "(", "世", "\"", "a,", "$(A)"}[a.random.IntN(6)], 1<<a.random.IntN(18))
}
