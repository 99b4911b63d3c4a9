package member_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/placement"
)

const (
	home  = "home-1"
	owner = types.UID("6f1f3d3e-0000-4000-8000-000000000001")
)

var jobResource = schema.GroupResource{Group: "batch", Resource: "jobs"}

// A site is an API server, with what can go wrong on the way to it.
type site struct {
	*fake.Clientset
	name  string
	uids  *atomic.Int64
	blind atomic.Bool // watches that begin show nothing
	calls atomic.Int64

	mu sync.Mutex
	// fault answers a request about Jobs in the server's place, if it wants to, after
	// it has been sent or not.
	fault func(ctx context.Context, verb, name string, send func() error) error
}

func newSite(name string, uids *atomic.Int64) *site {
	s := &site{Clientset: fake.NewClientset(), name: name, uids: uids}
	s.PrependReactor("create", "jobs", func(a ktesting.Action) (bool, runtime.Object, error) {
		j := a.(ktesting.CreateAction).GetObject().(*batchv1.Job)
		if j.UID == "" {
			j.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", uids.Add(1)))
		}
		if j.CreationTimestamp.IsZero() {
			j.CreationTimestamp = metav1.Now()
		}
		return false, nil, nil
	})
	return s
}

func (s *site) breaks(how func(ctx context.Context, verb, name string, send func() error) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = how
}

func (s *site) call(ctx context.Context, verb, name string, send func() error) error {
	s.calls.Add(1)
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return send()
	}
	return fault(ctx, verb, name, send)
}

func (s *site) BatchV1() batchclient.BatchV1Interface { return siteBatch{s.Clientset.BatchV1(), s} }

type siteBatch struct {
	batchclient.BatchV1Interface
	site *site
}

func (b siteBatch) Jobs(namespace string) batchclient.JobInterface {
	return siteJobs{b.BatchV1Interface.Jobs(namespace), b.site}
}

type siteJobs struct {
	batchclient.JobInterface
	site *site
}

func (s siteJobs) Create(ctx context.Context, j *batchv1.Job, o metav1.CreateOptions) (there *batchv1.Job, err error) {
	err = s.site.call(ctx, "create", j.Name, func() (err error) { there, err = s.JobInterface.Create(ctx, j, o); return err })
	return there, err
}

func (s siteJobs) Get(ctx context.Context, name string, o metav1.GetOptions) (there *batchv1.Job, err error) {
	err = s.site.call(ctx, "get", name, func() (err error) { there, err = s.JobInterface.Get(ctx, name, o); return err })
	return there, err
}

func (s siteJobs) List(ctx context.Context, o metav1.ListOptions) (there *batchv1.JobList, err error) {
	err = s.site.call(ctx, "list", "", func() (err error) { there, err = s.JobInterface.List(ctx, o); return err })
	return there, err
}

func (s siteJobs) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return s.site.call(ctx, "delete", name, func() error { return s.JobInterface.Delete(ctx, name, o) })
}

func (s siteJobs) Watch(ctx context.Context, o metav1.ListOptions) (w watch.Interface, err error) {
	err = s.site.call(ctx, "watch", "", func() (err error) {
		if s.site.blind.Load() {
			w = watch.NewFake()
			return nil
		}
		w, err = s.JobInterface.Watch(ctx, o)
		return err
	})
	return w, err
}

// on is a fault of one verb.
func on(verb string, fault func(send func() error) error) func(context.Context, string, string, func() error) error {
	return func(_ context.Context, v, _ string, send func() error) error {
		if v != verb {
			return send()
		}
		return fault(send)
	}
}

// instead fails without having been sent.
func instead(err error) func(func() error) error { return func(func() error) error { return err } }

// after fails after it has been sent.
func after(err error) func(func() error) error {
	return func(send func() error) error {
		_ = send()
		return err
	}
}

var errReset = fmt.Errorf("read tcp: connection reset by peer: %w", io.ErrUnexpectedEOF)

func status(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: fmt.Sprint("status ", code)}}
}

// away is a member that does not answer at all.
func away(context.Context, string, string, func() error) error { return errReset }

// hangs answers nothing until it is given up.
func hangs(ctx context.Context, _, _ string, _ func() error) error {
	<-ctx.Done()
	return ctx.Err()
}

// A world is some members and one owner with Jobs on them.
type world struct {
	t      testing.TB
	sites  map[string]*site
	all    *member.Clusters
	policy placement.JobPolicy
	action member.Action
	memory placement.Memory
	demand int64
}

func newWorld(t testing.TB, options member.Options, names ...string) *world {
	t.Helper()
	found, err := adapter.ReadScaledJobs([]byte(`
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: processor, namespace: shop, generation: 1, labels: {team: a}}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: processor, image: "myapp:latest"}]}}}
  triggers: [{type: rabbitmq, metadata: {value: "1"}}]
`))
	require.NoError(t, err)
	w := &world{t: t, sites: map[string]*site{}, all: &member.Clusters{}, policy: placement.DefaultJobPolicy()}
	w.action.ScaledJob = found[0]
	w.action.ScaledJob.UID = owner
	w.action.Revision = found[0].Revision()
	w.policy.Revision = w.action.Revision
	w.policy.Failover.GracePeriod = time.Hour
	require.NoError(t, w.all.Follow(adapter.Observation{Owner: owner}))
	var uids atomic.Int64
	for _, name := range names {
		w.sites[name] = newSite(name, &uids)
		w.add(name, options)
	}
	return w
}

// add registers a member, or registers it anew.
func (w *world) add(name string, o member.Options) *member.Cluster {
	w.t.Helper()
	o.Home, o.ID = home, "to-"+name
	if o.Interval == 0 {
		o.Interval = 5 * time.Millisecond
	}
	c, err := member.New(name, member.Clients{Kubernetes: w.sites[name]}, o)
	require.NoError(w.t, err)
	require.NoError(w.t, w.all.Add(w.t.Context(), c))
	return c
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, 20*time.Second, 2*time.Millisecond, what)
}

// observe is the observation, by name.
func (w *world) observe() map[string]placement.JobCluster {
	clusters, _ := w.all.Observe(owner, time.Now())
	byName := map[string]placement.JobCluster{}
	for _, c := range clusters {
		byName[c.Name] = c
	}
	return byName
}

// ready waits until all members answer and their Jobs are known.
func (w *world) ready() *world {
	w.t.Helper()
	w.eventually("all members are known", func() bool {
		for _, c := range w.observe() {
			if !c.Reachable || !c.Known {
				return false
			}
		}
		return true
	})
	return w
}

// shown waits until the caches of the members show so many Jobs.
func (w *world) shown(n int) {
	w.t.Helper()
	w.eventually(fmt.Sprint(n, " Jobs are shown"), func() bool {
		shown := 0
		for _, c := range w.observe() {
			for _, j := range c.Jobs {
				if j.Phase != placement.InFlight {
					shown++
				}
			}
		}
		return shown == n
	})
}

// plan observes and plans, so that the failures so far are told.
func (w *world) plan() (placement.JobPlan, []placement.Failure) {
	now := time.Now()
	clusters, failures := w.all.Observe(owner, now)
	plan := placement.PlanJobs(w.policy, placement.JobState{
		Demand: placement.Demand{Jobs: w.demand, Active: true}, Clusters: clusters, Failures: failures, Memory: w.memory, Now: now,
	})
	w.memory, w.action.Now, w.action.Plan = plan.Memory, now, plan
	return plan, failures
}

// poll plans and applies.
func (w *world) poll() []member.Report {
	w.plan()
	return w.all.Apply(w.t.Context(), w.action)
}

// jobs are those of a member's API server.
func (w *world) jobs(name string) []batchv1.Job {
	w.t.Helper()
	l, err := w.sites[name].Clientset.BatchV1().Jobs("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return l.Items
}

// change changes Jobs on a member, as its controllers would.
func (w *world) change(name string, change func(*batchv1.Job)) {
	w.t.Helper()
	for _, j := range w.jobs(name) {
		change(&j)
		_, err := w.sites[name].Clientset.BatchV1().Jobs(j.Namespace).Update(context.Background(), &j, metav1.UpdateOptions{})
		require.NoError(w.t, err)
	}
}

func runs(j *batchv1.Job)  { j.Status.Ready = new(int32(1)) }
func waits(j *batchv1.Job) { j.Status.Ready = nil }
func created(ago time.Duration) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.CreationTimestamp = metav1.NewTime(time.Now().Add(-ago)) }
}

func kinds(failures []placement.Failure) string {
	var all []string
	for _, f := range failures {
		all = append(all, f.Cluster+":"+[]string{"call", "create", "rejected"}[f.Kind])
	}
	return strings.Join(all, " ")
}

func noErrors(t testing.TB, reports []member.Report) {
	t.Helper()
	for _, r := range reports {
		require.NoError(t, r.Err, r.Cluster)
		require.Empty(t, r.Failures, r.Cluster)
	}
}

var errForbidden = apierrors.NewForbidden(jobResource, "", errors.New("exceeded quota"))
