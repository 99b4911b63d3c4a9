package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// A victim's object with the same name in the attacker's namespace, and what he does with it.
type deed struct {
	name string
	do   func(a *objects, u *unstructured.Unstructured) error
}

var kilobytes = strings.Repeat("世\u202e", 40_000) // 240,000 bytes; an object has at most 262,144 of annotations

var deeds = []deed{
	{"managed fields", func(a *objects, u *unstructured.Unstructured) error {
		var entries []metav1.ManagedFieldsEntry
		for i := range 400 {
			fields := &metav1.FieldsV1{}
			if err := fields.UnmarshalJSON([]byte(`{"f:spec":{"f:a":{` + strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`"f:%d":{},`, i), 100), ",") + `}}}`)); err != nil {
				return err
			}
			entries = append(entries, metav1.ManagedFieldsEntry{
				Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: u.GetAPIVersion(), FieldsType: "FieldsV1",
				FieldsV1: fields,
			})
		}
		u.SetManagedFields(entries)
		return a.update(u)
	}},
	{"long annotations", func(a *objects, u *unstructured.Unstructured) error {
		u.SetAnnotations(map[string]string{"a": kilobytes})
		return a.update(u)
	}},
	{"odd annotations", func(a *objects, u *unstructured.Unstructured) error {
		u.SetAnnotations(map[string]string{"autoscaling.keda.sh/paused": "\u202e\x00", "autoscaling.keda.sh/paused-replicas": "NaN", "batch.kubernetes.io/job-tracking": "-1", "a": "\x1b[2J\r\nlevel=error"})
		return a.update(u)
	}},
	{"labels", func(a *objects, u *unstructured.Unstructured) error {
		u.SetLabels(map[string]string{"scaledjob.keda.sh/name": "a", "batch.kubernetes.io/controller-uid": string(a.victim(u).GetUID()), "job-name": "a"})
		return a.update(u)
	}},
	{"owners", func(a *objects, u *unstructured.Unstructured) error {
		of := a.victim(u)
		u.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: of.GetAPIVersion(), Kind: of.GetKind(), Name: of.GetName(), UID: of.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)},
			{APIVersion: "v1", Kind: "Namespace", Name: "victim", UID: of.GetUID(), BlockOwnerDeletion: new(true)},
			{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: of.GetUID() + "1"},
		})
		return a.update(u)
	}},
	{"status", func(a *objects, u *unstructured.Unstructured) error {
		fields, _, _ := unstructured.NestedMap(a.schemas[u.GroupVersionKind()], "properties", "status", "properties")
		for i := range 6 {
			for _, name := range slices.Sorted(maps.Keys(fields)) { // by itself, so that others pass
				odd := oddly(fields[name].(map[string]any), i)
				patch := map[string]any{"status": map[string]any{name: odd}}
				if a.patch(u, patch, "status") == nil {
					a.statuses++
				}
			}
		}
		return nil
	}},
	{"a finalizer that never goes", func(a *objects, u *unstructured.Unstructured) error {
		u.SetFinalizers([]string{"example.com/never"})
		if err := a.update(u); err != nil {
			return err
		}
		return a.of(u).Delete(a.Context(), u.GetName(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	}},
}

// oddly returns a value that the schema accepts, but no controller has written.
func oddly(of map[string]any, i int) any {
	if values, is := of["enum"].([]any); is {
		return values[i%len(values)]
	}
	switch of["type"] {
	case "integer", "number":
		return []int64{-1, 1<<31 - 1, -1 << 31, 1<<62 + 1, 0, -1 << 62}[i]
	case "boolean":
		return i%2 == 0
	case "array":
		items, _ := of["items"].(map[string]any)
		return []any{oddly(items, i), oddly(items, (i+1)%6), oddly(items, (i+2)%6)}
	case "object":
		all := map[string]any{}
		properties, _ := of["properties"].(map[string]any)
		for name, field := range properties {
			all[name] = oddly(field.(map[string]any), i)
		}
		if additional, is := of["additionalProperties"].(map[string]any); is {
			for _, key := range []string{"", "..", "\u202e", "member", strings.Repeat("a", 1000)} {
				all[key] = oddly(additional, i)
			}
		}
		return all
	}
	if of["format"] == "date-time" {
		return []any{"0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59-23:59", "2262-04-12T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999+23:59"}[i]
	}
	return []any{"NaN", "\u202e\x1b[2J", "9999-12-31T23:59:59Z", strings.Repeat("世", 20_000), "", "0000-01-01T00:00:00Z"}[i]
}

// objects are what the attacker uses.
type objects struct {
	*testing.T
	dynamic.Interface
	schemas  map[schema.GroupVersionKind]map[string]any
	victims  map[schema.GroupVersionKind]*unstructured.Unstructured
	statuses int
}

func (a *objects) of(u *unstructured.Unstructured) dynamic.ResourceInterface {
	kind := u.GroupVersionKind()
	return a.Resource(kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")).Namespace(u.GetNamespace())
}

func (a *objects) victim(u *unstructured.Unstructured) *unstructured.Unstructured {
	return a.victims[u.GroupVersionKind()]
}

func (a *objects) update(u *unstructured.Unstructured) error {
	now, err := a.of(u).Get(a.Context(), u.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	metadata := u.Object["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	return a.patch(now, map[string]any{"metadata": metadata})
}

func (a *objects) patch(u *unstructured.Unstructured, patch any, sub ...string) error {
	data, err := json.Marshal(patch)
	if err == nil {
		_, err = a.of(u).Patch(a.Context(), u.GetName(), types.MergePatchType, data, metav1.PatchOptions{}, sub...)
	}
	return err
}

// A tenant gives copies of a victim's objects, of his Jobs and of his pods what the API server accepts
// and no controller expects. The victim's Jobs, replicas and conditions stay the same, and he is served.
func TestHostileObjects(t *testing.T) {
	c, all := besideVictim(t)
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	a := &objects{T: t, Interface: client, schemas: map[schema.GroupVersionKind]map[string]any{}, victims: map[schema.GroupVersionKind]*unstructured.Unstructured{}}
	for _, file := range crds(t) {
		for _, u := range manifest.Objects(t, manifest.Read(t, file)) {
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
			version := versions[0].(map[string]any)
			schemaOf, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			a.schemas[schema.GroupVersionKind{Group: group, Version: version["name"].(string), Kind: kind}] = schemaOf
		}
	}
	var valid []*unstructured.Unstructured
	for _, u := range manifest.Objects(t, victims(t, c)) {
		if a.schemas[u.GroupVersionKind()] == nil {
			continue
		}
		valid = append(valid, u)
		there, err := a.of(u).Get(t.Context(), u.GetName(), metav1.GetOptions{})
		require.NoError(t, err)
		a.victims[u.GroupVersionKind()] = there
	}
	require.Len(t, valid, 6)
	conditions := func() map[string][]string { // without times, and without messages, which may have some
		found := map[string][]string{}
		for _, u := range valid {
			there, err := a.of(u).Get(t.Context(), u.GetName(), metav1.GetOptions{})
			require.NoError(t, err)
			list, _, _ := unstructured.NestedSlice(there.Object, "status", "conditions")
			for _, c := range list {
				c := c.(map[string]any)
				kind := there.GetKind() + there.GetAPIVersion()
				found[kind] = append(found[kind], fmt.Sprint(c["type"], c["status"], c["reason"]))
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return len(conditions()) >= 5 }, time.Minute, 100*time.Millisecond) // all but the RunRequest's
	time.Sleep(5 * time.Second)
	before, told := victimHas(t, c), conditions()

	accepted := map[string]int{}
	for _, u := range valid {
		for i, d := range deeds {
			mine := u.DeepCopy()
			mine.SetNamespace("tenant")
			mine.SetName(fmt.Sprint("a", i))
			_, err := a.of(mine).Create(t.Context(), mine, metav1.CreateOptions{})
			require.NoError(t, err)
			if err := d.do(a, mine); err != nil {
				t.Logf("%s of %s: %v", d.name, u.GetKind(), short(err.Error()))
				continue
			}
			accepted[d.name]++
		}
		generated := u.DeepCopy()
		generated.SetNamespace("tenant")
		generated.SetName("")
		generated.SetGenerateName(strings.Repeat("a.", 120) + "a")
		_, err := a.of(generated).Create(t.Context(), generated, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for _, d := range deeds {
		require.Greater(t, accepted[d.name], 2, d.name)
	}
	t.Logf("%d edits of a status were accepted", a.statuses)
	require.Greater(t, a.statuses, 20)
	forge(t, c.Client(t))
	for range 10 {
		time.Sleep(2 * time.Second)
		require.Equal(t, before, victimHas(t, c), "the victim's Jobs")
	}
	require.Eventually(t, func() bool { return equality.Semantic.DeepEqual(told, conditions()) }, time.Minute, time.Second, "what the victim is told: %v, %v", told, conditions())

	// He is served: his Jobs are replaced, and his replicas restored.
	jobs := c.Client(t).BatchV1().Jobs("victim")
	there, err := jobs.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	scheduled := 0
	for _, j := range there.Items {
		if owner := metav1.GetControllerOfNoCopy(&j); owner != nil && owner.Kind == "ScheduledJob" {
			scheduled++
			continue
		}
		require.NoError(t, jobs.Delete(t.Context(), j.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	}
	_, err = c.Client(t).AppsV1().Deployments("victim").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now := victimHas(t, c)
		kept := slices.DeleteFunc(slices.Clone(now), func(n string) bool { return !slices.Contains(before, n) })
		return len(now) == len(before) && len(kept) == scheduled+1
	}, time.Minute, 100*time.Millisecond)
	for _, p := range all {
		healthy(t, p)
		p.Stop()
	}
}

// forge copies the victim's Jobs and pods to the attacker's namespace, with their labels and owners.
func forge(t *testing.T, client kubernetes.Interface) {
	jobs, err := client.BatchV1().Jobs("victim").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, j := range jobs.Items {
		j.ObjectMeta = metav1.ObjectMeta{
			Namespace: "tenant", GenerateName: j.Name, Labels: j.Labels, OwnerReferences: j.OwnerReferences, Finalizers: []string{"example.com/never"},
			Annotations: map[string]string{"a": kilobytes},
		}
		j.Spec.Selector, j.Spec.Template.Labels, j.Status.Active = nil, map[string]string{"a": "b"}, 1<<31-1
		j.Spec.Suspend = new(true)
		_, err := client.BatchV1().Jobs("tenant").Create(t.Context(), &j, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	pods, err := client.CoreV1().Pods("victim").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, pods.Items)
	for _, p := range pods.Items {
		p.ObjectMeta = metav1.ObjectMeta{
			Namespace: "tenant", GenerateName: p.Name, Labels: p.Labels, OwnerReferences: p.OwnerReferences, Finalizers: []string{"example.com/never"},
			Annotations: map[string]string{"a": kilobytes},
		}
		p.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}}
		_, err := client.CoreV1().Pods("tenant").Create(t.Context(), &p, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func short(text string) string { return text[:min(len(text), 200)] }
