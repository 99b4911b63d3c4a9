package scheduledjob_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
)

// Jobs of which a tenth failed, with two pods each.
func BenchmarkObserve(b *testing.B) {
	for _, n := range []int{10, 200, 2000} {
		var jobs []batchv1.Job
		var pods []corev1.Pod
		for i := range n {
			tag := fmt.Sprint(i)
			if i%10 > 0 {
				jobs = append(jobs, job(tag, batchv1.JobComplete))
				continue
			}
			jobs = append(jobs, job(tag, batchv1.JobFailed))
			for k := range 2 {
				pods = append(pods, death{types.UID(tag), "1", []int{3}, k}.pod(fmt.Sprint(tag, k)))
			}
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scheduledjob.Observe(owner, jobs, pods)
			}
		})
	}
}
