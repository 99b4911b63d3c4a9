package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// A fleetwide is one owner with Jobs, and objects to scale, on two real members that
// are reached with no more rights than are needed.
type fleetwide struct {
	t          *testing.T
	clusters   map[string]*cluster.Cluster
	clients    map[string]kubernetes.Interface // may do all
	wires      map[string]*wire                // on the way of the members' own clients
	all        *member.Clusters
	policy     jobs.Policy
	target     adapter.Target
	checkpoint jobs.Checkpoint
	demand     int64
	errs       []error
}

const agent = "agent"

func newFleetwide(t *testing.T, names ...string) *fleetwide {
	t.Helper()
	f := &fleetwide{
		t: t, clusters: map[string]*cluster.Cluster{}, clients: map[string]kubernetes.Interface{}, wires: map[string]*wire{},
		all: &member.Clusters{Taints: &taint.Durations{Soft: 20 * time.Second, Hard: 3 * time.Second}}, policy: jobs.DefaultPolicy(),
	}
	s := scaledJob(t)
	s.Namespace, s.UID = "shop", types.UID("6f1f3d3e-0000-4000-8000-000000000001")
	config, err := scaledjob.Configure(s, nil)
	require.NoError(t, err)
	f.target = config.Target
	f.policy.Revision, f.policy.Failover.GracePeriod = f.target.Revision, time.Hour
	require.NoError(t, f.all.Track(f.target, nil))
	for _, name := range names {
		c := cluster.Start(t, cluster.WithControllers("deployment-controller", "replicaset-controller"))
		c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: time.Hour} })
		f.clusters[name], f.clients[name] = c, c.Client(t)
		f.permit(name)
		w, config := &wire{cut: make(chan struct{})}, c.User(agent)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.next = next
			return w
		})
		f.wires[name] = w
		m, err := member.Dial(name, config, member.Options{
			Terms: requests.OneShot(), Home: "home", Timeout: 2 * time.Second, Interval: 500 * time.Millisecond, QPS: 100, Burst: 100, // so that a burst lasts
		})
		require.NoError(t, err)
		require.NoError(t, f.all.Add(t.Context(), m))
	}
	f.eventually("all members are known", func() bool {
		for _, c := range f.observe().Clusters {
			if c.Reach != jobs.Reachable {
				return false
			}
		}
		return true
	})
	return f
}

// permit grants what the package needs on a member.
func (f *fleetwide) permit(name string) {
	f.t.Helper()
	ctx, client := f.t.Context(), f.clients[name]
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: agent}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"get", "patch"}},
	}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: agent},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: agent},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: agent}},
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fleetwide) eventually(what string, ok func() bool) {
	f.t.Helper()
	require.Eventually(f.t, ok, 60*time.Second, 50*time.Millisecond, what)
}

func (f *fleetwide) observe() member.Observation { return f.all.Observe(f.target.Owner.UID) }

// reachable reports whether the member answers.
func (f *fleetwide) reachable(name string) bool {
	for _, c := range f.observe().Clusters {
		if c.Name == name {
			return c.Reach == jobs.Reachable
		}
	}
	return false
}

// admits waits until the member has no taint, which outlasts a member's return and a new
// checkpoint.
func (f *fleetwide) admits(name string) {
	f.t.Helper()
	f.eventually(name+" gets Jobs", func() bool {
		for _, c := range f.observe().Clusters {
			if c.Name == name {
				return c.Taint.Level == taint.None
			}
		}
		return false
	})
}

// poll observes, plans and applies, and keeps the errors.
func (f *fleetwide) poll() jobs.Decision {
	seen := f.observe()
	plan := jobs.Decide(f.policy, jobs.Observation{
		Metrics:  []scaling.Metric{{Value: float64(f.demand), Target: 1, Activity: scaling.Active}},
		Clusters: seen.Clusters, Now: time.Now(),
	}, f.checkpoint)
	f.checkpoint = plan.Checkpoint
	for _, r := range f.all.Apply(f.t.Context(), seen, plan) {
		if r.Err != nil {
			f.errs = append(f.errs, fmt.Errorf("%s: %w", r.Cluster, r.Err))
		}
	}
	return plan
}

// jobs are those on a member's API server; nil where it does not answer.
func (f *fleetwide) jobs(name string) []batchv1.Job {
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Second)
	defer cancel()
	l, err := f.clients[name].BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	return l.Items
}

func (f *fleetwide) total() (n int) {
	for name := range f.clients {
		n += len(f.jobs(name))
	}
	return n
}

// settled polls until nothing is to be done, and nothing is in flight.
func (f *fleetwide) settled(want int) {
	f.t.Helper()
	f.eventually(fmt.Sprint(want, " Jobs"), func() bool {
		plan := f.poll()
		for _, c := range f.observe().Clusters {
			for _, j := range c.Jobs {
				if j.Phase == jobs.Pending && j.PendingSince.IsZero() {
					return false
				}
			}
		}
		return len(plan.Create)+len(plan.Outdated)+len(plan.Duplicates)+len(plan.Finished) == 0 && f.total() == want
	})
}

func TestMemberJobs(t *testing.T) {
	f := newFleetwide(t, "a", "b")
	f.policy.Members = []jobs.Member{{Name: "a", Weight: 2}, {Name: "b", Weight: 3}}
	f.policy.Scaling.Bounds.Max = 300
	f.demand = 20
	f.settled(20)
	require.Empty(t, f.errs)
	require.Len(t, f.jobs("a"), 8)
	require.Len(t, f.jobs("b"), 12)
	t.Run("ownership is labels", func(t *testing.T) { f.testOwnership(t) })
	t.Run("one away", func(t *testing.T) { f.testOneAway(t) })
	t.Run("answers are lost", func(t *testing.T) { f.testAnswersLost(t) })
	t.Run("killed in a burst", func(t *testing.T) { f.testKilledInABurst(t) })
	t.Run("all deleted", func(t *testing.T) { f.testAllDeleted(t) })
}

// The garbage collector of a member deletes a Job whose owner is elsewhere, if it
// says so by a reference. Ours stay.
func (f *fleetwide) testOwnership(t *testing.T) {
	referring := f.jobs("a")[0].DeepCopy()
	require.Empty(t, referring.OwnerReferences)
	require.Equal(t, string(f.target.Owner.UID), referring.Labels[adapter.LabelOwner])
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "referring", Namespace: "shop"}, Spec: batchv1.JobSpec{Template: f.target.Job.Spec.Template}}
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "elsewhere", UID: f.target.Owner.UID, Controller: new(true)}}
	_, err := f.clients["a"].BatchV1().Jobs("shop").Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	f.eventually("it is collected", func() bool { return len(f.jobs("a")) == 8 })
}

// With one API server away the other gets all new Jobs; when it is back, its Jobs
// are there, and none twice.
func (f *fleetwide) testOneAway(t *testing.T) {
	before := map[types.UID]bool{}
	for _, j := range f.jobs("b") {
		before[j.UID] = true
	}
	f.clusters["b"].KillAPIServer()
	f.demand = 40
	f.eventually("the other has all new Jobs", func() bool { f.poll(); return len(f.jobs("a")) == 28 })
	f.eventually("the taint is hard", func() bool {
		b := f.poll().Members[1]
		return b.Excluded == jobs.ReasonUnreachable && b.Taint.Level == taint.Hard
	})
	require.Len(t, f.jobs("a"), 28)
	require.NoError(t, f.clusters["b"].StartAPIServer(t.Context()))
	f.eventually("it answers", func() bool { return f.reachable("b") })
	f.checkpoint, f.errs = jobs.Checkpoint{}, nil
	f.admits("b")
	f.settled(40)
	for _, j := range f.jobs("b") {
		delete(before, j.UID)
	}
	require.Empty(t, before, "no Job is lost")
	require.Empty(t, f.errs)
}

// Every third create on one member succeeds without an answer. Nobody makes the
// Job again, there or on the other.
func (f *fleetwide) testAnswersLost(t *testing.T) {
	var n atomic.Int64
	f.wires["b"].breaks(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !creates(r) || n.Add(1)%3 != 0 {
			return nil, nil
		}
		if answer, err := send(); err == nil {
			answer.Body.Close()
		}
		return nil, errors.New("i/o timeout")
	})
	f.demand = 80
	for range 20 {
		f.poll()
		require.LessOrEqual(t, f.total(), 80)
	}
	require.NotEmpty(t, f.errs)
	f.wires["b"].breaks(nil)
	f.checkpoint, f.errs = jobs.Checkpoint{}, nil
	f.settled(80)
	require.Empty(t, f.errs)
}

// An API server is killed in the middle of a burst. There are never more Jobs than
// the maximum, and in the end exactly as many, though the creates that were not
// answered may have succeeded.
func (f *fleetwide) testKilledInABurst(t *testing.T) {
	f.demand = 1000
	f.admits("b")
	done, most := make(chan struct{}), 0
	var watcher sync.WaitGroup
	watcher.Go(func() {
		last := map[string]int{}
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			n := 0
			for name := range f.clients {
				if all := f.jobs(name); all != nil {
					last[name] = len(all)
				}
				n += last[name]
			}
			most = max(most, n)
		}
	})
	burst := make(chan struct{})
	go func() {
		defer close(burst)
		for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			f.poll()
			f.checkpoint = jobs.Checkpoint{} // so that it is tried again and again
		}
	}()
	f.eventually("the burst has begun", func() bool { return len(f.jobs("b")) > 30 })
	f.clusters["b"].KillAPIServer()
	time.Sleep(time.Second)
	require.NoError(t, f.clusters["b"].StartAPIServer(t.Context()))
	<-burst
	require.NotEmpty(t, f.errs)
	f.eventually("it answers", func() bool { return f.reachable("b") })
	f.settled(300)
	close(done)
	watcher.Wait()
	require.LessOrEqual(t, most, 300)
	answered := f.clusters["b"].Count(t, func(r cluster.Request) bool {
		return r.Verb == "create" && r.Resource == "jobs" && r.User == agent && r.Code == http.StatusCreated
	})
	t.Logf("%d Jobs on the member that was killed, of which %d creates were answered", len(f.jobs("b")), answered)
}

func (f *fleetwide) testAllDeleted(t *testing.T) {
	f.all.Untrack(f.target.Owner.UID)
	f.eventually("nothing is left", func() bool {
		left := 0
		for _, c := range f.all.DeleteJobs(t.Context(), f.target.Owner, nil) {
			require.NoError(t, c.Err)
			left += c.Found
		}
		return left == 0
	})
	require.Zero(t, f.total())
}

// Replicas go through the scale subresource: 4:6 of 5 are 2 and 3; without the one, 0
// and 5; with it again, 2 and 3.
func TestMemberReplicas(t *testing.T) {
	f := newFleetwide(t, "a", "b")
	for _, client := range f.clients {
		_, err := client.AppsV1().Deployments("shop").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "nginx"},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nginx"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "nginx"}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	policy := replicas.NewPolicy(100, replicas.Member{Name: "a", Weight: 4}, replicas.Member{Name: "b", Weight: 6})
	policy.GracePeriod = 2 * time.Second
	w, poll := member.Workload{Namespace: "shop", Name: "nginx"}, member.ReplicasPoll{Members: policy.Members}
	step := func() {
		clusters, _ := f.all.ObserveReplicas(t.Context(), w, poll)
		plan := replicas.Decide(policy, replicas.Observation{Replicas: new(int32(5)), Clusters: clusters, Now: time.Now()}, poll.Checkpoint)
		poll.Checkpoint, poll.Reports = plan.Checkpoint, f.all.Scale(t.Context(), w, plan)
	}
	has := func(name string, want int32) bool {
		d, err := f.clients[name].AppsV1().Deployments("shop").Get(t.Context(), "nginx", metav1.GetOptions{})
		return err == nil && *d.Spec.Replicas == want
	}
	f.eventually("2 and 3", func() bool { step(); return has("a", 2) && has("b", 3) })
	f.clusters["a"].KillAPIServer()
	step()
	require.True(t, has("b", 3), "nothing moves within the grace period")
	f.eventually("0 and 5", func() bool { step(); return has("b", 5) })
	require.NoError(t, f.clusters["a"].StartAPIServer(t.Context()))
	f.eventually("2 and 3 again", func() bool { step(); return has("a", 2) && has("b", 3) })
}
