package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ours is a ScaledJob with the label.
func ours(name, uid string) *unstructured.Unstructured {
	u := object(name, uid, limits(3))
	u.SetLabels(map[string]string{"example.com/ours": ""})
	return u
}

// labelled makes the API server's watch report a ScaledJob, as it does when the ScaledJob gets
// the label. Without, the watch reports the ScaledJob as deleted.
func (b *bench) labelled(u *unstructured.Unstructured, is bool) {
	b.Helper()
	var err error
	if all := b.dynamic.Resource(scaledJobs).Namespace("mail"); is {
		_, err = all.Create(b.Context(), u, metav1.CreateOptions{})
	} else {
		err = all.Delete(b.Context(), u.GetName(), metav1.DeleteOptions{})
	}
	require.NoError(b, err)
}

// A ScaledJob is first polled a polling interval and 60 s after it got the label, and not after it
// lost the label: whatever polls KEDA's operator has begun create their Jobs before.
func TestLabel(t *testing.T) {
	there, later := ours("there", "1"), ours("later", "2")
	benchedWith(t, true, []string{"-label=example.com/ours"}, func(b *bench) {
		b.holds("there", 9)
		b.holds("later", 9)
		b.holds("theirs", 9)
		time.Sleep(69 * time.Second)
		require.Zero(b, b.jobs(), "an interval of 10 s, and 60 s")
		require.Empty(b, b.statuses(), "KEDA's operator may write the status")
		time.Sleep(10 * time.Second)
		require.Equal(b, 3, b.jobs())
		b.labelled(later, true)
		time.Sleep(2 * time.Second)
		edited := later.DeepCopy()
		limits(4)(edited.Object["spec"].(map[string]any))
		b.edits(edited)
		time.Sleep(67 * time.Second)
		require.Equal(b, 3, b.jobs(), "an edit does not shorten the wait")
		b.labelled(later, false)
		time.Sleep(5 * time.Second)
		b.labelled(later, true)
		time.Sleep(69 * time.Second)
		require.Equal(b, 3, b.jobs(), "it was KEDA's again for a moment")
		time.Sleep(10 * time.Second)
		require.Equal(b, 6, b.jobs())
		polls := b.reads("later")
		b.labelled(later, false)
		time.Sleep(5 * time.Minute)
		require.LessOrEqual(b, b.reads("later"), polls+1)
		require.Zero(b, b.reads("theirs"))
	}, there, object("theirs", "3", limits(3)))
}

// A controller that takes over has seen the ScaledJob, and does not wait again.
func TestLabelWhileAnotherLeads(t *testing.T) {
	benchedWith(t, true, []string{"-label=example.com/ours"}, func(b *bench) {
		b.mayAcquire.Store(false)
		b.holds("there", 9)
		time.Sleep(5 * time.Minute)
		require.Zero(b, b.jobs())
		b.mayAcquire.Store(true)
		time.Sleep(30 * time.Second)
		require.Equal(b, 3, b.jobs())
	}, ours("there", "1"))
}

// Other polls create other numbers of Jobs, as a release of KEDA does.
func TestAsKEDA(t *testing.T) {
	half := func(spec map[string]any) {
		spec["triggers"].([]any)[0].(map[string]any)["metadata"].(map[string]any)["targetValue"] = "0.5"
	}
	custom := func(spec map[string]any) {
		spec["maxReplicaCount"] = int64(5)
		spec["scalingStrategy"] = map[string]any{"strategy": "custom", "customScalingRunningJobPercentage": "0"}
	}
	for _, c := range []struct {
		name  string
		spec  func(map[string]any)
		ours  int
		keda  int
		later int
	}{
		{"a target below 1", half, 18, 9, 18},
		{"custom does not keep the maximum", custom, 5, 5, 10},
		{"a minimum is not added", func(spec map[string]any) {
			spec["minReplicaCount"], spec["maxReplicaCount"] = int64(2), int64(20)
		}, 11, 2, 11},
	} {
		for i, args := range [][]string{nil, {"-as-keda=2.21"}} {
			benchedWith(t, false, args, func(b *bench) {
				b.holds("consumer", 9)
				time.Sleep(5 * time.Second)
				first := b.jobs()
				time.Sleep(10 * time.Second)
				if i == 0 {
					require.Equal(b, [2]int{c.ours, c.ours}, [2]int{first, b.jobs()}, c.name)
				} else {
					require.Equal(b, [2]int{c.keda, c.later}, [2]int{first, b.jobs()}, c.name)
				}
			}, object("consumer", "1", c.spec))
		}
	}
}

// While Jobs cannot be created for a reason of ours, a release of KEDA creates none either, and it
// does not while the ScaledJob is paused.
func TestAsKEDAPaused(t *testing.T) {
	for _, release := range []string{"2.21", "2.10"} { // which does not know the annotation
		u := object("consumer", "1", limits(3))
		u.SetAnnotations(map[string]string{"autoscaling.keda.sh/paused": "true"})
		benchedWith(t, false, []string{"-as-keda=" + release}, func(b *bench) {
			b.holds("consumer", 9)
			time.Sleep(30 * time.Second)
			require.Zero(b, b.jobs(), release)
			require.Contains(b, b.last(), "ScaledJobPaused")
		}, u)
	}
}

// KEDA's finalizer is removed from a ScaledJob that is being deleted, and from no other.
func TestFinalizer(t *testing.T) {
	gone, stays := object("gone", "1", limits(3)), object("stays", "2", limits(3))
	gone.SetFinalizers([]string{"example.com/other", kedaFinalizer})
	stays.SetFinalizers([]string{kedaFinalizer})
	gone.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
	benched(t, false, func(b *bench) {
		b.refuse(errors.New("no"))
		time.Sleep(2 * time.Second)
		b.refuse(nil)
		time.Sleep(10 * time.Second)
		freed := slices.DeleteFunc(b.statuses(), func(p string) bool { return !strings.Contains(p, kedaFinalizer) })
		require.Len(b, freed, 2, "again after an error")
		require.JSONEq(b, `[{"op":"test","path":"/metadata/uid","value":"1"},{"op":"test","path":"/metadata/finalizers/1","value":"finalizer.keda.sh"},
			{"op":"remove","path":"/metadata/finalizers/1"}]`, freed[1])
		require.Contains(b, b.said(), "finalizer of KEDA not removed")
	}, gone, stays)
}
