package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/scale"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

// A deployment is one on a member, and the way to its scale.
type deployment struct {
	scale.ScaleInterface
	site     *site
	mu       sync.Mutex
	where    string // namespace/name of what was asked for last
	replicas int32
	missing  int32 // replicas that do not exist
	asked    int
	selector string
	fault    func(context.Context) error
	refused  error // of writes
	absent   error // of reads; the member answers otherwise
}

func (d *deployment) Scales(namespace string) scale.ScaleInterface {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.where = namespace
	return d
}

func (d *deployment) breaks(how func(context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = how
}

func (d *deployment) call(ctx context.Context, name string, do func()) (*autoscalingv1.Scale, error) {
	d.mu.Lock()
	fault := d.fault
	d.mu.Unlock()
	if fault != nil {
		if err := fault(ctx); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	d.where += "/" + name
	do()
	return &autoscalingv1.Scale{
		Spec: autoscalingv1.ScaleSpec{Replicas: d.replicas}, Status: autoscalingv1.ScaleStatus{Replicas: d.replicas - d.missing, Selector: d.selector},
	}, nil
}

func (d *deployment) Get(ctx context.Context, _ schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if d.absent != nil {
		return nil, d.absent
	}
	return d.call(ctx, name, func() {})
}

func (d *deployment) Patch(ctx context.Context, _ schema.GroupVersionResource, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	var patch struct{ Spec struct{ Replicas *int32 } }
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	if d.refused != nil {
		return nil, d.refused
	}
	return d.call(ctx, name, func() { d.replicas = *patch.Spec.Replicas })
}

func scalable(t *testing.T, o member.Options, names ...string) (*member.Clusters, map[string]*deployment) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	all, deployments := &member.Clusters{}, map[string]*deployment{}
	o.Home = home
	if o.Terms == nil {
		o.Terms = requests.OneShot()
	}
	if o.Interval == 0 {
		o.Interval = 5 * time.Millisecond
	}
	for _, name := range names {
		d := &deployment{site: newSite(name)}
		deployments[name] = d
		d.site.breaks(func(ctx context.Context, _, _ string, send func() error) error {
			d.mu.Lock()
			fault := d.fault
			d.mu.Unlock()
			if fault == nil {
				return send()
			}
			return fault(ctx)
		})
		clients := both(d.site)
		clients.Scales, clients.Mapper = d, mapper
		c, err := member.New(name, clients, o)
		require.NoError(t, err)
		require.NoError(t, c.Probe(t.Context()))
		require.NoError(t, all.Add(t.Context(), c))
	}
	return all, deployments
}

// polls is a workload that is polled: 4:6 on a and b.
type polls struct {
	*testing.T
	all         *member.Clusters
	deployments map[string]*deployment
	policy      replicas.Policy
	workload    member.Workload
	now         time.Time
	poll        member.ReplicasPoll
}

func newPolls(t *testing.T, o member.Options) *polls {
	p := &polls{T: t, policy: replicas.NewPolicy(100, replicas.Member{Name: "a", Weight: 4}, replicas.Member{Name: "b", Weight: 6})}
	p.all, p.deployments = scalable(t, o, "a", "b")
	p.workload = member.Workload{Namespace: "shop", Name: "nginx", Namespaces: map[string]string{"b": "elsewhere"}}
	p.now = time.Now()
	return p
}

// step observes, plans and writes. The checkpoint goes through JSON.
func (p *polls) step(total int32) (replicas.Decision, map[string]error) {
	p.Helper()
	p.poll.Members = p.policy.Members
	clusters, errs := p.all.ObserveReplicas(p.Context(), p.workload, p.poll)
	plan := replicas.Decide(p.policy, replicas.Observation{Replicas: &total, Clusters: clusters, Now: p.now}, p.poll.Checkpoint)
	p.poll.Reports = p.all.Scale(p.Context(), p.workload, plan)
	data, err := json.Marshal(plan.Checkpoint)
	require.NoError(p, err)
	p.poll.Checkpoint = replicas.Checkpoint{}
	require.NoError(p, json.Unmarshal(data, &p.poll.Checkpoint))
	return plan, errs
}

func (p *polls) has() [2]int32 {
	return [2]int32{p.deployments["a"].replicas, p.deployments["b"].replicas}
}

func TestReplicas(t *testing.T) {
	p := newPolls(t, member.Options{})
	_, errs := p.step(5)
	require.Empty(t, errs)
	require.Equal(t, [2]int32{2, 3}, p.has())
	require.Equal(t, "shop/nginx", p.deployments["a"].where)
	require.Equal(t, "elsewhere/nginx", p.deployments["b"].where)
	plan, _ := p.step(5)
	require.Equal(t, int32(2), plan.Shares[0].Current)
	require.False(t, plan.Shares[0].Write)

	p.deployments["a"].breaks(func(context.Context) error { return errReset })
	require.Eventually(t, func() bool {
		plan, errs = p.step(5)
		return plan.Shares[0].Reason == replicas.ReasonUnreachable
	}, 20*time.Second, time.Millisecond, "once the other has answered")
	require.Len(t, errs, 1)
	require.Error(t, errs["a"])
	require.Equal(t, int32(2), plan.Shares[0].Current, "as last read")
	require.Equal(t, [2]int32{2, 3}, p.has())
	require.Eventually(t, func() bool {
		p.now = time.Now().Add(time.Minute)
		p.step(5)
		return p.has() == [2]int32{2, 5}
	}, 20*time.Second, time.Millisecond)

	p.deployments["a"].breaks(nil)
	require.Eventually(t, func() bool { _, errs = p.step(5); return len(errs) == 0 }, 20*time.Second, time.Millisecond)
	require.Equal(t, [2]int32{2, 3}, p.has())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	clusters, errs := p.all.ObserveReplicas(ctx, p.workload, p.poll)
	require.Len(t, errs, 2)
	for _, c := range clusters {
		require.Equal(t, replicas.ReasonNotAsked, c.Problem)
	}
}

// A member without the workload has no share, and the reason is not that it is
// unreachable. Replicas that do not exist yet count as ordered only.
func TestWorkloadMissing(t *testing.T) {
	p := newPolls(t, member.Options{})
	notFound := apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "nginx")
	p.deployments["b"].absent = notFound
	plan, errs := p.step(10)
	require.Equal(t, replicas.ReasonWorkloadMissing, plan.Shares[1].Reason)
	require.ErrorIs(t, errs["b"], notFound)
	require.Equal(t, [2]int32{10, 0}, p.has())
	p.deployments["b"].absent = nil
	p.deployments["b"].missing = 6
	require.Eventually(t, func() bool { _, errs = p.step(10); return len(errs) == 0 }, 20*time.Second, time.Millisecond)
	p.step(10)
	require.Equal(t, [2]int32{10, 6}, p.has(), "none of the six exists")
	p.deployments["b"].missing = 1
	p.step(10)
	require.Equal(t, [2]int32{5, 6}, p.has())
	p.deployments["b"].missing = 0
	p.step(10)
	require.Equal(t, [2]int32{4, 6}, p.has())
}

// A member that refuses writes gets them again, and costs the other member nothing.
func TestWritesFail(t *testing.T) {
	p := newPolls(t, member.Options{})
	p.deployments["a"].replicas = 10
	p.deployments["b"].refused = errors.New("forbidden")
	for range 3 {
		plan, errs := p.step(10)
		require.Empty(t, errs)
		require.Error(t, p.poll.Reports[0].Err)
		require.Equal(t, [2]int32{10, 0}, p.has())
		require.NotEqual(t, replicas.ReasonUnreachable, plan.Shares[1].Reason)
		p.now = p.now.Add(time.Minute)
	}
	plan, _ := p.step(10)
	require.Equal(t, replicas.ReasonWriteFailed, plan.Shares[1].Reason)
	require.True(t, plan.Shares[1].Excluded)
	p.deployments["b"].refused = nil
	p.step(10)
	require.NoError(t, p.poll.Reports[0].Err, "its own number is written")
	p.step(10)
	require.Equal(t, [2]int32{10, 6}, p.has())
	p.step(10)
	require.Equal(t, [2]int32{4, 6}, p.has())

	p.poll.Reports = []member.ScaleReport{{Cluster: "a", Err: fmt.Errorf("%w: no token", adapter.ErrNotSent)}, {Cluster: "b", Replicas: 6}}
	clusters, _ := p.all.ObserveReplicas(t.Context(), p.workload, p.poll)
	require.Empty(t, clusters[0].Problem, "a write that was not sent has not failed")
	require.Nil(t, clusters[0].Ordered)
	require.Empty(t, clusters[1].Problem)
	require.Equal(t, new(int32(6)), clusters[1].Ordered)
}

// A former member is observed until it is scaled to 0. Other clusters are not.
func TestFormerMember(t *testing.T) {
	p := newPolls(t, member.Options{})
	p.step(6)
	p.policy.Members = p.policy.Members[:1]
	p.step(6)
	require.Equal(t, [2]int32{6, 4}, p.has())
	p.step(6)
	require.Equal(t, [2]int32{6, 0}, p.has())
	p.step(6)
	asked := p.deployments["b"].asked
	p.step(6)
	require.Equal(t, asked, p.deployments["b"].asked)
}

// A kind that the member does not know is a workload that it does not have.
func TestNoScale(t *testing.T) {
	all, _ := scalable(t, member.Options{}, "a")
	w := member.Workload{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Robot"}}
	clusters, errs := all.ObserveReplicas(t.Context(), w, member.ReplicasPoll{})
	require.Equal(t, replicas.ReasonWorkloadMissing, clusters[0].Problem)
	require.ErrorContains(t, errs["a"], "Robot")
	reports := all.Scale(t.Context(), w, replicas.Decision{Shares: []replicas.Share{{Name: "a", Write: true}, {Name: "b", Write: true}, {Name: "c"}}})
	require.Len(t, reports, 2)
	require.ErrorContains(t, reports[0].Err, "Robot")
	require.EqualError(t, reports[1].Err, "it is not registered")

	c, err := member.New("x", both(fake.NewClientset()), member.Options{Terms: requests.OneShot(), Home: home})
	require.NoError(t, err)
	require.NoError(t, c.Probe(t.Context()))
	require.NoError(t, all.Add(t.Context(), c))
	clusters, errs = all.ObserveReplicas(t.Context(), member.Workload{}, member.ReplicasPoll{Members: []replicas.Member{{Name: "x"}}})
	require.Equal(t, []replicas.Cluster{{Name: "x", Problem: replicas.ReasonUnreachable}}, clusters)
	require.EqualError(t, errs["x"], "member x has no client for scales")
}

// A member that fails its health check is not asked, so that nobody waits for it.
func TestNotAsked(t *testing.T) {
	const timeout = 100 * time.Millisecond
	all, deployments := scalable(t, member.Options{Timeout: timeout}, "a", "b")
	deployments["a"].breaks(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	w := member.Workload{Name: "nginx"}
	read := func() error {
		clusters, errs := all.ObserveReplicas(t.Context(), w, member.ReplicasPoll{})
		require.Contains(t, []replicas.Reason{replicas.ReasonUnreachable, replicas.ReasonUnconfirmed}, clusters[0].Problem)
		require.Empty(t, clusters[1].Problem)
		return errs["a"]
	}
	require.ErrorIs(t, read(), context.DeadlineExceeded, "the first does")
	require.Eventually(t, func() bool { return strings.HasPrefix(read().Error(), "member a is unreachable: health check: ") }, 20*time.Second, time.Millisecond)
	asked := deployments["a"].asked
	require.Error(t, read())
	require.Equal(t, asked, deployments["a"].asked)
	plan := replicas.Decision{Shares: []replicas.Share{{Name: "a", Next: 3, Write: true}, {Name: "b", Next: 3, Write: true}}}
	reports := all.Scale(t.Context(), w, plan)
	require.ErrorContains(t, reports[0].Err, "member a is unreachable: ")
	require.NoError(t, reports[1].Err)
	require.Equal(t, int32(3), deployments["b"].replicas)
}

// Pods that never become ready are no replicas that exist: the member that has ready pods
// keeps them, gets the rest after the progress deadline, and the cause is in the plan.
func TestPodsThatNeverStart(t *testing.T) {
	p := newPolls(t, member.Options{Pods: true})
	for _, d := range p.deployments {
		d.selector = "app=nginx"
	}
	starts := map[string]bool{"a": true}
	follow := func() { // as the controllers of the members do
		for name, d := range p.deployments {
			namespace := map[string]string{"a": "shop", "b": "elsewhere"}[name]
			for i := range 10 {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("nginx-", i), Labels: map[string]string{"app": "nginx"}}}
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}}
				if starts[name] {
					pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
				}
				of := d.site.CoreV1().Pods(namespace)
				_ = of.Delete(t.Context(), pod.Name, metav1.DeleteOptions{})
				if int32(i) < d.replicas {
					_, err := of.Create(t.Context(), pod, metav1.CreateOptions{})
					require.NoError(t, err)
				}
			}
		}
	}
	p.deployments["a"].replicas = 10
	var plan replicas.Decision
	for range 20 {
		follow()
		plan, _ = p.step(10)
		require.Equal(t, int32(10), p.deployments["a"].replicas, "%s", plan)
		p.now = p.now.Add(30 * time.Second)
	}
	b := plan.Shares[1]
	require.Equal(t, replicas.ReasonNoProgress, b.Reason)
	require.Equal(t, int32(1), p.deployments["b"].replicas, "one probes")
	require.Contains(t, b.Description(), "0 of 1 replica work: 1 Unschedulable: 0/3 nodes are available")
	starts["b"] = true
	for range 6 {
		follow()
		p.step(10)
	}
	require.Equal(t, [2]int32{4, 6}, p.has())
}
