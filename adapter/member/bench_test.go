package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
)

// Observing n Jobs on four members, a tenth of which are replacements.
func BenchmarkObserve(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			w := newWorld(b, member.Options{Interval: time.Hour}, "a", "b", "c", "d").ready()
			names := w.all.Names()
			for i := range n {
				j := w.action.ScaledJob.Prototype(w.action.Revision)
				j.Name = fmt.Sprintf("processor-0a1b2c3d-%d", i)
				j.Labels[adapter.LabelHome], j.Labels[adapter.LabelOwner] = home, string(owner)
				j.Annotations[adapter.AnnotationSequence] = fmt.Sprint(i + 1)
				if i%10 == 0 {
					j.Labels[adapter.LabelSource] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i/10)
				}
				_, err := w.sites[names[i%len(names)]].Clientset.BatchV1().Jobs("shop").Create(b.Context(), j, metav1.CreateOptions{})
				require.NoError(b, err)
			}
			for _, name := range names { // which lists, since a fake watch holds 100 events only
				w.add(name, member.Options{Interval: time.Hour})
			}
			w.ready().shown(n)
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				w.all.Observe(owner, now)
			}
		})
	}
}
