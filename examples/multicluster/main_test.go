package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
	"github.com/scaledjob/scaledjob/placement"
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
		"-dsj -log-format xml":       `-log-format "xml": want text or json`,
		"-dsj -lease-duration 1s":    "-lease-duration 1s: want 2s or more",
		"-dsj -probe-interval 0s":    "-probe-interval 0s: want a time above 0",
		"-dsj -member-timeout -1s":   "-member-timeout -1s: want a time above 0",
		"-dso start":                 `unexpected argument "start"`,
		"-kube x":                    "flag provided but not defined: -kube",
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
	require.Contains(t, said, `$DSJ_ENABLED is "yes": want true or false`)
	t.Setenv("DSJ_ENABLED", "true")
	o, err := parse(nil, &bytes.Buffer{})
	require.NoError(t, err)
	require.True(t, o.jobs)
	require.False(t, o.objects)
	o, err = parse([]string{"-dsj=false", "-dso"}, &bytes.Buffer{})
	require.NoError(t, err)
	require.False(t, o.jobs)
	require.True(t, o.objects)
}

// Whoever has no cluster is told how to get four.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := execute(t, "-dsj")
	require.Equal(t, 1, status)
	require.Contains(t, said, "./examples/multicluster/local")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
		"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"), 0o600))
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
		"deletion":    func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) },
	} {
		require.False(t, same(before, object(change)), name)
	}
	require.True(t, same(before, object(func(u *unstructured.Unstructured) {
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

// What one has found out all know, until it has ended.
func TestTaints(t *testing.T) {
	now := time.Unix(1000, 0)
	entry := func(size int32, until time.Time) taint.Entry {
		return taint.Entry{Path: taint.Path{Cluster: "a"}, Workload: taint.Workload{Size: size}, Until: until}
	}
	var all taints
	all.merge(taint.Set{entry(4, now.Add(time.Minute))}, now)
	got := all.merge(taint.Set{entry(6, now.Add(time.Hour))}, now)
	require.True(t, got.Excludes(taint.Workload{Size: 4}, taint.Path{Cluster: "a"}, now))
	later := now.Add(2 * time.Minute)
	got = all.merge(nil, later)
	require.Len(t, got, 1)
	require.False(t, got.Excludes(taint.Workload{Size: 4}, taint.Path{Cluster: "a"}, later))
	got[0].Size = 0
	require.EqualValues(t, 6, all.merge(nil, later)[0].Size, "no shared memory")
}

func TestReady(t *testing.T) {
	read := scaling.Demand{Metrics: 2, Read: 2}
	for want, o := range map[string]jobOutcome{
		"True Ready":                    {demand: read},
		"False SpecCheckFailed":         {invalid: errors.New("a")},
		"Unknown JobsUnknown":           {demand: read, plan: placement.JobPlan{Blocked: placement.ReasonJobsUnknown}},
		"False CapacityHeldByStuckJobs": {demand: read, plan: placement.JobPlan{Blocked: placement.ReasonHeldByStuck}},
		"False AllMembersExcluded":      {demand: read, plan: placement.JobPlan{Unplaced: 1, Reason: placement.ReasonAllExcluded}},
		"False KEDAJobCreateFailed":     {demand: read, refused: errors.New("a")},
		"False TriggerError":            {unread: errors.New("a")},
		"Unknown PartialTriggerError":   {unread: errors.New("a"), demand: scaling.Demand{Metrics: 2, Read: 1}},
	} {
		c := o.ready()
		require.Equal(t, want, string(c.Status)+" "+c.Reason)
	}
	for want, o := range map[string]objectOutcome{
		"True Ready":               {demand: read},
		"False NoMembers":          {demand: read, plan: placement.ObjectPlan{Reason: placement.ReasonNoMembers}},
		"False AllMembersExcluded": {demand: read, plan: placement.ObjectPlan{Reason: placement.ReasonAllExcluded}},
		"False ScaleFailed":        {demand: read, reports: []member.ScaleReport{{Err: errors.New("a")}}},
	} {
		c := o.ready()
		require.Equal(t, want, string(c.Status)+" "+c.Reason)
	}
}

// What stays as it is, is told once.
func TestEvents(t *testing.T) {
	status := func(m placement.JobMemberStatus, ready metav1.Condition) jobStatus {
		return jobStatus{
			JobStatus:  placement.JobStatus{MemberClusterStatuses: map[string]placement.JobMemberStatus{"a": m}},
			Conditions: conditions(nil, 1, ready, paused(false), active(nil, scaling.Demand{Read: 1})),
		}
	}
	reasons := func(before, after jobStatus, reports ...member.Report) (all []string) {
		for _, e := range (&jobOutcome{reports: reports}).events(before, after) {
			all = append(all, e.Type+" "+e.Reason)
		}
		return all
	}
	well := status(placement.JobMemberStatus{State: placement.Ready}, ready(""))
	require.Equal(t, []string{"Normal Ready"}, reasons(jobStatus{}, well), "not that it is inactive and not paused")
	require.Empty(t, reasons(well, well))
	soft := status(placement.JobMemberStatus{State: placement.NotReady, SoftTainted: true}, ready(""))
	require.Equal(t, []string{"Warning MemberNotReady", "Warning MemberSoftTainted"}, reasons(well, soft))
	hard := status(placement.JobMemberStatus{State: placement.NotReady, HardTainted: true}, notReady("AllMembersExcluded", ""))
	require.Equal(t, []string{"Warning AllMembersExcluded", "Warning MemberHardTainted"}, reasons(soft, hard))
	require.Empty(t, reasons(hard, hard))
	scoped := status(placement.JobMemberStatus{State: placement.Ready, HardTaintScopes: []placement.TaintScope{{Size: 4}}}, ready(""))
	require.Equal(t, []string{"Normal Ready", "Normal MemberReady", "Warning MemberWorkloadTainted"}, reasons(hard, scoped))
	require.Equal(t, []string{"Normal KEDAJobsCreated", "Normal ScaledJobRolloutCleanupCompleted", "Normal DuplicatesDeleted"},
		reasons(well, well, member.Report{Result: adapter.Result{Created: 1, RolledOut: 2, Duplicates: 3}}))
}

// A member whose kubeconfig cannot be used is a member: it is one that does not answer,
// or goes on as before. Only one that is not in the registry is none.
func TestRegister(t *testing.T) {
	m := &members{controller: &controller{log: slog.New(slog.DiscardHandler), home: "home"}, kubeconfigs: map[string]string{}}
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
	require.Equal(t, "good", m.kubeconfigs["a"])
	m.register(t.Context(), []registry.Member{bad})
	require.Equal(t, "good", m.kubeconfigs["a"])
	require.Equal(t, []string{"a"}, m.Names())
	m.register(t.Context(), nil)
	require.Empty(t, m.Names())
}

func TestWarningsAreToldOnce(t *testing.T) {
	p := &poller{}
	a, b := &placement.FieldError{Field: "a"}, &placement.FieldError{Field: "spec.memberClusters[0].podOverrides.b"}
	require.Len(t, p.warnings([]*placement.FieldError{a}), 1)
	told := p.warnings([]*placement.FieldError{a, b})
	require.Len(t, told, 1)
	require.Equal(t, "PodOverrideWarning", told[0].Reason)
	require.Empty(t, p.warnings(nil))
	require.Len(t, p.warnings([]*placement.FieldError{a}), 1, "it was gone meanwhile")
}

func TestMerged(t *testing.T) {
	require.Equal(t, []adapter.Event{normal("a", "1; 3"), warning("a", "2")},
		merged([]adapter.Event{normal("a", "1"), warning("a", "2"), normal("a", "3")}))
	require.Empty(t, merged(nil))
}

// Why a member does not answer is what was found first, until it answers.
func TestCauses(t *testing.T) {
	c := causes{}
	require.Empty(t, c.of("a", placement.NotReady, nil))
	require.Equal(t, ": x", c.of("a", placement.NotReady, errors.New("x")))
	require.Equal(t, ": x", c.of("a", placement.NotReady, errors.New("y")))
	require.Empty(t, c.of("a", placement.Ready, nil))
	require.Equal(t, ": y", c.of("a", placement.NotReady, errors.New("y")))
}
