package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/adaptertest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

const (
	home  = "home-1"
	owner = types.UID("6f1f3d3e-0000-4000-8000-000000000001")
)

var jobResource = schema.GroupResource{Group: "batch", Resource: "jobs"}

// A site is an API server, with what can go wrong on the way to it.
type site struct {
	*fake.Clientset
	*adaptertest.Server
	name  string
	blind atomic.Bool // watches that begin show nothing
	calls atomic.Int64
	// propagation is that of the last delete.
	propagation atomic.Value

	mu    sync.Mutex
	fault fault
}

// A fault answers a request about Jobs in the server's place, if it wants to, after it has been sent or not.
type fault func(ctx context.Context, verb, name string, send func() error) error

func newSite(name string) *site { return siteOf(fake.NewClientset(), name) }

// siteOf returns a site with that fake. One without field management is faster by far, so
// that a watch may be left behind: its buffer has room for 100 events.
func siteOf(clients *fake.Clientset, name string) *site {
	return &site{Clientset: clients, Server: adaptertest.Serve(&clients.Fake, clients.Tracker()), name: name}
}

// identify gives the cluster a UID.
func (s *site) identify(t testing.TB, uid types.UID) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}}
	_ = s.CoreV1().Namespaces().Delete(t.Context(), system.Name, metav1.DeleteOptions{}) // which may not exist
	require.NoError(t, s.Tracker().Add(system))
}

// probe is the name in a list that is a health check.
const probe = "probe"

func (s *site) breaks(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
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
	name := ""
	if o.Limit == 1 {
		name = probe
	}
	err = s.site.call(ctx, "list", name, func() (err error) { there, err = s.JobInterface.List(ctx, o); return err })
	return there, err
}

func (s siteJobs) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return s.site.call(ctx, "delete", name, func() error {
		s.site.propagation.Store(*o.PropagationPolicy)
		return s.JobInterface.Delete(ctx, name, o)
	})
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
func on(verb string, how func(send func() error) error) fault {
	return func(_ context.Context, v, _ string, send func() error) error {
		if v != verb {
			return send()
		}
		return how(send)
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

// A fixture is some members and one owner with Jobs on them.
type fixture struct {
	t          testing.TB
	sites      map[string]*site
	all        *member.Clusters
	policy     jobs.Policy
	target     adapter.Target
	overrides  map[string]member.Override
	seen       member.Observation
	decided    jobs.Decision
	checkpoint jobs.Checkpoint
	demand     int64
}

// quick are the options of members that are asked at once for creates that were not
// answered, and unchecked are those of members whose health is checked once.
var (
	quick     = member.Options{Timeout: 20 * time.Millisecond}
	unchecked = member.Options{Timeout: 20 * time.Millisecond, Interval: time.Hour}
)

// anOwner returns the target of an owner.
func anOwner(uid types.UID) adapter.Target {
	return adapter.Target{
		Owner: adapter.Owner{APIVersion: "example.com/v1", Kind: "Queue", Namespace: "shop", Name: "processor", UID: uid},
		Job: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}}, Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "processor", Image: "myapp:latest"}}}},
		}},
		Revision: rollout.Revision{Generation: 1, TemplateHash: "template-1"},
	}
}

// newFixture returns a fixture in which clusters are not tainted for all owners, so that a
// member that is back has its share at once.
func newFixture(t testing.TB, options member.Options, names ...string) *fixture {
	t.Helper()
	w := &fixture{t: t, sites: map[string]*site{}, all: &member.Clusters{Taints: &taint.Durations{}}, policy: jobs.DefaultPolicy(), target: anOwner(owner)}
	w.policy.Revision = w.target.Revision
	w.policy.Failover.GracePeriod = time.Hour
	w.track()
	for _, name := range names {
		w.sites[name] = newSite(name)
		w.add(name, options)
	}
	return w
}

// track tracks the owner, or edits it.
func (w *fixture) track() {
	w.t.Helper()
	require.NoError(w.t, w.all.Track(w.target, w.overrides))
}

// both uses one client for requests and watches.
func both(c kubernetes.Interface) member.Clients { return member.Clients{Requests: c, Watches: c} }

// add registers a member, or registers it anew.
func (w *fixture) add(name string, o member.Options) *member.Cluster {
	w.t.Helper()
	c := w.member(name, o)
	require.NoError(w.t, w.all.Add(w.t.Context(), c))
	return c
}

// member returns a member that is not registered.
func (w *fixture) member(name string, o member.Options) *member.Cluster {
	w.t.Helper()
	o.Home = home
	if o.Terms == nil {
		o.Terms = requests.OneShot()
	}
	if o.Interval == 0 {
		o.Interval = 5 * time.Millisecond
	}
	c, err := member.New(name, both(w.sites[name]), o)
	require.NoError(w.t, err)
	return c
}

func (w *fixture) eventually(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, time.Minute, 2*time.Millisecond, what)
}

// observe is the observation, by name.
func (w *fixture) observe() map[string]jobs.Cluster {
	byName := map[string]jobs.Cluster{}
	for _, c := range w.all.Observe(owner).Clusters {
		byName[c.Name] = c
	}
	return byName
}

// ready waits until all members answer and their Jobs are known.
func (w *fixture) ready() *fixture {
	w.t.Helper()
	w.eventually("all members are known", func() bool {
		for _, c := range w.observe() {
			if c.Reach != jobs.Reachable {
				return false
			}
		}
		return true
	})
	return w
}

// shown waits until the caches of the members show so many Jobs.
func (w *fixture) shown(n int) {
	w.t.Helper()
	w.eventually(fmt.Sprint(n, " Jobs are shown"), func() bool {
		shown := 0
		for _, c := range w.observe() {
			for _, j := range c.Jobs {
				if !inFlight(&j) {
					shown++
				}
			}
		}
		return shown == n
	})
}

// plan observes and plans, so that the failures so far are told.
func (w *fixture) plan() (jobs.Decision, []jobs.Cluster) {
	w.seen = w.all.Observe(owner)
	w.decided = jobs.Decide(w.policy, jobs.Observation{
		Metrics: demand(w.demand), Clusters: w.seen.Clusters, Now: time.Now(),
	}, w.checkpoint)
	w.checkpoint = w.decided.Checkpoint
	return w.decided, w.seen.Clusters
}

// withoutTaints is the checkpoint without what failures have left in it.
func withoutTaints(c jobs.Checkpoint) (after jobs.Checkpoint) {
	data, err := json.Marshal(c)
	var stored map[string]any
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	delete(stored, "workloads")
	if clusters, ok := stored["clusters"].(map[string]any); ok {
		for _, cluster := range clusters {
			delete(cluster.(map[string]any), "taint")
			delete(cluster.(map[string]any), "starts")
		}
	}
	if err == nil {
		data, err = json.Marshal(stored)
	}
	if err == nil {
		err = json.Unmarshal(data, &after)
	}
	if err != nil {
		panic(err)
	}
	return after
}

// demand is an active metric that asks for n Jobs.
func demand(n int64) []scaling.Metric {
	return []scaling.Metric{{Value: float64(n), Target: 1, Activity: scaling.Active}}
}

// inFlight reports whether a Job on a reachable member is in flight.
func inFlight(j *jobs.Job) bool {
	return j.Phase == jobs.Pending && j.PendingSince.IsZero() && !j.Deleting
}

// apply carries out what was planned last.
func (w *fixture) apply() []member.Report { return w.all.Apply(w.t.Context(), w.seen, w.decided) }

// poll plans and applies.
func (w *fixture) poll() []member.Report {
	w.plan()
	return w.apply()
}

// jobs are those of a member's API server.
func (w *fixture) jobs(name string) []batchv1.Job {
	w.t.Helper()
	l, err := w.sites[name].Clientset.BatchV1().Jobs("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return l.Items
}

// change changes Jobs on a member, as its controllers would.
func (w *fixture) change(name string, change func(*batchv1.Job)) {
	w.t.Helper()
	for _, j := range w.jobs(name) {
		change(&j)
		_, err := w.sites[name].Clientset.BatchV1().Jobs(j.Namespace).Update(context.Background(), &j, metav1.UpdateOptions{})
		require.NoError(w.t, err)
	}
}

// pods creates n more pods of a Job, which are ready, as its controller would in a round.
func (w *fixture) pods(name string, j *batchv1.Job, round, n int) {
	w.t.Helper()
	for i := range n {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(j.Name, "-", round, "-", i), UID: types.UID(fmt.Sprint(j.UID, round, i)), Labels: maps.Clone(j.Spec.Template.Labels)},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
		metav1.SetMetaDataLabel(&p.ObjectMeta, batchv1.ControllerUidLabel, string(j.UID))
		_, err := w.sites[name].Clientset.CoreV1().Pods(j.Namespace).Create(context.Background(), p, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
}

// jobID is what tells a Job from every other.
func jobID(j *batchv1.Job) string { return j.Name + "." + j.Labels[member.LabelCreation] }

func runs(j *batchv1.Job) { j.Status.Ready = new(int32(1)) }
func finishes(j *batchv1.Job) {
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
	j.Status.CompletionTime = new(metav1.Now())
}

func kinds(clusters []jobs.Cluster) string {
	var all []string
	for _, c := range clusters {
		for i, failed := range []bool{c.Failures.Call, c.Failures.Create, c.Failures.Rejected} {
			if failed {
				all = append(all, c.Name+":"+[]string{"call", "create", "rejected"}[i])
			}
		}
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
