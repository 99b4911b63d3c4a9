package adapter

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
)

// A plan in which nothing is to be done allocates nothing.
func TestPlanAllocations(t *testing.T) {
	w := busy(t, 1000)
	require.Zero(t, testing.AllocsPerRun(100, func() { w.Plan(ownerUID, queue, noon.Add(time.Hour)) }))
}

var queue = items(100)

// busy returns a writer of n Jobs, 50 a second until noon: a third runs, a third is stuck, a third has
// finished. The queue asks for none beside.
func busy(t require.TestingT, n int64) *writer {
	target := newTarget()
	target.Policy.Bounds.Max = n
	target.History = history.Policy{Succeeded: history.Keep(int64(n)), Failed: history.Keep(0)}
	target.Rollout = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}
	target.StuckAfter = time.Minute
	w := newWriter(t, newServer(), target, Options{})
	kinds := []*batchv1.Job{jobOf(target, 1, ready), jobOf(target, 1), jobOf(target, 1, complete)}
	for i := range n {
		j := *kinds[i%3]
		j.Name, j.UID = target.jobName(i+1), types.UID(fmt.Sprint("uid-", i+1))
		j.CreationTimestamp = metav1.NewTime(noon.Add(-time.Duration(i/50) * time.Second))
		w.show(&j)
	}
	queue = items(float64(n - n/3))
	return w
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int64{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			w := busy(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if p := w.Plan(ownerUID, queue, noon.Add(time.Hour)); p.Create != 0 || p.Delete != nil {
					b.Fatal("there is something to do")
				}
			}
		})
	}
}

// A pending Job becomes another between two polls, and time passes: stuck Jobs are counted anew.
func BenchmarkPlanChanged(b *testing.B) {
	for _, n := range []int64{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			w, target := busy(b, n), newTarget()
			now, feed := noon.Add(time.Hour), w.jobFeed()
			changed := []*batchv1.Job{jobOf(target, 2, ready), jobOf(target, 2, func(*batchv1.Job) {})}
			w.Plan(ownerUID, queue, now)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = feed.Add(changed[i%2])
				now = now.Add(time.Second)
				w.Plan(ownerUID, queue, now)
			}
		})
	}
}

// A plan at 100,000 Jobs takes at most 1 ms after a pending Job has become another, and allocates
// little: stuck Jobs are not counted from the beginning. The fastest of many polls counts, which a
// busy machine does not change.
func TestPlanAfterAChange(t *testing.T) {
	w, target := busy(t, 100_000), newTarget()
	now, feed, stuck := noon.Add(time.Hour), w.jobFeed(), int64(0)
	changed := []*batchv1.Job{jobOf(target, 2, ready), jobOf(target, 2, func(*batchv1.Job) {})}
	fastest, i := time.Hour, 0
	poll := func() {
		_ = feed.Add(changed[i%2])
		i, now = i+1, now.Add(time.Second)
		began := time.Now()
		p := w.Plan(ownerUID, queue, now)
		fastest = min(fastest, time.Since(began))
		counts, known := w.Counts(ownerUID, now)
		require.True(t, known)
		require.NotEqual(t, stuck, counts.Stuck, "the change is counted")
		stuck = counts.Stuck
		require.Empty(t, p.Delete)
	}
	poll()
	require.Less(t, testing.AllocsPerRun(50, poll), 500.0)
	require.Less(t, fastest, time.Millisecond)
	target.Owner.Name, target.Owner.UID = "idle", "idle"
	require.NoError(t, w.Track(target))
	fastest = time.Hour
	for range 50 {
		began := time.Now()
		require.Positive(t, w.Plan("idle", queue, now).Create)
		fastest = min(fastest, time.Since(began))
	}
	require.Less(t, fastest, 300*time.Microsecond, "an owner without Jobs beside 100,000 of another")
}

// The memory of a Job and of an owner, without what a reflector needs. Each string
// is allocated anew, as a decoder does. Owners have equal prototypes, or each its own.
func BenchmarkMemory(b *testing.B) {
	const owners, jobs = 10_000, 10
	for b.Loop() {
		tracker, err := newTracker(Options{Pods: true})
		require.NoError(b, err)
		tracker.fed()
		w := &writer{Tracker: tracker}
		empty := heapBytes()
		for i := range owners {
			require.NoError(b, w.Track(realistic(i)))
		}
		tracked := heapBytes()
		for i := range owners {
			target := realistic(i)
			for n := range int64(jobs) {
				w.show(decoded(b, running(target, n+1)))
			}
		}
		observed := heapBytes()
		for i := range owners {
			target := realistic(i)
			for n := range int64(jobs) {
				w.showPod(decoded(b, podOf(running(target, n+1), corev1.PodRunning, "PodScheduled", "Initialized", "Ready", "ContainersReady")))
			}
		}
		withPods := heapBytes()
		other, err := newTracker(Options{})
		require.NoError(b, err)
		for i := range owners {
			target := realistic(i)
			target.Job.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("example.com/worker:", i)
			require.NoError(b, other.Track(target))
		}
		ownPrototypes := heapBytes()
		b.ReportMetric(float64(tracked-empty)/owners, "B/owner")
		b.ReportMetric(float64(observed-tracked)/(owners*jobs), "B/Job")
		b.ReportMetric(float64(withPods-observed)/(owners*jobs), "B/pod")
		b.ReportMetric(float64(ownPrototypes-withPods)/owners, "B/owner-own-prototype")
		runtime.KeepAlive(w)
		runtime.KeepAlive(other)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func realistic(i int) Target {
	target := newTarget()
	target.Owner = Owner{
		"keda.sh/v1alpha1", "ScaledJob", fmt.Sprintf("namespace-%d", i%100), fmt.Sprintf("image-resizer-%d", i),
		types.UID(fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012d", i)),
	}
	target.Job.Labels = map[string]string{"app.kubernetes.io/name": "resizer"}
	target.Job.Spec.BackoffLimit = new(int32(4))
	target.Job.Spec.Template.Spec.Containers[0].Command = []string{"/worker", "--queue", "images"}
	target.Rollout, target.History = rollout.Policy{Strategy: rollout.Immediate, EveryEdit: true}, history.DefaultPolicy()
	return target
}

func running(target Target, n int64) *batchv1.Job {
	return jobOf(target, n, ready, active, func(j *batchv1.Job) {
		j.UID = types.UID(fmt.Sprintf("d9cb0f8f-469f-a165-%s", j.Name[len(j.Name)-12:]))
		j.ResourceVersion = "12345678"
		j.Status.StartTime = new(metav1.NewTime(noon))
	})
}

func decoded[T any](b *testing.B, object *T) *T {
	data, err := json.Marshal(object)
	require.NoError(b, err)
	object = new(T)
	require.NoError(b, json.Unmarshal(data, object))
	return object
}

// A tenant's Jobs and pods need little memory, however long the texts in them are that the API server
// does not bound: annotations, the references to owners, and the conditions of pods.
func TestMemoryOfForgedJobs(t *testing.T) {
	const many, size = 50, 250 << 10
	w := newWriter(t, newServer(), newTarget(), Options{Pods: true})
	before := heapBytes()
	for i := range many {
		long := func(what string) string { return fmt.Sprintf("%d%s%0*d", i, what, size, 0) }
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint("job-", i)), Labels: map[string]string{LabelOwner: "a"},
			Annotations: map[string]string{AnnotationTemplateHash: long("hash")},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "a/v1", Kind: long("Kind"), Name: long("name"), UID: types.UID(long("uid")), Controller: new(true),
			}},
		}}
		w.show(j)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("pod-", i), UID: types.UID(fmt.Sprint("pod-", i)), OwnerReferences: j.OwnerReferences,
		}}
		for k := range 5000 {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("example.com/", i, "-", k)), Status: corev1.ConditionTrue})
		}
		p.Status.Conditions[0].Type = corev1.PodConditionType(long("type"))
		w.showPod(p)
	}
	require.Less(t, int64(heapBytes()-before), int64(many*16<<10))
	runtime.KeepAlive(w)
}
