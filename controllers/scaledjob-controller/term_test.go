package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// A bench is a controller whose API server is a fake, in virtual time.
type bench struct {
	*testing.T
	*controller
	kube       *fake.Clientset
	dynamic    *dynamicfake.FakeDynamicClient
	leases     *fake.Clientset
	create     atomic.Int64                                 // the time that a create takes
	hangs      atomic.Pointer[func(verb, name string) bool] // of requests about Jobs; nil never
	stop       context.CancelFunc
	ended      chan error
	mayAcquire atomic.Bool

	mu      sync.Mutex
	log     bytes.Buffer
	patches []string // of statuses
	refuses error    // patches
}

// Write writes the log.
func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func (b *bench) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

func (b *bench) statuses() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.patches)
}

func (b *bench) last() string {
	all := b.statuses()
	return all[len(all)-1]
}

func (b *bench) refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses = err
}

// benched calls do with a bench whose cluster has the ScaledJobs.
func benched(t *testing.T, elect bool, do func(b *bench), scaledJobs ...runtime.Object) {
	t.Helper()
	benchedWith(t, elect, nil, do, scaledJobs...)
}

// benchedWith calls do with a bench of a controller with these flags.
func benchedWith(t *testing.T, elect bool, args []string, do func(b *bench), scaledJobs ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, kube: fake.NewClientset(), leases: fake.NewClientset(), ended: make(chan error, 1)}
		b.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{
				{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledjobs"}: "ScaledJobList", {Version: "v1", Resource: "configmaps"}: "ConfigMapList",
				{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}: "ScaledObjectList", {Group: "scaledjob.github.io", Version: "v1alpha1", Resource: "readingtargets"}: "ReadingTargetList",
				{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}: "HorizontalPodAutoscalerList",
			}, scaledJobs...)
		for _, resource := range []string{"scaledobjects", "readingtargets", "horizontalpodautoscalers"} { // there is no KEDA
			for _, verb := range []string{"list", "watch"} {
				b.dynamic.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, "")
				})
			}
		}
		b.dynamic.PrependReactor("patch", "scaledjobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.patches = append(b.patches, string(a.(clienttesting.PatchAction).GetPatch()))
			return true, nil, b.refuses
		})
		var mu sync.Mutex
		uid := 0
		b.kube.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			uid++
			a.(clienttesting.CreateAction).GetObject().(*batchv1.Job).UID = uidOf(uid)
			return false, nil, nil
		})
		b.mayAcquire.Store(true)
		b.leases.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !b.mayAcquire.Load(), nil, errors.New("no")
		})
		slow := slow{b.kube, b}
		o := newOptions()
		require.NoError(t, process.Parse(o, args, b))
		log := process.Log{}.To(b)
		lease := loop.Lease{Terms: requests.OneShot(), Namespace: "n", Name: name, Duration: o.LeaseDuration, Log: log}
		if elect {
			lease.Terms, lease.Client = &requests.Terms{}, b.leases.CoordinationV1()
		}
		var err error
		b.controller, err = newController(o, clients{process.Clients{Lease: lease, Clients: cluster.Clients{
			Clients: loop.Clients{Queue: requests.NewQueue(128), Requests: slow, Watches: b.kube}, Dynamic: b.dynamic, DynamicWatches: b.dynamic,
		}}, kedametrics.Clients{Requests: b.dynamic, Watches: b.dynamic}}, log)
		require.NoError(t, err)
		var ctx context.Context
		ctx, b.stop = context.WithCancel(t.Context())
		defer func() {
			b.stop()
			<-b.ended
			time.Sleep(time.Hour) // informers end
		}()
		go func() { b.ended <- b.run(ctx) }()
		do(b)
	})
}

// slow is a client whose creates of Jobs take a time, and some of whose requests about Jobs hang.
type slow struct {
	kubernetes.Interface
	b *bench
}

func (s slow) BatchV1() batchclient.BatchV1Interface {
	return slowBatch{s.Interface.BatchV1(), s.b}
}

type slowBatch struct {
	batchclient.BatchV1Interface
	b *bench
}

func (s slowBatch) Jobs(namespace string) batchclient.JobInterface {
	return slowJobs{s.BatchV1Interface.Jobs(namespace), s.b}
}

type slowJobs struct {
	batchclient.JobInterface
	b *bench
}

func (s slowJobs) wait(ctx context.Context, verb, name string, d time.Duration) error {
	if hangs := s.b.hangs.Load(); hangs != nil && (*hangs)(verb, name) {
		d = time.Hour
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (s slowJobs) Create(ctx context.Context, j *batchv1.Job, o metav1.CreateOptions) (*batchv1.Job, error) {
	if err := s.wait(ctx, "create", j.Name, time.Duration(s.b.create.Load())); err != nil {
		return nil, err
	}
	return s.JobInterface.Create(ctx, j, o)
}

func (s slowJobs) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := s.wait(ctx, "delete", name, 0); err != nil {
		return err
	}
	return s.JobInterface.Delete(ctx, name, o)
}

func uidOf(n int) types.UID { return types.UID("job-" + strconv.Itoa(n)) }

// object is a ScaledJob in the namespace mail, polled every 10 s, with a trigger that is
// read from a ConfigMap of its name.
func object(name, uid string, change func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"pollingInterval": int64(10),
		"jobTargetRef": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "example.com/c:1"}},
		}}},
		"triggers": []any{map[string]any{"type": "kubernetes-resource", "name": "a", "metadata": map[string]any{
			"resourceKind": "ConfigMap", "resourceName": name, "key": "length", "targetValue": "1",
		}}},
	}
	if change != nil {
		change(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
		"metadata": map[string]any{"namespace": "mail", "name": name, "uid": uid, "generation": int64(1)},
		"spec":     spec,
	}}
}

func limits(most int64) func(map[string]any) {
	return func(spec map[string]any) {
		spec["maxReplicaCount"], spec["rollout"] = most, map[string]any{"strategy": "gradual"}
	}
}

// invalid has a field that a container does not have.
func invalid(spec map[string]any) {
	template := spec["jobTargetRef"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	template["containers"].([]any)[0].(map[string]any)["imagePullPolice"] = "Always"
}

// holds sets the length of a queue.
func (b *bench) holds(name string, n int) {
	b.Helper()
	m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "mail", "name": name}, "data": map[string]any{"length": strconv.Itoa(n)}}}
	_ = b.dynamic.Tracker().Add(m)
	_, err := b.dynamic.Resource(configMaps).Namespace("mail").Update(b.Context(), m, metav1.UpdateOptions{})
	require.NoError(b, err)
}

// edits replaces a ScaledJob, by the next generation.
func (b *bench) edits(u *unstructured.Unstructured) {
	b.Helper()
	u.SetGeneration(u.GetGeneration() + 1)
	_, err := b.dynamic.Resource(scaledJobs).Namespace("mail").Update(b.Context(), u, metav1.UpdateOptions{})
	require.NoError(b, err)
}

func (b *bench) jobs() int { return len(b.jobsOf()) }

func (b *bench) jobsOf() []batchv1.Job {
	b.Helper()
	l, err := b.kube.BatchV1().Jobs("mail").List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	return l.Items
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// complete lets a Job succeed.
func (b *bench) complete(j batchv1.Job) {
	b.Helper()
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	_, err := b.kube.BatchV1().Jobs("mail").Update(b.Context(), &j, metav1.UpdateOptions{})
	require.NoError(b, err)
}

// conditions are those of the last status that was written.
func (b *bench) conditions() []metav1.Condition {
	var patch []struct{ Value json.RawMessage }
	require.NoError(b, json.Unmarshal([]byte(b.last()), &patch))
	var s status
	require.NoError(b, json.Unmarshal(patch[1].Value, &s))
	return s.Conditions
}

func (b *bench) hang(hangs func(verb, name string) bool) { b.hangs.Store(&hangs) }

// requests are those for anything but ConfigMaps, which are the queues, and KEDA, so far.
func (b *bench) requests() (n int) {
	for _, a := range append(b.kube.Actions(), b.dynamic.Actions()...) {
		if a.Matches("get", "configmaps") || a.Matches("list", "scaledobjects") || a.GetVerb() == "watch" || a.Matches("list", "readingtargets") || a.Matches("list", "horizontalpodautoscalers") {
			continue
		}
		n++
	}
	return n
}

// reads counts the polls of a ScaledJob by the reads of its queue.
func (b *bench) reads(name string) (n int) {
	for _, a := range b.dynamic.Actions() {
		if get, ok := a.(clienttesting.GetAction); ok && a.GetResource().Resource == "configmaps" && get.GetName() == name {
			n++
		}
	}
	return n
}

func (b *bench) events() (reasons []string) {
	l, err := b.kube.EventsV1().Events("mail").List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	for _, e := range l.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// scraped returns the metrics of ScaledJobs.
func (b *bench) scraped() string { return b.series(`scaledjob="`) }

// series returns our series with a text.
func (b *bench) series(text string) string {
	answer := httptest.NewRecorder()
	b.metrics().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	var ours strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "scaledjob_") && strings.Contains(line, text) {
			ours.WriteString(line)
		}
	}
	return ours.String()
}

// A ScaledJob that takes long to read is not read.
func TestLongManifest(t *testing.T) {
	u := object("consumer", "1", limits(1))
	require.NoError(t, unstructured.SetNestedField(u.Object, strings.Repeat("a", longestManifest), "spec", "jobTargetRef", "long"))
	s, err := store(u)
	require.NoError(t, err)
	_, err = s.(*stored).read()
	require.ErrorContains(t, err, "use at most 262144")
}

// The events of a ScaledJob have valid names, however long its own is.
func TestEventNames(t *testing.T) {
	for _, about := range []string{"a", strings.Repeat("a", 253), strings.Repeat("a", 235) + "." + strings.Repeat("b", 17)} {
		is := eventName(about)
		require.Empty(t, validation.IsDNS1123Subdomain(is), is)
		require.NotEqual(t, is, eventName(about))
	}
}

// An edit or a deletion stops the plan that is being carried out, within a batch. An edit is no
// failure, and the next reading is decided on.
func TestChangeWhileApplying(t *testing.T) {
	u := object("consumer", "1", limits(1000))
	edit := func(change func(map[string]any)) func(b *bench) {
		return func(b *bench) {
			edited := u.DeepCopy()
			change(edited.Object["spec"].(map[string]any))
			b.edits(edited)
		}
	}
	for name, c := range map[string]struct {
		change func(b *bench)
		check  func(b *bench)
	}{
		"edited": {edit(limits(20)), func(b *bench) {
			require.NotContains(b, b.scraped(), "errors_total")
			require.Contains(b, b.scraped(), `jobs_created_total{namespace="mail",scaledjob="consumer"} 31`)
		}},
		"invalid": {edit(invalid), func(b *bench) { require.Contains(b, b.last(), "ScaledJobCheckFailed") }},
		"deleted": {func(b *bench) {
			require.NoError(b, b.dynamic.Resource(scaledJobs).Namespace("mail").Delete(b.Context(), "consumer", metav1.DeleteOptions{}))
		}, func(b *bench) {
			require.Empty(b, b.statuses())
			require.Empty(b, b.scraped())
			reads := b.reads("consumer")
			time.Sleep(time.Minute)
			require.Equal(b, reads, b.reads("consumer"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, false, func(b *bench) {
				b.holds("consumer", 1000)
				b.create.Store(int64(time.Second))
				time.Sleep(4500 * time.Millisecond) // batches of 1, 2, 4 and 8 Jobs; one of 16 is under way
				require.Equal(b, 15, b.jobs())
				c.change(b)
				time.Sleep(time.Second)
				require.Equal(b, 31, b.jobs(), "the batch that was under way")
				c.check(b)
				time.Sleep(time.Minute)
				require.Equal(b, 31, b.jobs())
				require.NotContains(b, b.events(), "JobCreateFailed")
				require.NotContains(b, b.said(), "failed")
			}, u.DeepCopy())
		})
	}
}

// A controller that cannot renew its lease stops in the middle of a plan, before the
// lease has expired, and goes on when it has the lease again. No Job is created twice.
func TestLostLease(t *testing.T) {
	benched(t, true, func(b *bench) {
		b.holds("consumer", 1000)
		b.create.Store(int64(2 * time.Second))
		time.Sleep(3 * time.Second)
		b.mayAcquire.Store(false)
		time.Sleep(15 * time.Second)
		stopped := b.jobs()
		require.Less(b, stopped, 200)
		require.Greater(b, stopped, 6)
		time.Sleep(5 * time.Minute)
		require.Equal(b, stopped, b.jobs())
		require.Empty(b, b.scraped(), "the term has ended")
		require.Contains(b, b.said(), "the lease is lost")
		require.NotContains(b, b.events(), "JobCreateFailed")
		b.mayAcquire.Store(true)
		time.Sleep(2 * time.Minute)
		require.Equal(b, 300, b.jobs())
		require.Equal(b, 2, strings.Count(b.said(), "msg=acting"))
	}, object("consumer", "1", limits(300)))
}

// Half of the creates that hang, a delete that hangs and a trigger that cannot be read are each told by a condition of
// their own: since when, and how many. Ready is False for each of them, and names all.
func TestConditionsOfHangs(t *testing.T) {
	for name, c := range map[string]struct {
		hangs                   string
		unread                  bool
		created, deleted, reads string
		ready                   string
	}{
		"creates":           {"create", false, "False CreatesUnanswered 2 creates were not answered and take capacity", "True Succeeding", "True Succeeding", "False CreatesUnanswered"},
		"creates, triggers": {"create", true, "False CreatesUnanswered 1 create", "True Succeeding", "False TriggerError 1 of 1 triggers could not be read", "False CreatesUnanswered 1 create was not answered and takes capacity; the creates of 2 numbers failed; the lowest is tried again\n1 of 1 triggers"},
		"a delete":          {"delete", false, "True Succeeding", "False DeletesPaused the last delete was not answered", "True Succeeding", "False DeletesPaused"},
		"deletes, triggers": {"delete", true, "True Succeeding", "False DeletesPaused the last delete was not answered", "False TriggerError 1 of 1 triggers could not be read", "False DeletesPaused"},
		"nothing":           {"", false, "True Succeeding", "True Succeeding", "True Succeeding", "True ScaledJobReady"},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, true, func(b *bench) {
				b.holds("consumer", 2)
				time.Sleep(time.Minute)
				var mu sync.Mutex
				names := map[string]int{}
				b.hang(func(verb, name string) bool {
					mu.Lock()
					defer mu.Unlock()
					if verb == "create" {
						names[name] = cmp.Or(names[name], len(names)+1)
					}
					return verb == c.hangs && (verb == "delete" || names[name]%2 == 1)
				})
				if c.hangs == "delete" {
					b.complete(b.jobsOf()[0])
				}
				b.holds("consumer", 6)
				time.Sleep(25 * time.Second)
				if c.unread {
					require.NoError(b, b.dynamic.Resource(configMaps).Namespace("mail").Delete(b.Context(), "consumer", metav1.DeleteOptions{}))
				}
				time.Sleep(65 * time.Second)
				first := b.conditions()
				for kind, want := range map[string]string{"JobsCreated": c.created, "JobsDeleted": c.deleted, "TriggersRead": c.reads, "Ready": c.ready} {
					got := meta.FindStatusCondition(first, kind)
					require.True(b, strings.HasPrefix(string(got.Status)+" "+got.Reason+" "+got.Message, want), "%s: %s", kind, got)
				}
				time.Sleep(5 * time.Minute)
				for _, got := range b.conditions() {
					before := meta.FindStatusCondition(first, got.Type)
					require.Equal(b, before.Status, got.Status, got.Type)
					require.Equal(b, before.LastTransitionTime, got.LastTransitionTime, "%s: since it began", got.Type)
				}
			}, object("consumer", "1", func(spec map[string]any) { spec["successfulJobsHistoryLimit"] = int64(0) }))
		})
	}
}

// A poll that changes nothing makes no request, although its queue is not empty.
func TestAtRest(t *testing.T) {
	benched(t, false, func(b *bench) {
		b.holds("consumer", 3)
		time.Sleep(25 * time.Second)
		require.Equal(b, 3, b.jobs())
		before, reads := b.requests(), b.reads("consumer")
		time.Sleep(time.Hour)
		require.Equal(b, before, b.requests())
		require.InDelta(b, reads+360, b.reads("consumer"), 1)
	}, object("consumer", "1", nil))
}

// What cannot be read has no polling interval, and is not polled without a pause.
func TestInvalidWaits(t *testing.T) {
	benched(t, false, func(b *bench) {
		time.Sleep(29 * time.Second)
		const count = `scaledjob_errors_total{namespace="mail",operation="spec",scaledjob="consumer"} `
		require.Contains(b, b.scraped(), count+"1\n")
		require.Contains(b, b.said(), "imagePullPolice")
		time.Sleep(30 * time.Second)
		require.Contains(b, b.scraped(), count+"2\n")
		require.Len(b, b.statuses(), 1)
		require.Contains(b, b.statuses()[0], "ScaledJobCheckFailed")
		b.holds("consumer", 2)
		b.edits(object("consumer", "1", nil))
		time.Sleep(time.Second)
		require.Equal(b, 2, b.jobs(), "polled at once")
	}, object("consumer", "1", invalid))
}

// What is not read any more has no value, and what is gone none at all. A ScaledJob that
// is made anew begins its own series.
func TestSeries(t *testing.T) {
	u := object("consumer", "1", func(spec map[string]any) {
		limits(5)(spec)
		second := map[string]any{"type": "kubernetes-resource", "name": "b", "metadata": map[string]any{
			"resourceKind": "ConfigMap", "resourceName": "b", "key": "length", "targetValue": "1",
		}}
		spec["triggers"] = append(spec["triggers"].([]any), second)
	})
	benched(t, false, func(b *bench) {
		require.Empty(b, b.scraped())
		b.holds("consumer", 5)
		b.holds("b", 7)
		time.Sleep(20 * time.Second)
		require.Contains(b, b.scraped(), `scaledjob_queue_length{namespace="mail",scaledjob="consumer",trigger="a"} 5`)
		require.Contains(b, b.scraped(), `scaledjob_queue_length{namespace="mail",scaledjob="consumer",trigger="b"} 7`)
		require.Contains(b, b.scraped(), `scaledjob_jobs{namespace="mail",scaledjob="consumer",state="pending"} 5`)
		require.NoError(b, b.dynamic.Resource(configMaps).Namespace("mail").Delete(b.Context(), "b", metav1.DeleteOptions{}))
		time.Sleep(20 * time.Second)
		require.NotContains(b, b.scraped(), `trigger="b"`)
		require.Contains(b, b.scraped(), `errors_total{namespace="mail",operation="triggers",scaledjob="consumer"} 2`)
		failing := b.series("failing_since_timestamp_seconds")
		require.Contains(b, failing, `operation="triggers"`)
		time.Sleep(20 * time.Second)
		require.Equal(b, failing, b.series("failing_since_timestamp_seconds"), "it is the same failure")
		b.holds("b", 7)
		time.Sleep(20 * time.Second)
		require.Empty(b, b.series("failing_since_timestamp_seconds"))
		b.edits(object("consumer", "2", nil))
		time.Sleep(time.Second)
		require.Contains(b, b.scraped(), `scaledjob_jobs_max{namespace="mail",scaledjob="consumer"} 100`)
		require.NotContains(b, b.scraped(), `errors_total`)
		b.edits(object("consumer", "2", invalid))
		time.Sleep(time.Second)
		require.NotContains(b, b.scraped(), "queue_length")
		require.NotContains(b, b.scraped(), "scaledjob_jobs{")
		deleting := object("consumer", "2", nil)
		deleting.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		b.edits(deleting)
		time.Sleep(time.Second)
		require.Empty(b, b.scraped())
	}, u)
}

// A status that the API server refuses is told, and written again with the next poll; one
// of a ScaledJob that is gone is not.
func TestStatusRefused(t *testing.T) {
	gone := schema.GroupResource{Group: "keda.sh", Resource: "scaledjobs"}
	wrong := field.ErrorList{field.Invalid(field.NewPath("status"), "", "wrong")}
	for name, c := range map[string]struct {
		err  error
		told bool
	}{
		"gone":     {apierrors.NewNotFound(gone, "consumer"), false},
		"replaced": {apierrors.NewGenericServerResponse(422, "", gone, "consumer", "test failed", 0, false), false},
		"refused":  {apierrors.NewInvalid(schema.GroupKind{Group: "keda.sh", Kind: "ScaledJob"}, "consumer", wrong), true},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, false, func(b *bench) {
				b.refuse(c.err)
				b.holds("consumer", 0)
				time.Sleep(35 * time.Second)
				require.Equal(b, c.told, strings.Contains(b.scraped(), `operation="status"`), b.scraped())
				require.Equal(b, c.told, strings.Contains(b.said(), "status not written"))
				if !c.told {
					require.Len(b, b.statuses(), 1)
					return
				}
				require.Greater(b, len(b.statuses()), 2)
				b.refuse(nil)
				time.Sleep(15 * time.Second)
				written := len(b.statuses())
				time.Sleep(time.Minute)
				require.Len(b, b.statuses(), written)
				require.Empty(b, b.series("failing_since_timestamp_seconds"))
			}, object("consumer", "1", nil))
		})
	}
}

// A status that the API server has is neither written nor told again after a restart.
func TestRestart(t *testing.T) {
	var first string
	u := object("consumer", "1", nil)
	benched(t, false, func(b *bench) {
		b.holds("consumer", 3)
		time.Sleep(15 * time.Second)
		require.Len(b, b.statuses(), 1)
		first = b.statuses()[0]
		require.Contains(b, first, `{"op":"test","path":"/metadata/uid","value":"1"}`, "not of another that has taken its name")
	}, u.DeepCopy())
	_, value, found := strings.Cut(first, `"value":{`)
	require.True(t, found, first)
	var status map[string]any
	require.NoError(t, json.Unmarshal([]byte("{"+strings.TrimSuffix(value, "}]")), &status), value)
	u.Object["status"] = status
	benched(t, false, func(b *bench) {
		b.holds("consumer", 0)
		time.Sleep(15 * time.Second)
		require.Len(b, b.statuses(), 1, "not active any more")
		require.Equal(b, []string{"ScaledJobInactive"}, b.events())
	}, u)
}

// The informer keeps what users write and no more, and changes nothing of what it got.
func TestStore(t *testing.T) {
	u := object("consumer", "1", nil)
	u.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1000), "a": "b"})
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	u.SetResourceVersion("7")
	u.Object["status"] = map[string]any{"triggersTypes": "a"}
	before := u.DeepCopy()
	object, err := store(u)
	require.NoError(t, err)
	require.Equal(t, before, u)
	s := object.(*stored)
	require.Equal(t, "7", s.ResourceVersion)
	require.Equal(t, `{"triggersTypes":"a"}`, string(s.status))
	require.NotContains(t, string(s.manifest), "xxx")
	again, err := store(s)
	require.NoError(t, err)
	require.Same(t, s, again)
	job, err := s.read()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, job.Annotations)
	require.EqualValues(t, "1", job.UID)

	change := func(change func(u *unstructured.Unstructured)) *stored {
		u := before.DeepCopy()
		change(u)
		object, err := store(u)
		require.NoError(t, err)
		return object.(*stored)
	}
	require.True(t, s.equals(change(func(u *unstructured.Unstructured) { u.SetResourceVersion("8"); u.SetManagedFields(nil) })))
	require.True(t, s.equals(change(func(u *unstructured.Unstructured) { delete(u.Object, "status") })))
	require.False(t, s.equals(change(func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"a": "c"}) })))
}

// Everything stops when the process is told to, in the middle of a burst: it ends the requests under way,
// and reports what they did. The next process goes on, and creates no Job twice.
func TestStopAndGoOn(t *testing.T) {
	benched(t, true, func(b *bench) {
		b.holds("consumer", 1000)
		b.create.Store(int64(time.Second))
		time.Sleep(4500 * time.Millisecond)
		b.stop()
		begin := time.Now()
		require.NoError(b, <-b.ended)
		require.Less(b, time.Since(begin), 2*time.Second)
		require.Len(b, b.statuses(), 1)
		require.Contains(b, b.statuses()[0], "ScaledJobReady")
		require.Contains(b, b.events(), "JobsCreated")
		require.Contains(b, b.said(), "msg=stopped")
		stopped := b.jobs()
		require.Greater(b, stopped, 6)
		require.Less(b, stopped, 100)
		time.Sleep(10 * time.Minute)
		require.Equal(b, stopped, b.jobs())
		next, err := newController(b.options, b.controller.clients, b.controller.log)
		require.NoError(b, err)
		ctx, stop := context.WithCancel(b.Context())
		b.stop = stop
		go func() { b.ended <- next.run(ctx) }()
		time.Sleep(2 * time.Minute)
		require.Equal(b, 300, b.jobs())
	}, object("consumer", "1", limits(300)))
}
