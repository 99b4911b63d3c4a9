package scheduledjob_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

const owner types.UID = "owner"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func seconds(n int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(n) * time.Second)) }

func controlledBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
}

var scheduled = &scheduledjob.ScheduledJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: owner}}

// job is the Job of a run, created at noon.
func job(tag string, conditions ...batchv1.JobConditionType) batchv1.Job {
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "job-" + tag, UID: types.UID(tag), Labels: map[string]string{scheduledjob.LabelTag: tag}, CreationTimestamp: seconds(0), OwnerReferences: controlledBy(owner),
	}}
	j.Spec.BackoffLimitPerIndex = new(int32(1))
	for i, c := range conditions {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: seconds(10 + i)})
	}
	return j
}

func TestObserve(t *testing.T) {
	complete := job("complete", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	complete.Status.CompletionTime = new(seconds(15))
	deleted := job("deleted")
	deleted.DeletionTimestamp = new(seconds(1))
	strange, untagged, another, copied, elsewhere := job("strange"), job("untagged"), job("another"), job("complete"), job("elsewhere")
	copied.Name, elsewhere.Namespace = "job-complete-again", "elsewhere"
	strange.OwnerReferences[0].Controller = nil
	untagged.Labels = nil
	another.OwnerReferences = controlledBy("another")
	jobs := []batchv1.Job{
		job("active"), strange, complete, untagged, job("failed", batchv1.JobFailureTarget, batchv1.JobFailed), another, copied, elsewhere,
		deleted, job("failing", batchv1.JobFailureTarget), job("succeeding", batchv1.JobSuccessCriteriaMet),
	}
	require.Equal(t, []schedule.Job{
		{Tag: "active", Created: noon},
		{Tag: "complete", Created: noon, Outcome: schedule.Succeeded, Finished: noon.Add(15 * time.Second)},
		{Tag: "failed", Created: noon, Outcome: schedule.Failed, Finished: noon.Add(11 * time.Second)},
		{Tag: "deleted", Created: noon, Deleting: true},
		{Tag: "failing", Created: noon},
		{Tag: "succeeding", Created: noon},
	}, scheduled.Observe(jobs, nil))
	require.Equal(t, "strange", jobs[1].Labels[scheduledjob.LabelTag], "the Jobs were changed")
	for _, uid := range []types.UID{"", "nobody"} {
		other := &scheduledjob.ScheduledJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: uid}}
		require.Empty(t, other.Observe(jobs, nil))
	}
}

// A death is a pod that failed.
type death struct {
	job      types.UID
	restarts string // how often its index had failed before
	exits    []int  // of the containers, each a second after the one before
	at       int    // second of the first
}

func (d death) pod(name string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: seconds(0), OwnerReferences: controlledBy(d.job),
		Annotations: map[string]string{batchv1.JobIndexFailureCountAnnotation: d.restarts},
	}}
	p.Status.Phase = corev1.PodFailed
	for i, code := range d.exits {
		end := corev1.ContainerStateTerminated{ExitCode: int32(code), FinishedAt: seconds(d.at + i)}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &end}})
	}
	return p
}

// The exit code is that of the first pod that failed for good, and of its container
// that failed first.
func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		name   string
		deaths []death
		want   int32
	}{
		{"no pods", nil, 0},
		{"one", []death{{"failed", "1", []int{3}, 5}}, 3},
		{"one that was replaced", []death{{"failed", "0", []int{3}, 5}, {"failed", "1", []int{4}, 6}}, 4},
		{"the first of two", []death{{"failed", "1", []int{3}, 7}, {"failed", "1", []int{4}, 6}}, 4},
		{"both at once: by name", []death{{"failed", "1", []int{3}, 6}, {"failed", "1", []int{4}, 6}}, 3},
		{"the container that failed first", []death{{"failed", "1", []int{0, 4, 137}, 6}}, 4},
		{"another Job's", []death{{"other", "1", []int{3}, 5}}, 0},
		{"evicted before it ran", []death{{"failed", "1", nil, 0}, {"failed", "1", []int{4}, 6}}, 0},
		{"not of an Indexed Job", []death{{"failed", "", []int{3}, 5}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var pods []corev1.Pod
			for i, d := range tt.deaths {
				pods = append(pods, d.pod(fmt.Sprint(i)))
			}
			running := death{"failed", "1", []int{9}, 1}.pod("running")
			running.Status.Phase = corev1.PodRunning // an init container failed
			seen := scheduled.Observe([]batchv1.Job{job("failed", batchv1.JobFailed)}, append(pods, running))
			require.Equal(t, tt.want, seen[0].ExitCode)
		})
	}
	seen := scheduled.Observe([]batchv1.Job{job("active"), job("done", batchv1.JobComplete)}, []corev1.Pod{
		death{"active", "1", []int{3}, 1}.pod("a"), death{"done", "1", []int{3}, 1}.pod("b")})
	require.Zero(t, seen[0].ExitCode, "the run has not failed")
	require.Zero(t, seen[1].ExitCode)
}

// A rule of the podFailurePolicy decides whether a pod failed for good, with restarts left or
// without.
func TestExitCodeByPolicy(t *testing.T) {
	in := func(action batchv1.PodFailurePolicyAction, op batchv1.PodFailurePolicyOnExitCodesOperator, container *string, codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: container, Operator: op, Values: codes}}
	}
	const is, isNot = batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	disrupted := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}
	for name, tt := range map[string]struct {
		restarts string
		rules    []batchv1.PodFailurePolicyRule
		want     int32
	}{
		"no rule matches":              {"0", []batchv1.PodFailurePolicyRule{in("FailJob", is, nil, 43), disrupted}, 0},
		"no rule matches, no restart":  {"1", []batchv1.PodFailurePolicyRule{in("FailJob", is, nil, 43), disrupted}, 42},
		"FailJob":                      {"0", []batchv1.PodFailurePolicyRule{in("FailJob", is, nil, 41, 42)}, 42},
		"FailIndex":                    {"0", []batchv1.PodFailurePolicyRule{disrupted, in("FailIndex", isNot, new("c"), 1)}, 42},
		"not that container":           {"0", []batchv1.PodFailurePolicyRule{in("FailJob", is, new("d"), 42)}, 0},
		"not the container that ended": {"0", []batchv1.PodFailurePolicyRule{in("FailJob", isNot, new("ok"), 1)}, 0},
		"Count":                        {"0", []batchv1.PodFailurePolicyRule{in("Count", is, nil, 42), in("FailJob", is, nil, 42)}, 0},
		"Count, no restart":            {"1", []batchv1.PodFailurePolicyRule{in("Count", is, nil, 42), in("Ignore", is, nil, 42)}, 42},
		"Ignore":                       {"1", []batchv1.PodFailurePolicyRule{in("Ignore", is, nil, 42), in("FailJob", is, nil, 42)}, 0},
	} {
		failed := job("failed", batchv1.JobFailed)
		failed.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: tt.rules}
		p := death{"failed", tt.restarts, []int{42, 0}, 1}.pod("a")
		p.Status.ContainerStatuses[0].Name, p.Status.ContainerStatuses[1].Name = "c", "ok"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse}}
		seen := scheduled.Observe([]batchv1.Job{failed}, []corev1.Pod{p})
		require.Equal(t, tt.want, seen[0].ExitCode, name)
		p.Status.Conditions[0].Status = corev1.ConditionTrue
		failed.Spec.PodFailurePolicy.Rules = append([]batchv1.PodFailurePolicyRule{disrupted}, tt.rules...)
		require.Zero(t, scheduled.Observe([]batchv1.Job{failed}, []corev1.Pod{p})[0].ExitCode, "%s: ignored", name)
	}
}

// A pod that died in an init container has its code.
func TestInitContainer(t *testing.T) {
	p := death{"failed", "1", nil, 0}.pod("a")
	end := corev1.ContainerStateTerminated{ExitCode: 5, FinishedAt: seconds(1)}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &end}}}
	require.EqualValues(t, 5, scheduled.Observe([]batchv1.Job{job("failed", batchv1.JobFailed)}, []corev1.Pod{p})[0].ExitCode)
}
