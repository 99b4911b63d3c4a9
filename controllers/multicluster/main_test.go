package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

func execute(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	var out bytes.Buffer
	status = run(t.Context(), args, streams{&out, &out})
	return status, out.String()
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-dsj -lease-duration 1s":    "-lease-duration: found 1s; use 2s or more",
		"-dsj -probe-interval 0s":    "-probe-interval: found 0s; use a time above 0",
		"-dsj -member-timeout -1s":   "-member-timeout: found -1s; use a time above 0",
		"-dso start":                 `arguments: found [start]; use flags only`,
		"start":                      `unknown command "start"; use setup-member, list-members, delete-member`,
		"setup-member":               "want the name of one member",
		"setup-member a b":           "want the name of one member",
		"delete-member":              "want the name of one member",
		"list-members a":             `unexpected argument "a"`,
		"setup-member a --keda-kube": "flag provided but not defined",
	} {
		status, said := execute(t, strings.Fields(args)...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	for _, args := range []string{"-help", "setup-member -help", "list-members -help"} {
		status, _ := execute(t, strings.Fields(args)...)
		require.Equal(t, 0, status, args)
	}
	status, said := execute(t, "setup-member", "a", "--keda-kubeconfig", "none")
	require.Equal(t, 1, status)
	require.Contains(t, said, "-member-kubeconfig is missing")
}

// Each switch is off unless its variable says true; a flag wins.
func TestSwitches(t *testing.T) {
	t.Setenv("DSJ_ENABLED", "yes")
	t.Setenv("DSO_ENABLED", "")
	status, said := execute(t)
	require.Equal(t, 2, status)
	require.Contains(t, said, `$DSJ_ENABLED: found "yes"; use true or false`)
	t.Setenv("DSJ_ENABLED", "true")
	o := newOptions()
	require.NoError(t, process.Parse(o, nil, &bytes.Buffer{}))
	require.Equal(t, []schema.GroupVersionResource{api.Jobs}, o.resources())
	o = newOptions()
	require.NoError(t, process.Parse(o, []string{"-dsj=false", "-dso"}, &bytes.Buffer{}))
	require.Equal(t, []schema.GroupVersionResource{api.Objects}, o.resources())
}

// Whoever has no cluster is told how to get four.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := execute(t, "-dsj")
	require.Equal(t, 1, status)
	require.Contains(t, said, "./controllers/multicluster/local")
	file := processtest.Kubeconfig(t, "http://127.0.0.1:1")
	for _, args := range [][]string{{"-dsj", "-kubeconfig", file}, {"list-members", "--keda-kubeconfig", file}} {
		status, said = execute(t, args...)
		require.Equal(t, 1, status)
		require.Contains(t, said, "connection refused")
	}
}

// A status is no news, and neither is a finalizer of ours.
func TestSame(t *testing.T) {
	object := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGeneration(1)
		u.SetAnnotations(map[string]string{"a": "b"})
		change(u)
		return u
	}
	before := object(func(*unstructured.Unstructured) {})
	for name, change := range map[string]func(*unstructured.Unstructured){
		"generation":  func(u *unstructured.Unstructured) { u.SetGeneration(2) },
		"annotations": func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"a": "c"}) },
		"labels":      func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"a": "c"}) },
		"UID":         func(u *unstructured.Unstructured) { u.SetUID("another") },
		"deletion":    func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) },
	} {
		require.False(t, equalExceptStatus(before, object(change)), name)
	}
	require.True(t, equalExceptStatus(before, object(func(u *unstructured.Unstructured) {
		u.SetResourceVersion("7")
		u.SetFinalizers([]string{finalizer})
		u.Object["status"] = map[string]any{"a": "b"}
	})))
}

func TestEarliest(t *testing.T) {
	a, b := time.Unix(1, 0), time.Unix(2, 0)
	for _, test := range []struct{ x, y, want time.Time }{{a, b, a}, {b, a, a}, {a, time.Time{}, a}, {time.Time{}, b, b}, {}} {
		require.Equal(t, test.want, earliest(test.x, test.y))
	}
}

// What one has found out all of its namespace know, until it has ended.
func TestTaints(t *testing.T) {
	now := time.Unix(1000, 0)
	entry := func(size int32, until time.Time) taint.Entry {
		return taint.Entry{Path: taint.Path{Cluster: "a"}, Workload: taint.Workload{Size: size}, Until: until}
	}
	var all taints
	all.merge("team-a", taint.Set{entry(4, now.Add(time.Minute))}, now)
	got := all.merge("team-a", taint.Set{entry(6, now.Add(time.Hour))}, now)
	require.Len(t, got, 2)
	require.Empty(t, all.merge("team-b", nil, now), "another namespace")
	later := now.Add(2 * time.Minute)
	got = all.merge("team-a", nil, later)
	require.Len(t, got, 1)
	got[0].Size = 0
	require.EqualValues(t, 6, all.merge("team-a", nil, later)[0].Size, "no shared memory")
}

func TestReady(t *testing.T) {
	read := scaling.Demand{Metrics: 2, Read: 2}
	decided := func(demand scaling.Demand, rule scaling.Reason) (d jobs.Decision) {
		d.Scaling.Trace.Demand, d.Scaling.Reason = demand, rule
		return d
	}
	held, excluded := decided(read, scaling.ReasonMax), decided(read, scaling.ReasonStrategy)
	held.Reason = jobs.ReasonHeldByStuck
	excluded.Unplaced, excluded.Reason = 1, jobs.ReasonAllExcluded
	for want, o := range map[string]jobOutcome{
		"True Ready":                    {plan: decided(read, scaling.ReasonStrategy)},
		"False SpecCheckFailed":         {invalid: errors.New("a")},
		"False CheckpointVersion":       {unusable: errors.New("a")},
		"Unknown JobsUnknown":           {plan: decided(read, scaling.ReasonJobsUnknown)},
		"False CapacityHeldByStuckJobs": {plan: held},
		"False AllMembersExcluded":      {plan: excluded},
		"False JobCreateFailed":         {plan: held, degraded: []degraded{{"a", &api.MemberProblem{}}}, unread: errors.New("a")},
		"False JobDeleteFailed":         {plan: held, undeleted: errors.New("a")},
		"False FailingJobs":             {plan: excluded, failing: "a"},
		"Unknown CreateRejected":        {plan: decided(read, scaling.ReasonStrategy), degraded: []degraded{{"a", &api.MemberProblem{Reason: api.ProblemRejected}}}, accepted: true},
		"False TriggerError":            {unread: errors.New("a"), plan: decided(scaling.Demand{Metrics: 2}, scaling.ReasonStrategy)},
		"Unknown PartialTriggerError":   {unread: errors.New("a"), plan: decided(scaling.Demand{Metrics: 2, Read: 1}, scaling.ReasonStrategy)},
	} {
		c := o.ready()
		require.Equal(t, want, string(c.Status)+" "+c.Reason)
	}
	for _, c := range (&jobOutcome{unusable: errors.New("status.checkpoint: a")}).facts() {
		require.Equal(t, "Unknown status.checkpoint: a", string(c.Status)+" "+c.Message)
	}
	held.Scaling.Trace.Demand.Read = 1
	all := jobOutcome{plan: held, degraded: []degraded{{"a", &api.MemberProblem{}}}, undeleted: errors.New("denied"), unread: errors.New("no queue")}
	var told []string
	for _, c := range all.facts() {
		told = append(told, c.Type+" "+string(c.Status)+" "+c.Reason)
		require.Contains(t, all.ready().Message, c.Message, "none hides another")
	}
	require.Equal(t, []string{"JobsCreated False JobCreateFailed", "JobsDeleted False JobDeleteFailed", "TriggersRead Unknown PartialTriggerError"}, told)
	away := jobOutcome{plan: jobs.Decision{Members: []jobs.MemberDecision{{Name: "a", Excluded: jobs.ReasonNeverReached}, {Name: "b"}}}}
	require.Equal(t, unknown(reasonUnreachable, "1 of 2 members unreachable: a (it has not answered since the controller started: restore it, or run delete-member); they hold 0 of the maximum"), away.ready())
	for want, o := range map[string]objectOutcome{
		"True Ready":               {},
		"False SpecCheckFailed":    {invalid: errors.New("a")},
		"False CheckpointVersion":  {unusable: errors.New("a")},
		"False StatusNotWritten":   {unstored: errors.New("a")},
		"False NoMembers":          {plan: replicas.Decision{Reason: replicas.ReasonNoMembers}},
		"False AllMembersExcluded": {plan: replicas.Decision{Reason: replicas.ReasonAllExcluded}},
		"False ScaleFailed":        {reports: []member.ScaleReport{{Err: errors.New("a")}}},
		"Unknown AtMax":            {plan: replicas.Decision{Reason: replicas.ReasonAtMax}},
		"False KEDAMissing":        {keda: kedaReport{}.fail(notReady(reasonKEDAMissing, "a"))},
	} {
		c := o.ready()
		require.Equal(t, want, string(c.Status)+" "+c.Reason)
	}
}

// A condition of another release does not stay.
func TestConditions(t *testing.T) {
	old := []metav1.Condition{{Type: "MemberNeverReached"}, {Type: "Fallback", Reason: "FallbackExists"}, ready("")}
	after := conditions(old, 2, paused(false))
	require.Equal(t, []string{"Fallback", "Ready", "Paused"}, []string{after[0].Type, after[1].Type, after[2].Type})
	require.Len(t, after, 3)
}

// What stays as it is, is told once.
func TestEvents(t *testing.T) {
	status := func(m api.JobMemberStatus, ready metav1.Condition) api.JobStatus {
		return api.JobStatus{
			MemberClusterStatuses: map[string]api.JobMemberStatus{"a": m},
			Conditions:            conditions(nil, 1, ready, paused(false), active(scaling.Demand{Read: 1})),
		}
	}
	reasons := func(before, after api.JobStatus, reports ...member.Report) (all []string) {
		for _, e := range (&jobOutcome{reports: reports}).events(before, after) {
			all = append(all, e.Type+" "+e.Reason)
		}
		return all
	}
	well := status(api.JobMemberStatus{MemberStatus: api.MemberStatus{State: api.Ready}}, ready(""))
	require.Equal(t, []string{"Normal Ready"}, reasons(api.JobStatus{}, well), "not that it is inactive and not paused")
	require.Empty(t, reasons(well, well))
	soft := status(api.JobMemberStatus{MemberStatus: api.MemberStatus{State: api.NotReady}, SoftTainted: true}, ready(""))
	require.Equal(t, []string{"Warning MemberNotReady", "Warning MemberSoftTainted"}, reasons(well, soft))
	hard := status(api.JobMemberStatus{MemberStatus: api.MemberStatus{State: api.NotReady}, HardTainted: true}, notReady("AllMembersExcluded", ""))
	require.Equal(t, []string{"Warning AllMembersExcluded", "Warning MemberHardTainted"}, reasons(soft, hard))
	require.Empty(t, reasons(hard, hard))
	scoped := status(api.JobMemberStatus{MemberStatus: api.MemberStatus{State: api.Ready}, HardTaintScopes: []api.TaintScope{{Size: 4}}}, ready(""))
	require.Equal(t, []string{"Normal Ready", "Normal MemberReady", "Warning MemberWorkloadTainted"}, reasons(hard, scoped))
	require.Equal(t, []string{"Normal JobsCreated", "Normal ScaledJobRolloutCleanupCompleted", "Normal DuplicatesDeleted"},
		reasons(well, well, member.Report{Result: adapter.Result{Created: 1, Outdated: 2}, Duplicates: 3}))
}

// A member whose kubeconfig cannot be used is a member: it is one that does not answer,
// or goes on as before. Only one that is not in the registry is none.
func TestRegister(t *testing.T) {
	m := &members{controller: &controller{options: newOptions(), log: slog.New(slog.DiscardHandler), home: "home", clients: clients{Clients: process.Clients{Lease: loop.Lease{Terms: requests.OneShot()}}}}, kubeconfigs: map[string]string{}}
	bad := registry.Member{Name: "a", Kubeconfig: "bad", Err: errors.New("it names a program")}
	good := registry.Member{Name: "a", Kubeconfig: "good", Config: &rest.Config{Host: "https://127.0.0.1:1"}}
	m.register(t.Context(), []registry.Member{bad})
	require.Equal(t, []string{"a"}, m.Names())
	require.Eventually(t, func() bool {
		err := m.Problems()["a"]
		return err != nil && strings.Contains(err.Error(), "it names a program")
	},
		10*time.Second, time.Millisecond)
	m.register(t.Context(), []registry.Member{good})
	require.Contains(t, m.kubeconfigs["a"], "good")
	m.register(t.Context(), []registry.Member{bad})
	require.Contains(t, m.kubeconfigs["a"], "good")
	require.Equal(t, []string{"a"}, m.Names())
	m.register(t.Context(), nil)
	require.Empty(t, m.Names())
}

func TestWarningsAreToldOnce(t *testing.T) {
	p := &poller{}
	a, b := &field.Error{Path: "a"}, &field.Error{Path: "spec.memberClusters[0].podOverrides.b"}
	require.Len(t, p.warnings([]*field.Error{a}), 1)
	told := p.warnings([]*field.Error{a, b})
	require.Len(t, told, 1)
	require.Equal(t, "PodOverrideWarning", told[0].Reason)
	require.Empty(t, p.warnings(nil))
	require.Len(t, p.warnings([]*field.Error{a}), 1, "it was gone meanwhile")
}

func TestMerged(t *testing.T) {
	require.Equal(t, []scaledjob.Event{normal("a", "1; 3"), warning("a", "2")},
		merged([]scaledjob.Event{normal("a", "1"), warning("a", "2"), normal("a", "3")}))
	require.Empty(t, merged(nil))
}

// Why a member does not answer is what was found first, until it answers.
func TestCauses(t *testing.T) {
	c := causes{}
	require.Empty(t, c.add("a", api.NotReady, nil))
	require.Equal(t, ": x", c.add("a", api.NotReady, errors.New("x")))
	require.Equal(t, ": x", c.add("a", api.NotReady, errors.New("y")))
	require.Empty(t, c.add("a", api.Ready, nil))
	require.Equal(t, ": y", c.add("a", api.NotReady, errors.New("y")))
	require.Len(t, []rune(c.add("b", api.NotReady, errors.New(strings.Repeat("no ", 1<<20)))), len(": ")+256, "so that the status can be stored")
}

// An object's events tell a reason when it begins, and that a former member is released.
func TestObjectEvents(t *testing.T) {
	status := func(m map[string]api.ObjectMemberStatus) api.ObjectStatus {
		return api.ObjectStatus{MemberClusterStatuses: m}
	}
	reasons := func(before, after map[string]api.ObjectMemberStatus) (all []string) {
		for _, e := range new(objectOutcome).events(status(before), status(after)) {
			all = append(all, e.Type+" "+e.Reason)
		}
		return all
	}
	type members = map[string]api.ObjectMemberStatus
	well := members{"a": {MemberStatus: api.MemberStatus{State: api.Ready}}}
	require.Empty(t, reasons(nil, well))
	away := members{"a": {MemberStatus: api.MemberStatus{State: api.NotReady}, Reason: replicas.ReasonUnreachable}}
	require.Equal(t, []string{"Warning MemberNotReady"}, reasons(well, away))
	excluded := members{"a": {MemberStatus: api.MemberStatus{State: api.NotReady, Excluded: true}, Reason: replicas.ReasonUnreachable}}
	require.Equal(t, []string{"Warning MemberExcluded"}, reasons(away, excluded))
	require.Empty(t, reasons(excluded, excluded))
	require.Equal(t, []string{"Normal MemberReady"}, reasons(excluded, well))
	require.Equal(t, []string{"Warning MemberNoProgress"}, reasons(well, members{"a": {MemberStatus: api.MemberStatus{State: api.Ready}, Reason: replicas.ReasonNoProgress}}))
	require.Equal(t, []string{"Warning MemberNotRegistered"}, reasons(nil, members{"a": {MemberStatus: api.MemberStatus{State: api.NotRegistered, Excluded: true}, Reason: replicas.ReasonNotRegistered}}))
	require.Empty(t, reasons(nil, members{"a": {MemberStatus: api.MemberStatus{State: api.Ready, Excluded: true}, Reason: replicas.ReasonNoWeight}}))
	former := members{"a": {MemberStatus: api.MemberStatus{State: api.Ready, Excluded: true}, Reason: replicas.ReasonNotListed}}
	require.Equal(t, []string{"Normal MemberNotListed"}, reasons(well, former))
	require.Equal(t, []string{"Normal MemberReleased"}, reasons(former, nil))
	require.Empty(t, reasons(well, nil))
}

// A command that is given a kubeconfig with a password in an invalid URL does not tell it.
func TestCommandsTellNoPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	for _, cluster := range []string{
		"server: 'https://a', proxy-url: 'http://user:s3cret@pro xy'", "server: 'https://user:s3cret@a b'", "server: 'https://user:s3cret@127.0.0.1:1'",
	} {
		require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
			"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {"+cluster+"}}]}"), 0o600))
		for _, args := range [][]string{
			{"list-members", "--keda-kubeconfig", file}, {"delete-member", "a", "--keda-kubeconfig", file},
			{"setup-member", "a", "--keda-kubeconfig", file, "--member-kubeconfig", file},
		} {
			status, said := execute(t, args...)
			require.Equal(t, 1, status)
			require.NotContains(t, said, "s3cret", args[0])
			require.NotContains(t, said, "user:", args[0])
		}
	}
}

// The status of an object that is gone cannot be written, which is an error: the caller
// creates nothing without a stored checkpoint.
func TestWriteOfAnObjectThatIsGone(t *testing.T) {
	p := &poller{kind: &kind{controller: &controller{}, resource: api.Jobs}}
	p.Dynamic = fake.NewSimpleDynamicClient(runtime.NewScheme())
	p.current = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "n", "name": "work"}}}
	require.True(t, apierrors.IsNotFound(p.write(t.Context(), map[string]any{"runningJobs": 1})))
	require.Empty(t, p.written, "so that the next poll tries again")
}

type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// watch has the kind watch the source.
func watch(t *testing.T, k *kind, source *fcache.FakeControllerSource) {
	t.Helper()
	t.Cleanup(source.Shutdown)
	k.watched = cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{})
	go k.watched.RunWithContext(t.Context())
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), k.watched.HasSynced))
	require.NoError(t, k.watch())
}

// panics is an object that cannot be read at first, and never be polled. It counts.
type panics struct{ reads, polls, closes int }

func (p *panics) read() {
	if p.reads++; p.reads == 1 {
		panic("read")
	}
}
func (p *panics) poll(context.Context) time.Time { p.polls++; panic("poll") }
func (p *panics) close()                         { p.closes++ }

// An object that panics for ever is polled again after a minute, until it is deleted. It is not polled unread.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c := &controller{log: slog.New(slog.DiscardHandler)}
		object := &panics{}
		k := newKind(c, api.Objects, func(*poller) subject { return object })
		u := &unstructured.Unstructured{Object: map[string]any{}}
		source := fcache.NewFakeControllerSource()
		watch(t, k, source)
		source.Add(u)
		time.AfterFunc(5*time.Minute+time.Second, func() { source.Delete(u) })
		k.run(ctx)
		require.Equal(t, panics{reads: 2, polls: 5, closes: 1}, *object)
	})
}

// A clocked object notes when it is polled.
type clocked struct {
	*poller
	polled chan time.Time
}

func (c *clocked) read()  {}
func (c *clocked) close() {}
func (c *clocked) poll(context.Context) time.Time {
	c.polled <- time.Now()
	return c.nextSync(time.Now())
}

// Objects that exist at the start are not polled all at once, and objects that are created at once do not stay in step.
func TestPollsAreSpread(t *testing.T) {
	for _, initial := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			polled := make(chan time.Time, 100)
			c := &controller{log: slog.New(slog.DiscardHandler), options: &options{syncPeriod: 15 * time.Second}}
			k := newKind(c, api.Objects, func(p *poller) subject { return &clocked{p, polled} })
			begin, source := time.Now(), fcache.NewFakeControllerSource()
			if !initial {
				watch(t, k, source)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				source.Add(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}})
			}
			if initial {
				watch(t, k, source)
			}
			k.run(ctx)
			for round := range 2 {
				first, _, _, last := <-polled, <-polled, <-polled, <-polled
				require.Less(t, last.Sub(begin), time.Duration(round+1)*16500*time.Millisecond)
				require.Equal(t, round > 0 || initial, last.After(first), "round %d", round)
			}
		})
	}
}

// A hub cluster that does not answer ends no poll for good.
func TestHubHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := dynamic.NewForConfig(&rest.Config{Transport: hanging{}})
		require.NoError(t, err)
		p := &poller{kind: &kind{controller: &controller{}, resource: api.Jobs}}
		p.Dynamic, p.current = client, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "work"}}}
		j := &job{poller: p}
		for name, request := range map[string]func(context.Context) error{
			"status": func(ctx context.Context) error { return p.write(ctx, 1) }, "finalizer": j.finalize, "release": j.release,
		} {
			begin := time.Now()
			require.ErrorIs(t, request(t.Context()), context.DeadlineExceeded, name)
			require.Equal(t, homeTimeout, time.Since(begin))
		}
	})
}

// A stored checkpoint of an unknown version is an error, and is not overwritten.
func TestUnknownCheckpoint(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"checkpoint": map[string]any{"version": int64(2)}}}}
	p := &poller{current: u}
	j := newJob(p).(*job)
	require.ErrorContains(t, j.unusable, "checkpoint.version: found 2; use 1")
	require.JSONEq(t, `{"version": 2}`, string(j.after(&jobOutcome{unusable: j.unusable}, time.Now()).Checkpoint))
	u.Object["status"] = map[string]any{"checkpoint": map[string]any{"version": int64(1)}, "desiredJobs": "many"}
	require.NoError(t, newJob(p).(*job).unusable)
	delete(u.Object, "status")
	require.NoError(t, newJob(p).(*job).unusable)
}
