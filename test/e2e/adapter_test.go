package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// One cluster serves all: starting it takes longer than most of the tests. Each
// has a namespace of its own, whose name decides what becomes of its pods.
func TestAdapter(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		switch {
		case strings.HasPrefix(p.Namespace, "finish"):
			return cluster.Run{Exit: int32(len(p.Labels["fails"]))}
		case strings.HasPrefix(p.Namespace, "drain") && strings.HasSuffix(p.Labels[batchv1.JobNameLabel], "-1"):
			return cluster.Run{Work: time.Hour}
		case strings.HasPrefix(p.Namespace, "drain"), strings.HasPrefix(p.Namespace, "pending"):
			return cluster.Run{Start: -1}
		}
		return cluster.Run{Work: time.Hour}
	})
	client := c.Client(t)
	t.Run("creates, recognizes, goes on", func(t *testing.T) { testCreate(t, client) })
	t.Run("somebody else's Jobs", func(t *testing.T) { testOthers(t, client) })
	t.Run("immediate", func(t *testing.T) { testImmediate(t, client) })
	t.Run("drain", func(t *testing.T) { testDrain(t, client) })
	t.Run("history", func(t *testing.T) { testHistory(t, client) })
	t.Run("replaced under its name", func(t *testing.T) { testReplaced(t, client) })
	t.Run("refused", func(t *testing.T) { testRefused(t, client) })
	t.Run("owner goes", func(t *testing.T) { testOwnerGoes(t, client) })
	t.Run("three ways of pending", func(t *testing.T) { testPending(t, client) })
}

// A fleet is a ScaledJob in a namespace of its own, owned by a ConfigMap.
type fleet struct {
	t       *testing.T
	client  kubernetes.Interface
	target  adapter.Target
	tracker *adapter.Tracker // as of the last look
}

func newFleet(t *testing.T, client kubernetes.Interface, namespace string) *fleet {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	m, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	config, err := scaledjob.Configure(scaledJob(t), nil)
	require.NoError(t, err)
	target := config.Target
	target.Owner = adapter.OwnerOf(m, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return &fleet{t: t, client: client, target: target}
}

// scaledJob returns a ScaledJob each of whose items asks for a Job.
func scaledJob(t *testing.T) *manifest.ScaledJob {
	t.Helper()
	found, err := manifest.Read([]byte(`
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders.consumer-of-a-shop-with-a-name-that-is-longer-than-a-label-may-be, generation: 1, labels: {team: a}}
spec:
  jobTargetRef: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c:1}]}}}
  triggers: [{type: rabbitmq, metadata: {value: "1"}}]
`))
	require.NoError(t, err)
	return found[0]
}

func items(n float64) []scaling.Metric {
	return []scaling.Metric{{Name: "orders", Value: n, Target: 1}}
}

// look lists the Jobs and plans for a queue.
func (f *fleet) look(queue float64) adapter.Plan {
	f.t.Helper()
	var err error
	f.tracker, err = adapter.List(f.t.Context(), f.client, f.target, adapter.Options{Pods: true, Selector: scaledjob.Selector})
	require.NoError(f.t, err)
	return f.tracker.Plan(f.target.Owner.UID, items(queue), time.Now())
}

// apply carries out the plan of the last look.
func (f *fleet) apply(p adapter.Plan) adapter.Result {
	f.t.Helper()
	r, err := f.tracker.Apply(f.t.Context(), f.client, p)
	require.NoError(f.t, err)
	return r
}

func (f *fleet) observed() []adapter.Job {
	f.t.Helper()
	jobs, known := f.tracker.Jobs(f.target.Owner.UID)
	require.True(f.t, known)
	return jobs
}

func (f *fleet) counts() scaling.JobCounts {
	f.t.Helper()
	counts, known := f.tracker.Counts(f.target.Owner.UID, time.Now())
	require.True(f.t, known)
	return counts
}

func (f *fleet) jobs() []batchv1.Job {
	f.t.Helper()
	l, err := f.client.BatchV1().Jobs(f.target.Owner.Namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	return l.Items
}

func (f *fleet) eventually(what string, ok func() bool) {
	f.t.Helper()
	require.Eventually(f.t, ok, 30*time.Second, 100*time.Millisecond, what)
}

// counted waits until the Jobs count so.
func (f *fleet) counted(want scaling.JobCounts) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%+v", want), func() bool {
		f.look(0)
		return f.counts() == want
	})
}

// settled waits until the statuses of the Jobs hold so many active and ready pods: a status
// that is written between a plan and its deletes would defer those to the next plan.
func (f *fleet) settled(active, ready int32) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%d active and %d ready pods", active, ready), func() bool {
		var actives, readies int32
		for _, j := range f.jobs() {
			actives += j.Status.Active
			if j.Status.Ready != nil {
				readies += *j.Status.Ready
			}
		}
		return actives == active && readies == ready
	})
}

func testCreate(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "create")
	plan := f.look(100)
	begin := time.Now()
	require.Equal(t, int64(100), f.apply(plan).Created)
	t.Logf("100 Jobs created in %s", time.Since(begin))
	require.Len(t, f.jobs(), 100)
	f.look(0)
	f.counted(scaling.JobCounts{Running: 100})
	f.target.Policy.Bounds.Max = 103
	require.Equal(t, int64(3), f.apply(f.look(500)).Created)
	require.Len(t, f.jobs(), 103)

	// Another that has seen none of them finds them by their names.
	blind, err := adapter.Observe(f.target, adapter.Options{}, nil, nil)
	require.NoError(t, err)
	r, err := blind.Apply(t.Context(), client, blind.Plan(f.target.Owner.UID, items(500), time.Now()))
	require.NoError(t, err)
	require.Equal(t, adapter.Result{Existing: 103}, r)
	require.Len(t, f.jobs(), 103)
}

func testOthers(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "others")
	orphan := f.target.NewJob(1)
	orphan.Name, orphan.OwnerReferences = "orphan", nil
	before := f.target.NewJob(1)
	before.Name, before.OwnerReferences[0].UID, before.OwnerReferences[0].Name = "before", "00000000-0000-4000-8000-000000000000", "another"
	for _, j := range []*batchv1.Job{orphan, before} {
		_, err := client.BatchV1().Jobs(f.target.Owner.Namespace).Create(t.Context(), j, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	f.target.Revision.Generation = 2
	plan := f.look(1)
	require.Empty(t, f.observed())
	require.Empty(t, plan.Delete)
	require.Equal(t, int64(1), plan.Create)
}

func testImmediate(t *testing.T, client kubernetes.Interface) {
	for _, propagation := range []rollout.Propagation{rollout.Background, rollout.Foreground, rollout.Orphan} {
		f := newFleet(t, client, "immediate-"+propagation.String())
		f.target.Policy.Bounds.Max = 4
		f.target.Rollout = rollout.Policy{Strategy: rollout.Immediate, Propagation: propagation, EveryEdit: true}
		f.apply(f.look(3))
		f.counted(scaling.JobCounts{Running: 3})
		f.settled(3, 3)
		f.target.Revision.Generation = 2
		plan := f.look(9)
		require.Len(t, plan.Delete, 3)
		require.Equal(t, int64(1), plan.Create, "the old ones hold room in this poll:\n%s", plan.Decision)
		require.Equal(t, adapter.Result{Created: 1, Outdated: 3}, f.apply(plan))
		f.counted(scaling.JobCounts{Running: 1})
		pods, err := client.CoreV1().Pods(f.target.Owner.Namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		if propagation == rollout.Orphan {
			require.Len(t, pods.Items, 4)
		}
		require.Equal(t, int64(3), f.look(9).Create)
	}
}

func testDrain(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "drain")
	f.target.Rollout = rollout.Policy{Strategy: rollout.Drain, EveryEdit: true}
	f.apply(f.look(3))
	f.counted(scaling.JobCounts{Running: 3, Pending: 2})
	f.settled(3, 1)
	f.target.Revision.Generation = 2
	require.Equal(t, 2, f.apply(f.look(0)).Outdated)
	f.counted(scaling.JobCounts{Running: 1})
}

func testHistory(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "finish")
	f.target.History = history.Policy{Succeeded: history.Keep(2), Failed: history.Keep(1)}
	f.apply(f.look(5))
	f.target.Job.Spec.Template.Labels = map[string]string{"fails": "x"}
	f.apply(f.look(8))
	f.eventually("all finish", func() bool { f.look(0); return f.counts() == scaling.JobCounts{} })
	n, failed := len(f.observed()), 0
	for _, j := range f.observed() {
		require.False(t, j.Finished.IsZero())
		if j.Phase == adapter.Failed {
			failed++
		}
	}
	require.Positive(t, failed)
	require.Equal(t, n-3, f.apply(f.look(0)).Pruned)
	f.eventually("two succeeded and one failed are left", func() bool { f.look(0); return len(f.observed()) == 3 })
	require.Empty(t, f.look(0).Delete)
}

// A Job that was created under the name of one to delete stays.
func testReplaced(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "pending-replaced")
	f.target.Revision.TemplateHash = "before"
	f.apply(f.look(1))
	f.target.Revision = rollout.Revision{Generation: 2, TemplateHash: "after"}
	plan := f.look(0)
	require.Len(t, plan.Delete, 1)
	jobs, name := client.BatchV1().Jobs(f.target.Owner.Namespace), plan.Delete[0].Name
	background := metav1.DeletePropagationBackground
	require.NoError(t, jobs.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}))
	f.eventually("it is gone", func() bool {
		_, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	old := f.tracker
	f.apply(f.look(1))
	r, err := old.Apply(t.Context(), client, plan)
	require.NoError(t, err)
	require.Equal(t, 1, r.Outdated, "the Job of the plan is gone")
	_, err = jobs.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err, "the other is not")
}

func testRefused(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "refused")
	f.target.Job.Spec.Template.Spec.Containers[0].Image = ""
	plan := f.look(9)
	r, err := f.tracker.Apply(t.Context(), client, plan)
	var refused *adapter.CreateError
	require.ErrorAs(t, err, &refused)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.Zero(t, r.Created)
	require.Empty(t, f.jobs())
}

func testOwnerGoes(t *testing.T, client kubernetes.Interface) {
	f := newFleet(t, client, "owner-goes")
	f.apply(f.look(5))
	require.Len(t, f.jobs(), 5)
	require.NoError(t, client.CoreV1().ConfigMaps("owner-goes").Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	f.eventually("the Jobs are collected", func() bool { return len(f.jobs()) == 0 })
}

// What is pending by the Jobs' status, by the phases of pods and by conditions, seen
// by a tracker.
func testPending(t *testing.T, client kubernetes.Interface) {
	for _, tt := range []struct {
		namespace                  string
		status, phases, conditions int64
	}{
		{"pending-ways", 3, 3, 3},
		{"running-ways", 0, 0, 3},
	} {
		f := newFleet(t, client, tt.namespace)
		f.apply(f.look(3))
		for _, way := range []struct {
			pods       bool
			conditions []string
			pending    int64
		}{
			{false, nil, tt.status},
			{true, nil, tt.phases},
			{true, []string{"Ready"}, tt.phases},
			{true, []string{"Ready", "example.com/Consumed"}, tt.conditions},
		} {
			tracker, err := adapter.NewTracker(client, adapter.Options{Terms: requests.OneShot(), Namespace: tt.namespace, Pods: way.pods})
			require.NoError(t, err)
			f.target.PendingPodConditions = way.conditions
			require.NoError(t, tracker.Track(f.target))
			go tracker.Run(t.Context())
			f.eventually(fmt.Sprintf("%+v", way), func() bool {
				counts, known := tracker.Counts(f.target.Owner.UID, time.Now())
				return known && counts == scaling.JobCounts{Running: 3, Pending: way.pending}
			})
		}
	}
}
