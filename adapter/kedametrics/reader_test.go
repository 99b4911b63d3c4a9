package kedametrics

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/scaling"
)

// From the owner to the first reading, and from one poll of KEDA to the next.
func TestReading(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		c.track("orders")
		require.Len(t, c.list(scaledObjects), 1)
		require.Len(t, c.list(readingTargets), 1)
		_, found := c.reader.Take(keyOf("orders"))
		require.False(t, found, "KEDA needs a moment")
		wait(patience)
		require.Equal(t, []Problem{{Reason: Waiting}}, c.reading("orders").Problems)

		c.answer("12")
		reading := c.reading("orders")
		require.Equal(t, []scaling.Metric{{Name: "redis", Value: 12, Target: 5, Activity: scaling.Active}}, reading.Metrics)
		require.NoError(t, reading.Err())
		_, found = c.reader.Take(keyOf("orders"))
		require.False(t, found, "a reading is taken once")

		wait(29 * time.Second)
		require.NoError(t, c.reader.Track(owner("orders")), "an edit that KEDA does not need to know")
		c.poll("3")
		wait(2 * time.Second)
		require.Equal(t, 3., c.reading("orders").Metrics[0].Value)
		require.Len(t, c.list(scaledObjects), 1)
	})
}

// KEDA's first verdict may be that nothing is active, and the true one follow with the same value. There are two decisions
// then, and no third.
func TestFirstVerdict(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		c.track("orders")
		c.poll("12")
		for _, active := range []bool{false, true} {
			c.buildAll(active)
			wait(2 * time.Second)
			metric := c.reading("orders").Metrics[0]
			require.Equal(t, 12., metric.Value)
			require.Equal(t, map[bool]scaling.Activity{false: scaling.Inactive, true: scaling.Active}[active], metric.Activity)
		}
		for _, active := range []bool{true, false, true} {
			c.buildAll(active)
			wait(2 * time.Second)
		}
		require.Len(t, c.decided, 2)
	})
}

// What the objects say, for a trigger of each form.
func TestObjects(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		o := owner("a-name-that-is-much-longer-than-an-object-of-kubernetes-may-have-in-a-label.and-dots",
			manifest.ScaleTrigger{Type: "redis", Name: "x", MetricType: "Value", AuthenticationRef: &manifest.AuthenticationRef{Name: "redis"}},
			manifest.ScaleTrigger{Type: "cron", Name: "x", UseCachedMetrics: true, Metadata: map[string]string{"start": "0 8 * * *"}})
		o.Container = "main"
		require.NoError(t, c.reader.Track(o))
		wait(time.Second)
		s := c.list(scaledObjects)[0]
		require.LessOrEqual(t, len(s.GetName()), 54)
		require.Equal(t, map[string]string{pauseOut: "true"}, s.GetAnnotations())
		require.Equal(t, map[string]any{
			"scaleTargetRef":  map[string]any{"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "ReadingTarget", "name": s.GetName(), "envSourceContainerName": "main"},
			"pollingInterval": int64(30), "minReplicaCount": int64(0), "maxReplicaCount": int64(1), "triggers": []any{
				map[string]any{"type": "redis", "name": "x", "useCachedMetrics": true, "metadata": map[string]any{}, "authenticationRef": map[string]any{"name": "redis"}},
				map[string]any{"type": "cron", "name": "x-2", "metadata": map[string]any{"start": "0 8 * * *"}},
			},
		}, s.Object["spec"])
		require.Equal(t, o.UID, metav1.GetControllerOf(&s).UID)
		target := c.list(readingTargets)[0]
		require.Equal(t, s.GetName(), target.GetName())
		require.Equal(t, o.UID, metav1.GetControllerOf(&target).UID)
		require.Equal(t, map[string]any{"replicas": int64(0), "template": map[string]any{"spec": map[string]any{
			"serviceAccountName": "worker", "containers": []any{map[string]any{"name": "main", "resources": map[string]any{}, "env": []any{map[string]any{"name": "HOST", "value": "redis"}}}},
		}}}, target.Object["spec"], "no image: only what KEDA reads")
	})
}

// An edit of anything that KEDA needs makes new objects, only they are read, and the old ones go.
func TestEdits(t *testing.T) {
	for name, edit := range map[string]func(*Owner){
		"query":     func(o *Owner) { o.Triggers[0].Metadata["listName"] = "others" },
		"target":    func(o *Owner) { o.Triggers[0].Metadata["listLength"] = "7" },
		"variable":  func(o *Owner) { o.Pod.Containers[0].Env[0].Value = "other" },
		"account":   func(o *Owner) { o.Pod.ServiceAccountName = "other" },
		"interval":  func(o *Owner) { o.Interval = 10 * time.Second },
		"container": func(o *Owner) { o.Container = "main" },
		"recreated": func(o *Owner) { o.UID = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			started(t, func(t *testing.T, c *cluster) {
				c.track("orders")
				old := c.list(scaledObjects)[0].GetName()
				c.answer("12")
				c.reading("orders")

				edited := owner("orders")
				edit(&edited)
				if edited.UID == "another" {
					c.reader.Untrack(owner("orders").UID)
				}
				require.NoError(t, c.reader.Track(edited))
				if edited.UID == "another" {
					c.reader.Complete()
				}
				c.poll("100") // under the old name
				n := c.gets[old]
				wait(time.Minute)
				require.Equal(t, n, c.gets[old], "the old object is not read")
				require.Len(t, c.list(scaledObjects), 1)
				require.Len(t, c.list(readingTargets), 1)
				require.NotEqual(t, old, c.list(scaledObjects)[0].GetName())
				require.Equal(t, []Problem{{Reason: Waiting}}, c.reading("orders").Problems)
				c.buildAll(true)
				wait(time.Second)
				require.Equal(t, 100., c.reading("orders").Metrics[0].Value)
			})
		})
	}
	o := owner("orders")
	o.Pod.Containers[0].Image, o.Pod.Containers[0].Args = "other", []string{"x"}
	a, b := formOf(&o), owner("orders")
	f := formOf(&b)
	name, _ := a.name("orders")
	other, _ := f.name("orders")
	require.Equal(t, name, other, "what KEDA does not use is left out")
	b.Interval = time.Millisecond
	require.EqualValues(t, 1, formOf(&b).Interval, "KEDA has whole seconds")
	o.Triggers[0].Metadata["x"] = string(make([]byte, longestSpec))
	require.Error(t, New(Options{Clients: Clients{Watches: newCluster(t).dynamic}}).Track(o))
}

// An edit that KEDA cannot build: the condition names the trigger, and not KEDA's words.
func TestNotBuilt(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		require.NoError(t, c.reader.Track(owner("orders", manifest.ScaleTrigger{Type: "redis"}, manifest.ScaleTrigger{Type: "aws-sqs-queue", Name: "jobs"})))
		wait(time.Second)
		s := c.list(scaledObjects)[0]
		_ = unstructured.SetNestedSlice(s.Object, []any{map[string]any{"type": "Ready", "status": "False", "message": "error parsing AWS SQS queue metadata: password hunter2"}}, "status", "conditions")
		_, err := c.dynamic.Resource(scaledObjects).Namespace("shop").Update(t.Context(), &s, metav1.UpdateOptions{})
		require.NoError(t, err)
		wait(31 * time.Second)
		reading := c.reading("orders")
		require.Equal(t, []Problem{{"jobs", TriggerNotBuilt}}, reading.Problems)
		require.ErrorContains(t, reading.Err(), `trigger "jobs": KEDA cannot use a trigger`)
		require.ErrorContains(t, reading.Err(), "see the events of scaledobject "+s.GetName())
		require.NotContains(t, reading.Err().Error(), "hunter2")
		require.Len(t, reading.Metrics, 2, "one trigger fails all")
		require.True(t, reading.Metrics[0].Failed)
	})
}

// An object of somebody else is left alone; one of ours that was edited is made anew.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := owner("orders")
		f := formOf(&o)
		name, err := f.name("orders")
		require.NoError(t, err)
		for _, resource := range []schema.GroupVersionResource{scaledObjects, readingTargets} {
			other := &unstructured.Unstructured{Object: map[string]any{}}
			other.SetGroupVersionKind(resource.GroupVersion().WithKind(map[schema.GroupVersionResource]string{scaledObjects: "ScaledObject", readingTargets: kind}[resource]))
			other.SetNamespace("shop")
			other.SetName(name)
			c := newCluster(t, other)
			c.start()
			require.NoError(t, c.reader.Track(owner("orders")))
			c.reader.Complete()
			wait(time.Minute)
			require.Equal(t, []Problem{{Reason: Conflict}}, c.reading("orders").Problems)
			require.Len(t, c.list(resource), 1)
			require.Empty(t, c.list(resource)[0].GetLabels(), "untouched")
			c.stop()
		}
		twin := &unstructured.Unstructured{Object: map[string]any{}}
		twin.SetGroupVersionKind(readingTargets.GroupVersion().WithKind(kind))
		twin.SetNamespace("shop")
		twin.SetName(name)
		twin.SetLabels(map[string]string{LabelReader: "other"})
		yes := true
		twin.SetOwnerReferences([]metav1.OwnerReference{{UID: o.UID, Controller: &yes}})
		c := newCluster(t, twin)
		c.start()
		require.NoError(t, c.reader.Track(owner("orders")))
		wait(time.Minute)
		require.Equal(t, []Problem{{Reason: Conflict}}, c.reading("orders").Problems, "another controller has the same owner")
		c.stop()

		c = newCluster(t)
		c.start()
		defer c.stop()
		c.track("orders")
		for _, change := range []func(*unstructured.Unstructured){
			func(s *unstructured.Unstructured) { s.SetGeneration(2) },
			func(s *unstructured.Unstructured) { s.SetAnnotations(nil) },
			func(s *unstructured.Unstructured) {
				s.SetAnnotations(map[string]string{pauseOut: "true", "autoscaling.keda.sh/paused": "true"})
			},
		} {
			s := c.list(scaledObjects)[0]
			change(&s)
			_, err := c.dynamic.Resource(scaledObjects).Namespace("shop").Update(t.Context(), &s, metav1.UpdateOptions{})
			require.NoError(t, err)
			wait(2 * time.Second)
			require.Len(t, c.list(scaledObjects), 1)
			require.NotEqual(t, s.GetUID(), c.list(scaledObjects)[0].GetUID(), "made anew")
		}
	})
}

func failing(code int, text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: text, Reason: metav1.StatusReason(map[int]string{403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 422: "Invalid", 503: "ServiceUnavailable", 500: "InternalError", 409: "Conflict"}[code])}}
}

// Nothing is read through an object that is being deleted, or through an HPA of somebody else, and an object that the watch
// does not show yet is not created again at once.
func TestNotYet(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		c.track("orders")
		c.poll("1")
		s := c.list(scaledObjects)[0]
		other := s.DeepCopy()
		other.SetUID("another")
		c.build(other, true)
		require.NoError(t, c.dynamic.Tracker().Update(scaledObjects, &s, "shop"))
		wait(time.Minute)
		require.Equal(t, []Problem{{Reason: Waiting}}, c.reading("orders").Problems)

		require.NoError(t, c.dynamic.Tracker().Delete(hpas, "shop", hpaPrefix+s.GetName()))
		now := metav1.Now()
		s.SetDeletionTimestamp(&now)
		c.build(&s, true)
		wait(time.Minute)
		require.Equal(t, []Problem{{Reason: Waiting}}, c.reading("orders").Problems)
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		creates := 0
		c.dynamic.PrependReactor("create", "scaledobjects", func(a kubetesting.Action) (bool, runtime.Object, error) {
			creates++
			return true, a.(kubetesting.CreateAction).GetObject(), nil
		})
		c.start()
		defer c.stop()
		require.NoError(t, c.reader.Track(owner("orders")))
		wait(patience - time.Millisecond)
		require.Equal(t, 1, creates)
		wait(time.Minute)
		require.Greater(t, creates, 1, "it may have been deleted meanwhile")
	})
}

// A thousand new owners do not fill the API server's queues: what finds too many creates is created soon after.
func TestCreates(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		wait(time.Second)
		for range creates {
			c.reader.creating <- struct{}{}
		}
		c.track("orders")
		require.Empty(t, c.list(readingTargets))
		<-c.reader.creating
		wait(time.Second)
		require.Len(t, c.list(scaledObjects), 1)
	})
}

// Each fault of the API server's answers to creates has its reason, and passes.
func TestFaults(t *testing.T) {
	terminating := failing(403, "namespace is being terminated").(*apierrors.StatusError)
	terminating.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	for _, f := range []struct {
		err  error
		want Reason
	}{
		{failing(403, "no"), Forbidden}, {failing(403, `admission webhook "vscaledobject.kb.io" denied the request`), Refused}, {failing(422, "no"), Refused},
		{failing(500, "no"), Unanswered}, {failing(503, "no"), Unanswered}, {errors.New("timeout"), Unanswered}, {failing(409, "no"), Unanswered}, {failing(404, "namespace"), Waiting},
		{terminating, Waiting}, {failing(405, "the CRD is being deleted"), Refused},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			broken := true
			c.dynamic.PrependReactor("create", "scaledobjects", func(kubetesting.Action) (bool, runtime.Object, error) { return broken, nil, f.err })
			c.start()
			defer c.stop()
			require.NoError(t, c.reader.Track(owner("orders")))
			wait(patience + time.Second)
			require.Equal(t, []Problem{{Reason: f.want}}, c.reading("orders").Problems, f.err)
			broken = false
			wait(31 * time.Second)
			require.Len(t, c.list(scaledObjects), 1)
		})
	}
}

// What KEDA's metrics server may answer, and that a fixed text is all that is told of it.
func TestValues(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		c.track("orders")
		c.answer("1")
		c.reading("orders")
		for err, want := range map[error]Reason{
			failing(500, "rpc error: code = Unknown desc = password hunter2"): TriggerFailed,
			failing(503, "no"): KEDAUnavailable, failing(404, "no"): NoValue, failing(403, "no"): Forbidden,
		} {
			c.set(func() { c.keda = func(string) (string, error) { return "", err } })
			wait(time.Minute)
			reading := c.reading("orders")
			require.Equal(t, want, reading.Problems[0].Reason)
			require.NotContains(t, reading.Err().Error(), "hunter2")
			require.Contains(t, reading.Err().Error(), reading.Object)
		}
	})
}

// The probe tells a cluster's states apart.
func TestProbe(t *testing.T) {
	missing := func(resource string) func(*cluster) {
		return func(c *cluster) {
			c.dynamic.PrependReactor("list", resource, func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, failing(404, "no") })
		}
	}
	unregistered := failing(404, "404 page not found").(*apierrors.StatusError)
	unregistered.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}}
	for want, arrange := range map[Reason]func(*cluster){
		KEDAMissing:          missing("scaledobjects"),
		DefinitionMissing:    missing(plural),
		MetricsServerMissing: func(c *cluster) { c.away = unregistered },
		KEDAUnavailable:      func(c *cluster) { c.away = failing(503, "service unavailable") },
		OtherMetricsServer:   func(c *cluster) { c.away = failing(404, "the server could not find the metric") },
		Forbidden: func(c *cluster) {
			c.dynamic.PrependReactor("list", "horizontalpodautoscalers", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, failing(403, "no") })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			arrange(c)
			c.start()
			defer c.stop()
			require.NoError(t, c.reader.Track(owner("orders")))
			wait(time.Minute)
			reading := c.reading("orders")
			require.Equal(t, []Problem{{Reason: want}}, reading.Problems)
			require.EqualError(t, reading.Err(), want.Text(), "KEDA's events do not explain it")
			require.Equal(t, want, c.reader.Available())
			require.NotEqual(t, string(want), want.Text())
		})
	}
}

// A controller that reads no value asks whether KEDA can be asked.
func TestProbeAgain(t *testing.T) {
	started(t, func(t *testing.T, c *cluster) {
		wait(time.Minute)
		require.Empty(t, c.reader.Available())
		c.set(func() { c.away = failing(503, "service unavailable") })
		wait(time.Minute)
		require.Empty(t, c.reader.Available(), "nobody has asked")
		c.reader.Probe()
		wait(time.Second)
		require.Equal(t, KEDAUnavailable, c.reader.Available())
	})
}

// While KEDA is away one probe stands for 1,000 owners; when it answers again, all are read within 6 s.
func TestRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		c := newCluster(t)
		c.start()
		defer c.stop()
		wait(time.Second)
		c.trackMany(n)
		c.answer("1")
		wait(10 * time.Second)
		require.GreaterOrEqual(t, len(c.decided), n)

		c.set(func() { c.away, c.hang = failing(503, "no"), 5*time.Second })
		wait(2 * time.Minute)
		require.Equal(t, KEDAUnavailable, c.reader.Available())
		total := func() (sum int) {
			c.set(func() {
				for _, n := range c.gets {
					sum += n
				}
			})
			return sum
		}
		before := total()
		wait(time.Minute)
		require.LessOrEqual(t, total()-before, 12, "probes only")
		for i := range n {
			require.Equal(t, []Problem{{Reason: KEDAUnavailable}}, c.reading(fmt.Sprint("o", i)).Problems)
		}
		c.set(func() { c.away, c.hang = nil, 0 })
		c.poll("7")
		wait(5*time.Second + betweenProbes + spread + time.Second) // the last probe hangs
		for i := range n {
			require.Equal(t, 7., c.reading(fmt.Sprint("o", i)).Metrics[0].Value)
		}
	})
}

// With 900 of 1,000 owners whose reads hang, the others keep their pace.
func TestIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		c := newCluster(t)
		c.start()
		defer c.stop()
		wait(time.Second)
		c.trackMany(n)
		c.answer("1")
		wait(10 * time.Second)
		bad := map[string]bool{}
		for _, s := range c.list(scaledObjects) {
			bad[s.GetName()] = metav1.GetControllerOf(&s).Name >= "o1" && metav1.GetControllerOf(&s).Name < "o90"
		}
		for range 5 {
			c.poll("2")
			good := c.keda
			c.set(func() {
				c.keda = func(name string) (string, error) {
					if bad[name] {
						time.Sleep(3 * time.Second) // the timeout of KEDA's metrics server
						return "", failing(500, "rpc error: code = DeadlineExceeded desc = context deadline exceeded")
					}
					return good(name)
				}
				c.decided = nil
			})
			wait(31 * time.Second)
			require.Empty(t, c.reader.Available())
		}
		healthy, decided := 0, 0
		for _, b := range bad {
			if !b {
				healthy++
			}
		}
		for _, key := range c.decided {
			if key.Name < "o1" || key.Name >= "o90" {
				decided++
			}
		}
		require.InDelta(t, 100, healthy, 30)
		require.Equal(t, healthy, decided)
	})
}

// A process that starts takes over the objects of the one before.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		c.track("orders")
		c.poll("12")
		c.buildAll(true)
		before := c.list(scaledObjects)[0].GetUID()
		c.stop()
		c.start()
		defer c.stop()
		c.track("orders")
		c.reader.Complete()
		wait(time.Minute)
		require.Equal(t, before, c.list(scaledObjects)[0].GetUID())
		_, found := c.reader.Take(keyOf("orders"))
		require.False(t, found, "it may have been decided on")
		c.poll("13")
		wait(30 * time.Second)
		require.Equal(t, 13., c.reading("orders").Metrics[0].Value)
	})
}

// Both objects go with the owner, or when he is no longer ours, also while no process ran.
func TestUntrack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		for _, name := range []string{"a", "b", "c"} {
			require.NoError(t, c.reader.Track(owner(name)))
		}
		wait(time.Second)
		c.reader.Complete()
		c.reader.Untrack("owner-a")
		wait(time.Second)
		require.Len(t, c.list(scaledObjects), 2)
		require.Len(t, c.list(readingTargets), 2)
		c.stop()

		c.start()
		defer c.stop()
		require.NoError(t, c.reader.Track(owner("c")))
		wait(time.Minute)
		require.Len(t, c.list(scaledObjects), 2, "others may be tracked later")
		c.reader.Complete()
		wait(time.Second)
		require.Len(t, c.list(scaledObjects), 1)
		require.Len(t, c.list(readingTargets), 1)
	})
}

// Without KEDA a terminating ScaledObject is freed after ten minutes; with it, never.
func TestFinalizer(t *testing.T) {
	for _, test := range []struct{ alive, polled bool }{{false, false}, {true, true}, {true, false}} {
		started(t, func(t *testing.T, c *cluster) {
			require.NoError(t, c.reader.Track(owner("a")))
			require.NoError(t, c.reader.Track(owner("b")))
			wait(time.Second)
			c.answer("1")
			for _, s := range c.list(scaledObjects) {
				if metav1.GetControllerOf(&s).Name == "a" {
					now := metav1.Now()
					s.SetDeletionTimestamp(&now)
				}
				s.SetFinalizers([]string{"another", finalizer})
				_, err := c.dynamic.Resource(scaledObjects).Namespace("shop").Update(context.Background(), &s, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			finalizers := func() (n int) {
				for _, s := range c.list(scaledObjects) {
					n += len(s.GetFinalizers())
				}
				return n
			}
			for i := range 13 {
				if require.True(t, i >= 10 || finalizers() == 4, "after %d minutes", i); test.polled {
					c.poll("1")
				} else if i == 0 && !test.alive {
					c.set(func() { c.away = failing(503, "no") })
				}
				wait(time.Minute)
			}
			require.Equal(t, map[bool]int{false: 3, true: 4}[test.alive], finalizers())
			for _, action := range c.dynamic.Actions() {
				if patch, ok := action.(kubetesting.PatchAction); ok {
					require.Regexp(t, `^\[{"op":"test","path":"/metadata/uid","value":"uid-\d"},{"op":"test","path":"/metadata/finalizers/1","value":"finalizer.keda.sh"},`, string(patch.GetPatch()))
				}
			}
		})
	}
}

// Without KEDA a number in a ConfigMap is read, and any other trigger says that KEDA is missing.
func TestConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"length": " 12 ", "bad": "x"}}}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		m.SetNamespace("shop")
		m.SetName("queue")
		c := newCluster(t, m)
		c.dynamic.PrependReactor("list", "scaledobjects", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, failing(404, "no") })
		c.start()
		defer c.stop()
		number := func(name, key string) manifest.ScaleTrigger {
			return manifest.ScaleTrigger{Type: "kubernetes-resource", Name: name, Metadata: map[string]string{
				"resourceKind": "ConfigMap", "resourceName": "queue", "key": key, "targetValue": "5", "activationTargetValue": "20",
			}}
		}
		require.NoError(t, c.reader.Track(owner("a", number("x", "length"))))
		require.NoError(t, c.reader.Track(owner("b", number("x", "bad"))))
		require.NoError(t, c.reader.Track(owner("c", number("x", "length"), manifest.ScaleTrigger{Type: "redis"})))
		wait(31 * time.Second)
		a := c.reading("a")
		require.NoError(t, a.Err())
		require.Equal(t, []scaling.Metric{{Name: "x", Value: 12, Target: 5, ActivationThreshold: 20}}, a.Metrics)
		require.Equal(t, []Problem{{"x", ConfigMapUnreadable}}, c.reading("b").Problems)
		both := c.reading("c")
		require.Equal(t, []Problem{{Reason: KEDAMissing}}, both.Problems)
		require.False(t, both.Metrics[0].Failed)
		require.True(t, both.Metrics[1].Failed)
	})
}

// A ClusterTriggerAuthentication reaches any host with an administrator's credentials.
func TestClusterAuthentication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.start(func(o *Options) { o.RefuseClusterAuthentication = true })
		defer c.stop()
		require.NoError(t, c.reader.Track(owner("a", manifest.ScaleTrigger{Type: "redis", AuthenticationRef: &manifest.AuthenticationRef{Name: "x", Kind: "ClusterTriggerAuthentication"}})))
		require.NoError(t, c.reader.Track(owner("b", manifest.ScaleTrigger{Type: "redis", AuthenticationRef: &manifest.AuthenticationRef{Name: "x"}})))
		wait(time.Second)
		require.Equal(t, []Problem{{Reason: ClusterAuthentication}}, c.reading("a").Problems)
		require.Len(t, c.list(scaledObjects), 1)
	})
}
