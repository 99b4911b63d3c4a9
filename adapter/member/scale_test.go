package member_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/scale"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
)

// A deployment is one on a member, and the way to its scale.
type deployment struct {
	scale.ScaleInterface
	mu       sync.Mutex
	where    string // namespace/name of what was asked for last
	replicas int32
	asked    int
	fault    func(context.Context) error
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
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: d.replicas}}, nil
}

func (d *deployment) Get(ctx context.Context, _ schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return d.call(ctx, name, func() {})
}

func (d *deployment) Patch(ctx context.Context, _ schema.GroupVersionResource, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	var patch struct{ Spec struct{ Replicas *int32 } }
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	return d.call(ctx, name, func() { d.replicas = *patch.Spec.Replicas })
}

func scalable(t *testing.T, o member.Options, names ...string) (*member.Clusters, map[string]*deployment) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	all, deployments := &member.Clusters{}, map[string]*deployment{}
	o.Home = home
	if o.Interval == 0 {
		o.Interval = 5 * time.Millisecond
	}
	for _, name := range names {
		d := &deployment{}
		deployments[name] = d
		o := o
		o.ID = "to-" + name
		o.Probe = func(ctx context.Context) error {
			d.mu.Lock()
			fault := d.fault
			d.mu.Unlock()
			if fault == nil {
				return nil
			}
			return fault(ctx)
		}
		c, err := member.New(name, member.Clients{Kubernetes: fake.NewClientset(), Scales: d, Mapper: mapper}, o)
		require.NoError(t, err)
		require.NoError(t, c.Probe(t.Context()))
		require.NoError(t, all.Add(t.Context(), c))
	}
	return all, deployments
}

func TestObjects(t *testing.T) {
	all, deployments := scalable(t, member.Options{}, "a", "b")
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	policy := placement.DefaultObjectPolicy()
	policy.Members = []placement.Member{{Name: "a", Weight: 4}, {Name: "b", Weight: 6}}
	poll := member.ObjectPoll{
		Object: member.Object{Namespace: "shop", Name: "nginx", Namespaces: map[string]string{"b": "elsewhere"}},
		Now:    noon, Rebalancing: policy.Rebalancing,
	}
	step := func(replicas int32) (placement.ObjectPlan, map[string]error) {
		clusters, errs := all.ObserveObject(t.Context(), poll)
		data, err := json.Marshal(clusters)
		require.NoError(t, err)
		poll.Before = nil
		require.NoError(t, json.Unmarshal(data, &poll.Before))
		plan := placement.PlanObject(policy, placement.ObjectState{Replicas: &replicas, Clusters: clusters, Now: poll.Now})
		for _, r := range all.Scale(t.Context(), poll.Object, plan) {
			require.NoError(t, r.Err)
		}
		return plan, errs
	}
	replicas := func() [2]int32 { return [2]int32{deployments["a"].replicas, deployments["b"].replicas} }
	_, errs := step(5)
	require.Empty(t, errs)
	require.Equal(t, [2]int32{2, 3}, replicas())
	require.Equal(t, "shop/nginx", deployments["a"].where)
	require.Equal(t, "elsewhere/nginx", deployments["b"].where)
	plan, _ := step(5)
	require.Equal(t, int32(2), plan.Members[0].Current)
	require.Equal(t, "to-a", plan.Members[0].ID)
	require.False(t, plan.Members[0].Write)

	deployments["a"].breaks(func(context.Context) error { return errReset })
	plan, errs = step(5)
	require.Len(t, errs, 1)
	require.Error(t, errs["a"])
	require.Equal(t, int32(2), plan.Members[0].Current, "as it was last seen")
	require.Equal(t, [2]int32{2, 3}, replicas())
	poll.Now = noon.Add(time.Minute)
	step(5)
	require.Equal(t, [2]int32{2, 5}, replicas())

	deployments["a"].breaks(nil)
	require.Eventually(t, func() bool { _, errs = step(5); return len(errs) == 0 }, 20*time.Second, time.Millisecond)
	require.Equal(t, [2]int32{2, 3}, replicas())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := poll.Before
	clusters, errs := all.ObserveObject(ctx, poll)
	require.Len(t, errs, 2)
	require.Equal(t, before, clusters, "who is not asked is as before")
}

// What there is no scale of is away for this object, and says why.
func TestNoScale(t *testing.T) {
	all, _ := scalable(t, member.Options{}, "a")
	poll := member.ObjectPoll{Object: member.Object{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Robot"}}}
	clusters, errs := all.ObserveObject(t.Context(), poll)
	require.False(t, clusters[0].Health.Reachable)
	require.ErrorContains(t, errs["a"], "Robot")
	reports := all.Scale(t.Context(), poll.Object, placement.ObjectPlan{Members: []placement.ObjectPart{{Name: "a", Write: true}, {Name: "b", Write: true}, {Name: "c"}}})
	require.Len(t, reports, 2)
	require.ErrorContains(t, reports[0].Err, "Robot")
	require.EqualError(t, reports[1].Err, "it is not registered")

	c, err := member.New("x", member.Clients{Kubernetes: fake.NewClientset()}, member.Options{Home: home})
	require.NoError(t, err)
	require.NoError(t, all.Add(t.Context(), c))
	_, errs = all.ObserveObject(t.Context(), member.ObjectPoll{Members: []string{"x"}})
	require.EqualError(t, errs["x"], "member x has no client for scales")
}

// A member that fails its health check is not asked, so that nobody waits for it.
func TestNotAsked(t *testing.T) {
	const timeout = 100 * time.Millisecond
	all, deployments := scalable(t, member.Options{Timeout: timeout}, "a", "b")
	deployments["a"].breaks(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	poll := member.ObjectPoll{Object: member.Object{Name: "nginx"}, Now: time.Now()}
	read := func() error {
		clusters, errs := all.ObserveObject(t.Context(), poll)
		require.True(t, clusters[1].Health.Reachable)
		return errs["a"]
	}
	require.ErrorIs(t, read(), context.DeadlineExceeded, "the first does")
	require.Eventually(t, func() bool { return strings.HasPrefix(read().Error(), "member a does not answer: health check: ") }, 20*time.Second, time.Millisecond)
	asked := deployments["a"].asked
	require.Error(t, read())
	require.Equal(t, asked, deployments["a"].asked)
	plan := placement.ObjectPlan{Members: []placement.ObjectPart{{Name: "a", Next: 3, Write: true}, {Name: "b", Next: 3, Write: true}}}
	reports := all.Scale(t.Context(), poll.Object, plan)
	require.ErrorContains(t, reports[0].Err, "member a does not answer: ")
	require.NoError(t, reports[1].Err)
	require.Equal(t, int32(3), deployments["b"].replicas)
}
