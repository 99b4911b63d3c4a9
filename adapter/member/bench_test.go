package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/member"
)

// Observing n Jobs on four members, a tenth of which are replacements.
func BenchmarkObserve(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			w := newWorld(b, member.Options{Interval: time.Hour}, "a", "b", "c", "d").ready()
			names := w.all.Names()
			for i := range n {
				j := w.target.NewJob(int64(i + 1))
				j.OwnerReferences = nil
				j.Labels[member.LabelHome], j.Labels[member.LabelCreation] = home, fmt.Sprint(i)
				if i%10 == 0 {
					j.Labels[member.LabelSource] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i/10)
				}
				_, err := w.sites[names[i%len(names)]].Clientset.BatchV1().Jobs("shop").Create(b.Context(), j, metav1.CreateOptions{})
				require.NoError(b, err)
			}
			for _, name := range names { // which lists, since a fake watch holds 100 events only
				w.add(name, member.Options{Interval: time.Hour})
			}
			w.ready().shown(n)
			b.ReportAllocs()
			for b.Loop() {
				w.all.Observe(owner)
			}
		})
	}
}
