package controllerruntime

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/scaling"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
}

// ends is a manager that waits for nothing.
type ends struct{}

func (ends) Add(manager.Runnable) error { return nil }

func target() adapter.Target {
	t := adapter.Target{Owner: adapter.Owner{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "orders", UID: "u"}, Job: &batchv1.Job{}}
	t.Job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "worker"}}
	t.Policy.Bounds.Max = 5
	return t
}

var (
	orders = ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "orders"}}
	items  = []scaling.Metric{{Value: 3, Target: 1}}
)

// A Job that appears and ends reconciles its owner. After the process has been elected, a
// reconcile creates Jobs, and none after the term.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, terms, q := fake.NewClientset(), &requests.Terms{}, newQueue()
		created := 0
		defer q.ShutDown()
		j, err := New(ends{}, loop.Clients{Requests: api, Watches: api}, adapter.Options{Terms: terms})
		require.NoError(t, err)
		require.NoError(t, j.Start(t.Context(), q))
		require.NoError(t, j.WaitForSync(t.Context()))
		require.NoError(t, j.Track(target()))
		poll := func() int64 {
			result, err := j.Apply(t.Context(), j.Plan("u", items, time.Now()))
			require.NoError(t, adapter.WithoutOutdated(err))
			created += int(result.Created)
			return result.Created
		}
		require.Zero(t, poll(), "it is not elected")
		lock := loop.Lease{Terms: terms, Client: api.CoordinationV1(), Namespace: "n", Name: "l", Identity: "i", Duration: 15 * time.Second}.Lock()
		require.NoError(t, lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity(), LeaseDurationSeconds: 15}))
		for range 10 {
			poll()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		require.Equal(t, 3, created)
		require.Equal(t, 1, q.Len())
		key, _ := q.Get()
		require.Equal(t, orders, key)
		time.Sleep(70 * time.Second)
		require.Zero(t, poll())
		_, err = j.Apply(t.Context(), adapter.Plan{Owner: "u", Create: 1})
		require.ErrorIs(t, err, requests.ErrEnded)
	})
}

// An edit and a deletion stop plans, and bring a reconcile. A new status does neither.
func TestEdits(t *testing.T) {
	api := fake.NewClientset()
	j, err := New(ends{}, loop.Clients{Requests: api, Watches: api}, adapter.Options{Terms: requests.OneShot()})
	require.NoError(t, err)
	for _, c := range []struct {
		what          string
		before, after metav1.ObjectMeta
		stops         bool
	}{
		{"status", metav1.ObjectMeta{Generation: 1, ResourceVersion: "1"}, metav1.ObjectMeta{Generation: 1, ResourceVersion: "2"}, false},
		{"spec", metav1.ObjectMeta{Generation: 1}, metav1.ObjectMeta{Generation: 2}, true},
		{"replaced", metav1.ObjectMeta{Generation: 1}, metav1.ObjectMeta{Generation: 1, UID: "v"}, true},
		{"label", metav1.ObjectMeta{Generation: 1}, metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "b"}}, true},
		{"pause", metav1.ObjectMeta{Generation: 1}, metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{"paused": "true"}}, true},
		{"without generations", metav1.ObjectMeta{ResourceVersion: "1"}, metav1.ObjectMeta{ResourceVersion: "2"}, true},
		{"listed anew", metav1.ObjectMeta{ResourceVersion: "1"}, metav1.ObjectMeta{ResourceVersion: "1"}, false},
		{"deleted", metav1.ObjectMeta{}, metav1.ObjectMeta{}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			q := newQueue()
			defer q.ShutDown()
			require.NoError(t, j.Track(target()))
			object := func(m metav1.ObjectMeta) *corev1.ConfigMap {
				m.Namespace, m.Name, m.UID = "shop", "orders", cmp.Or(m.UID, "u")
				return &corev1.ConfigMap{ObjectMeta: m}
			}
			if before, after := object(c.before), object(c.after); c.what == "deleted" {
				j.Edits().Delete(t.Context(), event.DeleteEvent{Object: before}, q)
			} else {
				j.Edits().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
			}
			require.Equal(t, c.stops, q.Len() == 1)
			require.Equal(t, c.stops, strings.Contains(fmt.Sprint(j.Plan("u", items, time.Now()).Holds), "not tracked"))
		})
	}
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &Jobs{}
		at := func(d time.Duration) adapter.Plan { return adapter.Plan{NextCheck: time.Now().Add(d)} }
		for _, c := range []struct {
			plan adapter.Plan
			err  error
			want time.Duration
		}{
			{adapter.Plan{}, nil, time.Minute},
			{at(time.Second), nil, time.Second},
			{at(-time.Second), nil, time.Second},
			{at(time.Hour), nil, time.Minute},
			{at(time.Hour), fmt.Errorf("%w: edited", adapter.ErrOutdated), time.Second},
		} {
			require.Equal(t, ctrl.Result{RequeueAfter: c.want}, j.Next(c.plan, c.err, time.Minute))
		}
	})
}

// The manager competes for the lease, with its times.
func TestElect(t *testing.T) {
	l := loop.Lease{Namespace: "n", Name: "l", Identity: "i", Duration: 15 * time.Second}
	var o ctrl.Options
	Elect(&o, l)
	require.True(t, o.LeaderElection && o.LeaderElectionReleaseOnCancel)
	require.Equal(t, []string{"l", "n", "n/l"}, []string{o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionResourceLockInterface.Describe()})
	require.Equal(t, []time.Duration{15 * time.Second, 10 * time.Second, 2 * time.Second}, []time.Duration{*o.LeaseDuration, *o.RenewDeadline, *o.RetryPeriod})
}
