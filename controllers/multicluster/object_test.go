package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
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

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
)

// A workload is a Deployment on a member; all of its replicas are ready.
type workload struct {
	scale.ScaleInterface
	replicas int32
	writes   int
	written  []string // namespace/name
	there    string   // the namespace of the last request
	away     error
	refused  error // answers a write
}

func (w *workload) Scales(namespace string) scale.ScaleInterface { w.there = namespace; return w }

func (w *workload) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: w.replicas}, Status: autoscalingv1.ScaleStatus{Replicas: w.replicas}}, w.away
}

func (w *workload) Patch(_ context.Context, _ schema.GroupVersionResource, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	var patch autoscalingv1.Scale
	if err := json.Unmarshal(data, &patch); err != nil || w.away != nil || w.refused != nil {
		return nil, errors.Join(err, w.away, w.refused)
	}
	w.replicas = patch.Spec.Replicas
	w.writes++
	w.written = append(w.written, w.there+"/"+name)
	return &patch, nil
}

// A fixture is the poller of a DistributedScaledObject with members a and b. A test acts as KEDA.
type fixture struct {
	*object
	home *fake.FakeDynamicClient
	hub  *kube.Clientset
	on   map[string]*workload
	kind *kind
}

// testObject runs test in a bubble of time. spec is in scaledObjectSpec.
func testObject(t *testing.T, annotations, spec string, test func(*testing.T, *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: web, namespace: shop, uid: u1, finalizers: [`+finalizerObject+`], annotations: {`+annotations+`}}
spec:
  scaledObjectSpec:
    scaleTargetRef: {name: web}
`+spec), &u.Object))
		u.SetGeneration(7)
		f := &fixture{home: fake.NewSimpleDynamicClient(runtime.NewScheme(), u), hub: kube.NewClientset(), on: map[string]*workload{}}
		log := slog.New(slog.DiscardHandler)
		c := &controller{options: newOptions(), log: log, home: "home", recorder: events.NewFakeRecorder(1000)}
		c.syncPeriod, c.Requests, c.Dynamic = 15*time.Second, f.hub, f.home
		c.members = &members{controller: c}
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
		mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
		for _, name := range []string{"a", "b"} {
			f.on[name] = &workload{}
			client := kube.NewClientset()
			m, err := member.New(name, member.Clients{Requests: client, Watches: client, Scales: f.on[name], Mapper: mapper}, member.Options{Home: "home", Terms: requests.OneShot()})
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

// stored returns the object as the hub has it.
func (f *fixture) stored(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u, err := f.home.Resource(api.Objects).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return u
}

// restart starts a poller with what is stored.
func (f *fixture) restart(t *testing.T) {
	t.Helper()
	p := &poller{kind: f.kind, uid: "u1", current: f.stored(t), log: f.kind.log, problems: process.Warnings{Log: f.kind.log}, causes: causes{}}
	f.object = newObject(p).(*object)
	f.object.read()
	require.NoError(t, f.invalid)
}

// edit changes the stored object, as a user or a HorizontalPodAutoscaler does.
func (f *fixture) edit(t *testing.T, value any, path ...string) {
	t.Helper()
	u := f.stored(t)
	require.NoError(t, unstructured.SetNestedField(u.Object, value, path...))
	_, err := f.home.Resource(api.Objects).Namespace("shop").Update(t.Context(), u, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.observe(t)
}

// scale is what the HorizontalPodAutoscaler does.
func (f *fixture) scale(t *testing.T, n int64) { f.edit(t, n, "spec", "replicas") }

// observe is what the informer does. It reports whether the object has changed.
func (f *fixture) observe(t *testing.T) bool {
	t.Helper()
	u := f.stored(t)
	changed := !reflect.DeepEqual(u.Object["spec"], f.current.Object["spec"]) || !maps.Equal(u.GetAnnotations(), f.current.GetAnnotations())
	if changed {
		f.current = u
		f.object.read()
	}
	return changed
}

// scaledObject returns KEDA's ScaledObject.
func (f *fixture) scaledObject(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u, err := f.home.Resource(api.ScaledObjects).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return u
}

// report is what KEDA's operator does: the ScaledObject has the conditions, "Type Status Reason" each.
func (f *fixture) report(t *testing.T, conditions ...string) {
	t.Helper()
	u := f.scaledObject(t)
	var reported []any
	for _, c := range conditions {
		fields := strings.Fields(c)
		reported = append(reported, map[string]any{"type": fields[0], "status": fields[1], "reason": fields[2], "message": "secret"})
	}
	u.Object["status"] = map[string]any{"conditions": reported, "hpaName": "keda-hpa-web"}
	_, err := f.home.Resource(api.ScaledObjects).Namespace("shop").Update(t.Context(), u, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// decide is what the controller of HorizontalPodAutoscalers does.
func (f *fixture) decide(t *testing.T, conditions ...autoscalingv2.HorizontalPodAutoscalerCondition) {
	t.Helper()
	autoscalers := f.hub.AutoscalingV2().HorizontalPodAutoscalers("shop")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "keda-hpa-web"}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: conditions}}
	if _, err := autoscalers.Create(t.Context(), hpa, metav1.CreateOptions{}); err != nil {
		_, err = autoscalers.Update(t.Context(), hpa, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}

// after polls for a time, whenever the poller wants to, and returns all replicas.
func (f *fixture) after(t *testing.T, d time.Duration) int {
	t.Helper()
	for end := time.Now().Add(d); ; {
		next := f.poll(t.Context())
		if f.observe(t) {
			next = time.Now()
		}
		if next.After(end) {
			time.Sleep(time.Until(end))
			return int(f.on["a"].replicas + f.on["b"].replicas)
		}
		time.Sleep(max(time.Until(next), time.Millisecond))
	}
}

func (f *fixture) condition(kind string) string {
	c := meta.FindStatusCondition(f.status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

const oneQueue = `    triggers: [{type: redis, name: queue}]
`

// The first number is the sum of the members' replicas. Then KEDA has a ScaledObject that targets the object, the
// HorizontalPodAutoscaler writes the number, and the number is shared.
func TestObjectIsScaledByKEDA(t *testing.T) {
	spec := oneQueue + `    minReplicaCount: 1
    advanced: {restoreToOriginalReplicaCount: true, scalingModifiers: {formula: queue, target: "1"}}
`
	testObject(t, `autoscaling.keda.sh/force-activation: "true", team: shop`, spec, func(t *testing.T, f *fixture) {
		f.on["a"].replicas, f.on["b"].replicas = 5, 2
		require.Equal(t, 7, f.after(t, 40*time.Second))
		require.EqualValues(t, 7, f.current.Object["spec"].(map[string]any)["replicas"])
		require.Equal(t, "Unknown WaitingForKEDA", f.condition("Ready"))
		require.EqualValues(t, 7, f.status.Replicas)
		require.Equal(t, "kedify-agent-distributedscaledobject=web", f.status.Selector)
		scaled := f.scaledObject(t)
		require.True(t, metav1.IsControlledBy(scaled, f.current))
		require.Equal(t, map[string]string{"autoscaling.keda.sh/force-activation": "true"}, scaled.GetAnnotations())
		require.Equal(t, map[string]any{
			"scaleTargetRef":  map[string]any{"apiVersion": "keda.kedify.io/v1alpha1", "kind": "DistributedScaledObject", "name": "web"},
			"minReplicaCount": int64(1),
			"advanced":        map[string]any{"scalingModifiers": map[string]any{"formula": "queue", "target": "1"}},
			"triggers":        []any{map[string]any{"type": "redis", "name": "queue"}},
		}, scaled.Object["spec"])

		f.report(t, "Ready True ScaledObjectReady", "Active True ScalerActive", "Fallback False NoFallbackFound")
		f.decide(t, autoscalingv2.HorizontalPodAutoscalerCondition{Type: "ScalingActive", Status: "True", Reason: "ValidMetricFound"},
			autoscalingv2.HorizontalPodAutoscalerCondition{Type: "ScalingLimited", Status: "False", Reason: "DesiredWithinRange"})
		f.scale(t, 20)
		require.Equal(t, 20, f.after(t, time.Minute))
		require.EqualValues(t, 10, f.on["a"].replicas)
		require.EqualValues(t, 20, f.status.Replicas)
		require.Equal(t, []string{"True Ready", "True ScalerActive", "False NoFallbackFound", "Unknown UnknownState", "True ValidMetricFound", "False DesiredWithinRange", "False NotPaused"},
			[]string{f.condition("Ready"), f.condition("Active"), f.condition("Fallback"), f.condition("AbleToScale"), f.condition("ScalingActive"), f.condition("ScalingLimited"), f.condition("Paused")})
		f.scale(t, 0)
		require.Zero(t, f.after(t, 6*time.Minute))
		f.restart(t)
		require.Zero(t, f.after(t, time.Minute))
	})
}

// An edit of the object is an edit of the ScaledObject. What others add to the ScaledObject stays.
func TestObjectEdits(t *testing.T) {
	testObject(t, `autoscaling.keda.sh/force-activation: "true"`, oneQueue, func(t *testing.T, f *fixture) {
		f.after(t, 20*time.Second)
		scaled := f.scaledObject(t)
		scaled.SetAnnotations(map[string]string{"autoscaling.keda.sh/force-activation": "true", "others": "stay"})
		scaled.SetFinalizers([]string{"finalizer.keda.sh"})
		_, err := f.home.Resource(api.ScaledObjects).Namespace("shop").Update(t.Context(), scaled, metav1.UpdateOptions{})
		require.NoError(t, err)
		f.edit(t, map[string]any{"autoscaling.keda.sh/paused-scale-in": "true"}, "metadata", "annotations")
		f.edit(t, int64(60), "spec", "scaledObjectSpec", "cooldownPeriod")
		f.after(t, 20*time.Second)
		scaled = f.scaledObject(t)
		require.Equal(t, map[string]string{"autoscaling.keda.sh/paused-scale-in": "true", "others": "stay"}, scaled.GetAnnotations())
		require.Equal(t, []string{"finalizer.keda.sh"}, scaled.GetFinalizers())
		require.EqualValues(t, 60, scaled.Object["spec"].(map[string]any)["cooldownPeriod"])
		f.home.ClearActions()
		f.after(t, 10*time.Minute)
		for _, a := range f.home.Actions() {
			require.Equal(t, "get", a.GetVerb(), "at rest")
		}
	})
}

// Where KEDA is missing, away, or at a loss, and where the ScaledObject is another's, Ready says so without KEDA's own
// words, and the number is shared on.
func TestObjectWithoutKEDA(t *testing.T) {
	notServed := apierrors.NewGenericServerResponse(404, "get", api.ScaledObjects.GroupResource(), "web", "404 page not found", 0, true)
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		ready := func(want, message string) {
			t.Helper()
			f.after(t, 20*time.Second)
			require.Equal(t, want, f.condition("Ready"))
			require.Contains(t, meta.FindStatusCondition(f.status.Conditions, "Ready").Message, message)
			for _, c := range f.status.Conditions {
				require.NotContains(t, c.Message, "secret")
			}
		}
		failure := error(notServed)
		f.home.PrependReactor("*", "scaledobjects", func(k8stesting.Action) (bool, runtime.Object, error) { return failure != nil, nil, failure })
		f.scale(t, 4)
		ready("False KEDAMissing", "install KEDA")
		require.Equal(t, 4, f.after(t, time.Minute))
		failure = errors.New("not now")
		ready("False ScaledObjectNotWritten", "not now")
		failure = nil
		ready("Unknown WaitingForKEDA", "KEDA's operator has not reported")
		f.report(t, "Ready False ScaledObjectCheckFailed")
		ready("False ScaledObjectCheckFailed", "kubectl describe scaledobject web")
		f.report(t, "Ready True ScaledObjectReady")
		f.decide(t, autoscalingv2.HorizontalPodAutoscalerCondition{Type: "ScalingActive", Status: "False", Reason: "FailedGetExternalMetric", Message: "secret"})
		ready("Unknown FailedGetExternalMetric", "kubectl describe hpa keda-hpa-web")
		f.decide(t, autoscalingv2.HorizontalPodAutoscalerCondition{Type: "ScalingActive", Status: "False", Reason: "ScalingDisabled"})
		ready("True Ready", "")
		metricsServer := &metricsServer{reason: kedametrics.OtherMetricsServer}
		f.kind.readers = []kedaReader{metricsServer}
		ready("Unknown OtherMetricsServer", "another metrics server than KEDA's")
		require.Zero(t, metricsServer.probes)
		f.decide(t, autoscalingv2.HorizontalPodAutoscalerCondition{Type: "ScalingActive", Status: "False", Reason: "FailedGetExternalMetric"})
		ready("Unknown OtherMetricsServer", "kubectl get apiservice")
		require.NotZero(t, metricsServer.probes)
		metricsServer.reason = ""
		ready("Unknown FailedGetExternalMetric", "")
		scaled := f.scaledObject(t)
		scaled.SetOwnerReferences(nil)
		_, err := f.home.Resource(api.ScaledObjects).Namespace("shop").Update(t.Context(), scaled, metav1.UpdateOptions{})
		require.NoError(t, err)
		ready("False ScaledObjectNotOurs", "belongs to somebody else")
	})
}

// A metricsServer is in a state.
type metricsServer struct {
	reason kedametrics.Reason
	probes int
}

func (m *metricsServer) Run(context.Context)           {}
func (m *metricsServer) Complete()                     {}
func (m *metricsServer) Available() kedametrics.Reason { return m.reason }
func (m *metricsServer) Probe()                        { m.probes++ }

// A number that somebody has written meanwhile stays.
func TestObjectAdoptsOnce(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		u := f.stored(t)
		u.SetGeneration(8)
		require.NoError(t, unstructured.SetNestedField(u.Object, int64(5), "spec", "replicas"))
		_, err := f.home.Resource(api.Objects).Namespace("shop").Update(t.Context(), u, metav1.UpdateOptions{})
		require.NoError(t, err)
		f.poll(t.Context())
		require.EqualValues(t, 5, f.stored(t).Object["spec"].(map[string]any)["replicas"])
		f.observe(t)
		require.Equal(t, 5, f.after(t, time.Minute))
	})
}

// The first number waits for a member that does not answer, until its grace period is over.
func TestObjectAdopts(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.on["a"].replicas = 3
		f.on["b"].replicas, f.on["b"].away = 4, errors.New("no answer")
		f.after(t, 20*time.Second)
		require.Equal(t, "Unknown WaitingForMembers", f.condition("Ready"))
		require.NotContains(t, f.current.Object["spec"], "replicas")
		f.on["b"].away = nil
		require.Equal(t, 7, f.after(t, time.Minute))
		require.EqualValues(t, 7, f.current.Object["spec"].(map[string]any)["replicas"])
	})
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.on["a"].replicas = 3
		f.on["b"].away = errors.New("no answer")
		f.after(t, 5*time.Minute)
		require.EqualValues(t, 3, f.current.Object["spec"].(map[string]any)["replicas"])
	})
}

// A ClusterTriggerAuthentication needs the administrator's flag.
func TestObjectClusterAuthentication(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		triggers := []any{map[string]any{"type": "redis", "authenticationRef": map[string]any{"name": "shared", "kind": "ClusterTriggerAuthentication"}}}
		f.edit(t, triggers, "spec", "scaledObjectSpec", "triggers")
		f.after(t, time.Minute)
		require.Equal(t, "False SpecCheckFailed", f.condition("Ready"))
		require.Contains(t, meta.FindStatusCondition(f.status.Conditions, "Ready").Message, "-allow-cluster-authentication")
		_, err := f.home.Resource(api.ScaledObjects).Namespace("shop").Get(t.Context(), "web", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
		f.kind.clusterAuthentication = true
		f.object.read()
		f.after(t, time.Minute)
		require.Equal(t, triggers, f.scaledObject(t).Object["spec"].(map[string]any)["triggers"])
	})
}

// A member that does not answer counts as last known in status.replicas, and as 0 after its grace period.
func TestObjectReportedReplicas(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.scale(t, 6)
		f.after(t, time.Minute)
		require.EqualValues(t, 6, f.status.Replicas)
		f.on["b"].away = errors.New("no answer")
		f.after(t, 16*time.Second)
		require.EqualValues(t, 6, f.status.Replicas)
		f.restart(t)
		f.after(t, 16*time.Second)
		require.EqualValues(t, 6, f.status.Replicas, "also after a restart")
		f.after(t, 2*time.Minute)
		require.EqualValues(t, 6, f.on["a"].replicas)
		require.EqualValues(t, 6, f.status.Replicas)
		f.on["b"].away = nil
		f.after(t, 2*time.Minute)
		require.EqualValues(t, 6, f.status.Replicas)
		require.EqualValues(t, 3, f.on["b"].replicas)
	})
}

// A member that does not answer holds the replicas that it had, and they count.
func TestObjectMemberAway(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.scale(t, 4)
		require.Equal(t, 4, f.after(t, time.Minute))
		f.on["b"].away = errors.New("no answer")
		f.scale(t, 6)
		f.after(t, 30*time.Second)
		require.EqualValues(t, 2, f.on["b"].replicas)
		require.LessOrEqual(t, f.on["a"].replicas, int32(4))
	})
}

// A number that a member has refused is not its number, in the status or for the next poll.
func TestObjectRefusedWrite(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.on["b"].refused = errors.New("not now")
		f.scale(t, 8)
		f.poll(t.Context())
		require.EqualValues(t, 4, f.status.Print.Pending, "of the member that has taken its number")
		f.on["b"].refused = nil
		require.Equal(t, 8, f.after(t, time.Minute))
	})
}

// Only an object that restores counts is kept until they are restored.
func TestObjectWithoutFinalizer(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.finalize(t)
		f.scale(t, 8)
		require.Equal(t, 8, f.after(t, time.Minute))
		require.Empty(t, f.finalizers(t))
		f.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		require.Zero(t, f.poll(t.Context()))
		require.EqualValues(t, 4, f.on["a"].replicas)
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
	testObject(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n", func(t *testing.T, f *fixture) {
		f.on["a"].replicas, f.on["b"].replicas = 3, 1
		f.scale(t, 8)
		require.Equal(t, 8, f.after(t, time.Minute))
		f.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
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

// A member that is named in the annotation is not waited for.
func TestObjectAbandons(t *testing.T) {
	testObject(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n", func(t *testing.T, f *fixture) {
		f.on["a"].replicas, f.on["b"].replicas = 3, 1
		f.scale(t, 8)
		require.Equal(t, 8, f.after(t, time.Minute))
		f.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		f.current.SetAnnotations(map[string]string{annotationAbandon: "c, b"})
		f.on["b"].away = errors.New("no answer")
		f.poll(t.Context())
		require.EqualValues(t, 3, f.on["a"].replicas)
		require.Empty(t, f.finalizers(t))
	})
}

// A member that is excluded from the first poll on has one event, and its problem is one problem.
func TestObjectFirstPoll(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.on["b"].away = apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
		f.kind.members.unreadable = map[string]*api.MemberProblem{"a": {Reason: api.ProblemCredentials, Message: "unreadable"}}
		f.after(t, time.Minute)
		require.Len(t, f.events("MemberExcluded"), 1)

		f.report(t, "Ready True ScaledObjectReady")
		f.edit(t, map[string]any{}, "status")
		f.restart(t)
		f.poll(t.Context())
		require.Regexp(t, "^Member a: ", meta.FindStatusCondition(f.status.Conditions, "Ready").Message)
	})
}

// events returns the events of the reason that have not been returned.
func (f *fixture) events(reason string) (all []string) {
	for told := f.kind.recorder.(*events.FakeRecorder).Events; len(told) > 0; {
		if e := <-told; strings.Contains(e, reason) {
			all = append(all, e)
		}
	}
	return all
}

// finalize stores these finalizers only.
func (f *fixture) finalize(t *testing.T, finalizers ...string) {
	t.Helper()
	u := f.stored(t)
	u.SetFinalizers(finalizers)
	_, err := f.home.Resource(api.Objects).Namespace("shop").Update(t.Context(), u, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.current = f.stored(t)
}

func (f *fixture) finalizers(t *testing.T) []string {
	t.Helper()
	return f.stored(t).GetFinalizers()
}

// Nothing is scaled in a namespace of others, such as kube-system, unless the member's registration
// allows it.
func TestObjectTargetNamespace(t *testing.T) {
	testObject(t, "", oneQueue+"  memberClusters: [{name: a, targetNamespace: kube-system}]\n", func(t *testing.T, f *fixture) {
		f.scale(t, 8)
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
		was   *api.Original // in the status, which a tenant may edit
	}{
		"the same":           {edit: func(*unstructured.Unstructured) {}, want: []string{"shop/web"}},
		"a status of others": {edit: func(*unstructured.Unstructured) {}, was: &api.Original{Kind: "Deployment.apps", Namespace: "kube-system", Name: "coredns"}},
		"a status of a kind": {edit: func(*unstructured.Unstructured) {}, was: &api.Original{Kind: "StatefulSet.apps", Namespace: "shop", Name: "web"}},
		"invalid": {edit: func(u *unstructured.Unstructured) {
			must(unstructured.SetNestedField(u.Object, int64(-1), "spec", "scaledObjectSpec", "maxReplicaCount"))
		}},
		"another workload": {edit: func(u *unstructured.Unstructured) {
			must(unstructured.SetNestedField(u.Object, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name"))
		}},
		"a namespace of others":       {edit: elsewhere},
		"a namespace that is allowed": {edit: elsewhere, allow: "bank"},
	} {
		testObject(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n  memberClusters: [{name: a}]\n", func(t *testing.T, f *fixture) {
			f.on["a"].replicas = 3
			f.scale(t, 8)
			require.Equal(t, 8, f.after(t, time.Minute), name)
			f.kind.members.registrations = map[string]registry.Registration{"a": {Allow: []registry.Allowance{{From: "shop", To: test.allow}}}}
			f.on["a"].written = nil
			test.edit(f.current)
			if test.was != nil {
				f.status.Original["a"] = *test.was
			}
			f.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
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
	testObject(t, "", oneQueue+"    advanced: {restoreToOriginalReplicaCount: true}\n", func(t *testing.T, f *fixture) {
		f.on["a"].replicas = 3
		f.scale(t, 8)
		require.Equal(t, 8, f.after(t, time.Minute))
		require.EqualValues(t, 3, f.status.Original["a"].Replicas)
		f.edit(t, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name")
		f.on["a"].replicas, f.on["b"].replicas = 1, 2
		f.status.Original["gone"] = api.Original{Replicas: 1}
		require.Equal(t, 8, f.after(t, time.Minute))
		require.Len(t, f.status.Original, 2, "not of members that are gone")
		f.restart(t)
		f.current.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		must(unstructured.SetNestedField(f.current.Object, "db", "spec", "scaledObjectSpec", "scaleTargetRef", "name"))
		f.object.read()
		f.poll(t.Context())
		require.EqualValues(t, 1, f.on["a"].replicas)
	})
}

// While an object is paused its members stay as they are, unless KEDA sets the number of paused-replicas.
func TestObjectPaused(t *testing.T) {
	for annotations, want := range map[string]int{
		`autoscaling.keda.sh/paused: "true"`:           0,
		`autoscaling.keda.sh/paused-replicas: "200"`:   200,
		`autoscaling.keda.sh/paused-scale-out: "true"`: 200,
		`autoscaling.keda.sh/paused-scale-in: "true"`:  200,
		`autoscaling.keda.sh/force-activation: "true"`: 200,
	} {
		testObject(t, annotations, oneQueue, func(t *testing.T, f *fixture) {
			f.scale(t, 200)
			require.Equal(t, want, f.after(t, time.Minute), annotations)
			require.Equal(t, strings.Contains(annotations, "paused:") || strings.Contains(annotations, "replicas:"), f.condition("Paused") == "True Paused", annotations)
		})
	}
}

// refuse makes the next writes of the status fail.
func (f *fixture) refuse(writes int) {
	f.home.PrependReactor("patch", "*", func(k8stesting.Action) (bool, runtime.Object, error) {
		writes--
		return writes >= 0, nil, errors.New("not now")
	})
}

// If the hub does not store the checkpoint, no member is scaled, and the next poll tries again.
func TestObjectNotStored(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.scale(t, 8)
		f.refuse(2)
		require.Zero(t, f.after(t, 14*time.Second))
		require.Equal(t, "False StatusNotWritten", f.condition("Ready"))
		require.Empty(t, f.status.Checkpoint)
		require.Zero(t, f.status.Print.Wanted)
		require.Equal(t, 8, f.after(t, 16*time.Second))
	})
}

// The count of a member that answers late is stored before it is overwritten.
func TestObjectStoresOriginals(t *testing.T) {
	testObject(t, "", oneQueue, func(t *testing.T, f *fixture) {
		f.on["b"].replicas, f.on["b"].away = 7, errors.New("no answer")
		f.scale(t, 8)
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
