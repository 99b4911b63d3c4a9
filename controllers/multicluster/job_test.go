package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	kube "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/scaling"
)

const threeItems = `
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: work, namespace: shop, uid: u1, finalizers: [` + finalizer + `]}
spec:
  scaledJobSpec:
    jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}
    triggers: [{type: metrics-api, metadata: {url: "http://queue", valueLocation: items, targetValue: "1"}}]
`

// threeWait is KEDA with a reading of three items each time, or with none while silent.
type threeWait struct {
	owners []kedametrics.Owner
	left   []types.UID
	silent bool
}

func (w *threeWait) Track(o kedametrics.Owner) error { w.owners = append(w.owners, o); return nil }
func (w *threeWait) Untrack(uid types.UID)           { w.left = append(w.left, uid) }
func (w *threeWait) Take(cache.ObjectName) (kedametrics.Reading, bool) {
	return kedametrics.Reading{Metrics: []scaling.Metric{{Name: "queue", Value: 3, Target: 1}}}, !w.silent
}

// A bench is the poller of a DistributedScaledJob that has three items, with fake API
// servers.
type bench struct {
	*job
	queue  *threeWait
	home   *fake.FakeDynamicClient
	log    bytes.Buffer
	member *kube.Clientset
	create func() error // answers a create, unless it is nil
}

// newBench registers the same API server under each of the names.
func newBench(t *testing.T, names ...string) *bench {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(threeItems), &u.Object))
	b := &bench{queue: &threeWait{}, home: fake.NewSimpleDynamicClient(runtime.NewScheme(), u), member: kube.NewClientset()}
	n := 0
	b.member.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		n++
		a.(clienttesting.CreateAction).GetObject().(*batchv1.Job).UID = types.UID(fmt.Sprint("job-", n))
		if b.create != nil {
			err := b.create()
			return err != nil, nil, err
		}
		return false, nil, nil
	})
	log := process.Log{}.To(&b.log)
	c := &controller{options: newOptions(), log: log, home: "home", reader: b.queue, recorder: events.NewFakeRecorder(100)}
	c.Dynamic = b.home
	c.members = &members{controller: c}
	for _, name := range names {
		m, err := member.New(name, member.Clients{Requests: b.member, Watches: b.member}, member.Options{Terms: requests.OneShot(), Home: "home"})
		require.NoError(t, err)
		require.NoError(t, c.members.Add(t.Context(), m))
	}
	p := &poller{kind: &kind{controller: c, resource: api.Jobs}, uid: "u1", current: u, log: log, problems: process.Warnings{Log: log}, causes: causes{}}
	b.job = newJob(p).(*job)
	b.read()
	t.Cleanup(b.close)
	require.NoError(t, b.invalid)
	require.Eventually(t, func() bool {
		for _, m := range c.members.Observe("u1").Clusters {
			if m.Reach != jobs.Reachable {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond)
	return b
}

func (b *bench) jobs(t *testing.T) []batchv1.Job {
	t.Helper()
	all, err := b.member.BatchV1().Jobs("shop").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return all.Items
}

// A reading is decided on once. KEDA reads with the pods' environment in the hub's namespace, until the object is deleted.
func TestReadings(t *testing.T) {
	b := newBench(t, "a")
	b.queue.silent = true
	require.Zero(t, b.poll(t.Context()), "until a reading comes")
	require.Empty(t, b.jobs(t))
	b.queue.silent = false
	b.poll(t.Context())
	require.Len(t, b.jobs(t), 3)
	b.queue.silent = true
	b.home.ClearActions()
	require.Zero(t, b.poll(t.Context()))
	require.Empty(t, b.home.Actions(), "the reading has been decided on")
	require.Len(t, b.queue.owners, 1)
	owner := b.queue.owners[0]
	require.Equal(t, "keda.kedify.io/v1alpha1 DistributedScaledJob shop/work u1 30s c", fmt.Sprintf("%s %s %s/%s %s %v %s",
		owner.APIVersion, owner.Kind, owner.Namespace, owner.Name, owner.UID, owner.Interval, owner.Pod.Containers[0].Name))
	b.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	b.read()
	b.poll(t.Context())
	require.Len(t, b.queue.owners, 1, "not read again")
	require.Equal(t, []types.UID{"u1"}, b.queue.left)
	b.close()
	require.Equal(t, []types.UID{"u1", "u1"}, b.queue.left, "also if it is gone without a finalizer")
}

// The checkpoint with the Jobs to create is stored before the first create.
func TestCheckpointIsStoredFirst(t *testing.T) {
	b := newBench(t, "a")
	b.create = func() error {
		stored, err := b.home.Tracker().Get(api.Jobs, "shop", "work")
		if err != nil {
			return err
		}
		status, err := json.Marshal(stored.(*unstructured.Unstructured).Object["status"].(map[string]any)["checkpoint"])
		if string(status) != `{"clusters":{"a":{"pending":3,"running":3,"weight":1}},"version":1}` {
			return errors.Join(err, fmt.Errorf("stored: %s", status))
		}
		return nil
	}
	b.poll(t.Context())
	require.Len(t, b.jobs(t), 3, "%s", &b.log)
}

// Nothing is created if the checkpoint cannot be stored, also if the object is gone.
func TestNothingIsCreatedWithoutCheckpoint(t *testing.T) {
	for _, why := range []error{apierrors.NewNotFound(api.Jobs.GroupResource(), "work"), errors.New("no answer")} {
		b := newBench(t, "a")
		b.home.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, why })
		b.poll(t.Context())
		require.Empty(t, b.jobs(t))
		require.Contains(t, b.log.String(), "nothing is created")
	}
}

// A deleted object stays while a member does not answer, until the annotation names the member, and while an unanswered
// create may arrive. A finalizer that somebody else has put before ours stays.
func TestCleanUp(t *testing.T) {
	b := newBench(t, "a")
	finalizers := func() []string {
		u, err := b.home.Resource(api.Jobs).Namespace("shop").Get(t.Context(), "work", metav1.GetOptions{})
		require.NoError(t, err)
		return u.GetFinalizers()
	}
	b.create = func() error { return errors.New("no answer") }
	b.poll(t.Context())
	b.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	b.poll(t.Context())
	require.NotEmpty(t, finalizers(), "a create may arrive")

	b = newBench(t, "a")
	b.member.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	b.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	b.poll(t.Context())
	require.NotEmpty(t, finalizers())
	require.Contains(t, b.log.String(), "CleanupWaits")
	b.current.SetAnnotations(map[string]string{annotationAbandon: "b, a"})
	u := b.current.DeepCopy()
	u.SetFinalizers([]string{"others", finalizer})
	_, err := b.home.Resource(api.Jobs).Namespace("shop").Update(t.Context(), u, metav1.UpdateOptions{})
	require.NoError(t, err)
	b.poll(t.Context())
	require.Equal(t, u.GetFinalizers(), finalizers())
	require.Contains(t, b.log.String(), "finalizer not removed")
	b.current = u
	b.poll(t.Context())
	require.Equal(t, []string{"others"}, finalizers())
	require.Contains(t, b.log.String(), "JobsLeftBehind")
}

// A cluster that is registered under two names is reported.
func TestTwoNames(t *testing.T) {
	b := newBench(t, "a", "b")
	b.poll(t.Context())
	require.Eventually(t, func() bool {
		b.poll(t.Context())
		return bytes.Contains(b.log.Bytes(), []byte(`it is the same cluster as`))
	}, 10*time.Second, 10*time.Millisecond, "%s", &b.log)
}

// An object acts in another namespace of a member only if the registration of the member
// allows the pair. If that ends while Jobs run, they stay, nothing is created, and Ready
// says why.
func TestTargetNamespace(t *testing.T) {
	b := newBench(t, "a")
	members := []any{map[string]any{"name": "a", "targetNamespace": "kube-system"}}
	require.NoError(t, unstructured.SetNestedSlice(b.current.Object, members, "spec", "memberClusters"))
	b.read()
	created := func() int {
		b.poll(t.Context())
		all, err := b.member.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		return len(all.Items)
	}
	ready := func() string {
		c := meta.FindStatusCondition(b.status.Conditions, "Ready")
		return string(c.Status) + " " + c.Reason + " " + c.Message
	}
	denied := `False SpecCheckFailed spec.memberClusters[a].targetNamespace: found "kube-system"; use nothing, or a namespace that the registration of the member allows for "shop"`
	require.Zero(t, created())
	require.Contains(t, ready(), denied)
	b.members.registrations = map[string]registry.Registration{"a": {Allow: []registry.Allowance{{From: "team-b", To: "kube-system"}}}}
	require.Zero(t, created(), "another namespace's allowance")
	allowed := []registry.Allowance{{From: "shop", To: "kube-system"}}
	b.members.registrations["a"] = registry.Registration{Allow: allowed, Namespaces: []string{"shop"}}
	require.Zero(t, created())
	require.Contains(t, ready(), `spec.memberClusters[a]: found the namespace "kube-system"; use one for which the hub has permissions on the member: shop`)
	b.members.registrations["a"] = registry.Registration{Allow: allowed}
	require.Eventually(t, func() bool { return created() == 3 }, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, ready(), "True Ready")
	b.members.registrations = nil
	require.Equal(t, 3, created())
	require.Contains(t, ready(), denied)
}

// A status that somebody made long is no checkpoint, and says so.
func TestLongStatus(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"checkpoint": map[string]any{"version": int64(1), "a": strings.Repeat("a", 600_000)}}}}
	_, err := api.Slim(u)
	require.NoError(t, err)
	stored, err := json.Marshal(u.Object["status"].(map[string]any)["checkpoint"])
	require.NoError(t, err)
	for _, into := range []any{&jobs.Checkpoint{}, &replicas.Checkpoint{}} {
		require.ErrorContains(t, unusable(stored, into), "status.checkpoint: found a status of 600035 bytes; create the object anew")
	}
}

// A member that is not registered, or no longer, keeps no Job from the others. Once it is
// registered, it needs an allowance.
func TestTargetNamespaceOfAnAbsentMember(t *testing.T) {
	b := newBench(t, "a")
	b.members.registrations = map[string]registry.Registration{"a": {}}
	members := []any{map[string]any{"name": "a"}, map[string]any{"name": "gone", "targetNamespace": "kube-system"}}
	require.NoError(t, unstructured.SetNestedSlice(b.current.Object, members, "spec", "memberClusters"))
	b.read()
	require.Eventually(t, func() bool { b.poll(t.Context()); return len(b.jobs(t)) == 3 }, 10*time.Second, 10*time.Millisecond)
	b.members.registrations["gone"] = registry.Registration{}
	b.poll(t.Context())
	require.Contains(t, meta.FindStatusCondition(b.status.Conditions, "Ready").Message, `spec.memberClusters[gone].targetNamespace: found "kube-system"`)
}

// The cause of stuck Jobs stays while their member gets no Jobs for it, also if they have been
// replaced and deleted.
func TestCauseStays(t *testing.T) {
	b := newBench(t, "a")
	b.pending["a"] = "1 ErrImagePull: no such image"
	for _, c := range []struct {
		member jobs.MemberDecision
		shown  bool
		why    string
	}{
		{jobs.MemberDecision{Name: "a", Jobs: scaling.JobCounts{Running: 1, Pending: 1, Stuck: 1}}, true, "JobsNotStarting"},
		{jobs.MemberDecision{Name: "a", Excluded: jobs.ReasonNotStarting}, true, "JobsNotStarting"},
		{jobs.MemberDecision{Name: "a", Excluded: jobs.ReasonProbing}, true, "JobsNotStarting"},
		{jobs.MemberDecision{Name: "a"}, false, "Starting"},
		{jobs.MemberDecision{Name: "a", Excluded: jobs.ReasonNotStarting}, false, "JobsNotStarting"},
		{jobs.MemberDecision{Name: "a", Excluded: jobs.ReasonHardTainted}, false, "AllMembersExcluded"},
	} {
		o := jobOutcome{plan: jobs.Decision{Target: 1, Members: []jobs.MemberDecision{c.member}}}
		if c.member.Excluded != "" {
			o.plan.Reason, o.plan.Unplaced = jobs.ReasonAllExcluded, 2
			require.Equal(t, fmt.Sprintf("No member can take 2 Jobs: a (%s)", c.member.Excluded), o.ready().Message)
		}
		require.Equal(t, c.why, o.shortfall())
		status := b.after(&o, time.Now())
		require.Equal(t, c.shown, strings.Contains(status.MemberClusterStatuses["a"].Description, "pending: 1 ErrImagePull"), c)
	}
}

// A refusal stays with its member until that member accepts: no condition and no event changes meanwhile. JobsCreated
// is False if no member accepts, and Unknown if some do.
func TestRefusalStaysWithItsMember(t *testing.T) {
	const (
		rejects = "False JobCreateFailed, True Succeeding, False JobCreateFailed"
		partial = "Unknown CreateRejected, True Succeeding, Unknown CreateRejected"
		keeps   = "True Succeeding, False JobDeleteFailed, False JobDeleteFailed"
		well    = "True Succeeding, True Succeeding, True Ready"
	)
	denied := apierrors.NewForbidden(batchv1.Resource("jobs"), "work", errors.New("quota"))
	refused := func(name string) member.Report {
		return member.Report{Cluster: name, Err: errors.Join(&adapter.CreateError{Wanted: 1, Err: denied})}
	}
	undeleted := func(name string) member.Report { return member.Report{Cluster: name, Err: denied, Undeleted: denied} }
	created := func(name string) member.Report {
		return member.Report{Cluster: name, Result: adapter.Result{Created: 1}}
	}
	pruned := func(name string) member.Report {
		return member.Report{Cluster: name, Result: adapter.Result{Pruned: 1}}
	}
	type poll struct {
		create, delete string // members of the plan
		excluded       string // a member, as it has rejected Jobs
		unplaced       int64
		reports        []member.Report
		want           string
	}
	for name, polls := range map[string][]poll{
		"another member deletes": {
			{delete: "ab", reports: []member.Report{pruned("a"), undeleted("b")}, want: keeps},
			{delete: "ab", reports: []member.Report{pruned("a")}, want: keeps},
			{delete: "ab", reports: []member.Report{pruned("a"), undeleted("b")}, want: keeps},
			{delete: "ab", reports: []member.Report{pruned("b")}, want: well},
		},
		"nothing is to be deleted any more": {
			{delete: "b", reports: []member.Report{undeleted("b")}, want: keeps},
			{delete: "a", reports: []member.Report{pruned("a")}, want: well},
			{create: "b", reports: []member.Report{undeleted("b")}, want: well}, // of an earlier plan
		},
		"one refuses": {
			{create: "ab", reports: []member.Report{refused("a"), created("b")}, want: partial},
			{create: "b", excluded: "a", reports: []member.Report{created("b")}, want: partial},
			{excluded: "a", unplaced: 1, want: partial},
			{create: "a", reports: []member.Report{refused("a")}, want: partial},
			{want: partial},
			{create: "a", reports: []member.Report{created("a")}, want: well},
		},
		"a slow member reports later": {
			{create: "ab", reports: []member.Report{refused("a")}, want: partial},
			{create: "a", reports: []member.Report{refused("a")}, want: partial},
			{reports: []member.Report{created("a"), created("b")}, want: well},
			{delete: "a", reports: []member.Report{refused("a")}, want: partial},
			{delete: "a", reports: []member.Report{created("a"), pruned("a")}, want: well},
			{create: "a", reports: []member.Report{created("a"), refused("a")}, want: partial},
		},
		"all refuse": {
			{create: "ab", reports: []member.Report{refused("a"), refused("b")}, want: rejects},
			{excluded: "ab", unplaced: 2, want: rejects},
			{create: "ab", want: rejects},
			{create: "ab", reports: []member.Report{refused("a"), refused("b")}, want: rejects},
			{create: "b", excluded: "a", reports: []member.Report{created("b")}, want: partial},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for i, p := range polls {
				o := jobOutcome{reports: p.reports, plan: jobs.Decision{Target: 1, Unplaced: p.unplaced}}
				if p.unplaced > 0 {
					o.plan.Reason = jobs.ReasonAllExcluded
				}
				for _, name := range []string{"a", "b"} {
					m := jobs.MemberDecision{Name: name, Reach: jobs.Reachable}
					if strings.Contains(p.excluded, name) {
						m.Excluded = jobs.ReasonRejected
					}
					o.plan.Members = append(o.plan.Members, m)
					if strings.Contains(p.create, name) {
						o.plan.Create = append(o.plan.Create, jobs.Placement{Cluster: name, Additional: 1})
					}
					if strings.Contains(p.delete, name) {
						o.plan.Finished = append(o.plan.Finished, jobs.Deletion{JobRef: jobs.JobRef{Cluster: name}})
					}
				}
				b.conclude(&o, time.Now())
				var got []string
				for _, kind := range []string{"JobsCreated", "JobsDeleted", "Ready"} {
					c := meta.FindStatusCondition(b.status.Conditions, kind)
					got = append(got, string(c.Status)+" "+c.Reason)
				}
				require.Equal(t, p.want, strings.Join(got, ", "), "poll %d", i)
			}
		})
	}
}
