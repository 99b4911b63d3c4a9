package controllerruntime

// What the tests hold:
//
//	an event of a Job reconciles its owner              TestSource
//	a poll or a plan that waits holds no worker         TestReconciler
//	an edit or a deletion during a poll drops its plan  TestReconcilerEdited
//	the manager waits for plans at its end              TestEnd
//	an edit stops a plan, a new status does not         TestEdits
//	the time of the next reconcile                      TestNext
//	the manager's election has the times of the lease   TestElect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// owners are ConfigMaps of any name, except absent. Of an invalid one there is no target.
type owners struct{ ctrlclient.Reader }

func (owners) Get(_ context.Context, key ctrlclient.ObjectKey, to ctrlclient.Object, _ ...ctrlclient.GetOption) error {
	if key.Name == "absent" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	to.SetNamespace(key.Namespace)
	to.SetName(key.Name)
	to.SetUID(types.UID(key.Name))
	if key.Name == "deleted" {
		to.SetDeletionTimestamp(new(metav1.Now()))
	}
	return nil
}

// A server creates Jobs. Creates of owners whose name begins with bad hang.
type server struct{ created atomic.Int64 }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	job := object.(*batchv1.Job)
	if strings.HasPrefix(job.OwnerReferences[0].Name, "bad") {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	s.created.Add(1)
	job.UID, job.APIVersion, job.Kind = types.UID(job.Name), "batch/v1", "Job"
	data, err = json.Marshal(job)
	return &http.Response{StatusCode: 201, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: r}, err
}

// A manager ends after the plans that are carried out, and after their results are taken over.
func TestEnd(t *testing.T) {
	sent, slow := make(chan bool), &server{}
	config := &rest.Config{Host: "http://server", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent <- true
		response, err := slow.RoundTrip(r)
		time.Sleep(100 * time.Millisecond)
		return response, err
	})}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     controllerconfig.Controller{SkipNameValidation: new(true)},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
	})
	require.NoError(t, err)
	clients, err := loop.Connect(config, 0, loop.NewLimit(1))
	require.NoError(t, err)
	clients.Watches = fake.NewClientset()
	j, err := New(manager, clients, adapter.Options{Terms: requests.OneShot()})
	require.NoError(t, err)
	var told error
	r := Reconciler(j, owners{}, func(owner *corev1.ConfigMap) (adapter.Target, error) {
		of := target()
		of.Owner.Name, of.Owner.UID = owner.Name, owner.UID
		return of, nil
	}, func(_ context.Context, owner *corev1.ConfigMap) (adapter.Plan, Done) {
		return j.Plan(owner.UID, items, time.Now()), func(_ context.Context, _ adapter.Result, err error) time.Duration {
			time.Sleep(100 * time.Millisecond)
			told = err
			return time.Minute
		}
	})
	require.NoError(t, ctrl.NewControllerManagedBy(manager).Named("end").WatchesRawSource(j).Complete(r))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	require.NoError(t, j.WaitForSync(ctx))
	j.queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "bad"}})
	<-sent
	stop()
	require.NoError(t, <-ended)
	require.ErrorContains(t, told, "created 0 of 3 Jobs")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An owner that is edited or deleted during a poll has no plan, also if the event came before its Jobs
// were tracked. Nor has an owner whose poll panics; others go on. All are polled again.
func TestReconcilerEdited(t *testing.T) {
	for name, latest := range map[string]func(to ctrlclient.Object) error{
		"same":    func(ctrlclient.Object) error { return nil },
		"panics":  func(ctrlclient.Object) error { return nil },
		"fails":   func(ctrlclient.Object) error { return nil }, // its end panics
		"edited":  func(to ctrlclient.Object) error { to.SetGeneration(2); return nil },
		"another": func(to ctrlclient.Object) error { to.SetUID("another"); return nil },
		"deleted": func(ctrlclient.Object) error { return apierrors.NewNotFound(schema.GroupResource{}, "orders") },
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			defer q.ShutDown()
			ctx, stop := context.WithCancel(t.Context())
			j, err := New(ends{}, loop.Clients{Requests: fake.NewClientset(), Watches: fake.NewClientset()}, adapter.Options{Terms: requests.OneShot()})
			require.NoError(t, err)
			require.NoError(t, j.Start(ctx, q))
			require.NoError(t, j.WaitForSync(ctx))
			polled, done := false, false
			r := Reconciler(j, reads(func(to ctrlclient.Object) error {
				if polled {
					return latest(to)
				}
				return nil
			}), func(owner *corev1.ConfigMap) (adapter.Target, error) {
				of := target()
				of.Owner.UID = owner.UID
				return of, nil
			}, func(context.Context, *corev1.ConfigMap) (adapter.Plan, Done) {
				if polled = true; name == "panics" {
					panic(name)
				}
				return adapter.Plan{}, func(context.Context, adapter.Result, error) time.Duration {
					if done = true; name == "fails" {
						panic(name)
					}
					return 0
				}
			})
			_, err = r.Reconcile(ctx, orders)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, name == "same" || name == "fails", done, name)
			_, tracked := j.Counts("orders", time.Now())
			require.Equal(t, name == "same" || name == "panics" || name == "fails", tracked, name)
			time.Sleep(61 * time.Second)
			require.Equal(t, name != "same", q.Len() == 1, name)
			stop()
			time.Sleep(time.Minute)
		})
	}
}

// reads reads owners, and changes them.
type reads func(ctrlclient.Object) error

func (f reads) Get(ctx context.Context, key ctrlclient.ObjectKey, to ctrlclient.Object, _ ...ctrlclient.GetOption) error {
	if err := (owners{}).Get(ctx, key, to); err != nil {
		return err
	}
	return f(to)
}

func (reads) List(context.Context, ctrlclient.ObjectList, ...ctrlclient.ListOption) error { return nil }

// A single worker reconciles owners whose creates hang, more than there are slots, owners whose queues do
// not answer, and another one, which has its Jobs soon after Patience. An event during a plan reconciles the owner after it.
func TestReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, hang = 16, 24
		s, q := &server{}, newQueue()
		defer q.ShutDown()
		ctx, stop := context.WithCancel(t.Context())
		clients, err := loop.Connect(&rest.Config{Host: "http://server", Transport: s}, 0, loop.NewLimit(slots))
		require.NoError(t, err)
		clients.Watches = fake.NewClientset()
		j, err := New(ends{}, clients, adapter.Options{Terms: requests.OneShot()})
		require.NoError(t, err)
		require.NoError(t, j.Start(ctx, q))
		require.NoError(t, j.WaitForSync(ctx))
		r := Reconciler(j, owners{}, func(owner *corev1.ConfigMap) (adapter.Target, error) {
			of := target()
			of.Owner.Name, of.Owner.UID = owner.Name, owner.UID
			if owner.Name == "invalid" {
				return of, fmt.Errorf("no image")
			}
			return of, nil
		}, func(ctx context.Context, owner *corev1.ConfigMap) (adapter.Plan, Done) {
			require.NoError(t, requests.CheckTerm(ctx))
			plan := j.Plan(owner.UID, items, time.Now())
			switch {
			case owner.Name == "idle":
				plan = adapter.Plan{}
			case strings.HasPrefix(owner.Name, "silent"): // a queue that does not answer
				<-ctx.Done()
			}
			return plan, func(context.Context, adapter.Result, error) time.Duration { return 30 * time.Second }
		})
		of := func(name string) ctrl.Request {
			return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
		}
		before, begin := runtime.NumGoroutine(), time.Now()
		for i := range hang {
			result, err := r.Reconcile(t.Context(), of(fmt.Sprint("bad-", i)))
			require.NoError(t, err)
			require.Zero(t, result)
		}
		for name, want := range map[string]error{"silent-1": nil, "silent-2": nil, "good": nil, "idle": nil, "deleted": nil, "absent": nil, "invalid": reconcile.TerminalError(nil)} {
			_, err = r.Reconcile(t.Context(), of(name))
			require.ErrorIs(t, err, want)
		}
		require.Equal(t, begin, time.Now(), "the worker waits for nothing")
		_, err = r.Reconcile(t.Context(), of("bad-0")) // an event
		require.NoError(t, err)
		time.Sleep(requests.Patience + time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, s.created.Load())
		require.LessOrEqual(t, runtime.NumGoroutine()-before, 2*slots, "one for each request")
		require.Zero(t, q.Len())
		key, _ := q.Get()
		require.Equal(t, of("bad-0"), key, "the event; others fail, and are reconciled later")
		require.GreaterOrEqual(t, time.Since(begin), adapter.DefaultTimeout)
		time.Sleep(30 * time.Second)
		names := map[string]bool{}
		for range q.Len() {
			key, _ := q.Get()
			names[key.Name] = true
		}
		require.True(t, names["good"] && names["idle"], "after the interval")
		require.Len(t, names, hang+1)
		stop()
		time.Sleep(time.Minute)
	})
}
