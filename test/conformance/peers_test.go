//go:build !older

package conformance

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	karmadav1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/helper"
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/scaling"
)

var printPeers = flag.Bool("peers", false, "print the table of docs/benchmarks.md, which takes minutes")

// A comparison is one piece of work, done by us and by a peer on the same input.
type comparison struct {
	work       string
	ours, peer func()
	peerName   string
}

// Each side of a comparison runs. With -peers the table is printed; a time is the median of five.
//
// KEDA reads its Jobs from a client that answers from memory without copying, which is faster than
// the cache of its operator. In a poll every Job runs and there is nothing to do.
func TestPeers(t *testing.T) {
	runs := []comparison{comparePoll(t, 100_000), comparePrune(t, 100_000), compareDivision(1_000)}
	if !*printPeers {
		for _, c := range runs {
			c.ours()
			c.peer()
		}
		return
	}
	fmt.Printf("%s, %d CPUs\n\n| work | scaledjob | allocations | peer | allocations | by |\n|---|---|---|---|---|---|\n", runtime.Version(), runtime.NumCPU())
	for _, c := range runs {
		ours, peer := median(c.ours), median(c.peer)
		fmt.Printf("| %s | %s | %d | %s | %d | %s |\n", c.work, duration(ours), ours.AllocsPerOp(), duration(peer), peer.AllocsPerOp(), c.peerName)
	}
	tracked, object := memoryOfAJob(t, 20_000)
	fmt.Printf("| memory of a Job at rest | %d B | | %d B | | client-go's informer |\n", tracked, object)
}

func median(work func()) testing.BenchmarkResult {
	var results []testing.BenchmarkResult
	for range 5 {
		results = append(results, testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
		}))
	}
	slices.SortFunc(results, func(a, b testing.BenchmarkResult) int { return cmp.Compare(a.NsPerOp(), b.NsPerOp()) })
	return results[len(results)/2]
}

func duration(r testing.BenchmarkResult) string {
	switch d := time.Duration(r.NsPerOp()); {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", r.NsPerOp())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	default:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const ownerUID = types.UID("0f8fad5b-d9cb-469f-a165-70867728950e")

// comparePoll has every Job running and nothing to do.
func comparePoll(t testing.TB, n int) comparison {
	target, scaledJob := owners(n, 100)
	jobs := jobsOf(&target, n, false)
	metrics := []scaling.Metric{{Value: float64(n), Target: 1}}
	poll, tracker := newOperator(&inMemory{jobs: jobs}), observe(t, target, jobs)
	return comparison{
		work:     fmt.Sprintf("poll, %d Jobs running", n),
		ours:     func() { tracker.Plan(ownerUID, metrics, noon) },
		peer:     func() { poll(scaledJob, true, int64(n), int64(n)) },
		peerName: "KEDA",
	}
}

// comparePrune chooses 10 of n finished Jobs.
func comparePrune(t testing.TB, n int) comparison {
	target, scaledJob := owners(n, int32(n-10))
	jobs := jobsOf(&target, n, true)
	poll, tracker := newOperator(&inMemory{jobs: jobs}), observe(t, target, jobs)
	return comparison{
		work:     fmt.Sprintf("poll, 10 of %d finished Jobs to delete", n),
		ours:     func() { tracker.Plan(ownerUID, nil, noon) },
		peer:     func() { poll(scaledJob, false, 0, 0) },
		peerName: "KEDA",
	}
}

// compareDivision divides 10 replicas a cluster by weight.
func compareDivision(n int) comparison {
	parties := make([]apportion.Party, n)
	weights := make(helper.ClusterWeightInfoList, n)
	for i := range n {
		name, weight := fmt.Sprintf("member-%d", i), int64(i*31%17+1)
		parties[i] = apportion.Party{Weight: int32(weight), Rank: apportion.Rank("orders", name)}
		weights[i] = helper.ClusterWeightInfo{ClusterName: name, Weight: weight}
	}
	return comparison{
		work: fmt.Sprintf("divide %d replicas among %d clusters", 10*n, n),
		ours: func() { apportion.Webster(int32(10*n), parties) },
		peer: func() {
			helper.NewDispenser(int32(10*n), []karmadav1alpha2.TargetCluster{}, ownerUID).AllocateByWeight(weights)
		},
		peerName: "Karmada",
	}
}

// owners returns a target whose Jobs number at most limit, and the ScaledJob that is the same.
func owners(limit int, kept int32) (adapter.Target, *v1alpha1.ScaledJob) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "example.com/worker:1"}},
	}}
	policy := scaling.DefaultPolicy()
	policy.Bounds.Max = int64(limit)
	target := adapter.Target{
		Owner:  adapter.Owner{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob", Namespace: "mail", Name: "orders", UID: ownerUID},
		Job:    &batchv1.Job{Spec: batchv1.JobSpec{Template: template}},
		Policy: policy, History: history.Policy{Succeeded: history.Keep(int64(kept)), Failed: history.Keep(int64(kept))},
	}
	return target, &v1alpha1.ScaledJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "mail", Name: "orders", UID: ownerUID},
		Spec: v1alpha1.ScaledJobSpec{
			JobTargetRef: &batchv1.JobSpec{Template: template}, MaxReplicaCount: new(int32(limit)),
			SuccessfulJobsHistoryLimit: &kept, FailedJobsHistoryLimit: &kept,
		},
	}
}

func jobsOf(target *adapter.Target, n int, finished bool) []batchv1.Job {
	jobs := make([]batchv1.Job, n)
	for i := range jobs {
		j := target.NewJob(int64(i + 1))
		j.UID, j.CreationTimestamp = types.UID(fmt.Sprintf("%08d", i)), metav1.NewTime(noon)
		j.Labels["scaledjob.keda.sh/name"] = target.Owner.Name
		j.Status = batchv1.JobStatus{Active: 1, Ready: new(int32(1)), StartTime: &metav1.Time{Time: noon}}
		if finished {
			end := metav1.NewTime(noon.Add(time.Duration(i*7919%n) * time.Second))
			j.Status = batchv1.JobStatus{Succeeded: 1, StartTime: &metav1.Time{Time: noon}, CompletionTime: &end,
				Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: end}}}
		}
		jobs[i] = *j
	}
	return jobs
}

func observe(t testing.TB, target adapter.Target, jobs []batchv1.Job) *adapter.Tracker {
	tracker, err := adapter.Observe(target, adapter.Options{}, jobs, nil)
	require.NoError(t, err)
	return tracker
}

// An inMemory client lists the Jobs that it has. It deletes none, so that each poll is the same.
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

// memoryOfAJob returns the bytes of a Job in a tracker, and of the whole object.
func memoryOfAJob(t testing.TB, n int) (tracked, object uint64) {
	target, _ := owners(n, 100)
	before := heap()
	jobs := jobsOf(&target, n, false)
	withObjects := heap()
	tracker := observe(t, target, jobs)
	jobs = nil
	tracked = (heap() - before) / uint64(n)
	runtime.KeepAlive(tracker)
	return tracked, (withObjects - before) / uint64(n)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
