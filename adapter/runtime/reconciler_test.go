package runtime

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/fair"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/term"
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

// A single worker reconciles owners whose creates hang, more than there are slots, and another one,
// which has its Jobs soon after Patience. An event during a plan reconciles the owner after it.
func TestReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots, hang = 16, 24
		s, q := &server{}, newQueue()
		defer q.ShutDown()
		ctx, stop := context.WithCancel(t.Context())
		clients, err := client.Connect(&rest.Config{Host: "http://server", Transport: s}, 0, client.NewLimit(slots))
		require.NoError(t, err)
		clients.Watches = fake.NewClientset()
		j, err := New(clients, adapter.Options{Terms: term.Alone()})
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
		}, func(ctx context.Context, owner *corev1.ConfigMap) (adapter.Plan, loop.Done) {
			require.NoError(t, term.Check(ctx))
			plan := j.Plan(owner.UID, items, time.Now())
			if owner.Name == "idle" {
				plan = adapter.Plan{}
			}
			return plan, func(adapter.Result, error) time.Duration { return 30 * time.Second }
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
		for name, want := range map[string]error{"good": nil, "idle": nil, "deleted": nil, "absent": nil, "invalid": reconcile.TerminalError(nil)} {
			_, err = r.Reconcile(t.Context(), of(name))
			require.ErrorIs(t, err, want)
		}
		require.Equal(t, begin, time.Now(), "the worker waits for nothing")
		_, err = r.Reconcile(t.Context(), of("bad-0")) // an event
		require.NoError(t, err)
		time.Sleep(fair.Patience + time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, s.created.Load())
		require.LessOrEqual(t, runtime.NumGoroutine()-before, 2*slots, "one for each request")
		require.Zero(t, q.Len())
		time.Sleep(adapter.DefaultTimeout - time.Since(begin) + time.Millisecond)
		require.Equal(t, 1, q.Len(), "the event; others fail, and are reconciled later")
		key, _ := q.Get()
		require.Equal(t, of("bad-0"), key)
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
