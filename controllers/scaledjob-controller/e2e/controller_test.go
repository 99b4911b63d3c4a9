package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// One cluster serves all; each has a namespace of its own, and a controller that
// acts there only.
func TestController(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	s.apply(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml")) // in place of KEDA's
	for _, test := range []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"no ScaledJob is accepted that is wrong", (*fixture).refuses},
		{"pause, resume", (*fixture).pauses},
		{"rollout", (*fixture).rollsOut},
		{"edits of other things than the Job", (*fixture).keepsJobs},
		{"a queue that is not there", (*fixture).tellsFailures},
		{"a spec that is wrong", (*fixture).tellsInvalid},
		{"goes and comes back", (*fixture).replaced},
		{"at rest", (*fixture).rests},
		{"two controllers", (*fixture).elects},
		{"killed before the status", (*fixture).killedBeforeStatus},
		{"the sample", (*fixture).sample},
		{"secrets", (*fixture).keepsSecrets},
		{"permissions", (*fixture).permissions},
		{"no secret is told", (*fixture).tellsNoSecret},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

// install needs rights that the controller does not.
func (s *fixture) install(t *testing.T) {
	for _, want := range []string{"msg=installed", "left alone"} { // KEDA's ScaledJobs are there
		p := s.start(t, "-kubeconfig", s.cluster.Kubeconfig(), "-install", "-leader-elect=false", "-namespace", "none")
		p.Said("acting")
		require.GreaterOrEqual(t, strings.Count(p.Output(), want), 2, p.Output())
		p.Stop()
	}
}

const everything = `
  pollingInterval: 30
  successfulJobsHistoryLimit: 5
  failedJobsHistoryLimit: 5
  envSourceContainerName: c
  minReplicaCount: 10
  maxReplicaCount: 100
  rolloutStrategy: gradual
  rollout: {strategy: gradual, propagationPolicy: foreground}
  scalingStrategy:
    strategy: default
    customScalingQueueLengthDeduction: 1
    customScalingRunningJobPercentage: "0.5"
    pendingPodConditions: [Ready, PodScheduled, AnyOtherCustomPodCondition]
    multipleScalersCalculation: max
  triggers: [{type: redis, name: a, useCachedMetrics: true, metricType: AverageValue, metadata: {a: b}, authenticationRef: {name: a, kind: ClusterTriggerAuthentication}}]
`

func (s *fixture) refuses(t *testing.T) {
	create := func(name, spec string) error {
		text := fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: %s, namespace: default}\nspec:\n%s%s", name, job(nil), spec)
		u := manifest.Objects(t, text)[0]
		_, err := s.dynamic.Resource(scaledJobs).Namespace("default").
			Create(t.Context(), u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	require.NoError(t, create("everything", everything))
	for field, spec := range map[string]string{
		"spec.pollingInterval":                       "  pollingInterval: 0\n  triggers: [{type: redis}]",
		"spec.maxReplicaCount":                       "  maxReplicaCount: -1\n  triggers: [{type: redis}]",
		"spec.triggers":                              "  triggers: []",
		"spec.scalingStrategy.strategy":              "  scalingStrategy: {strategy: best}\n  triggers: [{type: redis}]",
		"spec.rollout.strategy":                      "  rollout: {strategy: best}\n  triggers: [{type: redis}]",
		`unknown field "spec.cooldownPeriod"`:        "  cooldownPeriod: 3\n  triggers: [{type: redis}]",
		"spec.scalingStrategy.pendingPodCondition\"": "  scalingStrategy: {pendingPodCondition: []}\n  triggers: [{type: redis}]",
	} {
		require.ErrorContains(t, create("wrong", spec), field)
	}
}

func (s *fixture) redisTrigger(list string, target int) string {
	return fmt.Sprintf("  triggers: [{type: redis, metadata: {address: %q, listName: %q, listLength: %q}}]\n", s.workers.address, list, fmt.Sprint(target))
}

func (s *fixture) pauses(t *testing.T) {
	list := s.workers.list(t)
	q, _ := s.scaled(t, "pause", job(map[string]string{takesRedis: list, takesItems: "1"})+"  successfulJobsHistoryLimit: 1\n"+s.redisTrigger(list, 1))
	s.workers.send(t, list, 0, 3)
	q.becomes(30*time.Second, func(t *assert.CollectT) { s.workers.once(t, list, 3) })
	q.patch(`metadata: {annotations: {autoscaling.keda.sh/paused: "true"}}`)
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "True ScaledJobPaused", q.condition(t, "Paused"))
		require.Len(t, q.jobs(t), 1, "pruning goes on")
	})
	before := q.jobs(t)[0].UID
	s.workers.send(t, list, 3, 4)
	q.stays(3*time.Second, func(t require.TestingT) {
		require.Len(t, q.jobs(t), 1)
		require.Equal(t, before, q.jobs(t)[0].UID)
	})
	q.patch(`metadata: {annotations: {autoscaling.keda.sh/paused: null}}`)
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		s.workers.once(t, list, 7)
		require.Equal(t, "False ScaledJobUnpaused", q.condition(t, "Paused"))
	})
}

func (s *fixture) rollsOut(t *testing.T) {
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 3)
	q, _ := s.scaled(t, "rollout", job(map[string]string{works: "1h"})+s.redisTrigger(list, 1))
	images := func(t require.TestingT) (all []string) {
		for _, j := range q.jobs(t) {
			all = append(all, j.Spec.Template.Spec.Containers[0].Image)
		}
		return all
	}
	const one, two = "example.com/c:1", "example.com/c:2"
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.Equal(t, []string{one, one, one}, images(t)) })
	q.apply(strings.Replace(job(map[string]string{works: "1h"}), one, two, 1) + s.redisTrigger(list, 1))
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, []string{two, two, two}, images(t))
		require.Contains(t, q.events(t), "ScaledJobRolloutCleanupCompleted")
	})
	q.apply(job(map[string]string{works: "1h"}) + "  rollout: {strategy: gradual}\n" + s.redisTrigger(list, 1))
	q.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, []string{two, two, two}, images(t)) })
}

// An edit that leaves the Job as it is deletes no running Job, whenever the controller is killed: before it
// sees the edit, right after, and when it has polled.
func (s *fixture) keepsJobs(t *testing.T) {
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 3)
	spec := func(more string) string { return job(map[string]string{works: "1h"}) + more + s.redisTrigger(list, 1) }
	q, p := s.scaled(t, "edits", spec("  maxReplicaCount: 10\n"))
	uids := func(t require.TestingT) (all []types.UID) {
		for _, j := range q.jobs(t) {
			all = append(all, j.UID)
		}
		return all
	}
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, uids(t), 3) })
	created := uids(t)
	kept := func(t require.TestingT) { require.Equal(t, created, uids(t)) }
	for i, more := range []string{
		"  maxReplicaCount: 20\n", "  maxReplicaCount: 5\n  pollingInterval: 2\n", "  successfulJobsHistoryLimit: 3\n",
		"  scalingStrategy: {multipleScalersCalculation: sum}\n", "  minReplicaCount: 0\n  maxReplicaCount: 7\n",
	} {
		switch i % 3 {
		case 0: // the controller is away
			p.Kill()
			q.apply(spec(more))
			p = s.start(t, "-namespace", q.namespace, "-leader-elect=false")
		case 1: // it may have seen the edit
			q.apply(spec(more))
			p.Kill()
			p = s.start(t, "-namespace", q.namespace, "-leader-elect=false")
		case 2: // it polls with it
			q.apply(spec(more))
		}
		q.stays(3*time.Second, kept)
		q.becomes(30*time.Second, func(t *assert.CollectT) { require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready")) })
		kept(t)
	}
	// An upgrade: Jobs of a release with another hash, and of one without, stay after an edit of the template too.
	p.Kill()
	for i, j := range q.jobs(t) {
		if i > 0 {
			j.Annotations["scaledjob.github.io/template-hash"] = j.Annotations[adapter.AnnotationTemplateHash]
		}
		delete(j.Annotations, adapter.AnnotationTemplateHash)
		_, err := s.client.BatchV1().Jobs(q.namespace).Update(t.Context(), &j, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	p = s.start(t, "-namespace", q.namespace, "-leader-elect=false")
	p.Said("acting")
	q.apply(strings.Replace(spec("  maxReplicaCount: 7\n"), "image: ", "image: new-", 1))
	q.stays(15*time.Second, kept)
	for _, j := range q.jobs(t) {
		require.Nil(t, j.DeletionTimestamp)
	}
}

// What cannot be read is told, once, and min is kept.
func (s *fixture) tellsFailures(t *testing.T) {
	q, p := s.scaled(t, "unreadable", job(map[string]string{works: "1h"})+
		"  minReplicaCount: 2\n  triggers: [{type: redis, metadata: {address: '127.0.0.1:1', listName: a, listLength: '1'}, authenticationRef: {name: redis}}]\n", "-log-level=debug")
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Equal(t, "False TriggerError", q.condition(t, "Ready")) })
	s.apply(t, `apiVersion: v1
kind: Secret
metadata: {name: redis, namespace: unreadable}
stringData: {password: `+secret.New("redis")+`}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: redis, namespace: unreadable}
spec: {secretTargetRef: [{parameter: password, name: redis, key: password}]}`)
	p.Said("KEDA cannot use a trigger")
	q.stays(3*time.Second, func(t require.TestingT) {
		require.Equal(t, "False TriggerError", q.condition(t, "Ready"))
		require.Equal(t, "Unknown UnknownState", q.condition(t, "Active"))
	})
	require.Len(t, q.jobs(t), 2)
	require.Equal(t, []string{"JobsCreated", "ScalerFailed"}, q.events(t))
}

// What the API server does not check of a Job template is told, and nothing done.
func (s *fixture) tellsInvalid(t *testing.T) {
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 3)
	right := job(map[string]string{works: "1h"}) + s.redisTrigger(list, 1)
	q, p := s.scaled(t, "invalid", strings.Replace(right, "image:", "imagePullPolice: Always, image:", 1))
	p.Said("imagePullPolice")
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Equal(t, "False ScaledJobCheckFailed", q.condition(t, "Ready")) })
	require.Empty(t, q.jobs(t))
	q.apply(strings.Replace(right, "containers:", "containers: [], ephemeralContainers:", 1))
	p.Said("no container")
	require.Empty(t, q.jobs(t))
	q.apply(right)
	q.becomes(10*time.Second, func(t *assert.CollectT) {
		require.Len(t, q.jobs(t), 3)
		require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready"))
	})
}

// A ScaledJob that is made anew under its name does not count what was the old
// one's, which the garbage collector takes.
func (s *fixture) replaced(t *testing.T) {
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 2)
	spec := job(map[string]string{works: "1h"}) + "  maxReplicaCount: 2\n" + s.redisTrigger(list, 1)
	q, _ := s.scaled(t, "replaced", spec)
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, q.jobs(t), 2) })
	old := q.jobs(t)[0].OwnerReferences[0].UID
	require.NoError(t, q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Delete(t.Context(), "consumer", metav1.DeleteOptions{}))
	q.apply(spec)
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		jobs := q.jobs(t)
		require.Len(t, jobs, 2)
		for _, j := range jobs {
			require.NotEqual(t, old, j.OwnerReferences[0].UID)
		}
		require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready"))
	})
}

// A poll in which nothing changes asks the API server for the values only, also where a watch cannot
// begin with the objects that there are. KEDA and the autoscaler write nothing either: scaling is disabled.
func (s *fixture) rests(t *testing.T) {
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 3)
	q, _ := s.scaled(t, "rest", job(map[string]string{works: "1h"})+s.redisTrigger(list, 1))
	disabled := func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse && c.Reason == "ScalingDisabled"
	}
	q.becomes(time.Minute, func(t *assert.CollectT) {
		require.Len(t, q.jobs(t), 3)
		require.Contains(t, q.events(t), "JobsCreated")
		autoscalers, err := s.client.AutoscalingV2().HorizontalPodAutoscalers(q.namespace).List(q.t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, autoscalers.Items, 1)
		require.True(t, slices.ContainsFunc(autoscalers.Items[0].Status.Conditions, disabled))
	})
	time.Sleep(3 * time.Second) // the last events of the pods, and KEDA mirrors the autoscaler's condition
	count := func() int {
		return s.cluster.Count(t, func(r cluster.Request) bool {
			ours := r.User == account && r.Verb != "watch" && r.Group != "external.metrics.k8s.io"
			return r.Namespace == q.namespace && (ours || !slices.Contains([]string{"get", "list", "watch"}, r.Verb))
		})
	}
	before := count()
	time.Sleep(4 * time.Second)
	require.Equal(t, before, count())
}

// Of two controllers one acts, and when it stops or dies the other goes on.
func (s *fixture) elects(t *testing.T) {
	list := s.workers.list(t)
	q, first := s.scaled(t, "elect", job(map[string]string{works: "1h"})+s.redisTrigger(list, 1), "-leader-elect", "-lease-duration=5s", "-lease-namespace=scaledjob")
	first.Said("acting")
	second := s.start(t, "-namespace", q.namespace, "-lease-duration=5s", "-lease-namespace=scaledjob")
	s.workers.send(t, list, 0, 3)
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, q.jobs(t), 3) })
	second.Said("the lease is held")
	require.NotContains(t, second.Output(), "acting")
	first.Stop()
	begin := time.Now()
	second.Said("acting")
	require.Less(t, time.Since(begin), 5*time.Second, "the lease was given up")
	third := s.start(t, "-namespace", q.namespace, "-lease-duration=5s", "-lease-namespace=scaledjob")
	third.Said("the lease is held")
	s.workers.send(t, list, 3, 297)
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Greater(t, len(q.jobs(t)), 10) })
	second.Kill() // in the middle of a burst
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, q.jobs(t), 100) })
	third.Said("acting")
	q.stays(3*time.Second, func(t require.TestingT) { require.Len(t, q.jobs(t), 100, "the maximum") })
	third.Stop()
}

// A controller that may not write the status creates Jobs and dies before it
// has: the next one neither makes them again, nor leaves the status as it is.
func (s *fixture) killedBeforeStatus(t *testing.T) {
	list := s.workers.list(t)
	s.workers.send(t, list, 0, 5)
	may := s.kubeconfig
	defer func() { s.kubeconfig = may }()
	s.apply(t, strings.NewReplacer("name: scaledjob-controller", "name: without-status", "- patch", "- get").Replace(installed(t)))
	s.kubeconfig = s.cluster.UserKubeconfig(t, strings.Replace(account, "scaledjob-controller", "without-status", 1))
	q, p := s.scaled(t, "status", job(map[string]string{works: "1h"})+s.redisTrigger(list, 1))
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.Len(t, q.jobs(t), 5) })
	p.Said("status not written")
	p.Kill()
	jobs := q.jobs(t)
	require.Empty(t, q.condition(t, "Ready"))
	s.kubeconfig = may
	s.start(t, "-namespace", q.namespace, "-leader-elect=false")
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready")) })
	q.stays(2*time.Second, func(t require.TestingT) { require.Equal(t, names(jobs), names(q.jobs(t))) })
}

func names(jobs []batchv1.Job) (all []string) {
	for _, j := range jobs {
		all = append(all, j.Name)
	}
	return all
}

// The sample of the README.
func (s *fixture) sample(t *testing.T) {
	s.apply(t, manifest.Read(t, "../manifests/sample.yaml"))
	p := s.start(t, "-namespace", "default", "-leader-elect=false", "-watch-pods=false")
	p.Said("created=3")
	require.NoError(t, p.Command.Process.Signal(syscall.SIGINT))
	require.NoError(t, p.Wait())
	require.Contains(t, p.Output(), "stopped")
}
