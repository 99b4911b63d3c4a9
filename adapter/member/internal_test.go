package member

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A request without an answer counts when a health check has passed that was sent after its end, and
// never if the member has failed since it was sent.
func TestSettle(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	none, create := jobs.Failures{}, jobs.Failures{Create: true}
	for _, test := range []struct {
		passed, failed time.Time // of health checks; the request was sent at 100 and had no answer until 115
		now            jobs.Failures
		kept           bool
	}{
		{at(90), time.Time{}, none, true},
		{at(110), at(50), none, true},
		{at(116), at(50), create, false},
		{at(116), at(105), none, false},
	} {
		f := failures{doubted: create, sent: at(100), ended: at(115)}
		require.Equal(t, test.now, f.settle(&health{passed: test.passed, failed: test.failed}), test)
		require.Equal(t, test.kept, f.doubted == create, test)
	}
}

// A text of a member has one line, is short, and moves no cursor.
func TestShort(t *testing.T) {
	require.Equal(t, "a[31mbc", short("a\x1b[31mb\u009bc\x07\x7f\nd"))
	require.Len(t, short(string(make([]byte, 1000))+"a"), len("…"))
}

// A Job or a pod with a text that no API server accepts is nobody's, so that a member cannot fill the memory:
// not in a list, in a watch, or as an answer.
func TestLongTexts(t *testing.T) {
	c := &Cluster{options: Options{MaxJobs: 10}}
	long := strings.Repeat("a", 300)
	for what, change := range map[string]func(*metav1.ObjectMeta){
		"namespace": func(o *metav1.ObjectMeta) { o.Namespace = long },
		"name":      func(o *metav1.ObjectMeta) { o.Name = long },
		"UID":       func(o *metav1.ObjectMeta) { o.UID = types.UID(long) },
		"version":   func(o *metav1.ObjectMeta) { o.ResourceVersion = long },
		"label":     func(o *metav1.ObjectMeta) { o.Labels = map[string]string{LabelOwnerNamespace: long} },
	} {
		b := &bound{cluster: c, kind: "Jobs", in: map[string]*shown{}}
		j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1"}}
		_, err := answer(&j, nil)
		require.NoError(t, err)
		require.Len(t, b.take("shop", watch.Event{Type: watch.Added, Object: &j}), 1)
		change(&j.ObjectMeta)
		items, err := page(b, c, "shop", metav1.ListOptions{}, "more", []batchv1.Job{j})
		require.NoError(t, err)
		require.Empty(t, items, what)
		require.Empty(t, b.take("shop", watch.Event{Type: watch.Added, Object: &j}), what)
		_, err = answer(&j, nil)
		require.ErrorContains(t, err, "too long", what)
	}
}

// propShareOfPods is that of more pods than a member may have, in any order, listed and watched, as many are
// kept as may be, and only owners with more than an equal share lose some: those keep equally many. The
// result reports whether an owner lost some and another did not.
func propShareOfPods(t *rapid.T) (shared bool) {
	c := &Cluster{options: Options{MaxJobs: rapid.IntRange(1, 60).Draw(t, "most")}}
	b := &bound{cluster: c, kind: pods, in: map[string]*shown{}}
	counts := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 5, 9, 20, 40}), 2, 5).Draw(t, "pods of owners")
	var all []corev1.Pod
	for i, n := range counts {
		for k := range n {
			all = append(all, corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprint(i, "-", k), Labels: map[string]string{adapter.LabelOwner: fmt.Sprint(i)},
			}})
		}
	}
	all = rapid.Permutation(all).Draw(t, "order")
	there, lists := map[string]string{}, rapid.SampledFrom([][]string{{"shop", "shop"}, {"shop", "shop"}, {"shop", "mail"}}).Draw(t, "lists")
	listed := rapid.IntRange(0, len(all)).Draw(t, "listed")
	for i, p := range all {
		if i < listed {
			items, err := page(b, c, lists[i%2], metav1.ListOptions{Continue: "more"}, "more", []corev1.Pod{p})
			require.NoError(t, err)
			for _, p := range items {
				there[p.Name] = p.Labels[adapter.LabelOwner]
			}
			continue
		}
		for _, e := range append(b.take(lists[i%2], watch.Event{Type: watch.Added, Object: &p}), b.take("shop", watch.Event{Type: watch.Bookmark})...) {
			switch p, is := e.Object.(*corev1.Pod); {
			case is && e.Type == watch.Deleted:
				delete(there, p.Name)
			case is:
				there[p.Name] = p.Labels[adapter.LabelOwner]
			}
		}
	}
	for _, n := range lists {
		for _, e := range b.take(n, watch.Event{Type: watch.Bookmark}) {
			if p, is := e.Object.(*corev1.Pod); is {
				delete(there, p.Name)
			}
		}
	}
	require.Len(t, there, min(len(all), c.options.MaxJobs))
	ranked := 0 // drop looks at the last rank only
	for n, rank := range b.ranks {
		for at, of := range rank {
			require.Equal(t, []int{n, at}, []int{len(of.keys), of.at})
			ranked += n
		}
	}
	require.Equal(t, []int{len(there), len(there)}, []int{ranked, b.total})
	if slices.Contains(lists, "mail") {
		return false // an owner in two lists has two shares
	}
	kept := map[string]int{}
	for _, owner := range there {
		kept[owner]++
	}
	most := slices.Max(append(slices.Collect(maps.Values(kept)), 0))
	lost := 0
	for i, n := range counts {
		if k := kept[fmt.Sprint(i)]; k < n {
			require.GreaterOrEqual(t, k, most-1, "owner %d of %v", i, counts)
			lost++
		}
	}
	return lost > 0 && lost < len(counts)
}

func TestShareOfPods(t *testing.T) {
	runs, shared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if runs++; propShareOfPods(t) {
			shared++
		}
	})
	require.Greater(t, 40*shared, runs)
}

// A pod above the bound beside n owners with a pod each, and one with two.
func BenchmarkDrop(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			pod := func(i, owner int) *corev1.Pod {
				return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(i), Labels: map[string]string{adapter.LabelOwner: fmt.Sprint(owner)}}}
			}
			all := &bound{cluster: &Cluster{options: Options{MaxJobs: n}}, kind: pods, in: map[string]*shown{}}
			for i := range n {
				all.show("shop", pod(i, i))
			}
			for i := n; b.Loop(); i++ {
				all.show("shop", pod(i, i))
			}
			require.Equal(b, n, all.total)
		})
	}
}
