package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	kube "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/scale"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/controllers/internal/poll"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/scaling"
)

// A workload is a Deployment on a member; all of its replicas are ready.
type workload struct {
	scale.ScaleInterface
	replicas int32
	writes   int
	written  []string // namespace/name
	there    string   // the namespace of the last request
	away     error
}

func (w *workload) Scales(namespace string) scale.ScaleInterface { w.there = namespace; return w }

func (w *workload) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: w.replicas}, Status: autoscalingv1.ScaleStatus{Replicas: w.replicas}}, w.away
}

func (w *workload) Patch(_ context.Context, _ schema.GroupVersionResource, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	var patch autoscalingv1.Scale
	if err := json.Unmarshal(data, &patch); err != nil || w.away != nil {
		return nil, errors.Join(err, w.away)
	}
	w.replicas = patch.Spec.Replicas
	w.writes++
	w.written = append(w.written, w.there+"/"+name)
	return &patch, nil
}

// Values are read from triggers, by name, for a target of 1. A trigger without a value
// fails. The formula is the sum.
type values struct {
	of    map[string]float64
	reads map[string]int
	owner triggers.Owner
}

func (v *values) Read(_ context.Context, o triggers.Owner) (all []scaling.Metric, err error) {
	v.owner = o
	for i, name := range manifest.TriggerNames(o.Triggers) {
		if o.Skip[i] {
			continue
		}
		v.reads[name]++
		x, ok := v.of[name]
		if !ok {
			err = errors.New("no value")
		}
		all = append(all, scaling.Metric{Name: name, Value: x, Target: 1, Failed: !ok})
	}
	return all, err
}

func (v *values) Formula(_ context.Context, _ triggers.Owner, text string, values map[string]*float64) (*float64, error) {
	sum := 0.
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text = strings.ReplaceAll(text, name, fmt.Sprint(*values[name]))
		sum += *values[name]
	}
	if strings.Contains(text, "loop") {
		return nil, errors.New("the formula did not end in time")
	}
	return &sum, nil
}

func (v *values) Forget(types.UID) {}

// A scene is the poller of a DistributedScaledObject with members a and b.
type scene struct {
	*object
	home *fake.FakeDynamicClient
	on   map[string]*workload
	*values
	kind *kind
}

// newScene runs test in a bubble of time. spec is in scaledObjectSpec.
func newScene(t *testing.T, annotations, spec string, test func(*testing.T, *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: web, namespace: shop, uid: u1, finalizers: [`+finalizerObject+`], annotations: {`+annotations+`}, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  scaledObjectSpec:
    scaleTargetRef: {name: web, envSourceContainerName: main}
`+spec), &u.Object))
		u.SetGeneration(7)
		template := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}}}
		container := map[string]any{"name": "main", "env": []any{map[string]any{"name": "HOST", "value": "redis"}}}
		require.NoError(t, unstructured.SetNestedSlice(template.Object, []any{container}, "spec", "template", "spec", "containers"))
		f := &scene{home: fake.NewSimpleDynamicClient(runtime.NewScheme(), u, template), on: map[string]*workload{}, values: &values{of: map[string]float64{}, reads: map[string]int{}}}
		log := slog.New(slog.DiscardHandler)
		c := &controller{options: newOptions(), log: log, home: "home", reader: f.values, recorder: events.NewFakeRecorder(1000)}
		c.syncPeriod, c.dynamic = 15*time.Second, f.home
		c.members = &members{controller: c}
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
		mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
		for _, name := range []string{"a", "b"} {
			f.on[name] = &workload{}
			client := kube.NewClientset()
			m, err := member.New(name, member.Clients{Requests: client, Watches: client, Scales: f.on[name], Mapper: mapper}, member.Options{Home: "home", Terms: term.Alone()})
			require.NoError(t, err)
			require.NoError(t, c.members.Add(t.Context(), m))
		}
		synctest.Wait()
		f.kind = &kind{controller: c, resource: api.Objects}
		f.restart(t)
		test(t, f)
		c.members.Remove("a")
		c.members.Remove("b")
	})
}

// restart starts a poller with what is stored.
func (f *scene) restart(t *testing.T) {
	t.Helper()
	u, err := f.home.Resource(api.Objects).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	p := &poller{kind: f.kind, uid: "u1", seen: u, log: f.kind.log, problems: poll.Warnings{Log: f.kind.log}, causes: causes{}}
	f.object = newObject(p).(*object)
	f.object.read()
	require.NoError(t, f.invalid)
}

// after polls for a time, whenever the poller wants to, and returns all replicas.
func (f *scene) after(t *testing.T, d time.Duration) int {
	end := time.Now().Add(d)
	for {
		next := f.poll(t.Context())
		if next.After(end) {
			time.Sleep(time.Until(end))
			return int(f.on["a"].replicas + f.on["b"].replicas)
		}
		time.Sleep(max(time.Until(next), time.Millisecond))
	}
}

func (f *scene) condition(kind string) string {
	c := meta.FindStatusCondition(f.status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

const oneQueue = `    triggers: [{type: redis, name: queue}]
`

// The number of all members follows the steps of KEDA and the HPA, and is shared.
func TestObjectSteps(t *testing.T) {
	newScene(t, "", oneQueue, func(t *testing.T, f *scene) {
		f.of["queue"] = 20
		require.Equal(t, 1, f.after(t, time.Second), "activated")
		require.Equal(t, "activated", f.status.Scaling.Rule)
		var counts []int
		for range 4 {
			counts = append(counts, f.after(t, 15*time.Second))
		}
		require.Equal(t, []int{4, 8, 16, 20}, counts, "twice, or 4, every 15 seconds")
		require.EqualValues(t, 10, f.on["a"].replicas)
		require.Equal(t, []string{"True ReadyForNewScale", "True ValidMetricFound", "False DesiredWithinRange", "False NoFallbackFound", "True KEDAScalerActive"},
			[]string{f.condition("AbleToScale"), f.condition("ScalingActive"), f.condition("ScalingLimited"), f.condition("Fallback"), strings.Replace(f.condition("Active"), " ", " KEDA", 1)})
		require.Equal(t, []horizontal.Proposal{{Metric: "queue", Replicas: 20}}, f.status.Scaling.Proposals)
		f.of["queue"] = 10
		require.Equal(t, 20, f.after(t, 299*time.Second), "the window")
		require.Equal(t, "ScaleDownStabilized", f.status.Scaling.Limit)
		f.restart(t)
		require.Equal(t, 20, f.after(t, time.Second), "not forgotten, not delayed by much")
		require.Equal(t, 10, f.after(t, time.Minute))
	})
}

// A demand that alternates between 20 and 0 writes as often as the autoscaler alone.
func TestObjectAlternates(t *testing.T) {
	spec := oneQueue + `    minReplicaCount: 1
    advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}}
`
	newScene(t, "", spec, func(t *testing.T, f *scene) {
		p := horizontal.DefaultPolicy(100)
		behavior := horizontal.DefaultBehavior()
		behavior.Down.Window = time.Minute
		p.Behavior = &behavior
		var state horizontal.State
		replicas, want, writes, last := int32(0), 0, 0, int32(0)
		for i := range 240 {
			f.of["queue"] = float64(20 * (i / 7 % 2))
			f.after(t, 15*time.Second)
			if now := *f.status.Scaling.DesiredReplicas; now != last {
				writes, last = writes+1, now
			}
			if i == 0 {
				replicas, want = 1, 1 // KEDA's own step
				continue
			}
			d := horizontal.Decide(p, state, horizontal.Observation{Now: time.Now(), Replicas: replicas, StatusReplicas: replicas,
				Metrics: []horizontal.Metric{{Target: horizontal.AverageValue, Amount: 1000, Values: []int64{int64(f.of["queue"] * 1000)}}}})
			state.Record(p, d)
			if d.Replicas != replicas {
				state.Wrote(p, d)
				replicas, want = d.Replicas, want+1
			}
		}
		require.Equal(t, want, writes)
		require.Less(t, writes, 100)
		require.Greater(t, writes, 10)
	})
}

func TestObjectCooldown(t *testing.T) {
	newScene(t, "", oneQueue+"    cooldownPeriod: 60\n", func(t *testing.T, f *scene) {
		f.of["queue"] = 3
		require.Equal(t, 3, f.after(t, 31*time.Second))
		f.of["queue"] = 0
		require.Equal(t, 3, f.after(t, 20*time.Second))
		f.restart(t)
		require.Equal(t, 3, f.after(t, 25*time.Second), "since the last activity, also after a restart")
		require.Zero(t, f.after(t, 2*time.Minute))
		require.Equal(t, "deactivated", strings.Replace(f.status.Scaling.Rule, "disabled", "deactivated", 1))
		require.Equal(t, "False ScalingDisabled", f.condition("ScalingActive"))
	})
}

// An idle count, which is below the minimum.
func TestObjectIdle(t *testing.T) {
	newScene(t, "", oneQueue+"    minReplicaCount: 4\n    idleReplicaCount: 2\n    cooldownPeriod: 30\n", func(t *testing.T, f *scene) {
		f.of["queue"] = 1
		require.Equal(t, 4, f.after(t, time.Minute))
		f.of["queue"] = 0
		require.Equal(t, 2, f.after(t, 2*time.Minute))
		require.Equal(t, "idle", f.status.Scaling.Rule)
		f.of["queue"] = 1
		require.Equal(t, 4, f.after(t, 31*time.Second))
	})
}

func TestObjectFallback(t *testing.T) {
	newScene(t, "", oneQueue+"    fallback: {failureThreshold: 2, replicas: 6}\n", func(t *testing.T, f *scene) {
		f.of["queue"] = 3
		require.Equal(t, 3, f.after(t, 31*time.Second))
		delete(f.of, "queue")
		require.Equal(t, 3, f.after(t, 35*time.Second), "two failures")
		require.Equal(t, "False TriggerError", f.condition("Ready"))
		require.Equal(t, 6, f.after(t, 15*time.Second), "reads by the autoscaler count")
		require.Equal(t, "True FallbackExists", f.condition("Fallback"))
	})
}

// Triggers with useCachedMetrics are read each polling interval only. Others are read for
// each decision as well. All get the environment of the hub's workload.
func TestObjectReads(t *testing.T) {
	newScene(t, "", "    pollingInterval: 60\n    minReplicaCount: 1\n    triggers: [{type: redis, name: cached, useCachedMetrics: true}, {type: redis, name: plain}]\n", func(t *testing.T, f *scene) {
		f.of["cached"], f.of["plain"] = 1, 1
		f.after(t, 119*time.Second)
		require.Equal(t, map[string]int{"cached": 2, "plain": 8}, f.reads)
		require.Equal(t, "main", f.values.owner.Container)
		require.Zero(t, f.values.owner.Generation, "the workload is edited without the object")
		require.Equal(t, []corev1.EnvVar{{Name: "HOST", Value: "redis"}}, f.values.owner.Pod.Containers[0].Env)
		delete(f.of, "cached")
		f.after(t, 20*time.Second)
		require.Equal(t, "Unknown PartialTriggerError", f.condition("Ready"))
		f.after(t, 15*time.Second)
		require.Equal(t, "Unknown PartialTriggerError", f.condition("Ready"), "it has not been read again")
	})
}

// Both kinds tell the reader of triggers their generation, so that it compares no fields.
func TestOwnerHasGeneration(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGeneration(7)
	p := &poller{seen: u}
	require.EqualValues(t, 7, p.ownerOf(nil).Generation)
}

func TestObjectFormula(t *testing.T) {
	spec := "    advanced: {scalingModifiers: {formula: %s, target: '2'}}\n    triggers: [{type: redis, name: one}, {type: redis, name: two}]\n"
	newScene(t, "", fmt.Sprintf(spec, "one + two"), func(t *testing.T, f *scene) {
		f.of["one"], f.of["two"] = 3, 5
		require.Equal(t, 4, f.after(t, time.Minute))
		require.Equal(t, []horizontal.Proposal{{Metric: "composite-metric", Replicas: 4}}, f.status.Scaling.Proposals)
	})
	newScene(t, "", fmt.Sprintf(spec, "loop"), func(t *testing.T, f *scene) {
		f.of["one"], f.of["two"] = 3, 5
		f.on["a"].replicas = 2
		require.Equal(t, 2, f.after(t, time.Minute), "a formula that fails is unreadable")
		require.Equal(t, "the formula did not end in time", f.status.Scaling.Proposals[0].Unreadable)
	})
}

// Value compares with the ready pods of all members.
func TestObjectValue(t *testing.T) {
	newScene(t, "", "    minReplicaCount: 1\n    triggers: [{type: redis, name: load, metricType: Value}]\n", func(t *testing.T, f *scene) {
		f.on["a"].replicas, f.on["b"].replicas = 2, 2
		f.of["load"] = 1.5
		require.Equal(t, 6, f.after(t, time.Second), "1.5 times 4")
	})
}

// A member that does not answer holds the replicas that it had, and they count.
func TestObjectMemberAway(t *testing.T) {
	newScene(t, "", oneQueue, func(t *testing.T, f *scene) {
		f.of["queue"] = 4
		require.Equal(t, 4, f.after(t, time.Minute))
		f.on["b"].away = errors.New("no answer")
		f.of["queue"] = 6
		f.after(t, 30*time.Second)
		require.EqualValues(t, 6, *f.status.Scaling.DesiredReplicas)
		require.EqualValues(t, 2, f.on["b"].replicas)
		require.LessOrEqual(t, f.on["a"].replicas, int32(4))
	})
}

// The original counts are written when the object is deleted; a member that does not
// answer is waited for, which an event says; one without the workload or its kind is not.
func TestObjectRestores(t *testing.T) {
	for _, missing := range []error{apierrors.NewNotFound(schema.GroupResource{}, "web"), &meta.NoKindMatchError{}} {
		testObjectRestores(t, missing)
	}
}

func testObjectRestores(t *testing.T, missing error) {
	newScene(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n", func(t *testing.T, f *scene) {
		f.on["a"].replicas, f.on["b"].replicas = 3, 1
		f.of["queue"] = 8
		require.Equal(t, 8, f.after(t, time.Minute))
		f.seen.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		f.on["b"].away = errors.New("no answer")
		f.poll(t.Context())
		require.EqualValues(t, 3, f.on["a"].replicas)
		f.poll(t.Context())
		require.NotEmpty(t, f.finalizers(t))
		require.Regexp(t, "(?s)^Warning CleanupWaits member b: .*no answer\nTo leave its replicas as they are, name the member in the annotation "+annotationAbandon+"$", strings.Join(f.events("CleanupWaits"), "|"), "once")
		f.on["b"].away = missing
		f.poll(t.Context())
		require.Empty(t, f.finalizers(t))
	})
}

// events returns the events of the reason that have not been returned.
func (f *scene) events(reason string) (all []string) {
	for told := f.kind.recorder.(*events.FakeRecorder).Events; len(told) > 0; {
		if e := <-told; strings.Contains(e, reason) {
			all = append(all, e)
		}
	}
	return all
}

func (f *scene) finalizers(t *testing.T) []string {
	t.Helper()
	u, err := f.home.Resource(api.Objects).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return u.GetFinalizers()
}

// Nothing is scaled in a namespace of others, such as kube-system, unless the member's registration
// allows it.
func TestObjectTargetNamespace(t *testing.T) {
	newScene(t, "", oneQueue+"  memberClusters: [{name: a, targetNamespace: kube-system}]\n", func(t *testing.T, f *scene) {
		f.of["queue"] = 8
		for _, allow := range []registry.Allowance{{}, {From: "team-b", To: "kube-system"}, {From: "shop", To: "mail"}} {
			f.kind.members.registrations = map[string]registry.Registration{"a": {Allow: []registry.Allowance{allow}}}
			f.after(t, time.Minute)
			require.Empty(t, f.on["a"].written)
			require.Contains(t, meta.FindStatusCondition(f.status.Conditions, "Ready").Message, `targetNamespace: found "kube-system"`)
		}
		f.kind.members.registrations["a"] = registry.Registration{Allow: []registry.Allowance{{From: "shop", To: "kube-system"}}}
		require.Equal(t, 8, f.after(t, time.Minute))
		require.Contains(t, f.on["a"].written, "kube-system/web")
	})
}

// Nothing is restored to a workload that has not been scaled, or may not be. The object goes.
func TestObjectRestoresItsOwnWorkloads(t *testing.T) {
	elsewhere := func(u *unstructured.Unstructured) {
		must(unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "a", "targetNamespace": "bank"}}, "spec", "memberClusters"))
	}
	for name, test := range map[string]struct {
		edit  func(*unstructured.Unstructured)
		allow string
		want  []string
		was   *original // in the status, which a tenant may edit
	}{
		"the same":           {edit: func(*unstructured.Unstructured) {}, want: []string{"shop/web"}},
		"a status of others": {edit: func(*unstructured.Unstructured) {}, was: &original{Kind: "Deployment.apps", Namespace: "kube-system", Name: "coredns"}},
		"a status of a kind": {edit: func(*unstructured.Unstructured) {}, was: &original{Kind: "StatefulSet.apps", Namespace: "shop", Name: "web"}},
		"invalid": {edit: func(u *unstructured.Unstructured) {
			must(unstructured.SetNestedField(u.Object, int64(-1), "spec", "scaledObjectSpec", "maxReplicaCount"))
		}},
		"another workload": {edit: func(u *unstructured.Unstructured) {
			must(unstructured.SetNestedField(u.Object, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name"))
		}},
		"a namespace of others":       {edit: elsewhere},
		"a namespace that is allowed": {edit: elsewhere, allow: "bank"},
	} {
		newScene(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n  memberClusters: [{name: a}]\n", func(t *testing.T, f *scene) {
			f.on["a"].replicas = 3
			f.of["queue"] = 8
			require.Equal(t, 8, f.after(t, time.Minute), name)
			f.kind.members.registrations = map[string]registry.Registration{"a": {Allow: []registry.Allowance{{From: "shop", To: test.allow}}}}
			f.on["a"].written = nil
			test.edit(f.seen)
			if test.was != nil {
				f.status.Original["a"] = *test.was
			}
			f.seen.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			f.object.read()
			f.poll(t.Context())
			require.Equal(t, test.want, f.on["a"].written, name)
			require.Empty(t, f.finalizers(t), name)
		})
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A count belongs to a workload: another workload has its own, also if it is scaled before the deletion.
func TestObjectRemembersTheWorkload(t *testing.T) {
	newScene(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n", func(t *testing.T, f *scene) {
		f.on["a"].replicas, f.of["queue"] = 3, 8
		require.Equal(t, 8, f.after(t, time.Minute))
		require.EqualValues(t, 3, f.status.Original["a"].Replicas)
		must(unstructured.SetNestedField(f.seen.Object, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name"))
		f.object.read()
		f.on["a"].replicas, f.on["b"].replicas = 1, 2
		f.status.Original["gone"] = original{Replicas: 1}
		require.Equal(t, 8, f.after(t, time.Minute))
		require.Len(t, f.status.Original, 2, "not of members that are gone")
		f.restart(t)
		f.seen.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		must(unstructured.SetNestedField(f.seen.Object, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name"))
		f.object.read()
		f.poll(t.Context())
		require.EqualValues(t, 1, f.on["a"].replicas)
	})
}

// Annotations pause, in both directions or one, and activate.
func TestObjectAnnotations(t *testing.T) {
	for annotations, want := range map[string][3]int{
		`autoscaling.keda.sh/paused: "true"`:           {0, 0, 0},
		`autoscaling.keda.sh/paused-replicas: "3"`:     {3, 3, 3},
		`autoscaling.keda.sh/paused-scale-in: "true"`:  {5, 8, 8}, // by 4 or 100 percent, as with a behavior
		`autoscaling.keda.sh/paused-scale-out: "true"`: {0, 0, 0},
		`autoscaling.keda.sh/force-activation: "true"`: {4, 8, 1},
	} {
		newScene(t, annotations, oneQueue+"    cooldownPeriod: 1\n", func(t *testing.T, f *scene) {
			f.of["queue"] = 8
			got := [3]int{f.after(t, 16*time.Second), f.after(t, time.Minute)}
			f.of["queue"] = 0
			got[2] = f.after(t, 10*time.Minute)
			require.Equal(t, want, got, annotations)
		})
	}
}

// refuse makes the next writes of the status fail.
func (f *scene) refuse(writes int) {
	f.home.PrependReactor("patch", "*", func(k8stesting.Action) (bool, runtime.Object, error) {
		writes--
		return writes >= 0, nil, errors.New("not now")
	})
}

// If the hub does not store the number, no member is scaled, and the status has what was
// stored. The next attempt is made soon, later and later, and no later than a decision.
func TestObjectNotStored(t *testing.T) {
	newScene(t, "", oneQueue, func(t *testing.T, f *scene) {
		f.of["queue"] = 8
		f.refuse(1)
		require.Zero(t, f.after(t, 900*time.Millisecond))
		require.Equal(t, "False StatusNotWritten", f.condition("Ready"))
		require.Nil(t, f.status.Scaling)
		require.Empty(t, f.status.Checkpoint)
		require.Zero(t, f.status.Print.Wanted)
		require.Equal(t, 1, f.after(t, 200*time.Millisecond), "activated by a read of the same triggers")
		require.Equal(t, "True Ready", f.condition("Ready"))

		require.Equal(t, 4, f.after(t, 15*time.Second))
		stored, state := f.status, clone(f.object.state.Autoscaler)
		f.refuse(1000)
		reads := f.reads["queue"]
		require.Equal(t, 4, f.after(t, 10*time.Minute))
		require.Equal(t, stored.Scaling, f.status.Scaling)
		require.JSONEq(t, string(stored.Autoscaler), string(f.status.Autoscaler))
		require.EqualValues(t, 4, f.status.Print.Wanted)
		require.Equal(t, state, f.object.state.Autoscaler)
		require.InDelta(t, 600/15, f.reads["queue"]-reads, 6)
	})
}

// The count of a member that answers late is stored before it is overwritten.
func TestObjectStoresOriginals(t *testing.T) {
	newScene(t, "", oneQueue, func(t *testing.T, f *scene) {
		f.on["b"].replicas, f.on["b"].away = 7, errors.New("no answer")
		f.of["queue"] = 8
		require.Equal(t, 7+8, f.after(t, 5*time.Minute))
		f.refuse(1000)
		f.on["b"].away = nil
		f.after(t, 5*time.Minute)
		require.Zero(t, f.on["b"].writes)
		f.home.ReactionChain = f.home.ReactionChain[1:]
		require.Equal(t, 8, f.after(t, 5*time.Minute))
		f.restart(t)
		require.EqualValues(t, 7, f.status.Original["b"].Replicas)
	})
}

// A state that changes in times only is stored once a minute.
func TestObjectWritesSeldom(t *testing.T) {
	newScene(t, "", oneQueue, func(t *testing.T, f *scene) {
		f.of["queue"] = 8
		f.after(t, 2*time.Minute)
		f.home.ClearActions()
		f.after(t, 10*time.Minute)
		writes := 0
		for _, a := range f.home.Actions() {
			if a.GetVerb() == "patch" {
				writes++
			}
		}
		require.LessOrEqual(t, writes, 11)
		require.Less(t, len(f.status.Autoscaler), 16<<10)
	})
}
