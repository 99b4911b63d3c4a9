package adapter

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/scaling"
)

// A tracker on a client: nothing is known until Jobs, and pods if they are asked for, have
// been listed. It lists and watches with the selector, in the namespace. Then it follows the
// changes.
func TestWatch(t *testing.T) {
	for name, withPods := range map[string]bool{"with pods": true, "without pods": false} {
		t.Run(name, func(t *testing.T) {
			s, target := newServer(), newTarget()
			_, err := newWriter(t, s, target, Options{}).poll(2)
			require.NoError(t, err)
			running := s.all(t)[0]
			pod := podOf(&running, corev1.PodRunning)
			pod.Labels = map[string]string{batchv1.JobNameLabel: running.Name}
			_, err = s.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
			require.NoError(t, err)

			var away atomic.Bool
			away.Store(true)
			kind := map[bool]string{true: "pods", false: "jobs"}[withPods]
			s.PrependReactor("list", kind, func(ktesting.Action) (bool, runtime.Object, error) {
				return away.Load(), nil, errors.New("away")
			})
			w, err := NewTracker(s, Options{Terms: requests.OneShot(), Namespace: "shop", Pods: withPods})
			require.NoError(t, err)
			require.NoError(t, w.Track(target))
			go w.Run(t.Context())
			lists := func() (n int) {
				for _, a := range s.Actions() {
					if a.Matches("list", kind) {
						n++
					}
				}
				return n
			}
			require.Eventually(t, func() bool { return lists() > 0 }, 10*time.Second, time.Millisecond)
			require.False(t, w.HasSynced())
			require.Equal(t, scaling.ReasonJobsUnknown, w.Plan(ownerUID, items(5), noon).Decision.Reason)

			away.Store(false)
			counts := func() scaling.JobCounts {
				c, _ := w.Counts(ownerUID, noon)
				return c
			}
			pending := map[bool]int64{true: 1, false: 2}[withPods]
			require.Eventually(t, w.HasSynced, 10*time.Second, time.Millisecond)
			require.Equal(t, scaling.JobCounts{Running: 2, Pending: pending}, counts())
			require.Eventually(t, func() bool { // the fake does not tell a watch what was deleted before
				return slices.ContainsFunc(s.Actions(), func(a ktesting.Action) bool { return a.Matches("watch", "jobs") })
			}, 10*time.Second, time.Millisecond)
			heard := w.Heard()
			require.NotZero(t, heard)
			require.NoError(t, s.BatchV1().Jobs("shop").Delete(t.Context(), running.Name, metav1.DeleteOptions{}))
			require.Eventually(t, func() bool { return w.Heard().After(heard) }, 10*time.Second, time.Millisecond)
			require.Eventually(t, func() bool { return counts() == scaling.JobCounts{Running: 1, Pending: 1} }, 10*time.Second, time.Millisecond)

			selectors := map[string]string{"jobs": LabelOwner}
			if withPods {
				selectors["pods"] = batchv1.JobNameLabel
			}
			used := map[string]string{}
			for _, a := range s.Actions() {
				var r ktesting.ListRestrictions
				switch a := a.(type) {
				case ktesting.ListActionImpl:
					r = a.GetListRestrictions()
					require.Empty(t, a.GetListOptions().ResourceVersion, "a consistent read")
				case ktesting.WatchActionImpl:
					r.Labels = a.WatchRestrictions.Labels
				default:
					continue
				}
				if a.GetVerb() == "list" && a.GetResource().Resource == "jobs" && r.Labels.Empty() { // of newServer's all
					continue
				}
				require.Equal(t, "shop", a.GetNamespace())
				used[a.GetResource().Resource] = r.Labels.String()
			}
			require.Equal(t, selectors, used)
		})
	}
}

func TestNewTracker(t *testing.T) {
	w, err := NewTracker(newServer(), Options{Selector: "a=b=c", Timeout: -1, MaxAge: -1})
	require.Nil(t, w)
	for _, path := range []string{"Options.Selector", "Options.Timeout", "Options.MaxAge"} {
		require.ErrorContains(t, err, path)
	}
	w, err = NewTracker(newServer(), Options{Terms: requests.OneShot()})
	require.NoError(t, err)
	require.False(t, w.HasSynced(), "before Run")
}

// A reflector that begins a watch with the objects that there are keeps them by these keys.
func TestKeys(t *testing.T) {
	j := jobOf(newTarget(), 1)
	for object, want := range map[any]string{
		newJob(j, &Options{}):                 "shop/" + j.Name,
		pods.New(podOf(j, corev1.PodRunning)): "shop/" + j.Name + "-pod",
	} {
		key, err := cache.MetaNamespaceKeyFunc(object)
		require.NoError(t, err)
		require.Equal(t, want, key)
	}
}

// A list that comes again, as after a broken watch, changes nothing about what has synced.
func TestListedAgain(t *testing.T) {
	w, err := NewTracker(newServer(), Options{Terms: requests.OneShot(), Pods: true})
	require.NoError(t, err)
	jobs, pods := w.jobFeed(), w.podFeed()
	for range 2 {
		require.NoError(t, jobs.Replace(nil, ""))
		require.False(t, w.HasSynced())
	}
	for range 2 {
		require.NoError(t, pods.Replace(nil, ""))
		require.True(t, w.HasSynced())
	}
}
