package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// Jobs that run on a member whose API server dies still run: none is lost, none is
// made twice, whatever becomes of the controller meanwhile.
func (s *fixture) survives(t *testing.T) {
	q := s.space(t, "survives")
	q.waiting("queue", 20)
	q.job("work", weights(2, 3)+fmt.Sprintf(failoverPolicy, "20s", "8s", "keepAll"), "")
	p := s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{8, 12}, q.counts(t, "work", one, two))
		status := q.status(t, dsj, "work")
		require.EqualValues(t, 20, status["desiredJobs"])
		require.EqualValues(t, 20, status["runningJobs"])
		require.EqualValues(t, 0, status["pendingJobs"])
	})
	before := q.uids()
	q.away(two)
	q.becomes(func(t *assert.CollectT) {
		m := q.member(t, dsj, "work", two)
		require.Equal(t, "NotReady", m["state"])
		require.Equal(t, true, m["hardTainted"])
		require.Equal(t, true, m["excluded"])
		require.EqualValues(t, 12, m["runningJobs"], "as last seen")
		q.told(t, "work", "Warning MemberHardTainted", two)
	})
	q.waiting("queue", 25)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{13}, q.counts(t, "work", one)) })
	q.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, []int{13}, q.counts(t, "work", one)) })
	p.Kill()
	s.start(t, "-namespace", q.namespace).Said("acting")
	q.stays(5*time.Second, func(t require.TestingT) {
		require.Equal(t, []int{13}, q.counts(t, "work", one), "also after a restart")
		require.EqualValues(t, 12, q.member(t, dsj, "work", two)["runningJobs"])
	})

	q.back(two)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, "Ready", q.member(t, dsj, "work", two)["state"]) })
	require.Equal(t, []int{13, 12}, q.counts(t, "work", one, two))
	require.Subset(t, q.uids(), before, "none is lost")
	q.becomes(func(t *assert.CollectT) {
		m := q.member(t, dsj, "work", two)
		require.Equal(t, false, m["hardTainted"])
		require.Equal(t, false, m["excluded"])
		q.told(t, "work", "Normal MemberReady", two)
	})
	q.waiting("queue", 40)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{16, 24}, q.counts(t, "work", one, two)) })
	q.becomes(func(t *assert.CollectT) { require.EqualValues(t, 0, q.status(t, dsj, "work")["pendingJobs"]) })
	q.rests()
	require.Equal(t, []int{16, 24}, q.counts(t, "work", one, two))
}

// A Job at a time follows the weights: of any number each member has its share within 2.
func (s *fixture) trickles(t *testing.T) {
	q := s.space(t, "trickles")
	q.waiting("queue", 1)
	q.job("work", weights(2, 3), "work: 10ms")
	s.start(t, "-namespace", q.namespace)
	var created []int
	q.becomes(func(t *assert.CollectT) {
		created = q.created(t, one, two)
		require.GreaterOrEqual(t, created[0]+created[1], 15)
	})
	t.Log("created one at a time, weights 2 and 3:", created)
	require.InDelta(t, float64(created[0]+created[1])*2/5, created[0], 2)
}

// rests checks that polls which change nothing write nothing, neither at home nor on
// the members.
func (q *space) rests() {
	writes := func() (n int) {
		for _, c := range []site{q.home, q.members[one], q.members[two]} {
			n += c.Count(q.t, func(r cluster.Request) bool {
				return r.Namespace == q.namespace && (r.User == account || strings.HasSuffix(r.User, ":"+registry.Account)) &&
					!slices.Contains([]string{"get", "list", "watch"}, r.Verb)
			})
		}
		return n
	}
	time.Sleep(2 * time.Second) // the last events
	before := writes()
	require.NotZero(q.t, before)
	time.Sleep(4 * time.Second)
	require.Equal(q.t, before, writes())
}

func (q *space) uids() (all []types.UID) {
	for _, name := range names[:2] {
		for _, j := range q.jobs(q.t, name, "work") {
			all = append(all, j.UID)
		}
	}
	return all
}

// Of four Jobs two are on a member where pods do not start, or take long. They are
// replaced after the grace period of 3 s, and what is then there twice is resolved as the
// policy says.
func (s *fixture) replaces(t *testing.T) {
	q := s.space(t, "replaces")
	q.waiting("queue", 4)
	const never, late = two + `: "-1s"`, two + `: "20s"`
	policy := func(p string) string { return fmt.Sprintf(failoverPolicy, "30s", "5m", p) }
	q.job("keep-all", weights(1, 1)+policy("keepAll"), never)
	q.job("prefer-failover", weights(1, 1)+policy("preferFailover"), never)
	q.job("prefer-source", weights(1, 1)+policy("preferSource"), late)
	// Both are on the second member, and their replacements do not start either.
	neither := "  memberClusters: [{name: " + two + ", weight: 1000}, {name: " + three + ", weight: 1}]"
	q.job("immediate", neither+policy("immediateSourceCleanup"), never+", "+three+`: "-1s"`, "maxReplicaCount: 2", "failoverOverMax: true")
	q.job("none-runs", neither+policy("preferFailover"), never+", "+three+`: "-1s"`, "maxReplicaCount: 2", "failoverOverMax: true")
	q.interval = 10
	q.job("in-time", weights(1, 1)+policy("keepAll"), never)
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{2, 0}, q.counts(t, "immediate", two, three)) })
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{0, 2}, q.counts(t, "immediate", two, three), "as soon as there are replacements")
	})
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{4, 2}, q.counts(t, "keep-all", one, two))
		require.Equal(t, []int{4, 0}, q.counts(t, "prefer-failover", one, two))
		require.Equal(t, []int{2, 2}, q.counts(t, "none-runs", two, three))
	})
	require.EqualValues(t, 2, q.member(t, dsj, "keep-all", two)["stuckJobs"])
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{4, 2}, q.counts(t, "in-time", one, two)) })
	q.inTime("in-time", 3*time.Second, 10*time.Second)
	q.inTime("keep-all", 3*time.Second, 10*time.Second)

	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{2, 2}, q.counts(t, "prefer-source", one, two))
		require.EqualValues(t, 0, q.status(t, dsj, "prefer-source")["pendingJobs"])
	})
	for name, want := range map[string][]int{"keep-all": {4, 2}, "prefer-failover": {4, 0}} {
		require.Equal(t, want, q.counts(t, name, one, two), name)
	}
	require.Equal(t, []int{2, 2}, q.counts(t, "none-runs", two, three), "none is deleted before another runs")
	for _, name := range []string{"prefer-failover", "prefer-source", "immediate"} {
		q.becomes(func(t *assert.CollectT) { q.told(t, name, "Normal DuplicatesDeleted") })
	}
}

// jobID returns what a replacement calls the Job in its label.
func jobID(j *batchv1.Job) string { return j.Name + "." + j.Labels["scaledjob.github.io/creation"] }

// inTime checks that each source has one replacement, elsewhere, that was created
// within the grace period and a poll. Times of Jobs are whole seconds.
func (q *space) inTime(name string, grace, poll time.Duration) {
	q.t.Helper()
	replacements := map[string]batchv1.Job{}
	for _, j := range q.jobs(q.t, one, name) {
		if id := j.Labels["scaledjob.github.io/source"]; id != "" {
			require.NotContains(q.t, replacements, id)
			replacements[id] = j
		}
	}
	sources := q.jobs(q.t, two, name)
	require.Len(q.t, replacements, len(sources))
	for _, source := range sources {
		replacement, ok := replacements[jobID(&source)]
		require.True(q.t, ok)
		after := replacement.CreationTimestamp.Sub(source.CreationTimestamp.Time)
		require.GreaterOrEqual(q.t, after, grace-time.Second)
		require.LessOrEqual(q.t, after, grace+poll)
		require.Empty(q.t, replacement.OwnerReferences)
	}
}

// A Job of size 4 finds no room on the first member: larger ones do not try, smaller
// ones do; also after a restart.
func (s *fixture) failsOver(t *testing.T) {
	q := s.space(t, "failover")
	q.waiting("queue", 2)
	spec := func(size int) string {
		return fmt.Sprintf(`  memberClusters: [{name: %s, scheduling: {priority: 100}}, {name: %s, scheduling: {priority: 0}}]
  clusterScheduling:
    strategy: priorityFailover
    workloadAffinity: {class: team-a, size: %d}
    failoverPolicy: {gracePeriod: 3s, duplicationPolicy: preferFailover}`, one, two, size)
	}
	q.job("size-4", spec(4), one+`: "-1s"`)
	p := s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{2, 0}, q.counts(t, "size-4", one, two)) })
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{0, 2}, q.counts(t, "size-4", one, two))
		m := q.member(t, dsj, "size-4", one)
		require.Equal(t, []any{map[string]any{"class": "team-a", "priority": int64(100), "size": int64(4)}}, m["hardTaintScopes"])
		require.Equal(t, true, m["excluded"])
		require.Equal(t, false, m["hardTainted"], "not for all")
	})
	q.job("size-3", spec(3), "")
	q.job("size-5", spec(5), "")
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{2, 0}, q.counts(t, "size-3", one, two))
		require.Equal(t, []int{0, 2}, q.counts(t, "size-5", one, two))
	})
	p.Kill()
	q.job("size-6", spec(6), "")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{0, 2}, q.counts(t, "size-6", one, two)) })
}

func (s *fixture) pauses(t *testing.T) {
	q := s.space(t, "pauses")
	q.waiting("queue", 2)
	q.job("work", weights(1, 1), "")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{1, 1}, q.counts(t, "work", one, two)) })
	q.annotate(dsj, "work", "autoscaling.keda.sh/paused", "true")
	q.becomes(func(t *assert.CollectT) {
		paused, _ := q.condition(t, dsj, "work", "Paused")
		require.Equal(t, "True Paused", paused)
	})
	q.waiting("queue", 6)
	q.becomes(func(t *assert.CollectT) { require.EqualValues(t, 6, q.status(t, dsj, "work")["desiredJobs"]) })
	q.stays(2*time.Second, func(t require.TestingT) { require.Equal(t, []int{1, 1}, q.counts(t, "work", one, two)) })
	q.annotate(dsj, "work", "autoscaling.keda.sh/paused", nil)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{3, 3}, q.counts(t, "work", one, two))
		paused, _ := q.condition(t, dsj, "work", "Paused")
		require.Equal(t, "False NotPaused", paused)
	})
}

// Overrides are seen in the Jobs of one member only, and those of a container that is
// not there are told.
func (s *fixture) overrides(t *testing.T) {
	q := s.space(t, "overrides")
	q.waiting("queue", 2)
	q.job("work", fmt.Sprintf(`  memberClusters:
    - name: %s
      podOverrides:
        nodeSelector: {nodepool: gpu}
        containerOverrides:
          processor: {image: "my-registry.local/processor:v2", env: [{name: LOG_LEVEL, value: debug}]}
          procesor: {image: "my-registry.local/processor:v3"}
    - name: %s`, one, two), "")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{1, 1}, q.counts(t, "work", one, two))
		q.told(t, "work", "Warning PodOverrideWarning", "spec.memberClusters[0].podOverrides.containerOverrides[procesor]", "no such container")
	})
	there, other := q.jobs(t, one, "work")[0].Spec.Template.Spec, q.jobs(t, two, "work")[0].Spec.Template.Spec
	require.Equal(t, map[string]string{"nodepool": "gpu"}, there.NodeSelector)
	require.Equal(t, "my-registry.local/processor:v2", there.Containers[0].Image)
	require.Equal(t, "debug", there.Containers[0].Env[0].Value)
	require.Empty(t, other.NodeSelector)
	require.Equal(t, "example.com/c:1", other.Containers[0].Image)
	require.Empty(t, other.Containers[0].Env)
}

// A controller that is killed again and again while it creates makes no Job twice.
func (s *fixture) killedInBurst(t *testing.T) {
	q := s.space(t, "burst")
	q.waiting("queue", 600)
	q.job("work", weights(1, 1), "", "maxReplicaCount: 600")
	sum := func(t require.TestingT) (sum int) {
		for _, n := range q.counts(t, "work", one, two) {
			sum += n
		}
		return sum
	}
	for range 2 {
		before := sum(t)
		p := s.start(t, "-namespace", q.namespace)
		q.becomes(func(t *assert.CollectT) { require.Greater(t, sum(t), before+10) })
		p.Kill()
		require.Less(t, sum(t), 600, "killed in the middle")
	}
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, 600, sum(t)) })
	q.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, 600, sum(t)) })
}

// When an API server dies while Jobs are created there, those of which nobody knows
// whether they exist are replaced elsewhere after the grace period; when it is back,
// what is there twice is resolved as the policy says. There are never more than the maximum.
func TestDistributedScaledJob(t *testing.T) {
	s := newFixture(t, one, two)
	s.join(t)
	q := s.space(t, "dies")
	jobs := cluster.WatchJobs(t, q.namespace, s.members[one].Cluster, s.members[two].Cluster)
	q.waiting("queue", 300)
	q.job("work", weights(1, 1)+fmt.Sprintf(failoverPolicy, "5s", "5s", "preferFailover"), "", "maxReplicaCount: 450")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Greater(t, len(q.jobs(t, two, "work")), 10) })
	q.away(two)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, true, q.member(t, dsj, "work", two)["hardTainted"]) })
	q.becomes(func(t *assert.CollectT) { require.Greater(t, len(q.jobs(t, one, "work")), 150, "replaced") })
	q.back(two)
	settled := func(t require.TestingT) {
		sources, there := map[string]bool{}, 0
		for _, name := range names[:2] {
			for _, j := range q.jobs(t, name, "work") {
				sources[j.Labels["scaledjob.github.io/source"]] = true
				there++
			}
		}
		require.Equal(t, 300, there)
		for _, name := range names[:2] {
			for _, j := range q.jobs(t, name, "work") {
				require.False(t, sources[jobID(&j)], "a Job and its replacement")
			}
		}
	}
	q.becomes(func(t *assert.CollectT) { settled(t) })
	q.stays(5*time.Second, settled)
	q.becomes(func(t *assert.CollectT) { require.Len(t, jobs().Unfinished, 300, "the watch is back") })
	require.LessOrEqual(t, jobs().Peak, 450)
}

// Of two controllers one acts, and when it stops the other does at once. They act in all
// namespaces, so that a hard taint of an earlier case would count. Their watches do not
// begin with the objects that there are, as with older API servers.
func (s *fixture) elects(t *testing.T) {
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	q := s.space(t, "elects")
	q.waiting("queue", 2)
	q.job("work", weights(1, 1), "")
	first := s.start(t, "-leader-elect", "-lease-duration=6s")
	first.Said("acting")
	second := s.start(t, "-leader-elect", "-lease-duration=6s")
	second.Said("the lease is held")
	require.NotContains(t, second.Output(), "acting")
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{1, 1}, q.counts(t, "work", one, two)) })
	require.NotContains(t, second.Output(), "acting", "nor later")
	first.Stop()
	second.Said("acting")
	q.waiting("queue", 4)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{2, 2}, q.counts(t, "work", one, two)) })
	second.Stop()
}

// restore applies the object with its finalizer, as from a backup.
func (q *space) restore(name string) {
	objects := q.dynamic.Resource(dsj).Namespace(q.namespace)
	q.becomes(func(t *assert.CollectT) {
		u, err := objects.Get(q.t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, u.GetFinalizers())
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		_, err = objects.Apply(q.t.Context(), name, u, metav1.ApplyOptions{FieldManager: "backup", Force: true})
		require.NoError(t, err)
	})
}

// A deletion takes the Jobs of all members along, and waits for one that is away until
// it is back or given up.
func (s *fixture) cleansUp(t *testing.T) {
	q := s.space(t, "deletion")
	q.waiting("queue", 6)
	for _, name := range []string{"all", "waits", "given-up"} {
		q.job(name, weights(1, 1, 1), "")
	}
	s.start(t, "-namespace", q.namespace)
	q.restore("all")
	q.becomes(func(t *assert.CollectT) {
		for _, name := range []string{"all", "waits", "given-up"} {
			require.Equal(t, []int{2, 2, 2}, q.counts(t, name, names...))
		}
	})
	remove := func(name string) {
		require.NoError(t, q.dynamic.Resource(dsj).Namespace(q.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	gone := func(t require.TestingT, name string) {
		_, err := q.dynamic.Resource(dsj).Namespace(q.namespace).Get(q.t.Context(), name, metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), err)
	}
	remove("all")
	q.becomes(func(t *assert.CollectT) { gone(t, "all") })
	require.Equal(t, []int{0, 0, 0}, q.counts(t, "all", names...))

	q.away(three)
	remove("waits")
	remove("given-up")
	q.becomes(func(t *assert.CollectT) {
		for _, name := range []string{"waits", "given-up"} {
			require.Equal(t, []int{0, 0}, q.counts(t, name, one, two))
			q.told(t, name, "Warning CleanupWaits", three, "abandon-members")
		}
	})
	q.annotate(dsj, "given-up", "scaledjob.keda.sh/abandon-members", three)
	q.becomes(func(t *assert.CollectT) {
		gone(t, "given-up")
		q.told(t, "given-up", "Warning JobsLeftBehind", three)
	})
	q.back(three)
	q.becomes(func(t *assert.CollectT) { gone(t, "waits") })
	require.Equal(t, []int{0, 2}, []int{len(q.jobs(t, three, "waits")), len(q.jobs(t, three, "given-up"))})
	require.True(t, slices.Equal([]int{0, 0}, q.counts(t, "waits", one, two)))
}
