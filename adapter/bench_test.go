package adapter_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// jobsAndPods are n Jobs with a pod each, a third of them unfinished.
func jobsAndPods(n int) (jobs []batchv1.Job, pods []corev1.Pod) {
	for i := range n {
		name := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		j := job(name)
		j.Namespace = "n"
		phase := corev1.PodRunning
		if i%3 > 0 {
			having(batchv1.JobComplete)(&j)
			phase = corev1.PodSucceeded
		}
		p := pod(name, phase)
		p.Name, p.Namespace, p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = name, "n", "Job", name
		jobs, pods = append(jobs, j), append(pods, p)
	}
	return jobs, pods
}

func benchPoll() adapter.Poll {
	p := adapter.Poll{
		ScaledJob: &adapter.ScaledJob{}, Owner: metav1.OwnerReference{UID: owner}, Now: noon,
		Metrics: []scaling.Metric{{Name: "orders", Value: 20, Target: 5}},
	}
	p.Config.Policy = scaling.DefaultPolicy()
	p.Config.Policy.Strategy = strategy.Default{}
	p.Config.Revision = generation(1)
	p.Config.Rollout.Strategy = 1
	p.Config.History = history.Limits{Succeeded: history.Keep(100_000), Failed: history.Keep(0)}
	return p
}

func trackerOf(t require.TestingT, n int) (*adapter.Tracker, adapter.Poll) {
	tracker, jobs, pods := newTracker(t)
	js, ps := jobsAndPods(n)
	for i := range js {
		jobs.put(&js[i])
		pods.put(&ps[i])
	}
	p := benchPoll()
	require.NoError(t, tracker.Follow(adapter.Observation{Owner: p.Owner.UID, PodsKnown: true}))
	return tracker, p
}

func TestPlanAllocatesNothing(t *testing.T) {
	tracker, p := trackerOf(t, 1000)
	require.Zero(t, testing.AllocsPerRun(100, func() { tracker.Plan(p) }))
}

// A plan of the tracker in which nothing is to be done.
func BenchmarkTracker(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			tracker, p := trackerOf(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if tracker.Plan(p).Delete != nil {
					b.Fatal("something is to be deleted")
				}
			}
		})
	}
}

// One event of the informers.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			tracker, jobs, _ := newTracker(b)
			require.NoError(b, tracker.Follow(adapter.Observation{Owner: owner}))
			js, _ := jobsAndPods(n)
			for i := range js {
				jobs.put(&js[i])()
			}
			event := jobs.put(&js[0])
			b.ReportAllocs()
			for b.Loop() {
				event()
			}
		})
	}
}

// Classifying and counting all Jobs and pods, with nothing known before.
func BenchmarkRecount(b *testing.B) {
	for _, n := range []int{10, 1000, 5000} {
		jobs, pods := jobsAndPods(n)
		o := adapter.Observation{Owner: types.UID(owner), PodsKnown: true}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				adapter.Count(o.Classify(jobs, pods), noon)
			}
		})
	}
}
