package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	dynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/scaling"
)

// object is a ScaledJob in the namespace mail, with a trigger that is read from a
// ConfigMap, and the container.
func object(uid string, container map[string]any) *unstructured.Unstructured {
	container["name"] = "c"
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
		"metadata": map[string]any{"namespace": "mail", "name": "consumer", "uid": uid},
		"spec": map[string]any{
			"jobTargetRef": map[string]any{"template": map[string]any{"spec": map[string]any{
				"restartPolicy": "Never", "containers": []any{container},
			}}},
			"triggers": []any{map[string]any{"type": "kubernetes-resource", "name": "a", "metadata": map[string]any{
				"resourceKind": "ConfigMap", "resourceName": "queue", "key": "length", "targetValue": "1",
			}}},
		},
	}}
}

// fakes is a controller whose API server has those ScaledJobs, and no more.
func fakes(t *testing.T, objects ...runtime.Object) (*controller, *dynamic.FakeDynamicClient) {
	t.Helper()
	server := dynamic.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
	c, err := newController(options{sourceTimeout: time.Second}, fake.NewClientset(), server, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(c.polling.Wait)
	t.Cleanup(c.events.Shutdown)
	return c, server
}

func (c *controller) scraped() string {
	answer := httptest.NewRecorder()
	c.metrics.handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	var ours strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "scaledjob_") {
			ours.WriteString(line)
		}
	}
	return ours.String()
}

// What cannot be read has no polling interval, and is not polled without a pause.
func TestInvalidWaits(t *testing.T) {
	u := object("1", map[string]any{"imagePullPolice": "Always"})
	c, _ := fakes(t, u)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := read(u)
	require.ErrorContains(t, s.problem, "imagePullPolice")
	c.start(ctx, s, 0)
	const count = `scaledjob_errors_total{namespace="mail",scaledjob="consumer",with="spec"}`
	require.Eventually(t, func() bool { return strings.Contains(c.scraped(), count) }, 5*time.Second, 10*time.Millisecond)
	time.Sleep(200 * time.Millisecond)
	require.Contains(t, c.scraped(), count+" 1\n")
}

// What is not read any more has no value, and what is gone none at all, though a poll
// of it was under way.
func TestSeriesEnd(t *testing.T) {
	c, _ := fakes(t)
	old, now := c.metrics.of("mail", "consumer"), time.Second
	old.polled([]scaling.Metric{{Name: "a", Value: 1}, {Name: "b", Value: 2}}, scaling.Decision{}, now)
	old.polled([]scaling.Metric{{Name: "b", Value: 3}, {Name: "c", Failed: true}}, scaling.Decision{}, now)
	require.NotContains(t, c.scraped(), `trigger="a"`)
	require.NotContains(t, c.scraped(), `trigger="c"`)
	require.Contains(t, c.scraped(), `scaledjob_queue_length{namespace="mail",scaledjob="consumer",trigger="b"} 3`)
	old.did(adapter.Outcome{Invalid: errors.New("wrong")})
	require.NotContains(t, c.scraped(), "scaledjob_queue_length")
	require.NotContains(t, c.scraped(), "scaledjob_jobs{")
	require.Contains(t, c.scraped(), `with="spec"} 1`)

	old.remove()
	require.Empty(t, c.scraped())
	c.metrics.of("mail", "consumer").did(adapter.Outcome{Result: adapter.Result{Created: 3}})
	is := c.scraped()
	require.Contains(t, is, `scaledjob_jobs_created_total{namespace="mail",scaledjob="consumer"} 3`)
	old.polled([]scaling.Metric{{Name: "b", Value: 3}}, scaling.Decision{}, now)
	old.did(adapter.Outcome{Result: adapter.Result{Created: 5}})
	old.failed("status")
	require.Equal(t, is, c.scraped())
}

// A ScaledJob that is made anew keeps its series when the poller of the one before ends.
func TestSeriesOfSuccessor(t *testing.T) {
	c, _ := fakes(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wrong := map[string]any{"imagePullPolice": "Always"}
	c.changed(ctx, object("1", wrong), false)
	one := `with="spec"} 1`
	require.Eventually(t, func() bool { return strings.Contains(c.scraped(), one) }, 5*time.Second, 10*time.Millisecond)
	c.changed(ctx, object("2", wrong), false)
	require.Eventually(t, func() bool { return strings.Contains(c.scraped(), one) }, 5*time.Second, 10*time.Millisecond)
	cancel()
	c.polling.Wait()
	require.Contains(t, c.scraped(), one)
	c.deleted(object("2", wrong))
	require.Empty(t, c.scraped())
}

// A poll that creates Jobs while the controller is told to stop writes the status.
func TestLastPollIsTold(t *testing.T) {
	u := object("1", map[string]any{"image": "example.com/c:1"})
	c, server := fakes(t, u)
	kube := c.client.(*fake.Clientset)
	_, err := kube.CoreV1().ConfigMaps("mail").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mail", Name: "queue"}, Data: map[string]string{"length": "3"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, i := range c.informers {
		go i.RunWithContext(ctx)
	}
	require.True(t, cache.WaitForCacheSync(ctx.Done(), c.synced))
	kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	written := make(chan string, 1)
	server.PrependReactor("patch", "scaledjobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		written <- string(a.(clienttesting.PatchAction).GetPatch())
		return true, nil, nil
	})
	s := read(u)
	require.NoError(t, s.problem)
	c.start(ctx, s, 0)
	c.polling.Wait()
	require.Len(t, written, 1)
	require.Contains(t, <-written, "ScaledJobReady")
}

// A status that the API server refuses is told; one of a ScaledJob that is gone is not.
func TestStatusRefused(t *testing.T) {
	gone := schema.GroupResource{Group: "keda.sh", Resource: "scaledjobs"}
	field := field.ErrorList{field.Invalid(field.NewPath("status"), "", "wrong")}
	for name, c := range map[string]struct {
		err  error
		told bool
	}{
		"gone":     {apierrors.NewNotFound(gone, "consumer"), false},
		"replaced": {apierrors.NewGenericServerResponse(422, "", gone, "consumer", "test failed", 0, false), false},
		"refused":  {apierrors.NewInvalid(schema.GroupKind{Group: "keda.sh", Kind: "ScaledJob"}, "consumer", field), true},
	} {
		t.Run(name, func(t *testing.T) {
			u := object("1", map[string]any{"imagePullPolice": "Always"})
			controller, server := fakes(t, u)
			asked := make(chan struct{}, 1)
			server.PrependReactor("patch", "scaledjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				asked <- struct{}{}
				return true, nil, c.err
			})
			ctx, cancel := context.WithCancel(t.Context())
			controller.start(ctx, read(u), 0)
			<-asked
			cancel()
			controller.polling.Wait()
			require.Equal(t, c.told, strings.Contains(controller.scraped(), `with="status"} 1`), controller.scraped())
		})
	}
}
