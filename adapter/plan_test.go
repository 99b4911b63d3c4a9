package adapter_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

const owner = types.UID("owner")

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// job is a Job of the owner, made from generation 1, changed by each of change.
func job(name string, change ...func(*batchv1.Job)) batchv1.Job {
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon),
		Annotations:     map[string]string{adapter.AnnotationGeneration: "1", adapter.AnnotationSequence: "3"},
		OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
	}}
	for _, c := range change {
		c(&j)
	}
	return j
}

func having(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(time.Hour))})
	}
}

func deleting(j *batchv1.Job)  { j.DeletionTimestamp = new(metav1.NewTime(noon)) }
func suspended(j *batchv1.Job) { j.Spec.Suspend = new(true) }
func orphan(j *batchv1.Job)    { j.OwnerReferences = nil }

func pod(of string, phase corev1.PodPhase, conditions ...string) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: types.UID(of), Controller: new(true)}}},
		Status:     corev1.PodStatus{Phase: phase},
	}
	for _, c := range conditions {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(c), Status: corev1.ConditionTrue})
	}
	return p
}

func TestPhases(t *testing.T) {
	for _, tt := range []struct {
		name string
		job  batchv1.Job
		pods []corev1.Pod
		want adapter.Phase
	}{
		{"no pod", job("a"), nil, adapter.Pending},
		{"pod pending", job("a"), []corev1.Pod{pod("a", corev1.PodPending)}, adapter.Pending},
		{"pod failed", job("a"), []corev1.Pod{pod("a", corev1.PodFailed)}, adapter.Pending},
		{"pod unknown", job("a"), []corev1.Pod{pod("a", corev1.PodUnknown)}, adapter.Pending},
		{"pod runs", job("a"), []corev1.Pod{pod("a", corev1.PodRunning)}, adapter.Running},
		{"pod succeeded", job("a"), []corev1.Pod{pod("a", corev1.PodFailed), pod("a", corev1.PodSucceeded)}, adapter.Running},
		{"pod of another Job runs", job("a"), []corev1.Pod{pod("b", corev1.PodRunning)}, adapter.Pending},
		{"suspended", job("a", suspended), nil, adapter.Suspended},
		{"deleting", job("a", deleting), []corev1.Pod{pod("a", corev1.PodRunning)}, adapter.Terminating},
		{"deleting while suspended", job("a", suspended, deleting), nil, adapter.Terminating},
		{"failure decided", job("a", having(batchv1.JobFailureTarget)), nil, adapter.Terminating},
		{"success decided", job("a", having(batchv1.JobSuccessCriteriaMet)), nil, adapter.Terminating},
		{"complete", job("a", having(batchv1.JobSuccessCriteriaMet), having(batchv1.JobComplete)), nil, adapter.Succeeded},
		{"failed", job("a", having(batchv1.JobFailureTarget), having(batchv1.JobFailed)), nil, adapter.Failed},
		{"failed and deleting", job("a", having(batchv1.JobFailed), deleting), nil, adapter.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jobs := adapter.Observation{Owner: owner, PodsKnown: true}.Classify([]batchv1.Job{tt.job}, tt.pods)
			require.Len(t, jobs, 1)
			require.Equal(t, tt.want, jobs[0].Phase)
		})
	}
}

func TestOnlyTheOwnersJobsAreSeen(t *testing.T) {
	other := job("other")
	other.OwnerReferences[0].UID = "before"
	notController := job("not controller")
	notController.OwnerReferences[0].Controller = nil
	all := []batchv1.Job{job("mine"), other, job("orphan", orphan), notController}
	jobs := adapter.Observation{Owner: owner}.Classify(all, nil)
	require.Len(t, jobs, 1)
	require.Equal(t, "mine", jobs[0].Name)
	require.Empty(t, adapter.Observation{}.Classify(all, nil), "no owner, no Jobs")
}

func TestWithoutPods(t *testing.T) {
	ready := func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 1, new(int32(1)) }
	starting := func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 1, new(int32(0)) }
	jobs := adapter.Observation{Owner: owner}.Classify([]batchv1.Job{job("ready", ready), job("starting", starting), job("suspended", suspended)}, nil)
	require.Equal(t, adapter.Running, jobs[0].Phase)
	require.Equal(t, adapter.Pending, jobs[1].Phase)
	require.False(t, jobs[1].NeverRan, "nobody knows")
	require.True(t, jobs[2].NeverRan)
}

func TestNeverRan(t *testing.T) {
	failed := func(j *batchv1.Job) { j.Status.Failed = 1 }
	for _, tt := range []struct {
		name string
		job  batchv1.Job
		pods []corev1.Pod
		want bool
	}{
		{"no pod", job("a"), nil, true},
		{"pod pending", job("a"), []corev1.Pod{pod("a", corev1.PodPending)}, true},
		{"pod runs", job("a"), []corev1.Pod{pod("a", corev1.PodPending), pod("a", corev1.PodRunning)}, false},
		{"pod failed", job("a"), []corev1.Pod{pod("a", corev1.PodFailed)}, false},
		{"failed pod is gone", job("a", failed), []corev1.Pod{pod("a", corev1.PodPending)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jobs := adapter.Observation{Owner: owner, PodsKnown: true}.Classify([]batchv1.Job{tt.job}, tt.pods)
			require.Equal(t, tt.want, jobs[0].NeverRan)
		})
	}
}

func TestStuck(t *testing.T) {
	resumed := func(j *batchv1.Job) { j.Status.StartTime = new(metav1.NewTime(noon.Add(time.Minute))) }
	for _, tt := range []struct {
		job    batchv1.Job
		before time.Time
		want   int64
	}{
		{job("a"), time.Time{}, 0},
		{job("a"), noon.Add(-1), 0},
		{job("a"), noon, 1},
		{job("a", resumed), noon, 0},
		{job("a", resumed), noon.Add(time.Minute), 1},
		{job("a", suspended), noon.Add(time.Hour), 0},
	} {
		jobs := adapter.Observation{Owner: owner, PodsKnown: true}.Classify([]batchv1.Job{tt.job}, nil)
		require.Equal(t, tt.want, adapter.Count(jobs, tt.before).Stuck, "%+v", tt)
		require.Equal(t, tt.want, adapter.NewFleet(jobs).Count(tt.before).Stuck, "%+v", tt)
	}
}

// The cases of kind pending that hold for a current release.
func TestKEDAPending(t *testing.T) {
	data, err := os.ReadFile("../testdata/keda.json")
	require.NoError(t, err)
	var file struct {
		Vectors []struct {
			ID, Kind, KEDA string
			Input          struct {
				PendingPodConditions []string
				Pods                 []struct {
					Phase          string
					TrueConditions []string
				}
			}
			Expect struct{ Pending int64 }
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	run := 0
	for _, v := range file.Vectors {
		if v.Kind != "pending" || v.KEDA != ">=2.1.0" && v.KEDA != ">=2.18.0" {
			continue
		}
		run++
		var pods []corev1.Pod
		for _, p := range v.Input.Pods {
			pods = append(pods, pod("a", corev1.PodPhase(p.Phase), p.TrueConditions...))
		}
		o := adapter.Observation{Owner: owner, PodsKnown: true, PendingPodConditions: v.Input.PendingPodConditions}
		require.Equal(t, v.Expect.Pending, adapter.Count(o.Classify([]batchv1.Job{job("a")}, pods), noon).Pending, v.ID)
	}
	require.Equal(t, 5, run)
	twice := adapter.Observation{Owner: owner, PodsKnown: true, PendingPodConditions: []string{"Ready", "Ready"}}
	require.Zero(t, adapter.Count(twice.Classify([]batchv1.Job{job("a")}, []corev1.Pod{pod("a", "", "Ready")}), noon).Pending)
}

func TestCount(t *testing.T) {
	jobs := []adapter.Job{{Phase: adapter.Running}, {Phase: adapter.Pending, Since: noon.Add(1)}, {Phase: adapter.Pending, Since: noon},
		{Phase: adapter.Suspended}, {Phase: adapter.Terminating}, {Phase: adapter.Succeeded}, {Phase: adapter.Failed}}
	require.Equal(t, scaling.Jobs{Running: 4, Pending: 3, Suspended: 1, Stuck: 1, Terminating: 1}, adapter.Count(jobs, noon))
}

func poll(t *testing.T) adapter.Poll {
	t.Helper()
	s := read(t, minimal)
	c, err := s.Config(nil)
	require.NoError(t, err)
	c.History = history.Limits{Succeeded: history.Keep(1)}
	return adapter.Poll{
		ScaledJob: s, Config: c, Owner: s.Owner(), Now: noon,
		Metrics: []scaling.Metric{c.Triggers[0].Metric(20)},
	}
}

func generation(n int64) rollout.Revision { return rollout.Revision{Generation: n, TemplateHash: "x"} }

func TestPlan(t *testing.T) {
	done := func(name string, minute int) adapter.Job {
		return adapter.Job{Name: name, UID: types.UID(name), Phase: adapter.Succeeded, Finished: noon.Add(time.Duration(minute) * time.Minute), Sequence: int64(minute)}
	}
	old := adapter.Job{Name: "old", UID: "old", Revision: generation(1), Sequence: 9}
	current := adapter.Job{Name: "current", UID: "current", Revision: generation(2)}
	jobs := []adapter.Job{old, current, done("d1", 1), done("d2", 2)}
	p := poll(t)
	p.Config.Policy.Bounds.Max = 4
	plan := adapter.NewPlan(p, adapter.NewFleet(jobs))
	require.Equal(t, []adapter.Deletion{
		{Name: "old", UID: "old", Reason: adapter.OldSpec},
		{Name: "d1", UID: "d1", Reason: adapter.HistoryLimit},
	}, plan.Delete)
	require.Equal(t, int64(1), plan.Decision.Trace.Jobs.Terminating, "what is rolled out is terminating")
	require.Equal(t, int64(2), plan.Create, "4 asked for, 1 runs, 1 on its way out, of 4:\n%s", plan.Decision)
	require.Equal(t, "10", plan.Job(0).Annotations[adapter.AnnotationSequence])
	require.Equal(t, "11", plan.Job(1).Annotations[adapter.AnnotationSequence])
}

func TestPlanWhilePaused(t *testing.T) {
	p := poll(t)
	fleet := adapter.NewFleet([]adapter.Job{{Name: "old", Revision: generation(1)},
		{Name: "d1", Phase: adapter.Succeeded, Finished: noon}, {Name: "d2", Phase: adapter.Succeeded, Finished: noon}})
	p.Config.Policy.Paused = true
	plan := adapter.NewPlan(p, fleet)
	require.Equal(t, []adapter.Deletion{{Name: "d1", Reason: adapter.HistoryLimit}}, plan.Delete)
	require.Zero(t, plan.Create)
	require.Equal(t, scaling.RulePaused, plan.Decision.Rule)
}

func TestPlanWithoutJobs(t *testing.T) {
	plan := adapter.NewPlan(poll(t), nil)
	require.Empty(t, plan.Delete)
	require.Zero(t, plan.Create)
	require.Equal(t, scaling.RuleJobsUnknown, plan.Decision.Rule)
}

func TestPlanPropagation(t *testing.T) {
	p := poll(t)
	fleet := adapter.NewFleet([]adapter.Job{{Name: "old", Revision: generation(1), NeverRan: true}, {Name: "ran", Revision: generation(1)}})
	p.Config.Rollout = rollout.Policy{Strategy: rollout.Drain, Propagation: rollout.Foreground}
	require.Equal(t, []adapter.Deletion{{Name: "old", Propagation: rollout.Foreground, Reason: adapter.OldSpec}}, adapter.NewPlan(p, fleet).Delete)
}

// Carried out at once, a plan leaves no more unfinished Jobs than the maximum
// unless there were more; no Job is deleted twice; finished ones are never rolled
// out and unfinished ones never pruned; and all names of created Jobs are new.
func propPlan(t *rapid.T, p adapter.Poll) {
	p.Config.Policy.Bounds = scaling.Bounds{Min: rapid.Int64Range(0, 4).Draw(t, "min"), Max: rapid.Int64Range(0, 8).Draw(t, "max")}
	p.Config.Rollout.Strategy = rapid.SampledFrom([]rollout.Strategy{rollout.Gradual, rollout.Immediate, rollout.Drain}).Draw(t, "rollout")
	p.Metrics[0].Value = float64(rapid.IntRange(0, 60).Draw(t, "queue"))
	var fleet adapter.Fleet
	byName := map[string]adapter.Job{}
	unfinished := int64(0)
	for i := range rapid.IntRange(0, 10).Draw(t, "n") {
		sequence := int64(i + 1)
		j := adapter.Job{
			Phase:    adapter.Phase(rapid.IntRange(0, int(adapter.Failed)).Draw(t, "phase")),
			Revision: generation(rapid.Int64Range(0, 3).Draw(t, "generation")),
			NeverRan: rapid.Bool().Draw(t, "never ran"), Sequence: sequence,
			Finished: noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "finished"))), Name: fmt.Sprint("job-", i),
		}
		if rapid.Bool().Draw(t, "named") {
			j.Name = p.ScaledJob.NewJob(p.Owner, sequence).Name
		}
		j.Deleting = j.Phase == adapter.Terminating
		if j.Phase < adapter.Succeeded {
			unfinished++
		}
		fleet.Set(j)
		byName[j.Name] = j
	}
	plan := adapter.NewPlan(p, &fleet)
	if plan.Create > 0 && unfinished+plan.Create > p.Config.Policy.Bounds.Max {
		t.Fatalf("%d unfinished and %d created\n%s", unfinished, plan.Create, plan.Decision)
	}
	seen := map[string]bool{}
	for _, d := range plan.Delete {
		j := byName[d.Name]
		if seen[d.Name] || j.Deleting || (j.Phase < adapter.Succeeded) != (d.Reason == adapter.OldSpec) {
			t.Fatalf("%+v of %+v", d, j)
		}
		seen[d.Name] = true
	}
	for i := range plan.Create {
		if name := plan.Job(i).Name; byName[name].Name != "" {
			t.Fatalf("%s is taken", name)
		}
	}
}

func TestPlanProperties(t *testing.T) {
	p := poll(t)
	rapid.Check(t, func(rt *rapid.T) { propPlan(rt, p) })
}

func anyLimit(t *rapid.T) history.Limit {
	if rapid.Bool().Draw(t, "all") {
		return history.Limit{}
	}
	return history.Keep(rapid.IntRange(0, 4).Draw(t, "keep"))
}

// Gaps below a new Job are taken first, the lowest first; those below an old one
// are of Jobs that are gone.
func TestNumbers(t *testing.T) {
	p := poll(t)
	at := func(number int64, age time.Duration) adapter.Job {
		return adapter.Job{Name: fmt.Sprint(number), Phase: adapter.Succeeded, Sequence: number, Created: noon.Add(-age)}
	}
	for _, tt := range []struct {
		jobs []adapter.Job
		want []string
	}{
		{nil, []string{"1", "2", "3", "4"}},
		{[]adapter.Job{at(9, time.Hour)}, []string{"10", "11", "12", "13"}},
		{[]adapter.Job{at(4, time.Second), at(1, time.Second)}, []string{"2", "3", "5", "6"}},
		{[]adapter.Job{at(2, time.Hour), at(5, time.Hour), at(7, 0)}, []string{"6", "8", "9", "10"}},
		{[]adapter.Job{at(1000, 0)}, []string{"937", "938", "939", "940"}},
	} {
		plan := adapter.NewPlan(p, adapter.NewFleet(tt.jobs))
		var got []string
		for i := range plan.Create {
			got = append(got, plan.Job(i).Annotations[adapter.AnnotationSequence])
		}
		require.Equal(t, tt.want, got)
	}
}
