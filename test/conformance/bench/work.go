package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	karmadav1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/helper"
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	kedajob "github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const (
	namespace = "mail"
	uid       = types.UID("0f8fad5b-d9cb-469f-a165-70867728950e")
)

// decisions has three metrics, the strategy accurate and a maximum of 100.
func decisions() []row {
	policy := scaling.Policy{Bounds: scaling.Bounds{Max: 100}, Strategy: strategy.Accurate{}}
	state := scaling.State{Jobs: &scaling.JobCounts{Running: 4, Pending: 1}}
	var entries []kedajob.ScalerMetrics
	for i := range 3 {
		n := float64(10 * (i + 1))
		state.Metrics = append(state.Metrics, scaling.Metric{Value: n, Target: 5})
		entries = append(entries, kedajob.ScalerMetrics{QueueLength: n, MaxValue: n / 5, IsActive: true})
	}
	accurate := executor.NewScalingStrategy(logr.Discard(), &v1alpha1.ScaledJob{Spec: v1alpha1.ScaledJobSpec{
		ScalingStrategy: v1alpha1.ScalingStrategy{Strategy: "accurate"},
	}})
	return []row{{
		work: "decide, 3 metrics",
		ours: func() { scaling.Decide(policy, state) },
		peer: func() {
			_, scaleTo, maxScale, _ := kedajob.IsScaledJobActive(entries, "max", 0, 100)
			accurate.GetEffectiveMaxScale(maxScale, 4, 1, 100, scaleTo)
		},
		by: "KEDA",
	}}
}

// scaled returns a target whose Jobs number n at most, and the ScaledJob that is the same.
func scaled(n int, kept int32) (adapter.Target, *v1alpha1.ScaledJob) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}},
	}}
	policy := scaling.DefaultPolicy()
	policy.Bounds.Max = int64(n)
	target := adapter.Target{
		Owner:  adapter.Owner{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob", Namespace: namespace, Name: "orders", UID: uid},
		Job:    &batchv1.Job{Spec: batchv1.JobSpec{Template: template}},
		Policy: policy, History: history.Limits{Succeeded: history.Keep(int(kept)), Failed: history.Keep(int(kept))},
	}
	return target, &v1alpha1.ScaledJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orders", UID: uid},
		Spec: v1alpha1.ScaledJobSpec{
			JobTargetRef: &batchv1.JobSpec{Template: template}, MaxReplicaCount: new(int32(n)),
			SuccessfulJobsHistoryLimit: &kept, FailedJobsHistoryLimit: &kept,
		},
	}
}

// made returns n Jobs of the target.
func made(target *adapter.Target, n int, finished bool) []batchv1.Job {
	all := make([]batchv1.Job, n)
	for i := range all {
		j := target.NewJob(int64(i + 1))
		j.UID, j.CreationTimestamp = types.UID(fmt.Sprintf("%08d", i)), metav1.NewTime(noon)
		j.Labels["scaledjob.keda.sh/name"] = target.Owner.Name
		j.Status = batchv1.JobStatus{Active: 1, Ready: new(int32(1)), StartTime: &metav1.Time{Time: noon}}
		if finished {
			end := metav1.NewTime(noon.Add(time.Duration(i*7919%n) * time.Second))
			j.Status = batchv1.JobStatus{Succeeded: 1, StartTime: &metav1.Time{Time: noon}, CompletionTime: &end,
				Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: end}}}
		}
		all[i] = *j
	}
	return all
}

func newExecutor(jobs []batchv1.Job) executor.ScaleExecutor {
	scheme := k8sruntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return executor.NewScaleExecutor(&inMemory{jobs: jobs}, nil, scheme, time.Minute, &events.FakeRecorder{})
}

// An inMemory client lists the Jobs that it has. It deletes none, so that each poll is the
// same.
type inMemory struct {
	client.Client
	jobs []batchv1.Job
}

func (c *inMemory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *batchv1.JobList:
		list.Items = c.jobs
	case *corev1.PodList: // of one Job, and it runs
		list.Items = []corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
	}
	return nil
}

func (c *inMemory) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

// polls is a poll that has nothing to do.
func polls() (rows []row) {
	for _, n := range []int{10, 1_000, 100_000} {
		target, scaledJob := scaled(n, 100)
		jobs := made(&target, n, false)
		tracker, err := adapter.Observe(target, adapter.Options{}, jobs, nil)
		if err != nil {
			panic(err)
		}
		metrics := []scaling.Metric{{Value: float64(n), Target: 1}}
		e := newExecutor(jobs)
		rows = append(rows, row{
			work: fmt.Sprintf("poll, %d Jobs running", n),
			ours: func() { tracker.Plan(uid, metrics, noon) },
			peer: func() {
				e.RequestJobScale(context.Background(), scaledJob, true, false, int64(n), int64(n), executor.ScaleExecutorOptions{})
			},
			by: "KEDA",
		})
	}
	return rows
}

// histories chooses 10 of n finished Jobs.
func histories() (rows []row) {
	for _, n := range []int{1_000, 100_000} {
		target, scaledJob := scaled(n, int32(n-10))
		jobs := made(&target, n, true)
		tracker, err := adapter.Observe(target, adapter.Options{}, jobs, nil)
		if err != nil {
			panic(err)
		}
		e := newExecutor(jobs)
		rows = append(rows, row{
			work: fmt.Sprintf("poll, 10 of %d finished Jobs to delete", n),
			ours: func() { tracker.Plan(uid, nil, noon) },
			peer: func() {
				e.RequestJobScale(context.Background(), scaledJob, false, false, 0, 0, executor.ScaleExecutorOptions{})
			},
			by: "KEDA",
		})
	}
	return rows
}

// shares divides 10 replicas a cluster by weight.
func shares() (rows []row) {
	for _, n := range []int{10, 1_000} {
		parties := make([]apportion.Party, n)
		weights := make(helper.ClusterWeightInfoList, n)
		for i := range n {
			name, weight := fmt.Sprintf("member-%d", i), int64(i*31%17+1)
			parties[i] = apportion.Party{Weight: int32(weight), Rank: apportion.Rank("orders", name)}
			weights[i] = helper.ClusterWeightInfo{ClusterName: name, Weight: weight}
		}
		rows = append(rows, row{
			work: fmt.Sprintf("divide %d replicas among %d clusters", 10*n, n),
			ours: func() { apportion.Webster(int32(10*n), parties) },
			peer: func() {
				helper.NewDispenser(int32(10*n), []karmadav1alpha2.TargetCluster{}, uid).AllocateByWeight(weights)
			},
			by: "Karmada",
		})
	}
	return rows
}

// memory returns the bytes of a Job in a tracker, and of the whole object.
func memory(n int) (own, whole uint64) {
	target, _ := scaled(n, 100)
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	jobs := made(&target, n, false)
	with := used()
	tracker, err := adapter.Observe(target, adapter.Options{}, jobs, nil)
	if err != nil {
		panic(err)
	}
	jobs = nil
	own = (used() - before) / uint64(n)
	runtime.KeepAlive(tracker)
	return own, (with - before) / uint64(n)
}
